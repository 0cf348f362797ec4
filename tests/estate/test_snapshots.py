"""The contract, as files that a reviewer reads: accept a change with `make accept`, in the commit that makes it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from support import ROOT, Json
from synth import count, count_stores
from syrupy.assertion import SnapshotAssertion

from holdfast.cli import main
from holdfast.contract import files, make, page, states
from holdfast.contract.refused import unacceptable
from holdfast.estate.placement import Placed
from stacks import ESTATE

PLACES = ESTATE.placements()


@pytest.mark.parametrize("stack", [p.id for p in PLACES])
def test_stack(stack: str, contracts: dict[str, Json], stack_snapshot: SnapshotAssertion) -> None:
    assert contracts[stack] == stack_snapshot(name=stack), "review it, then run `make accept`"


def test_accept_writes_what_the_tests_compare_with(
    outdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["accept", str(outdir)]) == 0
    for folder in ("snapshots/*", "docs/register.md"):
        written = {p.name: p.read_bytes() for p in tmp_path.glob(folder)}
        assert written == {p.name: p.read_bytes() for p in ROOT.glob(folder)}, "run `make accept`"
    assert capsys.readouterr().err.endswith(f"; wrote {len(PLACES)} contracts to snapshots/\n")


def test_a_contract_is_in_normal_form_and_written_as_it_is_read() -> None:
    for path in (ROOT / "snapshots").iterdir():
        contract = files.read(path)
        assert make.brought_up(contract) == contract
        assert files.text(contract) == path.read_text(encoding="ascii")
        assert list(unacceptable(contract)) == []


def test_check_says_nothing(outdir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["check", str(outdir)]) == 0, "run `make accept`"
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"{count() + count_stores()} stores, {len(PLACES)} stacks: 0 failed, 0 unknown, ")


def test_the_register_has_one_line_per_store_and_environment() -> None:
    contracts = states.working(ROOT)
    lines = page.page(contracts).splitlines()
    assert (ROOT / "docs" / "register.md").read_text() == page.page(dict(reversed(contracts.items())))
    hooks = "RCSubscription-prod-Storage | rc-subscription-prod-webhook-subscriptions | durable operational"
    assert f"| prod | {hooks} | DP, RETAIN, PITR 35 days, 4 alarms |" in lines
    once = "RCSubscription-test-Storage | rc-subscription-test-idempotency | transient personal"
    assert f"| test | {once} | CMK, TTL expiration |" in lines
    tables = [r for c in contracts.values() for r in c["template"]["Resources"].values() if "Table" in r["Type"]]
    assert len(lines) > len(tables) > 70


def test_every_stack_has_a_snapshot_and_nothing_else_has(templates: dict[str, Json]) -> None:
    names = {p.name for p in (ROOT / "snapshots").iterdir()}
    assert names == {f"{p.id}.json" for p in PLACES} == {f"{name}.json" for name in templates}, "run `make accept`"


def test_the_documented_schema_holds_for_every_contract() -> None:
    schema = json.loads((ROOT / "docs" / "contract.schema.json").read_text())
    for path in sorted((ROOT / "snapshots").iterdir()):
        jsonschema.validate(json.loads(path.read_text()), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"version": 2, "stack": {}, "template": {}}, schema)


def test_snapshots_hold_nothing_of_the_machine_that_wrote_them() -> None:
    for path in (ROOT / "snapshots").iterdir():
        text = path.read_text(encoding="ascii")
        assert str(ROOT) not in text
        assert "BootstrapVersion" not in text
        assert "aws:cdk:path" not in text


@pytest.mark.parametrize("place", PLACES, ids=lambda p: p.id)
def test_name_region_and_termination_protection(place: Placed, manifest: dict[str, Json]) -> None:
    """Typed out by hand: these live in the manifest, which no template shows."""
    assert place.id in STACKS, "add its line to STACKS here"
    name, region, protected = STACKS[place.id]
    artifact = manifest[place.id]
    assert artifact["properties"].get("stackName", place.id) == name
    assert artifact["environment"] == f"aws://unknown-account/{region}"
    assert artifact["properties"].get("terminationProtection", False) is protected


STACKS = {
    "CallAnalytics-Prod-Storage": ("CallAnalytics-Prod-Storage", "us-east-1", True),
    "MessageSystemStack-prod": ("MessageSystemStack", "us-east-1", True),
    "OrangeTheoryStack-prod": ("OrangeTheoryStack-prod", "us-east-1", True),
    "RCSubscription-prod-Storage": ("RCSubscription-prod-Storage", "us-east-1", True),
    "LeadTrackingStack-prod": ("LeadTrackingStack", "us-east-1", True),
    "ConnectionServiceStack-prod": ("ConnectionServiceStack-prod", "us-east-1", True),
    "LegacyTablesStack-prod": ("LegacyTablesStack-prod", "us-east-1", True),
    "AcsTables-prod": ("AcsTables-prod", "us-east-1", True),
    "MiyabiLambda-production": ("MiyabiLambda-production", "ap-northeast-1", True),
    "LifecyclePlatform-prod": ("LifecyclePlatform-prod", "us-east-1", True),
    "MeetingSystem-prod": ("MeetingSystem-prod", "us-east-1", True),
    "CallAnalytics-Test-Storage": ("CallAnalytics-Test-Storage", "us-west-2", False),
    "MessageSystemStack-test": ("MessageSystemStack", "us-west-2", False),
    "OrangeTheoryStack-test": ("OrangeTheoryStack-test", "us-west-2", False),
    "RCSubscription-test-Storage": ("RCSubscription-test-Storage", "us-west-2", False),
    "AcsTables-test": ("AcsTables-test", "us-west-2", False),
    "MiyabiLambda-test": ("MiyabiLambda-test", "ap-northeast-1", False),
    "LifecyclePlatform-test": ("LifecyclePlatform-test", "us-west-2", False),
    "MeetingSystem-test": ("MeetingSystem-test", "us-west-2", False),
}
