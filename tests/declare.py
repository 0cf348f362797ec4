"""Short declarations for tests: a plain table and a plain stack, with whatever is changed about them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from holdfast import Data, Database, Durable, Engine, Environment, Estate, Stack, Table, Tier, key

PROD = Environment("prod", Tier.PROD, "us-east-1")
TEST = Environment("test", Tier.TEST, "us-west-2")


def table(**changes: Any) -> Table:
    declared: dict[str, Any] = {
        "name": "orders-{env}",
        "purpose": "What was ordered.",
        "key": key("id"),
        "lifetime": Durable(),
        "data": Data.OPERATIONAL,
    }
    return Table(**(declared | changes))


def stack(*tables: Table, **changes: Any) -> Stack:
    return Stack(**({"id": "Shop-{env}", "system": "shop", "owner": "shop-team", "tables": tables} | changes))


def on_aurora(declared: Stack) -> Stack:
    """The same stack, its databases on another engine."""
    stores = (replace(s, engine=Engine.AURORA) if isinstance(s, Database) else s for s in declared.stores)
    return replace(declared, stores=tuple(stores))


def estate(*stacks: Stack, **changes: Any) -> Estate:
    return Estate(**({"name": "shop", "environments": (PROD, TEST), "stacks": stacks} | changes))


SHOP = """
from holdfast import Data, Durable, Environment, Estate, Stack, Table, Tier, key
{imports}
STACK = Stack(
    id="Shop-{{env}}",
    system="shop",
    owner="orders-team",
    tables=(
        Table(
            name="{table}-{{env}}",
            purpose="Orders.",
            key=key("id"),
            lifetime=Durable(),
            data=Data.OPERATIONAL,
        ),
    ),
)
ESTATE = Estate(name="shop", environments=(Environment("prod", Tier.PROD, "us-east-1"),), stacks=(STACK,))
"""
