"""Connections to PostgreSQL, and its errors in words: one line that says what to do.

TLS with the server's name and authority checked (verify-full) is the default. What never leaves this machine (a Unix
socket, a loopback address) needs none; elsewhere verify-ca may be stated instead, and nothing weaker.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from itertools import zip_longest
from typing import Any

import psycopg
from psycopg import errors, pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from holdfast.errors import InputError

Connection = psycopg.Connection[tuple[Any, ...]]

OLDEST = 14
CONNECT_SECONDS = 10
VERIFIED = ("verify-full", "verify-ca")


class PrivilegeError(InputError):
    """The role may not see or do what was asked for."""


def connect(dsn: str) -> Connection:
    """A connection that commits each statement by itself and speaks UTC."""
    given = _parts(dsn)
    where = _where(given)
    defaults: dict[str, Any] = {"connect_timeout": CONNECT_SECONDS, "client_encoding": "UTF8"}
    try:
        connection = psycopg.connect(
            with_tls(dsn),
            autocommit=True,
            fallback_application_name="holdfast",
            **{name: value for name, value in defaults.items() if name not in given},
        )
    except psycopg.Error as error:
        raise InputError(_not_connected(error, where)) from None
    version = connection.info.server_version
    if version < OLDEST * 10_000:
        connection.close()
        raise InputError(
            f"{where} is PostgreSQL {version // 10_000}, and Holdfast needs {OLDEST} or newer: upgrade the server first"
        )
    with clear_errors(f"connecting to {where}"):
        connection.execute("SET timezone = 'UTC'")
    return connection


def with_tls(dsn: str) -> str:
    """The DSN with verify-full, unless it states verify-ca or stays on this machine."""
    given = _parts(dsn)
    mode = given.get("sslmode") or os.environ.get("PGSSLMODE")
    if mode in VERIFIED or _stays_here(given):
        return dsn
    if mode:
        raise InputError(
            f"sslmode={mode} does not check who answers at {_where(given)}: leave it out, which means verify-full, "
            "or state verify-ca"
        )
    return make_conninfo(dsn, sslmode=VERIFIED[0])


def refuse_secrets(dsn: str) -> None:
    """A DSN on a command line stands in the process list, so no password may stand in it."""
    _parts(dsn)
    for option in pq.Conninfo.parse(dsn.encode()):
        if option.val and option.dispchar == b"*":  # what libpq itself never shows
            raise InputError(
                f"--dsn holds a {option.keyword.decode()}, which everybody on this machine can read in the process "
                "list: leave it out, and give it in PGPASSWORD or in a file of mode 600 that PGPASSFILE names"
            )


@contextmanager
def without_variables() -> Iterator[None]:
    """The environment without what it tells libpq: it is about other servers, and no business of the embedded one."""
    names = [name for name in os.environ if name.startswith("PG") and name != "PG_BIN"]
    taken = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        os.environ.update(taken)


@contextmanager
def clear_errors(doing: str) -> Iterator[None]:
    """Turns what the server refuses while we are doing something into one line."""
    try:
        yield
    except psycopg.Error as error:
        kind = PrivilegeError if isinstance(error, errors.InsufficientPrivilege) else InputError
        raise kind(f"{doing}: {_words(error)}") from None


def message(error: psycopg.Error) -> str:
    """What the server itself says, in one line and without its prefix."""
    text = error.diag.message_primary or str(error).strip().partition("\n")[0]
    return " ".join(text.split()) or type(error).__name__


def _words(error: psycopg.Error) -> str:
    said = message(error)
    match error:
        case errors.InsufficientPrivilege():
            return f"{said}: grant that, or connect as a role that has it"
        case errors.ReadOnlySqlTransaction():
            return f"the server takes no writes ({said}): connect to the primary"
        case errors.LockNotAvailable():
            return f"another session holds a lock ({said}): run again when it has ended"
        case errors.DiskFull() | errors.OutOfMemory() | errors.TooManyConnections():
            return f"the server has no room left ({said}): run again when it has"
        case _ if error.sqlstate is None or error.sqlstate.startswith(("08", "57P")):
            return f"the connection was lost ({said}): what was not committed is undone, so run again"
        case _:
            return f"{said} ({error.sqlstate})"


def _parts(dsn: str) -> dict[str, Any]:
    """The fields of a DSN. What is wrong in one is never shown: it may be a piece of the password."""
    with suppress(psycopg.ProgrammingError):
        given = conninfo_to_dict(dsn)
        if "@" not in str(given.get("host", "")) and re.fullmatch(r"[\d,]*", str(given.get("port", ""))):
            return given
    raise InputError(
        "the DSN cannot be read: write postgresql://user@host:5432/database, or host=… dbname=… user=…; "
        "in the first form, a password's /, @, : and % have to be written as %2F, %40, %3A and %25"
    )


def _where(given: dict[str, Any]) -> str:
    host, port = given.get("host") or given.get("hostaddr"), given.get("port") or 5432
    return f"{host}:{port}" if host else f"the local server on port {port}"


def _stays_here(given: dict[str, Any]) -> bool:
    """Whether every address is a Unix socket or loopback. What a service file names is not known here."""
    if given.get("service") or os.environ.get("PGSERVICE"):
        return False
    hosts = str(given.get("host") or os.environ.get("PGHOST") or "").split(",")
    addresses = str(given.get("hostaddr") or os.environ.get("PGHOSTADDR") or "").split(",")
    return all(_is_local(address or host) for address, host in zip_longest(addresses, hosts, fillvalue=""))


def _is_local(host: str) -> bool:
    if not host or host.startswith("/") or host.lower() == "localhost":
        return True
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return False


def _not_connected(error: psycopg.Error, where: str) -> str:
    lines = [line for line in str(error).strip().splitlines() if not line.startswith("\t")]  # those are hints
    said = next((line for line in reversed(lines) if "failed: " in line), lines[-1])  # what follows is advice
    _, fatal, refusal = said.partition("FATAL:")
    if fatal:
        return f"{where} refuses us ({refusal.strip()}): check role, password and database of the DSN"
    if re.search("SSL|certificate", said):
        return (
            f"{where} does not prove over TLS who it is ({said.rpartition('failed: ')[2]}): "
            "name the authority of its certificate with sslrootcert=FILE in the DSN"
        )
    return f"no PostgreSQL answers at {where} ({said.rpartition('failed: ')[2]}): start it, or give another DSN"
