"""The policy: one pure function from fact and environment to guards."""

from __future__ import annotations

from holdfast.model import NONE, Data, Durable, Environment, Guard, Table, Tier

RECOVERY_DAYS = 35
REQUIRED_TAGS = ("Project", "System", "Environment", "Owner", "ManagedBy", "DataClass", "Lifetime", "Name")


def required(table: Table, env: Environment, floor: Guard = NONE) -> Guard:
    """The guards that ``table`` must have in ``env``; ``floor`` is its stack's own minimum and only adds."""
    guards = Guard.TAGS | table.floor | floor
    if isinstance(table.lifetime, Durable) and env.tier is Tier.PROD:
        guards |= Guard.DELETION_PROTECTION | Guard.RETAIN | Guard.PITR | Guard.ALARMS
    if table.lifetime.ttl is not None:
        guards |= Guard.TTL
    if table.data is Data.PERSONAL:
        guards |= Guard.CUSTOMER_KEY
    return guards


def lifetime(table: Table) -> str:
    return "durable" if isinstance(table.lifetime, Durable) else "transient"


def why_unprotected(table: Table, env: Environment) -> str:
    """Why the policy asks for no recovery of this table here, in words for a reviewer."""
    if not isinstance(table.lifetime, Durable):
        return f"transient data: worthless once stale, every item expires by its {table.lifetime.ttl}"
    if env.tier is Tier.PROD:
        raise ValueError(f"{table.name} is durable and {env.label} is production: nothing excuses it")
    return f"{env.label} is a {env.tier.value} environment: its tables may be rebuilt at any time"
