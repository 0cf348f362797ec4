"""Tables and other stores that are deployed together, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.kinds.table.access import Entity, Pattern, Relation, Transaction, index_pattern
from holdfast.kinds.table.declaration import Table
from holdfast.model.declaration import DeclarationError, Located, checked
from holdfast.model.environment import REGION, Environment
from holdfast.model.facts import NONE, Encryption, ExternalKey, Guard, SharedKey, StackKey, wrong_cidr
from holdfast.model.provenance import OF_INDEXES, Assumed, Inferred, Source, Sources
from holdfast.model.store import Store


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """A function that consumes the stream of one table of its stack."""

    name: str
    table: str
    code: str  # folder of handler.py, below the root of the project
    variables: Mapping[str, str] = field(default_factory=dict, hash=False)
    source: Source = ()


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A managed policy that lets applications use one table of its stack, and nothing else."""

    name: str
    table: str
    actions: tuple[str, ...]
    source: Source = ()


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
    environment_names: Mapping[Environment, str] = field(default_factory=dict, hash=False)  # its own
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
    transactions: tuple[Transaction, ...] = ()
    document: str | None = None  # that source= and sources= give lines of
    source: Source = ()  # where name, system and owner of the stack come from
    sources: Sources = field(default_factory=dict, hash=False)  # of other facts, and of those of all its tables
    assumed: tuple[Assumed, ...] = ()
    types: Mapping[str, Inferred | Assumed] = field(default_factory=dict, hash=False)  # why keys have their types
    identities: Mapping[str, str] = field(default_factory=dict, hash=False)  # attribute: what its value identifies
    relations: tuple[Relation, ...] = ()
    wall: str | None = None  # the identity that separates one customer's personal data from another's

    def __post_init__(self) -> None:
        for misplaced in (s for s in self.stores if isinstance(s, Table)):
            raise DeclarationError(f"stack {self.id}: {misplaced.name} is a table; move it from stores= to tables=")
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
        for fact in (a.fact for a in self.assumed if a.fact in OF_INDEXES):
            raise DeclarationError(f"stack {self.id}: {fact.value!r} is assumed of an index; say so on the index")
        if self.cidr is not None and (wrong := wrong_cidr(self.cidr)):
            raise DeclarationError(f"stack {self.id}: {wrong}")
        if self.region is not None and not REGION.fullmatch(self.region):
            raise DeclarationError(f"stack {self.id}: {self.region!r} is not a region, such as eu-west-1")
        for kind, reason in self.extras.items():
            if not reason or "::" not in kind:
                raise DeclarationError(f"stack {self.id}: extras={{{kind!r}: …}} needs a resource type and a reason")
        users: tuple[Processor | Access | Entity | Pattern | Transaction | Relation, ...]
        users = (*self.processors, *self.access, *self.entities, *self.patterns, *self.transactions, *self.relations)
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
        for transaction in self.transactions:
            known = [e.type for e in self.entities if e.table == transaction.table]
            for entity in (e for e in transaction.entities if e not in known):
                raise DeclarationError(
                    f"stack {self.id}: transaction {transaction.id} writes {entity}; "
                    f"{transaction.table} has {', '.join(known) or 'no entities'}"
                )

    def patterns_of(self, table: Table) -> tuple[Pattern, ...]:
        """The access patterns of a table: those that are declared, and what its indexes are for."""
        declared = tuple(p for p in self.patterns if p.table == table.name)
        return declared + tuple(index_pattern(table, index) for index in table.every_index if index.purpose)


def _label(user: Processor | Access | Entity | Pattern | Transaction | Relation) -> str:
    match user:
        case Processor() | Access():
            return user.name
        case Entity():
            return user.type
        case Pattern() | Transaction():
            return user.id
        case Relation():
            return user.attribute
