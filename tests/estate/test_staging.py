"""A new environment is one line: a region that no stack knew, and an account."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path

from support import CONTEXT, ROOT

from holdfast import Environment, Tier
from stacks import ESTATE

STAGING = Environment("staging", Tier.TEST, "eu-west-1", account="111122223333")


def test_staging_is_one_line(tmp_path: Path) -> None:
    from holdfast.cdk import app

    estate = replace(ESTATE, environments=(*ESTATE.environments, STAGING))
    with contextlib.chdir(tmp_path):  # where there are no contracts
        app(estate, CONTEXT | {"env": "staging"}, str(tmp_path), root=ROOT).synth()
    report = json.loads((tmp_path / "validation-report.json").read_text())["pluginReports"]
    assert [(v["ruleName"], v["description"]) for p in report for v in p["violations"]] == []
    found = json.loads((tmp_path / "manifest.json").read_text())
    stacks = {n: a for n, a in found["artifacts"].items() if a["type"] == "aws:cloudformation:stack"}
    assert stacks.keys() == {p.id for p in estate.placements([STAGING])}
    assert len(stacks) == sum(stack.environments is None for stack in ESTATE.stacks) >= 8
    regions = {p.id: p.region for p in estate.placements([STAGING])}
    assert {n: a["environment"] for n, a in stacks.items()} == {
        name: f"aws://111122223333/{region}" for name, region in regions.items()
    }
    assert not found.get("missing")  # nothing is looked up
