"""The audit: intent, deployed template and what is live side by side, by the rules of the template side. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from holdfast.audit import advice, tables
from holdfast.audit.ages import UNREAD, Ages
from holdfast.audit.mentions import judged as judged_mentions
from holdfast.audit.merge import dated, grouped, merged
from holdfast.audit.places import find, holds, homes, settled, strays, template_of, templates, was_read
from holdfast.audit.presence import deployed, present
from holdfast.audit.remedy import advised, first
from holdfast.audit.rows import Row, StackRow, row, running
from holdfast.audit.seen import Seen
from holdfast.audit.strangers import misplaced, not_read, strangers, unreadable
from holdfast.cfn.template import Source
from holdfast.contract.history import History
from holdfast.days import day
from holdfast.estate.estate import Estate
from holdfast.estate.placement import Placed
from holdfast.kinds.table.declaration import Table
from holdfast.kinds.table.template import observe
from holdfast.model.environment import Environment
from holdfast.model.located import Declaration
from holdfast.model.regions import others
from holdfast.rules import KEY_RULES, engine, excused, network, standing, verdicts
from holdfast.rules import estate as estate_rules
from holdfast.rules.base import Finding, Rule
from holdfast.rules.subjects import KeySubject, Resource
from holdfast.shared.account import Account, Mention, stack_of
from holdfast.shared.key.observed import ObservedKey
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Every verdict, and the three columns of every declared table, as they were at one moment."""

    findings: list[Finding]
    rows: list[Row]
    at: datetime
    read: tuple[tuple[str, str], ...] = ()  # accounts and regions
    history: History | Unknown = UNREAD  # of the contracts that were compared with
    stacks: tuple[StackRow, ...] = ()
    ways: tuple[advice.Way, ...] = ()  # what a deploy of each declared stack would meet
    elsewhere: tuple[str, ...] = ()  # regions that were not read, and in which nothing that was asked for is declared


def audit(
    estate: Estate,
    accounts: Sequence[Account],
    environments: Iterable[Environment],
    *,
    now: datetime,
    declared: Mapping[str, Declaration] | None = None,
    mentions: Sequence[Mention] = (),
    history: History | Unknown = UNREAD,
) -> Audit:
    """Every verdict about ``environments`` in ``accounts``; ``mentions`` are lines of code that name tables."""
    declared, ages = declared or {}, Ages(now=now, history=history)
    accounts = [settled(a) for a in accounts]
    read = tuple(dict.fromkeys((a.id, a.region) for a in accounts))
    every = [p for p in estate.placements() if was_read(p, read)]
    wanted = tuple(environments)
    asked = [p for p in every if p.env in wanted]
    places: list[Placed] = []
    rows: list[Row] = []
    findings: list[Finding] = []
    ways: list[advice.Way] = []
    for home, there in homes(asked, accounts):
        seen, rest, deploys = _home(there, home, accounts, ages)
        by_name = {(s.placed.env, s.name): s for s in seen if isinstance(s.what, Table)}
        for s in seen:
            findings += [present(s), *merged(s), *tables.judged(s, by_name)]
        rows += [row(s) for s in by_name.values()]
        findings += rest
        ways += deploys
        places += there
    findings += [*strangers(every, accounts, estate.foreign), *misplaced(estate, accounts)]
    findings += not_read(estate, wanted, read)
    findings += judged_mentions(every, accounts, mentions, estate)
    findings += tables.twins(every, accounts) if len({p.env for p in places}) > 1 else []
    findings += unreadable(accounts)
    findings = [*excused(findings, places, day(now)), *standing(asked, day(now))]
    at = {p.fill(t.name): declared[t.name].where for p in places for t in (*p.tables, *p.stores) if t.name in declared}
    return Audit(
        findings=[replace(f, declared=at[f.table]) if f.table in at else f for f in findings],
        rows=rows,
        at=now,
        read=read,
        history=history,
        stacks=() if isinstance(history, Unknown) else tuple(running(asked, accounts, ages)),
        ways=tuple(ways),
        elsewhere=others({p.region for p in estate.placements(wanted)} | {region for _, region in read}),
    )


