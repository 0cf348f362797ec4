"""What a table is: facts about data. Nothing here knows CDK, boto3 or CloudFormation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from typing import ClassVar

from holdfast.kinds.table.extra import Extra
from holdfast.model.declaration import DeclarationError, checked
from holdfast.model.environment import Environment
from holdfast.model.facts import NONE, PLACEHOLDERS, Guard, fill, unknown_placeholders
from holdfast.model.provenance import OF_INDEXES, Assumed, Fact, Source
from holdfast.model.store import Store

# DynamoDB's own limits: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
LEGAL_NAME = re.compile(r"[a-zA-Z0-9_.-]{3,255}")
MAX_INDEXES = 20
MAX_LOCAL_INDEXES = 5
MAX_INCLUDED, MAX_INCLUDED_IN_ALL = 20, 100  # attributes that one index names, and all of a table together
MAX_KEY_ATTRIBUTE = 255
LOGICAL_ID = re.compile(r"[A-Za-z0-9]{1,255}")


class AttributeType(Enum):
    """The three types that a key attribute can have."""

    STRING = "S"
    NUMBER = "N"
    BINARY = "B"


class Projection(Enum):
    """What an index copies of an item; INCLUDE names the attributes in ``include=``."""

    ALL = "ALL"
    KEYS_ONLY = "KEYS_ONLY"
    INCLUDE = "INCLUDE"


class View(Enum):
    """What a stream record carries."""

    KEYS_ONLY = "KEYS_ONLY"
    OLD_IMAGE = "OLD_IMAGE"
    NEW_IMAGE = "NEW_IMAGE"
    NEW_AND_OLD_IMAGES = "NEW_AND_OLD_IMAGES"


@checked
@dataclass(frozen=True, slots=True)
class Attribute:
    """A key attribute and its type; a plain text stands for one of strings."""

    name: str
    kind: AttributeType = AttributeType.STRING


@checked
@dataclass(frozen=True, slots=True)
class Key:
    """What a table or index is queried by."""

    partition: Attribute
    sort: Attribute | None = None

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return (self.partition, self.sort) if self.sort else (self.partition,)


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """Capacity that is paid for whether it is used or not, in units per second: ``Provisioned(read=5, write=5)``."""

    read: int
    write: int

    def __post_init__(self) -> None:
        if self.read < 1 or self.write < 1:
            raise DeclarationError(f"Provisioned(read={self.read}, write={self.write}): both are at least 1")


@checked
@dataclass(frozen=True, slots=True)
class Index:
    """A global secondary index. On a provisioned table it has the table's capacity, unless ``billing`` says another."""

    name: str
    key: Key
    projection: Projection = Projection.ALL
    include: tuple[str, ...] = ()  # in alphabetical order, because DynamoDB has none
    billing: Provisioned | None = field(default=None, compare=False)
    purpose: str = field(default="", compare=False)  # what it is asked for; the stack has an access pattern for it
    assumed: tuple[Assumed, ...] = field(default=(), compare=False)
    source: Source = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "include", tuple(sorted(self.include)))


@checked
@dataclass(frozen=True, slots=True)
class LocalIndex:
    """A local secondary index: the table's partition key and another sort key, for as long as the table lives."""

    name: str
    sort: Attribute
    projection: Projection = Projection.ALL
    include: tuple[str, ...] = ()
    purpose: str = field(default="", compare=False)
    assumed: tuple[Assumed, ...] = field(default=(), compare=False)
    source: Source = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "include", tuple(sorted(self.include)))


def number(name: str) -> Attribute:
    """A key attribute that holds numbers."""
    return Attribute(name, AttributeType.NUMBER)


def key(partition: str | Attribute, sort: str | Attribute | None = None) -> Key:
    """A partition key, and a sort key where there is one."""
    return Key(_attribute(partition), _attribute(sort) if sort is not None else None)


