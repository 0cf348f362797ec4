"""The checks of the schema linter: each a small function over one declared table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from holdfast.estate import provenance
from holdfast.estate.estate import Estate
from holdfast.estate.stack import Stack
from holdfast.kinds.table.access import Entity, Match, Pattern
from holdfast.kinds.table.declaration import Index, Key, Projection, Table
from holdfast.kinds.table.reserved import RESERVED
from holdfast.model.environment import Tier
from holdfast.model.facts import Data, Guard
from holdfast.model.provenance import ASSUMED, Fact

MANY_COPIES = 5  # writes per new item from which on a table is worth a look
MILLISECONDS = 10**11  # as seconds this is the year 5138, as milliseconds 1973
ANYTHING = "{…}"  # the template of a value that nothing is known of
UNDECLARED = "no declared identity"


@dataclass(frozen=True, slots=True)
class Declared:
    """One table, with what its stack and the other stacks say of it."""

    estate: Estate
    stack: Stack
    table: Table

    @property
    def keys(self) -> tuple[tuple[str, Key], ...]:
        """The table's own key under the empty name, then those of its indexes."""
        return (("", self.table.key), *((i.name, i.key) for i in self.table.every_index))

    @property
    def entities(self) -> tuple[Entity, ...]:
        return tuple(e for e in self.stack.entities if e.table == self.table.name)

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        return self.stack.patterns_of(self.table)

    @property
    def known(self) -> tuple[Index, ...]:
        """The indexes of which more is known than that there is one: of an assumed one nothing can be said."""
        return tuple(i for i in self.table.every_index if all(a.fact is not Fact.INDEX for a in i.assumed))

    @property
    def known_keys(self) -> Iterator[tuple[str, Key]]:
        """The table's own key under the empty name, then those of its known indexes."""
        yield "", self.table.key
        yield from ((i.name, i.key) for i in self.known)

    @property
    def items(self) -> tuple[dict[str, str], ...]:
        """Every kind of item that is written: the template of each attribute by its name."""
        return tuple(
            {**dict.fromkeys(self._beside_keys(entity), ANYTHING), **item.keys}
            for entity in self.entities
            for item in entity.items
        )

    def _beside_keys(self, entity: Entity) -> tuple[str, ...]:
        ttl = self.table.lifetime.ttl
        return (*entity.attributes, *([ttl] if ttl and entity.expires_after else []))


@dataclass(frozen=True, slots=True)
class DeclaredStack:
    """One stack, with what its estate says of it."""

    estate: Estate
    stack: Stack


# What a rule yields: the part of the table that it is about (an index, an entity, a pattern; "" for the table itself),
# and what is wrong with it.
Found = Iterator[tuple[str, str]]


# Indexes


def redundant(d: Declared) -> Found:
    own = d.table.key
    for index in d.known:
        if index.key.partition == own.partition and index.key.sort in (None, own.sort):
            yield (
                index.name,
                f"{index.name} repeats the table's key {own.partition.name} and adds no sort key of its own",
            )


def prefix(d: Declared) -> Found:
    for short in d.table.indexes:
        for long in d.table.indexes:
            if (
                short.key.sort is None
                and long.key.sort is not None
                and short.key.partition == long.key.partition
                and (short.projection, short.include) == (long.projection, long.include)
                and _always_with(d, short.key.partition.name, long.key.sort.name)
            ):
                yield (
                    short.name,
                    f"{short.name} answers nothing that {long.name} cannot, and copies the same attributes",
                )
                break


def _always_with(d: Declared, name: str, other: str) -> bool:
    """Whether every item that carries ``name`` carries ``other``: if not, an index on both misses some of them."""
    return all(other in item for item in d.items if name in item)


def unwritten(d: Declared) -> Found:
    for index in d.known if d.items else ():
        names = [a.name for a in index.key.attributes]
        if not any(item.keys() >= set(names) for item in d.items):
            never = [name for name in names if not any(name in item for item in d.items)]
            missing = " and ".join(never) if never else f"{' and '.join(names)} in one item"
            yield index.name, f"{index.name} stays empty: no declared entity writes {missing}"


def unused(d: Declared) -> Found:
    used = {p.index for p in d.patterns}  # one that cannot work is a finding of its own
    for index in d.known if used else ():
        if index.name not in used:
            yield index.name, f"{index.name} is read by none of the stack's access patterns"


