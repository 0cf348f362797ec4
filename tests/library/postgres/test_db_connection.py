"""Servers that cannot be used: one clear line each, and never a password."""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from postgres import database, server
from psycopg.conninfo import conninfo_to_dict
from support import ROOT

from holdfast.errors import InputError
from holdfast.postgres.connection import PrivilegeError, clear_errors, connect, with_tls


@contextmanager
def a_server_of_version(version: str) -> Iterator[int]:
    """Says what a server of that version says when somebody connects, and hangs up."""

    def message(kind: bytes, body: bytes) -> bytes:
        return kind + struct.pack("!I", len(body) + 4) + body

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            if connection.recv(1024)[4:8] == struct.pack("!I", 80877103):  # TLS? No.
                connection.sendall(b"N")
                connection.recv(1024)
            status = message(b"S", b"server_version\0" + version.encode() + b"\0")
            status += message(b"S", b"client_encoding\0UTF8\0")
            connection.sendall(message(b"R", struct.pack("!I", 0)) + status + message(b"Z", b"I"))
            connection.recv(1024)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def refusal(dsn: str) -> str:
    with pytest.raises(InputError) as refused:
        connect(dsn)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_server_that_is_too_old_is_refused() -> None:
    with a_server_of_version("13.22") as port:
        assert refusal(f"host=127.0.0.1 port={port} user=x dbname=x gssencmode=disable") == (
            f"127.0.0.1:{port} is PostgreSQL 13, and Holdfast needs 14 or newer: upgrade the server first"
        )


def test_nobody_at_home() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert refusal(f"postgresql://ann:geheim@127.0.0.1:{port}/x") == (
        f"no PostgreSQL answers at 127.0.0.1:{port} (Connection refused): start it, or give another DSN"
    )
    assert refusal("host=/nowhere dbname=x").startswith("no PostgreSQL answers at /nowhere:5432 (No such file")


def test_the_wrong_database_role_or_password() -> None:
    with database() as dsn, connect(dsn) as admin:
        assert refusal(server().dsn("nosuch")).endswith(
            'refuses us (database "nosuch" does not exist): check role, password and database of the DSN'
        )
        assert 'role "nosuch" does not exist' in refusal(f"{dsn} user=nosuch")
        admin.execute("CREATE ROLE sleeper NOLOGIN")
        try:
            assert 'role "sleeper" is not permitted to log in' in refusal(f"{dsn} user=sleeper password=geheim")
        finally:
            admin.execute("DROP ROLE sleeper")


@pytest.mark.parametrize(
    "dsn",
    [
        "geheim",
        "postgresql://ann:geheim@geheim@localhost/x",
        "postgresql://ann:geh/eim@localhost/x",
        "host=localhost password=geh eim",
        "postgresql://ann:geheim%@localhost/x",
    ],
)
def test_a_dsn_that_cannot_be_read_shows_nothing_of_itself(dsn: str) -> None:
    assert refusal(dsn).startswith("the DSN cannot be read: write postgresql://user@host:5432/database")
    assert "geh" not in refusal(dsn)


def test_a_connection_speaks_utc_whatever_the_database_says() -> None:
    with database() as dsn:
        with connect(dsn) as connection:
            connection.execute(f"ALTER DATABASE {connection.info.dbname} SET timezone = 'Asia/Shanghai'".encode())
        with connect(dsn) as connection:
            assert connection.execute("SHOW timezone").fetchone() == ("UTC",)
            assert connection.execute("SHOW application_name").fetchone() == ("holdfast",)
        with connect(f"{dsn} application_name=mine") as connection:
            assert connection.execute("SHOW application_name").fetchone() == ("mine",)


def test_what_goes_wrong_later_is_one_line_too() -> None:
    with database("meeting") as dsn, connect(dsn) as connection, connect(dsn) as other:
        with (
            pytest.raises(InputError, match=r"^counting: column \"nope\" does not exist \(42703\)$"),
            clear_errors("counting"),
        ):
            connection.execute("SELECT nope FROM users")
        connection.execute("SET ROLE pg_monitor")
        denied = r"^counting: permission denied for table users: grant that, or connect as a role that has it$"
        with pytest.raises(PrivilegeError, match=denied), clear_errors("counting"):
            connection.execute("SELECT FROM users")
        connection.execute("RESET ROLE; SET lock_timeout = '10ms'")
        with other.transaction():
            other.execute("LOCK TABLE users")
            locked = r"^counting: another session holds a lock .*: run again when it has ended$"
            with pytest.raises(InputError, match=locked), clear_errors("counting"):
                connection.execute("SELECT FROM users")
        other.execute("SELECT pg_terminate_backend(%s)", (connection.info.backend_pid,))
        for _ in range(2):  # when it happens, and afterwards
            with (
                pytest.raises(InputError, match=r"^counting: the connection was lost .*run again$"),
                clear_errors("counting"),
            ):
                connection.execute("SELECT FROM users")


