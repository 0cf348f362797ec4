"""`holdfast check` against the contract: whatever differs is told, by the right rule, about the right store."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shop import DEV, ESTATE, alone
from shop_synth import accepted, accepted_texts, project, table
from support import MOMENTS, Json, copied, settle

from holdfast.cli import main
from holdfast.contract import check, files, make, stamp
from holdfast.contract.assets import digest
from holdfast.contract.guards import STORES
from holdfast.contract.hidden import hidden
from holdfast.contract.touch import touches
from holdfast.rules import RULES
from holdfast.rules.base import ORDER
from holdfast.rules.reading import reading

NEWS, NEWS_TABLE = "Newsletter-live", "newsletter-eu-west-1"
SALES = "Orders-dev"
Run = Callable[..., tuple[int, list[Json], str]]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of two stacks: their contracts, and no estate."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "snapshots").mkdir()
    for id_ in (NEWS, SALES):
        (tmp_path / "snapshots" / f"{id_}.json").write_text(accepted_texts()[id_])
    monkeypatch.delenv("HOLDFAST_ESTATE", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def folder(outdir: Path, repository: Path) -> Path:
    """The output of its two stacks."""
    made = repository / "cdk.out"
    made.mkdir()
    manifest = json.loads((outdir / "manifest.json").read_text())
    own = {k: v for k, v in manifest["artifacts"].items() if k.removesuffix(".assets") in (NEWS, SALES)}
    (made / "manifest.json").write_text(json.dumps({"artifacts": own}))
    shutil.copy(outdir / "validation-report.json", made)
    for id_ in (NEWS, SALES):
        for kind in ("template", "assets"):
            shutil.copy(outdir / f"{id_}.{kind}.json", made)
    for _, entry in assets_of(made):
        shutil.copytree(outdir / entry["source"]["path"], made / entry["source"]["path"])
    return made


@pytest.fixture
def whole(outdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The output of the shop, to be checked in its own repository."""
    monkeypatch.chdir(accepted(tmp_path / "shop"))
    return copied(outdir, tmp_path / "whole")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(folder: Path, *arguments: str) -> tuple[int, list[Json], str]:
        code = main(["check", str(folder), "--format", "json", *arguments], now=MOMENTS["morning"])
        captured = capsys.readouterr()
        return code, json.loads(captured.out)["findings"] if captured.out else [], captured.err

    return run


def assets_of(folder: Path) -> list[tuple[str, Json]]:
    found = json.loads((folder / f"{SALES}.assets.json").read_text())["files"]
    return [(i, e) for i, e in found.items() if not e["source"]["path"].endswith(".json")]


def edit(folder: Path, file: str, change: Callable[[Json], Any]) -> None:
    """Changes one JSON file of an assembly, and gives the templates their addresses."""
    path = folder / file
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    if file.endswith(".template.json"):
        settle(folder)


def table_of(template: Json) -> Json:
    return table(template, NEWS_TABLE)


def test_what_is_synthesized_is_what_was_reviewed(
    outdir: Path, folder: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(folder)[:2] == (0, [])
    monkeypatch.chdir(accepted(tmp_path / "shop"))
    assert run(outdir)[:2] == (0, [])
    assert run(outdir, "--env", "live")[:2] == (0, [])  # the stacks of dev are there, and are not judged


# What is synthesized differs


def properties(template: Json) -> Json:
    found: Json = table_of(template)["Properties"]
    return found


INCLUDE = {"Name": "AWS::Include", "Parameters": {"Location": "s3://elsewhere/x.json"}}
STRANGER = {
    "Type": "AWS::IAM::Role",
    "Properties": {
        "AssumeRolePolicyDocument": {
            "Statement": [{"Effect": "Allow", "Principal": {"AWS": "999999999999"}, "Action": "sts:AssumeRole"}]
        },
        "ManagedPolicyArns": ["arn:aws:iam::aws:policy/AdministratorAccess"],
    },
}


def add(name: str, resource: Any) -> Callable[[Json], Any]:
    return lambda template: template["Resources"].update({name: resource})


@pytest.mark.parametrize(
    ("change", "rule", "store", "path"),
    [
        (lambda t: properties(t).update(DeletionProtectionEnabled=False), "HF001", True, "DeletionProtectionEnabled"),
        (lambda t: properties(t).update(TableClass="STANDARD_INFREQUENT_ACCESS"), None, True, "TableClass"),
        (
            lambda t: properties(t)["PointInTimeRecoverySpecification"].update({"Fn::Transform": INCLUDE}),
            "HF704",
            True,
            "PointInTimeRecoverySpecification/Fn::Transform",
        ),
        (lambda t: table_of(t).update({"Fn::Transform": INCLUDE}), "HF704", True, "Fn::Transform"),
        (lambda t: t.update(Transform="Macro"), "HF704", False, "template/Transform"),
        (
            lambda t: properties(t).update(BillingMode="{{resolve:ssm:/mode:1}}"),
            "HF704",
            True,
            "Properties/BillingMode",
        ),
        (add("Fn::ForEach::Loop", ["X", ["a"], {}]), "HF704", False, "template/Resources/Fn::ForEach::Loop"),
        (add("M", {"Type": "My::StackResources::Thing::MODULE"}), "HF704", False, "Type"),
        (add("M", {"Type": "Other::Company::Thing"}), "HF704", False, "Type"),
        (
            add("N", {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "https://x"}}),
            "HF704",
            False,
            "",
        ),
        (
            add("C", {"Type": "Custom::Deleter", "Properties": {"ServiceToken": "arn:aws:lambda:x"}}),
            "HF704",
            False,
            "Properties/ServiceToken",
        ),
        (add("C", {"Type": "Custom::Deleter", "Properties": {"ServiceToken": "arn:aws:lambda:x"}}), "HF701", False, ""),
        (add("R", STRANGER), None, False, ""),
        (lambda t: t.setdefault("Outputs", {}).update(O={"Value": "x"}), "HF701", False, "template/Outputs"),
    ],
)
def test_a_change_of_a_template_is_told(
    change: Callable[[Json], Any], rule: str | None, store: bool, path: str, folder: Path, run: Run
) -> None:
    edit(folder, f"{NEWS}.template.json", change)
    code, findings, _ = run(folder)
    told = [f for f in findings if rule in (None, f["rule"]) and path in (f["path"] or "") and f["change"]]
    assert (code, bool(told)) == (1, True), findings
    assert {f["store"] for f in told} == {NEWS_TABLE if store else None}
    assert {(f["stack"], f["environment"]) for f in told} == {("Newsletter", "live")}
    assert all(NEWS in f["where"] and f["detail"] and f["fix"] for f in told)


