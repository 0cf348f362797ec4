"""Runs one server for as long as it has users, in a process of its own.

Users hold a shared lock; when the last one lets go, or is killed, the server is stopped and its scratch files go.
Started as a script by server.py, with the standard library alone.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

STOP_SECONDS = 30
CLEAN = {"LC_ALL": "C", "TZ": "UTC", "PATH": os.environ.get("PATH", os.defpath)}


def main(order: dict[str, Any]) -> int:
    data = Path(order["data"])
    try:
        with Path(order["users"]).open("r+b") as users:
            for source, target in order["copies"]:
                shutil.copytree(source, target, symlinks=True)
            if not data.exists():
                _create(order, data)
            return _serve(order, data, users)
    finally:
        shutil.rmtree(order["scratch"], ignore_errors=True)


def _create(order: dict[str, Any], data: Path) -> None:
    """A new data folder gets its name only when it is whole."""
    new = data.with_name(data.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    if order["user"]:
        os.chown(new, *order["user"])
    command = [*order["initdb"], "-D", _reached(order, new)]
    subprocess.run(command, cwd=new, stdin=subprocess.DEVNULL, check=True, **_as(order))
    new.rename(data)


def _serve(order: dict[str, Any], data: Path, users: IO[bytes]) -> int:
    command = [*order["postgres"], "-D", _reached(order, data)]
    server = subprocess.Popen(command, cwd=data, stdin=subprocess.DEVNULL, **_as(order))
    try:
        signal.signal(signal.SIGCHLD, _leave)
        signal.signal(signal.SIGTERM, _leave)
        if server.poll() is None:
            fcntl.flock(users, fcntl.LOCK_EX)  # granted when the last user has gone; new ones wait until we end
    finally:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if server.poll() is None:
            server.send_signal(signal.SIGINT)  # PostgreSQL's fast shutdown
            try:
                server.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                server.send_signal(signal.SIGQUIT)
                server.wait()
    return server.returncode


def _leave(*_: object) -> None:
    sys.exit(1)


def _reached(order: dict[str, Any], folder: Path) -> str:
    """Root may have put the folder where the server's user cannot walk to; standing in it, it can still work there."""
    return "/proc/self/cwd" if order["hidden"] else str(folder)


def _as(order: dict[str, Any]) -> dict[str, Any]:
    if not order["user"]:
        return {"env": CLEAN}
    user, group = order["user"]
    return {"env": CLEAN, "user": user, "group": group, "extra_groups": []}


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
