"""CONTRIBUTING.md: every recipe is carried out in a copy of the repository, diffs, commands and tests."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import documents
import pytest
from support import ROOT, Json

CONTRIBUTING = ROOT / "CONTRIBUTING.md"
KIND, STACK = "Add a kind of store", "Add a stack"
RECIPES = list(dict.fromkeys(b.section for b in documents.blocks(CONTRIBUTING) if not b.not_run and b.section != KIND))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return documents.repository(tmp_path_factory.mktemp("recipes") / "estate")


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_gives_what_it_shows(recipe: str, folder: Path) -> None:
    assert documents.carried_out(CONTRIBUTING, folder, only=recipe) == [], f"{documents.UPDATE}=1 writes what came out"
    if recipe == STACK:
        assert written(folder) == synthesized(folder)


def written(folder: Path) -> Json:
    """The lines of the recipe's copy of test_snapshots.py, which are typed out by hand."""
    tree = ast.parse((folder / "tests" / "estate" / "test_snapshots.py").read_text(encoding="utf-8"))
    (found,) = (n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "STACKS")
    return dict(ast.literal_eval(found))


def synthesized(folder: Path) -> Json:
    artifacts = json.loads((folder / "cdk.out" / "manifest.json").read_text())["artifacts"].items()
    stacks = {id_: a for id_, a in artifacts if a["type"] == "aws:cloudformation:stack"}
    return {
        id_: (p.get("stackName", id_), a["environment"].rpartition("/")[2], p.get("terminationProtection", False))
        for id_, a in stacks.items()
        for p in [a["properties"]]
    }


def queue(folder: Path, env: str) -> Json:
    template = json.loads((folder / "cdk.out" / f"Shifts-{env}.template.json").read_text())
    (found,) = (r for r in template["Resources"].values() if r["Type"] == "AWS::SQS::Queue")
    return dict(found)


def test_a_queue_that_the_recipe_adds_is_guarded_and_judged(folder: Path) -> None:
    assert documents.carried_out(CONTRIBUTING, folder, only=KIND) == []
    assert queue(folder, "prod")["Properties"]["KmsMasterKeyId"]["Fn::GetAtt"] == ["Key", "Arn"]
    assert queue(folder, "prod")["Properties"]["MessageRetentionPeriod"] == 604_800
    assert [queue(folder, env)["DeletionPolicy"] for env in ("prod", "test")] == ["Retain", "Delete"]
    path = folder / "cdk.out" / "Shifts-prod.template.json"
    template = json.loads(path.read_text())
    (found,) = (r for r in template["Resources"].values() if r["Type"] == "AWS::SQS::Queue")
    del found["Properties"]["KmsMasterKeyId"]
    path.write_text(json.dumps(template))
    (said,) = documents.run(["holdfast check --select HF007"], folder, {})
    assert "FAIL  HF007  critical  shift-changes-prod: messages are not under the stack's key" in said
