"""Which declarations a cdk.out was made from: a digest beside the manifest, the same on every machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from enum import Enum, Flag
from pathlib import Path
from typing import Any

from holdfast.cfn import bounded
from holdfast.contract.files import nested
from holdfast.errors import InputError
from holdfast.estate.estate import Estate

FILE = "holdfast.json"
MAX_BYTES = 1_000_000
Json = dict[str, Any]
AGAIN = "run `make synth`, or `cdk synth -c env=all`, again"


def write(outdir: Path, estate: Estate) -> None:
    """Once the templates are written: a synth that failed earlier leaves what was there."""
    content = {"version": 1, "holdfast": release(), "declarations": digest(estate), "waived": _waivers(estate)}
    (outdir / FILE).write_text(json.dumps(content) + "\n", encoding="utf-8")


def release() -> str:
    """The version of this library."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("holdfast")
    except PackageNotFoundError:  # a checkout that is not installed
        return "0.0.0"


def check(outdir: Path, estate: Estate) -> None:
    """Refuses an output of other declarations; one without a digest is taken where nothing is waived."""
    told, known = _read(outdir), _waivers(estate)
    if told is None and not known:
        return
    if told is None or told.get("declarations") != digest(estate) or told.get("waived", {}) != known:
        raise InputError(f"{outdir} is of other declarations: {AGAIN}")


def waived(outdir: Path) -> dict[str, Json]:
    """The waivers that an output was made with, by stack id, store and rule."""
    found = (_read(outdir) or {}).get("waived", {})
    if not nested(found, 4, lambda text: isinstance(text, str)):  # by stack, store, rule and word
        raise InputError(f"{outdir / FILE} is damaged: {AGAIN}")
    return dict(found)


def _read(outdir: Path) -> Json | None:
    """What was written beside the manifest; None where nothing was."""
    path = outdir / FILE
    if not path.exists():
        return None
    content = bounded.read(path, MAX_BYTES, AGAIN)
    try:
        found = bounded.tree(content)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InputError(f"{path} is damaged: {AGAIN}")
    return found


def _waivers(estate: Estate) -> dict[str, Json]:
    """{stack id: {store: {rule: reason, owner and end}}}, only where there are any."""
    found: dict[str, Json] = {}
    for place in estate.placements():
        for store in sorted((*place.tables, *place.stores), key=lambda s: place.fill(s.name)):
            for w in sorted(store.waivers, key=lambda w: w.rule):
                if w.environment == place.env:
                    told = {"reason": w.reason, "owner": w.owner, "expires": w.expires.isoformat()}
                    found.setdefault(place.id, {}).setdefault(place.fill(store.name), {}).setdefault(w.rule, told)
    return found


def digest(estate: Estate) -> str:
    return hashlib.sha256(json.dumps(_plain(estate), sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Data without anything that another process would write differently."""
    match value:
        case None | str() | bool() | int() | float() if not isinstance(value, Enum):
            return value
        case Flag():
            return [type(value).__name__, value.value]
        case Enum():
            return [type(value).__name__, value.name, _plain(value.value)]
        case date():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Mapping():
            return sorted(([_plain(k), _plain(v)] for k, v in value.items()), key=json.dumps)
        case set() | frozenset():
            return sorted(map(_plain, value), key=json.dumps)
        case list() | tuple():
            return [_plain(v) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {"": type(value).__name__, **{f.name: _plain(getattr(value, f.name)) for f in fields(value)}}
    return type(value).__name__  # a function, a path of this machine: not data
