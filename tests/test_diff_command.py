"""`holdfast diff` and `accept` on real git repositories."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import CONTEXT, ROOT, Json
from test_audit import git

from holdfast import Data, Transient
from holdfast.cdk import estate
from holdfast.cli import main
from holdfast.contract import files, make, text
from holdfast.contract.diff import diff as compared
from stacks import CATALOG

STACKS = ("LeadTrackingStack-prod", "RCSubscription-prod-Storage")
LEADS, RINGS = STACKS
TABLE = "LeadTracking-v2-us-east-1"
Diff = Callable[..., tuple[int, str, str]]


def edit(folder: Path, stack: str, change: Callable[[Json], None]) -> None:
    path = folder / "snapshots" / f"{stack}.json"
    contract = files.read(path)
    change(contract)
    path.write_text(files.text(contract))


def tables(contract: Json) -> list[Json]:
    return [r for r in contract["template"]["Resources"].values() if r["Type"] == "AWS::DynamoDB::Table"]


def unprotect(contract: Json) -> None:
    tables(contract)[0]["Properties"]["DeletionProtectionEnabled"] = False


def purpose(contract: Json) -> None:
    tables(contract)[0]["Properties"]["Tags"]["Owner"] = "another team"


def commit(folder: Path, message: str) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", message)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two contracts, committed on main."""
    folder = tmp_path / "repository"
    (folder / "snapshots").mkdir(parents=True)
    for stack in STACKS:
        shutil.copy(ROOT / "snapshots" / f"{stack}.json", folder / "snapshots")
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "contracts")
    return folder


