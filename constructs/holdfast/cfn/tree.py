"""A tree of JSON: what stands at a place, and all of it without recursion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def texts(tree: Any) -> Iterator[str]:
    """Every text in a tree; the names of its members are none."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def read(tree: Any, path: tuple[str, ...]) -> Any:
    """What stands at a place; None where there is none."""
    for step in path:
        tree = tree.get(step) if isinstance(tree, dict) else None
    return tree
