"""One synth of everything, shared by all tests: jsii is the slow part, and every test only reads the result."""

from __future__ import annotations

import atexit
import hashlib
import json
import locale
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from holdfast.contract import files

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

ROOT = Path(__file__).resolve().parent.parent
Json = dict[str, Any]

# As deployed, but findings are read from the report instead of failing the synth.
CONTEXT: Json = json.loads((ROOT / "cdk.json").read_text())["context"] | {
    "@aws-cdk/core:failSynthOnValidationErrors": False
}

# When a mistake about days shows: around midnight, at the end of a year, on a day that most years have not. All of them
# are ahead of the machine's clock, as what is written to the emulator may not be old.
MOMENTS = {
    "morning": datetime(2096, 4, 23, 0, 10, tzinfo=UTC),
    "night": datetime(2096, 4, 23, 23, 50, tzinfo=UTC),
    "last night of a year": datetime(2095, 12, 31, 23, 50, tzinfo=UTC),
    "first morning of a year": datetime(2096, 1, 1, 0, 10, tzinfo=UTC),
    "leap morning": datetime(2096, 2, 29, 0, 10, tzinfo=UTC),
    "leap night": datetime(2096, 2, 29, 23, 50, tzinfo=UTC),
    "night in Tokyo": datetime(2096, 4, 23, 23, 50, tzinfo=UTC),
}
# Asia/Tokyo, on machines without a time zone database, too: it is tomorrow there from 15:00 UTC on.
TOKYO = {"TZ": "JST-9", "LANG": "C", "LC_ALL": "C"}


@pytest.fixture(params=MOMENTS)
def now(request: pytest.FixtureRequest) -> Iterator[datetime]:
    """Each of MOMENTS; of one of them the machine is in Tokyo."""
    before = locale.setlocale(locale.LC_ALL)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in TOKYO.items() if "Tokyo" in request.param else ():
            patch.setenv(name, value)
        time.tzset()
        locale.setlocale(locale.LC_ALL, "")
        yield MOMENTS[request.param]
    time.tzset()
    locale.setlocale(locale.LC_ALL, before)


def count(env: str = "all", system: str | None = None) -> int:
    """How many tables are declared; that these are the right ones is tests/test_estate.py's affair."""
    from stacks import ESTATE

    places = ESTATE.placements(ESTATE.named(env))
    return sum(len(p.tables) for p in places if system in (None, p.stack.system))


def count_stores(env: str = "all", system: str | None = None) -> int:
    """How many other stores are declared; that these are the right ones is their own tests' affair."""
    from stacks import ESTATE

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


def copied(assembly: Path, target: Path) -> Path:
    """An assembly to spoil; assets are the same files under other names, so write none of them in place."""

    def copy(source: str, to: str) -> None:
        if f"{os.sep}asset." in source:
            os.link(source, to)
        else:
            shutil.copyfile(source, to)

    shutil.copytree(assembly, target, copy_function=copy, symlinks=True)
    return target


def settle(assembly: Path) -> None:
    """Gives every template the address that a synth would have given it."""
    manifest = assembly / "manifest.json"
    text = manifest.read_text()
    for path in assembly.glob("*.assets.json"):
        template = path.name.replace(".assets.json", ".template.json")
        assets = json.loads(path.read_text())
        (old,) = [i for i, entry in assets["files"].items() if entry["source"].get("path") == template]
        new = hashlib.sha256((assembly / template).read_bytes()).hexdigest()
        path.write_text(path.read_text().replace(old, new))
        text = text.replace(f"/{old}.json", f"/{new}.json") if old != new else text
    manifest.write_text(text)


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


@pytest.fixture(autouse=True)
def _own_estate() -> Iterator[None]:
    """A command that was run in another repository leaves that one's `stacks` imported."""
    before = _stacks()
    yield
    if _stacks() != before:
        for name in _stacks():
            del sys.modules[name]
        sys.modules.update(before)


def _stacks() -> dict[str, Any]:
    return {n: m for n, m in list(sys.modules.items()) if n == "stacks" or n.startswith("stacks.")}


@pytest.fixture(scope="session", autouse=True)
def _one_copy_of_holdfast() -> Any:
    """PyPI's `constructs` extends its path to our folder of that name: nobody may import us through it."""
    yield
    assert not [name for name in sys.modules if name.startswith("constructs.holdfast")]
