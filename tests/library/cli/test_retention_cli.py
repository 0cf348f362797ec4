"""`holdfast db retain` as a process: killed, interrupted, run twice, told nonsense."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from lifecycle_database import Row, archived, database, events, fill_months, live, quarantined, value
from postgres import copy_of_schemas
from support import ROOT

from holdfast import cli
from holdfast.postgres import retention
from holdfast.postgres.archive import Folder, check
from holdfast.postgres.connection import Connection, connect

WAIT_SECONDS = 60
GATE = 4711  # an advisory lock that a trigger waits for: there the run stands still


@pytest.fixture
def dsn() -> Iterator[str]:
    with filled() as dsn:
        yield dsn


@pytest.fixture(scope="module")
def untouched() -> Iterator[str]:
    """For tests that change nothing."""
    with filled() as dsn:
        yield dsn


@contextmanager
def filled() -> Iterator[str]:
    """Three expired months, late rows, and rows whose time is impossible."""
    with database() as dsn:
        with connect(dsn) as db:
            fill_months(db, since="2023-01-01", until="2023-03-01")
            events(db, "2023-01-01", 300, over="89 days")
            events(db, "2022-01-01", 20, over="9 days")  # late ones
            events(db, "1970-01-01", 40)
            db.execute("INSERT INTO lifecycle_events (event_type, created_at) VALUES ('x', '-infinity')")
        yield dsn


@pytest.fixture
def store(tmp_path: Path) -> Folder:
    return Folder(path=tmp_path / "archive")


def command(dsn: str, store: Folder) -> list[str]:
    where = ["--dsn", dsn, "--schema", "lifecycle", "--archive", str(store.path)]
    return [sys.executable, "-m", "holdfast.cli", "db", "retain", *where]


def retain(dsn: str, store: Folder) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(dsn, store), cwd=ROOT, capture_output=True, text=True, check=False)


def until(holds: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert process.poll() is None, "it ended before it was in the middle"
        assert time.monotonic() < deadline, "it never came to the middle"
        time.sleep(0.01)


WAITING = f"locktype = 'advisory' AND objid = {GATE} AND NOT granted"

# Where a run can be cut off: on which table, before which change of it.
POINTS = {
    "late rows are being moved": ("INSERT", "ops.archive_log", "NEW.lower_bound < '2023-01-01'"),
    "impossible rows are being quarantined": ("INSERT", "ops.quarantine", "NEW.id = 30"),
    "the second month is being detached": ("INSERT", "ops.archive_log", "NEW.name LIKE '%2023_02'"),
    "the first month is being frozen": ("UPDATE", "ops.archive_log", "NEW.frozen_at IS NOT NULL"),
    "a chunk is stored and not recorded": ("INSERT", "ops.archive_chunk", "NEW.name LIKE '%2023_02'"),
    "a manifest is stored and not believed": (
        "UPDATE",
        "ops.archive_log",
        "NEW.archived_at IS NOT NULL AND NEW.name LIKE '%2023_02'",
    ),
    "a month is archived and not dropped": (
        "UPDATE",
        "ops.archive_log",
        "NEW.dropped_at IS NOT NULL AND NEW.name LIKE '%2023_03'",
    ),
}


class Gate:
    """A run stands still at a point, until we kill or interrupt it."""

    def __init__(self, dsn: str, point: str) -> None:
        change, table, condition = POINTS[point]
        self.db = connect(dsn)
        self.db.execute("SELECT pg_advisory_lock(%s)", (GATE,))
        self.db.execute(
            "CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN PERFORM pg_advisory_lock_shared({GATE}); RETURN NEW; END $$;"
            f"CREATE TRIGGER gate BEFORE {change} ON {table} FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION gate()"
        )
        self.table = table

    def reached(self) -> bool:
        return bool(value(self.db, f"SELECT count(*) FROM pg_locks WHERE {WAITING}"))

    def open(self) -> None:
        """What is left of the run on the server is ended, as the server itself does when it notices."""
        self.db.execute(f"SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE {WAITING}")
        self.db.execute(f"DROP TRIGGER gate ON {self.table}; DROP FUNCTION gate; SELECT pg_advisory_unlock_all()")
        self.db.close()


def everything(db: Connection, store: Folder) -> list[Row]:
    return sorted([*live(db), *archived(store), *quarantined(db)], key=lambda r: int(r[0]))


WARNING = "warning: lifecycle: RowsInQuarantine of lifecycle_events is 41\n"


@pytest.mark.parametrize("point", POINTS)
def test_a_run_that_is_killed_anywhere_is_finished_by_the_next(dsn: str, store: Folder, point: str) -> None:
    with connect(dsn) as db:
        before = live(db)
        gate = Gate(dsn, point)
        process = subprocess.Popen(command(dsn, store), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until(gate.reached, process)
        finally:
            process.kill()
            process.wait()
            gate.open()
        again = retain(dsn, store)
        assert (again.returncode, again.stderr) == (0, WARNING)
        assert live(db) == []
        assert everything(db, store) == before
        assert len(quarantined(db)) == 41
        assert [c.wrong for c in check(store.where, lambda: db, lambda _: None) if c.wrong] == []
        assert value(db, "SELECT count(*) FROM ops.archive_log WHERE dropped_at IS NULL") == 0
        assert retention.plan(db, value(db, "SELECT max(dropped_at) FROM ops.archive_log")) == []


def test_ctrl_c_says_one_line_and_loses_nothing(dsn: str, store: Folder) -> None:
    with connect(dsn) as db:
        before = live(db)
        gate = Gate(dsn, "a chunk is stored and not recorded")
        process = subprocess.Popen(
            command(dsn, store),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Tests that run in the background are made deaf to it, and so is whatever they start.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        try:
            until(gate.reached, process)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=WAIT_SECONDS)
        finally:
            process.kill()
            process.communicate()
            gate.open()
        assert process.returncode == 130
        assert err.decode() == "holdfast: interrupted; nothing is lost, and the same command finishes the work\n"
        assert retain(dsn, store).returncode == 0
        assert everything(db, store) == before


def test_a_second_run_at_the_same_time_says_so_and_ends_well(untouched: str, store: Folder) -> None:
    with psycopg.connect(untouched, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (retention.LOCK,))
        second = retain(untouched, store)
    assert (second.returncode, second.stderr) == (0, "")
    assert second.stdout == "lifecycle: another run is at work, so this one leaves it alone\n"


def test_progress_is_shown_on_a_terminal_and_cleared(dsn: str, store: Folder) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(command(dsn, store), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while block := os.read(ours, 4096):
                shown += block
        except OSError:  # the other end is closed
            pass
        os.close(ours)
    assert process.returncode == 0
    assert b"archiving lifecycle_events_2023_01: chunk 1" in shown
    *_, rest = shown.split(b"dropping ")
    assert b"\x1b[2K" in rest  # the last line, too


def run_here(*arguments: str) -> int:
    return cli.main(["db", "retain", *arguments])


def test_a_plan_is_told_and_nothing_is_done(untouched: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for _ in range(2):
        assert run_here("--dsn", untouched, "--schema", "lifecycle", "--plan", "--now", "2026-11-16T05:00Z") == 0
        told.append(capsys.readouterr().out.splitlines())
    assert told[0] == told[1]
    assert told[0][0] == "lifecycle: create lifecycle_events_2026_11"
    assert "lifecycle: drain lifecycle_events_2022_01 (20 rows)" in told[0]
    impossible = "older than anything that this table can have"
    assert f"lifecycle: quarantine lifecycle_events (40 rows) in ops.quarantine: {impossible}" in told[0]
    assert told[0][-1] == "lifecycle: drop lifecycle_events_2023_03"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--now", "yesterday"], "--now yesterday is not a time: write it as 2026-11-16T05:00Z"),
        (["--now", "2026-11-16T05:00"], "has no time zone"),
        (
            ["--now", "2999-01-01T00:00Z"],
            "is not the server's clock, and rows that are not expired would go: add --plan",
        ),
        (
            ["--now", "2020-01-01T00:00Z"],
            "is not the server's clock, and rows that are not expired would go: add --plan",
        ),
        (["--force-now"], "--force-now needs --now"),
        ([], "say where their archive is, --archive s3://bucket/prefix"),
        (["--archive", "ftp://x"], "ftp://x is no place for an archive"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(
    untouched: str, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--archive", "unused"] if "--now" in arguments else []
    assert run_here("--dsn", untouched, "--schema", "lifecycle", *arguments, *where) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert words in err
    with connect(untouched) as db:
        assert value(db, "SELECT count(*) FROM ops.archive_log") == 0


def test_a_role_that_may_not_is_told_what_it_lacks(
    untouched: str, capsys: pytest.CaptureFixture[str], store: Folder
) -> None:
    with connect(untouched) as db:
        db.execute("DROP ROLE IF EXISTS powerless; CREATE ROLE powerless LOGIN")
        other = psycopg.conninfo.make_conninfo(untouched, user="powerless")
        try:
            assert run_here("--dsn", other, "--schema", "lifecycle", "--archive", str(store.path)) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert "permission denied for schema ops: grant that, or connect as a role that has it" in line
        finally:
            db.execute("DROP ROLE powerless")


def test_a_server_that_goes_away_is_one_line_and_the_next_run_finishes(dsn: str, store: Folder) -> None:
    with connect(dsn) as db:
        before = live(db)
        gate = Gate(dsn, "a chunk is stored and not recorded")
        process = subprocess.Popen(command(dsn, store), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            until(gate.reached, process)
        finally:
            gate.open()  # ends the session on the server
        _, err = process.communicate(timeout=WAIT_SECONDS)
        assert process.returncode == 2
        assert err.count(b"\n") == 1
        assert b"the connection was lost" in err
        assert retain(dsn, store).returncode == 0
        assert everything(db, store) == before


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("open", "is open to others (mode 0755) and rows are private: chmod 700 it, or give another --archive"),
        ("file", "is not a folder that we may write to: give another --archive"),
        ("file/below", "is not a folder that we may write to: give another --archive"),
    ],
)
def test_an_archive_that_is_refused_is_refused_before_the_database_is_touched(
    untouched: str, tmp_path: Path, place: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was begun at one archive is finished there, so nothing may begin at one that cannot be used."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    (tmp_path / "file").write_text("")
    with connect(untouched) as db:
        before = live(db), value(db, "SELECT count(*) FROM ops.partitions()")
        where = ("--dsn", untouched, "--schema", "lifecycle", "--archive", str(tmp_path / place))
        assert run_here(*where) == 2
        assert capsys.readouterr() == ("", f"holdfast: {tmp_path / place.partition('/')[0]} {words}\n")
        assert value(db, "SELECT count(*) FROM ops.archive_log") == 0
        assert (live(db), value(db, "SELECT count(*) FROM ops.partitions()")) == before
        assert run_here(*where, "--plan") == 0  # which writes nothing


# The command as it is, in a process whose clock is wrong.
WITH_A_WRONG_CLOCK = """
import sys
from datetime import UTC, datetime
from functools import partial
from holdfast import cli
from holdfast.cli import databases

