"""Two trees in normal form: every place where they differ, as precisely as it can be said."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from holdfast.cfn.tree import read

Path = tuple[str, ...]
# What tells one item of a list from another, in the order in which it is looked for.
IDENTITIES = ("IndexName", "Sid", "Key", "Id", "LogicalId", "Name", "AttributeName", "AlarmName", "DimensionKey")
MOST = 2_500  # pairs of changed items of one list that are weighed


class _Absent:
    """Not there; null is there."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


def value_at(tree: Any, path: Path) -> Any:
    """What stands at a place; null is as good as absent there."""
    found = read(tree, path)
    return ABSENT if found is None else found


@dataclass(frozen=True, slots=True)
class Difference:
    """One place, and what stands there on both sides."""

    path: Path
    before: Any
    after: Any


def differences(before: Any, after: Any, path: Path = ()) -> Iterator[Difference]:
    if before == after and same(before, after):  # the first is quick, and tells most that differ
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
    waiting = [(before, after)]
    while waiting:
        one, other = waiting.pop()
        if one is other:
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            waiting.extend((part, other[name]) for name, part in one.items())
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            waiting.extend(zip(one, other, strict=True))
        elif isinstance(one, bool) != isinstance(other, bool) or one != other:
            return False
    return True


def _lists(before: list[Any], after: list[Any], path: Path) -> Iterator[Difference]:
    if name := _identity(before, after):
        old, new = ({str(i[name]): i for i in items} for items in (before, after))
        found = list(differences(old, new, path))
        # The items are the same, but stand in another order where order matters.
        yield from found or [Difference(path, list(old), list(new))]
        return
    gone, come = _without(before, after), _without(after, before)
    pairs = _pairs(gone, come)
    for old_at, new_at in pairs.items():
        yield from differences(gone[old_at], come[new_at], (*path, str(old_at)))
    left, more = ([v for k, v in of.items() if k not in told] for of, told in ((gone, pairs), (come, pairs.values())))
    if left or more:
        yield Difference(path, left or ABSENT, more or ABSENT)
    elif not pairs:
        yield Difference(path, before, after)


def _identity(before: list[Any], after: list[Any]) -> str | None:
    if not before or not after or not all(isinstance(i, dict) for i in (*before, *after)):
        return None
    for name in IDENTITIES:
        texts = [[i.get(name) for i in items] for items in (before, after)]
        if all(all(isinstance(t, str) for t in of) and len(set(of)) == len(of) for of in texts):
            return name
    return None


def _without(items: list[Any], others: list[Any]) -> dict[int, Any]:
    """The items that the others have not, by their places."""
    left = Counter(map(_text, others))
    found = {}
    for at, item in enumerate(items):
        text = _text(item)
        if left[text]:
            left[text] -= 1
        else:
            found[at] = item
    return found


def _pairs(gone: dict[int, Any], come: dict[int, Any]) -> dict[int, int]:
    """Which of what came is what went, changed: the most alike first; of many, none."""
    if len(gone) == len(come) == 1:
        return {next(iter(gone)): next(iter(come))}
    if len(gone) * len(come) > MOST:
        return {}
    parts = {id(item): _parts(item) for item in (*gone.values(), *come.values())}
    alike = [(len(parts[id(g)] & parts[id(c)]), -old, -new) for old, g in gone.items() for new, c in come.items()]
    pairs: dict[int, int] = {}
    for number, old, new in sorted(alike, reverse=True):
        if number and -old not in pairs and -new not in pairs.values():
            pairs[-old] = -new
    return pairs


def _parts(item: Any) -> set[str]:
    return {f"{k} {_text(v)}" for k, v in item.items()} if isinstance(item, dict) else set()


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)
