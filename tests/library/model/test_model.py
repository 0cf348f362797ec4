"""What cannot be declared, and what the message says about the way out."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from declare import PROD, TEST, estate, stack, table
from hypothesis import given
from hypothesis import strategies as st

from holdfast import (
    Access,
    Attribute,
    DeclarationError,
    Durable,
    Entity,
    Guard,
    Item,
    Pattern,
    Table,
    Transient,
    gsi,
    key,
    number,
)
from holdfast.kinds.table.declaration import illegal_name
from holdfast.model.facts import construct_id


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "ab"}, "table ab: its name has 2 characters; DynamoDB wants 3 to 255"),
        ({"name": "...-{env}"}, "its name has no letter and no digit"),
        ({"name": "a" * 256}, "its name has 256 characters"),
        ({"name": "orders/{env}"}, "has characters other than a-z, A-Z, 0-9, '_', '-' and '.'"),
        ({"name": "orders-{stage}"}, "unknown placeholder 'stage'; use {Env}, {account}, {env}, {region}"),
        ({"name": "orders-{env!r}"}, "unknown placeholder 'env'"),
        ({"name": "orders-{env"}, "its name is not a template"),
        ({"key": key("id", "id")}, "its key uses id as partition and as sort key; drop the sort key"),
        ({"key": key("")}, "its key has an attribute name of 0 bytes"),
        ({"key": key("x" * 256)}, "its key has an attribute name of 256 bytes"),
        (
            {"indexes": (gsi("a", name="ab"),)},
            "index 'ab' has 2 characters; DynamoDB wants 3 to 255; pass a legal name=",
        ),
        ({"indexes": (gsi("a b"),)}, "index 'a b-index' has characters other than"),
        ({"indexes": (gsi("a", "a"),)}, "index a-a-index uses a as partition and as sort key"),
        ({"indexes": (gsi("a"), gsi("a"))}, "two indexes are called a-index; give one another name="),
        ({"indexes": tuple(gsi(f"a{n}") for n in range(21))}, "21 indexes, and DynamoDB allows 20"),
        ({"indexes": (gsi(number("id")),)}, "id is declared as S and as N; one attribute has one type"),
        ({"lifetime": Transient(ttl="")}, "the TTL attribute needs 1 to 255 characters"),
    ],
)
def test_refused_tables_say_which_and_why(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=re.escape(message)) as refused:
        table(**changes)
    assert refused.value.text.startswith("table ")


def test_twenty_indexes_and_the_longest_names_are_fine() -> None:
    table(name="a" * 255, indexes=tuple(gsi(f"a{n}") for n in range(20)))
    table(name="abc", indexes=(gsi("a", name="abc"), gsi("x" * 255, name="y" * 255)))


def test_a_transient_table_cannot_forget_its_ttl_nor_any_table_its_data_class() -> None:
    with pytest.raises(DeclarationError, match="Transient: ttl is missing"):
        Transient()  # type: ignore[call-arg]
    with pytest.raises(DeclarationError, match="Table abc: data is missing"):
        Table(name="abc", purpose="", key=key("id"), lifetime=Durable())  # type: ignore[call-arg]


@given(st.text(min_size=0, max_size=300))
def test_names_follow_dynamodb(name: str) -> None:
    legal = 3 <= len(name) <= 255 and all(c.isascii() and (c.isalnum() or c in "_.-") for c in name)
    assert (illegal_name(name) is None) is legal


@given(st.from_regex(r"[A-Za-z][A-Za-z0-9_.{}-]*", fullmatch=True))
def test_construct_ids_are_alphanumeric(name: str) -> None:
    assert construct_id(name).isalnum() or construct_id(name) == ""


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: stack(table(), table()), "stack Shop-{env}: two tables are called orders-{env}; rename or drop one"),
        (lambda: stack(table(), table(name="Orders.{env}")), "get the same construct id Orders; rename one"),
        (
            lambda: stack(table(), access=(Access(name="use", table="other", actions=()),)),
            "Access use names table other; the stack has orders-{env}",
        ),
        (
            lambda: stack(table(), entities=(Entity(type="ORDER", table="other", items=()),)),
            "Entity ORDER names table other",
        ),
        (
            lambda: stack(
                table(), patterns=(Pattern(id="P1", purpose="", table="orders-{env}", index="x", partition=""),)
            ),
            "pattern P1 reads index x of orders-{env}, which has no such index",
        ),
        (lambda: estate(stack(table()), stack(table())), "stack Shop-prod is declared twice for prod"),
        (
            lambda: estate(stack(table()), stack(table(), id="Other-{env}")),
            "table orders-prod is declared by Shop-prod and by Other-prod in us-east-1; a table has one stack",
        ),
        (
            lambda: estate(stack(table(name="orders"), region="eu-west-1")),
            "table orders is declared by Shop-prod and by Shop-test in eu-west-1",
        ),
        (lambda: estate(stack(table(), id="Shop-{stage}")), "stack Shop-{stage}: unknown placeholder 'stage'"),
        (
            lambda: estate(stack(table(name="x{env}{env}{env}"), environment_names={PROD: "p" * 120})),
            "in prod its name",
        ),
    ],
)
def test_refused_stacks_say_which_and_why(declare: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=re.escape(message)):
        declare()


def test_a_name_may_repeat_in_another_region() -> None:
    estate(stack(table(name="orders")))  # prod and test are in two regions


def test_a_stack_fills_in_its_own_words() -> None:
    (placed,) = estate(stack(table(), environment_names={PROD: "production"})).placements([PROD])
    assert (placed.name, placed.fill("{env}-{Env}-{region}")) == ("Shop-production", "production-Production-us-east-1")


@pytest.mark.parametrize("name", ["staging", "production", "PROD", "", "None"])
def test_an_unknown_environment_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(DeclarationError, match=f"unknown environment '{name}': known are prod, test, all"):
        estate().named(name)


def test_a_table_may_live_in_some_environments_only() -> None:
    here = stack(table(), table(name="old-{env}", only=(TEST,)))
    assert [len(p.tables) for p in estate(here).placements()] == [1, 2]


def test_ttl_is_computed_in_seconds() -> None:
    entity = Entity(type="LOG", table="t", items=(Item({"PK": "LOG#{id}"}),), expires_after=timedelta(days=30))
    assert entity.ttl(datetime(2025, 11, 29, 10, 32, 15, tzinfo=UTC)) == 1767004335
    assert Entity(type="USER", table="t", items=()).ttl(datetime(2025, 11, 29, tzinfo=UTC)) is None


def test_attributes_are_listed_once_and_in_order() -> None:
    t = table(key=key("id", "at"), indexes=(gsi("owner", "at"), gsi("id")))
    assert t.attributes == (Attribute("id"), Attribute("at"), Attribute("owner"))


def test_floors_of_table_and_stack_are_both_kept() -> None:
    here = stack(table(floor=Guard.RETAIN), floor=Guard.PITR)
    (placed,) = estate(here).placements([TEST])
    assert placed.required(placed.tables[0]) == Guard.TAGS | Guard.RETAIN | Guard.PITR
