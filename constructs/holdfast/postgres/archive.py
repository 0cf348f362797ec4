"""An archive of rows: gzipped CSV in key order, a manifest beside it, in a folder or on S3; and how to prove it."""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import psycopg
from psycopg import sql

from holdfast.errors import InputError
from holdfast.files import append_private, private_folder
from holdfast.postgres.connection import Connection, message

MANIFEST = "manifest.json"
LEVEL = 1  # of gzip: twice as fast as the usual 6, for a tenth more bytes
BLOCK = 1 << 18  # bytes compressed at a time

# How PostgreSQL writes a row depends on these; the fingerprint and the CSV need them to be the same for ever.
SETTINGS = """
SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres';
SET extra_float_digits = 1; SET bytea_output = 'hex'; SET client_encoding = 'UTF8'
"""
# The same as ops.fingerprint; here it also runs where no schema is.
FINGERPRINT = sql.SQL(
    "SELECT count(*), coalesce(sum(('x' || encode(sha256(convert_to(t::text, 'UTF8')), 'hex'))::bit(64)::bigint), 0) "
    "FROM {} t"
)
PLAIN_TYPE = re.compile(r"[a-z][a-z0-9_ ]*(\(\d+(,\d+)?\))?[a-z ]*(\[\])*")


class ArchiveError(ValueError):
    """What is stored is not what was archived; the message is one line that names the object."""


class Store(Protocol):
    """Where archives are kept. Nothing in it is ever deleted or changed."""

    @property
    def where(self) -> str: ...

    def put(self, name: str, body: bytes) -> None:
        """Stores an object; the same content again is no change, and another content is refused."""

    def get(self, name: str) -> bytes | None: ...

    def names(self) -> list[str]:
        """Every object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """An archive in a folder of this machine, for its user alone: folders are 0700, files 0600."""

    path: Path

    @property
    def where(self) -> str:
        return str(self.path.absolute())

    def put(self, name: str, body: bytes) -> None:
        path = self.path / name
        self.refuse_unfit()
        private_folder(path.parent)
        if path.exists():
            refuse_other(f"{self.where}/{name}", path.read_bytes(), body)
            path.chmod(0o600)
            return
        partial = path.with_name(f".{path.name}.partial")
        partial.unlink(missing_ok=True)
        with append_private(partial) as file:
            file.write(body)
            os.fsync(file.fileno())  # rows are dropped on the strength of this
        partial.rename(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def refuse_unfit(self) -> None:
        """A folder that others may enter is not closed by us: it may be /tmp."""
        path = Path(self.where)
        there = next(place for place in (path, *path.parents) if place.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise InputError(f"{there} is not a folder that we may write to: give another --archive")
        if there == path and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
            raise InputError(
                f"{self.where} is open to others (mode {mode:04o}) and rows are private: "
                "chmod 700 it, or give another --archive"
            )

    def get(self, name: str) -> bytes | None:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    def names(self) -> list[str]:
        if not self.path.is_dir():
            raise InputError(f"{self.path} is no folder: give the folder or the manifest of an archive")
        found: list[str] = []
        for folder, _, files in os.walk(self.path, onerror=_raise):
            found += [Path(folder, f).relative_to(self.path).as_posix() for f in files if not f.startswith(".")]
        return sorted(found)


def _raise(error: OSError) -> None:
    raise error


def refuse_other(where: str, stored: bytes | None, body: bytes) -> None:
    if stored != body:
        raise ArchiveError(f"{where} is there already with other content: nothing is overwritten, so look what it is")


def open_store(where: str) -> Store:
    """The archive at a folder or at s3://bucket/prefix."""
    if "://" not in where:
        return Folder(path=Path(where))
    from holdfast.live.s3 import S3

    return S3.open(where)


def open_to_write(where: str) -> Store:
    """The same; a folder that would be refused is refused now, before a row is on its way there."""
    store = open_store(where)
    if isinstance(store, Folder):
        store.refuse_unfit()
    return store


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    name: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One object; its name holds a piece of its hash, so that the same rows give the same object again."""

    object: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What belongs to one part of an archived partition. It holds no time of writing: a second run writes the same."""

    table: str
    partition: str
    part: int
    lower_bound: datetime
    upper_bound: datetime
    columns: tuple[Column, ...]
    rows: int
    fingerprint: str  # the database's, over all rows, before they were dropped
    chunks: tuple[Chunk, ...]

    def to_json(self) -> bytes:
        document = {"version": 1, **asdict(self)}
        for bound in ("lower_bound", "upper_bound"):
            document[bound] = document[bound].isoformat()
        return (json.dumps(document | {"sha256": _digest(document)}, indent=1) + "\n").encode()

    @classmethod
    def from_json(cls, text: bytes, where: str) -> Manifest:
        try:
            document = json.loads(text)
            said = document.pop("sha256")
            if said != _digest(document):
                raise ArchiveError(f"{where} was changed after it was written: its own hash does not fit")
            if document.pop("version") != 1:
                raise InputError(f"{where} was written by a newer Holdfast: read it with that one")
            return cls(
                **document
                | {
                    "columns": tuple(Column(**c) for c in document["columns"]),
                    "chunks": tuple(Chunk(**c) for c in document["chunks"]),
                    "lower_bound": datetime.fromisoformat(document["lower_bound"]),
                    "upper_bound": datetime.fromisoformat(document["upper_bound"]),
                }
            )
        except (ArchiveError, InputError):
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ArchiveError(f"{where} is no whole manifest: it is cut off or damaged") from None


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