def test_every_resource_that_leaves_is_told_by_its_logical_id(folder: Path, run: Run) -> None:
    names = list(json.loads((folder / f"{NEWS}.template.json").read_text())["Resources"])
    edit(folder, f"{NEWS}.template.json", lambda t: t["Resources"].clear())
    code, findings, _ = run(folder)
    assert code == 1
    assert {f["where"].partition("#")[2] for f in findings} >= set(names)
    assert NEWS_TABLE in {f["store"] for f in findings if f["change"] == "removed"}


@pytest.mark.parametrize(
    ("member", "value", "rule", "path"),
    [
        ("environment", "aws://123456789012/eu-west-1", None, "stack/environment"),
        ("assumeRoleArn", "arn:aws:iam::999999999999:role/x", "HF705", "stack/assumeRoleArn"),
        ("cloudFormationExecutionRoleArn", "arn:aws:iam::999999999999:role/x", "HF705", "stack/cloudFormation"),
        ("notificationArns", ["arn:aws:sns:eu-west-1:999999999999:t"], "HF705", "stack/notificationArns"),
        ("parameters", {"P": "secret-value"}, "HF705", "stack/parameters"),
        ("tags", {}, "HF705", "stack/tags"),
        ("terminationProtection", False, None, "stack/terminationProtection"),
        ("lookupRole", {"arn": "arn:aws:iam::999999999999:role/x"}, "HF705", "stack/uploads"),
        ("stackTemplateAssetObjectUrl", "s3://elsewhere/x.json", "HF705", "stack/stackTemplateAssetObjectUrl"),
        ("stackTemplateAssetObjectUrl", None, "HF705", "stack/stackTemplateAssetObjectUrl"),
    ],
)
def test_a_change_of_the_manifest_is_told(
    member: str, value: Any, rule: str | None, path: str, folder: Path, run: Run
) -> None:
    def change(manifest: Json) -> None:
        artifact = manifest["artifacts"][NEWS]
        target = artifact if member == "environment" else artifact["properties"]
        target[member] = value
        if value is None:
            del target[member]

    edit(folder, "manifest.json", change)
    code, findings, _ = run(folder)
    assert code == 1
    told = [f for f in findings if (f["path"] or "").startswith(path) and rule in (None, f["rule"])]
    assert told
    assert NEWS in told[0]["where"]
    assert "secret-value" not in json.dumps(findings)


def test_a_template_that_was_edited_after_the_synth_is_told(folder: Path, run: Run) -> None:
    path = folder / f"{NEWS}.template.json"
    path.write_text(path.read_text() + "\n")
    code, (finding,), _ = run(folder)
    assert (code, finding["rule"], finding["path"]) == (1, "HF705", "stack/stackTemplateAssetObjectUrl")


def test_code_that_changes_is_told_with_the_function_that_carries_it(folder: Path, run: Run) -> None:
    ((_, entry),) = assets_of(folder)
    handler = folder / entry["source"]["path"] / "handler.py"
    text = handler.read_text()
    handler.unlink()
    handler.write_text(text + "\n# another\n")
    code, findings, _ = run(folder)
    assert code == 1
    assert [(f["rule"], f["path"].rpartition("/")[2]) for f in findings] == [("HF705", "files")]
    assert "Function" in findings[0]["where"]


