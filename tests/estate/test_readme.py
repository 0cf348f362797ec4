"""The change that README shows, made and told as it says there."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from declare import estate
from support import CONTEXT, MOMENTS, ROOT
from test_audit import git
from test_diff_command import commit, tree

from holdfast import Data, Transient
from holdfast.cdk import app
from holdfast.cli import main
from holdfast.contract import files, make
from stacks import ESTATE


def on_main(folder: Path, stacks: Iterable[str]) -> Path:
    """A repository with these contracts of the estate, committed on main."""
    (folder / "snapshots").mkdir(parents=True)
    for stack in stacks:
        shutil.copy(ROOT / "snapshots" / f"{stack}.json", folder / "snapshots")
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "contracts")
    return folder


def in_readme(command: str) -> list[str]:
    """The output that README shows of a command, without what it leaves out."""
    shown = (ROOT / "README.md").read_text(encoding="utf-8").split(command)[1].split("```")[0]
    return [line for line in shown.splitlines() if line != "…"]


def missing(lines: Iterable[str], out: str) -> list[str]:
    """The lines that an output lacks, in their order."""
    rest = iter(out.splitlines())
    return [line for line in lines if line not in rest]


def test_two_words_that_remove_every_protection_are_told_as_the_readme_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The edit that template and declaration of one commit agree on: only the contract of the base sees it."""
    (stack,) = [s for s in ESTATE.stacks if s.id == "OrangeTheoryStack-{env}"]
    tables = tuple(
        replace(t, lifetime=Transient(ttl="createdAt"), data=Data.OPERATIONAL) if "UserConnections" in t.name else t
        for t in stack.tables
    )
    app(estate(replace(stack, tables=tables)), CONTEXT | {"env": "all"}, str(tmp_path / "out")).synth()
    made = make.contracts(tmp_path / "out")
    folder = on_main(tmp_path / "repository", made)
    before = tree(folder)
    monkeypatch.chdir(folder)
    for name in ("CI", "GITHUB_BASE_REF"):
        monkeypatch.delenv(name, raising=False)
    answers = ["--because", "cheaper", "--by", "a lead", "--until", "2096-04-23"]
    assert main(["accept", str(tmp_path / "out"), *answers], now=MOMENTS["morning"]) == 1
    assert "orangetheory-UserConnections-prod: personal durable data in production keeps" in capsys.readouterr().err
    assert tree(folder) == before
    assert main(["check", str(tmp_path / "out")]) == 1  # no estate is named here: the contract alone tells it
    out = capsys.readouterr().out
    shown = [line.partition(", declared in ")[0] for line in in_readme("$ .venv/bin/holdfast check\n")]
    assert missing(shown, out) == []
    for id_, contract in made.items():
        (folder / "snapshots" / f"{id_}.json").write_text(files.text(contract))
    assert main(["diff", "--against", "HEAD"]) == 1
    out, err = capsys.readouterr()
    first, *lines, counted = in_readme("$ .venv/bin/holdfast diff\n")
    assert first.startswith("against ")
    assert missing(lines, out) == []
    assert f"{counted}\n" == err
