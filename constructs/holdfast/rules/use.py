"""Use: how much a live table is read and written, beside what is declared of it."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.kinds.table.declaration import Usage
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.subjects import LiveTable
from holdfast.shared.account import StoreSeen, Units
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, Outcome, Verdict, fail, unknown

RETIRED = frozenset({Usage.LEGACY, Usage.DEAD, Usage.DUPLICATE})
HANDFUL = 16  # units in seven days: a look in the console, a script that counts items; an application takes more
GROWN = 2  # so many times what was seen is more than a week differs from another


def as_declared(s: LiveTable) -> Verdict:
    """Whether a table that is to go is used no more than its declaration says."""
    state, live = s.table.state, s.live
    seen = state.sighting.reads_7d if state.sighting else None
    if state.usage is Usage.DEAD:
        most, why = float(HANDFUL), f"More than {HANDFUL} in 7 days is the use of an application"
    elif state.usage in RETIRED and seen is not None:
        most, why = max(HANDFUL, GROWN * seen), f"That is more than {GROWN} times what was seen"
    else:
        return EXEMPT
    reads = {"its reads": live.reads} | _of_indexes(live)
    writes = {"its writes": live.writes} if state.usage is Usage.DEAD else {}
    says = f"declared {state.usage.value}: {used(live)}"
    if state.sighting and seen is not None:
        says += f"; {number(seen)} read units were seen on {state.sighting.on}"
    if max(_week(reads), _week(writes)) > most:
        return fail(f"{says}. {why}")
    if unread := [f"{what}: {part.reason}" for what, part in (reads | writes).items() if isinstance(part, Unknown)]:
        return unknown(f"{says}. Not known are {'; '.join(unread)}")
    return Verdict(Outcome.PASS, says)


def _of_indexes(live: StoreSeen) -> dict[str, Units | Unknown]:
    if isinstance(live.indexes, Unknown):
        return {"reads of its indexes": live.indexes}
    return {f"reads of {name}": index.reads for name, index in live.indexes.items()}


def _week(parts: Mapping[str, Units | Unknown]) -> float:
    """What is known of it: the rest can only add."""
    return sum(part.week for part in parts.values() if isinstance(part, Units))


USED = Rule(
    id="HF618",
    title="Tables that are to go are used no more than declared",
    why="A table is archived because it is declared dead, or replaced. One that an application still reads or writes is neither: "
    "its archive breaks that application, and what it declares says nothing of it.",
    remediation="Find out who uses {table} before anything else is done with it: CloudTrail data events name the callers of GetItem, "
    "Query and Scan. Move them to its successor, or declare the use that it has: usage=Usage.LEGACY, or what is seen today in "
    "sighting=Sighting(…).",
    severity=Severity.HIGH,
    checks=(Check(LiveTable, as_declared),),
)
RULES = (USED,)

# Words


def used(live: StoreSeen) -> str:
    """How much a table is read and written, and its indexes read, as far as CloudWatch counted it."""
    said = [units("read", live.reads), units("write", live.writes)]
    if indexes := _of_indexes(live):
        known = not any(isinstance(part, Unknown) for part in indexes.values())
        said.append(f"{number(_week(indexes)) if known else 'unknown'} read units of its indexes in 7 days")
    return ", ".join(said)


def units(what: str, seen: Units | Unknown) -> str:
    if isinstance(seen, Unknown):
        return f"unknown {what} units"
    if seen.last is None:
        return f"no {what} units in 30 days"
    return f"{number(seen.week)} {what} units in 7 days ({number(seen.month)} in 30, the last on {seen.last})"


def number(units: float) -> str:
    return f"{units:,.1f}".removesuffix(".0")
