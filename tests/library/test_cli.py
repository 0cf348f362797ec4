"""`holdfast` as a user runs it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from typing import Any

import pytest
from support import ROOT
from synth import count, count_stores

from holdfast.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code, out, _ = run(capsys, "list", "--format", "json", *arguments)
    assert code == 0
    return json.loads(out)


@pytest.mark.parametrize(
    ("arguments", "env", "system"),
    [
        ((), "all", None),
        (("--env", "prod"), "prod", None),
        (("--env", "test"), "test", None),
        (("--env", "all"), "all", None),
        (("--env", "prod", "--system", "callytics"), "prod", "callytics"),
        (("--system", "miyabi"), "all", "miyabi"),
    ],
)
def test_list_counts(
    arguments: tuple[str, ...], env: str, system: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    document = listed(capsys, *arguments)
    tables = count(env, system)
    assert tables > 0
    assert document["version"] == 1
    assert document["summary"] == {"tables": tables, "stores": count_stores(env, system)}
    assert len(document["tables"]) == tables
    code, out, _ = run(capsys, "list", *arguments)
    assert code == 0
    assert f"\n{tables} tables, " in out


def test_list_shows_a_table_whole(capsys: pytest.CaptureFixture[str]) -> None:
    tables = {t["table"]: t for t in listed(capsys)["tables"]}
    duplicate = tables["orangetheory-BlackoutPeriods-test"]
    assert duplicate["guards"] == ["RETAIN", "TAGS"]
    assert duplicate["usage"] == "duplicate"
    assert duplicate["replaced_by"] == "studio-BlackoutPeriods-test"
    assert duplicate["seen"] == {"on": "2026-04-23", "items": 29, "size": None, "reads_7d": None}
    assert [a["fact"] for a in duplicate["assumed"]] == ["key types", "projection", "index"]
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
    (first_email,) = [r for r in rows if r["index"] == "associated_account-is_first_email-index"]
    assert "Boolean" in first_email["reason"]
    code, out, _ = run(capsys, "list", "--assumed", "--env", "prod")
    assert code == 0
    assert f"{len(rows)} assumed facts" in out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--env", "staging"), "holdfast: unknown environment 'staging': known are prod, test, all"),
        (
            ("--system", "nowhere"),
            "holdfast: unknown system 'nowhere': known are acs, callytics, lifecycle, meeting, miyabi",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    arguments: tuple[str, ...], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "list", *arguments) == (2, "", f"{line}\n")


def test_bad_usage_is_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["nonsense"])
    assert stopped.value.code == 2
    assert "invalid choice" in capsys.readouterr().err


def test_a_reader_that_stops_early_gets_no_traceback() -> None:
    command = f"{shlex.quote(sys.executable)} -m holdfast.cli list | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("environment")
    assert done.stderr == ""


@pytest.mark.parametrize("arguments", [("explain", "HF402"), ("docs", "--check")])
def test_a_locale_that_knows_ascii_only_changes_nothing_but_what_it_cannot_show(arguments: tuple[str, ...]) -> None:
    command, env = [sys.executable, "-m", "holdfast.cli", *arguments], os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


def test_generated_pages_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "docs", "--check")[0] == 0
