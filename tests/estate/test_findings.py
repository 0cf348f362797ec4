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

# Kept by hand: every row is a known problem of the sources.
EXPECTED = [
    ("HF401", "acsd2p-{env}-Users", "id-index"),
    ("HF401", "acsd2p-{env}-Conversations", "conversation_id-index"),
    ("HF401", "acsd2p-{env}-Threads", "conversation_id-index"),
    ("HF401", "acsd2p-{env}-RL_AI", "associated_account-index"),
    ("HF401", "acsd2p-{env}-RL_AWS", "associated_account-index"),
    ("HF401", "acsd2p-{env}-EVDataCollection", "conversation_id-index"),
    ("HF401", "acsd2p-{env}-LLMDataCollection", "conversation_id-index"),
    ("HF401", "acsd2p-{env}-LLMReportData", "report_id-index"),
    ("HF401", "acsd2p-{env}-Invocations", "id-index"),
    ("HF402", "acsd2p-{env}-Conversations", "associated_account-index"),
    ("HF403", "acsd2p-{env}-Users", "responseEmail-index"),
    ("HF403", "acsd2p-{env}-Users", "userId-createdAt-index"),
    ("HF404", CALLS, "staff_performance...name-callStartTime-index"),
    ("HF404", CALLS, "call_categorization...classification-callStartTime-index"),
    ("HF404", CALLS, "call_categorization.follow_up_type-callStartTime-index"),
    ("HF404", CALLS, "call_outcome.outcome_category-callStartTime-index"),
    ("HF405", "acsd2p-{env}-Conversations", "associated_account-is_first_email-index"),
    ("HF406", CALLS, "franchise-callStartTime-index"),
    ("HF406", CALLS, "franchise-siteId-index"),
    ("HF406", CALLS, "callDirection-callStartTime-index"),
    ("HF406", CALLS, "call_categorization...classification-callStartTime-index"),
    ("HF406", CALLS, "call_categorization.follow_up_type-callStartTime-index"),
    ("HF406", CALLS, "call_outcome.outcome_category-callStartTime-index"),
    ("HF406", MIYABI, "GSI1"),
    ("HF407", "acsd2p-{env}-OrganizationInvites", ""),
    ("HF408", CALLS, "franchise-siteId-index"),
    ("HF408", CALLS, "siteId-callStartTime-index"),
    ("HF409", "acsd2p-{env}-Users", "ACS1"),
    ("HF409", MIYABI, "GSI1-AGENT_TYPE"),
    ("HF410", "acsd2p-{env}-Users", "id-index"),
    ("HF410", "acsd2p-{env}-Users", "userId-createdAt-index"),
    ("HF410", "acsd2p-{env}-Conversations", "associated_account-is_first_email-index"),
    ("HF410", "acsd2p-{env}-Conversations", "conversation_id-index"),
    ("HF410", "acsd2p-{env}-Conversations", "message_id-index"),
    ("HF410", "acsd2p-{env}-Conversations", "response_id-index"),
    ("HF411", CALLS, ""),
    ("HF411", CONNECTIONS, ""),
    ("HF411", "LeadTracking-v2-{region}", ""),
    ("HF411", "acsd2p-{env}-Conversations", ""),
    ("HF412", "acsd2p-{env}-Sessions", "SESSION"),
    ("HF412", MIYABI, "WEBSOCKET"),
    ("HF412", MIYABI, "LINE_MESSAGE"),
    ("HF412", MIYABI, "EXECUTION_LOG"),
    ("HF414", "ConnectionService-Organizations-{env}", ""),
    ("HF414", "ConnectionService-Connections-{env}", ""),
    ("HF414", "ConnectionService-OrgConfigurations-{env}", ""),
    ("HF414", "ConnectionService-UserOrganizations-{env}", ""),
    ("HF414", "ConnectionService-SubAccountLinks-{env}", ""),
    ("HF419", "orangetheory-BlackoutPeriods-{env}", ""),
    ("HF419", "orangetheory-OperatingHours-{env}", ""),
    ("HF419", "ConnectionService-CallAnalysisConfigurations-{env}", ""),
    ("HF419", "ConnectionService-Organizations-{env}", ""),
    ("HF419", "ConnectionService-OrgConfigurations-{env}", ""),
    ("HF419", "ConnectionService-UserOrganizations-{env}", ""),
    ("HF419", "ConnectionService-SubAccountLinks-{env}", ""),
]

