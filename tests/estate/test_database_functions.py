"""The jobs of a database as Lambda calls them: on a real PostgreSQL, with secrets and archive in an emulator."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import boto3
import pytest
from emulator import fresh_account
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from support import ROOT, Json

from holdfast.errors import InputError
from holdfast.functions.database import handler
from holdfast.placement import Placed
from holdfast.postgres.connection import connect
from holdfast.postgres.server import Server, temporary
from holdfast.store_alarms import JOBS, store_alarms
from stacks import environments, lifecycle

NOW = datetime(2026, 11, 16, 5, tzinfo=UTC)
NAMES = (f"jobs{n}" for n in itertools.count())
BUCKET = "lifecycle-archive-test"
PASSWORD = r"it's a \back\slash =1 and 生"


class Context:
    """What Lambda tells about the time that is left."""

    def get_remaining_time_in_millis(self) -> int:
        return 900_000


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """With an administrator as RDS gives one: it makes roles and databases, and is no superuser."""
    with temporary() as running:
        with connect(running.dsn()) as db:
            db.execute("CREATE ROLE lifecycle_admin LOGIN CREATEROLE CREATEDB")
        yield running


@pytest.fixture(scope="module")
def _aws() -> Iterator[None]:
    """An emulator of Secrets Manager and S3 on loopback, and an environment that knows nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in fresh_account().environment("us-west-2").items():
            patch.setenv(name, value)
        patch.setattr(boto3, "DEFAULT_SESSION", None)  # it would remember another test's account
        boto3.client("s3").create_bucket(**_bucket())
        yield


def _bucket() -> Json:
    return {"Bucket": BUCKET, "CreateBucketConfiguration": {"LocationConstraint": "us-west-2"}}


