"""The one way in which rules are run: every check of every rule over the subjects of its kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from holdfast.cfn.dig import mentioned
from holdfast.cfn.template import Source, StackSeen
from holdfast.cfn.tree import texts
from holdfast.cfn.types import KEY
from holdfast.estate.placement import Placed
from holdfast.kinds.kinds import cluster_of, find, identified, strangers
from holdfast.kinds.kinds import subject as store_subject
from holdfast.kinds.table.declaration import Table
from holdfast.kinds.table.observed import GLOBAL_TABLE, Observed
from holdfast.kinds.table.template import observe, table_names
from holdfast.model.environment import Tier
from holdfast.model.facts import Data, Durable
from holdfast.model.store import Store
from holdfast.rules.base import Check, Finding, Rule, run_check
from holdfast.rules.subjects import (
    Consumer,
    Expected,
    KeySubject,
    Resource,
    StackSubject,
    Stranger,
    Subject,
    TableSubject,
)
from holdfast.rules.types import foreign_types
from holdfast.shared.key.observed import ObservedKey, exported_keys, observe_key
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, Outcome, Verdict

ACTIONABLE = frozenset({Outcome.FAIL, Outcome.UNKNOWN})
LIVE = " On the live table: "  # what follows it in a remediation is a call


class Rules:
    """Rules by the kind of subject that they judge, so that none is asked about what it does not know."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)
        self._known: dict[tuple[type, str], list[tuple[Rule, list[Check[Any]]]]] = {}

    def judge(self, subject: object, kind: str = "") -> Iterator[tuple[Rule, Verdict]]:
        """Every verdict about one subject, one for each rule; ``kind`` is the type of a resource."""
        failed: set[str] = set()
        for rule, checks in self._asking(type(subject), kind):
            if not failed.isdisjoint(rule.requires):
                yield rule, EXEMPT
                continue
            said = together([v for check in checks for v in run_check(check, subject)])
            if said.outcome is Outcome.FAIL:
                failed.add(rule.id)
            yield rule, said

    def _asking(self, of: type, kind: str) -> list[tuple[Rule, list[Check[Any]]]]:
        if (of, kind) not in self._known:
            asking = (
                (rule, [c for c in rule.checks if c.of is of and (not c.types or kind in c.types)])
                for rule in self._rules
            )
            self._known[of, kind] = [(rule, checks) for rule, checks in asking if checks]
        return self._known[of, kind]


def together(verdicts: list[Verdict]) -> Verdict:
    """What several checks of one rule say of one subject."""
    if len(verdicts) == 1:
        return verdicts[0]
    for outcome in (Outcome.FAIL, Outcome.UNKNOWN):
        if said := [v.detail for v in verdicts if v.outcome is outcome]:
            return Verdict(outcome, "; ".join(dict.fromkeys(said)))
    return next((v for v in verdicts if v.outcome is Outcome.PASS), EXEMPT)


def verdict(rule: Rule, subject: object) -> Verdict:
    """What one rule says of one subject; nothing where it has no check for its kind."""
    return together([v for check in rule.checks if check.of is type(subject) for v in run_check(check, subject)])


def run(rules: Iterable[Rule], places: Sequence[Placed], seen: Sequence[StackSeen]) -> Iterator[Finding]:
    """Every verdict about everything that is declared, and about everything else that ``seen`` shows."""
    judging, estate = Rules(rules), _Estate(places, seen)
    for subject in estate.subjects():
        if isinstance(subject, Stranger):
            yield from (_undeclared(rule, said, subject) for rule, said in judging.judge(subject))
        elif isinstance(subject, Resource):
            where = subject.where
            for rule, said in judging.judge(subject, subject.type):
                if said is EXEMPT:
                    continue  # most rules have nothing to say of most resources
                about = estate.owner(subject) if said.outcome in ACTIONABLE else None
                yield finding(rule, said, subject.placed, about, where)
        else:
            yield from (of(rule, said, subject) for rule, said in judging.judge(subject))