# Writing


def columns_of(db: Connection, table: str) -> tuple[Column, ...]:
    rows = db.execute(
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        (f"cold.{table}",),
    )
    return tuple(Column(name=name, type=kind) for name, kind in rows)


def key_of(db: Connection, table: str) -> list[str]:
    rows = db.execute(
        "SELECT a.attname FROM pg_index i CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k (attnum, place) "
        "JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum "
        "WHERE i.indrelid = to_regclass(%s) AND i.indisprimary ORDER BY k.place",
        (f"cold.{table}",),
    )
    return [name for (name,) in rows]


def page_end(
    db: Connection, table: str, key: Sequence[str], after: Sequence[str] | None, rows: int
) -> list[str] | None:
    """The key of the last row of the page after a key; None where no row follows."""
    query = sql.SQL("SELECT {texts} FROM {table} t WHERE {after} ORDER BY {order} OFFSET {skip} LIMIT 1")
    names = [sql.Identifier("t", name) for name in key]  # without the t, ORDER BY would take the text
    texts = sql.SQL(", ").join(sql.SQL("{}::text").format(name) for name in names)
    for order, skip in (("{}", rows - 1), ("{} DESC", 0)):  # a full page, or else whatever is left
        ordered = sql.SQL(", ").join(sql.SQL(order).format(name) for name in names)
        found = db.execute(
            query.format(
                texts=texts,
                table=sql.Identifier("cold", table),
                after=_beyond(names, ">", after),
                order=ordered,
                skip=sql.Literal(skip),
            )
        ).fetchone()
        if found:
            return list(found)
    return None


def export(
    db: Connection, table: str, key: Sequence[str], after: Sequence[str] | None, last: Sequence[str]
) -> tuple[bytes, int]:
    """The rows after one key and up to another as gzipped CSV, and how many they are."""
    names = [sql.Identifier("t", name) for name in key]
    query = sql.SQL("COPY (SELECT * FROM {} t WHERE {} AND {} ORDER BY {}) TO STDOUT (FORMAT csv, HEADER true)").format(
        sql.Identifier("cold", table),
        _beyond(names, ">", after),
        _beyond(names, "<=", last),
        sql.SQL(", ").join(names),
    )
    with db.cursor() as cursor:
        with cursor.copy(query) as rows:
            body = b"".join(_compressed(rows))
        return body, cursor.rowcount


def _beyond(names: Sequence[sql.Identifier], comparison: str, key: Sequence[str] | None) -> sql.Composable:
    if key is None:
        return sql.SQL("true")
    literals = sql.SQL(", ").join(sql.Literal(value) for value in key)
    return sql.SQL("({}) {} ({})").format(sql.SQL(", ").join(names), sql.SQL(comparison), literals)


def _compressed(blocks: Iterable[bytes | bytearray | memoryview]) -> Iterator[bytes]:
    """Gzip without a time in it, so that the same rows give the same bytes."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    waiting = bytearray()
    for block in blocks:
        waiting += block
        if len(waiting) >= BLOCK:
            yield packer.compress(bytes(waiting))
            waiting.clear()
    yield packer.compress(bytes(waiting))
    yield packer.flush()


# Proving


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What became of one archive: its manifest where all is well, and else what is wrong or could not be read."""

    name: str
    manifest: Manifest | None = None
    wrong: str = ""
    unread: str = ""