HERE = [
    "dbname=x",
    "host=/run/postgresql",
    "host=localhost",
    "host=LOCALHOST sslmode=disable",
    "postgresql://ann@127.0.0.1:5433/x?sslmode=prefer",
    "postgresql://ann@[::1]/x",
    "host=127.0.0.1,/tmp port=1,2",
    "host=db.example.com hostaddr=127.0.0.1",
]
ELSEWHERE = [
    "host=db.example.com",
    "postgresql://ann@10.0.0.7:5433/x?application_name=y",
    "host=localhost,db.example.com",
    "host=localhost hostaddr=10.0.0.7",
    "host=localhost.example.com",
    "host=127.0.0.1.example.com",
    "service=prod",
    "service=prod host=localhost",  # whose file may name a hostaddr
]


@pytest.fixture
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGHOSTADDR", "PGSERVICE", "PGSSLMODE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_no_environment")
@pytest.mark.parametrize("dsn", HERE)
def test_what_stays_on_this_machine_needs_no_tls(dsn: str) -> None:
    assert with_tls(dsn) == dsn


@pytest.mark.usefixtures("_no_environment")
@pytest.mark.parametrize("dsn", ELSEWHERE)
def test_another_machine_proves_who_it_is_or_is_refused(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def stated(mode: str) -> str:
        return dsn + ("&" if "?" in dsn else " ") + f"sslmode={mode}"

    assert conninfo_to_dict(with_tls(dsn)) == conninfo_to_dict(dsn) | {"sslmode": "verify-full"}
    for mode in ("verify-full", "verify-ca"):
        assert with_tls(stated(mode)) == stated(mode)
    for mode in ("disable", "allow", "prefer", "require"):
        with pytest.raises(InputError, match=rf"^sslmode={mode} does not check who answers at .*: leave it out"):
            with_tls(stated(mode))
        with monkeypatch.context() as patch:
            patch.setenv("PGSSLMODE", mode)
            with pytest.raises(InputError, match=rf"^sslmode={mode} does not check who answers"):
                with_tls(dsn)


@pytest.mark.usefixtures("_no_environment")
@pytest.mark.parametrize(
    "variables", [{"PGHOST": "db.example.com"}, {"PGHOSTADDR": "10.0.0.7"}, {"PGSERVICE": "prod"}], ids=str
)
def test_where_the_environment_sends_us_counts(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert conninfo_to_dict(with_tls("dbname=x"))["sslmode"] == "verify-full"


@pytest.mark.usefixtures("_no_environment")
@pytest.mark.parametrize(
    ("answer", "authority", "words"),
    [(b"N", "ca.pem", "server does not support SSL, but SSL was required"), (b"S", "none.pem", "none.pem")],
)
def test_a_server_that_proves_nothing_hears_nothing_from_us(
    answer: bytes, authority: str, words: str, tmp_path: Path
) -> None:
    """127.1 is a spelling of loopback that is not on our list, and so stands for another machine."""
    heard = []

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            heard.append(connection.recv(8))
            connection.sendall(answer)
            heard.append(connection.recv(4096))

    authorities = tmp_path / "ca.pem"
    authorities.write_bytes((ROOT / "build" / "layer" / "rds-ca.pem").read_bytes())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        where = f"host=127.1 port={listener.getsockname()[1]} user=x dbname=x password=geheim gssencmode=disable"
        said = refusal(f"{where} sslrootcert={tmp_path / authority}")
        thread.join()
    assert heard == [b"\x00\x00\x00\x08\x04\xd2\x16\x2f", b""]
    assert re.search(rf"does not prove over TLS who it is \(.*{words}.*\): name the authority of its certificate", said)
    assert "change sslmode" not in said