MEETING = (
    *("owner", "backups", "max_connections", "session:{id}", "room:{meeting_id}", "rate:{user}", "lock:{resource}"),
    *("cache:meeting:{id}", "cache:user:{id}", "tasks", "tasks.dlq", "system_events", "recordings/{meeting_id}/{file}"),
    *("media/uploads/{uuid}.{ext}", "temp/{file}", "collections", "services", "ports"),
    "Cloud Map and Parameter Store",
)

# Rule HF415, of tables and of stacks.
ASSUMED = {
    "key types": [
        "call-analytics-{env}-call-analysis-config-{region}",
        "orangetheory-OAuthStates-{env}",
        "studio-Cache-{env}",
        "studio-OperatingHours-{env}",
        "orangetheory-OperatingHours-{env}",
        "rc-subscription-{env}-idempotency",
        "ConnectionService-CallAnalysisConfigurations-{env}",
        "ConnectionService-Organizations-{env}",
        "ConnectionService-OrgConfigurations-{env}",
    ],
    "key types, index key": [CALLS],
    "key, key types": [
        "call-analytics-{env}-message-store-{region}",
        "call-analytics-{env}-conversations-{region}",
        *("call-analysis", "call-events", "CallAnalysisMetadata", "client-configurations"),
    ],
    "key types, projection": ["LeadTracking-v2-{region}"],
    "key types, projection, index": [
        CONNECTIONS,
        "orangetheory-PhoneNumbers-{env}",
        "orangetheory-PhoneStoreAssignments-{env}",
        "orangetheory-UserStore-{env}",
        "orangetheory-SubAccounts-{env}",
        "studio-BlackoutPeriods-{env}",
        "orangetheory-BlackoutPeriods-{env}",
        "rc-subscription-{env}-webhook-subscriptions",
        "ConnectionService-Connections-{env}",
        "ConnectionService-UserOrganizations-{env}",
        "ConnectionService-SubAccountLinks-{env}",
    ],
    "key types, projection, index key": [
        "call-analytics-{env}-call-events-{region}",
        "orangetheory-StoresV2-{env}",
    ],
    "owner": ["LegacyTablesStack-{env}", "AcsTables-{env}", "MiyabiLambda-{env}"],
    "expiry": [MIYABI],
    "index key types, projection": [
        "acsd2p-{env}-Users",
        "acsd2p-{env}-Threads",
        "acsd2p-{env}-OrganizationInvites",
        "acsd2p-{env}-Invocations",
    ],
    "owner, port, size, hour of the upkeep, archive/{table}/": ["LifecyclePlatform-{env}"],
    ", ".join(MEETING): ["MeetingSystem-{env}"],
    "index key types, projection, addition": ["acsd2p-{env}-Sessions"],
    "index key types, projection, index key": ["acsd2p-{env}-Conversations"],
    "projection": [
        "acsd2p-{env}-OrganizationMembers",
        "acsd2p-{env}-RL_AI",
        "acsd2p-{env}-RL_AWS",
        "acsd2p-{env}-EVDataCollection",
        "acsd2p-{env}-LLMDataCollection",
        "acsd2p-{env}-LLMReportData",
    ],
}


def test_what_is_found_today() -> None:
    found = [row(f) for f in lint(ESTATE, today=TODAY) if f.rule.id != "HF415"]
    assert Counter(found) == Counter(EXPECTED), "add its line to EXPECTED here, or take it out"


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
    assert details["ACS1"] == (
        "pattern ACS1 asks responseEmail-index for responseEmail = {email}, and no declared entity writes such an item"
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
    """Once the users carry what their indexes are keyed on, login works and no index is empty."""
    user, *others = acs.ENTITIES
    fixed = replace(user, attributes=(*user.attributes, "responseEmail", "userId", "createdAt"))
    found = lint(estate(replace(acs.STACK, entities=(fixed, *others))), today=TODAY)
    assert not [f for f in found if f.rule.id in ("HF403", "HF409")]


def test_booleans_are_attributes_of_their_entity() -> None:
    for declared in ESTATE.stacks:
        for entity in declared.entities:
            assert set(entity.booleans) <= set(entity.attributes), entity.type