def _home(
    places: Sequence[Placed], accounts: Sequence[Account], everywhere: Sequence[Account], ages: Ages
) -> tuple[list[Seen], list[Finding], Iterable[advice.Way]]:
    """What one account shows of the stacks that it has: each table and store, findings about everything else, ways."""
    ids = {(p.region, p.name): p.id for p in places}
    shown = [replace(s, id=ids.get((a.region, s.name or s.id), s.id)) for a, s in templates(accounts)]
    in_templates = [(a.region, t.name or t.id, o) for a, t in templates(accounts) for o in observe(t)]
    about, rest = grouped(places, verdicts(places, shown), {o.where for _, _, o in in_templates})
    owners = {(region, str(o.name)): stack for region, stack, o in in_templates}
    ways = {p.id: _way(p, accounts, owners, about) for p in places}
    elsewhere = strays(places, accounts, everywhere)
    seen = [
        Seen(
            placed=p,
            what=what,
            found=find(accounts, p, what),
            stack=stack_of(p.region, p.name, accounts),
            then=about.get((p.env.label, p.fill(what.name), p.name), {}),
            way=ways[p.id],
            ages=ages,
        )
        for p in places
        for what in (*p.tables, *p.stores)
        if p.name not in elsewhere or (isinstance(what, Table) and any(holds(a, p, what) for a in accounts))
    ]
    by_name: dict[tuple[str, str | None], Placed] = {(p.name, p.env.label): p for p in places}
    found = [f for p in places for f in tables.assumptions(p, accounts)]
    for f in rest:
        if f.stack not in elsewhere:
            placed = by_name.get((f.stack, f.environment))
            regions = {placed.region} if placed else {a.region for a in accounts}
            stacks = (stack_of(region, f.stack, accounts) for region in regions)
            stack = next((s for s in stacks if s is not None and not isinstance(s, Unknown)), None)
            found.append(dated(_kept_elsewhere(f, ways), placed, stack, ages))
    found += _beside(places, accounts)
    found += [deployed(p, accounts, ways[p.id]) for p in places]
    return seen, found, ways.values()


def _way(
    placed: Placed,
    accounts: Sequence[Account],
    owners: Mapping[tuple[str, str], str],
    about: Mapping[tuple[str | None, str | None, str], Mapping[Rule, Finding]],
) -> advice.Way:
    """What a deploy of a stack would meet."""
    names = {placed.fill(t.name): t for t in placed.tables}
    said = {name: about.get((placed.env.label, name, placed.name), {}) for name in names}
    return advice.way(
        placed,
        template_of(stack_of(placed.region, placed.name, accounts)),
        {name: find(accounts, placed, table).live for name, table in names.items()},
        {name: owner for (region, name), owner in owners.items() if region == placed.region and owner != placed.name},
        {name: [rule for rule, f in found.items() if f.outcome is Outcome.FAIL] for name, found in said.items()},
        [placed.fill(s.name) for s in placed.stores if any(holds(a, placed, s) for a in accounts)],
    )


def _kept_elsewhere(found: Finding, ways: Mapping[str, advice.Way]) -> Finding:
    """A table that another stack has, and its own does not: it cannot be kept there and dropped from the other."""
    if found.rule is not estate_rules.TWICE:
        return found
    against = (w.against(found.table) for w in ways.values() if found.table and found.table in w.taken)
    return advised(found, first(next(against, found.fix)))


def _beside(places: Sequence[Placed], accounts: Sequence[Account]) -> Iterator[Finding]:
    """What stands beside the live stores of a stack: its key, and its security groups."""
    for placed in places:
        for account in (a for a in accounts if a.stores and a.region == placed.region):
            assert account.stores
            key, groups = account.stores.keys.get(placed.id), account.stores.groups.get(placed.id)
            if isinstance(key, ObservedKey):
                subject = KeySubject(placed, key, account.id)
                for rule in (r for r in KEY_RULES if not r.only_deployed):
                    yield engine.of(rule, engine.verdict(rule, subject), subject, Source.LIVE)
            if groups is not None and not isinstance(groups, Unknown):
                for logical_id in groups.template["Resources"]:
                    group = Resource(placed, groups, logical_id)
                    yield engine.of(network.RANGES, engine.verdict(network.RANGES, group), group, Source.LIVE)
