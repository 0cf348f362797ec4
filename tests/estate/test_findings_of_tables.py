"""What an independent reading of the documents of the tables found: a test each, named after it.

W17 is in test_register.py, W12 in test_access_patterns.py.
"""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import date
from typing import Any

import pytest
from support import ROOT, Json

from holdfast import Fact, Table, gsi
from holdfast.cfn.template import Source
from holdfast.estate.placement import Placed
from holdfast.estate.provenance import Stated, assumptions, every_fact
from holdfast.kinds.table.observed import Observed
from holdfast.model.provenance import ASSUMED, DOCUMENTED, INFERRED
from holdfast.rules.assumed import confirm
from holdfast.rules.schema import lint
from holdfast.rules.subjects import AssumedFact
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT
from stacks import ESTATE

PLACES = ESTATE.placements()
FACTS = [s for p in PLACES for s in every_fact(p)]
OF_STACK = {p.name: [s for s in every_fact(p) if s.store is None] for p in PLACES}

CALLS = "call-analytics-prod-call-analysis-us-east-1"
MIYABI = "miyabi-lambda-data-production"


def declared(name: str) -> tuple[Placed, Table]:
    return next((p, t) for p in PLACES for t in p.tables if p.fill(t.name) == name)


def seen(table: Table, **changes: Any) -> Observed:
    """A live table, as it is declared but for the changes; nothing of it is read that is not about keys."""
    rest: dict[str, Any] = {f.name: Unknown("not asked") for f in fields(Observed) if f.default is f.default_factory}
    here: dict[str, Any] = {"key": table.key, "indexes": {i.name: i for i in table.indexes}, "ttl": table.lifetime.ttl}
    return Observed(**{**rest, "source": Source.LIVE, **here, **changes})


def told(placed: Placed, table: Table, live: Observed) -> dict[tuple[str, str | None], str]:
    """What the audit says of every assumption about a table."""
    said = {}
    for s in assumptions(placed, table):
        found = confirm(AssumedFact(table, s, live))
        said[s.fact, s.part] = "" if found == EXEMPT else found.detail
    return said


# W9 -------------------------------------------------------------------------------------------------------------------

SHORTENED = {
    "staff_performance...name-callStartTime-index": gsi("staff_performance.staff_name", "callStartTime"),
    "call_categorization...classification-callStartTime-index": gsi(
        "call_categorization.primary_classification", "callStartTime"
    ),
}


def live_calls(*without: str) -> tuple[Placed, Table, Observed]:
    placed, table = declared(CALLS)
    named = [SHORTENED.get(i.name, i) for i in table.indexes if i.name not in without]
    return placed, table, seen(table, indexes={i.name: i for i in reversed(named)})


def test_w9_what_is_assumed_of_an_index_with_a_shortened_name_is_its_name() -> None:
    _, table = declared(CALLS)
    guessed = {i.name for i in table.indexes if any(a.fact is Fact.INDEX_NAME for a in i.assumed)}
    assert guessed == {i.name for i in table.indexes if "..." in i.name} == set(SHORTENED)


def test_w9_the_live_names_of_both_shortened_indexes_correct_what_was_assumed() -> None:
    placed, table, live = live_calls()
    said = told(placed, table, live)
    for name, index in SHORTENED.items():
        first = index.key.partition.name
        line = f'refuted by the live table, which has gsi("{first}", "callStartTime"),'
        assert said["index name", name] == f"index name of {name}: {line}"
        assert said["index key", name] == f"index key of {name}: {line}"


def test_w9_an_index_that_is_not_there_is_not_taken_for_another() -> None:
    missing, there = SHORTENED
    placed, table, live = live_calls(missing)
    said = told(placed, table, live)
    assert f'"{SHORTENED[there].key.partition.name}"' in said["index name", there]
    assert "no such index" in said["index name", missing]


# W10, W11 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attribute", ["siteId", "providerAccountId", "accountId"])
def test_w10_that_an_account_id_is_called_numeric_stands_in_the_reason_for_its_type(attribute: str) -> None:
    of = [s for s in FACTS if "key types" in s.fact and attribute in s.names]
    assert of
    assert all(s.origin.kind == ASSUMED and "numeric" in s.origin.reason for s in of)


