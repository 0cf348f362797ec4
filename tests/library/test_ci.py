"""What runs in CI: the steps of the action on a real repository, the hooks, the workflow, the owners."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from accepted import NEWS, edit, on_main, unprotect
from repositories import git
from support import ROOT

from holdfast.cli import main

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {s["name"]: s["run"] for s in ACTION["runs"]["steps"] if "run" in s}
COMMENT = "::error::holdfast diff needs the history: set 'fetch-depth: 0' of actions/checkout"


@pytest.fixture
def branch(tmp_path: Path) -> Path:
    """Two contracts on main, no estate, and a branch."""
    folder = on_main(tmp_path / "repository")
    git(folder, "checkout", "-q", "-b", "feature")
    return folder


def step(name: str, folder: Path, temp: Path, **environment: str) -> tuple[int, dict[str, str], str]:
    """A step as GitHub runs it: exit status, outputs, and what it printed."""
    output, summary = temp / "output", temp / "summary"
    output.write_text("")
    env = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "constructs"),
        "CI": "true",
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(summary),
        "RUNNER_TEMP": str(temp),
        **environment,
    }
    done = subprocess.run(["bash", "-e", "-c", STEPS[name]], cwd=folder, env=env, capture_output=True, text=True)
    results = dict(line.split("=", 1) for line in output.read_text().splitlines())
    return done.returncode, results, done.stdout + done.stderr


def verdict(folder: Path, temp: Path, codes: Mapping[str, str]) -> int:
    return step("Verdict", folder, temp, **codes)[0]


def test_what_a_change_weakens_fails_the_job_and_stands_in_its_summary(branch: Path, tmp_path: Path) -> None:
    code, results, _ = step("Diff", branch, tmp_path)
    assert (code, results["code"]) == (0, "0")
    assert verdict(branch, tmp_path, {"CHECK": "0", "DIFF": "0"}) == 0
    edit(branch, NEWS, unprotect)
    code, results, printed = step("Diff", branch, tmp_path)
    assert (code, results["code"]) == (0, "1")
    assert "deletion protection is lost" in printed
    assert Path(results["markdown"]).read_text() in (tmp_path / "summary").read_text()
    (run,) = json.loads(Path(results["sarif"]).read_text())["runs"]
    assert run["results"]
    assert verdict(branch, tmp_path, {"CHECK": "0", "DIFF": results["code"]}) == 1


def test_a_shallow_clone_says_what_to_set(branch: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{branch}", "shallow")
    code, _, printed = step("Diff", tmp_path / "shallow", tmp_path)
    assert code == 1
    assert printed.strip() == COMMENT


def test_check_writes_its_findings_and_ends_with_the_verdict(outdir: Path, repository: Path, tmp_path: Path) -> None:
    for folder, expected in ((outdir, "0"), (tmp_path / "nowhere", "2")):
        code, results, _ = step("Check", repository, tmp_path, CDK_OUT=str(folder))
        assert (code, results["code"]) == (int(expected == "2"), expected)
    assert json.loads((tmp_path / "holdfast-check.sarif").read_text())["version"] == "2.1.0"
    assert verdict(repository, tmp_path, {"CHECK": "3", "DIFF": "0"}) == 3


def test_steps_use_only_outputs_that_steps_have() -> None:
    text = (ROOT / "action.yml").read_text()
    for name, outputs in (("check", ("sarif", "code")), ("diff", ("markdown", "sarif", "code"))):
        for output in outputs:
            assert f"steps.{name}.outputs.{output} " in text
            assert f"{output}=" in STEPS[name.title()]


def test_hooks_name_commands_that_exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [h["id"] for h in hooks] == ["holdfast-check", "holdfast-diff", "holdfast-lint"]
    for hook in hooks:
        with pytest.raises(SystemExit) as stopped:
            main([hook["entry"].split()[1], "--help"])
        assert stopped.value.code == 0


def test_the_workflow_has_the_history_and_the_rights_that_the_action_needs() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write", "security-events": "write"}
    (checkout, *_, check, action) = workflow["jobs"]["check"]["steps"]
    assert checkout["with"]["fetch-depth"] == 0
    assert check["run"] == "make check"
    assert action["uses"] == "./"
    assert action["with"].keys() <= ACTION["inputs"].keys()


def test_owners_cover_what_could_switch_a_check_off() -> None:
    lines = (ROOT / ".github" / "CODEOWNERS").read_text().splitlines()
    owned = {line.split()[0] for line in lines if line and not line.startswith("#")}
    assert owned >= {"/approvals/", "/.github/", "/pyproject.toml", "/holdfast.toml"}
