"""What a module of the library may import: its own folder, and what is below it."""

from __future__ import annotations

from support import ROOT

from benchmarks import shape


def test_no_import_points_upwards() -> None:
    assert [str(i) for i in shape.upward(ROOT)] == []


def test_every_module_has_a_level() -> None:
    assert shape.unplaced(ROOT) == []
