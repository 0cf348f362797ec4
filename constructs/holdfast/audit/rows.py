"""The three columns of every declared table, and the contract that every deployed stack runs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from holdfast.audit.ages import Ages
from holdfast.audit.places import here
from holdfast.audit.seen import Seen, word
from holdfast.contract.deployed import Running
from holdfast.estate.placement import Placed
from holdfast.kinds.table.declaration import Governance, Table
from holdfast.model.facts import Guard
from holdfast.rules import GUARDING
from holdfast.shared.account import Account, StackLive, StoreSeen, stack_of
from holdfast.unknown import Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One declared table: per guard what the policy asks, what CloudFormation last deployed and what is live."""

    table: str
    stack: str
    environment: str
    region: str
    account: str | None  # where it was looked for
    state: str
    items: int | None
    size: int | None
    guards: Mapping[Guard, tuple[str, str, str]]
    live: StoreSeen | None = None  # where it could be read: how much it is used


@dataclass(frozen=True, slots=True, kw_only=True)
class StackRow:
    """One deployed stack, and which contract it runs."""

    stack: str
    environment: str
    region: str
    account: str
    running: Running


def row(s: Seen) -> Row:
    assert isinstance(s.what, Table)
    required = s.placed.required(s.what)
    waits = s.placed.waits and s.stack is None and s.live is None  # nothing is asked yet
    state = [s.what.state.usage.value]
    state += [s.what.state.governance.value] if s.what.state.governance is not Governance.STACK else []
    live = s.live if isinstance(s.live, StoreSeen) else None
    items, size = (None if isinstance(c, Unknown) else c for c in ((live.items, live.size) if live else (None, None)))
    cells: dict[Guard, tuple[str, str, str]] = {}
    for guard, rule in GUARDING.items():
        then, there = map(word, s.columns[rule])
        cells[guard] = ("on", then, there) if guard in required and not waits else ("-", "-", "-")
    return Row(
        table=s.name,
        stack=s.placed.name,
        environment=s.placed.env.label,
        region=s.placed.region,
        account=s.found.account.id if s.found.account else None,
        state=", ".join(state),
        items=items,
        size=size,
        guards=cells,
        live=live,
    )


def running(places: Sequence[Placed], accounts: Sequence[Account], ages: Ages) -> Iterator[StackRow]:
    """Every stack that an account has, and which contract it runs there."""
    for p in places:
        for a in accounts:
            if here(a, p) and isinstance(found := stack_of(p.region, p.name, [a]), StackLive):
                runs = ages.running(p.id, found)
                yield StackRow(stack=p.name, environment=p.env.label, region=p.region, account=a.id, running=runs)