def amplified(d: Declared) -> Found:
    indexes = d.table.every_index
    if (writes := 1 + len(indexes)) >= MANY_COPIES:
        whole = sum(i.projection is Projection.ALL for i in indexes)
        yield (
            "",
            f"a new item can cost {writes} writes: one in the table and one in each of {len(indexes)} indexes, "
            f"{whole} of which copy the whole item",
        )


# Key attributes


def dotted(d: Declared) -> Found:
    for part, name in _key_attributes(d):
        if "." in name:
            yield part, f"{_called(part)} is keyed on {name}: a name with a dot, not a path into a map"


def wrong_type(d: Declared) -> Found:
    booleans = {name for entity in d.entities for name in entity.booleans}
    for part, name in _key_attributes(d):
        if name in booleans:
            yield part, f"{_called(part)} is keyed on {name}, which the documented items hold as a Boolean"
        if name in d.table.mixed:
            yield part, f"{_called(part)} is keyed on {name}, which items hold in more than one type"


def reserved(d: Declared) -> Found:
    for part, name in _key_attributes(d):
        if name.upper() in RESERVED:
            yield part, f"{_called(part)} is keyed on {name}, a reserved word that no expression may name directly"


def renamed(d: Declared) -> Found:
    for part, name in _key_attributes(d):
        if new := d.table.renamed.get(name):
            yield part, f"{_called(part)} is keyed on {name}, and new items carry {new} instead"


def low_cardinality(d: Declared) -> Found:
    for part, key in d.known_keys:
        if key.partition.name in d.table.low_cardinality:
            yield part, f"{_called(part)} is partitioned by {key.partition.name}, which has few distinct values"


def _key_attributes(d: Declared) -> Iterator[tuple[str, str]]:
    return ((part, a.name) for part, key in d.known_keys for a in key.attributes)


def _called(part: str) -> str:
    return part or "the table"


# Access patterns


def unserved(d: Declared) -> Found:
    for pattern in d.patterns:
        if why := _obstacle(d, pattern):
            yield pattern.id, f"pattern {pattern.id} {why}"


def _obstacle(d: Declared, pattern: Pattern) -> str | None:
    """Why the table cannot answer ``pattern``, or None."""
    if pattern.unsupported:
        return f"is declared as unsupported: {pattern.unsupported}"
    key = dict(d.keys)[pattern.index or ""]
    wanted = {key.partition.name: pattern.partition}
    if pattern.sort is not None:
        if key.sort is None:
            return f"compares a sort key, and {_called(pattern.index or '')} has none"
        wanted[key.sort.name] = pattern.sort + (ANYTHING if pattern.match is Match.PREFIX else "")
    if not d.items or any(_answers(item, key, wanted) for item in d.items):
        return None
    asked = " and ".join(f"{name} = {template}" for name, template in wanted.items())
    return f"asks {_called(pattern.index or '')} for {asked}, and no declared entity writes such an item"


def _answers(item: dict[str, str], key: Key, wanted: dict[str, str]) -> bool:
    """Whether an item is in the index at all, and can have the wanted values there."""
    return all(a.name in item for a in key.attributes) and all(can_equal(item[n], wanted[n]) for n in wanted)


def can_equal(a: str, b: str) -> bool:
    """Whether two key templates can give the same value; a placeholder stands for any text."""
    x, y = (re.split(r"\{[^{}]*\}", template) for template in (a, b))
    if len(x) > 1 and len(y) > 1:
        # Both can stretch in the middle, so only their beginnings and their ends can disagree.
        return _agree(x[0], y[0]) and _agree(x[-1][::-1], y[-1][::-1])
    fixed, parts = (a, y) if len(x) == 1 else (b, x)
    return re.fullmatch(".*".join(map(re.escape, parts)), fixed, re.DOTALL) is not None


def _agree(a: str, b: str) -> bool:
    return a.startswith(b) or b.startswith(a)


# Everything else


def expiry(d: Declared) -> Found:
    ttl = d.table.lifetime.ttl
    if ttl is None:
        return
    if d.items and not any(ttl in item for item in d.items):
        yield "", f"the table expires items by {ttl}, and no declared entity writes it"
    for entity in d.entities:
        if entity.documented_ttl and (wrong := _wrong_ttl(*entity.documented_ttl)):
            yield entity.type, f"the documented {ttl} of {entity.type}, {entity.documented_ttl[1]}, {wrong}"