@pytest.mark.parametrize("where", ["bucketName", "objectKey", "assumeRoleArn", "destinations", "packaging"])
def test_an_upload_to_elsewhere_is_told(where: str, folder: Path, run: Run) -> None:
    ((id_, _),) = assets_of(folder)

    def change(assets: Json) -> None:
        asset = assets["files"][id_]
        if where == "destinations":
            asset[where] = {}
        elif where == "packaging":
            asset["source"][where] = "file"
        else:
            for destination in asset["destinations"].values():
                destination[where] = "elsewhere"

    edit(folder, f"{SALES}.assets.json", change)
    code, findings, _ = run(folder)
    assert (code, {f["rule"] for f in findings}) == (1, {"HF705"})


def test_sarif_points_at_the_line_of_the_contract_where_nothing_is_declared(
    folder: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = list(json.loads((folder / f"{NEWS}.template.json").read_text())["Resources"])
    edit(folder, f"{NEWS}.template.json", lambda t: t["Resources"].clear())
    assert main(["check", str(folder), "--format", "sarif"], now=MOMENTS["morning"]) == 1
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    places = [r["locations"][0]["physicalLocation"] for r in results]
    lines = (repository / "snapshots" / f"{NEWS}.json").read_text().splitlines()
    shown = {lines[p["region"]["startLine"] - 1].strip().partition(":")[0].strip('"') for p in places}
    assert {p["artifactLocation"]["uri"] for p in places} == {f"snapshots/{NEWS}.json"}
    assert set(names) <= shown
    assert len({r["partialFingerprints"]["holdfast/v1"] for r in results}) == len(results)


def test_what_is_gone_is_told_by_a_rule_that_wants_it_there(folder: Path, run: Run) -> None:
    edit(folder, f"{NEWS}.template.json", lambda t: t["Resources"].clear())
    _, findings, _ = run(folder)
    rules = {f["detail"].partition(" is gone")[0]: f["rule"] for f in findings if " is gone" in f["detail"]}
    assert (rules["AWS::CloudWatch::Alarm"], rules["AWS::DynamoDB::Table"]) == ("HF205", "HF201")
    assert rules["AWS::CloudWatch::Dashboard"] == "HF702"


def test_what_cannot_be_approved_is_to_be_undone(folder: Path, run: Run) -> None:
    edit(
        folder,
        f"{NEWS}.template.json",
        lambda t: properties(t).update(DeletionProtectionEnabled=False, TableClass="X"),
    )
    _, findings, _ = run(folder)
    fixes = {f["path"]: f["fix"] for f in findings}
    assert fixes["Properties/DeletionProtectionEnabled"] == "undo it: nothing approves this"
    assert "`make accept`" in fixes["Properties/TableClass"]


def test_the_worst_difference_is_the_first_that_the_synth_names(contracts: dict[str, Json]) -> None:
    made = json.loads(json.dumps(contracts[NEWS]))
    resources = made["template"]["Resources"]
    properties(made["template"])["DeletionProtectionEnabled"] = False
    for name in [k for k, r in resources.items() if r["Type"] == "AWS::CloudWatch::Alarm"]:
        del resources[name]
    found = check.compare(check.Sides(contracts={NEWS: contracts[NEWS]}, made={NEWS: made}))
    assert (found[0].rule.id, min(found, key=check.rank).rule.id) == ("HF205", "HF001")


def test_an_acknowledgement_that_is_gone_from_many_stacks_is_told_once(
    folder: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (repository / "snapshots").glob("*.json"):
        contract = json.loads(path.read_text())
        contract["acknowledged"]["a reason of its own"] = {"AwsSolutions-X": [f"somewhere-{n}" for n in range(20)]}
        path.write_text(json.dumps(contract))
    assert main(["check", str(folder)], now=MOMENTS["morning"]) == 1
    first, where, same, _ = capsys.readouterr().out.splitlines()
    assert first.endswith("acknowledged/a reason of its own is gone")
    assert (NEWS in where, SALES in same) == (True, True)


# Which stacks are expected


def drop(folder: Path, wanted: Callable[[str], bool]) -> None:
    def change(manifest: Json) -> None:
        for name in [n for n in manifest["artifacts"] if wanted(n)]:
            del manifest["artifacts"][name]

    edit(folder, "manifest.json", change)


def test_a_contract_without_its_stack_is_told(whole: Path, run: Run) -> None:
    drop(whole, lambda name: name == NEWS)
    code, findings, _ = run(whole)
    assert code == 1
    assert {(f["rule"], f["store"]) for f in findings} == {("HF201", NEWS_TABLE), ("HF702", None)}
    assert NEWS_TABLE in next(f["detail"] for f in findings if f["rule"] == "HF702")


@pytest.mark.parametrize("asked", [("--env", "dev"), ("--env", "all"), ()])
def test_an_environment_that_was_not_synthesized_is_one_unknown_with_the_command(
    asked: tuple[str, ...], whole: Path, run: Run
) -> None:
    dev = {p.id for p in ESTATE.placements([DEV])}
    drop(whole, lambda name: name.removesuffix(".assets") in dev)
    undeclared(whole, {})  # another team's stack of that environment does not make it synthesized
    edit(whole, "manifest.json", lambda m: m["artifacts"]["Theirs"]["properties"].update(tags={"shop:stage": "dev"}))
    code, (finding,), _ = run(whole, *asked)
    assert (code, finding["rule"], finding["outcome"], finding["environment"]) == (3, "HF702", "unknown", "dev")
    assert finding["detail"] == f"dev was not synthesized: {len(dev)} stacks could not be judged"
    assert "cdk synth -c env=dev" in finding["fix"]
    assert run(whole, "--env", "live")[:2] == (0, [])


def test_without_contracts_such_an_environment_is_unknown_too(folder: Path, run: Run, repository: Path) -> None:
    estate(repository)
    shutil.rmtree(repository / "snapshots")
    drop(folder, lambda name: name.startswith(SALES))
    code, findings, _ = run(folder, "--env", "dev")
    assert (code, [(f["rule"], f["outcome"]) for f in findings]) == (3, [("HF702", "unknown")])


def test_without_an_estate_contracts_and_templates_are_compared(folder: Path, run: Run, repository: Path) -> None:
    code, findings, err = run(folder)
    assert (code, findings) == (0, [])
    assert err.startswith("no estate is named here: what was synthesized is compared with the contracts")
    (repository / "snapshots" / f"{NEWS}.json").unlink()
    code, findings, _ = run(folder)
    told = {(f["rule"], f["change"], f["environment"]) for f in findings}  # of the stack, its table and what it allows
    assert (code, told) == (1, {("HF701", "added", "live")})
    assert run(folder, "--env", "dev")[:2] == (0, [])
    drop(folder, lambda name: name == SALES)
    code, findings, _ = run(folder)
    assert {(f["rule"], f["outcome"]) for f in findings} == {("HF701", "fail"), ("HF702", "unknown")}
    assert (code, run(folder, "--env", "dev")[0], run(folder, "--env", "staging")[0]) == (1, 3, 2)


def test_a_stack_is_followed_through_another_construct_id(folder: Path, run: Run, repository: Path) -> None:
    path = repository / "snapshots" / f"{NEWS}.json"
    path.write_text(path.read_text().replace(f'"{NEWS}/', '"Former/'))
    path.rename(path.with_name("Former.json"))
    code, (finding,), _ = run(folder)
    assert (code, finding["rule"], finding["change"], finding["path"]) == (1, "HF705", "changed", "stack/id")
    assert (finding["before"], finding["after"]) == ('"Former"', f'"{NEWS}"')


def test_a_contract_that_names_no_environment_stands_alone(folder: Path, run: Run, repository: Path) -> None:
    path = repository / "snapshots" / f"{NEWS}.json"
    contract = json.loads(path.read_text())
    del contract["stack"]["tags"]
    (repository / "snapshots" / "Alone.json").write_text(json.dumps(contract))
    code, (finding,), _ = run(folder)
    assert (code, finding["rule"], finding["outcome"], finding["stack"]) == (3, "HF702", "unknown", "Newsletter")


def estate(repository: Path) -> None:
    project(repository)


def test_without_contracts_the_rules_judge_alone(folder: Path, run: Run, repository: Path) -> None:
    shutil.rmtree(repository / "snapshots")
    code, findings, err = run(folder)
    assert (code, findings) == (2, [])
    assert "there is neither a contract nor an estate here: `holdfast accept`" in err
    estate(repository)
    code, findings, err = run(folder)
    assert {f["rule"] for f in findings} == {"HF201"}  # all that was not copied
    assert "there are no contracts here (no snapshots/*.json): the rules judge alone" in err


def test_a_declared_stack_without_a_contract_is_told(folder: Path, run: Run, repository: Path) -> None:
    estate(repository)
    (repository / "snapshots" / f"{NEWS}.json").unlink()
    code, findings, _ = run(folder, "--select", "HF701")
    assert (code, {(f["rule"], f["stack"]) for f in findings}) == (1, {("HF701", "Newsletter")})
    assert f"snapshots/{NEWS}.json" in {f["where"] for f in findings}
    assert run(folder, "--ignore", "HF701,HF201")[:2] == (0, [])


def test_a_damaged_contract_is_one_line_and_exit_2(folder: Path, run: Run, repository: Path) -> None:
    (repository / "snapshots" / f"{NEWS}.json").write_text("{")
    code, _, err = run(folder)
    assert (code, err.count("\n")) == (2, 1)


def test_an_output_of_other_declarations_is_refused(outdir: Path, folder: Path, run: Run, repository: Path) -> None:
    assert json.loads((outdir / stamp.FILE).read_text())["declarations"] == stamp.digest(ESTATE)
    assert stamp.digest(ESTATE) != stamp.digest(alone(*ESTATE.stacks[1:]))
    estate(repository)
    stamp.write(folder, alone(*ESTATE.stacks[1:]))
    code, findings, err = run(folder)
    assert (code, findings) == (2, [])
    assert err == f"holdfast: {folder} is of other declarations: run `make synth`, or `cdk synth -c env=all`, again\n"


def test_the_digest_of_declarations_is_the_same_in_every_process() -> None:
    program = "from shop import ESTATE; from holdfast.contract import stamp; print(stamp.digest(ESTATE))"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == stamp.digest(ESTATE)


# Stages, nested stacks, and stacks of others


def stage(folder: Path, id_: str, change: Callable[[Json], Any] = lambda _: None) -> None:
    """The same app again in a stage, with one stack."""
    inner = folder / "assembly-Again"
    inner.mkdir()
    manifest = json.loads((folder / "manifest.json").read_text())
    own = {k: a for k, a in manifest["artifacts"].items() if k in (id_, f"{id_}.assets")}
    for name in (f"{id_}.template.json", f"{id_}.assets.json"):
        shutil.copy(folder / name, inner)
    (inner / "manifest.json").write_text(json.dumps({"artifacts": own}))
    edit(inner, f"{id_}.template.json", change)
    manifest["artifacts"]["assembly-Again"] = {
        "type": "cdk:cloud-assembly",
        "properties": {"directoryName": "assembly-Again"},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_an_unprotected_copy_of_a_stack_in_a_stage_is_told(folder: Path, run: Run) -> None:
    stage(folder, NEWS, lambda t: properties(t).update(DeletionProtectionEnabled=False))
    code, findings, _ = run(folder)
    assert (code, {f["rule"] for f in findings}) == (1, {"HF701"})
    assert f"snapshots/assembly-Again-{NEWS}.json" in {f["where"] for f in findings}


def test_a_copy_of_a_declared_table_in_a_stage_is_told(whole: Path, run: Run) -> None:
    stage(whole, NEWS)
    code, findings, _ = run(whole, "--env", "live")
    assert (code, {(f["rule"], f["store"]) for f in findings}) == (1, {("HF204", NEWS_TABLE)})


def test_a_path_that_leaves_the_folder_is_refused(folder: Path, run: Run) -> None:
    edit(folder, "manifest.json", lambda m: m["artifacts"][NEWS]["properties"].update(templateFile="../x.json"))
    code, _, err = run(folder)
    assert (code, "which is outside of the folder" in err) == (2, True)


def undeclared(folder: Path, template: Json, name: str = "Theirs") -> None:
    (folder / f"{name}.template.json").write_text(json.dumps(template))
    artifact = {
        "type": "aws:cloudformation:stack",
        "environment": "aws://unknown-account/eu-west-1",
        "properties": {"templateFile": f"{name}.template.json"},
    }
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["artifacts"][name] = artifact
    (folder / "manifest.json").write_text(json.dumps(manifest))


UNNAMED = {"Type": "AWS::DynamoDB::Table", "Properties": {}}


def allows(actions: Any, resource: Any, kind: str = "AWS::IAM::ManagedPolicy") -> Json:
    document = {"Statement": [{"Effect": "Allow", "Action": actions, "Resource": resource}]}
    return {"Type": kind, "Properties": {"PolicyDocument": document}}


OWN_BUCKET = {"Fn::GetAtt": ["Site", "Arn"]}
ORDINARY: Json = {
    "Site": {"Type": "AWS::S3::Bucket", "Properties": {"WebsiteConfiguration": {"IndexDocument": "index.html"}}},
    "Logs": allows(["logs:*", "xray:PutTraceSegments", "cloudformation:Describe*", "dynamodb:ListStreams"], "*"),
    "Objects": allows("s3:*", [OWN_BUCKET, {"Fn::Join": ["", [OWN_BUCKET, "/*"]]}]),
    "Named": allows(
        ["dynamodb:*", "s3:GetObject", "kms:Decrypt"],
        [
            {"Fn::Sub": "arn:aws:dynamodb:eu-west-1:${AWS::AccountId}:table/theirs-${Env}"},
            {"Fn::Sub": "arn:aws:s3:::theirs-${AWS::AccountId}-${AWS::Region}/*"},
            {"Fn::ImportValue": "Theirs:ExportsOutputRefTable"},
            {"Fn::If": ["C", {"Fn::Select": [0, [OWN_BUCKET]]}, {"Ref": "AWS::NoValue"}]},
        ],
    ),
    "Passes": allows("iam:PassRole", "arn:aws:iam::123456789012:role/theirs"),
    "Deploys": allows("cloudformation:*", "arn:aws:cloudformation:*:*:stack/theirs-*/*"),
    "Denied": {
        "Type": "AWS::IAM::Policy",
        "Properties": {"PolicyDocument": {"Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*"}]}},
    },
    "Role": {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": {
                "Statement": [
                    {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
                ]
            },
            "ManagedPolicyArns": ["arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"],
        },
    },
    "Function": {"Type": "AWS::Lambda::Function", "Properties": {"Code": {"S3Bucket": "b", "S3Key": "k"}}},
    "Own": {"Type": "Custom::Own", "Properties": {"ServiceToken": {"Fn::GetAtt": ["Function", "Arn"]}}},
    "Topic": {
        "Type": "AWS::SNS::TopicPolicy",
        "Properties": {
            "PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": "*", "Resource": {"Ref": "Env"}}]}
        },
    },
}


