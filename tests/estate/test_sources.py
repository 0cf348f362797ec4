"""Every fact of the estate stands in a document, follows from one, or is assumed; `make sources` reads documents."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
import sources
from commands import run
from support import ROOT, Json

from holdfast.estate.provenance import Stated, every_fact
from holdfast.model.provenance import ASSUMED, DOCUMENTED, INFERRED
from stacks import ESTATE

# A stack without a document, as a new one is, is its own source.
FACTS = [s for p in ESTATE.placements() if p.stack.document for s in every_fact(p)]
DOCUMENTS = [
    *(
        "acs-dynamodb.md",
        "callytics-dynamodb.md",
        "lifecycle-postgresql.md",
        "meeting-storage.md",
        "miyabi-dynamodb.md",
    ),
]


@pytest.fixture(scope="module")
def table() -> Json:
    return dict(json.loads(sources.FILE.read_text(encoding="utf-8")))


def test_every_fact_is_documented_inferred_or_assumed() -> None:
    without = [(s.store, s.part, s.fact) for s in FACTS if s.origin.kind not in (DOCUMENTED, INFERRED, ASSUMED)]
    assert without == [], "give it source=, Inferred(…) or Assumed(…)"
    assert len(FACTS) > 1_000


def test_what_is_documented_gives_its_lines_and_what_is_not_its_reason() -> None:
    for stated in FACTS:
        said = stated.origin
        if said.kind == DOCUMENTED:
            assert said.document, stated
            assert said.lines, stated
        else:
            assert len(said.reason.split()) > 1, stated


def test_the_table_of_citations_is_what_the_declarations_cite(table: Json) -> None:
    assert {d: row["cited"] for d, row in table.items()} == sources.citations(), "make sources DIR=…"


def test_the_table_names_the_documents_that_were_read_and_copies_none_of_their_text(table: Json) -> None:
    assert sorted(table) == DOCUMENTS
    for row in table.values():
        assert row.keys() == {"sha256", "cited"}
        assert re.fullmatch("[0-9a-f]{64}", row["sha256"])
        assert max((len(name) for names in row["cited"].values() for name in names), default=0) < 100


def test_the_page_of_what_no_declaration_holds_cites_no_line_of_a_declaration(table: Json) -> None:
    """And it names each line once, and says what is here instead."""
    page = sources.explained()
    assert set(page) <= set(DOCUMENTS)
    for document, rows in page.items():
        lines = [n for written, _, _ in rows for n in sources.numbers(written)]
        assert len(rows) > 10
        assert len(set(lines)) == len(lines)
        cited = {n for written in table[document]["cited"] for n in sources.numbers(written)}
        assert sorted(cited & set(lines)) == []
        for _, said, here in rows:
            verdict, _, why = here.partition(": ")
            assert verdict in ("Policy", "Alarms", "Otherwise", "Not done", "Offer", "Method"), said
            assert why, said


DOCUMENT = "| Orders-prod | id | 20,487 items |\n\nits index: shop-index\n"


@pytest.mark.parametrize(
    ("written", "names", "wrong"),
    [
        ("1", ("orders-prod", "20487"), []),
        ("1, 3", ("id", "shop-index"), []),
        ("1-3", ("shop index",), ["shop index"]),
        ("3", ("orders-prod",), ["orders-prod"]),
        ("2", (), ["line 2", "line 2"]),
        ("1, 9", (), ["line 9"]),
    ],
)
def test_a_citation_is_wrong_where_the_name_does_not_stand(
    written: str, names: tuple[str, ...], wrong: list[str]
) -> None:
    text = dict(enumerate(DOCUMENT.splitlines(), start=1))
    assert sources.missing(text, written, names) == wrong


def test_make_sources_says_what_is_wrong_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sources, "FILE", tmp_path / "citations.json")
    cited = {"shop.md": {"1": ["orders-prod"], "3": ["paid-index"]}}
    monkeypatch.setattr(sources, "citations", lambda: cited)
    assert sources.main(str(tmp_path)) == 1
    assert f"shop.md: not in {tmp_path}" in capsys.readouterr().err
    (tmp_path / "shop.md").write_text(DOCUMENT)
    assert sources.main(str(tmp_path)) == 1
    assert "shop.md:3: no paid-index" in capsys.readouterr().err
    assert not (tmp_path / "citations.json").exists()
    cited["shop.md"] = {"1": ["orders-prod"]}
    assert sources.main(str(tmp_path)) == 0
    said = capsys.readouterr()
    assert said.out == "shop.md:3: its index: shop-index\n"
    assert said.err == "1 passages cited, 1 lines cited nowhere, 0 citations wrong\n"
    written = json.loads((tmp_path / "citations.json").read_text())
    assert written["shop.md"]["sha256"] == hashlib.sha256(DOCUMENT.encode()).hexdigest()


def _assumed() -> list[Stated]:
    return [s for s in FACTS if s.origin.kind == ASSUMED]


def test_the_list_shows_every_source_and_every_assumption(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    code, out, _ = run(capsys, "list", "--assumed", "--format", "json")
    rows = json.loads(out)["assumptions"]
    assert code == 0
    assert {r["reason"] for r in rows} >= {s.origin.reason for s in _assumed()}
    code, out, _ = run(capsys, "list", "--sources")
    assert code == 0
    for stated in FACTS:
        assert str(stated.origin) in out, stated