def gsi(
    partition: str | Attribute,
    sort: str | Attribute | None = None,
    *,
    name: str | None = None,
    projection: Projection | None = None,
    include: tuple[str, ...] = (),
    billing: Provisioned | None = None,
    purpose: str = "",
    assumed: str | Assumed | tuple[Assumed, ...] = (),
    source: Source = (),
) -> Index:
    """A global index, named ``<partition>[-<sort>]-index`` unless told otherwise.

    It copies whole items, or the keys and what ``include=("status", "total")`` names.
    """
    k = key(partition, sort)
    return Index(
        name or "-".join([*(a.name for a in k.attributes), "index"]),
        k,
        _projection(projection, include),
        include,
        billing,
        purpose,
        _assumed(assumed),
        source,
    )


def lsi(
    sort: str | Attribute,
    *,
    name: str | None = None,
    projection: Projection | None = None,
    include: tuple[str, ...] = (),
    purpose: str = "",
    assumed: str | Assumed | tuple[Assumed, ...] = (),
    source: Source = (),
) -> LocalIndex:
    """A local index, named ``<sort>-index`` unless told otherwise: ``local_indexes=(lsi("createdAt"),)``."""
    attribute = _attribute(sort)
    name = name or f"{attribute.name}-index"
    return LocalIndex(name, attribute, _projection(projection, include), include, purpose, _assumed(assumed), source)


def _projection(projection: Projection | None, include: tuple[str, ...]) -> Projection:
    return projection or (Projection.INCLUDE if include else Projection.ALL)


