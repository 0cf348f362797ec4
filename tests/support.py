"""What tests of the library and of the estate share."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
Json = dict[str, Any]

# As deployed, but findings are read from the report instead of failing the synth.
CONTEXT: Json = json.loads((ROOT / "cdk.json").read_text())["context"] | {
    "@aws-cdk/core:failSynthOnValidationErrors": False
}

# When a mistake about days shows: around midnight, at the end of a year, on a day that most years have not. All of them
# are ahead of the machine's clock, as what is written to the emulator may not be old.
MOMENTS = {
    "morning": datetime(2096, 4, 23, 0, 10, tzinfo=UTC),
    "night": datetime(2096, 4, 23, 23, 50, tzinfo=UTC),
    "last night of a year": datetime(2095, 12, 31, 23, 50, tzinfo=UTC),
    "first morning of a year": datetime(2096, 1, 1, 0, 10, tzinfo=UTC),
    "leap morning": datetime(2096, 2, 29, 0, 10, tzinfo=UTC),
    "leap night": datetime(2096, 2, 29, 23, 50, tzinfo=UTC),
    "night in Tokyo": datetime(2096, 4, 23, 23, 50, tzinfo=UTC),
}
# Asia/Tokyo, on machines without a time zone database, too: it is tomorrow there from 15:00 UTC on.
TOKYO = {"TZ": "JST-9", "LANG": "C", "LC_ALL": "C"}


def copied(assembly: Path, target: Path) -> Path:
    """An assembly to spoil; assets are the same files under other names, so write none of them in place."""

    def copy(source: str, to: str) -> None:
        if f"{os.sep}asset." in source:
            os.link(source, to)
        else:
            shutil.copyfile(source, to)

    shutil.copytree(assembly, target, copy_function=copy, symlinks=True)
    return target


def settle(assembly: Path) -> None:
    """Gives every template the address that a synth would have given it."""
    manifest = assembly / "manifest.json"
    text = manifest.read_text()
    for path in assembly.glob("*.assets.json"):
        template = path.name.replace(".assets.json", ".template.json")
        assets = json.loads(path.read_text())
        (old,) = [i for i, entry in assets["files"].items() if entry["source"].get("path") == template]
        new = hashlib.sha256((assembly / template).read_bytes()).hexdigest()
        path.write_text(path.read_text().replace(old, new))
        text = text.replace(f"/{old}.json", f"/{new}.json") if old != new else text
    manifest.write_text(text)
