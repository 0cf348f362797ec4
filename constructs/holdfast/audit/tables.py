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
from holdfast.model.facts import Guard
from holdfast.rules import finding, live
from holdfast.rules.base import Finding
from holdfast.shared.account import Account, StoreSeen
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Outcome, Verdict, fail, unknown


def judged(s: Seen, by_name: Mapping[tuple[Environment, str], Seen]) -> Iterator[Finding]:
    """What beyond the common rules is said of a live table."""
    if not isinstance(s.live, StoreSeen) or not isinstance(s.what, Table):
        return
    level = s.way.advised(f"{s.way.command} brings the template up to what the code says and the table already is")
    against = first(s.way.against(s.name))
    yield advised(s.finding(live.BEHIND, _behind(s), Source.DEPLOYED), against or level)
    if s.deployed is not None or Guard.RETAIN not in s.placed.required(s.what):
        yield advised(s.finding(live.STACKLESS, fail(stackless(s)) if s.deployed is None else PASS), against)
    yield s.finding(live.RETIRING, live.retiring(s.placed, s.what, s.live))
    new = by_name.get((s.placed.env, s.placed.fill(s.what.state.replaced_by or "")))
    yield s.finding(live.SUPERSEDED, live.superseded(s.placed, s.what, s.live, new.live if new else None))
    age = None if isinstance(s.live.created, Unknown) else days(s.live.created, s.ages.now)
    if isinstance(s.live.indexes, Unknown):
        yield s.finding(live.INDEX, unknown(f"indexes cannot be read: {s.live.indexes.reason}"))
        return
    for name, use in s.live.indexes.items():
        verdict = live.index_value(name, use, s.live, of=len(s.live.indexes), days_old=age)
        yield replace(s.finding(live.INDEX, verdict), where=f"{s.live.arn}/index/{name}")


def _behind(s: Seen) -> Verdict:
    """Whether the template lags behind a table that is as intended."""
    if s.deployed is None:
        return EXEMPT
    if isinstance(s.deployed, Unknown):
        return unknown(f"what is deployed cannot be read: {s.deployed.reason}")
    said: dict[Outcome, list[str]] = {outcome: [] for outcome in Outcome}
    for then, there in s.columns.values():
        if isinstance(then, Verdict) and isinstance(there, Verdict) and there.outcome in (Outcome.PASS, Outcome.EXEMPT):
            said[then.outcome].append(then.detail)
    if said[Outcome.FAIL]:
        return fail(f"live as intended, but in the deployed template {'; '.join(said[Outcome.FAIL])}")
    return unknown("; ".join(said[Outcome.UNKNOWN])) if said[Outcome.UNKNOWN] else PASS


# What was assumed


def corrected(placed: Placed, accounts: Sequence[Account]) -> Placed:
    """``placed`` with what live tables say of facts that were only assumed; those have a rule of their own."""
    tables = []
    for table in placed.stack.tables:
        seen = find(accounts, placed, table).live if table in placed.tables else None
        tables.append(live.corrected(placed, table, observed(seen)) if isinstance(seen, StoreSeen) else table)
    try:
        return replace(placed, stack=replace(placed.stack, tables=tuple(tables)))
    except DeclarationError:
        return placed  # an access pattern wants what was assumed: then every rule may say so


def assumptions(placed: Placed, estate: Estate, accounts: Sequence[Account]) -> Iterator[Finding]:
    before = replace(placed, stack=original(placed, estate))
    for table in before.tables:
        seen = find(accounts, placed, table).live
        if isinstance(seen, StoreSeen):
            for assumption, verdict in live.confirm(before, table, observed(seen)):
                where = "/".join(filter(None, (seen.arn, assumption.assumed.fact.value, assumption.index)))
                yield finding(live.ASSUMED, verdict, before, table, where, Source.LIVE)


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
                first_, second = (find([a for a in accounts if here(a, p)], p, table).live for p in (one, two))
                if isinstance(first_, StoreSeen) and isinstance(second, StoreSeen):
                    allowed = {*one.env.differs, *two.env.differs}
                    labels = _label(one, two), _label(two, one)
                    verdict = live.twins(observed(first_), observed(second), labels, allowed)
                    yield finding(live.TWINS, verdict, one, table, first_.arn, Source.LIVE)


def _label(placed: Placed, beside: Placed) -> str:
    return placed.env.label if placed.env != beside.env else f"{placed.env.label} ({placed.place})"
