"""What the functions of a database carry: the modules that their handler imports, and nothing else."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from shop_synth import PROJECT

from holdfast.kinds.database.construct import functions

INSTALLED = Path(psycopg.__file__).parents[1]
# What Lambda has of itself and what the layer brings; Pythons before 3.13 need typing_extensions for the latter.
THERE = (
    *("boto3", "botocore", "dateutil", "jmespath", "s3transfer", "six.py", "urllib3"),
    *("psycopg", "psycopg_binary", "psycopg_binary.libs", "typing_extensions.py"),
)
ALL = """
import sys
from importlib import import_module
sys.path[:0] = sys.argv[1:3]
for name in sys.argv[3:]:
    import_module(name)
print(*sorted(name for name in sys.modules if name.split(".")[0] == "holdfast"))
"""


def imported(path: Path) -> Iterator[str]:
    """The files of Holdfast that a file imports, inside its functions, too."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        match node:
            case ast.Import(names=names):
                modules = [a.name for a in names]
            case ast.ImportFrom(module=str(module), names=names):
                modules = [f"{module}.{a.name}" for a in names]
            case _:
                continue
        for _, *parts in (m.split(".") for m in modules if m.startswith("holdfast")):
            for end in range(1, len(parts) + 1):
                name = "/".join(parts[:end])
                yield from (n for n in (f"{name}.py", f"{name}/__init__.py") if (functions.PACKAGE / n).is_file())


def test_the_code_is_what_the_handler_imports_at_any_time() -> None:
    reached: set[str] = set()
    found = set(imported(functions.PACKAGE / functions.HANDLER))
    while found - reached:
        reached |= found
        found = {name for path in found for name in imported(functions.PACKAGE / path)}
    assert sorted(reached) == list(functions.CARRIED)


def test_the_upkeep_of_rows_carries_what_it_imports_beside_that() -> None:
    own = "functions/database/upkeep.py"
    reached, found = {own}, set(imported(functions.PACKAGE / own))
    while found - reached:
        reached |= found
        found = {name for path in found for name in imported(functions.PACKAGE / path)}
    assert sorted(reached - {*functions.CARRIED}) == list(functions.CARRIED_FOR_ROWS)


@pytest.mark.parametrize("rows", [False, True])
def test_the_code_runs_alone(rows: bool, tmp_path: Path) -> None:
    """Every module, in an interpreter that knows only what Lambda and the layer have."""
    for name in THERE:
        if (INSTALLED / name).exists():
            (tmp_path / name).symlink_to(INSTALLED / name)
    code = functions.staged(PROJECT, "shop", rows=rows)
    paths = (p.relative_to(code).with_suffix("") for p in code.rglob("*.py"))
    names = sorted(".".join(p.parts).removesuffix(".__init__") for p in paths)
    command = [sys.executable, "-I", "-S", "-B", "-c", ALL, str(code), str(tmp_path), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout.split()) == ("", [n for n in names if n != "handler"])


def test_an_edit_of_any_other_module_changes_no_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "holdfast"
    shutil.copytree(functions.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(functions, "PACKAGE", package)
    changing = []
    before = functions.digest(PROJECT, "shop")
    for path in sorted(package.rglob("*.py")):
        path.write_text(path.read_text() + "# an edit\n")
        if (after := functions.digest(PROJECT, "shop")) != before:
            changing.append(path.relative_to(package).as_posix())
            before = after
    assert changing == sorted((functions.HANDLER, *functions.CARRIED))
