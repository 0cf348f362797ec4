"""The schema linter: what is wrong with keys, indexes and access patterns before anything is deployed.

It reads declarations only. Each rule is a small function over one declared table; the table of rules is at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime

from holdfast.access import Entity, Match, Pattern
from holdfast.catalog import Placed
from holdfast.model import Environment, Key, Projection, Stack, Table
from holdfast.reserved import RESERVED
from holdfast.rules.base import Finding, Outcome, Rule, Severity, Source
from holdfast.rules.waivers import waived

MANY_COPIES = 5  # writes per new item from which on a table is worth a look
MILLISECONDS = 10**11  # as seconds this is the year 5138, as milliseconds 1973
ANYTHING = "{…}"  # the template of a value that nothing is known of
UNDECLARED = "no declared identity"


@dataclass(frozen=True, slots=True)
class Declared:
    """One table, with what its stack and the other stacks say of it."""

    stacks: tuple[Stack, ...]
    stack: Stack
    table: Table

    @property
    def keys(self) -> tuple[tuple[str, Key], ...]:
        """The table's own key under the empty name, then those of its indexes."""
        return (("", self.table.key), *((i.name, i.key) for i in self.table.indexes))

    @property
    def entities(self) -> tuple[Entity, ...]:
        return tuple(e for e in self.stack.entities if e.table == self.table.name)

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        return tuple(p for p in self.stack.patterns if p.table == self.table.name)

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


# What a rule yields: the part of the table that it is about (an index, an entity, a pattern; "" for the table itself),
# and what is wrong with it.
Found = Iterator[tuple[str, str]]


def lint(stacks: Iterable[Stack], *, today: date) -> list[Finding]:
    """Everything that the rules below have to say about the declared tables, in order of declaration."""
    stacks = tuple(stacks)
    return [
        waived(_finding(rule, stack, table, part, detail), table.waivers, today)
        for stack in stacks
        for table in stack.tables
        for rule, check in CHECKS
        for part, detail in check(Declared(stacks, stack, table))
    ]


def _finding(rule: Rule, stack: Stack, table: Table, part: str, detail: str) -> Finding:
    return Finding(
        rule=rule,
        outcome=Outcome.FAIL,
        detail=detail,
        table=table.name,
        stack=stack.id,
        environment=None,
        source=Source.DECLARATION,
        where="/".join(filter(None, (stack.id, table.name, part))),
        fix=rule.fix.format(table=table.name),
    )


# Indexes ---------------------------------------------------------------------------------------------------------------


def _redundant(d: Declared) -> Found:
    own = d.table.key
    for index in d.table.indexes:
        if index.key.partition == own.partition and index.key.sort in (None, own.sort):
            yield (
                index.name,
                f"{index.name} repeats the table's key {own.partition.name} and adds no sort key of its own",
            )