@pytest.fixture
def diff(repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Diff:
    monkeypatch.delenv("GITHUB_BASE_REF", raising=False)

    def run(*arguments: str, folder: Path = repository) -> tuple[int, str, str]:
        monkeypatch.chdir(folder)
        code = main(["diff", *arguments])
        return code, *capsys.readouterr()

    return run


def test_a_weakening_on_a_branch_is_told_against_where_it_left_main(repository: Path, diff: Diff) -> None:
    git(repository, "checkout", "-q", "-b", "feature")
    assert diff()[0] == 0
    edit(repository, LEADS, unprotect)  # not committed: the working tree counts
    code, out, err = diff()
    assert (code, err) == (1, "1 weakened\n")
    first, *rest = out.splitlines()
    assert first.endswith(", where this left main")
    assert rest == [
        f"WEAKENED  {TABLE} in {LEADS}",
        "          deletion protection is lost: Properties/DeletionProtectionEnabled true → false",
    ]
    commit(repository, "unprotect")
    assert diff()[:2] == (code, out)
    (repository / "deep" / "er").mkdir(parents=True)
    assert diff(folder=repository / "deep" / "er")[0] == 1


def test_what_main_did_meanwhile_is_not_the_branchs(repository: Path, diff: Diff) -> None:
    git(repository, "checkout", "-q", "-b", "feature")
    edit(repository, RINGS, purpose)
    commit(repository, "owner")
    git(repository, "checkout", "-q", "main")
    edit(repository, LEADS, unprotect)
    commit(repository, "unprotect")
    git(repository, "checkout", "-q", "feature")
    code, out, _ = diff()
    assert code == 0
    assert LEADS not in out
    git(repository, "merge", "-q", "--no-edit", "main")
    code, out, _ = diff()
    assert code == 0
    assert LEADS not in out
    assert diff("--against", "main~1")[0] == 1


def test_on_main_the_commit_before_is_the_base(repository: Path, diff: Diff) -> None:
    edit(repository, LEADS, unprotect)
    commit(repository, "unprotect")
    code, out, _ = diff()
    assert code == 1
    assert out.startswith("against the commit before (")


def test_two_branches_that_change_two_tables_of_one_stack_merge_clean(repository: Path, diff: Diff) -> None:
    def second(contract: Json) -> None:
        tables(contract)[1]["Properties"]["Tags"]["Owner"] = "a third team"

    for branch, change in (("one", purpose), ("two", second)):
        git(repository, "checkout", "-q", "-b", branch, "main")
        edit(repository, RINGS, change)
        commit(repository, branch)
    git(repository, "merge", "-q", "--no-edit", "one")
    both = files.read(repository / "snapshots" / f"{RINGS}.json")
    assert {t["Properties"]["Tags"]["Owner"] for t in tables(both)} == {"another team", "a third team"}


def test_a_removed_and_a_new_stack_are_told(repository: Path, diff: Diff) -> None:
    (repository / "snapshots" / f"{LEADS}.json").rename(repository / "snapshots" / "Renamed.json")
    code, out, err = diff("--against", "HEAD")
    assert (code, err) == (1, "1 removed, 1 added\n")
    assert f"the stack is gone, and with it {TABLE}" in out


def test_markdown_and_json(repository: Path, diff: Diff) -> None:
    edit(repository, LEADS, unprotect)
    _, out, _ = diff("--against", "HEAD", "--format", "json")
    (change,) = json.loads(out)["changes"]
    assert (change["change"], change["store"], change["before"], change["after"]) == (
        "weakened",
        TABLE,
        "true",
        "false",
    )
    assert json.loads(out)["summary"]["weakened"] == 1
    _, out, _ = diff("--against", "HEAD", "--format", "markdown")
    assert out.splitlines()[2].startswith(f"- **weakened** `{TABLE} in {LEADS}`: `deletion protection is lost")


def test_a_snapshot_from_before_contracts_is_compared_in_todays_form(repository: Path, diff: Diff) -> None:
    """As the file stood before: the raw template, without a version."""
    contract = files.read(repository / "snapshots" / f"{LEADS}.json")
    raw: Json = json.loads(json.dumps(contract["template"]))
    (table,) = [r for r in raw["Resources"].values() if r["Type"] == "AWS::DynamoDB::Table"]
    table["Properties"]["Tags"] = [{"Key": k, "Value": v} for k, v in reversed(table["Properties"]["Tags"].items())]
    stack = {k: contract["stack"][k] for k in ("name", "environment", "terminationProtection", "tags")}
    old = {"stack": stack, "acknowledged": contract["acknowledged"], "template": raw}
    path = repository / "snapshots" / f"{LEADS}.json"
    path.write_text(json.dumps(old, indent=2, sort_keys=True))
    commit(repository, "as it was")
    path.write_text(files.text(contract))
    assert diff("--against", "HEAD")[2] == "nothing differs\n"


@pytest.mark.parametrize(
    ("arguments", "prepare", "says"),
    [
        (["--against=nowhere"], None, "--against nowhere: git knows no such commit here"),
        (["--against=--output=x"], None, "--against --output=x: git knows no such commit here"),
        ([], lambda f: shutil.rmtree(f / "snapshots"), "there are no contracts here"),
        ([], lambda f: shutil.rmtree(f / ".git"), "is not in a git repository"),
        ([], lambda f: git(f, "branch", "-m", "main", "trunk"), "no default branch is known here"),
        (
            ["--against=HEAD"],
            lambda f: (f / "snapshots" / f"{LEADS}.json").write_text("<<<<<<< HEAD\n=======\n>>>>>>> x\n"),
            "is half merged",
        ),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], prepare: Any, says: str, repository: Path, diff: Diff) -> None:
    if prepare:
        prepare(repository)
    code, out, err = diff(*arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_a_repository_without_a_commit_and_a_shallow_clone_say_what_to_do(
    repository: Path, diff: Diff, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    shutil.copytree(repository / "snapshots", empty / "snapshots")
    git(empty, "init", "-q")
    code, _, err = diff(folder=empty)
    assert (code, err) == (2, "holdfast: the repository has no commit yet: there is nothing to compare with\n")
    edit(repository, LEADS, purpose)
    commit(repository, "owner")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")
    code, _, err = diff("--against=HEAD~1", folder=tmp_path / "shallow")
    assert code == 2
    assert err.endswith("the clone is shallow: `git fetch --unshallow` brings the rest\n")


def test_the_base_of_a_pull_request_is_the_platforms(
    repository: Path, diff: Diff, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    git(repository, "checkout", "-q", "-b", "release")
    edit(repository, LEADS, unprotect)
    commit(repository, "unprotect")
    git(repository, "checkout", "-q", "-b", "feature")
    git(tmp_path, "clone", "-q", str(repository), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    monkeypatch.setenv("GITHUB_BASE_REF", "release")
    edit(tmp_path / "clone", RINGS, purpose)
    assert main(["diff"]) == 0
    assert LEADS not in capsys.readouterr().out


def test_accept_writes_what_the_tests_compare_with(
    outdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["accept", str(outdir)]) == 0
    written = {p.name: p.read_bytes() for p in (tmp_path / "snapshots").iterdir()}
    assert written == {p.name: p.read_bytes() for p in (ROOT / "snapshots").iterdir()}
    capsys.readouterr()
    edit(tmp_path, LEADS, unprotect)
    assert main(["accept", str(outdir)]) == 0
    out, err = capsys.readouterr()
    assert "Properties/DeletionProtectionEnabled: false → true" in out
    assert err == "1 changed; wrote 19 contracts to snapshots/\n"
    assert main(["accept", str(tmp_path)]) == 2


def test_two_words_that_remove_every_protection_are_told_as_the_readme_shows(tmp_path: Path) -> None:
    """The edit that template and declaration of one commit agree on: only the contract of the base sees it."""
    (stack,) = [s for s in CATALOG if s.id == "OrangeTheoryStack-{env}"]
    tables = tuple(
        replace(t, lifetime=Transient(ttl="createdAt"), data=Data.OPERATIONAL) if "UserConnections" in t.name else t
        for t in stack.tables
    )
    estate((replace(stack, tables=tables),), CONTEXT | {"env": "all"}, str(tmp_path)).synth()
    made = make.contracts(tmp_path)
    base = {id_: files.read(ROOT / "snapshots" / f"{id_}.json") for id_ in made}
    changes = compared(base, made)
    told = text.text(changes, "14269aa, where this left main").splitlines()
    shown = (ROOT / "README.md").read_text(encoding="utf-8").split("$ .venv/bin/holdfast diff\n")[1].split("```")[0]
    *lines, counted = [line for line in shown.splitlines() if line != "…"]
    assert [line for line in lines if line not in told] == []
    assert counted == text.summary(changes)
