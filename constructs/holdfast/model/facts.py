"""What a table is: facts about data. Nothing here knows CDK, boto3 or CloudFormation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import Enum, Flag, auto
from ipaddress import ip_network
from string import Formatter
from typing import TYPE_CHECKING, ClassVar

from holdfast.kinds.table.extra import Extra
from holdfast.model.access import Entity, Pattern, Relation
from holdfast.model.declaration import DeclarationError, Located, checked
from holdfast.model.environment import REGION, Environment

if TYPE_CHECKING:
    from holdfast.kinds.declarations import Store

# DynamoDB's own limits: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
LEGAL_NAME = re.compile(r"[a-zA-Z0-9_.-]{3,255}")
MAX_INDEXES = 20
MAX_LOCAL_INDEXES = 5
MAX_INCLUDED, MAX_INCLUDED_IN_ALL = 20, 100  # attributes that one index names, and all of a table together
MAX_KEY_ATTRIBUTE = 255
KEY_ARN = re.compile(r"arn:aws[a-z-]*:kms:([a-z0-9-]+|\{region\}):(\d{12}|\{account\}):key/[\w{}-]+")
LOGICAL_ID = re.compile(r"[A-Za-z0-9]{1,255}")

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


class Encryption(Enum):
    """The key of tables whose data is not personal; personal data always has the stack's own key."""

    AWS_OWNED = "aws-owned"
    AWS_MANAGED = "aws-managed"


@dataclass(frozen=True, slots=True)
class StackKey:
    """A customer-managed key of the stack's own: made with it, rotated, and kept as long as its data."""


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalKey:
    """A customer-managed key that exists elsewhere, and whose settings and policy others answer for.

    ``ExternalKey(arn="arn:aws:kms:{region}:{account}:key/1234abcd-12ab-34cd-56ef-1234567890ab")``. Its policy has to
    let in the services of the stack, and CloudWatch where the stack has alarms.
    """

    arn: str

    def __post_init__(self) -> None:
        if wrong := unknown_placeholders(self.arn):
            raise DeclarationError(f"key {self.arn}: {wrong}")
        if not KEY_ARN.fullmatch(self.arn):
            raise DeclarationError(
                f"{self.arn!r} is not the ARN of a key, such as arn:aws:kms:{{region}}:{{account}}:key/…; an alias can "
                "be moved to another key"
            )


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class SharedKey:
    """The key that another stack makes in the same place: ``SharedKey(stack="Keys-{env}")``.

    The other stack may hold nothing else. Its key lets in the services of all who share it, and is exported to them.
    """

    stack: str  # the id as it is declared


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
    """A key attribute and its type; a plain text stands for one of strings."""

    name: str
    kind: Kind = Kind.STRING


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
    assumed: Assumed | None = field(default=None, compare=False)

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
    assumed: Assumed | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "include", tuple(sorted(self.include)))


def number(name: str) -> Attribute:
    """A key attribute that holds numbers."""
    return Attribute(name, Kind.NUMBER)


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
    assumed: str | Assumed | None = None,
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
        _assumed(assumed),
    )


def lsi(
    sort: str | Attribute,
    *,
    name: str | None = None,
    projection: Projection | None = None,
    include: tuple[str, ...] = (),
    assumed: str | Assumed | None = None,
) -> LocalIndex:
    """A local index, named ``<sort>-index`` unless told otherwise: ``local_indexes=(lsi("createdAt"),)``."""
    attribute = _attribute(sort)
    return LocalIndex(
        name or f"{attribute.name}-index", attribute, _projection(projection, include), include, _assumed(assumed)
    )


def _projection(projection: Projection | None, include: tuple[str, ...]) -> Projection:
    return projection or (Projection.INCLUDE if include else Projection.ALL)


def _assumed(assumed: str | Assumed | None) -> Assumed | None:
    return Assumed(Fact.INDEX, assumed) if isinstance(assumed, str) else assumed


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A change stream. ``pending`` says why it is declared but not switched on yet."""

    view: View
    consumer: str | None = None
    pending: str | None = None


class Usage(Enum):
    """Who uses a table: an archive begins where the answer is nobody."""

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
    local_indexes: tuple[LocalIndex, ...] = ()
    billing: Provisioned | None = None  # on demand, unless capacity is named
    stream: Stream | None = None
    only: tuple[Environment, ...] | None = None
    floor: Guard = NONE
    recovery_days: int | None = None  # where it needs more than the policy asks for
    state: State = State()
    assumed: tuple[Assumed, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    few_values: tuple[str, ...] = ()  # key attributes with few distinct values
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
            yield f"the TTL attribute needs 1 to {MAX_KEY_ATTRIBUTE} characters; name the one that holds the expiry"
        if len(self.indexes) > MAX_INDEXES:
            yield f"{len(self.indexes)} indexes, and DynamoDB allows {MAX_INDEXES}; drop what no access pattern uses"
        names = [i.name for i in self.every_index]
        for name in sorted({n for n in names if names.count(n) > 1}):
            yield f"two indexes are called {name}; give one another name="
        yield from self._index_problems()
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
            Index(i.name, Key(self.key.partition, i.sort), i.projection, i.include, assumed=i.assumed)
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
    applications: str | None = None  # what the policy for applications of its stores is called, unless as its system
    cidr: str | None = None  # of its network, where it differs from the policy's
    floor: Guard = NONE
    encryption: Encryption = Encryption.AWS_OWNED
    key: StackKey | ExternalKey | SharedKey | None = None  # the policy's, unless it has one of its own
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
        logical_ids = [t.logical_id for t in self.tables if t.logical_id]
        for logical_id in logical_ids:
            if logical_ids.count(logical_id) > 1:
                raise DeclarationError(f"stack {self.id}: two tables have logical_id={logical_id!r}; rename one")
        if self.cidr is not None and (wrong := wrong_cidr(self.cidr)):
            raise DeclarationError(f"stack {self.id}: {wrong}")
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
            if pattern.index and pattern.index not in {i.name for i in table.every_index}:
                raise DeclarationError(
                    f"stack {self.id}: pattern {pattern.id} reads index {pattern.index} of {table.name}, "
                    "which has no such index; declare it or say unsupported="
                )


def wrong_cidr(cidr: str) -> str | None:
    """Why a network cannot have these addresses, or None: AWS takes /16 to /28, and a stack needs room for subnets."""
    try:
        network = ip_network(cidr)
    except ValueError as error:
        return f"cidr={cidr!r} is not a network ({error})"
    fits = network.version == 4 and 16 <= network.prefixlen <= 18
    return None if fits else f"cidr={cidr!r} does not fit three subnets of /20: use an IPv4 network of /16 to /18"


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
