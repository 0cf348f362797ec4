"""What a table is: facts about data. Nothing here knows CDK, boto3 or CloudFormation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import Enum, Flag, auto
from string import Formatter
from typing import TYPE_CHECKING, ClassVar

from holdfast.access import Entity, Pattern, Relation
from holdfast.declaration import DeclarationError, Located, checked
from holdfast.environment import REGION, Environment

if TYPE_CHECKING:
    from holdfast.stores import Store

# DynamoDB's own limits: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
LEGAL_NAME = re.compile(r"[a-zA-Z0-9_.-]{3,255}")
MAX_INDEXES = 20
MAX_KEY_ATTRIBUTE = 255

PLACEHOLDERS = frozenset({"env", "Env", "region", "account"})


class Kind(Enum):
    """The three types that a key attribute can have."""

    STRING = "S"
    NUMBER = "N"
    BINARY = "B"


class Data(Enum):
    """How sensitive the items are. There is no default: every table has to say."""

    OPERATIONAL = "operational"
    PERSONAL = "personal"


class Projection(Enum):
    ALL = "ALL"
    KEYS_ONLY = "KEYS_ONLY"
    INCLUDE = "INCLUDE"  # seen in live tables, never declared: which attributes it carries is the application's affair


class View(Enum):
    """What a stream record carries."""

    NEW_IMAGE = "NEW_IMAGE"
    NEW_AND_OLD_IMAGES = "NEW_AND_OLD_IMAGES"


class Encryption(Enum):
    """The key of tables whose data is not personal; personal data always has the stack's own key."""

    AWS_OWNED = "aws-owned"
    AWS_MANAGED = "aws-managed"


class Guard(Flag):
    """One convention that a table can keep. Guards form a set: combining them only ever adds."""

    DELETION_PROTECTION = auto()
    RETAIN = auto()
    PITR = auto()
    TTL = auto()
    CUSTOMER_KEY = auto()
    TAGS = auto()
    ALARMS = auto()


NONE = Guard(0)


class Fact(Enum):
    """What about a declaration can be assumed rather than documented."""

    OWNER = "owner"
    KEY = "key"
    KEY_TYPES = "key types"
    INDEX = "index"
    INDEX_KEY = "index key"
    INDEX_TYPES = "index key types"
    PROJECTION = "projection"
    ADDITION = "addition"
    EXPIRY = "expiry"


@checked
@dataclass(frozen=True, slots=True)
class Assumed:
    """A fact that no source gives: chosen here, with the reason, until the live table confirms it."""

    fact: Fact
    reason: str


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Durable:
    """Data that the business would miss. Single items may still expire through ``ttl``."""

    ttl: str | None = None


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Transient:
    """Data that is worthless once stale, so it cannot be declared without a ``ttl``."""

    ttl: str


@checked
@dataclass(frozen=True, slots=True)
class Attribute:
    name: str
    kind: Kind = Kind.STRING


@checked
@dataclass(frozen=True, slots=True)
class Key:
    partition: Attribute
    sort: Attribute | None = None

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return (self.partition, self.sort) if self.sort else (self.partition,)


@checked
@dataclass(frozen=True, slots=True)
class Index:
    """A global secondary index."""

    name: str
    key: Key
    projection: Projection = Projection.ALL
    assumed: Assumed | None = field(default=None, compare=False)


def number(name: str) -> Attribute:
    return Attribute(name, Kind.NUMBER)


def key(partition: str | Attribute, sort: str | Attribute | None = None) -> Key:
    return Key(_attribute(partition), _attribute(sort) if sort is not None else None)


