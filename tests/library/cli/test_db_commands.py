"""`holdfast db` as a user runs it, in a folder that has nothing but schemas."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres import copy_of_schemas, database, server
from psycopg.conninfo import conninfo_to_dict

from holdfast.cli import main
from holdfast.postgres.connection import connect, without_variables
from holdfast.postgres.migrations import load
from holdfast.postgres.server import Server, temporary

Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = main(["db", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(copy_of_schemas(tmp_path))
    return tmp_path


def test_migrate_and_check_on_the_embedded_server(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGHOST", "nowhere.invalid")  # of another server, and no business of the embedded one
    monkeypatch.setenv("PGUSER", "eve")
    last = load(folder / "schemas" / "lifecycle")[-1].file
    files, others = (", ".join(m.file for m in load(folder / "schemas" / s)) for s in ("lifecycle", "meeting"))
    code, out, _ = run(capsys, "check")
    assert code == 1
    assert "meeting: missing V001__tables.sql: not applied; run `holdfast db migrate`\n" in out
    plan = f"lifecycle: would apply {files}\nmeeting: would apply {others}\n"
    assert run(capsys, "migrate", "--plan") == (0, plan, "")
    assert run(capsys, "migrate") == (0, plan.replace("would apply", "applied"), "")
    assert run(capsys, "migrate", "--schema", "lifecycle") == (0, f"lifecycle: up to date at {last}\n", "")
    assert run(capsys, "check") == (0, "lifecycle: as declared\nmeeting: as declared\n", "")
    assert run(capsys, "psql", "--schema", "lifecycle", "--", "-qc", "ALTER TABLE users DROP COLUMN attributes")[0] == 0
    code, out, _ = run(capsys, "check")
    assert code == 1
    assert out.splitlines()[0] == "lifecycle: missing public.users column attributes: jsonb DEFAULT '{}'::jsonb"
    code, out, _ = run(capsys, "check", "--format", "json", "--schema", "lifecycle")
    assert code == 1
    document = json.loads(out)
    assert (document["version"], document["command"]) == (1, "db check")
    assert document["summary"] == {"schemas": 1, "missing": 2, "changed": 0, "extra": 0, "unknown": 0}
    assert document["differences"][0] == {
        "schema": "lifecycle",
        "kind": "missing",
        "object": "public.users",
        "aspect": "column attributes",
        "declared": "jsonb DEFAULT '{}'::jsonb",
        "live": "",
    }


def test_an_empty_dsn_is_refused_whatever_the_environment_names(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--dsn "$UNSET", in every command that takes one."""
    with database("lifecycle") as dsn, connect(dsn) as db:
        for name in ("host", "port", "user", "dbname"):
            variable = {"dbname": "PGDATABASE"}.get(name, f"PG{name.upper()}")
            monkeypatch.setenv(variable, str(conninfo_to_dict(dsn)[name]))
        before = db.execute("SELECT count(*) FROM ops.partitions()").fetchall()
        retain = ("retain", "--now", "2035-01-01T00:00Z")
        for step in (("migrate",), ("check",), retain, (*retain, "--plan"), ("psql",)):
            for empty in ("", " "):
                code, out, err = run(capsys, *step, "--schema", "lifecycle", "--dsn", empty)
                line = "holdfast: --dsn is empty: name a server, or leave it out for the embedded one\n"
                assert (code, out, err) == (2, "", line), step
        assert db.execute("SELECT count(*) FROM ops.partitions()").fetchall() == before
    assert not (folder / ".holdfast").exists()


