"""The jobs of a database as Lambda calls them: on a real PostgreSQL, with secrets and archive in an emulator."""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from database_jobs import ADMIN, Context, Where, _aws, drift, emitted, environment, migrate, server
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from shop_synth import PROJECT
from support import ROOT

from holdfast.errors import InputError
from holdfast.functions.database import handler
from holdfast.postgres.connection import connect
from holdfast.postgres.server import Server

__all__ = ["_aws", "server"]
PASSWORD = r"it's a \back\slash =1 and 生"


@pytest.fixture
def where(server: Server, monkeypatch: pytest.MonkeyPatch) -> Where:
    return environment(server, monkeypatch, "shop-dev", "shop")


def test_a_deploy_applies_the_schema_and_the_next_one_nothing(where: Where) -> None:
    files = sorted(p.name for p in (PROJECT / "schemas" / "shop").glob("*.sql"))
    assert migrate(where, PROJECT) == {"job": "migrate", "applied": files, "ahead": []}
    assert migrate(where, PROJECT)["applied"] == []


def test_a_deploy_that_is_rolled_back_runs_the_older_package_and_does_nothing(where: Where, tmp_path: Path) -> None:
    newer = tmp_path / "newer"
    shutil.copytree(PROJECT / "schemas", newer / "schemas")
    count = len(list((PROJECT / "schemas" / "shop").glob("*.sql")))
    added, broken = f"V{count + 1:03}__note.sql", f"V{count + 2:03}__broken.sql"
    (newer / "schemas" / "shop" / added).write_text("ALTER TABLE invoice ADD COLUMN note text;\n")
    migrate(where, PROJECT)
    (newer / "schemas" / "shop" / broken).write_text("ALTER TABLE nowhere ADD COLUMN note text;\n")
    with pytest.raises(InputError, match=broken):  # the new package applies one file, and fails at the next
        migrate(where, newer)
    assert migrate(where, PROJECT) == {"job": "migrate", "applied": [], "ahead": [added]}
    assert any("note" in line for line in drift(where, PROJECT))  # which somebody has to hear of


def test_a_failing_migration_stops_the_deploy(where: Where, tmp_path: Path) -> None:
    shutil.copytree(PROJECT / "schemas", tmp_path / "schemas")
    first = tmp_path / "schemas" / "shop" / "V001__invoices.sql"
    migrate(where, tmp_path)
    first.write_text(first.read_text() + "-- edited\n")
    with pytest.raises(InputError, match=r"V001__invoices\.sql was changed after it was applied"):
        migrate(where, tmp_path)


def test_drift_is_named_and_counted(where: Where, capsys: pytest.CaptureFixture[str]) -> None:
    migrate(where, PROJECT)
    assert drift(where, PROJECT) == []
    (calm,) = emitted(capsys.readouterr().out)
    assert (calm["Drift"], calm["Database"]) == (0, "shop-dev")
    with connect(where()) as db:
        db.execute("ALTER TABLE invoice DROP COLUMN customer")
    found = drift(where, PROJECT)
    assert any("public.invoice" in line and "customer" in line for line in found)
    (told,) = emitted(capsys.readouterr().out)
    assert told["Drift"] == len(found) > 0


def test_what_cannot_be_read_counts_as_drift(where: Where, capsys: pytest.CaptureFixture[str]) -> None:
    migrate(where, PROJECT)
    with connect(where()) as db:
        db.execute("CREATE ROLE looker LOGIN")
    found = drift(lambda: make_conninfo(where(), user="looker"), PROJECT)
    assert "permission denied" in found[0]
    assert emitted(capsys.readouterr().out)[0]["Drift"] >= 1
    with connect(where()) as db:
        db.execute("DROP ROLE looker")


@pytest.fixture
def _database_secret(_aws: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    client = boto3.client("secretsmanager")
    arn = client.create_secret(Name="rds!db-1", SecretString=json.dumps({"username": ADMIN, "password": PASSWORD}))[
        "ARN"
    ]
    for name, value in {"SECRET": arn, "HOST": "127.0.0.1", "PORT": "5433", "SCHEMA": "shop"}.items():
        monkeypatch.setenv(name, value)
    yield
    client.delete_secret(SecretId=arn, ForceDeleteWithoutRecovery=True)


@pytest.mark.usefixtures("_database_secret")
def test_the_way_in_is_the_secret_of_today_over_verified_tls() -> None:
    assert conninfo_to_dict(handler.dsn()) == {
        "host": "127.0.0.1",
        "port": "5433",
        "dbname": "shop",
        "user": ADMIN,
        "password": PASSWORD,
        "sslmode": "verify-full",
        "sslrootcert": "/opt/rds-ca.pem",
    }
    boto3.client("secretsmanager").put_secret_value(
        SecretId=os.environ["SECRET"], SecretString=json.dumps({"username": ADMIN, "password": "rotated"})
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
