"""A contract as a file: made to be read, to be reviewed line by line, and to merge well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from holdfast.cfn.normal import once
from holdfast.errors import InputError

VERSION = 1
WIDTH = 120
MAX_BYTES = 20_000_000
FOLDER = Path("snapshots")
Json = dict[str, Any]


def text(contract: Json) -> str:
    """The same bytes wherever it is written: what fits on a line stands on one, and nothing is beyond ASCII."""
    return _pretty(contract, 0, 0) + "\n"


def _pretty(value: Any, indent: int, before: int) -> str:
    """``before`` is how much of the line is taken already."""
    line = json.dumps(value)
    if len(line) + before <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    inner, end = "\n" + " " * (indent + 1), "\n" + " " * indent
    if isinstance(value, dict):
        names = {f"{json.dumps(k)}: ": v for k, v in value.items()}
        return (
            "{"
            + ",".join(f"{inner}{k}{_pretty(v, indent + 1, len(inner) + len(k))}" for k, v in names.items())
            + end
            + "}"
        )
    return "[" + ",".join(inner + _pretty(v, indent + 1, len(inner)) for v in value) + end + "]"


def read(path: Path) -> Json:
    """One contract from its file."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from None
    return parse(content, str(path))


def parse(content: bytes, name: str) -> Json:
    """One contract from the bytes of its file; ``name`` is for messages."""
    if len(content) > MAX_BYTES:
        raise InputError(f"{name} has more than {MAX_BYTES // 1_000_000} MB: it is not a contract")
    try:
        found = json.loads(content, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        if b"<<<<<<< " in content and b">>>>>>> " in content:
            advice = "git checkout --ours snapshots && make accept"
            raise InputError(f"{name} is half merged: `{advice}` writes it anew") from None
        raise InputError(
            f"{name} is not a contract ({error}): restore it from git, or write it with make accept"
        ) from None
    if (
        not isinstance(found, dict)
        or not isinstance(found.get("template"), dict)
        or not isinstance(found.get("stack"), dict)
    ):
        raise InputError(f"{name} is not a contract (no stack and template): write it with make accept")
    version = found.get("version", 0)
    if not isinstance(version, int) or version > VERSION:
        raise InputError(f"{name} has version {version!r}, and this Holdfast knows up to {VERSION}: update Holdfast")
    return found
