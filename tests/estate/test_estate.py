"""The estate as the sources count it."""

from __future__ import annotations

import pytest
from support import Json

from holdfast import Usage
from holdfast.estate.placement import Placed
from stacks import ESTATE, environments

COUNT = "count it anew here: this list is kept by hand"
PROD = ESTATE.placements([environments.PROD])
TEST = ESTATE.placements([environments.TEST])


def tables(places: tuple[Placed, ...], system: str) -> list[str]:
    return [p.fill(t.name) for p in places if p.stack.system == system for t in p.tables]


def indexes(templates: dict[str, Json], stack: str) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """{table: {index: [(attribute, type), …]}} of a synthesized stack."""
    found = {}
    for resource in templates[stack]["Resources"].values():
        if resource["Type"] == "AWS::DynamoDB::Table":
            p = resource["Properties"]
            kinds = {d["AttributeName"]: d["AttributeType"] for d in p["AttributeDefinitions"]}
            found[p["TableName"]] = {
                i["IndexName"]: [(k["AttributeName"], kinds[k["AttributeName"]]) for k in i["KeySchema"]]
                for i in p.get("GlobalSecondaryIndexes", [])
            }
    return found


@pytest.mark.parametrize(("system", "prod", "test"), [("acs", 13, 13), ("miyabi", 1, 1)])
def test_other_systems(system: str, prod: int, test: int) -> None:
    assert (len(tables(PROD, system)), len(tables(TEST, system))) == (prod, test), COUNT


def test_42_and_33_tables_are_synthesized_as_tables_and_none_as_global_table(templates: dict[str, Json]) -> None:
    count = {
        env: sum(r["Type"] == "AWS::DynamoDB::Table" for p in places for r in templates[p.id]["Resources"].values())
        for env, places in (("prod", PROD), ("test", TEST))
    }
    assert count == {"prod": 42, "test": 33}, COUNT
    types = {r["Type"] for t in templates.values() for r in t["Resources"].values()}
    assert "AWS::DynamoDB::GlobalTable" not in types


@pytest.mark.parametrize(
    ("stack", "count"),
    [
        ("CallAnalytics-Prod-Storage", 11 + 2),
        ("MessageSystemStack-prod", 0),
        ("OrangeTheoryStack-prod", 4 + 2 + 1 + 1 + 1 + 1 + 1),
        ("OrangeTheoryStack-test", 12),
        ("RCSubscription-prod-Storage", 1),
        ("LeadTrackingStack-prod", 4),
        ("ConnectionServiceStack-prod", 3),
        ("LegacyTablesStack-prod", 0),
        ("AcsTables-prod", 21 + 1),
        ("MiyabiLambda-production", 2),
    ],
)
def test_index_counts(stack: str, count: int, templates: dict[str, Json]) -> None:
    assert sum(map(len, indexes(templates, stack).values())) == count, COUNT


def test_documented_indexes_keep_their_documented_names_and_keys(templates: dict[str, Json]) -> None:
    analysis = indexes(templates, "CallAnalytics-Prod-Storage")["call-analytics-prod-call-analysis-us-east-1"]
    assert list(analysis) == [
        "franchise-callStartTime-index",
        "franchise-siteId-index",
        "siteId-callStartTime-index",
        "fromPhoneNumber-callStartTime-index",
        "toPhoneNumber-callStartTime-index",
        "callDirection-callStartTime-index",
        "staff_performance...name-callStartTime-index",
        "call_categorization...classification-callStartTime-index",
        "call_categorization.follow_up_type-callStartTime-index",
        "call_outcome.outcome_category-callStartTime-index",
        "transcriptionJobName-index",
    ]
    leads = indexes(templates, "LeadTrackingStack-prod")["LeadTracking-v2-us-east-1"]
    documented = {
        "email-receivedAt-index": [("leadEmail", "S"), ("receivedAt", "S")],
        "emailFrom-receivedAt-index": [("emailFrom", "S"), ("receivedAt", "S")],
        "phone-receivedAt-index": [("phone", "S"), ("receivedAt", "S")],
        "forwardedOriginalFrom-receivedAt-index": [("forwardedOriginalFrom", "S"), ("receivedAt", "S")],
    }
    assert leads == documented, "add its line here"
    acs = indexes(templates, "AcsTables-prod")
    assert list(acs["acsd2p-prod-Users"]) == ["id-index", "responseEmail-index", "userId-createdAt-index"]
    assert acs["acsd2p-prod-Conversations"]["associated_account-is_first_email-index"] == [
        ("associated_account", "S"),
        ("is_first_email", "N"),
    ]
    assert list(acs["acsd2p-prod-Threads"]) == ["associated_account", "conversation_id-index"]
    assert acs["acsd2p-prod-Sessions"] == {"user_id-index": [("user_id", "S")]}
    miyabi = indexes(templates, "MiyabiLambda-production")["miyabi-lambda-data-production"]
    assert miyabi == {"GSI1": [("GSI1PK", "S"), ("GSI1SK", "S")], "GSI2": [("GSI2PK", "S"), ("GSI2SK", "S")]}


def test_mirrors_and_duplicates() -> None:
    by_usage = {u: {t.name for s in ESTATE.stacks for t in s.tables if t.state.usage is u} for u in Usage}
    assert by_usage[Usage.MIRROR] == {"call-analytics-{env}-call-analysis-{region}", "LeadTracking-v2-{region}"}
    assert by_usage[Usage.DUPLICATE] == {"orangetheory-BlackoutPeriods-{env}", "orangetheory-OperatingHours-{env}"}


def test_orphans_and_legacy_tables_enter_by_import() -> None:
    assert [p.name for p in PROD if p.by_import] == ["ConnectionServiceStack-prod", "LegacyTablesStack-prod"]
    assert not [p.name for p in TEST if p.by_import]


def test_14_indexes_are_known_by_count_only() -> None:
    """Indexes that the source counts without naming them are assumed, each of them."""
    counted = [
        (t.name, i.name)
        for p in PROD
        for t in p.tables
        for i in t.indexes
        if any("counts" in a.reason for a in i.assumed)
    ]
    assert len(counted) == 14