def gsi(
    partition: str | Attribute,
    sort: str | Attribute | None = None,
    *,
    name: str | None = None,
    projection: Projection = Projection.ALL,
    assumed: str | Assumed | None = None,
) -> Index:
    """An index, named ``<partition>[-<sort>]-index`` unless told otherwise."""
    k = key(partition, sort)
    return Index(
        name or "-".join([*(a.name for a in k.attributes), "index"]),
        k,
        projection,
        Assumed(Fact.INDEX, assumed) if isinstance(assumed, str) else assumed,
    )


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A change stream. ``pending`` says why it is declared but not switched on yet."""

    view: View
    consumer: str | None = None
    pending: str | None = None


class Usage(Enum):
    ACTIVE = "active"
    MIRROR = "mirror"  # still written, read elsewhere
    LEGACY = "legacy"  # replaced, but references remain
    DEAD = "dead"
    DUPLICATE = "duplicate"


class Governance(Enum):
    STACK = "stack"
    ORPHAN = "orphan"  # its stack was deleted, the table was retained
    PRE_CDK = "pre-cdk"


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What the source measured on the live table, and when."""

    on: date
    items: int | None = None
    size: str | None = None
    reads_7d: float | None = None


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Who uses a table and who governs it: two axes, because an orphan can be busy."""

    usage: Usage = Usage.ACTIVE
    governance: Governance = Governance.STACK
    replaced_by: str | None = None
    archive_phase: int | None = None
    sighting: Sighting | None = None


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver(Located):
    """A rule that need not hold for a table or store in one environment, until a day; somebody answers for it.

    ``Waiver(rule="HF205", environment=PROD, reason="…", owner="ops", expires=date(2027, 1, 31))``
    """

    rule: str
    environment: Environment
    reason: str
    owner: str
    expires: date  # the last day on which it holds, at most a year ahead

    def __post_init__(self) -> None:
        if not (self.reason.strip() and self.owner.strip()):
            raise DeclarationError(f"waiver of {self.rule} in {self.environment.label}: give it a reason and an owner")


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Located):
    """One DynamoDB table, as facts. ``{env}``, ``{Env}``, ``{region}`` and ``{account}`` in its name are filled in."""

    offers: ClassVar[Guard] = ~NONE  # the guards that its engine can give
    name: str
    purpose: str
    key: Key
    lifetime: Durable | Transient
    data: Data
    indexes: tuple[Index, ...] = ()
    stream: Stream | None = None
    only: tuple[Environment, ...] | None = None
    floor: Guard = NONE
    recovery_days: int | None = None  # where it needs more than the policy asks for
    state: State = State()
    assumed: tuple[Assumed, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    few_values: tuple[str, ...] = ()  # key attributes with few distinct values
    renamed: Mapping[str, str] = field(default_factory=dict, hash=False)  # key attribute: its name in new items

    def __post_init__(self) -> None:
        for problem in self._problems():
            raise DeclarationError(f"table {self.name}: {problem}")

    def _problems(self) -> Iterable[str]:
        if unknown := unknown_placeholders(self.name):
            yield unknown
            return
        illegal = illegal_name(fill(self.name, dict.fromkeys(PLACEHOLDERS, "env")))
        if illegal:
            yield f"its name {illegal}"
        if not self.id:
            yield "its name has no letter and no digit; a stable id is made from those"
        if self.lifetime.ttl is not None and not 1 <= len(self.lifetime.ttl) <= MAX_KEY_ATTRIBUTE:
            yield f"the TTL attribute needs 1 to {MAX_KEY_ATTRIBUTE} characters; name the one that holds the expiry"
        if len(self.indexes) > MAX_INDEXES:
            yield f"{len(self.indexes)} indexes, and DynamoDB allows {MAX_INDEXES}; drop what no access pattern uses"
        names = [i.name for i in self.indexes]
        for name in sorted({n for n in names if names.count(n) > 1}):
            yield f"two indexes are called {name}; give one another name="
        for index in self.indexes:
            if illegal := illegal_name(index.name):
                yield f"index {index.name!r} {illegal}; pass a legal name="
            if index.projection is Projection.INCLUDE:
                yield f"index {index.name} projects INCLUDE, which cannot be declared; use ALL or KEYS_ONLY"
        for owner, k in (("its key", self.key), *((f"index {i.name}", i.key) for i in self.indexes)):
            if k.sort and k.partition.name == k.sort.name:
                yield f"{owner} uses {k.partition.name} as partition and as sort key; drop the sort key"
            for a in k.attributes:
                if not 1 <= (size := len(a.name.encode())) <= MAX_KEY_ATTRIBUTE:
                    yield f"{owner} has an attribute name of {size} bytes; DynamoDB wants 1 to {MAX_KEY_ATTRIBUTE}"
        if self.recovery_days is not None and not 1 <= self.recovery_days <= 35:
            yield f"recovery_days={self.recovery_days} is outside DynamoDB's 1 to 35 days"
        for fact, about in (("few_values", set(self.few_values)), ("renamed", set(self.renamed))):
            for name in sorted(about - {a.name for a in self.attributes}):
                yield f"{fact} names {name}, which is in no key of the table; correct it or drop it"
        kinds: dict[str, Kind] = {}
        for a in self.attributes:
            if kinds.setdefault(a.name, a.kind) is not a.kind:
                yield (
                    f"{a.name} is declared as {kinds[a.name].value} and as {a.kind.value}; "
                    "one attribute has one type in all keys of a table"
                )

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Every key attribute of the table and its indexes, once each and in order of declaration."""
        keys = (self.key, *(i.key for i in self.indexes))
        return tuple(dict.fromkeys(a for k in keys for a in k.attributes))

    @property
    def id(self) -> str:
        return construct_id(self.name)


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """A function that consumes the stream of one table of its stack."""

    name: str
    table: str
    code: str  # folder of handler.py, below the root of the project
    variables: Mapping[str, str] = field(default_factory=dict, hash=False)


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A managed policy that lets applications use one table of its stack, and nothing else."""

    name: str
    table: str
    actions: tuple[str, ...]


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Stack(Located):
    """Tables and other stores that are deployed together, and where. The unit of ownership."""

    id: str
    system: str
    owner: str
    tables: tuple[Table, ...] = ()
    stores: tuple[Store, ...] = ()
    environments: tuple[Environment, ...] | None = None  # all of the estate's, unless some are named
    undeployed: tuple[Environment, ...] = ()  # declared there, but known not to run there yet
    region: str | None = None  # where it differs from the environment's
    words: Mapping[Environment, str] = field(default_factory=dict, hash=False)  # its own words for environments
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)  # its own, beside those of the policy
    floor: Guard = NONE
    encryption: Encryption = Encryption.AWS_OWNED
    extras: Mapping[str, str] = field(default_factory=dict, hash=False)  # resource types beside ours, and why
    processors: tuple[Processor, ...] = ()
    access: tuple[Access, ...] = ()
    entities: tuple[Entity, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    assumed: tuple[Assumed, ...] = ()
    identities: Mapping[str, str] = field(default_factory=dict, hash=False)  # attribute: what its value identifies
    relations: tuple[Relation, ...] = ()

    def __post_init__(self) -> None:
        names = [t.name for t in self.tables]
        things = (*self.tables, *self.stores)
        ids = [t.id for t in things]
        for table in things:
            if names.count(table.name) > 1:
                raise DeclarationError(f"stack {self.id}: two tables are called {table.name}; rename or drop one")
            if ids.count(table.id) > 1:
                raise DeclarationError(
                    f"stack {self.id}: {table.name} and another store get the same construct id {table.id}; rename one"
                )
        if self.region is not None and not REGION.fullmatch(self.region):
            raise DeclarationError(f"stack {self.id}: {self.region!r} is not a region, such as eu-west-1")
        for kind, reason in self.extras.items():
            if not reason or "::" not in kind:
                raise DeclarationError(f"stack {self.id}: extras={{{kind!r}: …}} needs a resource type and a reason")
        users: tuple[Processor | Access | Entity | Pattern | Relation, ...]
        users = (*self.processors, *self.access, *self.entities, *self.patterns, *self.relations)
        for user in users:
            if user.table not in names:
                raise DeclarationError(
                    f"stack {self.id}: {type(user).__name__} {_label(user)} names table {user.table}; "
                    f"the stack has {', '.join(names)}"
                )
        for pattern in self.patterns:
            table = next(t for t in self.tables if t.name == pattern.table)
            if pattern.index and pattern.index not in {i.name for i in table.indexes}:
                raise DeclarationError(
                    f"stack {self.id}: pattern {pattern.id} reads index {pattern.index} of {table.name}, "
                    "which has no such index; declare it or say unsupported="
                )


def construct_id(name: str) -> str:
    """Stable whatever else is declared: ``shop-OAuthStates-{env}`` gives ``ShopOAuthStates``."""
    words = re.split(r"[^A-Za-z0-9]+", re.sub(r"\{\w+\}", "", name))
    return "".join(w[0].upper() + w[1:] for w in words if w)


def fill(text: str, values: Mapping[str, str]) -> str:
    return text.format_map(values)


def unknown_placeholders(text: str) -> str | None:
    """What is wrong with the placeholders in a declared name, or None."""
    known = ", ".join(f"{{{p}}}" for p in sorted(PLACEHOLDERS))
    try:
        fields = [(name, spec, conversion) for _, name, spec, conversion in Formatter().parse(text) if name is not None]
    except ValueError as error:
        return f"its name is no template ({error}); placeholders are {known}"
    wrong = sorted(str(name) for name, spec, conversion in fields if name not in PLACEHOLDERS or spec or conversion)
    return f"unknown placeholder {', '.join(map(repr, wrong))}; use {known}" if wrong else None


def illegal_name(name: str) -> str | None:
    """What is wrong with a table or index name, or None."""
    if LEGAL_NAME.fullmatch(name):
        return None
    if not 3 <= len(name) <= 255:
        return f"has {len(name)} characters; DynamoDB wants 3 to 255"
    return "has characters other than a-z, A-Z, 0-9, '_', '-' and '.'"


def _label(user: Processor | Access | Entity | Pattern | Relation) -> str:
    match user:
        case Processor() | Access():
            return user.name
        case Entity():
            return user.type
        case Pattern():
            return user.id
        case Relation():
            return user.attribute


def _attribute(value: str | Attribute) -> Attribute:
    return value if isinstance(value, Attribute) else Attribute(value)
