"""The rules inside `cdk synth`, and as a pack in a stranger's app."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from declare import PROD, estate
from support import CONTEXT, Json

from holdfast import Data, Durable, Stack, Table, Tier, Transient, Waiver, key
from holdfast.contract import files, make
from holdfast.estate.placement import Placed
from holdfast.rules.foreign import Facts

PERSONAL = Table(name="people-{env}", purpose="", key=key("id"), lifetime=Durable(), data=Data.PERSONAL)
STACK = Stack(id="People-{env}", system="people", owner="people-team", tables=(PERSONAL,))
STRICT = {k: v for k, v in CONTEXT.items() if k != "@aws-cdk/core:failSynthOnValidationErrors"}


def synth(outdir: Path, *overrides: tuple[str, Any], acknowledge: tuple[str, ...] = ()) -> None:
    """The stack of one personal table in prod, with escape hatches pulled and findings acknowledged."""
    import aws_cdk as cdk

    from holdfast.cdk import app

    root = app(estate(STACK), STRICT | {"env": "prod"}, str(outdir))
    table: Any = root.node.find_child("People-prod").node.find_child("People").table  # type: ignore[attr-defined]
    for path, value in overrides:
        if value is None:
            table.node.default_child.add_property_deletion_override(path)
        elif path in ("DeletionPolicy", "UpdateReplacePolicy"):
            table.node.default_child.add_override(path, value)
        else:
            table.node.default_child.add_property_override(path, value)
    for rule in acknowledge:
        cdk.Validations.of(table).acknowledge(cdk.Acknowledgment(id=f"Holdfast::{rule}", reason="because"))
    root.synth()


def violations(outdir: Path) -> list[Json]:
    report = outdir / "validation-report.json"
    plugins = json.loads(report.read_bytes())["pluginReports"] if report.is_file() else []
    return [v for p in plugins if p["pluginName"] == "Holdfast" for v in p["violations"]]


def found(outdir: Path) -> dict[str, Json]:
    return {v["ruleName"]: v for v in violations(outdir)}


def test_what_is_declared_passes(tmp_path: Path) -> None:
    synth(tmp_path)


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        ("DeletionProtectionEnabled", False, "HF001"),
        ("DeletionPolicy", "Delete", "HF002"),
        ("UpdateReplacePolicy", "Delete", "HF002"),
        ("PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled", False, "HF004"),
        ("PointInTimeRecoverySpecification.RecoveryPeriodInDays", 3, "HF004"),
        ("SSESpecification.KMSMasterKeyId", None, "HF007"),
        ("Tags", [], "HF010"),
        ("TableName", "people", "HF102"),
        ("BillingMode", "PROVISIONED", "HF103"),
    ],
)
def test_an_escape_hatch_that_drops_a_guard_fails_the_synth_with_the_fix(
    path: str, value: Any, rule: str, tmp_path: Path
) -> None:
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        synth(tmp_path, (path, value))
    violation = found(tmp_path)[rule]
    assert "people-prod" in violation["description"]
    assert violation["suggestedFix"]


def test_what_cannot_be_read_fails_the_synth_too(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        synth(tmp_path, ("DeletionProtectionEnabled", {"Fn::ImportValue": "elsewhere"}))
    assert "cannot be read" in found(tmp_path)["HF001"]["description"]


def test_the_unwaivable_cannot_be_acknowledged(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        synth(tmp_path, ("DeletionProtectionEnabled", False), acknowledge=("HF001",))
    assert found(tmp_path)["HF001"]["severity"] == "fatal"


def test_the_waivable_can_be_acknowledged_and_leave_a_trace(tmp_path: Path) -> None:
    synth(tmp_path, ("Tags", []), acknowledge=("HF010",))
    (report,) = [
        p
        for p in json.loads((tmp_path / "validation-report.json").read_bytes())["pluginReports"]
        if p["pluginName"] == "Holdfast"
    ]
    assert [(v["ruleName"], v["reason"]) for v in report["suppressedViolations"]] == [("HF010", "because")]


# The contract


def warned(outdir: Path) -> dict[str, Json]:
    """Warnings by the stack that they are about."""
    return {v["description"].partition(":")[0]: v for v in violations(outdir) if v["severity"] == "warning"}


def test_a_difference_from_the_contract_is_one_warning_that_fails_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = tmp_path / "first", tmp_path / "second"
    synth(first)
    assert warned(first) == {}  # no contracts, nothing to compare with
    (tmp_path / "snapshots").mkdir()
    contract = make.contracts(first)["People-prod"]
    contract["stack"]["notificationArns"] = ["arn:aws:sns:us-east-1:123456789012:reviewed"]
    resources = contract["template"]["Resources"]
    del resources[next(i for i, r in resources.items() if r["Type"] == "AWS::SNS::Topic")]
    (tmp_path / "snapshots" / "People-prod.json").write_text(files.text(contract))
    synth(second)
    ((stack, warning),) = warned(second).items()
    assert (stack, warning["ruleName"]) == ("People-prod", "HF703")
    assert warning["description"].startswith(
        "People-prod: 2 differences from the contract, first snapshots/People-prod"
    )
    assert "new AWS::SNS::Topic" in warning["description"]
    assert warning["description"].endswith("To acknowledge this does not silence `holdfast check`")


def test_stacks_of_others_stop_nothing(tmp_path: Path) -> None:
    import aws_cdk as cdk

    from holdfast.cdk import app

    root = app(estate(STACK), CONTEXT | {"env": "prod"}, str(tmp_path))
    cdk.Stack(root, "Empty")
    rewritten = cdk.Stack(root, "Rewritten")
    rewritten.add_transform("AWS::Serverless-2016-10-31")
    cdk.CfnResource(rewritten, "Table", type="AWS::DynamoDB::Table")
    cdk.Stack(cdk.Stage(root, "Stage"), "Inner")
    root.synth()
    assert not [v for v in violations(tmp_path) if v["severity"] in ("error", "fatal")]


@pytest.fixture(scope="module")
def untagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("untagged")
    synth(folder, ("Tags", []), acknowledge=("HF010",))
    return folder / "People-prod.template.json"


def test_a_waiver_ends_with_its_day(untagged: Path, now: datetime) -> None:
    from holdfast.cdk.plugin import Conventions

    waiver = Waiver(rule="HF010", environment=PROD, reason="tags follow", owner="people-team", expires=now.date())
    stack = replace(STACK, tables=(replace(PERSONAL, waivers=(waiver,)),))
    context: Any = SimpleNamespace(template_paths=[str(untagged)])
    for days, passes in ((0, True), (1, False)):
        at = now + timedelta(days=days)
        report = Conventions(estate(stack), [Placed(stack, PROD)], now=at).validate(context)
        assert report.success is passes
        told = {v.rule_name: v.severity for v in report.violations}
        assert told == ({} if passes else {"HF010": "error", "HF212": "fatal"})


# A stranger's app: none of its names is known here.


def stranger(outdir: Path, *, declared: dict[str, Facts] | None = None) -> dict[str, set[str]]:
    """{rule: tables} that HoldfastChecks finds in an app of five tables, with one line added to it."""
    import aws_cdk as cdk
    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_kms as kms

    from holdfast.cdk import HoldfastChecks

    app = cdk.App(outdir=str(outdir), context=CONTEXT, builtin_cloud_formation_validation=False)
    stack = cdk.Stack(app, "Shop")

    def table(name: str, tags: dict[str, str], **more: Any) -> dynamodb.Table:
        partition = dynamodb.Attribute(name="id", type=dynamodb.AttributeType.STRING)
        made = dynamodb.Table(stack, name, table_name=name, partition_key=partition, **more)
        for tag, value in tags.items():
            cdk.Tags.of(made).add(tag, value)
        return made

    safe: dict[str, Any] = {
        "deletion_protection": True,
        "point_in_time_recovery_specification": dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
    }
    personal = {"Lifetime": "durable", "DataClass": "personal"}
    own_key = kms.Key(stack, "Key", enable_key_rotation=True)
    table("customers", personal, encryption_key=own_key, **safe)
    table("orders", {"Lifetime": "durable", "DataClass": "operational"})
    table("invoices", personal, **safe)
    table("carts", {"Lifetime": "transient", "DataClass": "operational"})
    table("unlabelled", {}, **safe)
    table(
        "scratch",
        {"Lifetime": "durable", "DataClass": "operational", "Environment": "dev"},
        removal_policy=cdk.RemovalPolicy.DESTROY,
    )
    cdk.Validations.of(app).add_plugins(HoldfastChecks(app, declared=declared))
    app.synth()
    report = json.loads((outdir / "validation-report.json").read_bytes())["pluginReports"]
    rules: dict[str, set[str]] = {}
    for violation in (v for p in report for v in p["violations"]):
        rules.setdefault(violation["ruleName"], set()).add(violation["description"].partition(":")[0])
    return rules


def test_a_strangers_tables_are_judged_by_their_tags(tmp_path: Path) -> None:
    assert stranger(tmp_path) == {
        "HF001": {"orders"},
        "HF004": {"orders"},
        "HF006": {"carts"},
        "HF007": {"invoices"},
        "HF010": {"unlabelled"},
    }


def test_a_strangers_table_may_be_declared_instead(tmp_path: Path) -> None:
    facts = Facts(lifetime=Transient(ttl="gone"), data=Data.OPERATIONAL, tier=Tier.TEST)
    rules = stranger(tmp_path, declared={"unlabelled": facts})
    assert "HF010" not in rules
    assert rules["HF006"] == {"carts", "unlabelled"}
