"""Starting, knowing again and ending the emulator's process. Only ours is ever signalled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

from holdfast.errors import InputError
from holdfast.files import append_private, private_folder, write_private
from holdfast.local.gate import FILE, HEADER, Secret

HOME = Path(".holdfast", "local")
START_SECONDS = 60
STOP_SECONDS = 30
ANSWER_SECONDS = 20
# What leads programs elsewhere: credentials and endpoints of the caller, and proxies between here and loopback.
FOREIGN = ("AWS_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "CDK_")
# All that the emulator gets of the caller's environment, and hands on to functions; AUTH makes ministack enforce IAM.
KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "AUTH")

_opener = build_opener(ProxyHandler({}))
_started: dict[int, subprocess.Popen[bytes]] = {}  # they outlive this process, and are not waited for at its end


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """An emulator that answered, and is the one that was started here."""

    pid: int
    port: int
    endpoint: str
    secret: Secret


def running(home: Path = HOME) -> Running | None:
    """The emulator of this repository; None when it does not run. InputError when that cannot be known."""
    try:
        told = json.loads((home / "emulator.json").read_text())
        secret = Secret((home / FILE).read_text())
        found = Running(pid=told["pid"], port=told["port"], endpoint=told["endpoint"], secret=secret)
        token = secret.issue()  # what listens there now may be another program, which is not told the secret itself
        answer = dict(_ask(found.endpoint + "/_holdfast", token, seconds=ANSWER_SECONDS))
    except TimeoutError:
        said = f"{found.endpoint} does not answer within {ANSWER_SECONDS} s, but it accepts connections"
        raise InputError(f"{said}: if process {found.pid} is a stuck emulator, end it and try again") from None
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return None
    return found if answer.get("proof") == secret.proof(token) and answer.get("pid") == found.pid else None


def needed(home: Path = HOME) -> Running:
    """The emulator, where a command cannot do without."""
    if found := running(home):
        return found
    raise InputError("the emulator does not run: start it with `holdfast local up`")


def contents(emulator: Running) -> dict[str, Any]:
    """What the emulator says of itself: who it is, its stacks, its tables, and what is only recorded."""
    return dict(ask(emulator, "/_holdfast"))


def ask(emulator: Running, path: str) -> Any:
    """One of Holdfast's own addresses in the emulator."""
    return _ask(emulator.endpoint + path, emulator.secret.value, seconds=60)


def _ask(address: str, token: str, *, seconds: float) -> Any:
    return json.loads(send(address, b"", {HEADER: token}, method="POST", seconds=seconds))


def send(address: str, body: bytes, headers: Mapping[str, str], *, method: str, seconds: float = 60) -> str:
    """One request to the emulator, past any proxy, and to this machine only."""
    if not address.startswith("http://127.0.0.1:"):
        raise InputError(f"{address} is not this machine: the emulator is only asked on 127.0.0.1")
    with _opener.open(Request(address, body, dict(headers), method=method), timeout=seconds) as answer:
        text: bytes = answer.read()
    return text.decode()


@contextmanager
def alone(home: Path = HOME) -> Iterator[None]:
    """One command at a time starts, fills or ends the emulator of a repository."""
    from filelock import FileLock, Timeout

    private_folder(home.parent)
    file = home.parent / f"{home.name}.lock"
    append_private(file).close()  # also when it was open to others
    try:
        held = FileLock(file).acquire(blocking=False)
    except Timeout:
        raise InputError("another `holdfast local` command is at work in this repository: wait for it") from None
    with held:
        yield


def start(home: Path = HOME) -> Running:
    """The emulator of this repository, started unless it runs already; its state is the one that it last had."""
    if found := running(home):
        return found
    if find_spec("ministack") is None:
        raise InputError("the emulator is not installed: pip install 'holdfast[local]'")
    private_folder(home)
    (home / "emulator.json").unlink(missing_ok=True)
    log = home / "emulator.log"
    write_private(log, "")
    with append_private(log) as output:
        process = subprocess.Popen(
            command(home / "emulator.json", state=home / "state"),
            env=bare_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C ends a deploy, not what it deploys to
        )
    _started[process.pid] = process
    return wait(process, home / "emulator.json", log)


def command(ready: Path, *, state: Path | None = None, attached: bool = False) -> list[str]:
    # -P: nothing of the working folder is imported. utf8: ministack writes functions' code as the locale has it.
    line = [sys.executable, "-P", "-X", "utf8", "-m", "holdfast.local.emulator", "--ready", str(ready.resolve())]
    return line + (["--state", str(state.resolve())] if state else []) + (["--attached"] if attached else [])


def wait(process: subprocess.Popen[Any], ready: Path, log: Path) -> Running:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if ready.exists() and (found := running(ready.parent)):
            return found
        if process.poll() is not None:
            said = [line for line in log.read_text().splitlines() if line.strip()]
            reason = said[-1].removeprefix("holdfast: ") if said else f"exit status {process.returncode}"
            raise InputError(reason if process.returncode == 2 else f"the emulator ended: {reason}; see {log}")
        time.sleep(0.05)
    process.terminate()
    raise InputError(f"the emulator did not answer within {START_SECONDS} s: see {log}")


def stop(home: Path = HOME) -> bool:
    """End the emulator, which saves its state first. False when none of ours runs."""
    found = running(home)
    if found is None:
        return False
    os.kill(found.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while _alive(found.pid):
        if time.monotonic() > deadline:
            raise InputError(f"the emulator (process {found.pid}) does not end: end it with `kill -9 {found.pid}`")
        time.sleep(0.05)
    for name in ("emulator.json", FILE):
        (home / name).unlink(missing_ok=True)
    return True


def _alive(pid: int) -> bool:
    if own := _started.get(pid):
        return own.poll() is None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def bare_environment() -> dict[str, str]:
    """What the emulator starts with: functions may read what its process was given, whatever it clears later."""
    return {k: v for k, v in own_environment().items() if k in (*KEPT, "PYTHONPATH")}


def own_environment() -> dict[str, str]:
    """The caller's environment without anything that leads to an AWS account or to a proxy."""
    package = str(Path(__file__).resolve().parents[2])
    kept = {k: v for k, v in os.environ.items() if not k.upper().startswith(FOREIGN)}
    path = os.pathsep.join(p for p in (package, kept.get("PYTHONPATH", "")) if p)
    return {**kept, "PYTHONPATH": path}
