"""The rules, and the one function that judges an estate by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date

from holdfast.catalog import Placed, placements
from holdfast.intrinsics import Unknown
from holdfast.keys import keeps_key
from holdfast.model import Data, DeclarationError, Durable, Environment, Stack, Table, Tier, Waiver
from holdfast.observed import GLOBAL_TABLE, Observed, ObservedKey
from holdfast.rules import estate, live, protection, resources, schema, shape, stores
from holdfast.rules.base import Finding, Outcome, Rule, Source, Subject, Verdict, fail, guarded, unknown
from holdfast.rules.store_applications import used_as_declared
from holdfast.rules.store_backups import kept
from holdfast.rules.store_jobs import modest_policy, modest_role
from holdfast.rules.store_network import INGRESS, isolated, no_ranges
from holdfast.rules.store_shapes import LEADING, MEMBER, SHAPES, as_made, foreign_types
from holdfast.rules.store_subject import GROUP, StoreSubject, cluster_of, find, identified, is_member, strangers
from holdfast.rules.waivers import waived
from holdfast.stores import Store
from holdfast.template import StackSeen, observe, observe_key

TABLE_RULES: tuple[Rule, ...] = (*protection.RULES, *shape.RULES, estate.ALARMS, estate.SOUNDING, estate.THRESHOLDS)
RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            *protection.RULES,
            *shape.RULES,
            *estate.RULES,
            *resources.RULES,
            *schema.RULES,
            *stores.RULES,
            *live.RULES,
        ),
        key=lambda r: r.id,
    )
)
BY_ID = {rule.id: rule for rule in RULES}
WARN_DAYS = 30
TELLING = frozenset({Outcome.FAIL, Outcome.UNKNOWN})  # what somebody has to do something about


def judge(
    stacks: Iterable[Stack],
    seen: Sequence[StackSeen],
    environments: Iterable[Environment],
    *,
    today: date,
) -> list[Finding]:
    """Every verdict about every declared table of ``environments`` and about everything else that ``seen`` shows."""
    places = placements(stacks, environments)
    return excused(verdicts(places, seen), places, today)


def excused(findings: Iterable[Finding], places: Sequence[Placed], today: date) -> list[Finding]:
    """``findings``, exempt where a waiver of the table or store holds."""
    waivers = {p.fill(t.name): t.waivers for p in places for t in (*p.tables, *p.stores) if t.waivers}
    return [waived(f, waivers.get(f.table or "", ()), today) for f in findings]


def verdicts(places: Sequence[Placed], seen: Sequence[StackSeen]) -> list[Finding]:
    """What the rules say of templates, before any waiver."""
    source = next((s.source for s in seen), Source.TEMPLATE)
    return [f if f.source is source else replace(f, source=source) for f in _judge(places, seen)]


def _judge(places: Sequence[Placed], seen: Sequence[StackSeen]) -> Iterator[Finding]:
    shown = {s.id: s for s in seen}
    observed = {s.id: list(observe(s)) for s in seen}
    matched: set[str] = set()
    stores_matched: dict[str, dict[str, Store]] = {}
    for placed in places:
        stack = shown.get(placed.id)
        found_stores = stores_matched.setdefault(placed.id, {})
        for store in placed.stores:
            yield from _store(placed, store, stack, found_stores)
        for table in placed.tables:
            for found in _table(placed, table, stack, observed, shown):
                matched.add(found.where)
                yield found
        if stack:
            yield from _stack(placed, stack, observed[stack.id])
            if placed.stores:
                yield from _beside(placed, stack, found_stores)
    declared = {p.id: p for p in places}
    for stack in seen:
        for table_seen in observed[stack.id]:
            if table_seen.where not in matched:
                yield _stranger(stack, table_seen, declared.get(stack.id))
        for logical_id in strangers(stack, declared.get(stack.id), stores_matched.get(stack.id, {})):
            yield _strange_store(stack, logical_id, declared.get(stack.id))


def _store(placed: Placed, store: Store, stack: StackSeen | None, matched: dict[str, Store]) -> Iterator[Finding]:
    """Findings about one declared store that is no table."""
    found = find(stack, placed, store) if stack else None
    if stack is None or not isinstance(found, str):
        if isinstance(found, Unknown):
            verdict = unknown(found.reason)
        else:
            verdict = fail(f"it is not in {placed.id}" if stack else f"its stack {placed.id} is not there")
        yield finding(stores.ABSENT, verdict, placed, store, stack.where if stack else placed.id)
        return
    matched[found] = store
    subject = StoreSubject(placed, store, placed.required(store), stack, found)
    for rule in stores.STORE_RULES:
        assert rule.check
        yield finding(rule, guarded(rule.check, subject), placed, store, stack.at(found))


def _table(
    placed: Placed,
    table: Table,
    stack: StackSeen | None,
    observed: dict[str, list[Observed]],
    shown: dict[str, StackSeen],
) -> Iterator[Finding]:
    """Findings about one declared table, each at the place of the observation it is about."""
    name = placed.fill(table.name)
    same = [
        o
        for stack_id, tables in observed.items()
        for o in tables
        if o.name == name and (stack_id == placed.id or shown[stack_id].region in (None, placed.region))
    ]
    own = [o for o in same if o.stack == placed.id]
    if not own and stack:
        # Renamed under its logical id: the same resource, another table.
        own = [o for o in observed[stack.id] if _logical_id(o).startswith(f"{table.id}Table") and o not in same]
    if others := [o for o in same if o.stack != placed.id] or same[1:]:
        verdict = fail(f"it also stands in {', '.join(o.where for o in others)}")
        for other in others:
            yield finding(estate.TWICE, verdict, placed, table, other.where)
    if not own:
        where = stack.where if stack else placed.id
        yield finding(estate.ABSENT, _absent(placed, stack, observed), placed, table, where)
        return
    table_seen = own[0]
    if table_seen.type == GLOBAL_TABLE:
        verdict = fail("it is an AWS::DynamoDB::GlobalTable, declared is AWS::DynamoDB::Table")
        yield finding(estate.GLOBAL, verdict, placed, table, table_seen.where)
        return
    subject = Subject(placed, table, placed.required(table), table_seen)
    for rule in TABLE_RULES:
        yield finding(rule, checked(rule, subject), placed, table, table_seen.where)


def _absent(placed: Placed, stack: StackSeen | None, observed: dict[str, list[Observed]]) -> Verdict:
    if stack is None:
        return fail(f"its stack {placed.id} is not there")
    nameless = [o for o in observed[stack.id] if isinstance(o.name, Unknown)]
    if nameless:
        return unknown(f"it may be {nameless[0].where}, whose name cannot be read")
    return fail(f"it is not in {placed.id}")


def _stack(placed: Placed, stack: StackSeen, tables: list[Observed]) -> Iterator[Finding]:
    """Findings about the stack itself and what stands beside its tables."""
    yield finding(estate.TERMINATION, estate.terminable(placed.env.tier, stack.protected), placed, None, stack.where)
    yield finding(estate.PLACE, estate.in_place(placed, stack), placed, None, stack.where)
    for logical_id, _ in stack.resources("AWS::CloudFormation::Stack"):
        yield finding(estate.NESTED, unknown("it was not read"), placed, None, stack.at(logical_id))
    names = {placed.fill(t.name): t for t in placed.tables}
    for metric in stack.alarm_metrics:
        table = names.get(metric.table) if isinstance(metric.table, str) else None
        yield finding(estate.DEAF, guarded(estate.deaf, metric), placed, table, metric.where)
    used = {o.encryption.where for o in tables if isinstance(o.encryption, ObservedKey)}
    for logical_id, resource in stack.possible("AWS::KMS::Key"):
        key = observe_key(stack, logical_id)
        if isinstance(key, ObservedKey) and key.where not in used:
            if keeps_key(placed):
                yield finding(BY_ID["HF012"], guarded(kept, stack, resource), placed, None, key.where)
            yield finding(BY_ID["HF008"], guarded(protection.rotation, key), placed, None, key.where)
            yield finding(BY_ID["HF009"], guarded(protection.open_policy, key), placed, None, key.where)
            yield finding(BY_ID["HF014"], guarded(protection.declared_key, key, placed), placed, None, key.where)
    for kind in (GROUP, INGRESS):
        for logical_id, _ in stack.possible(kind):
            yield finding(stores.RANGES, guarded(no_ranges, stack, logical_id), placed, None, stack.at(logical_id))
    for rule, present in resources.demanded(stack, placed):
        yield finding(rule, present, placed, None, stack.where)
    for kind, rule, check in resources.RULES_BY_TYPE:
        for logical_id, resource in stack.possible(kind):
            yield finding(rule, guarded(check, stack, resource), placed, None, stack.at(logical_id))
    for processor in placed.stack.processors:
        table = names.get(placed.fill(processor.table))
        for rule, ask in ((resources.CONSUMER, resources.consumed), (resources.WATCHED, resources.watched)):
            yield finding(rule, guarded(ask, stack, placed, processor), placed, table, stack.where)


def _beside(placed: Placed, stack: StackSeen, found: dict[str, Store]) -> Iterator[Finding]:
    """Findings about what the constructs of stores bring along, and about what they never would."""
    for rule, ask in ((stores.NETWORK, isolated), (stores.USED, used_as_declared)):
        yield finding(rule, guarded(ask, stack, placed), placed, None, stack.where)
    for logical_id in foreign_types(stack, LEADING):
        kind = stack.template["Resources"][logical_id]["Type"]
        yield finding(stores.WAYS, fail(f"no construct makes an {kind}"), placed, None, stack.at(logical_id))
    for kind, check in (("AWS::IAM::Role", modest_role), ("AWS::IAM::ManagedPolicy", modest_policy)):
        for logical_id, resource in stack.possible(kind):
            yield finding(stores.ROLES, guarded(check, stack, resource), placed, None, stack.at(logical_id))
    for kind in SHAPES:
        for logical_id, _ in stack.possible(kind):
            shape = MEMBER if is_member(stack, logical_id) else kind
            verdict = guarded(as_made, stack, logical_id, shape)
            owner = found.get(cluster_of(stack, logical_id) or logical_id)
            yield finding(stores.SETTINGS, verdict, placed, owner, stack.at(logical_id))


def _stranger(stack: StackSeen, seen: Observed, placed: Placed | None) -> Finding:
    if isinstance(seen.name, Unknown):
        rule, verdict, name = estate.NAMELESS, unknown(f"{seen.where}: {seen.name.reason}"), None
    else:
        rule, verdict, name = estate.UNDECLARED, fail(f"{seen.where} is declared nowhere"), seen.name
    return _undeclared(rule, verdict, name, stack, placed, seen.where)


def _strange_store(stack: StackSeen, logical_id: str, placed: Placed | None) -> Finding:
    where, name = stack.at(logical_id), identified(stack, logical_id)
    known = name if isinstance(name, str) else logical_id
    return _undeclared(stores.UNDECLARED, fail(f"{where} is declared nowhere"), known, stack, placed, where)


def _undeclared(
    rule: Rule, verdict: Verdict, name: str | None, stack: StackSeen, placed: Placed | None, where: str
) -> Finding:
    return Finding(
        rule=rule,
        outcome=verdict.outcome,
        detail=verdict.detail,
        table=name,
        stack=placed.name if placed else stack.id,
        environment=placed.env.label if placed else None,
        source=stack.source,
        where=where,
        fix=rule.fix.format(table=name or where, stack=stack.id, region=stack.region),
    )


def checked(rule: Rule, subject: Subject) -> Verdict:
    assert rule.check
    return guarded(rule.check, subject)


def finding(
    rule: Rule,
    verdict: Verdict,
    placed: Placed,
    table: Table | Store | None,
    where: str,
    source: Source = Source.TEMPLATE,
) -> Finding:
    name = placed.fill(table.name) if table else None
    return Finding(
        rule=rule,
        outcome=verdict.outcome,
        detail=verdict.detail,
        table=name,
        stack=placed.name,
        environment=placed.env.label,
        source=source,
        where=where,
        fix=_fix(rule, placed, table) if verdict.outcome in TELLING else "",
        untouchable=table is not None and _untouchable(table, placed),
    )


def _fix(rule: Rule, placed: Placed, table: Table | Store | None) -> str:
    name = placed.fill(table.name) if table else None
    return rule.fix.format(table=name, stack=placed.name, region=placed.region)


def cannot_be_waived(found: Finding) -> bool:
    """Whether a failure is one that nobody may waive or acknowledge."""
    return not found.rule.waivable and found.untouchable


def check_waivers(stacks: Iterable[Stack]) -> None:
    """Refuses waivers of rules that do not exist, and of what nobody may waive."""
    for placed in placements(stacks):
        for table in (*placed.tables, *placed.stores):
            for waiver in table.waivers:
                if waiver.rule not in BY_ID:
                    raise DeclarationError(
                        f"table {table.name}: waiver of unknown rule {waiver.rule}; see docs/rules.md"
                    )
                if not BY_ID[waiver.rule].waivable and _untouchable(table, placed):
                    raise DeclarationError(
                        f"table {table.name}: {waiver.rule} cannot be waived for personal durable data in "
                        f"{placed.env.label}; fix what it finds"
                    )


def expiring(stacks: Iterable[Stack], today: date) -> Iterator[tuple[Table | Store, Waiver, int]]:
    """Waivers that end within thirty days, with the days that are left."""
    for stack in stacks:
        for table in (*stack.tables, *stack.stores):
            for waiver in table.waivers:
                if waiver.expires and 0 <= (left := (waiver.expires - today).days) <= WARN_DAYS:
                    yield table, waiver, left


def _untouchable(table: Table | Store, placed: Placed) -> bool:
    return table.data is Data.PERSONAL and isinstance(table.lifetime, Durable) and placed.env.tier is Tier.PROD


def _logical_id(seen: Observed) -> str:
    return seen.where.rpartition("#")[2]
