"""One synth of the estate, shared by all tests: jsii is the slow part, and every test only reads the result."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support import CONTEXT, ROOT
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from holdfast.contract import files
from stacks import ESTATE


def count(env: str = "all", system: str | None = None) -> int:
    """How many tables are declared; that these are the right ones is test_estate.py's affair."""
    places = ESTATE.placements(ESTATE.named(env))
    return sum(len(p.tables) for p in places if system in (None, p.stack.system))


def count_stores(env: str = "all", system: str | None = None) -> int:
    """How many other stores are declared; that these are the right ones is their own tests' affair."""
    places = ESTATE.placements(ESTATE.named(env))
    return sum(len(p.stores) for p in places if system in (None, p.stack.system))


@cache
def synthesized() -> Path:
    """The cloud assembly of prod and test, made once in each process."""
    from app import build

    folder = Path(tempfile.mkdtemp(prefix="holdfast-cdk.out-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    build(str(folder), **CONTEXT | {"env": "all"}).synth()
    return folder


@pytest.fixture(scope="session")
def outdir() -> Path:
    return synthesized()


class StackSnapshots(SingleFileSnapshotExtension):
    """snapshots/<stack>.json: the contract, byte by byte as `holdfast accept` writes it."""

    _write_mode = WriteMode.TEXT
    file_extension = "json"

    def serialize(self, data: Any, **_: Any) -> str:
        return files.text(data)

    @classmethod
    def dirname(cls, **_: Any) -> str:
        return str(ROOT / "snapshots")

    @classmethod
    def get_snapshot_name(cls, *, index: Any = 0, **_: Any) -> str:
        return str(index)

    @classmethod
    def get_file_basename(cls, *, index: Any, **_: Any) -> str:
        return str(index)


@pytest.fixture
def stack_snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(StackSnapshots)
