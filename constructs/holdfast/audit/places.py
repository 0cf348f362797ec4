"""Which account has what of the declared: stacks, tables and other stores."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from holdfast.cfn.template import StackSeen
from holdfast.estate.placement import Placed
from holdfast.kinds.kinds import kind_of
from holdfast.kinds.table.declaration import Table
from holdfast.model.store import Store
from holdfast.rules.presence import state
from holdfast.shared.account import Account, StackLive, StoreSeen, stack_of
from holdfast.unknown import Unknown
from holdfast.verdict import PASS


@dataclass(frozen=True, slots=True)
class Found:
    """A declared table or store as the accounts show it; ``asked`` is whether it was looked for at all."""

    account: Account | None  # where it is live, or would be
    live: StoreSeen | Unknown | None  # None: not there
    asked: bool


def find(accounts: Sequence[Account], placed: Placed, what: Table | Store) -> Found:
    account: Account | None = None
    unread: Unknown | None = None
    for a in (a for a in accounts if a.region == placed.region and _asked(a, what)):
        seen = _known(a, placed, what)
        if isinstance(seen, StoreSeen):
            return Found(a, seen, True)
        if account is None or isinstance(seen, Unknown):
            account, unread = a, seen
    return Found(account, unread, account is not None)


def _asked(account: Account, what: Table | Store) -> bool:
    return isinstance(what, Table) or (account.stores is not None and kind_of(what).live is not None)


def _known(account: Account, placed: Placed, what: Table | Store) -> StoreSeen | Unknown | None:
    name = placed.fill(what.name)
    if isinstance(what, Table):
        return account.tables if isinstance(account.tables, Unknown) else account.tables.get(name)
    return account.stores.found.get((placed.id, type(what).__name__, name)) if account.stores else None


def holds(account: Account, placed: Placed, what: Table | Store) -> bool:
    """Whether an account has a declared table or store, in the region where it is declared."""
    return account.region == placed.region and isinstance(_known(account, placed, what), StoreSeen)


def here(account: Account, placed: Placed) -> bool:
    """Whether a stack is declared for this account and region; one that names no account is for any."""
    return account.region == placed.region and placed.account in (None, account.id)


def has(account: Account, placed: Placed) -> bool:
    """Whether an account has a stack, or anything that is declared in it; no other account than a declared one."""
    return here(account, placed) and (
        (not isinstance(account.stacks, Unknown) and placed.name in account.stacks)
        or any(holds(account, placed, what) for what in (*placed.tables, *placed.stores))
    )


def was_read(placed: Placed, read: Collection[tuple[str, str]]) -> bool:
    return any(placed.region == region and placed.account in (None, account) for account, region in read)


def homes(places: Sequence[Placed], accounts: Sequence[Account]) -> Iterator[tuple[list[Account], list[Placed]]]:
    """Each account with what it has of the declared; what none has is looked for in all of them at once."""
    nowhere = [p for p in places if p.account is None and not any(has(a, p) for a in accounts)]
    ids = list(dict.fromkeys(a.id for a in accounts))
    for id_ in ids:
        home = [a for a in accounts if a.id == id_]
        there = (p.account == id_ or any(has(a, p) for a in home) or (len(ids) == 1 and p in nowhere) for p in places)
        yield home, [p for p, is_there in zip(places, there, strict=True) if is_there]
    if len(ids) > 1 and nowhere:
        yield [a if isinstance(a.stacks, Unknown) else replace(a, stacks={}) for a in accounts], nowhere


def strays(places: Sequence[Placed], accounts: Sequence[Account], everywhere: Sequence[Account]) -> set[str]:
    """Stacks of another account, of which a table or so may have strayed into this one."""
    others = [a for a in everywhere if a.id not in {h.id for h in accounts}]
    return {p.name for p in places if stack_of(p.region, p.name, accounts) is None and any(has(a, p) for a in others)}


def nothing_declared(places: Sequence[Placed], accounts: Sequence[Account]) -> list[str]:
    """The accounts whose tables could be listed and that have no stack and no store of ``places``."""
    unread = {a.id for a in accounts if isinstance(a.tables, Unknown)}
    with_some = {a.id for a in accounts if any(has(a, p) for p in places)}
    return [id_ for id_ in dict.fromkeys(a.id for a in accounts) if id_ not in with_some | unread]


# Stacks


def templates(accounts: Sequence[Account]) -> Iterator[tuple[Account, StackSeen]]:
    for account in accounts:
        if not isinstance(account.stacks, Unknown):
            for stack in account.stacks.values():
                if not isinstance(stack.seen, Unknown):
                    yield account, stack.seen


def settled(account: Account) -> Account:
    """``account`` without the templates of stacks whose last change goes on or went wrong: they are not what runs."""
    if isinstance(account.stacks, Unknown):
        return account
    stacks = {
        name: stack if state(stack.status) is PASS else replace(stack, seen=Unknown(f"the stack is {stack.status}"))
        for name, stack in account.stacks.items()
    }
    return replace(account, stacks=stacks)


def template_of(stack: StackLive | Unknown | None) -> StackSeen | Unknown | None:
    return stack.seen if isinstance(stack, StackLive) else stack
