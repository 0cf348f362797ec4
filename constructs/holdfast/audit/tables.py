"""What an audit says of tables alone: their template, their successors, their indexes, their twins. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from holdfast.audit.places import find, here, template_of
from holdfast.audit.remedy import advised, first, stackless
from holdfast.audit.seen import Seen
from holdfast.cfn.template import Source, StackSeen
from holdfast.days import days
from holdfast.estate import provenance
from holdfast.estate.placement import Placed
from holdfast.kinds.table.declaration import Table
from holdfast.kinds.table.live import observed
from holdfast.kinds.table.template import observe
from holdfast.model.environment import Environment
from holdfast.model.facts import Guard
from holdfast.rules import assumed, engine, finding, live, use
from holdfast.rules.base import Finding
from holdfast.rules.subjects import AssumedFact, LiveIndex, LiveTable, Twins
from holdfast.shared.account import Account, StoreSeen, stack_of
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
        now=s.ages.now,
    )
    yield advised(s.judged(live.BEHIND, table, Source.DEPLOYED), against or level)
    if s.deployed is not None or Guard.RETAIN not in s.placed.required(s.what):  # else the rule of that guard says so
        yield advised(s.judged(live.STACKLESS, table), against)
    yield s.judged(live.REACHES_BACK, table)
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


def assumptions(placed: Placed, accounts: Sequence[Account]) -> Iterator[Finding]:
    """What the live tables of a stack say of every fact that was assumed of them."""
    own = template_of(stack_of(placed.region, placed.name, accounts))
    then = {str(o.name): o for o in observe(own)} if isinstance(own, StackSeen) else {}
    for table in placed.tables:
        live = find(accounts, placed, table).live
        if isinstance(live, StoreSeen):
            deployed = own if isinstance(own, Unknown) else then.get(placed.fill(table.name))
            for assumption in provenance.assumptions(placed, table):
                fact = AssumedFact(table, assumption, observed(live), deployed)
                said = engine.verdict(assumed.ASSUMED, fact)
                if said is not EXEMPT:
                    where = "/".join(filter(None, (live.arn, assumption.fact, assumption.part)))
                    found = finding(assumed.ASSUMED, said, placed, table, where, Source.LIVE)
                    yield advised(found, assumed.CHANGED.format(table=found.table)) if assumed.changed(fact) else found


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
