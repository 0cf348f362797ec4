"""Real PostgreSQL servers for tests: one of each major for the whole run, and for each test a database of its own."""

from __future__ import annotations

import atexit
import itertools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from psycopg import sql
from support import ROOT

from holdfast.postgres import migrations
from holdfast.postgres.connection import connect
from holdfast.postgres.server import Server, candidates, major, temporary

SCHEMAS = ROOT / "schemas"
MAJORS = {major(binaries): binaries for binaries in reversed(candidates().values())}
NEWEST = max(MAJORS)
_running = ExitStack()
_numbers = itertools.count()
atexit.register(_running.close)


@cache
def server(version: int = NEWEST) -> Server:
    return _running.enter_context(temporary(MAJORS[version]))


@contextmanager
def database(schema: str | None = None, version: int = NEWEST) -> Iterator[str]:
    """The DSN of a fresh database, migrated where a schema is named."""
    with connect(server(version).dsn()) as admin:
        name = f"test_{next(_numbers)}"
        template = _template(schema, version) if schema else "template1"
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template)))
        try:
            yield server(version).dsn(name)
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@cache
def _template(schema: str, version: int) -> str:
    name = f"template_{schema}"
    with connect(server(version).dsn()) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    with connect(server(version).dsn(name)) as connection:
        migrations.migrate(connection, migrations.load(SCHEMAS / schema))
    return name


def copy_of_schemas(folder: Path) -> Path:
    """A folder like the repository, to run commands in."""
    for path in SCHEMAS.glob("*/*"):
        target = folder / "schemas" / path.parent.name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    return folder
