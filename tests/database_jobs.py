"""The jobs of a database as Lambda calls them: a real PostgreSQL, and an emulator of Secrets Manager and S3."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from emulator import fresh_account
from psycopg import sql
from psycopg.conninfo import make_conninfo
from support import Json

from holdfast.functions.database import handler
from holdfast.kinds.database.alarms import JOBS
from holdfast.postgres.connection import connect
from holdfast.postgres.server import Server, temporary

NAMES = (f"jobs{n}" for n in itertools.count())
ADMIN, BUCKET = "jobs_admin", "jobs-archive"
Where = Callable[[], str]


class Context:
    """What Lambda tells about the time that is left."""

    def get_remaining_time_in_millis(self) -> int:
        return 900_000


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """With an administrator as RDS gives one: it makes roles and databases, and is no superuser."""
    with temporary() as running:
        with connect(running.dsn()) as db:
            db.execute("CREATE ROLE jobs_admin LOGIN CREATEROLE CREATEDB")
        yield running


@pytest.fixture(scope="module")
def _aws() -> Iterator[None]:
    """An emulator of Secrets Manager and S3 on loopback, and an environment that knows nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in fresh_account().environment("us-west-2").items():
            patch.setenv(name, value)
        patch.setattr(boto3, "DEFAULT_SESSION", None)  # it would remember another test's account
        yield


def bucket(name: str = BUCKET) -> Json:
    return {"Bucket": name, "CreateBucketConfiguration": {"LocationConstraint": "us-west-2"}}


def environment(server: Server, monkeypatch: pytest.MonkeyPatch, database: str, schema: str) -> Where:
    """The DSN of an empty database, and the environment that the stack gives to the functions."""
    name = next(NAMES)
    with connect(server.dsn()) as db:
        db.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(ADMIN)))
    given = {"DATABASE": database, "SCHEMA": schema, "NAMESPACE": JOBS, "ARCHIVE": f"s3://{BUCKET}/{name}"}
    for variable, value in given.items():
        monkeypatch.setenv(variable, value)
    return lambda: make_conninfo(server.dsn(name), user=ADMIN)


def migrate(where: Where, home: Path) -> Json:
    return handler.migrate({}, Context(), where=where, home=home)


def drift(where: Where, home: Path) -> list[str]:
    found: list[str] = handler.drift({}, Context(), where=where, home=home)["found"]
    return found


def emitted(text: str) -> list[Json]:
    """The figures among the lines that a job printed."""
    return [json.loads(line) for line in text.splitlines() if '"_aws"' in line]
