"""A million events archived, verified and dropped by `holdfast db retain`, and what its locks cost writers.

The job is killed once in the middle and run again; what comes back must be what was there. Its speed stands beside
plain COPY of the same rows, which does nothing but read them. The servers are temporary and do not fsync.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from holdfast.postgres import migrations
from holdfast.postgres.connection import Connection, connect
from holdfast.postgres.server import Server, candidates, major, temporary
from holdfast.text import columns

ROOT = Path(__file__).resolve().parent.parent
PARTITION = "lifecycle_events_2023_01"
USER = "00000000-0000-0000-0000-000000000001"
WRITERS = 3
MAX_STALL = 0.25  # seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    majors = {major(folder): folder for folder in reversed(candidates().values())}
    with temporary(majors[max(majors)]) as server, tempfile.TemporaryDirectory() as place:
        print(archive(server, Path(place), rows, max(majors)))
    print()
    print(stalls({number: majors[number] for number in sorted(majors, reverse=True)}))


def archive(server: Server, place: Path, rows: int, version: int) -> str:
    _say(f"writing {rows:,} events")
    with _database(server, "prepared") as db:
        db.execute("SELECT ops.create_partition('lifecycle_events', '2023-01-01')")
        db.execute(
            "INSERT INTO lifecycle_events (event_type, user_id, lifecycle_stage, event_data, created_at) "
            "SELECT 'page_view', %s, 'Revenue', jsonb_build_object('n', g, 'url', '/p/' || md5(g::text)), "
            "  timestamptz '2023-01-01' + g * (interval '31 days' / %s) FROM generate_series(0, %s - 1) g",
            (USER, rows, rows),
        )
        db.execute("VACUUM ANALYZE lifecycle_events")
        before = db.execute(
            "SELECT rows, fingerprint::text FROM ops.fingerprint(%s::regclass)", (PARTITION,)
        ).fetchone()
        copy = min(_copy(db) for _ in range(3))
    for name in ("whole", "killed"):
        with connect(server.dsn()) as admin:
            admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE prepared").format(sql.Identifier(name)))
    _say("archiving in one go")
    began = time.perf_counter()
    _finish(server, "whole", place)
    whole = time.perf_counter() - began
    _say("archiving, killed in the middle")
    stored = _kill(server, place)
    began = time.perf_counter()
    _finish(server, "killed", place)
    rest = time.perf_counter() - began
    after = [_archived(place / name) for name in ("whole", "killed")]
    began = time.perf_counter()
    proof = subprocess.run([*_command(), "restore-check", str(place / "killed")], cwd=ROOT, capture_output=True)
    back = time.perf_counter() - began
    same = after == [before, before] and proof.returncode == 0
    table = columns(
        [
            ["what", "seconds", "rows per second", "of COPY"],
            ["plain COPY to standard output", f"{copy:.1f}", f"{rows / copy:,.0f}", "1.00"],
            ["db retain: archive, verify, drop", f"{whole:.1f}", f"{rows / whole:,.0f}", f"{copy / whole:.2f}"],
            [f"the same, killed after {stored} chunks: the second run", f"{rest:.1f}", "", ""],
            ["db restore-check of that archive", f"{back:.1f}", f"{rows / back:,.0f}", f"{copy / back:.2f}"],
        ]
    )
    verdict = "equal" if same else f"DIFFERENT: {before} became {after}, restore-check ended with {proof.returncode}"
    size = sum(p.stat().st_size for p in (place / "killed").rglob("*") if p.is_file())
    return f"{rows:,} events on PostgreSQL {version}, {size / 1e6:.0f} MB archived\n\n{table}\n\nread back: {verdict}"


def _copy(db: Connection) -> float:
    began = time.perf_counter()
    with db.cursor().copy(f"COPY {PARTITION} TO STDOUT (FORMAT csv)") as blocks:
        for _ in blocks:
            pass
    return time.perf_counter() - began


def _kill(server: Server, place: Path) -> int:
    """Ends a run with SIGKILL when it has recorded two chunks; returns how many it had."""
    process = _start(server, "killed", place)
    with connect(server.dsn("killed")) as db:
        while _one(db, "SELECT count(*) FROM ops.archive_chunk") < 2:
            if process.poll() is not None:
                raise SystemExit("the run ended before it could be killed: give more --rows")
        process.kill()
        process.wait()
        return int(_one(db, "SELECT count(*) FROM ops.archive_chunk"))


def _finish(server: Server, name: str, place: Path) -> None:
    """Runs until there is nothing left; a killed run's session may hold its lock for a moment more."""
    with connect(server.dsn(name)) as db:
        while True:
            if code := _start(server, name, place).wait():
                raise SystemExit(f"db retain ended with {code}")
            if _one(db, "SELECT count(*) FROM ops.archive_log WHERE dropped_at IS NOT NULL") == 1:
                return


