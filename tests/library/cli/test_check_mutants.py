"""Two hundred mutants of an output folder, through the command line: templates, manifest and the bytes of assets."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from contract_mutants import concerned, get, mutants, put, stores
from shop_synth import accepted_texts
from support import MOMENTS, Json, settle

from holdfast.cfn.compare import ABSENT
from holdfast.cli import main

STACKS = ("Newsletter-live", "Orders-dev", "Sessions-dev")
COUNT = 200
Check = Callable[[Path], tuple[int, list[Json]]]
ADDED = ("Custom::Anything", "AWS::IAM::Role", "AWS::Lambda::Function", "AWS::CloudFormation::Macro", "A::B::C::MODULE")
OF_MANIFEST: tuple[tuple[tuple[str, ...], Any], ...] = (
    (("environment",), "aws://999999999999/eu-west-1"),
    (("properties", "stackName"), "Another"),
    (("properties", "tags", "shop:team"), "another"),
    (("properties", "notificationArns"), ["arn:aws:sns:eu-west-1:999999999999:elsewhere"]),
    (("properties", "assumeRoleArn"), "arn:aws:iam::999999999999:role/deploy"),
    (("properties", "cloudFormationExecutionRoleArn"), "arn:aws:iam::999999999999:role/admin"),
    (("properties", "parameters"), {"Stage": "prod"}),
    (("properties", "stackTemplateAssetObjectUrl"), "s3://elsewhere/template.json"),
)


@dataclass(frozen=True)
class Edit:
    """Another value at a path of a file, and the store that it concerns."""

    stack: str
    file: str
    path: tuple[Any, ...]
    value: Any
    store: str | None = None


def of_templates(templates: dict[str, Json]) -> Iterator[Edit]:
    for stack, template in templates.items():
        file, resources = f"{stack}.template.json", template["Resources"]
        for logical_id, resource in resources.items():
            store = concerned(resource, stores(resources))
            here = ("Resources", logical_id)
            yield Edit(stack, file, here, ABSENT, store)
            for m in mutants({k: v for k, v in resource.items() if k not in ("Type", "Metadata")}):
                yield Edit(stack, file, (*here, *m.path), m.value, store)


def of_manifest(folders: dict[str, Path]) -> Iterator[Edit]:
    for stack, folder in folders.items():
        protected = ("artifacts", stack, "properties", "terminationProtection")
        is_on = get(json.loads((folder / "manifest.json").read_text()), protected[:-1]).get(protected[-1], False)
        yield Edit(stack, "manifest.json", protected, not is_on)
        for path, value in OF_MANIFEST:
            yield Edit(stack, "manifest.json", ("artifacts", stack, *path), value)


def of_additions() -> Iterator[Edit]:
    for stack in STACKS:
        for kind in ADDED:
            yield Edit(stack, f"{stack}.template.json", ("Resources", "Intruder"), {"Type": kind})
        yield Edit(stack, f"{stack}.template.json", ("Transform",), "AWS::Serverless-2016-10-31")
        yield Edit(stack, f"{stack}.template.json", ("Outputs",), {"Secret": {"Value": "x", "Export": {"Name": "y"}}})


@pytest.fixture(scope="module")
def folders(outdir: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A repository for each of three stacks, with its contract and its output, and without an estate."""
    return {stack: _repository(outdir, stack, tmp_path_factory.mktemp(stack)) for stack in STACKS}


def _repository(outdir: Path, stack: str, root: Path) -> Path:
    made = root / "cdk.out"
    for name in (made, root / ".git", root / "snapshots"):
        name.mkdir()
    manifest = json.loads((outdir / "manifest.json").read_text())
    own = {k: v for k, v in manifest["artifacts"].items() if k.removesuffix(".assets") == stack}
    (made / "manifest.json").write_text(json.dumps({"artifacts": own}))
    report = json.loads((outdir / "validation-report.json").read_text())
    for plugin in report["pluginReports"]:
        plugin["suppressedViolations"] = [v for v in plugin["suppressedViolations"] if f'"{stack}/' in json.dumps(v)]
    (made / "validation-report.json").write_text(json.dumps(report))
    (root / "snapshots" / f"{stack}.json").write_text(accepted_texts()[stack])
    for kind in ("template", "assets"):
        shutil.copy(outdir / f"{stack}.{kind}.json", made)
    for entry in json.loads((made / f"{stack}.assets.json").read_text())["files"].values():
        if (source := outdir / entry["source"]["path"]).is_dir():
            shutil.copytree(source, made / source.name)
    return made


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    monkeypatch.delenv("HOLDFAST_ESTATE", raising=False)

    def check(folder: Path) -> tuple[int, list[Json]]:
        monkeypatch.chdir(folder.parent)
        code = main(["check", str(folder), "--format", "json"], now=MOMENTS["morning"])
        return code, json.loads(capsys.readouterr().out)["findings"]

    return check


def told(edit: Edit, code: int, findings: list[Json]) -> bool:
    """Whether it is told, and, where it concerns a store, with that store and with the place."""
    if code != 1 or not findings or edit.store is None:
        return code == 1 and bool(findings)
    about = [f for f in findings if f["store"] == edit.store]
    return bool(about) and (len(edit.path) == 2 or all(f["path"] for f in about))


def test_two_hundred_mutants_are_told_and_about_the_right_store(folders: dict[str, Path], check: Check) -> None:
    assert [check(folder) for folder in folders.values()] == [(0, [])] * len(STACKS)
    templates = {s: json.loads((f / f"{s}.template.json").read_text()) for s, f in folders.items()}
    edits = [*of_manifest(folders), *of_additions()]
    edits += random.Random(10).sample(list(of_templates(templates)), COUNT - len(edits))
    missed = []
    for edit in edits:
        folder = folders[edit.stack]
        before = {p: p.read_bytes() for p in folder.glob("*.json")}
        path = folder / edit.file
        path.write_text(json.dumps(put(json.loads(before[path]), edit.path, edit.value)))
        if edit.file != "manifest.json":
            settle(folder)
        code, findings = check(folder)
        if not told(edit, code, findings):
            missed.append((edit, code, [(f["rule"], f["store"], f["path"]) for f in findings]))
        for file, content in before.items():
            file.write_bytes(content)
    assert missed == []


def test_the_bytes_of_assets_are_told(folders: dict[str, Path], check: Check) -> None:
    folder = folders["Orders-dev"]
    files = [p for p in folder.glob("asset.*/**/*") if p.is_file()]
    assert files
    for path in files:
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        code, findings = check(folder)
        path.write_bytes(content)
        assert (code, {f["rule"] for f in findings}) == (1, {"HF705"}), path
    assert check(folder) == (0, [])