def test_stacks_of_others_that_touch_nothing_say_nothing(whole: Path, run: Run) -> None:
    own_key = {"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "kms:*", "Resource": "*"}]}
    knows = {"Type": "AWS::Lambda::Function", "Properties": {"Environment": {"Variables": {"T": NEWS_TABLE}}}}
    templates: dict[str, Json] = {
        "Empty": {},
        "Loop": {"Resources": {"Fn::ForEach::T": ["X", ["a"], {}], "T": UNNAMED}},
        "Sam": {"Transform": "AWS::Serverless-2016-10-31", "Resources": {"T": UNNAMED}},
        "Key": {"Resources": {"K": {"Type": "AWS::KMS::Key", "Properties": {"KeyPolicy": own_key}}, "F": knows}},
        "Ordinary": {"Parameters": {"Env": {"Type": "String"}}, "Resources": ORDINARY},
    }
    held = [{"Type": kind, "Properties": {name: f"theirs-{kind}"}} for kind, name in STORES.items()]
    templates["Holds"] = {"Resources": {f"Theirs{n}": body for n, body in enumerate(held)}}
    for name, template in templates.items():
        undeclared(whole, template, name)
    assert run(whole)[:2] == (0, [])


def test_what_a_declared_stack_holds_has_to_be_declared(whole: Path, run: Run) -> None:
    """The same bucket that is another team's affair in another team's stack."""
    edit(whole, f"{NEWS}.template.json", lambda t: t["Resources"].update(Site=ORDINARY["Site"]))
    code, findings, _ = run(whole)
    assert code == 1
    assert ("HF202", f"{NEWS}.template.json#Site") in {(f["rule"], f["where"]) for f in findings}


ARN = {"Fn::Sub": f"arn:${{AWS::Partition}}:dynamodb:eu-west-1:${{AWS::AccountId}}:table/{NEWS_TABLE}"}
EVERY = {"Fn::Sub": "arn:${AWS::Partition}:dynamodb:*:*:table/*"}


TOUCHES: list[tuple[Json, str | None, str]] = [
    (allows("dynamodb:DeleteTable", ARN), NEWS_TABLE, "allows dynamodb:DeleteTable on"),
    (allows("dynamodb:*", "arn:aws:dynamodb:eu-west-1:1:table/newsletter-eu-w*"), NEWS_TABLE, "allows dynamodb:*"),
    (allows(["logs:*", "dynamodb:Scan"], "*"), None, "allows dynamodb:Scan on every store"),
    (allows("dynamodb:Scan", EVERY), None, "on every store"),
    (STRANGER, None, "AdministratorAccess"),
    (
        {
            "Type": "AWS::Lambda::EventSourceMapping",
            "Properties": {"EventSourceArn": {"Fn::Sub": ARN["Fn::Sub"] + "/stream/x"}},
        },
        NEWS_TABLE,
        "is triggered by",
    ),
    ({"Type": "AWS::Pipes::Pipe", "Properties": {"Source": ARN}}, NEWS_TABLE, "is triggered by"),
    (
        {"Type": "AWS::Backup::BackupSelection", "Properties": {"BackupSelection": {"Resources": [ARN]}}},
        NEWS_TABLE,
        "copies",
    ),
    (
        {
            "Type": "AWS::Backup::BackupSelection",
            "Properties": {
                "BackupSelection": {
                    "ListOfTags": [
                        {"ConditionType": "STRINGEQUALS", "ConditionKey": "shop:data", "ConditionValue": "personal"}
                    ]
                }
            },
        },
        None,
        "by the tag shop:data=personal",
    ),
    ({"Type": "Custom::AWS", "Properties": {"Delete": f'{{"TableName":"{NEWS_TABLE}"}}'}}, NEWS_TABLE, "acts on"),
    (
        {
            "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
            "Properties": {"ResourceId": f"table/{NEWS_TABLE}"},
        },
        NEWS_TABLE,
        "acts on",
    ),
]


STACK_ARN = "arn:aws:cloudformation:eu-west-1:*:stack/Newsletter*"
TOUCHES += [
    (
        allows("dynamodb:Scan", {"Fn::Sub": "arn:aws:dynamodb:*:*:table/newsletter-${AWS::Region}"}),
        NEWS_TABLE,
        "on",
    ),
    (allows("dyn?modb:*", "*"), None, "allows dyn?modb:* on every store"),
    (allows("dynamodb:*", "arn:aws:dynamodb:*"), None, "on every store"),
    (allows("dynamodb:*", "arn:aws:dynamodb:eu-west-1:*:tab*"), None, "on every store"),
    (allows("s3:GetObject", "arn:aws:s3:::*"), None, "on every store"),
    (allows("cloudformation:DeleteStack", "*"), None, "on every stack"),
    (allows("cloudformation:D*", STACK_ARN), None, "on the stack Newsletter"),
]
CUSTOM = "arn:aws:lambda:us-east-1:999999999999:function:x"
NOT_ACTION = {"Statement": {"Effect": "Allow", "NotAction": "iam:*", "NotResource": "arn:aws:s3:::x"}}
TOUCHES.append(({"Type": "AWS::IAM::Policy", "Properties": {"PolicyDocument": NOT_ACTION}}, None, "on every store"))
MAYBE: list[tuple[Json, str | None, str]] = [
    (
        allows("dynamodb:*", {"Fn::Sub": "arn:aws:dynamodb:*:*:table/newsletter-eu-w${Par}"}),
        NEWS_TABLE,
        "may allow dynamodb:*",
    ),
    (
        allows("dynamodb:*", {"Fn::Sub": "arn:aws:dynamodb:*:*:table/c${Par}"}),
        None,
        " more: its resource",
    ),
    (allows("dynamodb:*", {"Ref": "Par"}), None, "on every store: its resource is decided when it is deployed"),
    (allows("s3:*", {"Fn::Sub": "${Par}/*"}), None, "on every store: its resource"),
    (allows("s3:*", "arn:aws:s3:::{{resolve:ssm:/bucket}}/*"), None, "on every store: its resource"),
    (allows({"Ref": "Par"}, "*"), None, "its action is decided when it is deployed"),
    (allows(["iam:PassRole", "sts:AssumeRole"], "*"), None, "may allow iam:PassRole, sts:AssumeRole on every role"),
    (allows("iam:AttachRolePolicy", "*"), None, "on every role"),
    (allows("iam:PutRolePolicy", "arn:aws:iam::*:role/cdk-*"), None, "on the role cdk-"),
    (
        {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "https://evil/x.json"}},
        None,
        "is made by a nested template that is not in the folder",
    ),
    ({"Type": "Custom::X", "Properties": {"ServiceToken": CUSTOM}}, None, "the function behind Custom::X"),
    ({"Type": "AWS::IAM::Role", "Properties": {"ManagedPolicyArns": [{"Ref": "Par"}]}}, None, "a managed policy"),
]


