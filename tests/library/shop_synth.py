"""One synth of the shop, shared by all tests of the library: jsii is the slow part, and every test only reads it."""

from __future__ import annotations

import atexit
import contextlib
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest
from shop import ESTATE
from support import CONTEXT, ROOT, Json

from holdfast import Estate

PROJECT = ROOT / "tests" / "library" / "project"


def project(folder: Path) -> Path:
    """A project as the shop has it, with the layer that `make setup` built."""
    shutil.copytree(PROJECT, folder, dirs_exist_ok=True)
    (folder / "build").symlink_to(ROOT / "build")
    return folder


@cache
def synthesized() -> Path:
    """The cloud assembly of live and dev, made once in each process."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-shop-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return synthesize(ESTATE, folder)


def synthesize(estate: Estate, folder: Path) -> Path:
    """The cloud assembly of an estate that is declared in the shop's project."""
    from holdfast.cdk import app

    with contextlib.chdir(project(folder / "shop")):  # where there are no contracts
        app(estate, CONTEXT | {"env": "all"}, str(folder / "cdk.out")).synth()
    return folder / "cdk.out"


@pytest.fixture(scope="session")
def outdir() -> Path:
    return synthesized()


@pytest.fixture(scope="session")
def templates(outdir: Path) -> dict[str, Json]:
    return {p.name.removesuffix(".template.json"): json.loads(p.read_text()) for p in outdir.glob("*.template.json")}


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
