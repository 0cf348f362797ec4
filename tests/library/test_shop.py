"""The estate that the library is tested on: that it is clean, and has all that tests need."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from rule_mutants import seen
from shop import ESTATE
from support import Json

from holdfast import Tier
from holdfast.kinds.kinds import KINDS
from holdfast.rules import judge
from holdfast.verdict import Outcome


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
    assert made["AWS::ElastiCache::ReplicationGroup"]["NumCacheClusters"] == 3
    assert made["AWS::ElastiCache::ReplicationGroup"]["SnapshotRetentionLimit"] == 7
    assert made["AWS::RDS::DBInstance"]["MonitoringInterval"] == 30
    assert {r["Properties"]["RetentionInDays"] for r in resources if r["Type"] == "AWS::Logs::LogGroup"} == {400}


def test_rules_demand_what_the_policy_says_and_constructs_set(templates: dict[str, Json]) -> None:
    """Of two values of the policy, what is made for one is not enough for the other."""
    more = replace(
        ESTATE.policy,
        log_days=dict.fromkeys(Tier, 731),
        instances=dict.fromkeys(Tier, 4),
        snapshot_days=dict.fromkeys(Tier, 20),
        recovery_days=35,
    )
    asked = replace(ESTATE, policy=more)
    (placed,) = [p for p in asked.placements() if p.id == "Stores-live"]
    found = judge(asked, [seen(placed, templates[placed.id])], [placed.env], today=date(2026, 11, 18))
    failed = {(f.rule.id, f.table) for f in found if f.outcome is Outcome.FAIL}
    assert failed >= {
        ("HF529", "shop-live"),
        ("HF518", "shop-cache-live"),
        ("HF518", "shop-documents-live"),
        ("HF527", "shop-cache-live"),
        ("HF004", "shop-files-live"),
    }


def test_it_has_every_kind_of_store_in_both_tiers() -> None:
    places = ESTATE.placements()
    for tier in Tier:
        assert {type(s) for p in places if p.env.tier is tier for s in p.stores} == {kind.declaration for kind in KINDS}
