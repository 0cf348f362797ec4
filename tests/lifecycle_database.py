"""Databases with the lifecycle schema on real servers, and rows to keep, archive and purge in them."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import postgres

from holdfast.postgres.archive import Store
from holdfast.postgres.connection import Connection, connect

NOW = datetime(2026, 11, 16, 5, tzinfo=UTC)
EXPIRED = ("2024_08", "2024_09", "2024_10")  # at NOW, of lifecycle_events
USER = "00000000-0000-0000-0000-000000000001"
# What CSV, text output and encodings get wrong first.
NASTY = (None, "", "a,b", 'say "x"', "two\nlines", "\\.", "\\N", "NULL", "héé 生命周期 🏊", " ", "a\\b\tc\r\n")
Row = tuple[Any, ...]


@contextmanager
def database(version: int = postgres.NEWEST) -> Iterator[str]:
    """The DSN of a fresh database with one user in it."""
    with postgres.database("lifecycle", version) as dsn:
        with connect(dsn) as db:
            insert = "INSERT INTO users (id, email, current_lifecycle_stage) VALUES (%s, 'a@example.com', 'Revenue')"
            db.execute(insert, (USER,))
        yield dsn


def value(db: Connection, query: str, *values: Any) -> Any:
    row = db.execute(query, values).fetchone()
    return row[0] if row else None


def column(db: Connection, query: str, *values: Any) -> list[Any]:
    return [row[0] for row in db.execute(query, values)]


def fill_months(
    db: Connection, parent: str = "lifecycle_events", since: str = "2024-08-01", until: str = "2024-10-01"
) -> None:
    db.execute(
        "SELECT ops.create_partition(%s, m) FROM generate_series(%s::timestamptz, %s::timestamptz, '1 month') m",
        (parent, since, until),
    )


def events(db: Connection, start: str, count: int, over: str = "25 days") -> None:
    """Events spread over a time, with values that are hard to write down."""
    db.execute(
        "INSERT INTO lifecycle_events (event_type, user_id, lifecycle_stage, event_data, created_at) "
        "SELECT coalesce(nasty[1 + g %% cardinality(nasty)], 'none'), %s, nasty[1 + g %% cardinality(nasty)], "
        "  CASE WHEN g %% 7 > 0 THEN jsonb_build_object('n', g, 'text', nasty[1 + g %% cardinality(nasty)]) END, "
        "  %s::timestamptz + g * (%s::interval / %s) "
        "FROM generate_series(0, %s - 1) g, (SELECT %s::text[] AS nasty) n",
        (USER, start, over, count, count, list(NASTY)),
    )


def live(db: Connection, where: str = "true") -> list[Row]:
    """The events of the table as text, in order of their keys."""
    texts = ", ".join(f"{c}::text" for c in EVENT_COLUMNS)
    return db.execute(f"SELECT {texts} FROM lifecycle_events e WHERE {where} ORDER BY e.id").fetchall()


def quarantined(db: Connection) -> list[Row]:
    """The events in quarantine, in the same form."""
    texts = ", ".join(f"e.{c}::text" for c in EVENT_COLUMNS)
    contents = "ops.quarantine q, jsonb_populate_record(NULL::lifecycle_events, q.contents) e"
    return db.execute(f"SELECT {texts} FROM {contents} WHERE q.parent = 'lifecycle_events' ORDER BY e.id").fetchall()


EVENT_COLUMNS = (
    "id",
    "event_type",
    "user_id",
    "workflow_execution_id",
    "lifecycle_stage",
    "event_data",
    "created_at",
)


def archived(store: Store) -> list[Row]:
    """The events of an archive, read without PostgreSQL and without our own reader."""
    rows: list[Row] = []
    for name in store.names():
        if not name.endswith("manifest.json"):
            continue
        manifest = json.loads(store.get(name) or b"")
        for chunk in manifest["chunks"]:
            body = store.get(str(Path(name).with_name(chunk["object"]))) or b""
            rows += _rows(gzip.decompress(body).decode())
    return sorted(rows, key=lambda r: int(r[0]))


def _rows(text: str) -> Iterator[Row]:
    """PostgreSQL's CSV, in which nothing is NULL and "" is an empty string: Python's reader cannot tell them apart."""
    empty = "\0empty"
    marked = []
    for field in _fields(text):
        marked.append(empty if field == '""' else field)
    reader = csv.reader(io.StringIO("".join(marked), newline=""))
    next(reader)
    for row in reader:
        yield tuple("" if f == empty else None if f == "" else f for f in row)


def _fields(text: str) -> Iterator[str]:
    """Fields and separators as they are written."""
    start, quoted = 0, False
    for n, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif character in ",\n" and not quoted:
            yield text[start:n]
            yield character
            start = n + 1
    yield text[start:]
