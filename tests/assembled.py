"""What an assembly holds, as fixtures: the library's and the estate's tests each have an ``outdir`` of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import Json


def read(outdir: Path) -> dict[str, Json]:
    """Templates of an assembly, by stack."""
    return {p.name.removesuffix(".template.json"): json.loads(p.read_text()) for p in outdir.glob("*.template.json")}


@pytest.fixture(scope="session")
def templates(outdir: Path) -> dict[str, Json]:
    return read(outdir)


@pytest.fixture(scope="session")
def contracts(outdir: Path) -> dict[str, Json]:
    """What would be accepted, by stack."""
    from holdfast.contract import make

    return make.contracts(outdir)


@pytest.fixture(scope="session")
def manifest(outdir: Path) -> dict[str, Json]:
    """What CloudFormation is told beside the template, by stack."""
    artifacts = json.loads((outdir / "manifest.json").read_text())["artifacts"]
    return {name: a for name, a in artifacts.items() if a["type"] == "aws:cloudformation:stack"}


@pytest.fixture(scope="session")
def report(outdir: Path) -> list[Json]:
    """What each validation plugin said."""
    reports: list[Json] = json.loads((outdir / "validation-report.json").read_bytes())["pluginReports"]
    return reports
