"""What an audit says of tables alone: their template, their successors, their indexes, their twins. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from holdfast.audit.places import find, here
from holdfast.audit.remedy import advised, first, stackless
from holdfast.audit.seen import Seen
from holdfast.cfn.template import Source
from holdfast.days import days
from holdfast.estate.estate import Estate
from holdfast.estate.placement import Placed
from holdfast.estate.stack import Stack
from holdfast.kinds.table.declaration import Table
from holdfast.kinds.table.live import observed
from holdfast.model.declaration import DeclarationError
from holdfast.model.environment import Environment
from holdfast.model.facts import Fact, Guard
from holdfast.rules import assumed, engine, live
from holdfast.rules.base import Finding, Rule
from holdfast.rules.live_subjects import AssumedFact, LiveIndex, LiveTable, Twins
from holdfast.rules.subjects import Subject
from holdfast.shared.account import Account, IndexUse, StoreSeen
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome, Verdict


def judged(s: Seen, by_name: Mapping[tuple[Environment, str], Seen]) -> Iterator[Finding]:
    """What beyond the common rules is said of a live table."""
    if not isinstance(s.live, StoreSeen) or not isinstance(s.what, Table):
        return
    command, against = s.way.command, first(s.way.against(s.name))
    level = s.way.advised(f"{command} brings the template up to what the code says and the table already is")
    new = by_name.get((s.placed.env, s.placed.fill(s.what.state.replaced_by or "")))
    table = LiveTable(
        placed=s.placed,
        about=s.what,
        live=s.live,
        then=_then(s),
        outside=stackless(s),
        successor=new.live if new else None,
    )
    yield advised(_judged(live.BEHIND, table, Source.DEPLOYED), against or level)
    if s.deployed is not None or Guard.RETAIN not in s.placed.required(s.what):  # else the rule of that guard says so
        yield advised(_judged(live.STACKLESS, table), against)
    yield _judged(live.RETIRING, table)
    yield _judged(live.SUPERSEDED, table)
    age = None if isinstance(s.live.created, Unknown) else days(s.live.created, s.ages.now)
    uses: Mapping[str, IndexUse | Unknown]
    uses = {"": s.live.indexes} if isinstance(s.live.indexes, Unknown) else s.live.indexes
    for name, use in uses.items():
        index = LiveIndex(placed=s.placed, about=s.what, live=s.live, days_old=age, name=name, use=use, of=len(uses))
        yield _judged(live.INDEX, index)


def _judged(rule: Rule, subject: Subject, source: Source = Source.LIVE) -> Finding:
    return engine.of(rule, engine.verdict(rule, subject), subject, source)


def _then(s: Seen) -> tuple[Verdict, ...] | Unknown | None:
    """What is said of the deployed template by the rules that the live table keeps."""
    if s.deployed is None or isinstance(s.deployed, Unknown):
        return s.deployed
    fine = (Outcome.PASS, Outcome.EXEMPT)
    both = ((then, there) for then, there in s.columns.values() if isinstance(then, Verdict))
    return tuple(then for then, there in both if isinstance(there, Verdict) and there.outcome in fine)


# What was assumed


def corrected(placed: Placed, accounts: Sequence[Account]) -> Placed:
    """``placed`` with what live tables say of facts that were only assumed; those have a rule of their own."""
    tables = []
    for table in placed.stack.tables:
        seen = find(accounts, placed, table).live if table in placed.tables else None
        tables.append(assumed.corrected(placed, table, observed(seen)) if isinstance(seen, StoreSeen) else table)
    try:
        return replace(placed, stack=replace(placed.stack, tables=tuple(tables)))
    except DeclarationError:
        return placed  # an access pattern wants what was assumed: then every rule may say so


def assumptions(placed: Placed, estate: Estate, accounts: Sequence[Account]) -> Iterator[Finding]:
    before = replace(placed, stack=original(placed, estate))
    for table in before.tables:
        seen = find(accounts, placed, table).live
        if isinstance(seen, StoreSeen):
            for assumption in before.assumptions(table):
                if assumption.assumed.fact is not Fact.OWNER:  # an account does not show who owns a table
                    fact = AssumedFact(before, table, assumption, observed(seen), seen.arn)
                    yield _judged(assumed.ASSUMED, fact)


def original(placed: Placed, estate: Estate) -> Stack:
    """A stack as the code declares it, before live tables corrected what was assumed."""
    return next(s for s in estate.stacks if s.id == placed.stack.id and s.system == placed.stack.system)


# The same table in another environment


def twins(every: Sequence[Placed], accounts: Sequence[Account]) -> Iterator[Finding]:
    """Two environments' copies of one declaration, where both are live."""
    for stack in dict.fromkeys(p.stack.id for p in every):
        one, *others = [p for p in every if p.stack.id == stack]
        for two in others:
            for table in (t for t in one.tables if t in two.tables):
                here_, there = (find([a for a in accounts if here(a, p)], p, table).live for p in (one, two))
                if isinstance(here_, StoreSeen) and isinstance(there, StoreSeen):
                    both = Twins(
                        placed=one, beside=two, about=table, one=observed(here_), other=observed(there), where=here_.arn
                    )
                    yield _judged(live.TWINS, both)