@pytest.fixture
def where(server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """The DSN of an empty database, and the environment that the stack gives to the functions."""
    name = next(NAMES)
    with connect(server.dsn()) as db:
        db.execute(sql.SQL("CREATE DATABASE {} OWNER lifecycle_admin").format(sql.Identifier(name)))
    for variable, value in {
        "DATABASE": "lifecycle-test",
        "SCHEMA": "lifecycle",
        "NAMESPACE": JOBS,
        "ARCHIVE": f"s3://{BUCKET}/{name}",
    }.items():
        monkeypatch.setenv(variable, value)
    return lambda: make_conninfo(server.dsn(name), user="lifecycle_admin")


def migrate(where: Callable[[], str], home: Path = ROOT) -> Json:
    return handler.migrate({}, Context(), where=where, home=home)


def drift(where: Callable[[], str]) -> list[str]:
    found: list[str] = handler.drift({}, Context(), where=where, home=ROOT)["found"]
    return found


def emitted(text: str) -> list[Json]:
    return [json.loads(line) for line in text.splitlines() if '"_aws"' in line]


def test_a_deploy_applies_the_schema_and_the_next_one_nothing(where: Callable[[], str]) -> None:
    files = sorted(p.name for p in (ROOT / "schemas" / "lifecycle").glob("*.sql"))
    assert migrate(where) == {"job": "migrate", "applied": files, "ahead": []}
    assert migrate(where)["applied"] == []


def test_a_deploy_that_is_rolled_back_runs_the_older_package_and_does_nothing(
    where: Callable[[], str], tmp_path: Path
) -> None:
    newer = tmp_path / "newer"
    shutil.copytree(ROOT / "schemas", newer / "schemas")
    count = len(list((ROOT / "schemas" / "lifecycle").glob("*.sql")))
    added, broken = f"V{count + 1:03}__note.sql", f"V{count + 2:03}__broken.sql"
    (newer / "schemas" / "lifecycle" / added).write_text("ALTER TABLE users ADD COLUMN note text;\n")
    migrate(where)
    (newer / "schemas" / "lifecycle" / broken).write_text("ALTER TABLE nowhere ADD COLUMN note text;\n")
    with pytest.raises(InputError, match=broken):  # the new package applies one file, and fails at the next
        migrate(where, newer)
    assert migrate(where) == {"job": "migrate", "applied": [], "ahead": [added]}
    assert any("note" in line for line in drift(where))  # which somebody has to hear of


def test_a_failing_migration_stops_the_deploy(where: Callable[[], str], tmp_path: Path) -> None:
    shutil.copytree(ROOT / "schemas", tmp_path / "schemas")
    first = tmp_path / "schemas" / "lifecycle" / "V001__tables.sql"
    migrate(where, tmp_path)
    first.write_text(first.read_text() + "-- edited\n")
    with pytest.raises(InputError, match=r"V001__tables\.sql was changed after it was applied"):
        migrate(where, tmp_path)


def test_drift_is_named_and_counted(where: Callable[[], str], capsys: pytest.CaptureFixture[str]) -> None:
    migrate(where)
    assert drift(where) == []
    (calm,) = emitted(capsys.readouterr().out)
    assert (calm["Drift"], calm["Database"]) == (0, "lifecycle-test")
    with connect(where()) as db:
        db.execute("ALTER TABLE users DROP COLUMN attributes")
    found = drift(where)
    assert any("public.users" in line and "attributes" in line for line in found)
    (told,) = emitted(capsys.readouterr().out)
    assert told["Drift"] == len(found) > 0


def test_what_cannot_be_read_counts_as_drift(where: Callable[[], str], capsys: pytest.CaptureFixture[str]) -> None:
    migrate(where)
    with connect(where()) as db:
        db.execute("CREATE ROLE looker LOGIN")
    found = drift(lambda: make_conninfo(where(), user="looker"))
    assert "permission denied" in found[0]
    assert emitted(capsys.readouterr().out)[0]["Drift"] >= 1
    with connect(where()) as db:
        db.execute("DROP ROLE looker")


def objects(bucket: str = BUCKET) -> list[str]:
    return [o["Key"] for o in boto3.client("s3").list_objects_v2(Bucket=bucket).get("Contents", [])]


@pytest.mark.usefixtures("_aws")
def test_the_daily_job_archives_what_is_expired_and_feeds_every_alarm(
    where: Callable[[], str], capsys: pytest.CaptureFixture[str]
) -> None:
    migrate(where)
    with connect(where()) as db:
        db.execute(
            "INSERT INTO lifecycle_events (event_type, created_at) VALUES ('old', '2024-03-05'), ('new', '2026-11-15')"
        )
    capsys.readouterr()
    told = handler.retain({}, Context(), where=where, now=NOW)
    assert (told["unfinished"], told["busy"]) == (None, False)
    with connect(where()) as db:
        left = [row[0] for row in db.execute("SELECT event_type FROM lifecycle_events").fetchall()]
    assert left == ["new"]
    assert [o for o in objects() if "lifecycle_events_2024_03" in o and o.endswith("manifest.json")]
    assert drift(where) == []  # partitions that the job made are no drift
    lines = emitted(capsys.readouterr().out)
    fed = {
        (directive["Namespace"], metric["Name"], tuple((d, line[d]) for d in dimensions))
        for line in lines
        for directive in line["_aws"]["CloudWatchMetrics"]
        for dimensions in directive["Dimensions"]
        for metric in directive["Metrics"]
    }
    database = lifecycle.STACK.stores[0]
    watched = {
        (m.namespace, m.name, tuple(m.dimensions.items()))
        for alarm in store_alarms(Placed(lifecycle.STACK, environments.TEST), database)
        for m in alarm.metrics
        if m.namespace == JOBS
    }
    assert len(watched) == 13
    assert watched <= fed
    ahead = {line["Table"]: line["PartitionsAhead"] for line in lines if "PartitionsAhead" in line}
    assert all(count >= 1 for count in ahead.values())


@pytest.mark.usefixtures("_aws")
def test_the_daily_job_goes_by_the_servers_clock_and_not_at_all_where_its_own_is_wrong(
    where: Callable[[], str], capsys: pytest.CaptureFixture[str]
) -> None:
    migrate(where)
    with connect(where()) as db:
        db.execute(
            "INSERT INTO lifecycle_events (event_type, created_at) VALUES ('new', now()), ('zero', '1970-01-01')"
        )
    for wrong in (datetime(2131, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)):
        with pytest.raises(InputError, match=f"it is {wrong:%Y}-01-01T00:00:00Z on this machine and 2"):
            handler.retain({}, Context(), where=where, clock=lambda wrong=wrong: wrong)  # type: ignore[misc]
    told = handler.retain({}, Context(), where=where)
    impossible = "older than anything that this table can have"
    assert f"quarantine lifecycle_events (1 row) in ops.quarantine: {impossible}" in told["steps"]
    with connect(where()) as db:
        assert db.execute("SELECT event_type FROM lifecycle_events").fetchall() == [("new",)]
    lines = emitted(capsys.readouterr().out)
    assert [x["RowsInQuarantine"] for x in lines if x["Table"] == "lifecycle_events"] == [1]


@pytest.mark.usefixtures("_aws")
def test_an_archive_that_is_not_there_fails_the_job_before_anything_is_lost(
    where: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(where)
    with connect(where()) as db:
        db.execute("INSERT INTO lifecycle_events (event_type, created_at) VALUES ('old', '2024-03-05')")
    monkeypatch.setenv("ARCHIVE", "s3://made-too-late/archive")
    with pytest.raises(InputError, match=r"s3://made-too-late/archive.*NoSuchBucket"):
        handler.retain({}, Context(), where=where, now=NOW)
    boto3.client("s3").create_bucket(**_bucket() | {"Bucket": "made-too-late"})
    handler.retain({}, Context(), where=where, now=NOW)
    assert [o for o in objects("made-too-late") if o.endswith("manifest.json")]


@pytest.fixture
def _database_secret(_aws: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    client = boto3.client("secretsmanager")
    arn = client.create_secret(
        Name="rds!db-1", SecretString=json.dumps({"username": "lifecycle_admin", "password": PASSWORD})
    )["ARN"]
    for name, value in {"SECRET": arn, "HOST": "127.0.0.1", "PORT": "5433", "SCHEMA": "lifecycle"}.items():
        monkeypatch.setenv(name, value)
    yield
    client.delete_secret(SecretId=arn, ForceDeleteWithoutRecovery=True)


@pytest.mark.usefixtures("_database_secret")
def test_the_way_in_is_the_secret_of_today_over_verified_tls() -> None:
    assert conninfo_to_dict(handler.dsn()) == {
        "host": "127.0.0.1",
        "port": "5433",
        "dbname": "lifecycle",
        "user": "lifecycle_admin",
        "password": PASSWORD,
        "sslmode": "verify-full",
        "sslrootcert": "/opt/rds-ca.pem",
    }
    boto3.client("secretsmanager").put_secret_value(
        SecretId=os.environ["SECRET"], SecretString=json.dumps({"username": "lifecycle_admin", "password": "rotated"})
    )
    assert conninfo_to_dict(handler.dsn())["password"] == "rotated"


@pytest.mark.usefixtures("_database_secret")
def test_a_server_without_tls_never_sees_the_password(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It answers as PostgreSQL does without TLS: N. A client that goes on in plain text would be seen here."""
    heard = b""

    def refuse_tls(listener: socket.socket) -> None:
        nonlocal heard
        connection, _ = listener.accept()
        with connection:
            heard += connection.recv(8)
            connection.sendall(b"N")
            heard += connection.recv(4096)  # nothing, from a client that has gone

    authorities = tmp_path / "ca.pem"
    shutil.copy(ROOT / "build" / "layer" / "rds-ca.pem", authorities)
    monkeypatch.setattr(handler, "AUTHORITIES", str(authorities))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setenv("PORT", str(listener.getsockname()[1]))
        thread = threading.Thread(target=refuse_tls, args=(listener,), daemon=True)
        thread.start()
        with pytest.raises(InputError, match="does not support SSL"):
            handler.migrate({}, Context())
        thread.join(timeout=60)
    assert heard == b"\x00\x00\x00\x08\x04\xd2\x16\x2f"  # the question for TLS, and not a byte more
