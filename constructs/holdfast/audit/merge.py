"""Declared, deployed and live side by side: one finding for each rule and each table or store. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from holdfast.audit.ages import Ages
from holdfast.audit.remedy import remediation, stackless
from holdfast.audit.seen import NOT_APPLIED, UNREADABLE, UNSEEN, Column, Seen, word
from holdfast.estate.placement import Placed
from holdfast.kinds.table.declaration import Table
from holdfast.model.facts import Guard
from holdfast.rules import GUARDING, TABLE_RULES, alarms, estate
from holdfast.rules.base import Finding, Rule
from holdfast.rules.gap import Gap
from holdfast.rules.presence import NEVER_DEPLOYED
from holdfast.shared.account import StackLive, StoreSeen
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, Outcome, Verdict, fail

LAGS = "live as intended, but not in the deployed template: the next deploy or rollback works from that"
ALLOW = "Allow the audit to read it (`holdfast iam audit` prints the whole policy), or run again."
# Findings of the template side that are said of the live table, or that an account shows better.
OF_TABLES = {*TABLE_RULES, estate.ABSENT, estate.UNDECLARED}


def grouped(
    places: Sequence[Placed], deployed: Sequence[Finding], tables: Collection[str]
) -> tuple[dict[tuple[str | None, str | None, str], dict[Rule, Finding]], list[Finding]]:
    """``deployed`` by what it is about, and the rest; ``tables`` are the places of deployed tables."""
    stores = {(p.env.label, p.fill(s.name), p.name) for p in places for s in p.stores}
    names = {name for _, name, _ in stores}
    about: dict[tuple[str | None, str | None, str], dict[Rule, Finding]] = {}
    rest = []
    for f in deployed:
        key = (f.environment, f.table, f.stack)
        of_table = f.table is not None and f.table not in names and (f.where in tables or f.rule is estate.ABSENT)
        if (of_table and f.rule in OF_TABLES) or (key in stores and f.rule not in about.get(key, {})):
            about.setdefault(key, {})[f.rule] = f
        else:
            rest.append(f)
    return about, rest


def merged(s: Seen) -> Iterator[Finding]:
    """Every rule about one table or store: what is live decides, the deployed template says how it came about."""
    if isinstance(s.what, Table):
        yield from (_of_table(s, rule, *columns) for rule, columns in s.columns.items())
        return
    if s.found.asked and s.live is None:
        return  # that it is not there is one finding and not twenty
    rest = {rule: f for rule, f in s.then.items() if rule is not estate.ABSENT}
    for rule, (then, there) in s.columns.items():
        if isinstance(there, Verdict) and (rule in rest or isinstance(s.live, StoreSeen)):
            yield _of_store(s, rule, then, there, rest.pop(rule, None))
    yield from (dated(f, s.placed, s.stack, s.ages) for f in rest.values())


def _of_table(s: Seen, rule: Rule, then: Column, there: Column) -> Finding:
    if s.live is None or (isinstance(s.live, Unknown) and isinstance(there, Verdict)):
        return s.finding(rule, EXEMPT)  # that it is not there, or cannot be read, is one finding and not twenty
    if isinstance(there, str):
        return _kept(s, rule, then, there)
    if there.outcome is not Outcome.FAIL:  # what its template lacks is one finding, of all rules together
        return s.finding(rule, there)
    if rule is alarms.THRESHOLDS and s.unwatched:
        return s.finding(rule, EXEMPT)  # that alarms are missing is one finding, and how those are set up is none
    return _apart(s, rule, then, there, there)


def _kept(s: Seen, rule: Rule, then: Column, there: str) -> Finding:
    """What templates alone say of a table."""
    if isinstance(then, Verdict):
        return _apart(s, rule, then, there, then) if then.outcome is Outcome.FAIL else s.finding(rule, then)
    keeps = s.deployed is None and rule.guard is Guard.RETAIN and Guard.RETAIN in s.placed.required(s.what)
    if not keeps or isinstance(s.live, Unknown):
        return s.finding(rule, EXEMPT)
    outside = f"it is {then}, so the template of {s.placed.name} does not keep it: {stackless(s)}"
    return _apart(s, rule, then, there, fail(outside))


def _of_store(s: Seen, rule: Rule, then: Column, there: Verdict, found: Finding | None) -> Finding:
    """The worse of the two; where both are well, what is live."""
    if isinstance(s.live, Unknown) and found is not None:
        if found.outcome is not Outcome.PASS:
            return dated(found, s.placed, s.stack, s.ages)
        detail = f"the live store cannot be read: {s.live.reason}"
        return replace(found, outcome=Outcome.UNKNOWN, detail=detail, fix=ALLOW)
    if there.outcome is Outcome.FAIL:
        return _apart(s, rule, then, there, there)
    if found is not None and found.outcome is Outcome.FAIL:
        return replace(found, gap=_gap(s, rule, LAGS, then, there))
    if found is not None and found.outcome is Outcome.UNKNOWN and there.outcome is not Outcome.UNKNOWN:
        return found
    return s.finding(rule, there)


def _apart(s: Seen, rule: Rule, then: Column, there: Column, verdict: Verdict) -> Finding:
    """A failure, with where intent, deployed and live part, and what to do about it."""
    says, found = _says(then), s.finding(rule, verdict)
    return replace(found, gap=_gap(s, rule, says, then, there), fix=remediation(s, rule, found.fix, says))


def _says(then: Column) -> str:
    """How it came about that something is not live."""
    if isinstance(then, str):
        return f"intended, {then}"
    return {Outcome.FAIL: NEVER_DEPLOYED, Outcome.UNKNOWN: UNREADABLE}.get(then.outcome, NOT_APPLIED)


def _gap(s: Seen, rule: Rule, says: str, then: Column, there: Column) -> Gap:
    return s.ages.gap(
        rule,
        s.placed.id,
        s.name,
        s.stack,
        says=says,
        deployed=word(then),
        live=word(there),
        intent="on" if isinstance(s.what, Table) and rule in GUARDING.values() else "as declared",
        by_hand=says == NOT_APPLIED,
    )


def dated(found: Finding, placed: Placed | None, stack: StackLive | Unknown | None, ages: Ages) -> Finding:
    """What the template of a stack lacks, with the time since the stack could have got it."""
    if found.outcome is not Outcome.FAIL or not isinstance(stack, StackLive):
        return found
    says, contract = "intended, not in the deployed stack", placed.id if placed else found.stack
    gap = ages.gap(found.rule, contract, found.table, stack, says=says, deployed="off", live=UNSEEN)
    return replace(found, gap=gap)
