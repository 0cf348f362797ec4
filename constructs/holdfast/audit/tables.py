"""What an audit says of tables alone: their template, their successors, their indexes, their twins. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from holdfast.audit.places import find, here
from holdfast.audit.remedy import advised, first, stackless
from holdfast.audit.seen import Seen
from holdfast.cfn.template import Source
from holdfast.days import days
from holdfast.estate import provenance
from holdfast.estate.estate import Estate
from holdfast.estate.placement import Placed
from holdfast.estate.stack import Stack
from holdfast.kinds.table.declaration import Table
from holdfast.kinds.table.live import observed
from holdfast.model.declaration import DeclarationError
from holdfast.model.environment import Environment
from holdfast.model.facts import Guard
from holdfast.rules import assumed, engine, finding, live, use
from holdfast.rules.base import Finding
from holdfast.rules.subjects import AssumedFact, LiveIndex, LiveTable, Twins
from holdfast.shared.account import Account, StoreSeen
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, Outcome, Verdict


def judged(s: Seen, by_name: Mapping[tuple[Environment, str], Seen]) -> Iterator[Finding]:
    """What beyond the common rules is said of a live table."""
    if not isinstance(s.live, StoreSeen) or not isinstance(s.what, Table):
        return
    command, against = s.way.command, first(s.way.against(s.name))
    level = s.way.advised(f"{command} brings the template up to what the code says and the table already is")
    new = by_name.get((s.placed.env, s.placed.fill(s.what.state.replaced_by or "")))
    table = LiveTable(
        placed=s.placed,
        table=s.what,
        live=s.live,
        then=_then(s),
        outside=stackless(s),
        successor=new.live if new else None,
    )
    yield advised(s.judged(live.BEHIND, table, Source.DEPLOYED), against or level)
    if s.deployed is not None or Guard.RETAIN not in s.placed.required(s.what):  # else the rule of that guard says so
        yield advised(s.judged(live.STACKLESS, table), against)
    yield s.judged(live.RETIRING, table)
    yield s.judged(use.USED, table)
    yield s.judged(live.SUPERSEDED, table)
    age, uses = None if isinstance(s.live.created, Unknown) else days(s.live.created, s.ages.now), s.live.indexes
    if isinstance(uses, Unknown):
        yield s.judged(live.INDEX, LiveIndex(live=s.live, days_old=age, name="", use=uses, of=0))
        return
    for name, held in uses.items():
        index = LiveIndex(live=s.live, days_old=age, name=name, use=held, of=len(uses))
        yield replace(s.judged(live.INDEX, index), where=f"{s.live.arn}/index/{name}")


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
            for assumption in provenance.assumptions(before, table):
                said = engine.verdict(assumed.ASSUMED, AssumedFact(table, assumption, observed(seen)))
                if said is not EXEMPT:
                    where = "/".join(filter(None, (seen.arn, assumption.fact, assumption.part)))
                    yield finding(assumed.ASSUMED, said, before, table, where, Source.LIVE)


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
                    labels, allowed = (_label(one, two), _label(two, one)), {*one.env.differs, *two.env.differs}
                    both = Twins(observed(here_), observed(there), labels, frozenset(allowed))
                    yield finding(live.TWINS, engine.verdict(live.TWINS, both), one, table, here_.arn, Source.LIVE)


def _label(placed: Placed, beside: Placed) -> str:
    return placed.env.label if placed.env != beside.env else f"{placed.env.label} ({placed.place})"