def test_no_variable_of_libpq_moves_the_embedded_server(folder: Path) -> None:
    """In processes: libpq reads the environment of the process itself."""
    (folder / "service.conf").write_text("[other]\nhost=/nowhere\n")
    elsewhere = {
        "PGHOST": "nowhere.invalid",
        "PGHOSTADDR": "127.0.0.1",
        "PGPORT": "1",
        "PGUSER": "eve",
        "PGDATABASE": "eve",
        "PGSERVICE": "other",
        "PGSERVICEFILE": str(folder / "service.conf"),
        "PGOPTIONS": "-c nonsense=1",
        "PGPASSWORD": "geheim",
        "PGSSLMODE": "nonsense",
        "PGTARGETSESSIONATTRS": "standby",
        "PGREQUIREAUTH": "scram-sha-256",
        "PGAPPNAME": "eve",
        "PGCLIENTENCODING": "nonsense",
        "PGCONNECT_TIMEOUT": "nonsense",
        "PGDATESTYLE": "nonsense",
    }
    event = "INSERT INTO lifecycle_events (event_type, created_at) VALUES ('old', '2022-01-05')"
    command(folder, "migrate", **elsewhere)
    command(folder, "psql", "--schema", "lifecycle", "--", "-qc", event, **elsewhere)
    done = command(folder, "retain", "--now", "2035-01-01T00:00Z", **elsewhere)
    assert "lifecycle: archive lifecycle_events_2022_01 (1 row)\n" in done.stdout
    assert command(folder, "restore-check", ".holdfast/archive", **elsewhere).stdout.startswith("ok ")
    assert command(folder, "check", **elsewhere).stdout == "lifecycle: as declared\nmeeting: as declared\n"


def test_the_environment_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOSTADDR", "127.0.0.1")
    monkeypatch.setenv("PG_BIN", "ours")
    with without_variables():
        assert [name for name in os.environ if name.startswith("PG")] == ["PG_BIN"]
    assert os.environ["PGHOSTADDR"] == "127.0.0.1"


def test_commands_at_the_same_time_on_a_fresh_folder_all_end_well(folder: Path) -> None:
    command = [sys.executable, "-m", "holdfast.cli", "db", "migrate"]
    runners = [
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [runner.communicate(timeout=120) for runner in runners]
    assert [runner.returncode for runner in runners] == [0, 0], said
    assert sorted(out.count("applied") for out, _ in said) in ([0, 2], [1, 1])
    scratch = Path((folder / ".holdfast" / "postgres" / "socket").read_text())
    assert not scratch.exists()


def test_any_server_by_dsn(folder: Path, capsys: Capture) -> None:
    with database() as dsn:
        here = ("--schema", "meeting", "--dsn", dsn)
        applied = f"meeting: applied {', '.join(m.file for m in load(folder / 'schemas' / 'meeting'))}\n"
        assert run(capsys, "migrate", *here) == (0, applied, "")
        assert run(capsys, "check", *here) == (0, "meeting: as declared\n", "")
        assert run(capsys, "psql", *here, "--", "-qc", "CREATE TABLE notes (a int)")[0] == 0
        assert run(capsys, "psql", *here, "--", "-qc", "SELECT 1/0")[0] != 0
        assert run(capsys, "check", *here) == (1, "meeting: extra public.notes: table\n", "")
    assert not (folder / ".holdfast").exists()


def test_s3_74_rows_of_a_database_without_partitions_end_by_command(folder: Path, capsys: Capture) -> None:
    with database("meeting") as dsn, connect(dsn) as db:
        db.execute(
            "INSERT INTO operation_logs (operation, resource_type, created_at) "
            "VALUES ('old', 'user', now() - interval '2 years'), ('new', 'user', now())"
        )
        here = ("retain", "--schema", "meeting", "--dsn", dsn, "--archive", str(folder / "archive"))
        assert run(capsys, *here, "--plan") == (0, "meeting: purge operation_logs (1 row)\n", "")
        assert run(capsys, *here) == (0, "meeting: purge operation_logs (1 row)\n", "")
        assert run(capsys, *here) == (0, "meeting: nothing was to be done\n", "")
        assert db.execute("SELECT operation FROM operation_logs").fetchall() == [("new",)]


def test_what_could_not_be_read_is_exit_3_and_never_fine(folder: Path, capsys: Capture) -> None:
    with database("lifecycle") as dsn, connect(dsn) as admin:
        admin.execute("CREATE ROLE blind LOGIN")
        try:
            here = ("check", "--schema", "lifecycle", "--dsn", f"{dsn} user=blind")
            code, out, _ = run(capsys, *here)
            assert code == 3
            assert out.startswith("lifecycle: unknown reading which migrations are applied: permission denied for ")
            code, out, _ = run(capsys, *here, "--format", "json")
            assert code == 3
            assert json.loads(out)["summary"]["unknown"] == 1
        finally:
            admin.execute("DROP ROLE blind")


def test_an_older_package_says_that_the_database_is_newer(folder: Path, capsys: Capture) -> None:
    with database("meeting") as dsn, connect(dsn) as connection:
        connection.execute("INSERT INTO holdfast.migrations (version, name, sha256, took) VALUES (9, 'new', '', '0')")
        here = ("--schema", "meeting", "--dsn", dsn)
        nothing = "meeting: nothing done: a newer package has applied V009__new.sql; deploy that one\n"
        assert run(capsys, "migrate", *here) == (0, nothing, "")
        code, out, _ = run(capsys, "check", *here)
        assert code == 3
        assert out == ("meeting: unknown V009__new.sql: applied by a newer package, which has to check this database\n")


def test_a_file_edited_after_it_was_applied_is_exit_2(folder: Path, capsys: Capture) -> None:
    path = folder / "schemas" / "meeting" / "V001__tables.sql"
    path.write_text(path.read_text() + "-- one more word\n")
    with database("meeting") as dsn:
        for step in ("migrate", "check"):
            code, out, err = run(capsys, step, "--schema", "meeting", "--dsn", dsn)
            assert (code, out) == (2, "")
            assert err.startswith("holdfast: V001__tables.sql was changed after it was applied")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("migrate", "--dsn", "x"),
            "--dsn is one database: say which schema it has, --schema lifecycle or --schema meeting",
        ),
        (("check", "--schema", "nope"), "unknown schema 'nope': known are lifecycle, meeting"),
        (("psql",), "psql opens one database: --schema lifecycle or --schema meeting"),
        (
            ("check", "--schema", "meeting", "--dsn", "host=/nowhere dbname=x"),
            "no PostgreSQL answers at /nowhere:5432 (No such file or directory): start it, or give another DSN",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments: tuple[str, ...], line: str, folder: Path, capsys: Capture) -> None:
    assert run(capsys, *arguments) == (2, "", f"holdfast: {line}\n")
    assert not (folder / ".holdfast").exists()