databases.run = partial(databases.run, clock=lambda: datetime.fromisoformat(sys.argv[1]))
sys.exit(cli.main(sys.argv[2:]))
"""


def test_a_wrong_clock_takes_no_row(dsn: str, store: Folder) -> None:
    with connect(dsn) as db:
        db.execute("INSERT INTO lifecycle_events (event_type) VALUES ('today')")
        before, months = live(db), value(db, "SELECT count(*) FROM ops.partitions()")
        for wrong in ("2131-05-01T00:00:00+00:00", "2021-05-01T00:00:00+00:00"):
            for plan in ([], ["--plan"]):
                line = [sys.executable, "-c", WITH_A_WRONG_CLOCK, wrong, *command(dsn, store)[3:], *plan]
                done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
                assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
                assert f"it is {wrong[:19]}Z on this machine and 2" in done.stderr
        assert (live(db), value(db, "SELECT count(*) FROM ops.partitions()")) == (before, months)
        assert not store.path.exists()


def test_a_forced_time_is_the_only_way_to_act_at_another_one(
    dsn: str, store: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ("--dsn", dsn, "--schema", "lifecycle", "--archive", str(store.path), "--now", "2023-06-01T05:00Z")
    assert run_here(*where) == 2
    capsys.readouterr()
    assert run_here(*where, "--force-now") == 0
    assert "lifecycle: create lifecycle_events_2023_09" in capsys.readouterr().out
    with connect(dsn) as db:
        assert value(db, "SELECT count(*) FROM lifecycle_events_2023_01") > 0  # two years were not over then


def test_a_time_is_free_to_choose_on_our_own_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(copy_of_schemas(tmp_path))
    assert cli.main(["db", "migrate"]) == 0
    assert run_here("--now", "2031-06-01T05:00Z") == 0
    assert "lifecycle: create lifecycle_events_2031_06" in capsys.readouterr().out
