"""Plain text for terminals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

# Control characters, separators of lines, marks of direction, and halves of characters, which no terminal can show.
STEERING = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")


def printable(text: str) -> str:
    """``text`` from outside, in which nothing steers a terminal, turns its direction or forges a line."""
    return STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows under a header, aligned: numbers to the right, everything else to the left."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    header, *body = rows
    numeric = [all(row[n].isdigit() for row in body) for n in range(len(header))]

    def line(row: Sequence[str]) -> str:
        cells = (c.rjust(w) if right else c.ljust(w) for c, w, right in zip(row, widths, numeric, strict=True))
        return "  ".join(cells).rstrip()

    return "\n".join([line(header), "  ".join("-" * w for w in widths), *map(line, body)])


def span(time: timedelta) -> str:
    """A length of time in the largest unit that says it exactly."""
    seconds = int(time.total_seconds())
    units = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
    unit, size = next((u, n) for u, n in units if seconds % n == 0)
    count = seconds // size
    return f"{count} {unit}" + ("" if count == 1 else "s")
