"""The schema linter: what it finds on today's declarations, and for each rule what does and does not trigger it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from declare import estate, stack, table

from holdfast import (
    Assumed,
    DeclarationError,
    Durable,
    Entity,
    Fact,
    Item,
    Match,
    Pattern,
    Processor,
    Projection,
    Relation,
    Stack,
    State,
    Stream,
    Transient,
    View,
    gsi,
    key,
)
from holdfast.reserved import RESERVED
from holdfast.rules.base import Finding, Outcome, Source
from holdfast.rules.declared import can_equal
from holdfast.rules.schema import RULES, lint
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
    ("HF406", CONNECTIONS, "status-tokenExpiresAt-index"),
    ("HF406", MIYABI, "GSI1"),
    ("HF407", CONNECTIONS, "status-tokenExpiresAt-index"),
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
    ("HF410", "acsd2p-{env}-Threads", "associated_account"),
    ("HF410", "acsd2p-{env}-Threads", "conversation_id-index"),
    ("HF410", "acsd2p-{env}-OrganizationMembers", "user_id-index"),
    ("HF410", "acsd2p-{env}-OrganizationInvites", "email-index"),
    ("HF410", "acsd2p-{env}-OrganizationInvites", "invite_token-index"),
    ("HF410", "acsd2p-{env}-OrganizationInvites", "organization_id-index"),
    ("HF410", "acsd2p-{env}-RL_AI", "associated_account-index"),
    ("HF410", "acsd2p-{env}-RL_AWS", "associated_account-index"),
    ("HF410", "acsd2p-{env}-EVDataCollection", "conversation_id-index"),
    ("HF410", "acsd2p-{env}-LLMDataCollection", "conversation_id-index"),
    ("HF410", "acsd2p-{env}-LLMReportData", "report_id-index"),
    ("HF410", "acsd2p-{env}-Invocations", "associated_account-index"),
    ("HF410", "acsd2p-{env}-Invocations", "id-index"),
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
]

# Rule HF415: no table is free of assumptions yet.
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
    "key types, key": ["call-analytics-{env}-message-store-{region}", "call-analytics-{env}-conversations-{region}"],
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
    "owner": ["acsd2p-{env}-Organizations"],
    "owner, expiry": [MIYABI],
    "owner, index key types, projection": [
        "acsd2p-{env}-Users",
        "acsd2p-{env}-Threads",
        "acsd2p-{env}-OrganizationInvites",
        "acsd2p-{env}-Invocations",
    ],
    "owner, index key types, projection, addition": ["acsd2p-{env}-Sessions"],
    "owner, index key types, projection, index key": ["acsd2p-{env}-Conversations"],
    "owner, key types, key": ["call-analysis", "call-events", "CallAnalysisMetadata", "client-configurations"],
    "owner, projection": [
        "acsd2p-{env}-OrganizationMembers",
        "acsd2p-{env}-RL_AI",
        "acsd2p-{env}-RL_AWS",
        "acsd2p-{env}-EVDataCollection",
        "acsd2p-{env}-LLMDataCollection",
        "acsd2p-{env}-LLMReportData",
    ],
}


def row(found: Finding) -> tuple[str, str | None, str]:
    return found.rule.id, found.table, found.where.removeprefix(f"{found.stack}/{found.table}").removeprefix("/")


def test_what_is_found_today() -> None:
    found = [row(f) for f in lint(ESTATE, today=TODAY) if f.rule.id != "HF415"]
    assert Counter(found) == Counter(EXPECTED)


def test_what_is_assumed_today() -> None:
    said = {f.table: f.detail for f in lint(ESTATE, today=TODAY) if f.rule.id == "HF415"}
    assert said == {name: f"assumed and not documented: {facts}" for facts, names in ASSUMED.items() for name in names}
    assert said.keys() == {t.name for s in ESTATE.stacks for t in s.tables}


def test_findings_stand_alone() -> None:
    findings = lint(ESTATE, today=TODAY)
    tables = {(s.id, t.name) for s in ESTATE.stacks for t in s.tables}
    for f in findings:
        assert f.outcome is Outcome.FAIL
        assert f.source is Source.DECLARATION
        assert f.environment is None
        assert (f.stack, f.table) in tables
        assert f.where.startswith(f"{f.stack}/{f.table}")
        assert f.detail
        assert str(f.table) in f.fix
        assert "{table}" not in f.fix
    assert len({(f.rule.id, f.where) for f in findings}) == len(findings)


def test_rules_are_numbered_in_order_and_explain_themselves() -> None:
    assert [r.id for r in RULES] == [f"HF{n}" for n in range(401, 417)]
    for rule in RULES:
        assert rule.checks
        assert not rule.controls
        assert "{table}" in rule.remediation
        assert rule.why.count(".") >= 2
        assert not rule.title.endswith(".")


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


# One declaration that triggers each rule, and one that does not -------------------------------------------------------


def orders(*attributes: str, keys: dict[str, str] | None = None, **changes: Any) -> Entity:
    items = (Item(keys or {"id": "{id}"}),)
    return Entity(**({"type": "ORDER", "table": "orders-{env}", "items": items, "attributes": attributes} | changes))


def pattern(**changes: Any) -> Pattern:
    return Pattern(**({"id": "P1", "purpose": "", "table": "orders-{env}", "partition": "{x}"} | changes))


def relation(attribute: str = "customerId", **changes: Any) -> Relation:
    ends = {"to_table": "customers-{env}", "to_attribute": "id"}
    return Relation(**({"table": "orders-{env}", "attribute": attribute} | ends | changes))


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EPOCH = int(NOON.timestamp())
KEYS = {"id": "ORDER#{id}", "at": "PAID#{paidAt}"}
SORTED = table(key=key("id", "at"))
CUSTOMERS = stack(table(name="customers-{env}"), id="Crm-{env}", identities={"id": "customer"})
IDENTITIES = {"customerId": "customer", "shopId": "shop"}

TRIGGERS: list[tuple[str, list[str], tuple[Stack, ...]]] = [
    ("HF401", ["id-index"], (stack(table(indexes=(gsi("id"),))),)),
    ("HF401", ["id-index"], (stack(table(key=key("id", "at"), indexes=(gsi("id"),))),)),
    ("HF401", ["id-at-index"], (stack(table(key=key("id", "at"), indexes=(gsi("id", "at"),))),)),
    ("HF401", [], (stack(table(indexes=(gsi("id", "at"),))),)),
    ("HF401", [], (stack(table(key=key("id", "at"), indexes=(gsi("at"), gsi("id", "paidAt")))),)),
    ("HF402", ["shop-index"], (stack(table(indexes=(gsi("shop"), gsi("shop", "at"), gsi("shop", "total")))),)),
    ("HF402", [], (stack(table(indexes=(gsi("shop"), gsi("shop", "at", projection=Projection.KEYS_ONLY)))),)),
    ("HF402", [], (stack(table(indexes=(gsi("shop"), gsi("customer", "at")))),)),
    # An order without `at` is in the shorter index only.
    ("HF402", [], (stack(table(indexes=(gsi("shop"), gsi("shop", "at"))), entities=(orders("shop"),)),)),
    ("HF403", ["shop-index"], (stack(table(indexes=(gsi("shop"),)), entities=(orders("shopId"),)),)),
    (
        "HF403",
        ["shop-at-index"],
        (stack(table(indexes=(gsi("shop", "at"),)), entities=(orders("shop"), orders("at"))),),
    ),
    ("HF403", [], (stack(table(indexes=(gsi("shop", "at"),)), entities=(orders("shop", "at"),)),)),
    ("HF403", [], (stack(table(indexes=(gsi("shop"),))),)),
    (
        "HF403",
        [],
        (
            stack(
                table(lifetime=Durable(ttl="ttl"), indexes=(gsi("ttl"),)),
                entities=(orders(expires_after=timedelta(days=1)),),
            ),
        ),
    ),
    ("HF404", ["", "shop.id-index"], (stack(table(key=key("order.id"), indexes=(gsi("shop.id"),))),)),
    ("HF404", [], (stack(table(indexes=(gsi("shopId", name="shop.id-index"),))),)),
    ("HF405", ["paid-index"], (stack(table(indexes=(gsi("paid"),)), entities=(orders("paid", booleans=("paid",)),)),)),
    ("HF405", [], (stack(table(indexes=(gsi("shop"),)), entities=(orders("paid", booleans=("paid",)),)),)),
    ("HF406", ["", "state-index"], (stack(table(indexes=(gsi("state"),), few_values=("id", "state"))),)),
    ("HF406", [], (stack(table(indexes=(gsi("shop", "state"),), few_values=("state",))),)),
    ("HF407", ["", "Status-index"], (stack(table(key=key("name"), indexes=(gsi("Status"),))),)),
    ("HF407", [], (stack(table(indexes=(gsi("order_status", name="status"),)), entities=(orders("status"),)),)),
    ("HF408", ["shop-at-index"], (stack(table(indexes=(gsi("shop", "at"),), renamed={"at": "created_at"})),)),
    ("HF408", [], (stack(table(indexes=(gsi("shop", "at"),))),)),
    ("HF409", ["P1"], (stack(table(), patterns=(pattern(unsupported="there is no such index"),)),)),
    ("HF409", ["P1"], (stack(table(), patterns=(pattern(sort="{at}"),)),)),
    ("HF409", ["P1"], (stack(SORTED, entities=(orders(keys=KEYS),), patterns=(pattern(partition="SHOP#{id}"),)),)),
    (
        "HF409",
        ["P1"],
        (stack(SORTED, entities=(orders(keys=KEYS),), patterns=(pattern(sort="SENT#", match=Match.PREFIX),)),),
    ),
    (
        "HF409",
        ["P1"],
        (stack(table(indexes=(gsi("shop"),)), entities=(orders(),), patterns=(pattern(index="shop-index"),)),),
    ),
    (
        "HF409",
        [],
        (
            stack(
                SORTED,
                entities=(orders(keys=KEYS),),
                patterns=(
                    pattern(id="P1", partition="ORDER#{id}", sort="PAID#", match=Match.PREFIX),
                    pattern(id="P2", partition="ORDER#{id}", sort="PAID#{paidAt}"),
                    pattern(id="P3", partition="ORDER#{id}"),
                ),
            ),
        ),
    ),
    (
        "HF409",
        [],
        (stack(table(indexes=(gsi("shop"),)), entities=(orders("shop"),), patterns=(pattern(index="shop-index"),)),),
    ),
    ("HF409", [], (stack(table(), patterns=(pattern(),)),)),
    ("HF410", ["shop-index"], (stack(table(indexes=(gsi("shop"),)), patterns=(pattern(),)),)),
    (
        "HF410",
        ["shop-index"],
        (stack(table(indexes=(gsi("shop"),)), patterns=(pattern(index="shop-index", unsupported="empty"),)),),
    ),
    ("HF410", [], (stack(table(indexes=(gsi("shop"),)), patterns=(pattern(index="shop-index"),)),)),
    ("HF410", [], (stack(table(indexes=(gsi("shop"),))),)),
    ("HF411", [""], (stack(table(indexes=tuple(gsi(f"a{n}") for n in range(4)))),)),
    ("HF411", [], (stack(table(indexes=tuple(gsi(f"a{n}") for n in range(3)))),)),
    ("HF412", [""], (stack(table(lifetime=Transient(ttl="ttl")), entities=(orders("expires_at"),)),)),
    (
        "HF412",
        ["ORDER"],
        (stack(table(lifetime=Transient(ttl="ttl")), entities=(orders("ttl", documented_ttl=(NOON, EPOCH)),)),),
    ),
    (
        "HF412",
        ["ORDER"],
        (
            stack(
                table(lifetime=Transient(ttl="ttl")),
                entities=(orders("ttl", documented_ttl=(NOON, (EPOCH + 60) * 1000)),),
            ),
        ),
    ),
    (
        "HF412",
        [],
        (stack(table(lifetime=Transient(ttl="ttl")), entities=(orders("ttl", documented_ttl=(NOON, EPOCH + 1)),)),),
    ),
    (
        "HF412",
        [],
        (stack(table(lifetime=Transient(ttl="ttl")), entities=(orders(expires_after=timedelta(days=1)),)),),
    ),
    ("HF412", [], (stack(table(lifetime=Transient(ttl="ttl"))),)),
    ("HF412", [], (stack(table(), entities=(orders(),)),)),
    ("HF413", ["shopId"], (stack(table(), identities=IDENTITIES, relations=(relation("shopId"),)), CUSTOMERS)),
    ("HF413", ["customerId"], (stack(table(), identities=IDENTITIES, relations=(relation(),)),)),
    ("HF413", ["customerId"], (stack(table(), relations=(relation(),)), CUSTOMERS)),
    (
        "HF413",
        ["customerId"],
        (stack(table(), relations=(relation(to_attribute="mail"),)), replace(CUSTOMERS, identities={})),
    ),
    ("HF413", [], (stack(table(), identities=IDENTITIES, relations=(relation(),)), CUSTOMERS)),
    ("HF414", [""], (stack(table(stream=Stream(view=View.NEW_IMAGE))),)),
    ("HF414", [], (stack(table(stream=Stream(view=View.NEW_IMAGE, consumer="mailer"))),)),
    ("HF414", [], (stack(table(stream=Stream(view=View.NEW_IMAGE, pending="not yet"))),)),
    (
        "HF414",
        [],
        (
            stack(
                table(stream=Stream(view=View.NEW_IMAGE)),
                processors=(Processor(name="mailer", table="orders-{env}", code="functions/mailer"),),
            ),
        ),
    ),
    ("HF415", [""], (stack(table(assumed=(Assumed(Fact.KEY, "a guess"),))),)),
    ("HF415", [""], (stack(table(indexes=(gsi("shop", assumed="a guess"),))),)),
    # A projection is assumed, and there is no index that could have one.
    ("HF415", [], (stack(table(), assumed=(Assumed(Fact.PROJECTION, "a guess"),)),)),
    ("HF416", [""], (stack(table(state=State(replaced_by="nowhere"))),)),
    ("HF416", [], (stack(table(state=State(replaced_by="new-{env}")), table(name="new-{env}")),)),
]


@pytest.mark.parametrize(("rule", "expected", "stacks"), TRIGGERS)
def test_each_rule_finds_what_it_is_for_and_nothing_else(
    rule: str, expected: list[str], stacks: tuple[Stack, ...]
) -> None:
    found = [part for found_rule, _, part in map(row, lint(estate(*stacks), today=TODAY)) if found_rule == rule]
    assert found == expected


def test_every_rule_is_tried_both_ways() -> None:
    tried = {(rule, bool(expected)) for rule, expected, _ in TRIGGERS}
    assert tried == {(rule.id, triggers) for rule in RULES for triggers in (True, False)}


# On the real declarations ---------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("a", "b", "possible"),
    [
        ("METADATA", "METADATA", True),
        ("METADATA", "METADATA2", False),
        ("USER#{id}", "USER#{userId}", True),
        ("USER#{id}", "USER#7", True),
        ("USER#{id}", "ORG#7", False),
        ("STATUS#{status}", "AGENT_TYPE#{type}", False),
        ("STATUS#{status}", "{anything}", True),
        ("{id}#OPEN", "{id}#DONE", False),
        ("{id}#OPEN", "ORDER#{id}", True),
        ("EXEC#{at}#{id}", "EXEC#", False),
        ("EXEC#{at}#{id}", "EXEC#{…}", True),
        ("A.C{x}", "ABC1", False),
    ],
)
def test_two_templates_can_give_one_value(a: str, b: str, possible: bool) -> None:
    assert can_equal(a, b) is possible
    assert can_equal(b, a) is possible


def test_reserved_words() -> None:
    assert len(RESERVED) == 573
    assert all(word.isupper() and word.isalpha() for word in RESERVED)
    assert {"NAME", "STATUS", "ROLE", "TIMESTAMP", "DOMAIN", "PERMISSIONS", "TTL", "LIMIT", "DATA"} <= RESERVED
    assert not {"ID", "PK", "SK", "EMAIL", "USERID"} & RESERVED


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"few_values": ("stat",)}, "few_values names stat, which is in no key of the table"),
        ({"renamed": {"stat": "status"}}, "renamed names stat, which is in no key of the table"),
    ],
)
def test_facts_about_keys_that_do_not_exist_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        table(**changes)


def test_a_relation_starts_in_its_own_stack() -> None:
    with pytest.raises(DeclarationError, match="Relation customerId names table nowhere; the stack has orders-"):
        stack(table(), relations=(relation(table="nowhere"),))
