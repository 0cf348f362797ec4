"""`holdfast` as a user runs it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest
from commands import listed, run
from shop import ESTATE

from holdfast.cli import main

pytestmark = pytest.mark.usefixtures("repository")


@pytest.mark.parametrize(
    ("arguments", "env", "system"),
    [
        ((), "all", None),
        (("--env", "live"), "live", None),
        (("--env", "dev"), "dev", None),
        (("--env", "all"), "all", None),
        (("--env", "live", "--system", "shop"), "live", "shop"),
        (("--system", "news"), "all", "news"),
    ],
)
def test_list_counts(
    arguments: tuple[str, ...], env: str, system: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    document = listed(capsys, *arguments)
    places = [p for p in ESTATE.placements(ESTATE.named(env)) if system in (None, p.stack.system)]
    tables, stores = sum(len(p.tables) for p in places), sum(len(p.stores) for p in places)
    assert tables > 0
    assert document["version"] == 1
    assert document["summary"] == {"tables": tables, "stores": stores}
    assert len(document["tables"]) == tables
    code, out, _ = run(capsys, "list", *arguments)
    assert code == 0
    assert f"\n{tables} tables, " in out


def test_list_shows_a_table_whole(capsys: pytest.CaptureFixture[str]) -> None:
    tables = {t["table"]: t for t in listed(capsys)["tables"]}
    duplicate = tables["prices-old-dev"]
    assert duplicate["guards"] == ["RETAIN", "TAGS"]
    assert duplicate["usage"] == "duplicate"
    assert duplicate["replaced_by"] == "prices-dev"
    orphan = tables["customers-live"]
    assert orphan["seen"] == {"on": "2026-01-05", "items": 12, "size": None, "reads_7d": None}
    assert [a["fact"] for a in orphan["assumed"]] == ["key"]
    assert tables["sessions-eu-west-1"]["deployed"] is False
    assert tables["orders-production"]["stream"]["consumer"] == "invoices-production"
    pending = tables["newsletter-eu-west-1"]["stream"]
    assert pending["view"] == "NEW_IMAGE"
    assert pending["pending"]


def test_list_assumed_gives_value_and_reason_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    rows = listed(capsys, "--assumed", "--env", "live")["assumptions"]
    assert all(r["reason"] and r["value"] for r in rows)
    (coupon,) = [r for r in rows if r["index"] == "couponCode-index"]
    assert coupon["reason"] == "the ticket names no index"
    code, out, _ = run(capsys, "list", "--assumed", "--env", "live")
    assert code == 0
    assert f"{len(rows)} assumed facts" in out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--env", "staging"), "holdfast: unknown environment 'staging': known are live, dev, all"),
        (("--system", "nowhere"), "holdfast: unknown system 'nowhere': known are news, shop"),
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


@pytest.mark.parametrize("arguments", [("explain", "HF402"), ("list",)])
def test_a_locale_that_knows_ascii_only_changes_nothing_but_what_it_cannot_show(arguments: tuple[str, ...]) -> None:
    command, env = [sys.executable, "-m", "holdfast.cli", *arguments], os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


@pytest.mark.parametrize("module", ["cli.databases", "cli.local", "local.deploy", "postgres.server"])
def test_what_only_posix_has_is_imported_when_it_is_needed(module: str) -> None:
    code = f"import sys; sys.modules |= dict.fromkeys(('fcntl', 'pwd', 'grp', 'termios')); import holdfast.{module}"
    subprocess.run([sys.executable, "-c", code], check=True)
