"""The policy: pure data, and one pure function from fact and environment to guards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Protocol, TypeVar

from holdfast.model.declaration import DeclarationError, checked
from holdfast.model.environment import Environment, Tier
from holdfast.model.facts import NONE, Data, Durable, ExternalKey, Guard, SharedKey, StackKey, Transient, wrong_cidr

T = TypeVar("T")
MAX_RECOVERY_DAYS = 35  # DynamoDB's own limit


class Declared(Protocol):
    """What the policy asks about a table or any other store, and nothing else."""

    @property
    def name(self) -> str: ...
    @property
    def lifetime(self) -> Durable | Transient: ...
    @property
    def data(self) -> Data: ...
    @property
    def floor(self) -> Guard: ...
    @property
    def offers(self) -> Guard: ...


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """``guards`` of every store to which all that is named here applies; what is left out applies to any."""

    guards: Guard
    lifetime: type[Durable] | type[Transient] | None = None
    data: Data | None = None
    tier: Tier | None = None

    def concerns(self, store: Declared, tier: Tier) -> bool:
        return (
            (self.lifetime is None or isinstance(store.lifetime, self.lifetime))
            and self.data in (None, store.data)
            and self.tier in (None, tier)
        )


_KEPT = Guard.DELETION_PROTECTION | Guard.RETAIN | Guard.PITR
DEMANDS = (
    Demand(guards=_KEPT | Guard.ALARMS, lifetime=Durable, tier=Tier.PROD),
    Demand(guards=Guard.CUSTOMER_KEY, data=Data.PERSONAL),
)
# What no estate's policy can leave out: its tags, and the protection of personal durable data in production.
FLOOR = (
    Demand(guards=Guard.TAGS),
    Demand(guards=_KEPT | Guard.CUSTOMER_KEY, lifetime=Durable, data=Data.PERSONAL, tier=Tier.PROD),
)


class TagSource(Enum):
    """Where the value of a required tag comes from; a fixed value is written as a text instead."""

    SYSTEM = "system"
    ENVIRONMENT = "environment"
    OWNER = "owner"
    STACK = "stack"  # each stack states it in its own tags=
    DATA_CLASS = "data class"
    LIFETIME = "lifetime"
    NAME = "name"


OF_STORES = frozenset({TagSource.DATA_CLASS, TagSource.LIFETIME, TagSource.NAME})
TAGS: Mapping[str, TagSource | str] = {
    "Project": TagSource.SYSTEM,
    "System": TagSource.SYSTEM,
    "Environment": TagSource.ENVIRONMENT,
    "Owner": TagSource.OWNER,
    "ManagedBy": "cdk",
    "DataClass": TagSource.DATA_CLASS,
    "Lifetime": TagSource.LIFETIME,
    "Name": TagSource.NAME,
}
# Without these a scan cannot tell what a store holds: each is required, under whatever name.
NEEDED = (TagSource.ENVIRONMENT, TagSource.OWNER, TagSource.DATA_CLASS, TagSource.LIFETIME)


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Above what alarms are raised: of tables, databases, caches, brokers and document clusters."""

    throttles: float = 10
    latency_ms: float = 50
    error_percent: float = 1
    cpu_percent: int = 80
    free_gib: int = 10  # of a database's storage: below
    connections_percent: int = 80
    disk_percent: int = 80
    memory_percent: int = 80  # of a cache
    lag_messages: int = 10_000
    lag_seconds: int = 300


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large the machines and disks of stores are, by tier."""

    database: Mapping[Tier, str] = field(default_factory=lambda: _sizes("db.m7g.large", "db.t4g.small"), hash=False)
    cache: Mapping[Tier, str] = field(default_factory=lambda: _sizes("cache.m7g.large", "cache.t4g.micro"), hash=False)
    broker: Mapping[Tier, str] = field(default_factory=lambda: _sizes("kafka.m7g.large", "kafka.t3.small"), hash=False)
    documents: Mapping[Tier, str] = field(default_factory=lambda: _sizes("db.r6g.large", "db.t4g.medium"), hash=False)
    database_gib: Mapping[Tier, int] = field(default_factory=lambda: _sizes(100, 20), hash=False)
    database_max_gib: Mapping[Tier, int] = field(default_factory=lambda: _sizes(1000, 50), hash=False)  # it grows to
    aurora_capacity: Mapping[Tier, float] = field(default_factory=lambda: _sizes(16.0, 2.0), hash=False)  # at most
    broker_gib: Mapping[Tier, int] = field(default_factory=lambda: _sizes(100, 10), hash=False)

    def __post_init__(self) -> None:
        for of in fields(self):
            if missing := [tier.name for tier in Tier if tier not in getattr(self, of.name)]:
                raise DeclarationError(f"Sizes: {of.name} says nothing of Tier.{missing[0]}")


def _sizes(prod: T, test: T) -> dict[Tier, T]:
    return {Tier.PROD: prod, Tier.TEST: test}


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """How new tables are called: ``Naming(begins="studio-", existing=("orders-{env}",), reason="one prefix per app")``.

    It is about the tables of ``stacks``, or of all where none are named; those in ``existing`` keep their names.
    """

    begins: str
    reason: str
    stacks: tuple[str, ...] = ()
    existing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.begins or not self.reason:
            raise DeclarationError(f"Naming(begins={self.begins!r}) needs a text and a reason")

    def breaks(self, stack: str, table: str) -> bool:
        concerned = not self.stacks or stack in self.stacks
        return concerned and not table.startswith(self.begins) and table not in self.existing


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What an estate demands of its stores. Every field has a default; ``Policy(recovery_days=14)`` changes one."""

    demands: tuple[Demand, ...] = DEMANDS
    recovery_days: int = MAX_RECOVERY_DAYS
    tags: Mapping[str, TagSource | str] = field(default_factory=lambda: dict(TAGS), hash=False)
    thresholds: Thresholds = Thresholds()
    sizes: Sizes = Sizes()
    cidr: str = "10.40.0.0/16"  # of the network of every stack that has none of its own
    log_days: Mapping[Tier, int] = field(default_factory=lambda: _sizes(365, 30), hash=False)
    keeps_logs: frozenset[Tier] = frozenset({Tier.PROD})  # when what wrote them is deleted
    termination_protection: frozenset[Tier] = frozenset({Tier.PROD})  # of stacks
    zones: Mapping[Tier, int] = field(default_factory=lambda: _sizes(3, 2), hash=False)  # of every network
    instances: Mapping[Tier, int] = field(default_factory=lambda: _sizes(2, 1), hash=False)  # each in another zone
    snapshot_days: Mapping[Tier, int] = field(default_factory=lambda: _sizes(15, 0), hash=False)  # of caches; 0: none
    monitoring_seconds: Mapping[Tier, int] = field(default_factory=lambda: _sizes(60, 0), hash=False)  # 0: off
    key: StackKey | ExternalKey | SharedKey = field(default_factory=StackKey)  # of every stack that has none of its own
    naming: tuple[Naming, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.recovery_days <= MAX_RECOVERY_DAYS:
            raise DeclarationError(
                f"policy: recovery_days={self.recovery_days} is outside DynamoDB's 1 to {MAX_RECOVERY_DAYS} days"
            )
        for source in NEEDED:
            if (found := sum(s is source for s in self.tags.values())) != 1:
                raise DeclarationError(
                    f"policy: {found} tags say the {source.value} of a store; name exactly one, such as "
                    f'tags=TAGS | {{"{source.value.title().replace(" ", "")}": TagSource.{source.name}}}'
                )
        if wrong := wrong_cidr(self.cidr):
            raise DeclarationError(f"policy: {wrong}")
        for name in ("log_days", "zones", "instances", "snapshot_days", "monitoring_seconds"):
            if missing := [tier.name for tier in Tier if tier not in getattr(self, name)]:
                raise DeclarationError(f"policy: {name} says nothing of Tier.{missing[0]}")

    @property
    def renamed_tags(self) -> dict[str, str]:
        """{the library's name: this policy's}, where they differ, of the tags that comparisons read."""
        theirs = {ours: self.tag(source) for ours, source in TAGS.items() if source in (*NEEDED, TagSource.NAME)}
        return {ours: name for ours, name in theirs.items() if name and name != ours and ours != "Owner"}

    def tag(self, source: TagSource) -> str | None:
        """What the tag from this source is called here."""
        return next((name for name, s in self.tags.items() if s is source), None)


DEFAULT = Policy()


def required(store: Declared, env: Environment, floor: Guard = NONE, policy: Policy = DEFAULT) -> Guard:
    """The guards that ``store`` must have in ``env``; ``floor`` is its stack's own minimum and only adds."""
    guards = store.floor | floor
    for demand in (*FLOOR, *policy.demands):
        if demand.concerns(store, env.tier):
            guards |= demand.guards
    if store.lifetime.ttl is not None:
        guards |= Guard.TTL
    return guards & store.offers


def lifetime(store: Declared) -> str:
    return "durable" if isinstance(store.lifetime, Durable) else "transient"


def why_unprotected(table: Declared, env: Environment) -> str:
    """Why the policy asks for no recovery of this table here, in words for a reviewer."""
    if not isinstance(table.lifetime, Durable):
        return f"transient data: worthless once stale, every item expires by its {table.lifetime.ttl}"
    if env.tier is Tier.PROD and table.data is Data.PERSONAL:
        raise ValueError(f"{table.name} is personal and durable and {env.label} is production: nothing excuses it")
    if env.tier is Tier.PROD:
        return f"the policy asks for no recovery of {table.data.value} data in {env.label}"
    return f"{env.label} is a {env.tier.value} environment: its tables may be rebuilt at any time"
