"""The retention job: partitions ahead, expired ones archived, verified and dropped, expired rows purged.

Each step is one short transaction and says in the database what it did, so a run that is cut off anywhere is
finished by the next one.

The server's clock decides what is expired. A row whose time is impossible (infinite, before the policy's ``earliest``,
further ahead than partitions are made) is never deleted: from a partitioned table it is moved to ops.quarantine, like a
late row of a table without an archive; in any other table it stays. Both are counted until somebody acts.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg import errors

from holdfast.errors import InputError
from holdfast.postgres.archive import (
    MANIFEST,
    SETTINGS,
    Chunk,
    Manifest,
    Store,
    columns_of,
    export,
    key_of,
    page_end,
    refuse_other,
    verified,
)
from holdfast.postgres.connection import Connection
from holdfast.text import counted

POLICY = "ops.partition_policy"
LOCK = 4_704_686_467_001  # of pg_try_advisory_lock: one run at a time in a database
CHUNK_ROWS = 200_000
BATCH_ROWS = 1_000
RESERVE = 30.0  # seconds that a run keeps to end in order
PATIENCE = 60.0  # seconds that one lock is asked for
QUARANTINE = "ops.quarantine"
CLOCKS_APART = timedelta(minutes=5)  # more, and one of the two clocks is wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that is done, or would be."""

    action: str
    name: str
    rows: int | None = None
    why: str = ""

    def __str__(self) -> str:
        rows = "" if self.rows is None else f" ({counted(self.rows, 'row')})"
        return f"{self.action} {self.name}{rows}{self.why and f' in {QUARANTINE}: {self.why}'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """One figure to be alarmed about."""

    table: str
    metric: str
    value: int

    @property
    def worrying(self) -> bool:
        return self.value < 1 if self.metric == "PartitionsAhead" else self.value > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run did. ``unfinished`` says where its time ran out; the next run goes on there."""

    steps: tuple[Step, ...] = ()
    health: tuple[Health, ...] = ()
    unfinished: str | None = None
    busy: bool = False  # another run was at work, and this one did nothing


