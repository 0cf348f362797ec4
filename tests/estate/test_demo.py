"""What `make demo` says and `make picture` draws; that the commands in it work is test_e2e.py's affair."""

from __future__ import annotations

import re
import sys
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support import ROOT

from benchmarks import demo, picture
from holdfast.contract import history
from holdfast.contract.history import History
from holdfast.days import days
from stacks import incident

CHARACTER = 12.2  # is as wide as this
SVG = "{http://www.w3.org/2000/svg}"


def rows(drawing: str) -> list[str]:
    """The lines of a picture, in which each colour is a text of its own."""
    (matrix,) = [g for g in ElementTree.fromstring(drawing).iter(f"{SVG}g") if g.get("class") == "demo-matrix"]
    lines: dict[float, str] = {}
    for text in matrix.iter(f"{SVG}text"):
        column, y = round(float(text.attrib["x"]) / CHARACTER), float(text.attrib["y"])
        lines[y] = lines.get(y, "").ljust(column) + "".join(text.itertext()).replace("\u00a0", " ")
    return [line.rstrip() for _, line in sorted(lines.items())]


def test_the_picture_shows_the_incident_its_age_and_its_end() -> None:
    drawing = (ROOT / "docs" / "demo.svg").read_text(encoding="utf-8")
    shown = rows(drawing)
    assert 20 < len(shown) <= 60
    assert max(map(len, shown)) <= picture.COLUMNS
    text = " ".join(" ".join(shown).split())
    assert "intended, never deployed; 52 days since commit" in text
    assert "78 days since the stack's last update" in text
    assert "--only HF007 --consumers-have-the-key --apply" in text  # a key is never changed without being asked for
    assert "0 with a gap" in text
    assert "critical," not in text.rpartition("0 with a gap")[2]
    assert shown[-2:] == ["$ echo $?", "0"]


def test_the_picture_needs_nothing_from_elsewhere() -> None:
    drawing = (ROOT / "docs" / "demo.svg").read_text(encoding="utf-8")
    assert re.findall(r"https?://[^\"]*", drawing) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"href|url\((?!#)|@import|@font-face|<script|<image", drawing)


def test_a_drawn_line_keeps_its_text_whatever_is_in_it() -> None:
    line = f"  FAIL  a < b & c > d: {'off ' * 40}on"
    drawing = picture.drawn([line, "", "$ next"])
    *first, last = rows(drawing)
    assert len(first) > 1
    assert " ".join(" ".join(first).split()) == " ".join(line.split())
    assert last == "$ next"


def test_the_causes_and_one_table_are_shown_and_the_rest_is_counted() -> None:
    screen = "3 causes\n\n 1  one\n\n 2  two\n 3  three"
    blocks = [" 2  two in full", "stacks run", *(f"{n}  (stack)\n  FAIL" for n in ("other", picture.SHOWN, "another"))]
    drawn = "\n".join(picture.chosen("\n\n".join([screen, *blocks])))
    assert drawn == f"{screen}\n\n{picture.SHOWN}  (stack)\n  FAIL\n\n… 4 more causes and tables"


def test_the_contract_of_that_day_was_committed_52_days_ago(
    now: datetime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("stacks", "snapshots"):
        (tmp_path / name).symlink_to(ROOT / name)
    for _ in range(2):  # and again
        demo.remember(now)
    found = history.read(demo.STORY)
    assert isinstance(found, History)
    today, meant, deployed = found.versions(incident.NEVER_DEPLOYED)
    assert [days(v.commit.when, now) for v in (today, meant, deployed)] == [0, 52, 78]
    assert [v.commit for v in found.versions("RCSubscription-prod-Storage")] == [today.commit, deployed.commit]
    assert [v.commit for v in found.versions("AcsTables-prod")] == [deployed.commit]
    assert "a commit of 52 days ago" in " ".join(capsys.readouterr().out.split())
    # Commands that run there find the emulator of the repository.
    assert (demo.STORY / ".holdfast").resolve() == (tmp_path / ".holdfast").resolve()


@pytest.mark.parametrize(
    ("status", "clean", "ends"), [(0, True, False), (1, False, False), (1, True, True), (2, False, True)]
)
def test_the_demo_ends_where_a_command_fails_or_finds_what_must_not_be_there(
    status: int, clean: bool, ends: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "command", lambda line: [sys.executable, "-c", f"raise SystemExit({status})"])
    if ends:
        with pytest.raises(SystemExit) as ended:
            demo.holdfast("audit", clean=clean)
        assert ended.value.code == status
    else:
        demo.holdfast("audit", clean=clean)
    assert capfd.readouterr().out.startswith(f"$ holdfast audit\n(exit status {status})\n")
