"""What a module of the library may import: its own folder, and what is below it."""

from __future__ import annotations

from support import ROOT

from benchmarks import shape

# Folders of which one still imports the other upwards; each is to go.
STILL = {
    ("shared", "kinds"),
}


def test_no_import_points_upwards() -> None:
    found = shape.upward(ROOT)
    assert [str(i) for i in found if i.folders not in STILL] == []
    assert {i.folders for i in found} == STILL, "remove from the list above what is mended"


def test_every_module_has_a_level() -> None:
    assert shape.unplaced(ROOT) == []
