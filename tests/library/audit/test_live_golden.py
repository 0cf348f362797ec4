"""The audit says of every mutant of a live account what it said before."""

from __future__ import annotations

import live_golden


def test_the_golden_file_of_live_tables() -> None:
    found = live_golden.tables_said()
    assert len(found) > 300
    assert sum(bool(lines) for lines in found.values()) > 350
    live_golden.check("tables", found)