class _Estate:
    """What is declared and what is seen, matched by name; one stack is looked into at a time, and then forgotten."""

    def __init__(self, places: Sequence[Placed], seen: Sequence[StackSeen]) -> None:
        self.shown = {s.id: s for s in seen}
        self.exports = {name: place for s in seen for name, place in exported_keys(s)}
        self.places: dict[str, list[Placed]] = {}
        for placed in places:
            self.places.setdefault(placed.id, []).append(placed)
        self.named: dict[str, list[tuple[str, str]]] = {}  # {table: (stack, where)}
        for stack in seen:
            for logical_id, name in table_names(stack):
                if isinstance(name, str):
                    self.named.setdefault(name, []).append((stack.id, stack.at(logical_id)))
        # Where a table of that name may be, so that none of them is a stranger.
        self.claimed = {w for p in places for t in p.tables for _, w in self._same(p, t)}
        self.owned: dict[str, Table | Store] = {}  # the declared tables and stores of one stack, by logical id
        self.tables: dict[str, Observed] = {}  # of that stack, by place

    def subjects(self) -> Iterator[Any]:
        for id_ in dict.fromkeys((*self.places, *self.shown)):
            shown = self.shown.get(id_)
            stack = replace(shown, exports=self.exports) if shown else None  # a copy, whose caches go with it
            self.owned, self.tables = {}, {o.where: o for o in observe(stack)} if stack else {}
            for placed in self.places.get(id_, ()):
                for store in placed.stores:
                    yield from self._store(placed, store, stack)
                for table in placed.tables:
                    yield from self._table(placed, table, stack)
                if stack:
                    yield from self._beside(placed, stack)
            if stack and id_ in self.places:  # what stacks of others hold is theirs: what they touch counts
                yield from self._strangers(stack, self.places[id_][0])

    def _same(self, placed: Placed, table: Table) -> list[tuple[str, str]]:
        """Every table of that name in the region, by stack and place."""
        return [
            (stack, where)
            for stack, where in self.named.get(placed.fill(table.name), ())
            if stack == placed.id or _in_the_same_place(self.shown[stack], placed)
        ]

    def _store(self, placed: Placed, store: Store, stack: StackSeen | None) -> Iterator[Any]:
        found = find(stack, placed, store) if stack else None
        if stack is None or not isinstance(found, str):
            gone = f"it is not in {placed.id}" if stack else f"its stack {placed.id} is not there"
            absent = found if isinstance(found, Unknown) else gone
            yield Expected(placed, store, stack.where if stack else placed.id, absent)
            return
        self.owned[found] = store
        yield Expected(placed, store, stack.at(found), None)
        yield store_subject(placed, store, stack, found)

    def _table(self, placed: Placed, table: Table, stack: StackSeen | None) -> Iterator[Any]:
        same = self._same(placed, table)
        there = [where for id_, where in same if id_ == placed.id]
        seen = self.tables[there[0]] if there else self._renamed(table)
        others = tuple(w for id_, w in same if id_ != placed.id) or tuple(w for _, w in same[1:])
        if seen is None:
            where = stack.where if stack else placed.id
            yield Expected(placed, table, where, self._absent(placed, stack), others=others)
            return
        self.owned[_logical_id(seen)] = table
        yield Expected(placed, table, seen.where, None, seen.type, others)
        if seen.type != GLOBAL_TABLE:
            yield TableSubject(placed, table, placed.required(table), seen)

    def _renamed(self, table: Table) -> Observed | None:
        """The same resource under its logical id, and another table."""
        for seen in self.tables.values():
            id_ = _logical_id(seen)
            if id_ == table.logical_id if table.logical_id else id_.startswith(f"{table.id}Table"):
                return seen
        return None

    def _absent(self, placed: Placed, stack: StackSeen | None) -> str | Unknown:
        if stack is None:
            return f"its stack {placed.id} is not there"
        nameless = next((o for o in self.tables.values() if isinstance(o.name, Unknown)), None)
        if nameless:
            return Unknown(f"it may be {nameless.where}, whose name cannot be read")
        return f"it is not in {placed.id}"

    def _beside(self, placed: Placed, stack: StackSeen) -> Iterator[Any]:
        """The stack itself, and everything in it."""
        yield StackSubject(placed, stack)
        names = {placed.fill(t.name): t for t in placed.tables}
        for processor in placed.stack.processors:
            yield Consumer(placed, stack, processor, names.get(placed.fill(processor.table)))
        used = {o.encryption.where for o in self.tables.values() if isinstance(o.encryption, ObservedKey)}
        for logical_id in stack.possible_by_type.get(KEY, ()):
            key = observe_key(stack, logical_id)
            if isinstance(key, ObservedKey) and key.where not in used:
                yield KeySubject(placed, key)
        for ids in stack.possible_by_type.values():
            for logical_id in ids:
                yield Resource(placed, stack, logical_id)

    def _strangers(self, stack: StackSeen, placed: Placed) -> Iterator[Stranger]:
        for table in self.tables.values():
            if table.where not in self.claimed and _logical_id(table) not in self.owned:
                yield Stranger(stack, placed, table.name, table.where)
        for logical_id in (*strangers(stack, placed, self.owned), *foreign_types(stack)):
            name = identified(stack, logical_id)
            known = name if isinstance(name, str) else logical_id
            yield Stranger(stack, placed, known, stack.at(logical_id))

    def owner(self, subject: Resource) -> Table | Store | None:
        """The table or store that a resource is, belongs to, or alone speaks of."""
        owned, stack = self.owned, subject.stack
        own = owned.get(cluster_of(stack, subject.logical_id) or subject.logical_id)
        if own is not None or subject.logical_id in owned:
            return own
        names = {subject.placed.fill(t.name): t for t in owned.values()}
        found = {i: owned[i] for i in mentioned(subject.properties) & owned.keys()}
        about = {
            t.id: t for t in (*found.values(), *(names[text] for text in names.keys() & set(texts(subject.properties))))
        }
        return next(iter(about.values())) if len(about) == 1 else None