def _wrong_ttl(created: datetime, value: int) -> str | None:
    if value >= MILLISECONDS:
        return "is in milliseconds; DynamoDB reads seconds, so the item stays for thousands of years"
    if value <= created.timestamp():
        return f"means {_iso(datetime.fromtimestamp(value, UTC))}, not after its creation at {_iso(created)}"
    return None


def _iso(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def confused(d: Declared) -> Found:
    owners = {table.name: stack for stack in d.estate.stacks for table in stack.tables}
    for relation in d.stack.relations:
        if relation.table != d.table.name:
            continue
        owner = owners.get(relation.to_table)
        if owner is None:
            yield relation.attribute, f"{relation.attribute} refers to {relation.to_table}, which no stack declares"
            continue
        ours = d.stack.identities.get(relation.attribute, UNDECLARED)
        theirs = owner.identities.get(relation.to_attribute, UNDECLARED)
        if ours != theirs or ours == UNDECLARED:
            yield (
                relation.attribute,
                f"{relation.attribute} ({ours}) is joined with {relation.to_table}.{relation.to_attribute} ({theirs})",
            )


def unread(d: Declared) -> Found:
    stream = d.table.stream
    consumed = any(p.table == d.table.name for p in d.stack.processors)
    if stream and not (stream.pending or stream.consumer or consumed):
        yield "", f"the stream ({stream.view.value}) is on and has no declared consumer"


def astray(d: Declared) -> Found:
    successor = d.table.state.replaced_by
    if successor and successor not in {table.name for stack in d.estate.stacks for table in stack.tables}:
        yield "", f"it is replaced by {successor}, which no stack declares"


def weakened(d: Declared) -> Found:
    """A successor that has fewer guards than what it replaces, in an environment that has both."""
    state = d.table.state
    if not state.replaced_by or state.fewer_guards:
        return
    lost = Guard(0)
    for here in (p for p in d.estate.placements() if p.stack is d.stack and d.table in p.tables):
        for there in (p for p in d.estate.placements([here.env]) if p.region == here.region):
            for successor in (t for t in there.tables if t.name == state.replaced_by):
                lost |= here.required(d.table) & ~there.required(successor) & ~(Guard.TTL | Guard.TAGS)
    if lost:
        yield "", f"its successor {state.replaced_by} has fewer guards: not {lost.label}"


def crossing(d: Declared) -> Found:
    wall, identities = d.stack.wall, d.stack.identities
    if wall is None or d.table.data is not Data.PERSONAL:
        return
    if all(identities.get(a.name) != wall for _, key in d.keys for a in key.attributes):
        yield "", f"no key of it is a {wall}: only the application keeps the data of one {wall} from another's"


def misnamed(d: Declared) -> Found:
    for naming in d.estate.policy.naming:
        if naming.breaks(d.stack.id, d.table.name):
            yield "", f"it is called {d.table.name}, and new tables begin with {naming.begins}: {naming.reason}"


def untold(d: DeclaredStack) -> Found:
    told = {owner.name for owner in d.estate.owners if owner.tell}
    if not d.estate.owners or d.stack.owner in told:
        return
    watched = [p for p in d.estate.placements() if p.stack is d.stack and p.env.tier is Tier.PROD and p.alarmed]
    if labels := dict.fromkeys(p.env.label for p in watched):
        yield "", f"its owner {d.stack.owner} has no channel, so its alarms are not delivered in {', '.join(labels)}"


def assumed(d: Declared) -> Found:
    """What is assumed of a table in any of its environments; every one counts a fact once."""
    places = (p for p in d.estate.placements() if p.stack is d.stack and d.table in p.tables)
    yield from _assumed(s for p in places for s in provenance.of_table(p, d.table))


def assumed_of_stack(d: DeclaredStack) -> Found:
    """What is assumed of the stack as a whole, and of its stores other than tables."""
    places = [p for p in d.estate.placements() if p.stack is d.stack]
    stores = (s for p in places for store in p.stores for s in provenance.of_store(p, store))
    yield from _assumed([s for p in places for s in provenance.of_stack(p)] + list(stores))


def _assumed(facts: Iterable[provenance.Stated]) -> Found:
    if known := dict.fromkeys(s.fact for s in facts if s.origin.kind == ASSUMED):
        yield "", f"assumed and not documented: {', '.join(known)}"
