"""Tables and stores that no declaration has, and what could not be read. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase

from holdfast.audit.places import here, templates, was_read
from holdfast.audit.remedy import name_in
from holdfast.cfn.template import Source
from holdfast.estate.estate import Estate
from holdfast.estate.placement import Placed
from holdfast.kinds.table.template import table_names
from holdfast.model.environment import Environment
from holdfast.rules import engine, finding
from holdfast.rules import strangers as rules
from holdfast.rules.base import Finding
from holdfast.rules.estate import PLACE
from holdfast.rules.subjects import LiveStranger, Tagged, Unvisited
from holdfast.shared.account import Account
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, fail

RULES = engine.Rules(rules.RULES)


def strangers(every: Sequence[Placed], accounts: Sequence[Account], foreign: Sequence[str] = ()) -> Iterator[Finding]:
    """What is live or in a template, and in no declaration; ``foreign`` are the names of other teams' tables."""
    for account in accounts:
        yield from _stores(every, account)
    for account in accounts:
        yield from _tables(every, account, foreign)


def _tables(every: Sequence[Placed], account: Account, foreign: Sequence[str]) -> Iterator[Finding]:
    """In a stack that still has them, or in none."""
    known = {p.fill(t.name) for p in every if here(account, p) for t in p.tables}
    tables = {} if isinstance(account.tables, Unknown) else account.tables
    in_template = {
        name: seen.name or seen.id
        for _, seen in templates([account])
        for _, name in table_names(seen)
        if isinstance(name, str)
    }
    for name in (*in_template, *(n for n in tables if n not in in_template)):
        if name not in known:
            others = any(fnmatchcase(name, pattern) for pattern in foreign)
            template, seen = in_template.get(name), tables.get(name)
            owner = template or (seen.owner if seen and isinstance(seen.owner, str) else "no stack")
            where, source = (seen.arn, Source.LIVE) if seen and not template else (f"{owner}/{name}", Source.DEPLOYED)
            for rule, said in RULES.judge(LiveStranger(account, seen, template, others)):
                if said is not EXEMPT:
                    yield engine.outside(rule, said, name, where, owner, source=source)


def _stores(every: Sequence[Placed], account: Account) -> Iterator[Finding]:
    """Those with all of our tags; stores of other teams are not looked at."""
    tagged = account.stores.tagged if account.stores else {}
    if isinstance(tagged, Unknown):
        return  # that it could not be read is a finding of its own
    known = {s.identifier(p.fill(s.name), p.region, account.id) for p in every if here(account, p) for s in p.stores}
    for arn, tags in tagged.items():
        if (name := name_in(arn)) not in known:
            said = engine.verdict(rules.STRANGER, Tagged(tags, every[0].policy))
            yield engine.outside(rules.STRANGER, said, name, arn)


def misplaced(estate: Estate, accounts: Sequence[Account]) -> Iterator[Finding]:
    """Stacks in an account for which they are not declared, as another one is."""
    places = estate.placements()
    for account in accounts:
        stacks = {} if isinstance(account.stacks, Unknown) else account.stacks
        meant = {p.name for p in places if here(account, p)}
        for p in places:
            if p.region == account.region and p.name in stacks and p.name not in meant:
                said = fail(f"it is in account {account.id}, declared is {p.account}")
                yield finding(PLACE, said, p, None, f"{account.id}/{p.region}/{p.name}", Source.DEPLOYED)


# What could not be read


def not_read(estate: Estate, wanted: Sequence[Environment], read: Collection[tuple[str, str]]) -> Iterator[Finding]:
    """Declared stacks whose region or account was not read."""
    for placed in estate.placements(wanted):
        if not was_read(placed, read):
            said = engine.verdict(rules.UNREAD, Unvisited(placed))
            yield finding(rules.UNREAD, said, placed, None, f"{placed.region}/{placed.name}", Source.LIVE)


def unreadable(accounts: Sequence[Account]) -> Iterator[Finding]:
    """Calls that were refused or failed."""
    for account in accounts:
        for hole in account.unreadable:
            said, where = engine.verdict(rules.UNREAD, hole), f"{account.id}/{account.region}/{hole.what}"
            yield engine.outside(rules.UNREAD, said, None, where, f"account {account.id}")