def _logical_id(seen: Observed) -> str:
    return seen.where.rpartition("#")[2]


# Findings


def of(rule: Rule, said: Verdict, subject: Subject, source: Source = Source.TEMPLATE) -> Finding:
    return finding(rule, said, subject.placed, subject.about, subject.where, source)


def finding(
    rule: Rule,
    said: Verdict,
    placed: Placed,
    table: Table | Store | None,
    where: str,
    source: Source = Source.TEMPLATE,
) -> Finding:
    name = placed.fill(table.name) if table else None
    # What can be done about a live table is of no use for a store.
    advice = rule.remediation if table is None or isinstance(table, Table) else rule.remediation.partition(LIVE)[0]
    days = placed.recovery_days(table) if isinstance(table, Table) else placed.policy.recovery_days
    words: Mapping[str, object] = {"table": name, "stack": placed.name, "region": placed.region, "days": days}
    return Finding(
        rule=rule,
        outcome=said.outcome,
        detail=said.detail,
        table=name,
        stack=placed.name,
        environment=placed.env.label,
        source=source,
        where=where,
        fix=advice.format(**words) if said.outcome in ACTIONABLE else "",
        untouchable=table is not None and untouchable(table, placed),
    )


def outside(
    rule: Rule,
    said: Verdict,
    name: str | None,
    where: str,
    stack: str = "no stack",
    environment: str | None = None,
    source: Source = Source.LIVE,
    words: Mapping[str, str | None] | None = None,
) -> Finding:
    """A verdict about what no declaration may have; ``words`` are those of the remediation, if they are others."""
    return Finding(
        rule=rule,
        outcome=said.outcome,
        detail=said.detail,
        table=name,
        stack=stack,
        environment=environment,
        source=source,
        where=where,
        fix=rule.remediation.format(**(words or {"table": name, "stack": stack})) if said.outcome in ACTIONABLE else "",
    )


def _undeclared(rule: Rule, said: Verdict, stranger: Stranger) -> Finding:
    stack, placed, where = stranger.stack, stranger.placed, stranger.where
    known = stranger.name if isinstance(stranger.name, str) else None
    words = {"table": known or where, "stack": stack.id, "region": stack.region}
    return outside(rule, said, known, where, placed.name, placed.env.label, stack.source, words)


def untouchable(table: Table | Store, placed: Placed) -> bool:
    """Whether protection may never be waived: personal durable data in production."""
    return table.data is Data.PERSONAL and isinstance(table.lifetime, Durable) and placed.env.tier is Tier.PROD


def _in_the_same_place(stack: StackSeen, placed: Placed) -> bool:
    """Whether two stacks may meet: in one region of one account, as far as either says."""
    return stack.region in (None, placed.region) and (
        None in (stack.account, placed.account) or stack.account == placed.account
    )
