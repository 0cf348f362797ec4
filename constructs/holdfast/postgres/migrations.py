"""Numbered SQL files, each applied once, in order, in a transaction of its own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import generators
from psycopg.pq import ExecStatus

from holdfast.errors import InputError
from holdfast.postgres.connection import Connection, clear_errors, message

FILE = re.compile(r"V(\d{3})__([a-z0-9_]+)\.sql")
LOCK = 0x686F6C64  # "hold": the runners' own advisory lock, which is one per database
HISTORY_IS_THERE = "SELECT FROM pg_class WHERE relname = 'migrations' AND relnamespace = to_regnamespace('holdfast')"
HISTORY = """
CREATE SCHEMA holdfast;
CREATE TABLE holdfast.migrations (
  version integer PRIMARY KEY,
  name text NOT NULL,
  sha256 text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  applied_by text NOT NULL DEFAULT current_user,
  took interval NOT NULL
)"""
# What a role or a database has set must not change what a file means.
CALM = """
SET LOCAL search_path = public;
SET LOCAL timezone = 'UTC';
SET LOCAL lock_timeout = '10s';
SET LOCAL statement_timeout = 0"""
TOKEN = re.compile(
    r"--[^\n]*|/\*.*?\*/|(?i:\be)'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$(\w*)\$.*?\$\1\$|;",
    re.DOTALL,
)
NOT_THE_FILES_FAULT = ("08", "25006", "42501", "53", "55P03", "57")
TRANSACTION = re.compile(r"(begin|start\s+transaction|commit|rollback|abort)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One file."""

    version: int
    name: str
    sql: str

    @property
    def file(self) -> str:
        return f"V{self.version:03}__{self.name}.sql"

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a database has, and what it lacks."""

    applied: tuple[str, ...]
    pending: tuple[Migration, ...]
    ahead: tuple[str, ...]  # files that a newer package has applied


def load(folder: Path) -> tuple[Migration, ...]:
    """The files of a schema's folder, numbered from 1 without a gap."""
    found = []
    for path in sorted(folder.glob("*.sql")):
        if not (match := FILE.fullmatch(path.name)):
            raise InputError(f"{path} has no number: call it V###__name.sql, in lower case")
        try:
            sql = path.read_text(encoding="utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError:
            raise InputError(f"{path} is not UTF-8: save it as UTF-8") from None
        found.append(Migration(version=int(match[1]), name=match[2], sql=sql))
        _refuse_transactions(path, sql)
    if not found:
        raise InputError(f"{folder} holds no migrations: write V001__name.sql")
    for number, migration in enumerate(found, 1):
        if migration.version != number:
            raise InputError(f"{folder / migration.file} should be V{number:03}: files count from V001 without a gap")
    return tuple(found)


def plan(connection: Connection, migrations: Sequence[Migration]) -> Plan:
    """What migrate() would do; a file that was changed after it was applied is refused."""
    with clear_errors("reading which migrations are applied"):
        history = _history(connection)
    known = {m.version: m for m in migrations}
    for version, (name, sha256) in history.items():
        if version in known and (known[version].sha256, known[version].name) != (sha256, name):
            raise InputError(
                f"{known[version].file} was changed after it was applied as {_file(version, name)}: "
                "put it back as it was, and write what is new into the next number"
            )
    return Plan(
        applied=tuple(_file(v, name) for v, (name, _) in history.items() if v in known),
        pending=tuple(m for m in migrations if m.version not in history),
        ahead=tuple(_file(v, name) for v, (name, _) in history.items() if v not in known),
    )


def migrate(connection: Connection, migrations: Sequence[Migration]) -> Plan:
    """Applies what is pending, and returns the plan that it followed.

    A database that is ahead is left alone without an error: a deployment that is rolled back runs the older package
    again, and must not fail a second time.
    """
    with _alone(connection):
        found = plan(connection, migrations)
        if found.ahead:
            return found
        for migration in found.pending:
            _apply(connection, migration)
    return found


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """One runner at a time; another one waits here, and then finds nothing left to do."""
    with clear_errors("waiting for other runners"):
        connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute("SELECT pg_advisory_unlock(%s)", (LOCK,))


def _history(connection: Connection) -> dict[int, tuple[str, str]]:
    if not connection.execute(HISTORY_IS_THERE).rowcount:
        return {}
    rows = connection.execute("SELECT version, name, sha256 FROM holdfast.migrations ORDER BY version")
    return {version: (name, sha256) for version, name, sha256 in rows}


def _apply(connection: Connection, migration: Migration) -> None:
    with clear_errors(f"applying {migration.file}"), connection.transaction():
        connection.execute(CALM)
        if not connection.execute(HISTORY_IS_THERE).rowcount:
            connection.execute(HISTORY)
        (begun,) = connection.execute("SELECT clock_timestamp()").fetchone() or (None,)
        _run(connection, migration)
        connection.execute("RESET ROLE; RESET search_path")
        connection.execute(
            "INSERT INTO holdfast.migrations (version, name, sha256, took) "
            "VALUES (%s, %s, %s, clock_timestamp() - %s::timestamptz)",
            (migration.version, migration.name, migration.sha256, begun),
        )


def _run(connection: Connection, migration: Migration) -> None:
    """The whole file as one query; where it fails, the results so far tell at which statement."""
    connection.pgconn.send_query(migration.sql.encode())
    results = connection.wait(generators.execute(connection.pgconn))
    last = results[-1]
    if last.status in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK, ExecStatus.EMPTY_QUERY):
        return
    if last.status != ExecStatus.FATAL_ERROR:
        connection.close()  # the server waits for data that nobody sends
        raise InputError(f"{migration.file}: COPY from standard input has no place here: write INSERT")
    error = psycopg.errors.error_from_result(last)
    if error.sqlstate is None or error.sqlstate.startswith(NOT_THE_FILES_FAULT):
        raise error
    if position := error.diag.statement_position:
        start = int(position) - 1
    else:
        starts = [*_statements(migration.sql)]
        start = starts[min(len(results), len(starts)) - 1]
    line = migration.sql.count("\n", 0, start) + 1
    raise InputError(
        f"{migration.file} line {line}: {message(error)} ({error.sqlstate}); nothing of this file was kept"
    )


def _file(version: int, name: str) -> str:
    return f"V{version:03}__{name}.sql"


def _statements(sql: str) -> Iterator[int]:
    """Where each statement begins, past blanks and comments."""
    begins = True
    position = 0
    for token in [*TOKEN.finditer(sql), None]:
        text = sql[position : token.start() if token else None]
        if begins and text.strip():
            yield position + len(text) - len(text.lstrip())
            begins = False
        if token is None:
            return
        if token[0] == ";":
            begins = True
        position = token.end()


def _refuse_transactions(path: Path, sql: str) -> None:
    for start in _statements(sql):
        if word := TRANSACTION.match(sql, start):
            line = sql.count("\n", 0, start) + 1
            raise InputError(f"{path} line {line}: {word[0].upper()} has no place here: each file is one transaction")
