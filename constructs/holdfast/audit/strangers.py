"""Tables and stores that no declaration has, and what could not be read. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from holdfast.audit.places import here, templates, was_read
from holdfast.audit.remedy import name_in
from holdfast.cfn.template import Source
from holdfast.days import day
from holdfast.estate.estate import Estate
from holdfast.estate.placement import Placed
from holdfast.kinds.table.template import table_names
from holdfast.model.environment import Environment
from holdfast.policy.required import Policy, TagSource
from holdfast.rules import finding, live
from holdfast.rules.base import Finding, Rule
from holdfast.shared.account import Account, StoreSeen
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome, unknown


def strangers(every: Sequence[Placed], accounts: Sequence[Account]) -> Iterator[Finding]:
    """What is live or in a template, and in no declaration."""
    for account in accounts:
        yield from _stores(every, account)
    for account in accounts:
        yield from _tables(every, account)


def _tables(every: Sequence[Placed], account: Account) -> Iterator[Finding]:
    """In a stack that still has them, or in none."""
    known = {p.fill(t.name) for p in every if here(account, p) for t in p.tables}
    tables = {} if isinstance(account.tables, Unknown) else account.tables
    in_template = {
        name: seen.name or seen.id
        for _, seen in templates([account])
        for _, name in table_names(seen)
        if isinstance(name, str)
    }
    for name, stack in in_template.items():
        if name not in known:
            detail = f"{stack} has it and the code does not{'' if name in tables else '; it is not live either'}"
            where = f"{stack}/{name}"
            yield _stranger(live.UNCODED, detail, name, where, account, stack, Source.DEPLOYED)
    for name, seen in tables.items():
        if name not in known and name not in in_template:
            detail, stack = _outlived(account, seen)
            yield _stranger(live.ORPHAN, detail, name, seen.arn, account, stack)


def _outlived(account: Account, table: StoreSeen) -> tuple[str, str]:
    """What is known of a table that is not declared, and the stack that it came from."""
    what, owner = f"live and undeclared, holds {live.holds(table)}", table.owner
    if not isinstance(owner, str):
        return what, "no stack"
    deleted = {} if isinstance(account.deleted, Unknown) else account.deleted
    if owner in deleted:
        return f"{what}; {owner} was deleted on {day(deleted[owner])} and left it behind", owner
    return f"{what}; its tag names {owner}", owner


def _stores(every: Sequence[Placed], account: Account) -> Iterator[Finding]:
    """Those with all of our tags; stores of other teams are not looked at."""
    tagged = account.stores.tagged if account.stores else {}
    if isinstance(tagged, Unknown):
        return  # that it could not be read is a finding of its own
    known = {s.identifier(p.fill(s.name), p.region, account.id) for p in every if here(account, p) for s in p.stores}
    for arn, tags in tagged.items():
        if (name := name_in(arn)) not in known:
            detail = f"it is tagged as {_whose(tags, every[0].policy)}, and declared nowhere"
            yield _stranger(live.STRANGER, detail, name, arn, account)


def _whose(tags: Mapping[str, str], policy: Policy) -> str:
    owner, system = (policy.tag(source) for source in (TagSource.OWNER, TagSource.SYSTEM))
    of_system = f"{tags[system]}'s, " if system else ""  # no policy needs to ask for it
    return f"{of_system}owned by {tags[owner or '']}"


def _stranger(
    rule: Rule,
    detail: str,
    name: str | None,
    where: str,
    account: Account,
    stack: str = "no stack",
    source: Source = Source.LIVE,
) -> Finding:
    return Finding(
        rule=rule,
        outcome=Outcome.FAIL,
        detail=detail,
        table=name,
        stack=stack,
        environment=None,
        source=source,
        where=where,
        fix=rule.remediation.format(table=name, stack=stack, region=account.region),
    )


# What could not be read


def not_read(estate: Estate, wanted: Sequence[Environment], read: Collection[tuple[str, str]]) -> Iterator[Finding]:
    """Declared stacks whose region or account was not read."""
    for placed in estate.placements(wanted):
        if not was_read(placed, read):
            verdict = unknown(f"{placed.place} was not read, and {placed.name} is declared there")
            yield finding(live.UNREAD, verdict, placed, None, f"{placed.region}/{placed.name}", Source.LIVE)


def unreadable(accounts: Sequence[Account]) -> Iterator[Finding]:
    """Calls that were refused or failed."""
    for account in accounts:
        for hole in account.unreadable:
            detail = f"{hole.what}: {hole.reason}{f' (needs {hole.action})' if hole.action else ''}"
            where = f"{account.id}/{account.region}/{hole.what}"
            found = _stranger(live.UNREAD, detail, None, where, account, f"account {account.id}")
            yield replace(found, outcome=Outcome.UNKNOWN)
