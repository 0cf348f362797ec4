"""The policy: one pure function from fact and environment to guards."""

from __future__ import annotations

from typing import Protocol

from holdfast.model import NONE, Data, Durable, Environment, Guard, Table, Tier, Transient

RECOVERY_DAYS = 35
REQUIRED_TAGS = ("Project", "System", "Environment", "Owner", "ManagedBy", "DataClass", "Lifetime", "Name")


class Declared(Protocol):
    """What the policy asks about a table or any other store, and nothing else."""

    @property
    def lifetime(self) -> Durable | Transient: ...
    @property
    def data(self) -> Data: ...
    @property
    def floor(self) -> Guard: ...
    @property
    def offers(self) -> Guard: ...


def required(store: Declared, env: Environment, floor: Guard = NONE) -> Guard:
    """The guards that ``store`` must have in ``env``; ``floor`` is its stack's own minimum and only adds."""
    guards = Guard.TAGS | store.floor | floor
    if isinstance(store.lifetime, Durable) and env.tier is Tier.PROD:
        guards |= Guard.DELETION_PROTECTION | Guard.RETAIN | Guard.PITR | Guard.ALARMS
    if store.lifetime.ttl is not None:
        guards |= Guard.TTL
    if store.data is Data.PERSONAL:
        guards |= Guard.CUSTOMER_KEY
    return guards & store.offers


def lifetime(store: Declared) -> str:
    return "durable" if isinstance(store.lifetime, Durable) else "transient"


def why_unprotected(table: Table, env: Environment) -> str:
    """Why the policy asks for no recovery of this table here, in words for a reviewer."""
    if not isinstance(table.lifetime, Durable):
        return f"transient data: worthless once stale, every item expires by its {table.lifetime.ttl}"
    if env.tier is Tier.PROD:
        raise ValueError(f"{table.name} is durable and {env.label} is production: nothing excuses it")
    return f"{env.label} is a {env.tier.value} environment: its tables may be rebuilt at any time"