def test_a_folder_without_schemas_or_with_a_broken_catalog_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    line = "holdfast: there is no schemas/<name>/V001__name.sql here: run in a repository that has schemas/\n"
    assert run(capsys, "check") == (2, "", line)
    copy_of_schemas(tmp_path)
    declared = tmp_path / "schemas" / "meeting" / "catalog.json"
    here = ("check", "--schema", "meeting", "--dsn", server().dsn())
    declared.write_text("{")
    assert run(capsys, *here)[2].startswith("holdfast: schemas/meeting/catalog.json is not JSON (")
    declared.unlink()
    code, _, err = run(capsys, *here)
    assert code == 2
    assert err == (
        "holdfast: schemas/meeting/catalog.json is not there: "
        "write it with `python -m holdfast.postgres.write_catalogs`\n"
    )


def command(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, which would let everybody read what it writes."""
    line = [sys.executable, "-m", "holdfast.cli", "db", *arguments]
    done = subprocess.run(
        line, cwd=folder, env=os.environ | environment, umask=0, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done
    return done


def open_to_others(folder: Path) -> list[str]:
    paths = [folder, *folder.rglob("*")]
    return [f"{p} {p.stat().st_mode & 0o777:o}" for p in paths if p.lstat().st_mode & 0o077 and not p.is_symlink()]


def test_what_the_embedded_server_and_its_archive_hold_is_private_and_what_was_open_is_closed(folder: Path) -> None:
    event = "INSERT INTO lifecycle_events (event_type, created_at) VALUES ('old', '2022-01-05')"
    command(folder, "migrate")
    command(folder, "psql", "--schema", "lifecycle", "--", "-qc", event)
    command(folder, "retain")
    ours = folder / ".holdfast"
    assert list((ours / "archive").rglob("manifest.json"))
    assert open_to_others(ours) == []
    places = (ours / "postgres", *(p for p in (ours / "postgres").iterdir() if p.is_file()))
    for place in places:
        place.chmod(place.stat().st_mode | 0o055)
    command(folder, "check")
    assert open_to_others(ours) == []


@pytest.mark.parametrize("step", ["migrate", "check", "retain", "psql"])
@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://ann:geheim@127.0.0.1/x",
        "postgresql://ann@127.0.0.1/x?password=geheim",
        "host=/tmp password=geheim",
        "host=/tmp sslpassword=geheim",
    ],
)
def test_a_password_on_the_command_line_is_refused_and_not_repeated(
    step: str, dsn: str, folder: Path, capsys: Capture
) -> None:
    more = ["--archive", "unused"] if step == "retain" else []
    code, out, err = run(capsys, step, "--schema", "meeting", "--dsn", dsn, *more)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.match(
        r"holdfast: --dsn holds a (ssl)?password, which everybody .* PGPASSWORD or in a file .* PGPASSFILE", err
    )
    assert "geheim" not in err


@pytest.fixture(scope="module")
def guarded() -> Iterator[Server]:
    """A server that asks for a password."""
    with temporary() as server:
        with connect(server.dsn()) as db:
            db.execute("CREATE ROLE ann SUPERUSER LOGIN PASSWORD 'geheim'")
            (rules,) = db.execute("SHOW hba_file").fetchone() or ("",)
            db.execute(f"COPY (SELECT 'local all ann scram-sha-256') TO '{rules}'".encode())
            db.execute("SELECT pg_reload_conf()")
        yield server


def test_a_password_from_the_environment_or_a_file_stands_in_no_process_list(
    guarded: Server, folder: Path, tmp_path: Path
) -> None:
    where = ("--schema", "meeting", "--dsn", guarded.dsn().replace("user=postgres", "user=ann"))
    passwords = tmp_path / "passwords"
    passwords.write_text("*:*:*:ann:geheim\n")
    passwords.chmod(0o600)
    seen = r"\! tr '\0' ' ' < /proc/$PPID/cmdline"  # what stands there of psql itself
    for environment in ({"PGPASSWORD": "geheim"}, {"PGPASSFILE": str(passwords)}):
        done = command(folder, "psql", *where, "--", "-qAtc", "SELECT current_user", "-c", seen, **environment)
        assert done.stdout.startswith("ann\n")
        assert "user=ann" in done.stdout
        assert "geheim" not in done.stdout


# A name that clears the screen, turns the direction and forges a line.
HOSTILE = "a\x1b[2Jb\u202ec\u2066d\u200fe\u061cf\x9bg\nlifecycle: as declared"
SHOWN = r"a\x1b[2Jb\u202ec\u2066d\u200fe\u061cf\x9bg\nlifecycle: as declared"


def test_names_in_a_database_cannot_steer_the_terminal(folder: Path, capsys: Capture) -> None:
    with database("lifecycle") as dsn, connect(dsn) as db:
        where = ("--schema", "lifecycle", "--dsn", dsn)
        db.execute(f'CREATE TABLE "{HOSTILE}" (a int)'.encode())
        assert run(capsys, "check", *where) == (1, f"lifecycle: extra public.{SHOWN}: table\n", "")
        code, out, _ = run(capsys, "check", "--format", "json", *where)
        assert code == 1
        assert out.isascii()
        assert json.loads(out)["differences"][0]["object"] == f"public.{HOSTILE}"
        db.execute(
            "INSERT INTO ops.archive_log "
            "(name, parent, lower_bound, upper_bound, part, archive, detached_at, frozen_at) "
            "VALUES (%s, 'lifecycle_events', '2022-01-01', '2022-02-01', 1, true, now(), now())",
            (HOSTILE,),
        )
        code, out, err = run(capsys, "retain", "--archive", "unused", *where)
        assert code == 2
        assert err == f"holdfast: cold.{SHOWN} is gone and was not archived: restore it from a backup\n"
        db.execute("UPDATE ops.archive_log SET archive = false")
        code, out, err = run(capsys, "retain", "--plan", *where)
        assert f"lifecycle: drop {SHOWN}\n" in out