def test_w11_the_ttl_attribute_is_documented_and_only_a_duration_is_assumed() -> None:
    placed, table = declared(MIYABI)
    of = [s for s in FACTS if s.store == MIYABI]
    (ttl,) = [s for s in of if s.fact == Fact.TTL.value]
    assert (ttl.origin.kind, ttl.origin.lines) == (DOCUMENTED, (72, 503, 602, 603))
    durations = {s.part: (s.value, s.origin.kind, s.origin.lines) for s in of if s.fact == Fact.EXPIRY.value}
    assert durations == {
        "WEBSOCKET": ("after 1 day", ASSUMED, ()),
        "LINE_MESSAGE": ("after 30 days", DOCUMENTED, (366,)),
        "EXECUTION_LOG": ("after 30 days", DOCUMENTED, (434,)),
    }
    assert told(placed, table, seen(table)) == {("expiry", "WEBSOCKET"): ""}, "a live table shows no duration"


# W14 ------------------------------------------------------------------------------------------------------------------


def test_w14_an_index_that_is_only_counted_is_accused_of_nothing() -> None:
    counted = {
        f"{s.id}/{t.name}/{i.name}"
        for s in ESTATE.stacks
        for t in s.tables
        for i in t.every_index
        if any(a.fact is Fact.INDEX for a in i.assumed)
    }
    assert len(counted) >= 14
    accused = {f.where for f in lint(ESTATE, today=date(2026, 11, 16))}
    assert not counted & accused
    guessed = {a.name for _, t in map(declared, NAMES_OF_CONNECTIONS) for i in t.indexes for a in i.key.attributes}
    few = {name for _, t in map(declared, NAMES_OF_CONNECTIONS) for name in t.low_cardinality}
    assert not guessed & few, "nothing is said of the values of an attribute that was chosen here"


NAMES_OF_CONNECTIONS = ("orangetheory-UserConnections-prod", "orangetheory-UserConnections-test")


# W16, W18 -------------------------------------------------------------------------------------------------------------


def contract(stack: str, type_: str) -> list[Json]:
    """The properties of every resource of a type; test_snapshots.py says that contracts are what is synthesized."""
    made = json.loads((ROOT / "snapshots" / f"{stack}.json").read_text(encoding="utf-8"))
    return [r["Properties"] for r in made["template"]["Resources"].values() if r["Type"] == type_]


@pytest.mark.parametrize(
    ("stack", "environment"), [("MiyabiLambda-production", "production"), ("MiyabiLambda-test", "test")]
)
def test_w16_the_table_is_tagged_as_its_terraform_does(stack: str, environment: str) -> None:
    (tags,) = (table["Tags"] for table in contract(stack, "AWS::DynamoDB::Table"))
    assert tags["Name"] == "miyabi-lambda-data"
    assert tags["Environment"] == environment
    assert tags["Project"] == "miyabi"
    assert tags["ManagedBy"] == "cdk"  # and not terraform, which manages it no more


# docs/sources.md says "Alarms" of M614, M792-794 and A519-520.
DOCUMENTED_ALARMS = {
    "throttles": (10, {"ReadThrottleEvents": "Sum", "WriteThrottleEvents": "Sum"}),
    "latency": (50, {"SuccessfulRequestLatency": "p99"}),
    "system-errors": (1, {"SystemErrors": "Sum", "SuccessfulRequestLatency": "SampleCount"}),
}


@pytest.mark.parametrize(
    ("stack", "tables"),
    [
        ("MiyabiLambda-production", [MIYABI]),
        ("MiyabiLambda-test", ["miyabi-lambda-data-test"]),
        ("AcsTables-prod", [t["TableName"] for t in contract("AcsTables-prod", "AWS::DynamoDB::Table")]),
    ],
)
def test_the_alarms_that_the_documents_ask_for_are_those_of_the_contract(stack: str, tables: list[str]) -> None:
    alarms = {a["AlarmName"]: a for a in contract(stack, "AWS::CloudWatch::Alarm")}
    for table in tables:
        for name, (threshold, metrics) in DOCUMENTED_ALARMS.items():
            if table == "acsd2p-prod-Sessions":  # transient, which the page says
                assert f"{table}/{name}" not in alarms
                continue
            alarm = alarms[f"{table}/{name}"]
            read = [m["MetricStat"] for m in alarm["Metrics"] if "MetricStat" in m]
            assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", threshold)
            assert {m["Metric"]["MetricName"]: m["Stat"] for m in read} == metrics
            assert {m["Period"] for m in read} == {300}


def test_w18_a_key_is_taken_from_a_successor_only_where_there_is_one() -> None:
    taken = {
        (t.name, a.reason): t.state.replaced_by
        for s in ESTATE.stacks
        for t in s.tables
        for a in t.assumed
        if a.fact is Fact.KEY and "replaces it" in a.reason
    }
    assert {name for name, _ in taken} == {"call-analysis", "call-events"}
    assert all(taken.values())


# The two lists of W18 -------------------------------------------------------------------------------------------------

