"""Lists in a line of text."""

from __future__ import annotations

from collections.abc import Iterable

NAMES = 3


def few(words: Iterable[str], most: int = NAMES, between: str = ", ") -> str:
    """The first of them, each once, and how many more there are."""
    found = list(dict.fromkeys(words))
    more = len(found) - most
    return between.join(found[:most]) + (f" and {more} more" if more > 0 else "")