class _OutOfTimeError(Exception):
    """The time that was given is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    db: Connection
    store: Store
    now: datetime
    time_left: Callable[[], float]
    progress: Callable[[str], None]
    chunk_rows: int
    steps: list[Step] = field(default_factory=list)

    def done(self, action: str, name: str, rows: int | None = None, why: str = "") -> None:
        self.steps.append(Step(action=action, name=name, rows=rows, why=why))

    def check_time(self, name: str) -> None:
        if self.time_left() < RESERVE:
            raise _OutOfTimeError(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cold:
    """One table that waits in schema cold."""

    name: str
    parent: str
    lower_bound: datetime
    upper_bound: datetime
    part: int
    archive: bool
    archived: bool

    @property
    def partition(self) -> str:
        return self.name.removesuffix(f"_part{self.part}")

    @property
    def home(self) -> str:
        return f"{self.parent}/{self.partition}/part-{self.part:03d}"


def server_time(db: Connection, clock: datetime) -> datetime:
    """The time to act at: the server's, when the clock of this machine agrees with it."""
    now: datetime = _value(db, "SELECT clock_timestamp()", ())
    if abs(now - clock) > CLOCKS_APART:
        here, there = (f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" for at in (clock, now))
        raise InputError(
            f"it is {here} on this machine and {there} on the server: nothing is done before both clocks agree"
        )
    return now


def plan(db: Connection, now: datetime) -> list[Step]:
    """What a run would do; changes nothing."""
    _check_policy(db)
    missing = db.execute(
        "SELECT ops.partition_name(m.parent, m.lower_bound, p.step) FROM ops.missing_partitions(%s) m "
        "JOIN ops.partition_policy p USING (parent) ORDER BY 1",
        (now,),
    ).fetchall()
    expired = db.execute("SELECT partition, archive FROM ops.expired_partitions(%s)", (now,)).fetchall()
    waiting = [(c.name, c.archive and not c.archived) for c in _waiting(db)]
    late = db.execute(
        "SELECT ops.partition_name(l.parent, l.lower_bound, p.step), l.rows "
        "FROM ops.late_rows(%s) l JOIN ops.partition_policy p USING (parent) ORDER BY 1",
        (now,),
    ).fetchall()
    steps = [Step(action="create", name=name) for (name,) in missing]
    steps += [Step(action="detach", name=name) for name, _ in expired]
    steps += [Step(action="guard", name=name) for name in _unguarded(db) if name not in dict(expired)]
    steps += [Step(action="drain", name=name, rows=rows) for name, rows in late]
    steps += [Step(action="quarantine", name=name, rows=rows, why=why) for name, why, rows in _displaced(db, now)]
    steps += [Step(action="archive", name=name) for name, archive in (*waiting, *expired) if archive]
    steps += [Step(action="drop", name=name) for name, _ in (*waiting, *expired)]
    for (table,) in db.execute("SELECT table_name FROM ops.row_policy ORDER BY 1").fetchall():
        if rows := _value(db, "SELECT ops.expired_rows(%s, %s)", (table, now)):
            steps.append(Step(action="purge", name=table, rows=rows))
    return steps


def run(
    db: Connection,
    store: Store,
    *,
    now: datetime,
    time_left: Callable[[], float] = lambda: float("inf"),
    progress: Callable[[str], None] = lambda _: None,
    chunk_rows: int = CHUNK_ROWS,
) -> Outcome:
    """The whole job, as far as the time reaches."""
    _check_policy(db)
    db.execute(SETTINGS)
    job = _Job(db=db, store=store, now=now, time_left=time_left, progress=progress, chunk_rows=chunk_rows)
    unfinished = None
    with _alone(db) as alone:
        if not alone:
            return Outcome(busy=True)
        try:
            _create(job)
            _detach(job)
            _guard(job)
            _drain(job)
            _quarantine(job)
            _freeze(job)
            for table in _waiting(db):
                if table.archive and not table.archived:
                    _archive(job, table)
                progress(f"dropping {table.name}")
                _patiently(db, "SELECT ops.drop_detached(%s, %s)", (table.name, now))
                job.done("drop", table.name)
            _purge(job)
        except _OutOfTimeError as error:
            unfinished = str(error)
        return Outcome(steps=tuple(job.steps), health=health(db, now), unfinished=unfinished)


def health(db: Connection, now: datetime) -> tuple[Health, ...]:
    rows = db.execute("SELECT parent, metric, value FROM ops.health(%s)", (now,)).fetchall()
    return tuple(Health(table=table, metric=metric, value=value) for table, metric, value in rows)


def metrics(health: Sequence[Health], *, namespace: str, database: str, at: datetime) -> list[str]:
    """Lines that CloudWatch reads as metrics when a function prints them: no call, no end point."""
    lines = []
    for table in dict.fromkeys(h.table for h in health):
        values = {h.metric: h.value for h in health if h.table == table}
        directive = {
            "Namespace": namespace,
            "Dimensions": [["Database", "Table"]],
            "Metrics": [{"Name": name, "Unit": "Count"} for name in values],
        }
        about = {"Timestamp": int(at.timestamp() * 1000), "CloudWatchMetrics": [directive]}
        lines.append(json.dumps({"_aws": about, "Database": database, "Table": table, **values}))
    return lines


def has_policy(db: Connection) -> bool:
    return _value(db, "SELECT to_regclass(%s) IS NOT NULL", (POLICY,)) is True


def _check_policy(db: Connection) -> None:
    if not has_policy(db):
        raise InputError(f"{db.info.dbname} has no retention policy (no {POLICY}): run `holdfast db migrate` first")
    if _value(db, "SELECT to_regclass(%s) IS NULL", (QUARANTINE,)):
        raise InputError(f"{db.info.dbname} has no {QUARANTINE}: run `holdfast db migrate` first")


@contextmanager
def _alone(db: Connection) -> Iterator[bool]:
    """Whether this run is the only one; it stays so until the end."""
    with suppress(psycopg.Error):  # a killed run's session ends soon and frees its lock; not every platform can tell
        db.execute("SET client_connection_check_interval = '1s'")
    alone = _value(db, "SELECT pg_try_advisory_lock(%s)", (LOCK,)) is True
    try:
        yield alone
    finally:
        if alone and not db.closed:
            with suppress(psycopg.Error):  # a broken session has lost it already
                db.execute("SELECT pg_advisory_unlock(%s)", (LOCK,))


def _patiently(db: Connection, query: str, values: tuple[Any, ...]) -> Any:
    """One short transaction. Its locks are asked for again and again, never waited for: writers come first."""
    return _in_turns(db, [(query, values)])


def _in_turns(db: Connection, ways: Sequence[tuple[str, tuple[Any, ...]]]) -> Any:
    """The same in one of several ways that take their locks in different orders, tried in turn."""
    deadline, pause = time.monotonic() + PATIENCE, 0.05
    for query, values in itertools.cycle(ways):
        try:
            with db.transaction():
                return _value(db, query, values)
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            if time.monotonic() > deadline:
                raise
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(1.0, pause * 1.2)
    return None


def _value(db: Connection, query: str, values: tuple[Any, ...]) -> Any:
    row = db.execute(query, values).fetchone()
    return row[0] if row else None


def _waiting(db: Connection) -> list[_Cold]:
    rows = db.execute(
        "SELECT name, parent, lower_bound, upper_bound, part, archive, archived_at IS NOT NULL FROM ops.archive_log "
        "WHERE dropped_at IS NULL ORDER BY parent, lower_bound, part"
    )
    names = ("name", "parent", "lower_bound", "upper_bound", "part", "archive", "archived")
    return [_Cold(**dict(zip(names, row, strict=True))) for row in rows]


def _create(job: _Job) -> None:
    query = (
        "SELECT m.parent, m.lower_bound, ops.partition_name(m.parent, m.lower_bound, p.step) "
        "FROM ops.missing_partitions(%s) m JOIN ops.partition_policy p USING (parent)"
    )
    for parent, lower, name in job.db.execute(query, (job.now,)).fetchall():
        job.progress(f"creating {name}")
        _in_turns(
            job.db, [("SELECT ops.create_partition(%s, %s, %s)", (parent, lower, first)) for first in (True, False)]
        )
        job.done("create", name)


def _detach(job: _Job) -> None:
    for (name,) in job.db.execute("SELECT partition FROM ops.expired_partitions(%s)", (job.now,)).fetchall():
        job.progress(f"detaching {name}")
        query = "SELECT ops.detach_partition(%s, %s, %s)"
        job.done("detach", _in_turns(job.db, [(query, (name, job.now, first)) for first in (True, False)]))


def _guard(job: _Job) -> None:
    """What was made by hand, as the first partitions may be, is guarded like what this job makes."""
    for name in _unguarded(job.db):
        _patiently(job.db, "SELECT ops.guard(to_regclass(format('public.%%I', %s::text)))", (name,))
        job.done("guard", name)


def _unguarded(db: Connection) -> list[str]:
    """Partitions of archived tables that a plain DROP TABLE would take, unarchived."""
    rows = db.execute(
        "SELECT p.partition FROM ops.partitions() p JOIN ops.partition_policy policy USING (parent) "
        "WHERE policy.archive AND to_regclass(format('cold.%I', 'archive_first_' || p.partition)) IS NULL ORDER BY 1"
    )
    return [name for (name,) in rows]


def _drain(job: _Job) -> None:
    """Late rows leave DEFAULT for a further part of their month, which is then archived like every other."""
    query = (
        "SELECT l.parent, l.lower_bound, ops.partition_name(l.parent, l.lower_bound, p.step) "
        "FROM ops.late_rows(%s) l JOIN ops.partition_policy p USING (parent)"
    )
    for parent, lower, name in job.db.execute(query, (job.now,)).fetchall():
        values = (parent, lower, job.now, BATCH_ROWS)
        if rows := _batches(job, name, "SELECT ops.drain_late(%s, %s, %s, %s)", values):
            job.done("drain", name, rows)


def _quarantine(job: _Job) -> None:
    """What neither a partition nor an archive can take leaves DEFAULT, too, and is kept where somebody can look."""
    for parent, why, _ in _displaced(job.db, job.now):
        values = (parent, why, job.now, BATCH_ROWS)
        if rows := _batches(job, parent, "SELECT ops.quarantine_rows(%s, %s, %s, %s)", values):
            job.done("quarantine", parent, rows, why)


def _displaced(db: Connection, now: datetime) -> list[tuple[Any, ...]]:
    return db.execute("SELECT parent, reason, rows FROM ops.displaced_rows(%s)", (now,)).fetchall()


def _freeze(job: _Job) -> None:
    for (name,) in job.db.execute(
        "SELECT name FROM ops.archive_log WHERE frozen_at IS NULL AND dropped_at IS NULL ORDER BY parent, lower_bound"
    ).fetchall():
        job.progress(f"freezing {name}")
        while not _patiently(job.db, "SELECT ops.freeze_partition(%s, %s)", (name, job.now)):
            pass


def _purge(job: _Job) -> None:
    for (table,) in job.db.execute("SELECT table_name FROM ops.row_policy ORDER BY 1").fetchall():
        if rows := _batches(job, table, "SELECT ops.purge_rows(%s, %s, %s)", (table, job.now, BATCH_ROWS)):
            job.done("purge", table, rows)


def _batches(job: _Job, name: str, query: str, values: tuple[Any, ...]) -> int:
    total = 0
    while True:
        job.check_time(name)
        rows: int = _patiently(job.db, query, values)
        if rows == 0:
            return total
        total += rows
        job.progress(f"{name}: {total} rows gone from the table")


def _archive(job: _Job, table: _Cold) -> None:
    """One table into chunks, each recorded when it is stored; then all read back; then the manifest; then the mark."""
    db, store = job.db, job.store
    _claim(job, table)
    key = key_of(db, table.name)
    recorded = db.execute(
        "SELECT chunk, last_key FROM ops.archive_chunk WHERE name = %s ORDER BY chunk DESC LIMIT 1", (table.name,)
    ).fetchone()
    number, after = recorded or (0, None)
    while last := page_end(db, table.name, key, after, job.chunk_rows):
        job.check_time(table.name)
        number += 1
        body, rows = export(db, table.name, key, after, last)
        chunk = _stored(store, table, number, body, rows)
        db.execute(
            "INSERT INTO ops.archive_chunk (name, chunk, after_key, last_key, rows, bytes, sha256, object) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            (table.name, number, after, last, chunk.rows, chunk.bytes, chunk.sha256, chunk.object),
        )
        job.progress(f"archiving {table.name}: chunk {number}, {chunk.rows} rows")
        after = last
    chunks = _read_back(job, table, key)
    rows, fingerprint = db.execute(
        "SELECT * FROM ops.fingerprint(to_regclass(%s))", (f"cold.{table.name}",)
    ).fetchone() or (0, 0)
    manifest = Manifest(
        table=table.parent,
        partition=table.partition,
        part=table.part,
        lower_bound=table.lower_bound,
        upper_bound=table.upper_bound,
        columns=columns_of(db, table.name),
        rows=rows,
        fingerprint=str(fingerprint),
        chunks=chunks,
    ).to_json()
    name = f"{table.home}/{MANIFEST}"
    store.put(name, manifest)
    refuse_other(f"{store.where}/{name}", store.get(name), manifest)
    _patiently(
        db,
        "SELECT ops.mark_archived(%s, %s, %s, %s)",
        (table.name, f"{store.where}/{name}", fingerprint, job.now),
    )
    job.done("archive", table.name, rows)


def _claim(job: _Job, table: _Cold) -> None:
    """Chunks of one table go to one place, also when a second run finishes it."""
    if _value(job.db, "SELECT to_regclass(%s) IS NULL", (f"cold.{table.name}",)):
        raise InputError(f"cold.{table.name} is gone and was not archived: restore it from a backup")
    job.db.execute(
        "UPDATE ops.archive_log SET place = %s WHERE name = %s AND place IS NULL", (job.store.where, table.name)
    )
    place = _value(job.db, "SELECT place FROM ops.archive_log WHERE name = %s", (table.name,))
    if place != job.store.where:
        raise InputError(f"the archive of {table.name} was begun at {place}: finish it with --archive {place}")


def _stored(store: Store, table: _Cold, number: int, body: bytes, rows: int) -> Chunk:
    digest = hashlib.sha256(body).hexdigest()
    name = f"{number:06d}-{digest[:16]}.csv.gz"
    store.put(f"{table.home}/{name}", body)
    return Chunk(object=name, rows=rows, bytes=len(body), sha256=digest)


def _read_back(job: _Job, table: _Cold, key: Sequence[str]) -> tuple[Chunk, ...]:
    """Every recorded chunk as it is stored now; one that has vanished is written again."""
    chunks = []
    for number, after, last, rows, size, digest, name in job.db.execute(
        "SELECT chunk, after_key, last_key, rows, bytes, sha256, object FROM ops.archive_chunk "
        "WHERE name = %s ORDER BY chunk",
        (table.name,),
    ).fetchall():
        job.progress(f"verifying {table.name}: chunk {number}")
        chunk = Chunk(object=name, rows=rows, bytes=size, sha256=digest)
        path = f"{table.home}/{name}"
        body = job.store.get(path)
        if body is None:
            job.store.put(path, export(job.db, table.name, key, after, last)[0])
            body = job.store.get(path)
        verified(body, chunk, f"{job.store.where}/{path}")
        chunks.append(chunk)
    return tuple(chunks)
