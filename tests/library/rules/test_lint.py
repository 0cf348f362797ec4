"""The schema linter: for each rule what does and does not trigger it, and what is said then."""

from __future__ import annotations

from typing import Any

import pytest
from declare import estate, stack, table
from schema_cases import EPOCH, NOON, TODAY, TRIGGERS, orders, pattern, relation, row, stand_alone
from shop import ESTATE

from holdfast import DeclarationError, Estate, Stack, Transient, gsi
from holdfast.kinds.table.reserved import RESERVED
from holdfast.rules.declared import can_equal
from holdfast.rules.schema import RULES, lint


def test_rules_are_numbered_in_order_and_explain_themselves() -> None:
    assert [r.id for r in RULES] == [f"HF{n}" for n in range(401, 421)]
    for rule in RULES:
        assert rule.checks
        assert not rule.controls
        assert "{table}" in rule.remediation or "{stack}" in rule.remediation
        assert rule.why.count(".") >= 2
        assert not rule.title.endswith(".")


def test_details_name_what_is_wrong() -> None:
    def detail(rule: str, declared: Stack) -> str:
        (found,) = [f for f in lint(estate(declared), today=TODAY) if f.rule.id == rule]
        return found.detail

    expired = orders("ttl", documented_ttl=(NOON, EPOCH))
    assert detail("HF412", stack(table(lifetime=Transient(ttl="ttl")), entities=(expired,))) == (
        "the documented ttl of ORDER, 1767268800, means 2026-01-01T12:00:00Z, "
        "not after its creation at 2026-01-01T12:00:00Z"
    )
    by_mail = stack(
        table(indexes=(gsi("mail"),)),
        entities=(orders(),),
        patterns=(pattern(index="mail-index", partition="{address}"),),
    )
    assert detail("HF409", by_mail) == (
        "pattern P1 asks mail-index for mail = {address}, and no declared entity writes such an item"
    )
    many = stack(table(indexes=tuple(gsi(f"a{n}") for n in range(11))))
    assert detail("HF411", many).startswith("a new item can cost 12 writes: ")


@pytest.mark.parametrize(("rule", "expected", "stacks"), TRIGGERS)
def test_each_rule_finds_what_it_is_for_and_nothing_else(
    rule: str, expected: list[str], stacks: tuple[Stack, ...] | Estate
) -> None:
    whole = stacks if isinstance(stacks, Estate) else estate(*stacks)
    found = [part for found_rule, _, part in map(row, lint(whole, today=TODAY)) if found_rule == rule]
    assert found == expected


def test_every_rule_is_tried_both_ways() -> None:
    tried = {(rule, bool(expected)) for rule, expected, _ in TRIGGERS}
    assert tried == {(rule.id, triggers) for rule in RULES for triggers in (True, False)}


@pytest.mark.parametrize("stacks", [stacks for _, expected, stacks in TRIGGERS if expected])
def test_findings_stand_alone(stacks: tuple[Stack, ...] | Estate) -> None:
    stand_alone(stacks if isinstance(stacks, Estate) else estate(*stacks))


def test_findings_of_the_shop_stand_alone() -> None:
    stand_alone(ESTATE)
    assert {row(f)[:2] for f in lint(ESTATE, today=TODAY)} >= {("HF406", "orders-{env}"), ("HF415", "customers-{env}")}


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
        ({"low_cardinality": ("stat",)}, "low_cardinality names stat, which is in no key of the table"),
        ({"renamed": {"stat": "status"}}, "renamed names stat, which is in no key of the table"),
    ],
)
def test_facts_about_keys_that_do_not_exist_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        table(**changes)


def test_a_relation_starts_in_its_own_stack() -> None:
    with pytest.raises(DeclarationError, match="Relation customerId names table nowhere; the stack has orders-"):
        stack(table(), relations=(relation(table="nowhere"),))
