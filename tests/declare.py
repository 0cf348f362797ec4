"""Short declarations for tests: a plain table and a plain stack, with whatever is changed about them."""

from __future__ import annotations

from typing import Any

from holdfast import Data, Durable, Stack, Table, key


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
