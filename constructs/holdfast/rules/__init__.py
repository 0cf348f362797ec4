"""The rules, and the one function that judges an estate by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date

from holdfast.cfn.template import Source, StackSeen
from holdfast.estate.estate import Estate
from holdfast.estate.placement import Placed
from holdfast.garbage import uncollected
from holdfast.kinds.base import StoreSubject
from holdfast.kinds.table.declaration import Table
from holdfast.model.declaration import DeclarationError, declared_at
from holdfast.model.environment import Environment
from holdfast.model.facts import Guard, Waiver
from holdfast.model.store import Store
from holdfast.rules import (
    alarms,
    assumed,
    backups,
    connections,
    contract,
    engines,
    estate,
    live,
    logs,
    mentions,
    network,
    presence,
    protection,
    resources,
    roles,
    schema,
    shape,
    strangers,
    types,
    use,
    waivers,
)
from holdfast.rules.base import Finding, Rule
from holdfast.rules.engine import ACTIONABLE, finding, run, untouchable
from holdfast.rules.former import counting, current
from holdfast.rules.subjects import KeySubject, TableSubject
from holdfast.rules.waivers import standing, waived

__all__ = [
    "ACTIONABLE",
    "BY_ID",
    "GUARDING",
    "KEY_RULES",
    "POLICY",
    "RULES",
    "STORE_RULES",
    "TABLE_RULES",
    "excused",
    "finding",
    "judge",
    "standing",
    "verdicts",
]

FAMILIES = (
    *(protection, shape, estate, alarms, resources, schema, contract, waivers),
    *(presence, live, use, assumed, strangers, mentions),
    *(connections, network, engines, logs, backups, roles, types),
)
RULES: tuple[Rule, ...] = tuple(sorted((rule for family in FAMILIES for rule in family.RULES), key=lambda r: r.id))
POLICY = tuple(rule for rule in RULES if not rule.audited)  # what a template has to keep, whatever the contract says
BY_ID = {rule.id: rule for rule in RULES}
TABLE_RULES, STORE_RULES, KEY_RULES = (
    tuple(rule for rule in RULES if any(check.of is subject for check in rule.checks))
    for subject in (TableSubject, StoreSubject, KeySubject)
)
# The rule that stands for each guard, where one has to be named.
GUARDING = {guard: next(rule for rule in TABLE_RULES if rule.guard is guard) for guard in Guard}
WARN_DAYS = 30


def judge(
    estate: Estate,
    seen: Sequence[StackSeen],
    environments: Iterable[Environment],
    *,
    today: date,
) -> list[Finding]:
    """Every verdict about every declared table of ``environments`` and about everything else that ``seen`` shows."""
    places = estate.placements(environments)
    with uncollected():
        return [*excused(verdicts(places, seen, POLICY), places, today), *standing(places, today)]


def excused(findings: Iterable[Finding], places: Sequence[Placed], today: date) -> list[Finding]:
    """``findings``, exempt where a waiver of the table or store holds in that environment."""
    # By stack, too: a table of the same name elsewhere is another one.
    known = {
        (p.env.label, p.name, p.fill(t.name)): (p.env, [counting(w, isinstance(t, Table)) for w in t.waivers])
        for p in places
        for t in (*p.tables, *p.stores)
        if t.waivers
    }
    found = []
    for f in findings:
        env, mine = known.get((f.environment or "", f.stack, f.table or ""), (None, ()))
        found.append(waived(f, mine, (env,), today) if env and not cannot_be_waived(f) else f)
    return found


def verdicts(places: Sequence[Placed], seen: Sequence[StackSeen], rules: Sequence[Rule] = RULES) -> list[Finding]:
    """What ``rules`` say of templates, before any waiver."""
    source = next((s.source for s in seen), Source.TEMPLATE)
    return [f if f.source is source else replace(f, source=source) for f in run(rules, places, seen)]


def cannot_be_waived(found: Finding) -> bool:
    """Whether a failure is one that may not be waived or acknowledged."""
    return found.rule is waivers.CURRENT or (not found.rule.waivable and found.untouchable)


def check_waivers(estate: Estate) -> None:
    """Refuses waivers of rules that do not exist, and of what may not be waived."""
    for placed in estate.placements():
        for table in (*placed.tables, *placed.stores):
            for waiver in table.waivers:
                rule = BY_ID.get(current(waiver.rule))
                if rule is None:
                    said = f"{table.name}: waiver of unknown rule {waiver.rule}; see docs/rules.md"
                    raise DeclarationError(said, declared_at(waiver))
                if rule is waivers.CURRENT:
                    said = f"{table.name}: {rule.id} is about waivers, and cannot be waived"
                    raise DeclarationError(said, declared_at(waiver))
                if waiver.environment == placed.env and not rule.waivable and untouchable(table, placed):
                    raise DeclarationError(
                        f"{table.name}: {waiver.rule} cannot be waived for personal durable data in "
                        f"{placed.env.label}; fix what it finds",
                        declared_at(waiver),
                    )


def expiring(estate: Estate, today: date) -> Iterator[tuple[Table | Store, Waiver, int]]:
    """Waivers that end within thirty days, with the days that are left."""
    for stack in estate.stacks:
        for table in (*stack.tables, *stack.stores):
            for waiver in table.waivers:
                if 0 <= (left := (waiver.expires - today).days) <= WARN_DAYS:
                    yield table, waiver, left
