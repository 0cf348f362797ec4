"""What applications may do with a database."""

from __future__ import annotations

from typing import Any

from holdfast.estate.placement import Placed
from holdfast.kinds.database.declaration import Database
from holdfast.shared.applications.statements import Use, arn


def database_user(placed: Placed, store: Database, resource_id: Any) -> Any:
    """How IAM names the applications' role, in a database or at the pool before it."""
    return arn(placed, "rds-db", "dbuser:", resource_id, f"/{store.role}")


def uses(placed: Placed, store: Database, resource_id: Any) -> list[Use]:
    """Log in, at the pool where there is one, and read the figures that applications set themselves."""
    user = database_user(placed, store, resource_id)
    uses = [Use(sid=f"{store.id}LogIn", actions=("rds-db:connect",), resources=(user,))]
    if store.pool:
        folder = f"parameter/{placed.fill(store.name)}/pool"
        figures = tuple(arn(placed, "ssm", f"{folder}/{setting}") for setting in store.pool.settings)
        actions = ("ssm:GetParameter", "ssm:GetParameters")
        uses.append(Use(sid=f"{store.id}Figures", actions=actions, resources=figures))
    return uses
