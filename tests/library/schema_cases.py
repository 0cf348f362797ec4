"""For each rule about schemas: declarations that trigger it, and others that do not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from declare import estate, stack, table

from holdfast import (
    Assumed,
    Data,
    Durable,
    Entity,
    Estate,
    Fact,
    Item,
    Match,
    Naming,
    Owner,
    Pattern,
    Policy,
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
from holdfast.cfn.template import Source
from holdfast.rules.base import Finding
from holdfast.rules.schema import lint
from holdfast.verdict import Outcome

TODAY = date(2026, 11, 16)


def row(found: Finding) -> tuple[str, str | None, str]:
    return found.rule.id, found.table, found.where.removeprefix(f"{found.stack}/{found.table}").removeprefix("/")


def stand_alone(declared: Estate) -> None:
    """Every finding of an estate tells what and where, and how it is mended."""
    findings = lint(declared, today=TODAY)
    about = {(s.id, name) for s in declared.stacks for name in (None, *(t.name for t in s.tables))}
    for f in findings:
        assert f.outcome is Outcome.FAIL
        assert f.source is Source.DECLARATION
        assert f.environment is None
        assert (f.stack, f.table) in about
        assert f.where.startswith(f"{f.stack}/{f.table}" if f.table else f.stack)
        assert f.detail
        assert (f.table or f.stack) in f.fix
        assert "{table}" not in f.fix
    assert len({(f.rule.id, f.where) for f in findings}) == len(findings)


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
TRIGGERS: list[tuple[str, list[str], tuple[Stack, ...] | Estate]] = [
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
    ("HF406", ["", "state-index"], (stack(table(indexes=(gsi("state"),), low_cardinality=("id", "state"))),)),
    ("HF405", ["paid-index"], (stack(table(indexes=(gsi("paid"),), mixed=("paid",))),)),
    ("HF406", [], (stack(table(indexes=(gsi("shop", "state"),), low_cardinality=("state",))),)),
    ("HF406", [], (stack(table(indexes=(gsi("state", assumed="only counted"),), low_cardinality=("state",))),)),
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
    # HF409 tells of a pattern that cannot work; HF410 does not say of its index that nothing reads it.
    (
        "HF410",
        [],
        (stack(table(indexes=(gsi("shop"),)), patterns=(pattern(index="shop-index", unsupported="empty"),)),),
    ),
    ("HF410", ["at-index"], (stack(table(indexes=(gsi("shop", purpose="Orders of a shop."), gsi("at")))),)),
    ("HF410", [], (stack(table(indexes=(gsi("shop", assumed="only counted"),)), patterns=(pattern(),)),)),
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
    ("HF417", ["Shop-{env}"], estate(stack(table()), owners=(Owner(name="shop-team"),))),
    ("HF417", [], estate(stack(table()), owners=(Owner(name="shop-team", tell=("https://shop.example",)),))),
    ("HF418", [""], estate(stack(table()), policy=Policy(naming=(Naming(begins="shop-", reason="roles match it"),)))),
    ("HF418", [], estate(stack(table()), policy=Policy(naming=(Naming(begins="orders-", reason="roles match it"),)))),
    (
        "HF419",
        [""],
        estate(
            stack(
                table(name="old", data=Data.PERSONAL, state=State(replaced_by="new")),
                table(name="new"),
            )
        ),
    ),
    (
        "HF419",
        [],
        estate(
            stack(
                table(
                    name="old", data=Data.PERSONAL, state=State(replaced_by="new", fewer_guards="a copy without names")
                ),
                table(name="new"),
            )
        ),
    ),
    (
        "HF419",
        [],
        estate(stack(table(name="old", state=State(replaced_by="new")), table(name="new", data=Data.PERSONAL))),
    ),
    ("HF420", [""], estate(stack(table(data=Data.PERSONAL), wall="shop", identities={"id": "order"}))),
    (
        "HF420",
        [],
        estate(stack(table(data=Data.PERSONAL, indexes=(gsi("shopId"),)), wall="shop", identities=IDENTITIES)),
    ),
    ("HF420", [], estate(stack(table(), wall="shop", identities={"id": "order"}))),
]
