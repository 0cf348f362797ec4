"""What the schema linter finds in this estate's declarations, typed out by hand; what it is for is the library's."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date

from declare import estate
from schema_cases import relation, row, stand_alone

from holdfast.rules.schema import lint
from stacks import ESTATE, acs, call_analytics, miyabi

TODAY = date(2026, 11, 16)
CALLS = "call-analytics-{env}-call-analysis-{region}"
CONNECTIONS = "orangetheory-UserConnections-{env}"
MIYABI = "miyabi-lambda-data-{env}"

# {why it is known and stays: [(rule, table, index or entity)]}, kept by hand: every row is a problem of the sources.
EXPECTED = {
    "the document defines the index on the key of the table itself; the live table has it, and dropping it is a change "
    "of its own": [
        ("HF401", "acsd2p-{env}-Users", "id-index"),
        ("HF401", "acsd2p-{env}-Conversations", "conversation_id-index"),
        ("HF401", "acsd2p-{env}-Threads", "conversation_id-index"),
        ("HF401", "acsd2p-{env}-RL_AI", "associated_account-index"),
        ("HF401", "acsd2p-{env}-RL_AWS", "associated_account-index"),
        ("HF401", "acsd2p-{env}-EVDataCollection", "conversation_id-index"),
        ("HF401", "acsd2p-{env}-LLMDataCollection", "conversation_id-index"),
        ("HF401", "acsd2p-{env}-LLMReportData", "report_id-index"),
        ("HF401", "acsd2p-{env}-Invocations", "id-index"),
    ],
    "the document gives two indexes on one account, of which the second holds what the first does": [
        ("HF402", "acsd2p-{env}-Conversations", "associated_account-index"),
    ],
    "the document's user has email, id and created_at, and its indexes and queries use other names": [
        ("HF403", "acsd2p-{env}-Users", "responseEmail-index"),
        ("HF403", "acsd2p-{env}-Users", "userId-createdAt-index"),
        ("HF409", "acsd2p-{env}-Users", "ACS1"),
        ("HF409", "acsd2p-{env}-Users", "userId-createdAt-index"),
    ],
    "the document's conversation holds is_first_email as a Boolean, which no key can be": [
        ("HF405", "acsd2p-{env}-Conversations", "associated_account-is_first_email-index"),
    ],
    "the document keys the invites on timestamp, and the key of a live table cannot change": [
        ("HF407", "acsd2p-{env}-OrganizationInvites", ""),
    ],
    "the document names these indexes with dots, as if a key could be a path into a map": [
        ("HF404", CALLS, "staff_performance...name-callStartTime-index"),
        ("HF404", CALLS, "call_categorization...classification-callStartTime-index"),
        ("HF404", CALLS, "call_categorization.follow_up_type-callStartTime-index"),
        ("HF404", CALLS, "call_outcome.outcome_category-callStartTime-index"),
    ],
    "the document partitions by brand, direction or category; the table is to be left for Neon": [
        ("HF406", CALLS, "franchise-callStartTime-index"),
        ("HF406", CALLS, "franchise-siteId-index"),
        ("HF406", CALLS, "callDirection-callStartTime-index"),
        ("HF406", CALLS, "call_categorization...classification-callStartTime-index"),
        ("HF406", CALLS, "call_categorization.follow_up_type-callStartTime-index"),
        ("HF406", CALLS, "call_outcome.outcome_category-callStartTime-index"),
    ],
    "the document puts runs and agents under their status, of which there are few": [("HF406", MIYABI, "GSI1")],
    "items carry account_id since 2026-04-25, and the indexes keep the name siteId": [
        ("HF408", CALLS, "franchise-siteId-index"),
        ("HF408", CALLS, "siteId-callStartTime-index"),
        ("HF409", CALLS, "franchise-siteId-index"),
        ("HF409", CALLS, "siteId-callStartTime-index"),
    ],
    "the document asks for runs by agent type of an index that holds their status": [
        ("HF409", MIYABI, "GSI1-AGENT_TYPE"),
    ],
    "the document gives or counts that many indexes, and CDK's default projection": [
        ("HF411", CALLS, ""),
        ("HF411", CONNECTIONS, ""),
        ("HF411", "LeadTracking-v2-{region}", ""),
        ("HF411", "acsd2p-{env}-Conversations", ""),
    ],
    "the document's sample item expires before it was made; the applications compute it from the day of creation": [
        ("HF412", "acsd2p-{env}-Sessions", "SESSION"),
        ("HF412", MIYABI, "WEBSOCKET"),
        ("HF412", MIYABI, "LINE_MESSAGE"),
        ("HF412", MIYABI, "EXECUTION_LOG"),
    ],
    "the document finds the streams of the tables that outlived their stack on, and no consumer": [
        ("HF414", "ConnectionService-Organizations-{env}", ""),
        ("HF414", "ConnectionService-Connections-{env}", ""),
        ("HF414", "ConnectionService-OrgConfigurations-{env}", ""),
        ("HF414", "ConnectionService-UserOrganizations-{env}", ""),
        ("HF414", "ConnectionService-SubAccountLinks-{env}", ""),
    ],
    "the document makes storeId the wall between stores, and keys calls, messages and leads on something else": [
        ("HF420", CALLS, ""),
        ("HF420", "call-analytics-{env}-call-events-{region}", ""),
        ("HF420", "call-analytics-{env}-message-store-{region}", ""),
        ("HF420", "call-analytics-{env}-conversations-{region}", ""),
        ("HF420", "LeadTracking-v2-{region}", ""),
    ],
}

LIFECYCLE = (
    *("stack name", "owner", "environment name", "region", "account", "name", "engine", "port", "size"),
    *("hour of the upkeep", "partitions ahead", "earliest row", "archive/{table}/", "locked"),
)
MEETING = (
    *("stack name", "owner", "environment name", "region", "account", "recovery", "daily backup", "six-hourly backup"),
    *("max_connections", "name", "session:{id}", "room:{meeting_id}", "rate:{user}", "lock:{resource}"),
    *("cache:meeting:{id}", "cache:user:{id}", "meeting.tasks", "meeting.tasks.dlq", "meeting.system_events"),
    *("recordings/{meeting_id}/{file}", "media/uploads/{uuid}.{ext}", "temp/{file}", "quota", "applications"),
    *("collections", "services", "ports", "Cloud Map and Parameter Store", "snapshot"),
)

# Rule HF415, of tables and of stacks.
ASSUMED = {
    "account": [
        "CallAnalytics-{Env}-Storage",
        "MessageSystemStack",
        "OrangeTheoryStack-{env}",
        "RCSubscription-{env}-Storage",
        "LeadTrackingStack",
    ],
    "key types, index name, index key, usage": [
        CALLS,
    ],
    "key types, projection, index key": [
        "call-analytics-{env}-call-events-{region}",
        "orangetheory-StoresV2-{env}",
    ],
    "name, key, key types": [
        "call-analytics-{env}-message-store-{region}",
        "call-analytics-{env}-conversations-{region}",
    ],
    "key types, projection, index": [
        CONNECTIONS,
        "orangetheory-PhoneNumbers-{env}",
        "orangetheory-UserStore-{env}",
        "orangetheory-SubAccounts-{env}",
        "studio-BlackoutPeriods-{env}",
        "rc-subscription-{env}-webhook-subscriptions",
        "ConnectionService-Connections-{env}",
        "ConnectionService-UserOrganizations-{env}",
        "ConnectionService-SubAccountLinks-{env}",
    ],
    "projection, index": [
        "orangetheory-PhoneStoreAssignments-{env}",
    ],
    "key types": [
        "orangetheory-OAuthStates-{env}",
        "studio-Cache-{env}",
        "rc-subscription-{env}-idempotency",
        "ConnectionService-Organizations-{env}",
        "ConnectionService-OrgConfigurations-{env}",
    ],
    "key, key types, projection, index, data class": [
        "orangetheory-BlackoutPeriods-{env}",
    ],
    "key, data class": [
        "orangetheory-OperatingHours-{env}",
    ],
    "key types, projection": [
        "LeadTracking-v2-{region}",
    ],
    "stack name, account": [
        "ConnectionServiceStack-{env}",
    ],
    "stack name, owner, account": [
        "LegacyTablesStack-{env}",
    ],
    "key, key types": [
        "call-analysis",
        "call-events",
        "CallAnalysisMetadata",
    ],
    "key": [
        "client-configurations",
    ],
    "stack name, owner, environment name, region, account": [
        "AcsTables-{env}",
    ],
    "index key types, projection": [
        "acsd2p-{env}-Users",
        "acsd2p-{env}-Conversations",
    ],
    "projection": [
        "acsd2p-{env}-Threads",
        "acsd2p-{env}-OrganizationMembers",
        "acsd2p-{env}-OrganizationInvites",
        "acsd2p-{env}-RL_AI",
        "acsd2p-{env}-RL_AWS",
        "acsd2p-{env}-EVDataCollection",
        "acsd2p-{env}-LLMDataCollection",
        "acsd2p-{env}-LLMReportData",
        "acsd2p-{env}-Invocations",
    ],
    "projection, addition": [
        "acsd2p-{env}-Sessions",
    ],
    "stack name, account, environment name": [
        "MiyabiLambda-{env}",
    ],
    "expiry, name": [
        MIYABI,
    ],
    ", ".join(LIFECYCLE): [
        "LifecyclePlatform-{env}",
    ],
    ", ".join(MEETING): [
        "MeetingSystem-{env}",
    ],
}


def test_what_is_found_today() -> None:
    found = [row(f) for f in lint(ESTATE, today=TODAY) if f.rule.id != "HF415"]
    known = [entry for entries in EXPECTED.values() for entry in entries]
    assert Counter(found) == Counter(known), "add its line to EXPECTED here, or take it out"
    assert all(len(reason.split()) > 5 for reason in EXPECTED), "say why it is known and stays"


def test_what_is_assumed_today() -> None:
    found = [f for f in lint(ESTATE, today=TODAY) if f.rule.id == "HF415"]
    said = {f.table or f.where: f.detail for f in found}
    assert said == {
        name: f"assumed and not documented: {facts}" for facts, names in ASSUMED.items() for name in names
    }, "add its line to ASSUMED here, or take it out"


def test_findings_stand_alone() -> None:
    stand_alone(ESTATE)


def test_details_name_what_is_wrong() -> None:
    details = {
        f.where.rpartition("/")[2]: f.detail
        for f in lint(ESTATE, today=TODAY)
        if f.rule.id in ("HF409", "HF411", "HF412")
    }
    assert details["SESSION"] == (
        "the documented ttl of SESSION, 1704067200, means 2024-01-01T00:00:00Z, "
        "not after its creation at 2024-01-01T00:00:00Z"
    )
    assert details["ACS1"].endswith(
        "the documented user has its address in email and no responseEmail, so the index holds none"
    )
    assert details[CALLS].startswith("a new item can cost 12 writes: ")


def test_a_site_is_no_store() -> None:
    """The mix-up that the source warns of, between two stacks."""
    wrong = relation("siteId", table=CALLS, to_table="orangetheory-StoresV2-{env}", to_attribute="storeId")
    right = relation(
        "siteId", table=CALLS, to_table="orangetheory-PhoneNumbers-{env}", to_attribute="providerAccountId"
    )
    for declared, expected in (
        (wrong, ["siteId (RingCentral account) is joined with orangetheory-StoresV2-{env}.storeId (store)"]),
        (right, []),
    ):
        stacks = [replace(s, relations=(declared,)) if s is call_analytics.STACK else s for s in ESTATE.stacks]
        assert [f.detail for f in lint(estate(*stacks), today=TODAY) if f.rule.id == "HF413"] == expected


def test_the_agent_type_pattern_is_found_even_if_nobody_marks_it() -> None:
    patterns = tuple(replace(p, unsupported=None) for p in miyabi.PATTERNS)
    found = [f for f in lint(estate(replace(miyabi.STACK, patterns=patterns)), today=TODAY) if f.rule.id == "HF409"]
    assert [f.detail for f in found] == [
        "pattern GSI1-AGENT_TYPE asks GSI1 for GSI1PK = AGENT_TYPE#{agentType}, "
        "and no declared entity writes such an item"
    ]


def test_a_fixed_model_is_quiet() -> None:
    """Once users carry what their indexes are keyed on, those answer, and nothing is unsupported."""
    user, *others = acs.ENTITIES
    fixed = replace(user, attributes=(*user.attributes, "responseEmail", "userId", "createdAt"))
    asked = tuple(replace(p, unsupported=None) for p in acs.STACK.patterns)
    found = lint(estate(replace(acs.STACK, entities=(fixed, *others), patterns=asked)), today=TODAY)
    assert not [f for f in found if f.rule.id in ("HF403", "HF409")]


def test_booleans_are_attributes_of_their_entity() -> None:
    for declared in ESTATE.stacks:
        for entity in declared.entities:
            assert set(entity.booleans) <= set(entity.attributes), entity.type