@pytest.mark.parametrize("sure", [True, False])
def test_what_stacks_of_others_do_to_a_store_is_told(sure: bool, whole: Path, run: Run) -> None:
    """What they surely do fails; what a deploy decides is unknown."""
    expected = TOUCHES if sure else MAYBE
    resources = {f"R{n}": resource for n, (resource, _, _) in enumerate(expected)}
    undeclared(whole, {"Parameters": {"Par": {"Type": "String"}}, "Resources": resources})
    code, findings, _ = run(whole, "--env", "live")
    assert code == (1 if sure else 3)
    told = {f["where"]: f for f in findings}
    assert len(findings) == len(expected) == len(told), findings
    for n, (_, store, says) in enumerate(expected):
        f = told[f"Theirs.template.json#R{n}"]
        assert (f["rule"], f["store"], says in f["detail"]) == ("HF701", store, True), f


def test_a_macro_or_a_loop_of_others_counts_where_it_names_a_store() -> None:
    ours = {
        "Ours": {"template": {"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "t1"}}}}}
    }
    loop = ["X", ["a"], {"P${X}": allows("dynamodb:*", "arn:aws:dynamodb:*:*:table/t1")}]
    for name, count in (("t1", 1), ("t2", 0)):
        named = json.loads(json.dumps(loop).replace("t1", name))
        theirs = {"Theirs": {"template": {"Resources": {"Fn::ForEach::P": named}}}}
        found = list(touches(theirs, ours))
        assert [(t.store, t.sure) for t in found] == [("t1", False)] * count


def test_the_import_of_an_export_is_a_reference() -> None:
    table = {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "t"}}
    outputs = {
        "A": {"Value": {"Fn::GetAtt": ["T", "Arn"]}, "Export": {"Name": "the-table"}},
        "B": {"Value": {"Ref": "K"}, "Export": {"Name": "the-key"}},
        "C": {"Value": {"Ref": "Vpc"}, "Export": {"Name": "the-network"}},
    }
    resources = {"T": table, "K": {"Type": "AWS::KMS::Key"}, "Vpc": {"Type": "AWS::EC2::VPC"}}
    ours = {"Ours": {"template": {"Resources": resources, "Outputs": outputs}}}
    imports = [{"Fn::ImportValue": n} for n in ("the-table", "the-key", "the-network")]
    theirs = {"Theirs": {"template": {"Resources": {"P": allows(["kms:Decrypt", "dynamodb:GetItem"], imports)}}}}
    assert [(t.store, t.says.partition(" on ")[2]) for t in touches(theirs, ours)] == [(None, "K of Ours"), ("t", "t")]


# Assets and nested stacks


def assembly(folder: Path, template: Json, files: Json, images: Json | None = None) -> None:
    to = {k: {"here": {"bucketName": "b", "objectKey": f"{k}.zip"}} for k in files}
    assets = {
        "files": {k: {"source": v, "destinations": to[k]} for k, v in files.items()},
        "dockerImages": {k: {"source": v, "destinations": {}} for k, v in (images or {}).items()},
    }
    (folder / "S.assets.json").write_text(json.dumps(assets))
    (folder / "S.template.json").write_text(json.dumps(template))
    stack = {
        "type": "aws:cloudformation:stack",
        "properties": {"templateFile": "S.template.json"},
        "dependencies": ["S.assets"],
    }
    manifest = {"S": stack, "S.assets": {"type": "cdk:asset-manifest", "properties": {"file": "S.assets.json"}}}
    (folder / "manifest.json").write_text(json.dumps({"artifacts": manifest}))


def function(property_: str, value: Any) -> Json:
    return {"Type": "AWS::Lambda::Function", "Properties": {"Code": {property_: value}}}


def test_files_images_and_commands_count(tmp_path: Path) -> None:
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / "Dockerfile").write_text("FROM scratch\n")
    (tmp_path / "settings.json").write_text("{}")
    b, c, d, e = ("b" * 64, "c" * 64, "d" * 64, "e" * 64)
    template = {
        "Resources": {
            "Image": function("ImageUri", {"Fn::Sub": f"repository:{b}"}),
            "Elsewhere": function("ImageUri", f"repository:{c}"),
            "Made": function("S3Key", f"{d}.zip"),
            "Settings": function("S3Key", f"{e}.json"),
        }
    }
    files = {d: {"executable": ["make", "zip"]}, e: {"path": "settings.json"}}
    assembly(
        tmp_path, template, files, {b: {"directory": "image", "dockerFile": "Dockerfile"}, c: {"executable": ["x"]}}
    )
    code = make.contracts(tmp_path)["S"]["code"]
    assert code["Image"]["Code/ImageUri/Fn::Sub"]["files"] == digest(tmp_path / "image")
    assert code["Elsewhere"]["Code/ImageUri"]["command"] == ["x"]
    assert code["Made"]["Code/S3Key"]["command"] == ["make", "zip"]
    assert code["Settings"]["Code/S3Key"]["files"] == digest(tmp_path / "settings.json")


