"""Two trees in normal form: every place where they differ, as precisely as it can be said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Path = tuple[str, ...]
# What tells one item of a list from another, in the order in which it is looked for.
IDENTITIES = ("IndexName", "Sid", "Key", "Id", "LogicalId", "Name", "AttributeName", "AlarmName", "DimensionKey")


class _Absent:
    """Not there; null is there."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class Difference:
    """One place, and what stands there on both sides."""

    path: Path
    before: Any
    after: Any


def differences(before: Any, after: Any, path: Path = ()) -> Iterator[Difference]:
    if same(before, after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from differences(before.get(key, ABSENT), after.get(key, ABSENT), (*path, key))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _lists(before, after, path)
    else:
        yield Difference(path, before, after)


def same(before: Any, after: Any) -> bool:
    """Equal, and of the same kind: 1 is not true."""
    if before is after:
        return True
    if isinstance(before, dict) and isinstance(after, dict):
        return before.keys() == after.keys() and all(same(v, after[k]) for k, v in before.items())
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(same, before, after))
    return isinstance(before, bool) == isinstance(after, bool) and bool(before == after)


def _lists(before: list[Any], after: list[Any], path: Path) -> Iterator[Difference]:
    if name := _identity(before, after):
        old, new = ({str(i[name]): i for i in items} for items in (before, after))
        found = list(differences(old, new, path))
        # The items are the same, but stand in another order where order matters.
        yield from found or [Difference(path, list(old), list(new))]
        return
    gone, come = _without(before, after), _without(after, before)
    if len(gone) == len(come) == 1:
        where = before.index(gone[0])
        step = str(where) if where < len(after) and same(after[where], come[0]) else ""
        yield from differences(gone[0], come[0], (*path, step) if step else path)
    elif gone or come:
        yield Difference(path, gone or ABSENT, come or ABSENT)
    else:
        yield Difference(path, before, after)


def _identity(before: list[Any], after: list[Any]) -> str | None:
    if not before or not after or not all(isinstance(i, dict) for i in (*before, *after)):
        return None
    for name in IDENTITIES:
        texts = [[i.get(name) for i in items] for items in (before, after)]
        if all(all(isinstance(t, str) for t in of) and len(set(of)) == len(of) for of in texts):
            return name
    return None


def _without(items: list[Any], others: list[Any]) -> list[Any]:
    left = [_text(o) for o in others]
    found = []
    for item in items:
        text = _text(item)
        if text in left:
            left.remove(text)
        else:
            found.append(item)
    return found


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)
