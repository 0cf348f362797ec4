"""A state of the estate's own in the emulator, in place of what it holds: a day to practise on, such as an incident."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from holdfast.local import deploy, process
from holdfast.local.client import Client


def put(fill: Callable[[Client, Path], None]) -> None:
    """Empties the running emulator, has ``fill`` fill it from the whole estate's cdk.out, and keeps the result."""
    with process.alone():
        emulator = process.needed()
        outdir = process.HOME / "cdk.out-all"
        if not (outdir / "manifest.json").exists():
            outdir = deploy.synthesize(emulator, "all")
        client = Client(emulator=emulator)
        client.rest("holdfast", deploy.REGION, "POST", "/_ministack/reset")
        fill(client, outdir)
        process.ask(emulator, "/_holdfast/save")