def test_a_nested_template_belongs_to_the_contract_and_one_that_is_missing_hides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "inner", "DeletionProtectionEnabled": True}}
    (tmp_path / "N.nested.template.json").write_text(json.dumps({"Resources": {"T": inner}}))
    nested = {
        "Type": "AWS::CloudFormation::Stack",
        "Properties": {"TemplateURL": {"Fn::Sub": f"https://x/{'b' * 64}.json"}},
    }
    assembly(tmp_path, {"Resources": {"N": nested}}, {"b" * 64: {"path": "N.nested.template.json"}})
    contract = make.contracts(tmp_path)["S"]
    assert contract["nested"]["N"]["template"]["Resources"]["T"]["Properties"]["TableName"] == "inner"
    assert not list(hidden(contract, ""))
    del contract["nested"]
    assert [h.resource for h in hidden(contract, "")] == ["N"]

    monkeypatch.delenv("HOLDFAST_ESTATE", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "snapshots" / "S.json").write_text(files.text(make.contracts(tmp_path)["S"]))
    inner["Properties"]["DeletionProtectionEnabled"] = False  # type: ignore[index]
    (tmp_path / "N.nested.template.json").write_text(json.dumps({"Resources": {"T": inner}}))
    assert main(["check", str(tmp_path), "--format", "json"], now=MOMENTS["morning"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["rule"], finding["store"], finding["change"]) == ("HF001", "inner", "weakened")
    assert finding["where"] == "snapshots/S.json#T"


# Which rule reads a place


def test_every_named_place_is_read_by_a_rule_and_so_is_what_is_beneath() -> None:
    for rule in RULES:
        for place in (*rule.paths, *rule.explains):
            kind, _, inside = place.partition(" ")
            path = tuple(inside.split("/")) if inside else ()
            for at in (path, (*path, "Beneath")):
                found = reading(kind, at) if at else rule
                assert found is not None
                assert place in (*found.paths, *found.explains) or ORDER[found.severity] <= ORDER[rule.severity], (
                    place,
                    found.id,
                )
    assert reading("AWS::DynamoDB::Table", ("Properties", "NotThere")) is None


def test_places_that_rules_read_are_told_by_them(folder: Path, run: Run) -> None:
    """One table with every property that a rule names changed at once."""
    kind = "AWS::DynamoDB::Table"
    places = {
        p.partition(" ")[2]: r for r in RULES for p in (*r.paths, *r.explains) if p.startswith(f"{kind} Properties/")
    }
    names = {place.split("/")[1] for place in places}
    edit(folder, f"{NEWS}.template.json", lambda t: [p.pop(n, None) for p in [properties(t)] for n in names])
    code, findings, _ = run(folder)
    assert code == 1
    differences = [f for f in findings if f["change"] and f["store"] == NEWS_TABLE]
    assert differences
    for f in differences:
        rule = reading(kind, tuple(f["path"].split("/")))
        assert rule is None or f["rule"] == rule.id, f
