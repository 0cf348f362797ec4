"""Plain text for terminals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

# Control characters, those that turn the direction of what follows, those that nobody sees, and halves of characters.
UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    """Text from outside on one line, as what it is: it cannot steer a terminal, forge a line or look like another."""
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


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
