"""The meeting system alone, synthesized once for all tests that read it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from conftest import CONTEXT, Json

STACKS = {"prod": "MeetingSystem-prod", "test": "MeetingSystem-test"}


@cache
def synthesized(env: str = "all", **options: str) -> dict[str, Json]:
    """Every file of the assembly, by name; ``options`` are what -c would say."""
    from holdfast.cdk import estate
    from stacks import meeting

    with tempfile.TemporaryDirectory() as folder:
        estate((meeting.STACK,), CONTEXT | {"env": env} | options, folder).synth()
        return {p.name: json.loads(p.read_bytes()) for p in Path(folder).glob("*.json")}


def template(env: str) -> Json:
    """With everything in it, also what is there by flag only."""
    return synthesized(documents="true")[f"{STACKS[env]}.template.json"]


def resources(found: Json, kind: str) -> Iterator[tuple[str, Json]]:
    """What a template has of one type, by logical id; ``kind`` without AWS::."""
    return ((i, r) for i, r in found["Resources"].items() if r["Type"] == f"AWS::{kind}")


def only(found: Json, kind: str) -> Json:
    ((_, resource),) = resources(found, kind)
    return dict(resource)
