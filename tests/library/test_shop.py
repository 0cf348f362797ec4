"""The estate that the library is tested on: that it is clean, and has all that tests need."""

from __future__ import annotations

from shop import ESTATE
from support import Json

from holdfast import Tier
from holdfast.kinds.kinds import KINDS


def test_nothing_is_said_about_it(report: list[Json]) -> None:
    assert [(v["ruleName"], v["description"]) for p in report for v in p["violations"]] == []


def test_what_its_policy_says_is_what_is_made(templates: dict[str, Json]) -> None:
    resources = templates["Stores-live"]["Resources"].values()
    made = {r["Type"]: r["Properties"] for r in resources}
    assert made["AWS::RDS::DBInstance"]["DBInstanceClass"] == "db.r7g.large"
    assert made["AWS::EC2::VPC"]["CidrBlock"] == "10.80.0.0/16"
    alarms = {p["AlarmName"]: p["Threshold"] for r in resources if "AlarmName" in (p := r["Properties"])}
    assert alarms["shop-live/cpu"] == 70
    assert alarms["shop-live/storage"] == 5 * 2**30
    assert alarms["shop-events-live/disk"] == 60
    assert 120 in alarms.values()


def test_it_has_every_kind_of_store_in_both_tiers() -> None:
    places = ESTATE.placements()
    for tier in Tier:
        assert {type(s) for p in places if p.env.tier is tier for s in p.stores} == {kind.declaration for kind in KINDS}
