"""Declared stacks placed in environments: every name resolved, every clash refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from holdfast.model import (
    Assumed,
    Attribute,
    DeclarationError,
    Environment,
    Fact,
    Governance,
    Guard,
    Stack,
    Table,
    fill,
    illegal_name,
    unknown_placeholders,
)
from holdfast.policy import lifetime, required
from holdfast.stores import Broker, Store, Topic


@dataclass(frozen=True)
class Placed:
    """One declared stack in one environment."""

    stack: Stack
    env: Environment

    @property
    def word(self) -> str:
        """What this system calls the environment: some say ``production`` for prod."""
        return self.stack.words.get(self.env, self.env.label)

    @property
    def region(self) -> str:
        return self.stack.region or self.env.region

    @cached_property
    def name(self) -> str:
        """The CloudFormation stack name, as documented."""
        return self.fill(self.stack.id)

    @cached_property
    def id(self) -> str:
        """Unique among all environments, because one stack name may exist in two of them."""
        return self.name if "{" in self.stack.id else f"{self.name}-{self.env.label}"

    @property
    def tables(self) -> tuple[Table, ...]:
        return tuple(t for t in self.stack.tables if t.only is None or self.env in t.only)

    @property
    def watched(self) -> tuple[Table, ...]:
        return tuple(t for t in self.tables if Guard.ALARMS in self.required(t))

    @property
    def stores(self) -> tuple[Store, ...]:
        return self.stack.stores

    @property
    def alarmed(self) -> bool:
        """Whether anything here raises alarms: watched tables and stores, or functions that read streams."""
        return bool(self.watched or self.stack.processors or any(Guard.ALARMS in self.required(s) for s in self.stores))

    @property
    def by_import(self) -> bool:
        """True where the tables exist already and belong to no stack: nothing may create them anew."""
        return any(t.state.governance is not Governance.STACK for t in self.tables)

    @property
    def tags(self) -> dict[str, str]:
        return {
            "Project": self.stack.system,
            "System": self.stack.system,
            "Environment": self.env.label,
            "Owner": self.stack.owner,
            "ManagedBy": "cdk",
        }

    def fill(self, text: str) -> str:
        return fill(text, self._words)

    @cached_property
    def _words(self) -> dict[str, str]:
        return {"env": self.word, "Env": self.word.title(), "region": self.region}

    def table_tags(self, table: Table | Store) -> dict[str, str]:
        """What a table or store is tagged with beyond its stack's tags."""
        return {"DataClass": table.data.value, "Lifetime": lifetime(table), "Name": self.fill(table.name)}

    def required(self, table: Table | Store) -> Guard:
        return required(table, self.env, self.stack.floor)

    def topic(self, broker: Broker, topic: Topic) -> str:
        """The full name of a topic here."""
        return broker.topic(topic, self.env.topic_prefix)

    def assumptions(self, table: Table) -> Iterator[Assumption]:
        """Everything about ``table`` that no source gives."""
        for about, assumed in (
            *((None, a) for a in (*self.stack.assumed, *table.assumed)),
            *((i.name, i.assumed) for i in table.indexes if i.assumed),
        ):
            if value := _value(self.stack, table, about, assumed.fact):
                yield Assumption(self.fill(table.name), about, assumed, value)


@dataclass(frozen=True, slots=True)
class Assumption:
    """One assumed fact of one table in one environment, with the value that was assumed."""

    table: str
    index: str | None
    assumed: Assumed
    value: str


def catalog(*stacks: Stack) -> tuple[Stack, ...]:
    """All stacks of the estate, refused where two would fight over a name in one account and region."""
    owners: dict[tuple[str, str, str], Placed] = {}
    ids: dict[str, Placed] = {}
    declared = {env: {p.fill(t.name) for p in placements(stacks, [env]) for t in p.tables} for env in Environment}
    for placed in placements(stacks):
        if wrong := unknown_placeholders(placed.stack.id):
            raise DeclarationError(f"stack {placed.stack.id}: {wrong}")
        if ids.setdefault(placed.id, placed) is not placed:
            raise DeclarationError(f"stack {placed.id} is declared twice for {placed.env.label}; rename or merge one")
        for table in placed.tables:
            name = placed.fill(table.name)
            if illegal := illegal_name(name):
                raise DeclarationError(f"table {table.name}: in {placed.env.label} its name {name!r} {illegal}")
            if (successor := table.state.replaced_by) and placed.fill(successor) not in declared[placed.env]:
                raise DeclarationError(f"table {name} is replaced by {placed.fill(successor)}, which no stack declares")
            _claim(owners, placed, "table", name)
        for store in placed.stores:
            _claim(owners, placed, type(store).__name__.lower(), placed.fill(store.name))
    return stacks


def _claim(owners: dict[tuple[str, str, str], Placed], placed: Placed, kind: str, name: str) -> None:
    first = owners.setdefault((placed.region, kind, name), placed)
    if first is not placed:
        raise DeclarationError(
            f"{kind} {name} is declared by {first.id} and by {placed.id} in {placed.region}; "
            f"a {kind} has one stack: drop one declaration"
        )


def placements(stacks: Iterable[Stack], environments: Iterable[Environment] = Environment) -> tuple[Placed, ...]:
    """Every stack in every one of ``environments`` that it is declared for."""
    wanted = tuple(environments)
    return tuple(Placed(stack, env) for env in wanted for stack in stacks if env in stack.environments)


def environments_named(label: str) -> tuple[Environment, ...]:
    """``all`` or one environment's label; anything else is refused with the labels that exist."""
    if label == "all":
        return tuple(Environment)
    try:
        return (Environment.named(label),)
    except DeclarationError as error:
        raise DeclarationError(f"{error}, all") from None


def _value(stack: Stack, table: Table, index: str | None, fact: Fact) -> str:
    """What was assumed, in words; nothing where the fact does not concern this table."""
    if index is not None:
        found = next(i for i in table.indexes if i.name == index)
        return " + ".join(a.name for a in found.key.attributes)
    match fact:
        case Fact.OWNER:
            return stack.owner
        case Fact.KEY:
            return " + ".join(a.name for a in table.key.attributes)
        case Fact.KEY_TYPES:
            return _types(table.attributes)
        case Fact.INDEX_TYPES:
            return _types(a for a in table.attributes if a not in table.key.attributes)
        case Fact.PROJECTION:
            return ", ".join(sorted({i.projection.value for i in table.indexes}))
        case Fact.EXPIRY:
            return table.lifetime.ttl or ""
        case Fact.INDEX | Fact.INDEX_KEY | Fact.ADDITION:
            raise DeclarationError(f"table {table.name}: {fact.value!r} is assumed of an index; say so on the index")


def _types(attributes: Iterable[Attribute]) -> str:
    return ", ".join(f"{a.name}:{a.kind.value}" for a in attributes)