def _archived(place: Path) -> tuple[int, str]:
    (manifest,) = [json.loads(path.read_text()) for path in place.rglob("manifest.json")]
    return manifest["rows"], manifest["fingerprint"]


def stalls(majors: dict[int, Path]) -> str:
    table = [
        ["PostgreSQL", "partitions made, taken out, dropped", "writes", "errors", "longest before", "longest stall"]
    ]
    for number, binaries in majors.items():
        _say(f"{WRITERS} writers on PostgreSQL {number}")
        with temporary(binaries) as server, tempfile.TemporaryDirectory() as place:
            table.append([str(number), *_stall(server, Path(place))])
    goal = f"{WRITERS} writers in transactions (insert an event, update its user, read), while `db retain` runs"
    return f"{goal}; the goal is a stall below {MAX_STALL * 1000:.0f} ms\n\n{columns(table)}"


def _stall(server: Server, place: Path) -> list[str]:
    now = datetime.now(UTC)
    with _database(server, "written") as db:
        months = (
            ("lifecycle_events", now.replace(year=now.year - 4)),
            ("trigger_executions", now.replace(year=now.year - 1)),
        )
        for parent, since in months:
            query = "SELECT lower_bound FROM ops.missing_partitions(%s, %s) WHERE parent = %s AND lower_bound < %s"
            for (lower,) in db.execute(query, (now, since, parent, now)).fetchall():
                db.execute("SELECT ops.create_partition(%s, %s)", (parent, lower))
        stop, calm = threading.Event(), threading.Event()
        latencies: list[tuple[bool, float]] = []
        wrong: list[str] = []
        arguments = (server.dsn("written"), stop, calm, latencies, wrong)
        writers = [threading.Thread(target=_write, args=arguments) for _ in range(WRITERS)]
        for writer in writers:
            writer.start()
        try:
            time.sleep(3)
            calm.set()
            output = _start(server, "written", place, stdout=subprocess.PIPE).communicate()[0].decode().splitlines()
        finally:
            stop.set()
            for writer in writers:
                writer.join()
    done = [sum(f": {action} " in line for line in output) for action in ("create", "detach", "drop")]
    before, during = ([s for busy, s in latencies if busy is which] for which in (False, True))
    worst = max(during)
    return [
        ", ".join(map(str, done)),
        f"{len(latencies)}",
        f"{len(wrong)}",
        f"{max(before) * 1000:.0f} ms",
        f"{worst * 1000:.0f} ms" + ("" if worst < MAX_STALL else ", ABOVE THE GOAL"),
    ]


def _write(
    dsn: str, stop: threading.Event, busy: threading.Event, latencies: list[tuple[bool, float]], wrong: list[str]
) -> None:
    with psycopg.connect(dsn, autocommit=True) as db:
        while not stop.is_set():
            during, began = busy.is_set(), time.perf_counter()
            try:
                with db.transaction():
                    db.execute(
                        "INSERT INTO lifecycle_events (event_type, user_id, created_at) "
                        "VALUES ('e', %s, now() - random() * interval '600 days')",
                        (USER,),
                    )
                    db.execute("UPDATE users SET updated_at = now() WHERE id = %s", (USER,))
                    db.execute("SELECT count(*) FROM lifecycle_events WHERE created_at > now() - interval '9 days'")
            except psycopg.Error as error:
                wrong.append(str(error))
            latencies.append((during, time.perf_counter() - began))


@contextmanager
def _database(server: Server, name: str) -> Iterator[Connection]:
    with connect(server.dsn()) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    with connect(server.dsn(name)) as db:
        migrations.migrate(db, migrations.load(ROOT / "schemas" / "lifecycle"))
        db.execute("INSERT INTO users (id, email, current_lifecycle_stage) VALUES (%s, 'a@b', 'Revenue')", (USER,))
        yield db


def _command() -> list[str]:
    return [sys.executable, "-m", "holdfast.cli", "db"]


def _start(server: Server, name: str, place: Path, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    where = ["--dsn", server.dsn(name), "--schema", "lifecycle", "--archive", str(place / name)]
    return subprocess.Popen([*_command(), "retain", *where], cwd=ROOT, stdout=stdout)


def _one(db: Connection, query: str) -> Any:
    row = db.execute(query).fetchone()
    return row[0] if row else None


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
