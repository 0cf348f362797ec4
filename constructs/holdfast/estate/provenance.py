"""Every fact that is declared of a stack and of what is in it, with where it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from holdfast.estate.placement import Placed
from holdfast.kinds.table.access import Entity
from holdfast.kinds.table.declaration import Attribute, Index, Table
from holdfast.model.environment import Environment
from holdfast.model.facts import NONE, Guard
from holdfast.model.provenance import ASSUMED, UNSOURCED, Assumed, Fact, Inferred, Origin, Said, Source, Sources, cited
from holdfast.model.store import Store
from holdfast.policy.required import lifetime
from holdfast.text import span


@dataclass(frozen=True, slots=True)
class Stated:
    """One declared fact in one environment: of a stack, a table or store, or a part such as an index or a pattern."""

    store: str | None
    part: str | None
    fact: str
    value: str
    origin: Origin
    names: tuple[str, ...] = field(default=(), compare=False)  # what a source of it has to name

    @property
    def assumed(self) -> Assumed | None:
        return self.origin.assumed


class Says(Protocol):
    """A declaration that says where its facts come from."""

    @property
    def assumed(self) -> tuple[Assumed, ...]: ...
    @property
    def sources(self) -> Sources: ...


@dataclass(frozen=True, slots=True)
class _Level:
    """What one declaration says of where its facts come from; the most specific one is asked first."""

    assumed: tuple[Assumed, ...] = ()
    sources: Sources = field(default_factory=dict)
    whole: Source = ()  # of all that nothing else is said of

    @classmethod
    def of(cls, declaration: Says) -> _Level:
        return cls(declaration.assumed, declaration.sources)

    @classmethod
    def of_table(cls, table: Table) -> _Level:
        """A table that is inferred as a whole, as one that is newer than the document, is so in every fact."""
        return cls(table.assumed, table.sources, table.source if isinstance(table.source, Inferred) else ())

    def assumption(self, fact: Fact, env: Environment) -> Assumed | None:
        about = [a for a in self.assumed if a.fact is fact and a.environment in (env, None)]
        return next((a for a in about if a.environment), about[0] if about else None)

    def source(self, fact: Said, env: Environment) -> Source | None:
        here = self.sources.get((fact, env)) if isinstance(fact, Fact) else None
        return here if here is not None else self.sources.get(fact)


def every_fact(placed: Placed) -> Iterator[Stated]:
    """All that is declared in one placed stack."""
    yield from of_stack(placed)
    for table in placed.tables:
        yield from of_table(placed, table)
    for store in placed.stores:
        yield from of_store(placed, store)


def assumptions(placed: Placed, table: Table) -> Iterator[Stated]:
    """Everything about ``table`` that no source gives."""
    return (s for s in of_table(placed, table) if s.assumed)


def assumed_of(placed: Placed) -> list[Stated]:
    """Everything about a placed stack and what is in it that no source gives."""
    return [s for s in every_fact(placed) if s.origin.kind == ASSUMED]


def of_stack(placed: Placed) -> Iterator[Stated]:
    """What is said of the stack as a whole, and of who reads and relates its tables."""
    stack = placed.stack
    say = _Sayer(placed, None, (_Level.of(stack),))
    yield say(Fact.STACK, placed.name, (placed.name,), own=stack.source)
    yield say(Fact.SYSTEM, stack.system, own=stack.source)
    yield say(Fact.OWNER, stack.owner, (stack.owner,), own=stack.source)
    yield say(Fact.ENVIRONMENT, placed.environment_name, (placed.environment_name,))
    yield say(Fact.REGION, placed.region, (placed.region,))
    yield say(Fact.ACCOUNT, placed.account or "that of the credentials")
    if stack.tables:
        yield say(Fact.ENCRYPTION, stack.encryption.value)
    if stack.floor is not NONE:
        yield say(Fact.FLOOR, stack.floor.short)
    if stack.tags:
        yield say(Fact.TAGS, _pairs(stack.tags), tuple(stack.tags.values()))
    if stack.identities:
        yield say(Fact.IDENTITY, _pairs(stack.identities))
    if stack.wall:
        yield say(Fact.WALL, stack.wall)
    for naming in (n for n in placed.policy.naming if not n.stacks or stack.id in n.stacks):
        yield say(Fact.NAMING, f"begin with {naming.begins}", (naming.begins,))
    for relation in stack.relations:
        value = f"{relation.to_table}.{relation.to_attribute}"
        part = f"{relation.table}.{relation.attribute}"
        yield say(Fact.RELATION, value, (relation.attribute,), part=part, own=relation.source)
    for processor in stack.processors:
        name = placed.fill(processor.name)
        yield say(Fact.PROCESSOR, name, (name,), part=name, own=processor.source)
    for access in stack.access:
        name = placed.fill(access.name)
        yield say(Fact.ACCESS, ", ".join(access.actions), (name,), part=name, own=access.source)


def of_table(placed: Placed, table: Table) -> Iterator[Stated]:
    """Every fact of one table."""
    name, levels = placed.fill(table.name), (_Level.of_table(table), _Level.of(placed.stack))
    say = _Sayer(placed, name, levels)
    yield say(Fact.NAME, name, (name,), own=table.source)
    yield say(Fact.PURPOSE, table.purpose, own=table.source)
    yield say(Fact.KEY, _names(table.key.attributes), _each(table.key.attributes), own=table.source)
    yield from _types(say, placed, table)
    if table.every_index:
        yield say(Fact.PROJECTION, ", ".join(sorted({i.projection.value for i in table.every_index})))
    for index in table.every_index:
        yield from _index(_Sayer(placed, name, (_Level(index.assumed), *levels), index.name), index)
    yield say(Fact.LIFETIME, lifetime(table))
    if table.lifetime.ttl:
        yield say(Fact.TTL, table.lifetime.ttl, (table.lifetime.ttl,))
    yield say(Fact.DATA, table.data.value)
    if floor := table.floor & ~Guard.TAGS:
        yield say(Fact.FLOOR, floor.short)
    billing = f"{table.billing.read} read, {table.billing.write} write units" if table.billing else "on demand"
    yield say(Fact.BILLING, billing)
    if table.stream:
        yield say(Fact.STREAM, table.stream.view.value, (table.stream.view.value,))
    if table.tags:
        yield say(Fact.TAGS, _pairs(table.tags), tuple(table.tags.values()))
    yield from _state(say, table)
    if table.low_cardinality:
        yield say(Fact.CARDINALITY, ", ".join(table.low_cardinality))
    if table.mixed:
        yield say(Fact.MIXED, ", ".join(table.mixed), table.mixed)
    if table.renamed:
        yield say(Fact.RENAMED, _pairs(table.renamed), (*table.renamed, *table.renamed.values()))
    yield from _asked(say, table)


def of_store(placed: Placed, store: Store) -> Iterator[Stated]:
    """Every fact of a store other than a table; what is assumed of it is said by its own ``assumed``."""
    name, chosen = placed.fill(store.name), {what: (value, why) for what, value, why in store.assumptions()}
    say = _Sayer(placed, name, (_Level(sources=store.sources), _Level.of(placed.stack)))
    yield say(Fact.NAME, name, own=store.source)
    yield say(Fact.PURPOSE, store.purpose, own=store.source)
    yield say(Fact.DATA, store.data.value)
    if floor := store.floor & ~Guard.TAGS:
        yield say(Fact.FLOOR, floor.short)
    facts = dict(store.facts(placed.env.topic_prefix))
    for what in dict.fromkeys((*facts, *chosen)):
        assumed_value, why = chosen.get(what, ("", ""))
        origin = say.origin(what, ())
        if why:
            origin = Origin(ASSUMED, why, origin.document, origin.lines)
        yield Stated(name, None, what, facts.get(what, assumed_value), origin)


@dataclass(frozen=True, slots=True)
class _Sayer:
    """Makes facts of one table, store, stack or part; ``levels`` go from the most specific declaration on."""

    placed: Placed
    store: str | None
    levels: tuple[_Level, ...]
    part: str | None = None

    def __call__(
        self, fact: Fact, value: str, names: tuple[str, ...] = (), *, part: str | None = None, own: Source = ()
    ) -> Stated:
        return Stated(self.store, part or self.part, fact.value, value, self.origin(fact, own), names)

    def origin(self, fact: Said, own: Source) -> Origin:
        """The first level that says anything; else the line on which the declared thing itself stands."""
        env, document = self.placed.env, self.placed.stack.document
        for level in self.levels:
            source = level.source(fact, env)
            if isinstance(fact, Fact) and (assumed := level.assumption(fact, env)):
                found = cited(source, document).lines if source is not None else ()
                return Origin(ASSUMED, assumed.reason, document if found else None, found, assumed)
            if source is not None:
                return cited(source, document)
        return cited(own or next((level.whole for level in self.levels if level.whole), ()), document)


def _state(say: _Sayer, table: Table) -> Iterator[Stated]:
    """How the table is used, who governs it, and what was seen of it."""
    state = table.state
    yield say(Fact.USAGE, state.usage.value, own=table.source)
    yield say(Fact.GOVERNANCE, state.governance.value)
    if state.replaced_by:
        successor = say.placed.fill(state.replaced_by)
        yield say(Fact.SUCCESSOR, successor, (successor,))
    if state.archive_phase is not None:
        yield say(Fact.ARCHIVE, str(state.archive_phase))
    if seen := state.sighting:
        figures = {"items": seen.items, "size": seen.size, "reads in 7 days": seen.reads_7d}
        known = {
            what: f"{value:,}" if isinstance(value, int) else f"{value}" for what, value in figures.items() if value
        }
        shown = ", ".join(f"{value} {what}" for what, value in known.items() if what != "size")
        value = ", ".join(filter(None, (shown, seen.size, f"on {seen.on}")))
        yield say(Fact.SIGHTING, value, (*known.values(), str(seen.on)))


def _asked(say: _Sayer, table: Table) -> Iterator[Stated]:
    """What is written into the table, and the questions that it answers."""
    stack = say.placed.stack
    for entity in (e for e in stack.entities if e.table == table.name):
        yield from _entity(_Sayer(say.placed, say.store, (_Level.of(entity), *say.levels), entity.type), entity)
    for transaction in (t for t in stack.transactions if t.table == table.name):
        yield say(Fact.TRANSACTION, " + ".join(transaction.entities), part=transaction.id, own=transaction.source)
    documented = {i.name for i in table.every_index if not i.assumed}
    for pattern in stack.patterns_of(table):
        wanted = (pattern.index,) if pattern.index in documented else ()
        yield say(Fact.PATTERN, pattern.purpose, wanted, part=pattern.id, own=pattern.source)


def _types(say: _Sayer, placed: Placed, table: Table) -> Iterator[Stated]:
    """The types of key attributes, those with one origin together."""
    of_origin: dict[tuple[Fact, Origin], list[Attribute]] = {}
    for attribute in table.attributes:
        fact = Fact.KEY_TYPES if attribute in table.key.attributes else Fact.INDEX_TYPES
        origin = _type(say, placed, attribute, fact)
        of = origin.assumed.fact if origin.assumed else fact
        of_origin.setdefault((of, origin), []).append(attribute)
    for (fact, origin), attributes in of_origin.items():
        value = ", ".join(f"{a.name}:{a.kind.value}" for a in attributes)
        yield Stated(say.store, None, fact.value, value, origin, _each(attributes))


def _type(say: _Sayer, placed: Placed, attribute: Attribute, fact: Fact) -> Origin:
    """What the table says of it, what the stack says of the attribute, what the stack says of all."""
    table, stack = say.levels
    of_table = _Sayer(placed, say.store, (table,)).origin(fact, ())
    if of_table is not UNSOURCED:
        return of_table
    match placed.stack.types.get(attribute.name):
        case Inferred() as inferred:
            return cited(inferred, placed.stack.document)
        case Assumed() as assumed:
            return Origin(ASSUMED, assumed.reason, assumed=assumed)
    found = _Sayer(placed, say.store, (stack,)).origin(fact, ())
    if found is UNSOURCED and fact is Fact.INDEX_TYPES:
        return say.origin(Fact.KEY_TYPES, ())
    return found


def _index(say: _Sayer, index: Index) -> Iterator[Stated]:
    """An index that was assumed as a whole is one fact; its name and its key are two."""
    keys, names = _names(index.key.attributes), _each(index.key.attributes)
    for fact in (Fact.INDEX, Fact.ADDITION):
        if any(a.fact is fact for a in index.assumed):
            yield say(fact, keys, names)
            return
    yield say(Fact.INDEX_NAME, index.name, (index.name,), own=index.source)
    yield say(Fact.INDEX_KEY, keys, names, own=index.source)


def _entity(say: _Sayer, entity: Entity) -> Iterator[Stated]:
    keys = tuple(dict.fromkeys(name for item in entity.items for name in item.keys))
    names = (*keys, *entity.attributes)
    yield say(Fact.ITEMS, ", ".join(names), names, own=entity.source)
    for what, why in entity.departs.items():
        yield say(Fact.DEPARTURE, f"without {what}: {why}", (what,), own=entity.source)
    if entity.expires_after:
        yield say(Fact.EXPIRY, f"after {span(entity.expires_after)}")


def _names(attributes: tuple[Attribute, ...]) -> str:
    return " + ".join(_each(attributes))


def _each(attributes: tuple[Attribute, ...] | list[Attribute]) -> tuple[str, ...]:
    return tuple(a.name for a in attributes)


def _pairs(mapping: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in mapping.items())
