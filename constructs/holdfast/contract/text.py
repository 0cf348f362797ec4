"""A diff for people and for machines: as text, as Markdown for the pull request, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from holdfast.cfn.compare import ABSENT
from holdfast.contract.diff import SERIOUS, Change, Kind
from holdfast.text import printable

COLOURS = {Kind.WEAKENED: "31", Kind.REMOVED: "31", Kind.REPLACED: "31", Kind.ADDED: "33", Kind.CHANGED: "2"}
SECRET = ("Environment", "Parameters", "parameters", "MasterUserPassword", "SecretString", "UserData", "AuthToken")
LONG = 90
FIRST = 5


def text(changes: Sequence[Change], against: str, *, colour: bool = False) -> str:
    lines = [f"against {printable(against)}"]
    for (kind, stack, about), group in groupby(changes, key=lambda c: (c.kind, c.stack, c.store or c.resource)):
        word = f"{kind.value.upper():8}"
        word = f"\033[{COLOURS[kind]}m{word}\033[0m" if colour else word
        lines.append(f"{word}  {printable(_about(stack, about))}")
        lines += [f"          {printable(line)}" for line in map(line_of, group)]
    return "\n".join(lines)


def markdown(changes: Sequence[Change], against: str) -> str:
    """Five lines first, the rest folded."""
    lines = [f"**holdfast diff** against {_code(against)}: {summary(changes)}", ""]
    told = [
        f"- **{c.kind.value}** {_code(_about(c.stack, c.store or c.resource))}: {_code(line_of(c))}" for c in changes
    ]
    lines += told[:FIRST]
    if len(told) > FIRST:
        lines += ["", f"<details><summary>{len(told) - FIRST} more</summary>", "", *told[FIRST:], "", "</details>"]
    return "\n".join(lines)


def as_json(changes: Sequence[Change], against: str) -> str:
    counts = {k.value: sum(c.kind is k for c in changes) for k in Kind}
    document = {"version": 1, "command": "diff", "against": against, "summary": counts, "changes": list(_rows(changes))}
    return json.dumps(document, indent=2)


def summary(changes: Sequence[Change]) -> str:
    counts = [f"{n} {k.value}" for k in Kind if (n := sum(c.kind is k for c in changes))]
    return ", ".join(counts) or "nothing differs"


def exit_code(changes: Sequence[Change]) -> int:
    return int(any(c.kind in SERIOUS for c in changes))


def line_of(change: Change) -> str:
    """What changed, in one line: what it means, where, and both values."""
    values = f"{shown(change, change.before)} → {shown(change, change.after)}"
    place = "/".join(change.path)
    if change.before is ABSENT and change.after is ABSENT:
        return change.says
    return f"{change.says}: {place} {values}" if change.says and place else f"{change.says or place}: {values}"


def shown(change: Change, value: Any) -> str:
    """A value as far as it may be seen: what may hold a secret is only said to differ."""
    if value is ABSENT:
        return "absent"
    if any(step in SECRET for step in change.path):
        return "(not shown)"
    found = json.dumps(value)
    return found if len(found) <= LONG else f"{found[: LONG - 1]}…"


def _rows(changes: Sequence[Change]) -> Iterator[dict[str, Any]]:
    for c in changes:
        yield {
            "change": c.kind.value,
            "stack": c.stack,
            "resource": c.resource or None,
            "store": c.store,
            "path": "/".join(c.path),
            "before": None if c.before is ABSENT else shown(c, c.before),
            "after": None if c.after is ABSENT else shown(c, c.after),
            "detail": c.says,
        }


def _about(stack: str, name: str) -> str:
    return f"{name} in {stack}" if name else stack


def _code(words: str) -> str:
    return "`" + printable(words).replace("`", "'") + "`"
