"""A contract as a file: made to be read, to be reviewed line by line, and to merge well."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.cfn import bounded
from holdfast.cfn.normal import LEVELS
from holdfast.errors import InputError

VERSION = 1
WIDTH = 120
MAX_BYTES = 10_000_000
FOLDER = Path("snapshots")
REQUIRED = ("acknowledged", "code", "template")
MEND = "restore it from git, or write it with make accept"
MERGED = "git checkout --ours snapshots && make accept"
Json = dict[str, Any]


def text(contract: Json) -> str:
    """The same bytes wherever it is written: what fits on a line stands on one, and nothing is beyond ASCII."""
    return _pretty(contract, 0, 0) + "\n"


def _pretty(value: Any, indent: int, before: int) -> str:
    """``before`` is how much of the line is taken already."""
    if not isinstance(value, dict | list) or not value:
        return json.dumps(value)
    room = WIDTH - before
    if _left(value, room) >= 0 and len(line := json.dumps(value)) <= room:
        return line
    inner, end = "\n" + " " * (indent + 1), "\n" + " " * indent
    if isinstance(value, dict):
        names = {f"{json.dumps(k)}: ": v for k, v in value.items()}
        parts = [f"{inner}{k}{_pretty(v, indent + 1, len(inner) + len(k))}" for k, v in names.items()]
        return "{" + ",".join(parts) + end + "}"
    return "[" + ",".join([inner + _pretty(v, indent + 1, len(inner)) for v in value]) + end + "]"


def _left(value: Any, room: int) -> int:
    """What a value leaves of a line, at most; it stops counting where nothing is left, so that all of it is linear."""
    if isinstance(value, str):
        return room - len(value) - 2
    if not isinstance(value, dict | list):
        return room - 1
    for part in value:
        room -= 2
        if isinstance(value, dict):
            room -= len(part) + 4
        if room < 0 or (room := _left(value[part] if isinstance(value, dict) else part, room)) < 0:
            return -1
    return room


def read(path: Path) -> Json:
    """One contract from its file."""
    return parse(content(path), str(path))


def current(path: Path) -> Json:
    """One contract of the working tree: only those of commits may be older than this Holdfast and say less."""
    found = read(path)
    missing = next((name for name in REQUIRED if name not in found), None)
    if found.get("version", 0) != VERSION:
        raise InputError(f"{path} was written by an earlier version, and says less: write it anew with make accept")
    if missing:
        raise InputError(f"{path} is not a contract (it has no {missing}): {MEND}")
    return found


def content(path: Path) -> bytes:
    """The bytes of a file, and one more than a contract may have where it has more."""
    return bounded.read(path, MAX_BYTES, MEND)


def parse(raw: bytes, name: str) -> Json:
    """One contract from the bytes of its file; ``name`` is for messages."""
    if len(raw) > MAX_BYTES:
        raise InputError(f"{name} has more than {MAX_BYTES // 1_000_000} MB: it is not a contract")
    try:
        found = bounded.tree(raw, LEVELS)
    except ValueError as error:
        if b"<<<<<<< " in raw and b">>>>>>> " in raw:
            raise InputError(f"{name} is half merged: `{MERGED}` writes it anew") from None
        raise InputError(f"{name} is not a contract ({error}): {MEND}") from None
    version = found.get("version", 0) if isinstance(found, dict) else 0
    if type(version) is not int or version not in range(VERSION + 1):
        raise InputError(
            f"{name} has version {version!r:.60}, and this Holdfast knows up to {VERSION}: update Holdfast"
        )
    if why := misshapen(found):
        raise InputError(f"{name} is not a contract ({why}): {MEND}")
    return dict(found)


def misshapen(found: Any) -> str | None:
    """Why a tree is not a contract, of this version or before; None where it is one."""
    if not isinstance(found, dict):
        return "it has no stack and template"
    stack, template = found.get("stack"), found.get("template")
    if not isinstance(stack, dict) or not isinstance(template, dict):
        return "it has no stack and template"
    if not isinstance(stack.get("name"), str):
        return "its stack has no name"
    if not isinstance(stack.get("environment", ""), str | None):
        return "the environment of its stack is not a text"
    if not _are_texts(stack.get("dependencies", [])):
        return "the dependencies of its stack are not a list of names"
    if not all(isinstance(template.get(s, {}), dict) for s in ("Resources", "Parameters", "Conditions", "Outputs")):
        return "a section of its template is not an object"
    for logical_id, resource in template.get("Resources", {}).items():
        if not logical_id.startswith("Fn::") and not (isinstance(resource, dict) and _is_text(resource.get("Type"))):
            return f"{logical_id[:60]!r} of its template has no Type"
    if not nested(found.get("acknowledged", {}), 2, _are_texts):
        return "what it calls acknowledged is not reasons, rules and constructs"
    if not nested(found.get("waived", {}), 3, _is_text):
        return "what it calls waived is not stores, rules and reasons"
    if not nested(found.get("nested", {}), 1, lambda inner: nested(inner, 1, lambda part: isinstance(part, dict))):
        return "a nested stack of it is not an object"
    of_code = nested(found.get("code", {}), 2, lambda carried: isinstance(carried, dict))
    return None if of_code else "what it calls code is not digests of resources"


def nested(tree: Any, levels: int, leaf: Callable[[Any], bool]) -> bool:
    """Whether a tree has as many levels of objects above its leaves."""
    if not levels:
        return leaf(tree)
    return isinstance(tree, dict) and all(nested(part, levels - 1, leaf) for part in tree.values())


def _are_texts(part: Any) -> bool:
    return isinstance(part, list) and all(map(_is_text, part))


def _is_text(part: Any) -> bool:
    return isinstance(part, str)
