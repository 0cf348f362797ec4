"""The meeting system alone, synthesized once for all tests that read it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from declare import estate
from support import CONTEXT, Json

from holdfast import Stack
from stacks import meeting

STACKS = {"prod": "MeetingSystem-prod", "test": "MeetingSystem-test"}


def synthesized(stack: Stack = meeting.STACK, **changes: Any) -> dict[str, Json]:
    """Every file of the assembly, by name."""
    from holdfast.cdk import app

    with tempfile.TemporaryDirectory() as folder:
        app(estate(stack, **changes), CONTEXT | {"env": "all"}, folder).synth()
        return {p.name: json.loads(p.read_bytes()) for p in Path(folder).glob("*.json")}


@cache
def declared() -> dict[str, Json]:
    """The assembly of the stack as it is declared."""
    return synthesized()


def template(env: str) -> Json:
    return declared()[f"{STACKS[env]}.template.json"]


def resources(found: Json, kind: str) -> Iterator[tuple[str, Json]]:
    """What a template has of one type, by logical id; ``kind`` without AWS::."""
    return ((i, r) for i, r in found["Resources"].items() if r["Type"] == f"AWS::{kind}")


def only(found: Json, kind: str) -> Json:
    ((_, resource),) = resources(found, kind)
    return dict(resource)
