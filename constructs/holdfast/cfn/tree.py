"""A tree of JSON, walked without recursion."""

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
