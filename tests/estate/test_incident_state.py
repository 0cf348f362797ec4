"""`python -m stacks.incident`: what it puts into the emulator of `holdfast local`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from emulator import Aws, seen

from holdfast.local import process
from holdfast.local.client import ACCOUNT, Client
from stacks import incident


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own; whatever a test starts there is stopped."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    process.stop()


def test_the_incident_says_in_one_line_what_it_needs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert incident.main() == 2
    assert capsys.readouterr().err == "incident: the emulator does not run: start it with `holdfast local up`\n"


def test_the_incident_is_the_documented_state(here: Path, outdir: Path) -> None:
    aws = Aws(emulator=process.start(), account=ACCOUNT)
    (process.HOME / "cdk.out-all").symlink_to(outdir)
    assert incident.main(datetime(2026, 4, 23, 23, 50, tzinfo=UTC)) == 0
    formation = aws.client("cloudformation").list_stacks()["StackSummaries"]
    stacks = {s["StackName"]: s for s in formation}
    assert "RingCentralOAuthStack-prod" not in stacks  # W8: it was deleted 115 days before
    assert stacks["CallAnalytics-Prod-Storage"]["LastUpdatedTime"].date() == date(2026, 2, 4)
    assert not {"MessageSystemStack", "ConnectionServiceStack-prod", "LegacyTablesStack-prod"} & stacks.keys()

    earlier = {"account": ACCOUNT, "now": "2026-03-29T08:00:00Z"}
    Client(emulator=aws.emulator).rest(
        "holdfast", incident.PROD, "POST", "/_holdfast/dates", json.dumps(earlier).encode()
    )
    (gone,) = aws.client("cloudformation").list_stacks(StackStatusFilter=["DELETE_COMPLETE"])["StackSummaries"]
    assert (gone["StackName"], gone["DeletionTime"].date()) == ("RingCentralOAuthStack-prod", date(2025, 12, 29))

    tables = {name: seen(aws, name) for name in aws.client("dynamodb").list_tables()["TableNames"]}
    callytics = {name: table for name, table in tables.items() if not name.startswith("acsd2p-")}
    assert len(callytics) == 26
    unprotected = {n for n, t in callytics.items() if not t["DeletionProtectionEnabled"]}
    assert unprotected == {
        "call-analytics-prod-call-analysis-us-east-1",
        "call-analytics-prod-call-events-us-east-1",
        "call-analytics-prod-call-analysis-config-us-east-1",
        "rc-subscription-prod-webhook-subscriptions",
        "CallAnalysisMetadata",
        "client-configurations",
        *("orangetheory-OAuthStates-prod", "studio-Cache-prod", "rc-subscription-prod-idempotency"),  # transient
    }
    recoverable = tables["rc-subscription-prod-webhook-subscriptions"]["Recovery"]["PointInTimeRecoveryStatus"]
    assert recoverable == "ENABLED"
    assert len([t for t in callytics.values() if t["Tags"]]) == 11
    assert {
        i["IndexName"] for t in tables.values() for i in t.get("GlobalSecondaryIndexes", ()) if not i["ItemCount"]
    } == {
        "staff_performance...name-callStartTime-index",
        "call_categorization.follow_up_type-callStartTime-index",
        "call_outcome.outcome_category-callStartTime-index",
    }
    assert seen(aws, "orangetheory-BlackoutPeriods-test", "us-west-2")["ItemCount"] == 29
    assert seen(aws, "studio-BlackoutPeriods-test", "us-west-2")["ItemCount"] == 1
    under_a_key = {n for n, t in callytics.items() if t.get("SSEDescription", {}).get("SSEType") == "KMS"}
    assert under_a_key == {n for n in callytics if n.startswith("ConnectionService-")}  # W7
    (key,) = {t["SSEDescription"]["KMSMasterKeyArn"] for n, t in callytics.items() if n in under_a_key}
    assert key.startswith("arn:aws:kms:us-east-1:")
    functions: dict[str, dict[str, Any]] = {
        region: {
            f["FunctionName"]: f["Environment"]["Variables"]
            for f in aws.client("lambda", region).list_functions()["Functions"]
        }
        for region in ("us-east-1", "us-west-2")
    }
    loaders = {(region, n) for region in functions for n, v in functions[region].items() if "CONFIG_TABLE_V2" in v}
    assert loaders == {("us-west-2", "AnalyticsGenerator"), ("us-west-2", "ForceRefresh")}
    for _, name in loaders:  # W6: the tables that the source marks as the V2 loader's
        variables = functions["us-west-2"][name]
        assert {v for v in variables.values() if v.startswith("ConnectionService-")} == {
            "ConnectionService-Organizations-test",
            "ConnectionService-Connections-test",
            "ConnectionService-OrgConfigurations-test",
        }
    refresher = functions["us-east-1"]["RingCentralTokenRefresher-Multi-Tenant"]
    assert refresher["CLIENT_CONFIG_TABLE_V1"] == "client-configurations"
    assert refresher["CONFIG_TABLE_NAME"] == "ConnectionService-CallAnalysisConfigurations-prod"