def _assumed(assumed: str | Assumed | tuple[Assumed, ...]) -> tuple[Assumed, ...]:
    if isinstance(assumed, tuple):
        return assumed
    return (Assumed(Fact.INDEX, assumed) if isinstance(assumed, str) else assumed,)


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A change stream. ``pending`` says why it is declared but not switched on yet."""

    view: View
    consumer: str | None = None
    pending: str | None = None


class Usage(Enum):
    """How a table is used; one that is not can be archived."""

    ACTIVE = "active"
    MIRROR = "mirror"  # still written, read elsewhere
    LEGACY = "legacy"  # replaced, but references remain
    DEAD = "dead"
    DUPLICATE = "duplicate"


class Governance(Enum):
    """What deploys a table."""

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
    fewer_guards: str = ""  # why its successor may have fewer than it has itself
    archive_phase: int | None = None
    sighting: Sighting | None = None


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Store):
    """One DynamoDB table, as facts. ``{env}``, ``{Env}``, ``{region}`` and ``{account}`` in its name are filled in."""

    kind: ClassVar[str] = "table"
    offers: ClassVar[Guard] = ~NONE  # the guards that its engine can give
    key: Key
    indexes: tuple[Index, ...] = ()
    local_indexes: tuple[LocalIndex, ...] = ()
    billing: Provisioned | None = None  # on demand, unless capacity is named
    stream: Stream | None = None
    only: tuple[Environment, ...] | None = None
    recovery_days: int | None = None  # where it needs more than the policy asks for
    state: State = State()
    assumed: tuple[Assumed, ...] = ()
    low_cardinality: tuple[str, ...] = ()  # key attributes with few distinct values
    mixed: tuple[str, ...] = ()  # attributes that items hold in more than one type
    renamed: Mapping[str, str] = field(default_factory=dict, hash=False)  # key attribute: its name in new items
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)  # its own, beside those of stack and policy
    logical_id: str | None = None  # what its template calls it, where it was made before its declaration
    extra: Extra | None = None

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
            yield f"the TTL attribute needs 1 to {MAX_KEY_ATTRIBUTE} characters; name the one that holds the time"
        if len(self.indexes) > MAX_INDEXES:
            yield f"{len(self.indexes)} indexes, and DynamoDB allows {MAX_INDEXES}; drop what no access pattern uses"
        names = [i.name for i in self.every_index]
        for name in sorted({n for n in names if names.count(n) > 1}):
            yield f"two indexes are called {name}; give one another name="
        yield from self._index_problems()
        for fact in (a.fact for a in self.assumed if a.fact in OF_INDEXES):
            yield f"{fact.value!r} is assumed of an index; say so on the index"
        for owner, k in (("its key", self.key), *((f"index {i.name}", i.key) for i in self.every_index)):
            if k.sort and k.partition.name == k.sort.name:
                yield f"{owner} uses {k.partition.name} as partition and as sort key; drop the sort key"
            for a in k.attributes:
                if not 1 <= (size := len(a.name.encode())) <= MAX_KEY_ATTRIBUTE:
                    yield f"{owner} has an attribute name of {size} bytes; DynamoDB wants 1 to {MAX_KEY_ATTRIBUTE}"
        if self.logical_id is not None and not LOGICAL_ID.fullmatch(self.logical_id):
            yield f"logical_id={self.logical_id!r}: CloudFormation takes letters and digits only"
        if self.recovery_days is not None and not 1 <= self.recovery_days <= 35:
            yield f"recovery_days={self.recovery_days} is outside DynamoDB's 1 to 35 days"
        for said, about in (("low_cardinality", set(self.low_cardinality)), ("renamed", set(self.renamed))):
            for name in sorted(about - {a.name for a in self.attributes}):
                yield f"{said} names {name}, which is in no key of the table; correct it or drop it"
        kinds: dict[str, AttributeType] = {}
        for a in self.attributes:
            if kinds.setdefault(a.name, a.kind) is not a.kind:
                yield (
                    f"{a.name} is declared as {kinds[a.name].value} and as {a.kind.value}; "
                    "one attribute has one type in all keys of a table"
                )

    def _index_problems(self) -> Iterable[str]:
        if len(self.local_indexes) > MAX_LOCAL_INDEXES:
            yield f"{len(self.local_indexes)} local indexes, and DynamoDB allows {MAX_LOCAL_INDEXES}; use indexes="
        if self.local_indexes and not self.key.sort:
            yield "a table with local indexes needs a sort key; use gsi(…) in indexes= instead"
        for index in self.every_index:
            if illegal := illegal_name(index.name):
                yield f"index {index.name!r} {illegal}; pass a legal name="
            if (index.projection is Projection.INCLUDE) != bool(index.include):
                yield f"index {index.name}: Projection.INCLUDE and include=(…) go together, and with nothing else"
            if len(index.include) > MAX_INCLUDED or len(set(index.include)) < len(index.include):
                yield f"index {index.name}: include= names up to {MAX_INCLUDED} attributes, each once"
            if not all(1 <= len(name.encode()) <= MAX_KEY_ATTRIBUTE for name in index.include):
                yield f"index {index.name}: a name in include= has 1 to {MAX_KEY_ATTRIBUTE} bytes"
            if index.billing and not self.billing:
                yield f"index {index.name} has billing=, but the table is billed on demand; drop it"
        if (total := sum(len(i.include) for i in self.every_index)) > MAX_INCLUDED_IN_ALL:
            yield f"its indexes include {total} attributes, and DynamoDB allows {MAX_INCLUDED_IN_ALL} in all; use ALL"

    @property
    def every_index(self) -> tuple[Index, ...]:
        """The global indexes, then the local ones with their whole keys."""
        local = (
            Index(
                i.name,
                Key(self.key.partition, i.sort),
                i.projection,
                i.include,
                purpose=i.purpose,
                assumed=i.assumed,
                source=i.source,
            )
            for i in self.local_indexes
        )
        return (*self.indexes, *local)

    def capacity(self, index: Index | None = None) -> Provisioned | None:
        """What is provisioned for the table, or for one of its global indexes."""
        return self.billing and ((index.billing if index else None) or self.billing)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Every key attribute of the table and its indexes, once each and in order of declaration."""
        keys = (self.key, *(i.key for i in self.every_index))
        return tuple(dict.fromkeys(a for k in keys for a in k.attributes))


def illegal_name(name: str) -> str | None:
    """What is wrong with a table or index name, or None."""
    if LEGAL_NAME.fullmatch(name):
        return None
    if not 3 <= len(name) <= 255:
        return f"has {len(name)} characters; DynamoDB wants 3 to 255"
    return "has characters other than a-z, A-Z, 0-9, '_', '-' and '.'"


def _attribute(value: str | Attribute) -> Attribute:
    return value if isinstance(value, Attribute) else Attribute(value)
