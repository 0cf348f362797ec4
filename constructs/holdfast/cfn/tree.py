"""A tree of JSON: what stands at a place, and all of it without recursion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def parts(tree: Any) -> Iterator[Any]:
    """Everything in a tree, itself included; the names of members are not parts."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def texts(tree: Any) -> Iterator[str]:
    return (part for part in parts(tree) if isinstance(part, str))


def read(tree: Any, path: tuple[str, ...]) -> Any:
    """What stands at a place; None where nothing does."""
    for step in path:
        tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def mapping(value: Any) -> dict[str, Any]:
    """An object as it is, and nothing in place of anything else."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """A list as it is, and one thing as a list of it."""
    return value if isinstance(value, list) else [] if value is None else [value]
