"""JSON from outside, within bounds: whatever a file holds, the answer is a tree, or one line that says why not."""

from __future__ import annotations

import json
import math
import stat
from pathlib import Path
from typing import Any, NoReturn

from holdfast.errors import InputError

LEVELS = 100  # of a template: CloudFormation itself takes far fewer
NODES = 300_000
DIGITS = 300  # of a number: more than any number has, and few enough to be read at once
SHOWN = 60
CONTAINERS = frozenset({dict, list})


def read(path: Path, most: int, advice: str) -> bytes:
    """What a file holds, and one byte more than ``most`` where it holds more; a device or a pipe would never end."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path} is not a file: {advice}")
        with path.open("rb") as file:
            return file.read(most + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): {advice}") from None
    except ValueError as error:  # a name that no file can have
        raise error if isinstance(error, InputError) else InputError(f"{path} cannot be a file: {advice}") from None


def tree(content: bytes | str, levels: int = LEVELS) -> Any:
    """The tree that JSON spells; ValueError with a reason in plain words where it spells none, or more than one."""
    text = _decoded(content) if isinstance(content, bytes) else content
    try:
        found = json.loads(
            text, object_pairs_hook=_once, parse_constant=_no_number, parse_int=_integer, parse_float=_float
        )
    except RecursionError:
        raise ValueError(f"it nests deeper than {levels} levels") from None
    hold(found, levels)
    return found


def hold(found: Any, levels: int) -> None:
    """ValueError where a tree has more levels, or more objects and lists, than a template can have."""
    level, count = [found] if type(found) in CONTAINERS else [], 0
    for _ in range(levels + 1):
        if not level:
            return
        count += len(level)
        if count > NODES:
            raise ValueError(f"it holds more than {NODES:,} objects and lists")
        level = [
            part
            for node in level
            for part in (node.values() if type(node) is dict else node)
            if type(part) in CONTAINERS  # as JSON makes them; isinstance takes thrice as long
        ]
    raise ValueError(f"it nests deeper than {levels} levels")


def _decoded(content: bytes) -> str:
    if not content.strip():
        raise ValueError("it is empty")
    if content.startswith((b"\x1f\x8b", b"PK\x03\x04")):
        raise ValueError("it is compressed")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise ValueError("it is not text in UTF-8") from None
    if text.startswith("\ufeff"):
        raise ValueError("it begins with a byte order mark")
    return text


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """No key may stand twice: the last would hide the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        name = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        raise ValueError(f"{name[:SHOWN]!r} stands twice in one object")
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number that JSON knows")


def _integer(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


def _float(digits: str) -> float:
    found = float(digits) if len(digits) <= DIGITS else math.inf
    if math.isinf(found):
        raise ValueError(f"{digits[:SHOWN]} is larger than a number can be")
    return found