def _prefix(d: Declared) -> Found:
    for short in d.table.indexes:
        for long in d.table.indexes:
            if (
                short.key.sort is None
                and long.key.sort is not None
                and short.key.partition == long.key.partition
                and short.projection is long.projection
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


def _unwritten(d: Declared) -> Found:
    for index in d.table.indexes if d.items else ():
        names = [a.name for a in index.key.attributes]
        if not any(item.keys() >= set(names) for item in d.items):
            never = [name for name in names if not any(name in item for item in d.items)]
            missing = " and ".join(never) if never else f"{' and '.join(names)} in one item"
            yield index.name, f"{index.name} stays empty: no declared entity writes {missing}"


def _unused(d: Declared) -> Found:
    used = {p.index for p in d.patterns if not p.unsupported}
    for index in d.table.indexes if d.stack.patterns else ():
        if index.name not in used:
            yield index.name, f"{index.name} is read by none of the stack's access patterns"


def _amplified(d: Declared) -> Found:
    indexes = d.table.indexes
    if (writes := 1 + len(indexes)) >= MANY_COPIES:
        whole = sum(i.projection is Projection.ALL for i in indexes)
        yield (
            "",
            f"a new item can cost {writes} writes: one in the table and one in each of {len(indexes)} indexes, "
            f"{whole} of which copy the whole item",
        )


# Key attributes --------------------------------------------------------------------------------------------------------


def _dotted(d: Declared) -> Found:
    for part, name in _key_attributes(d):
        if "." in name:
            yield part, f"{_called(part)} is keyed on {name}: a name with a dot, not a path into a map"


def _boolean(d: Declared) -> Found:
    booleans = {name for entity in d.entities for name in entity.booleans}
    for part, name in _key_attributes(d):
        if name in booleans:
            yield part, f"{_called(part)} is keyed on {name}, which the documented items hold as a Boolean"


def _reserved(d: Declared) -> Found:
    for part, name in _key_attributes(d):
        if name.upper() in RESERVED:
            yield part, f"{_called(part)} is keyed on {name}, a reserved word that no expression may name directly"


def _renamed(d: Declared) -> Found:
    for part, name in _key_attributes(d):
        if new := d.table.renamed.get(name):
            yield part, f"{_called(part)} is keyed on {name}, and new items carry {new} instead"


def _few_values(d: Declared) -> Found:
    for part, key in d.keys:
        if key.partition.name in d.table.few_values:
            yield part, f"{_called(part)} is partitioned by {key.partition.name}, which has few distinct values"


def _key_attributes(d: Declared) -> Iterator[tuple[str, str]]:
    return ((part, a.name) for part, key in d.keys for a in key.attributes)


def _called(part: str) -> str:
    return part or "the table"


# Access patterns -------------------------------------------------------------------------------------------------------


def _unserved(d: Declared) -> Found:
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


# Everything else -------------------------------------------------------------------------------------------------------


def _expiry(d: Declared) -> Found:
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


def _confused(d: Declared) -> Found:
    owners = {table.name: stack for stack in d.stacks for table in stack.tables}
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


def _unread(d: Declared) -> Found:
    stream = d.table.stream
    consumed = any(p.table == d.table.name for p in d.stack.processors)
    if stream and not (stream.pending or stream.consumer or consumed):
        yield "", f"the stream ({stream.view.value}) is on and has no declared consumer"


def _assumed(d: Declared) -> Found:
    # The environment fills in names only; what is assumed is the same in all of them.
    assumptions = Placed(d.stack, Environment.PROD).assumptions(d.table)
    if facts := dict.fromkeys(a.assumed.fact.value for a in assumptions):
        yield "", f"assumed and not documented: {', '.join(facts)}"


CHECKS: tuple[tuple[Rule, Callable[[Declared], Found]], ...] = (
    (
        Rule(
            id="HF401",
            title="An index repeats the table's own key",
            why=(
                "A global secondary index is a second copy of the items under another key. This one has the table's "
                "partition key and no sort key of its own, so every query that it answers the table answers too. "
                "It costs one more write for each write and stores its copy of every item, for nothing."
            ),
            fix=(
                "Make sure that no code names the index in a query, query the table instead, then delete the index "
                "from indexes=(…) of {table}. CloudFormation removes one index in each update."
            ),
            severity=Severity.MEDIUM,
        ),
        _redundant,
    ),
    (
        Rule(
            id="HF402",
            title="An index is the beginning of another index",
            why=(
                "Two indexes have the same partition key and copy the same attributes, and only one of them has a sort "
                "key. A query may leave the sort key out, so the longer index answers everything that the shorter one "
                "does; only the order of the items differs. Every write pays for both."
            ),
            fix=(
                "Make sure that every item of {table} carries the sort key of the longer index (an item without it is "
                "not in that index), point the readers there, then delete the shorter one from indexes=(…)."
            ),
            severity=Severity.LOW,
        ),
        _prefix,
    ),
    (
        Rule(
            id="HF403",
            title="No entity writes the key of an index",
            why=(
                "DynamoDB puts an item into an index only if the item has every key attribute of that index. No "
                "declared entity writes these, so the index stays empty: a query on it finds nothing and reports no "
                "error. Most often the items use another spelling, such as created_at for createdAt."
            ),
            fix=(
                "Write the attribute in the items of {table} and add it to attributes=(…) of their Entity; or make a "
                "new index on the attribute that they do carry, move the readers, and delete this one."
            ),
            severity=Severity.MEDIUM,
        ),
        _unwritten,
    ),
    (
        Rule(
            id="HF404",
            title="A key attribute has a dot in its name",
            why=(
                "A key must be a top-level attribute. DynamoDB reads a.b in a key as one attribute with that very "
                "name, never as the field b of a map a. Items that hold the value inside a map are missing from the "
                "index, and no error says so."
            ),
            fix=(
                "Write the value of the nested field once more as a top-level attribute without a dot, say outcome; "
                'declare gsi("outcome", …) in {table}, fill in old items, move the readers, then delete this index.'
            ),
            severity=Severity.MEDIUM,
        ),
        _dotted,
    ),
    (
        Rule(
            id="HF405",
            title="A key attribute holds a Boolean",
            why=(
                "A key is a String, a Number or Binary. DynamoDB refuses to store an item that has a Boolean where the "
                "table or an index has a key attribute, so an application that follows its own documentation cannot "
                "write. Some emulators accept it, so the error may first show in production."
            ),
            fix=(
                'Write 0 or 1, declare the key attribute as number("…") in {table}, and take the attribute out of '
                "booleans=(…) of its Entity once the applications do so."
            ),
            severity=Severity.HIGH,
        ),
        _boolean,
    ),
    (
        Rule(
            id="HF406",
            title="A partition key has few values",
            why=(
                "A partition takes about 1000 write units and 3000 read units a second. With a handful of partition "
                "key values the whole load meets on a handful of partitions; DynamoDB can split a busy value by its "
                "sort key, but not usefully where that is the time of writing. When a partition of an index is too "
                "busy, the writes to the table itself are throttled."
            ),
            fix=(
                "Partition by something with many values, such as the store or the user, and put the attribute that "
                'has few into the sort key or a filter: gsi("storeId", "status") in {table}. If the few values are '
                "needed as they are, append a shard number to them and query each shard."
            ),
            severity=Severity.MEDIUM,
        ),
        _few_values,
    ),
    (
        Rule(
            id="HF407",
            title="A key attribute is a reserved word",
            why=(
                "DynamoDB refuses an expression that names a reserved word directly, in any spelling of case. Every "
                "query that compares this key needs a placeholder for the name; the one that forgets it fails when "
                "it runs, not when it is written."
            ),
            fix=(
                "In every expression on {table} use a placeholder: KeyConditionExpression='#k = :v' with "
                "ExpressionAttributeNames={{'#k': '<the attribute>'}}. Choose another name for new attributes."
            ),
            severity=Severity.LOW,
        ),
        _reserved,
    ),
    (
        Rule(
            id="HF408",
            title="A key attribute was renamed in the items only",
            why=(
                "The applications write the attribute under a new name, and the key keeps the old one: the key of an "
                "index cannot be changed. Items without the old name never enter the index, so a query on it returns "
                "old data only, without an error."
            ),
            fix=(
                "Write both names for now. Then declare an index on the new name in {table}, fill in old items, move "
                "the readers, delete the old index and take its name out of renamed={{…}}."
            ),
            severity=Severity.HIGH,
        ),
        _renamed,
    ),
    (
        Rule(
            id="HF409",
            title="No key or index serves an access pattern",
            why=(
                "A documented question cannot be answered: no item that the declared entities write has the key values "
                "that it asks for, or the declaration itself says that it cannot work. The query returns nothing or is "
                "refused, and the feature behind it does not work."
            ),
            fix=(
                "Write an item or an attribute with these key values and declare it in the entities of {table}, or add "
                "an index and name it in the pattern; or withdraw the pattern from patterns=(…)."
            ),
            severity=Severity.HIGH,
        ),
        _unserved,
    ),
    (
        Rule(
            id="HF410",
            title="No access pattern uses an index",
            why=(
                "Every index costs a write for each write and a copy of what it projects. The stack declares its "
                "access patterns, and none of them reads this index: either a pattern is missing in the declaration, "
                "or the index is paid for and not needed."
            ),
            fix=(
                "Look at the reads of the index over 30 days (CloudWatch ConsumedReadCapacityUnits by TableName and "
                "GlobalSecondaryIndexName). If there are any, declare their pattern; if there are none, delete the "
                "index from indexes=(…) of {table}."
            ),
            severity=Severity.LOW,
        ),
        _unused,
    ),
    (
        Rule(
            id="HF411",
            title="One write is written many times",
            why=(
                "Every index that an item enters costs a write of its own, and a copy of the item or of its keys. "
                "Many indexes that copy whole items multiply what is paid and stored. The number is an upper bound "
                "for a new item: an index whose key attributes the item lacks costs nothing. A change costs in the "
                "indexes that copy what has changed, and twice where it moves the item to another key."
            ),
            fix=(
                "Delete the indexes of {table} that nobody reads; deleting empty ones saves nothing. Where a look-up "
                "needs the keys only, make a new index with gsi(…, name=…, projection=Projection.KEYS_ONLY), because "
                "the projection of an index cannot be changed, move the readers and delete the old one."
            ),
            severity=Severity.LOW,
        ),
        _amplified,
    ),
    (
        Rule(
            id="HF412",
            title="Items expire at once or never",
            why=(
                "DynamoDB deletes an item when its TTL attribute, a Number of seconds since 1970, has passed. A value "
                "from before the item was created deletes the item soon after it is written, milliseconds keep it for "
                "thousands of years, and a table whose items lack the attribute only grows."
            ),
            fix=(
                "Compute the value from the moment of writing: declare expires_after=timedelta(…) on the Entity of "
                "{table} and write entity.ttl(datetime.now(UTC)). Correct the sample in the documentation, then drop "
                "documented_ttl=."
            ),
            severity=Severity.HIGH,
        ),
        _expiry,
    ),
    (
        Rule(
            id="HF413",
            title="A relation joins two different identities",
            why=(
                "Both ends of a relation must identify the same kind of thing. An account number that is looked up "
                "where store ids are stored finds nothing or, worse, another's data. A relation to a table that no "
                "stack declares, or between attributes without a declared identity, cannot be judged at all."
            ),
            fix=(
                "Correct the relation of {table} so that both ends hold the same identity, if need be through the "
                "table that maps one to the other; or name what the attribute identifies in identities={{…}}."
            ),
            severity=Severity.HIGH,
        ),
        _confused,
    ),
    (
        Rule(
            id="HF414",
            title="Nobody reads a stream",
            why=(
                "A stream keeps every change, whole items included, for 24 hours. Without a consumer it does nothing "
                "but hold another copy of the data, and often it shows that a consumer was lost: what should follow "
                "from a change no longer happens."
            ),
            fix=(
                'Name the consumer: Stream(view=…, consumer="…") in {table}; or delete stream= from the declaration, '
                'or say why it is off for now with pending="…".'
            ),
            severity=Severity.LOW,
        ),
        _unread,
    ),
    (
        Rule(
            id="HF415",
            title="Facts are assumed",
            why=(
                "No source gives these facts, so they were chosen, with a reason beside each. A wrong guess at a key or "
                "its type is no detail: a deploy would replace the table, and an import would be refused."
            ),
            fix=(
                "Run `holdfast list --assumed`, compare each value of {table} with the live table (`aws dynamodb "
                "describe-table`), correct the declaration and delete assumed=."
            ),
            severity=Severity.INFO,
        ),
        _assumed,
    ),
)

RULES = tuple(rule for rule, _ in CHECKS)
