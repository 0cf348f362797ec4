"""One synth of the shop, shared by all tests of the library: jsii is the slow part, and every test only reads it."""

from __future__ import annotations

import atexit
import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from assembled import read
from shop import ESTATE
from support import CONTEXT, ROOT, Json

from holdfast import Estate

PROJECT = ROOT / "tests" / "library" / "project"


def project(folder: Path) -> Path:
    """A project as the shop has it, with the layer that `make setup` built, and without contracts."""
    shutil.copytree(PROJECT, folder, dirs_exist_ok=True)
    shutil.copy(PROJECT.parent / "shop.py", folder)
    (folder / "build").symlink_to(ROOT / "build")
    return folder


def accepted(folder: Path) -> Path:
    """A project whose contracts are what is synthesized."""
    project(folder)
    (folder / "snapshots").mkdir()
    for stack, content in accepted_texts().items():
        (folder / "snapshots" / f"{stack}.json").write_text(content)
    return folder


@cache
def accepted_texts() -> dict[str, str]:
    """The content of contracts, by stack."""
    from holdfast.contract import files, make

    return {stack: files.text(contract) for stack, contract in make.contracts(synthesized()).items()}


class Contracts(Mapping[str, Json]):
    """Contracts of the shop as files have them, by stack; synthesized when the first one is read."""

    def __getitem__(self, stack: str) -> Json:
        return _parsed()[stack]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(p.id for p in ESTATE.placements()))

    def __len__(self) -> int:
        return len(ESTATE.placements())


@cache
def _parsed() -> dict[str, Json]:
    from holdfast.contract import files

    return {stack: files.parse(content.encode(), stack) for stack, content in accepted_texts().items()}


def table(template: Json, name: str = "orders-production") -> Json:
    """The resource of a table."""
    found: Json
    (found,) = (r for r in template["Resources"].values() if r.get("Properties", {}).get("TableName") == name)
    return found


@cache
def _home() -> Path:
    """A folder of this process with a project without contracts in it."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-shop-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    project(folder / "shop")
    return folder


def synth(estate: Estate, outdir: Path, env: str = "all") -> dict[str, Json]:
    """Templates of the shop, or of what was made of it, by stack."""
    from holdfast.cdk import app

    with contextlib.chdir(_home() / "shop"):
        app(estate, CONTEXT | {"env": env}, str(outdir)).synth()
    return read(outdir)


@cache
def synthesized() -> Path:
    """The cloud assembly of live and dev, made once in each process."""
    synth(ESTATE, _home() / "cdk.out")
    return _home() / "cdk.out"


def count(env: str = "all") -> int:
    """How many tables and other stores are declared."""
    return sum(len(p.tables) + len(p.stores) for p in ESTATE.placements(ESTATE.named(env)))


@pytest.fixture(scope="session")
def outdir() -> Path:
    return synthesized()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a project of the shop with its contracts."""
    monkeypatch.chdir(folder := accepted(tmp_path / "shop"))
    return folder