def check(where: str, scratch: Callable[[], Connection], progress: Callable[[str], None]) -> list[Checked]:
    """Every archive below a place, read back into a scratch database and compared with its manifest."""
    store, manifests = _found(where)
    checked: list[Checked] = []
    names = set(store.names())
    homes = {posixpath.dirname(name) for name in manifests}
    for home in sorted({posixpath.dirname(n) for n in names if n.endswith(".csv.gz")} - homes):
        if not where.endswith(MANIFEST):
            wrong = f"{_at(store, home)} holds chunks and no {MANIFEST}: the archive is unfinished, or it is lost"
            checked.append(Checked(name=home, wrong=wrong))
    for name in manifests:
        progress(f"reading {name}")
        home = posixpath.dirname(name)
        try:
            manifest = Manifest.from_json(store.get(name) or b"", _at(store, name))
            beside = {n for n in names if posixpath.dirname(n) == home} - {name}
            _check_one(store, home, manifest, beside, scratch())
            checked.append(Checked(name=home or manifest.partition, manifest=manifest))
        except ArchiveError as error:
            checked.append(Checked(name=home, wrong=str(error)))
        except PermissionError as error:
            checked.append(Checked(name=home, unread=f"{error.filename} cannot be read ({error.strerror})"))
    return checked


def _found(where: str) -> tuple[Store, list[str]]:
    """The store and the names of its manifests."""
    if posixpath.basename(where) == MANIFEST:
        store = open_store(posixpath.dirname(where) or ".")
        if store.get(MANIFEST) is None:
            raise InputError(f"{where} is not there: give the folder or the manifest of an archive")
        return store, [MANIFEST]
    store = open_store(where)
    names = store.names()
    manifests = [name for name in names if posixpath.basename(name) == MANIFEST]
    if not manifests and not any(name.endswith(".csv.gz") for name in names):
        raise InputError(f"{where} holds no archive (no {MANIFEST}): give the folder or the manifest of one")
    return store, manifests


def _at(store: Store, name: str) -> str:
    return f"{store.where}/{name}" if name else store.where


def _check_one(store: Store, home: str, manifest: Manifest, beside: set[str], db: Connection) -> None:
    listed = [posixpath.join(home, c.object) for c in manifest.chunks]
    for name in sorted(beside - set(listed)):
        raise ArchiveError(f"{_at(store, name)} is in no manifest: it is extra, or the manifest lost it")
    if manifest.rows != sum(c.rows for c in manifest.chunks):
        raise ArchiveError(f"{_at(store, home)}/{MANIFEST} says {manifest.rows} rows, and its chunks have others")
    with _restored(db, manifest.columns, f"{_at(store, home)}/{MANIFEST}") as table:
        for name, chunk in zip(listed, manifest.chunks, strict=True):
            _load(db, table, _at(store, name), verified(store.get(name), chunk, _at(store, name)), chunk)
        row = db.execute(FINGERPRINT.format(table)).fetchone()
        if row is None or (row[0], str(row[1])) != (manifest.rows, manifest.fingerprint):
            raise ArchiveError(f"{_at(store, home)}/{MANIFEST}: the rows read back are not those that were archived")


def verified(body: bytes | None, chunk: Chunk, where: str) -> bytes:
    """An object as it was read back, when its hash is the recorded one."""
    if body is None:
        raise ArchiveError(f"{where} is missing")
    if (found := hashlib.sha256(body).hexdigest()) != chunk.sha256:
        raise ArchiveError(f"{where} is damaged: its SHA-256 is {found[:12]}…, not {chunk.sha256[:12]}…")
    return body


@contextmanager
def _restored(db: Connection, columns: Sequence[Column], where: str) -> Iterator[sql.Identifier]:
    """An empty table with these columns, for a moment."""
    db.execute(SETTINGS)
    parts: list[sql.Composable] = []
    for column in columns:
        if not PLAIN_TYPE.fullmatch(column.type):
            raise ArchiveError(f"{where}: column {column.name} has the type {column.type!r}, which is not built in")
        parts.append(sql.SQL("{} " + column.type).format(sql.Identifier(column.name)))
    table = sql.Identifier("restored")
    try:
        db.execute(sql.SQL("CREATE UNLOGGED TABLE {} ({})").format(table, sql.SQL(", ").join(parts)))
    except psycopg.Error as error:
        raise ArchiveError(f"{where}: its columns make no table ({message(error)})") from None
    try:
        yield table
    finally:
        db.execute(sql.SQL("DROP TABLE {}").format(table))


def _load(db: Connection, table: sql.Identifier, where: str, body: bytes, chunk: Chunk) -> None:
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        with db.cursor() as cursor:
            with cursor.copy(sql.SQL("COPY {} FROM STDIN (FORMAT csv, HEADER true)").format(table)) as copy:
                copy.write(unpacker.decompress(body))
                if not unpacker.eof or unpacker.unused_data:
                    raise ArchiveError(f"{where} is not one whole gzip stream")
            rows = cursor.rowcount
    except (zlib.error, psycopg.Error) as error:
        said = message(error) if isinstance(error, psycopg.Error) else error
        raise ArchiveError(f"{where} does not load: {said}") from None
    if rows != chunk.rows:
        raise ArchiveError(f"{where} has {rows} rows, and the manifest says {chunk.rows}")
