"""What `holdfast list` and the generated pages say of this estate."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from commands import listed, run
from support import ROOT
from synth import count, count_stores


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_list_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys)["summary"] == {"tables": count(), "stores": count_stores()}


def test_list_shows_a_table_whole(capsys: pytest.CaptureFixture[str]) -> None:
    tables = {t["table"]: t for t in listed(capsys)["tables"]}
    duplicate = tables["orangetheory-BlackoutPeriods-test"]
    assert duplicate["guards"] == ["RETAIN", "TAGS"]
    assert duplicate["usage"] == "duplicate"
    assert duplicate["replaced_by"] == "studio-BlackoutPeriods-test"
    assert duplicate["seen"] == {"on": "2026-04-23", "items": 29, "size": None, "reads_7d": None}
    assert [a["fact"] for a in duplicate["assumed"]] == [
        *("key", "key types", "projection", "index", "data class"),
    ]
    assert tables["call-analytics-prod-message-store-us-east-1"]["deployed"] is False
    assert tables["miyabi-lambda-data-production"]["stream"]["consumer"] == (
        "miyabi-dynamodb-stream-processor-production"
    )
    pending = tables["call-analytics-prod-call-analysis-us-east-1"]["stream"]
    assert pending["view"] == "NEW_IMAGE"
    assert pending["pending"]


def test_list_assumed_gives_value_and_reason_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    rows = listed(capsys, "--assumed", "--env", "prod")["assumptions"]
    assert all(r["reason"] and r["value"] for r in rows)
    (counted,) = [r for r in rows if r["index"] == "status-tokenExpiresAt-index"]
    assert (counted["fact"], counted["value"]) == ("index", "status + tokenExpiresAt")
    assert "counts" in counted["reason"]
    code, out, _ = run(capsys, "list", "--assumed", "--env", "prod")
    assert code == 0
    assert f"{len(rows)} assumed facts" in out


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_generated_pages_are_up_to_date(locale: str) -> None:
    """In a locale that knows ASCII only, too."""
    command = [sys.executable, "-m", "holdfast.cli", "docs", "--check"]
    env = os.environ | {"LC_ALL": locale, "PYTHONUTF8": "0"}
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b""), "run `make docs`"
    assert done.stdout.isascii()
