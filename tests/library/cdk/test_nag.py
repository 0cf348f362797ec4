"""cdk-nag's packs: what they are told, and that they do see what nobody acknowledged."""

from __future__ import annotations

import json
from pathlib import Path

from declare import TEST, estate
from shop import ESTATE, LIVE
from support import CONTEXT, ROOT, Json

from holdfast import Data, Durable, Guard, Stack, Table, key

PACKS = {"AwsSolutions", "NIST.800.53.R5", "HIPAA.Security"}


def test_every_plugin_ran_and_is_content(report: list[Json]) -> None:
    """A plugin of which there is nothing to tell is not in the report: ours is not, the packs have acknowledgements."""
    assert {p["pluginName"] for p in report} == PACKS
    assert {p["conclusion"] for p in report} == {"success"}, [p.get("metadata") for p in report]


def test_a_reason_gives_the_days_the_attribute_and_the_environment_as_declared(report: list[Json]) -> None:
    given = {v["reason"] for p in report for v in p.get("suppressedViolations", [])}
    assert given >= {
        "recovered to any second of the last 14 days; the policy asks for no backup plan beside that",
        "transient data: worthless once stale, every item expires by its expiresAt",
        "dev is a test environment: its tables may be rebuilt at any time",
        "dev is a test environment: its stores may be rebuilt at any time",
    }


def test_recovery_is_acknowledged_away_for_transient_data_alone(report: list[Json]) -> None:
    rules = {"AwsSolutions-DDB3", "NIST.800.53.R5-DynamoDBPITREnabled", "HIPAA.Security-DynamoDBPITREnabled"}
    live = {p.id for p in ESTATE.placements([LIVE])}
    excused = {
        tuple(c["constructPath"].split("/")[:2])
        for p in report
        for v in p.get("suppressedViolations", [])
        if v["ruleName"] in rules
        for c in v["violatingConstructs"]
    }
    assert {path for path in excused if path[0] in live} == {("Orders-production", "Carts")}


def test_acknowledgements_take_the_form_that_leaves_a_trace() -> None:
    """The plain id silences a finding without a line in the report; only acknowledge.py may acknowledge."""
    users = [p.name for p in (ROOT / "constructs" / "holdfast").rglob("*.py") if b"Acknowledgment(" in p.read_bytes()]
    assert users == ["acknowledge.py"]


def test_the_packs_do_see_a_table_without_recovery(tmp_path: Path) -> None:
    """That the list above is empty means something: an unprotected, unacknowledged table is found."""
    import aws_cdk as cdk
    from aws_cdk import aws_dynamodb as dynamodb

    from holdfast.cdk import app

    table = Table(name="orders", purpose="", key=key("id"), lifetime=Durable(), data=Data.OPERATIONAL, floor=Guard.PITR)
    stack = Stack(id="S-{env}", system="s", owner="o", tables=(table,), environments=(TEST,))
    root = app(estate(stack), CONTEXT | {"env": "test"}, str(tmp_path))
    bare = cdk.Stack(root, "Bare")
    dynamodb.Table(bare, "T", partition_key=dynamodb.Attribute(name="id", type=dynamodb.AttributeType.STRING))
    root.synth()
    report = json.loads((tmp_path / "validation-report.json").read_bytes())["pluginReports"]
    found = {v["ruleName"] for p in report for v in p["violations"]}
    assert {"AwsSolutions-DDB3", "HIPAA.Security-DynamoDBPITREnabled"} <= found