# (table or stack, fact, the attribute that it is about, where it comes from, lines): stated, and once called assumed.
STATED = [
    ("orangetheory-StoresV2-prod", "key types", "storeId", INFERRED, (194,)),
    ("orangetheory-PhoneStoreAssignments-prod", "key types", "phoneNumber", INFERRED, (110, 170)),
    ("LeadTracking-v2-us-east-1", "index key types", "phone", INFERRED, (110,)),
    (CALLS, "index key types", "fromPhoneNumber", INFERRED, (110, 170)),
    ("studio-OperatingHours-prod", "key types", "sk", INFERRED, (96,)),
    (CALLS, "index key types", "franchise", INFERRED, (197,)),
    ("call-analytics-prod-call-analysis-config-us-east-1", "key types", "client_id", INFERRED, (196,)),
    ("acsd2p-prod-Conversations", "index key types", "associated_account", INFERRED, (265, 294)),
    ("acsd2p-prod-OrganizationInvites", "index key types", "organization_id", INFERRED, (148,)),
    ("acsd2p-prod-OrganizationInvites", "index key types", "email", INFERRED, (215,)),
    ("acsd2p-prod-OrganizationInvites", "index key types", "invite_token", INFERRED, (216,)),
    ("acsd2p-prod-Conversations", "index key types", "message_id", INFERRED, (64,)),
    ("acsd2p-prod-Sessions", "index key types", "user_id", INFERRED, (179,)),
]
# Not stated, once presented as documented.
UNSTATED = [
    ("orangetheory-BlackoutPeriods-test", "key", "storeId", ASSUMED, ()),
    ("orangetheory-OperatingHours-test", "key", "storeId", ASSUMED, ()),
    ("orangetheory-BlackoutPeriods-test", "data class", None, ASSUMED, ()),
    ("AcsTables-prod", "region", None, ASSUMED, ()),
    ("AcsTables-prod", "environment name", None, ASSUMED, ()),
    ("AcsTables-test", "environment name", None, ASSUMED, ()),
    ("AcsTables-prod", "stack name", None, ASSUMED, ()),
    ("MiyabiLambda-production", "stack name", None, ASSUMED, ()),
    ("MiyabiLambda-production", "region", None, INFERRED, (715,)),
    ("MiyabiLambda-production", "environment name", None, DOCUMENTED, (829,)),
    ("MiyabiLambda-test", "environment name", None, ASSUMED, ()),
    ("miyabi-lambda-data-test", "name", None, ASSUMED, ()),
    ("call-analytics-prod-message-store-us-east-1", "name", None, ASSUMED, ()),
    ("call-analytics-test-message-store-us-west-2", "name", None, DOCUMENTED, (135,)),
    ("call-analytics-prod-conversations-us-east-1", "name", None, ASSUMED, ()),
    ("call-analytics-test-conversations-us-west-2", "name", None, DOCUMENTED, (136,)),
    (CALLS, "low cardinality", None, INFERRED, (49, 51, 52, 53, 197)),
    (MIYABI, "low cardinality", None, INFERRED, (101, 102, 270)),
    (CALLS, "usage", None, DOCUMENTED, (9, 36)),
    ("call-analytics-test-call-analysis-us-west-2", "usage", None, ASSUMED, ()),
]


def fact(of: str, what: str, about: str | None) -> Stated:
    found: list[Stated] = [
        s
        for s in (*OF_STACK.get(of, ()), *(s for s in FACTS if s.store == of))
        if s.fact == what and about in (None, s.part, *s.names)
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(("of", "what", "about", "kind", "lines"), [*STATED, *UNSTATED])
def test_the_lists_of_w18_what_is_stated_and_what_is_not(
    of: str, what: str, about: str | None, kind: str, lines: tuple[int, ...]
) -> None:
    found = fact(of, what, about).origin
    assert (found.kind, found.lines) == (kind, lines)


def test_the_lists_of_w18_no_document_states_a_data_class() -> None:
    of_tables = {p.fill(t.name) for p in PLACES for t in p.tables}
    classes = [s for s in FACTS if s.fact == Fact.DATA.value and s.store in of_tables]
    assert {s.store for s in classes} == of_tables
    assert {s.origin.kind for s in classes if s.origin.document} <= {INFERRED, ASSUMED}


def test_the_lists_of_w18_which_indexes_are_empty_is_said_of_none() -> None:
    """C58 counts three without naming them; its candidates are a guess that was not checked."""
    _, table = declared(CALLS)
    assert not [i.name for i in table.indexes if "empty" in i.purpose]
    assert {s.fact for s in FACTS if s.store == CALLS and 58 in s.origin.lines} <= {Fact.PROJECTION.value}
