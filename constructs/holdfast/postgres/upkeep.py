"""The daily upkeep of a database without partitions: rows that are expired go, tables are vacuumed, figures are told.

Its rules are rows of ops.row_policy, which the schema's own migrations make; what else follows from age, such as the
state of a recording, is a function of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from psycopg import sql

from holdfast.postgres.connection import Connection
from holdfast.postgres.retention import BATCH_ROWS, RESERVE, Step

POLICY = "ops.row_policy"
PURGE = "SELECT ops.purge_rows(%s, %s, %s)"
LOCK_SECONDS = 5  # longer than that, a lock is somebody's; the next run comes tomorrow
# Of tables that are worth it: a few dead rows in a small table are a large share.
DEAD = """
SELECT relname, round(100.0 * n_dead_tup / (n_live_tup + n_dead_tup), 1) FROM pg_stat_user_tables
WHERE schemaname = 'public' AND relname = ANY (%s) AND n_dead_tup >= 10000"""
# The share of a table's pages that its rows would not need; from statistics, so right to a few percent.
BLOAT = """
SELECT c.relname, round(greatest(0, 100 * (1 - c.reltuples * (28 + w.bytes) / (c.relpages * 8168.0)))::numeric, 1)
FROM pg_class c CROSS JOIN LATERAL (
  SELECT coalesce(sum(s.avg_width * (1 - s.null_frac)), 0) AS bytes FROM pg_stats s
  WHERE s.schemaname = 'public' AND s.tablename = c.relname AND NOT s.inherited
) w
WHERE c.relnamespace = 'public'::regnamespace AND c.relname = ANY (%s) AND c.relpages >= 1024 AND c.reltuples >= 0"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run did, and its figures by metric and table. ``unfinished`` says where its time ran out."""

    steps: tuple[Step, ...]
    figures: Mapping[str, Mapping[str, float]]
    unfinished: str | None = None

    @property
    def worst(self) -> dict[str, float]:
        """The largest value of each figure: what is to be alarmed about."""
        return {metric: max(of.values(), default=0.0) for metric, of in self.figures.items()}


def plan(db: Connection, now: datetime) -> list[Step]:
    """What a run would purge; changes nothing."""
    found = ((table, _value(db, "SELECT ops.expired_rows(%s, %s)", (table, now))) for table in _tables(db))
    return [Step(action="purge", name=table, rows=rows) for table, rows in found if rows]


def run(
    db: Connection,
    tables: Sequence[str],
    *,
    now: datetime,
    time_left: Callable[[], float] = lambda: float("inf"),
) -> Outcome:
    """The whole job, as far as the time reaches. ``tables`` are those whose dead rows and bloat are measured."""
    db.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'".encode())
    dead = _by_table(db, DEAD, list(tables))  # before it is vacuumed: what the server itself does not keep up with
    steps: list[Step] = []
    unfinished = None
    waiting = _works(db, now)
    while waiting and not unfinished:
        name, work = waiting[0]
        if time_left() < RESERVE:
            unfinished = name
        elif done := work():
            steps += done
        else:
            del waiting[0]
    figures = {
        "DeadRowsPercent": dead,
        "BloatPercent": _by_table(db, BLOAT, list(tables)),
        "ExpiredRows": {t: float(_value(db, "SELECT ops.expired_rows(%s, %s)", (t, now))) for t in _tables(db)},
        "QuotaPercent": _by_table(db, "SELECT name, percent FROM ops.quotas()"),
    }
    return Outcome(steps=_summed(steps), figures=figures, unfinished=unfinished)


def _works(db: Connection, now: datetime) -> list[tuple[str, Callable[[], list[Step]]]]:
    """What there is to do, in order, each to be called until it does nothing: what follows from age, then what ends,
    then VACUUM, which finds what these have left. A call is one short transaction: a run that is cut off loses nothing.
    """
    works: list[tuple[str, Callable[[], list[Step]]]] = []
    if _value(db, "SELECT to_regproc('ops.follow') IS NOT NULL", ()):
        works.append(("what follows from age", partial(_follow, db, now)))
    works += ((table, partial(_purge, db, table, now)) for table in _tables(db))
    query = b"SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1"
    works += ((f"vacuum of {table}", partial(_vacuum, db, table)) for (table,) in db.execute(query).fetchall())
    return works


def _follow(db: Connection, now: datetime) -> list[Step]:
    found = db.execute("SELECT action, name, rows FROM ops.follow(%s)", (now,)).fetchall()
    return [Step(action=action, name=name, rows=rows) for action, name, rows in found if rows]


def _purge(db: Connection, table: str, now: datetime) -> list[Step]:
    rows: int = _value(db, PURGE, (table, now, BATCH_ROWS))
    return [Step(action="purge", name=table, rows=rows)] if rows else []


def _vacuum(db: Connection, table: str) -> list[Step]:
    """One that another session vacuums or changes is left to it."""
    db.execute(sql.SQL("VACUUM (ANALYZE, SKIP_LOCKED) public.{}").format(sql.Identifier(table)))
    return []


def _summed(steps: Sequence[Step]) -> tuple[Step, ...]:
    """One step of each kind, however many batches it took."""
    rows: dict[tuple[str, str], int] = {}
    for step in steps:
        rows[step.action, step.name] = rows.get((step.action, step.name), 0) + (step.rows or 0)
    return tuple(Step(action=action, name=name, rows=count) for (action, name), count in rows.items())


def _tables(db: Connection) -> list[str]:
    return [table for (table,) in db.execute("SELECT table_name FROM ops.row_policy ORDER BY 1").fetchall()]


def _by_table(db: Connection, query: str, *values: Any) -> dict[str, float]:
    return {table: float(value) for table, value in db.execute(query.encode(), values or None).fetchall()}


def _value(db: Connection, query: str, values: tuple[Any, ...]) -> Any:
    row = db.execute(query.encode(), values).fetchone()
    return row[0] if row else None
