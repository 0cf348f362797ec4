"""`holdfast accept` and approvals on real git repositories, from small assemblies that are written by hand."""

from __future__ import annotations

import copy
import io
import json
import os
import pty
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from repositories import commit, git, tree
from shop import ESTATE, LIVE, SESSIONS, alone
from shop_synth import Contracts, accepted_texts, project
from support import ROOT, Json, copied

from holdfast import Stack, Waiver
from holdfast.cli import accept, main
from holdfast.contract import approvals, files, make, page, stamp
from holdfast.contract.approvals import Approval, Entry
from holdfast.contract.diff import Kind, diff
from holdfast.contract.refused import unacceptable
from holdfast.errors import InputError

NOW = datetime(2026, 11, 18, 23, 30, tzinfo=UTC)
NEWS, LOGINS, DEV = "Newsletter-live", "Sessions-live", "Sessions-dev"
DEVICES = "devices-eu-west-1"  # durable and operational: what is lost can be approved
TABLE = "newsletter-eu-west-1"  # personal and durable: it cannot
ANSWERS = ("--because", "moved to the archive", "--by", "Data Owner", "--until", "2026-12-01")
Edit = Callable[[Json], None]
Run = Callable[..., tuple[int, str, str]]


def table(contract: Json, name: str) -> Json:
    found = contract["template"]["Resources"].values()
    return next(r for r in found if r["Properties"].get("TableName") == name)


def unprotect(name: str = DEVICES) -> Edit:
    return lambda contract: table(contract, name)["Properties"].update(DeletionProtectionEnabled=False)


def recovery(days: int) -> Edit:
    spec = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": days}
    return lambda contract: table(contract, DEVICES)["Properties"].update(PointInTimeRecoverySpecification=spec)


def owner(contract: Json) -> None:
    table(contract, DEVICES)["Properties"]["Tags"]["shop:team"] = "another team"


class World:
    """A repository, what is synthesized beside it, and the command in it."""

    def __init__(self, folder: Path, run: Run) -> None:
        self.repository, self.outdir, self.run = folder / "repository", folder / "cdk.out", run
        self.stacks = {id_: copy.deepcopy(Contracts()[id_]) for id_ in (NEWS, LOGINS, DEV)}

    def synth(self, *edits: tuple[str, Edit], only: Iterable[str] = (), manifest: Json | None = None) -> None:
        """An assembly as CDK writes it."""
        shutil.rmtree(self.outdir, ignore_errors=True)
        self.outdir.mkdir()
        stacks = copy.deepcopy({k: v for k, v in self.stacks.items() if not only or k in only})
        for id_, edit in edits:
            edit(stacks[id_])
        artifacts: Json = {}
        for id_, contract in stacks.items():
            kept = {k: v for k, v in contract["stack"].items() if k not in ("name", "environment", "dependencies")}
            properties = {"templateFile": f"{id_}.template.json", "stackName": contract["stack"]["name"], **kept}
            artifacts[id_] = {"type": "aws:cloudformation:stack", "properties": properties}
            artifacts[id_]["environment"] = contract["stack"]["environment"]
            (self.outdir / f"{id_}.template.json").write_text(json.dumps(contract["template"]))
        document = {"version": "48.0.0", "artifacts": artifacts, **(manifest or {})}
        (self.outdir / "manifest.json").write_text(json.dumps(document))

    def accept(self, *arguments: str) -> tuple[int, str, str]:
        return self.run("accept", str(self.outdir), *arguments)

    def diff(self, *arguments: str) -> tuple[int, str, str]:
        return self.run("diff", *arguments)

    def branch(self, name: str, start: str = "main") -> None:
        git(self.repository, "checkout", "-q", "-b", name, start)

    @property
    def approvals(self) -> list[Path]:
        return sorted((self.repository / "approvals").glob("*"))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    """The contracts of three stacks, accepted and committed on main; the working tree is of a branch."""
    for name in ("CI", "GITHUB_BASE_REF"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO())  # nobody answers

    def run(*arguments: str, now: datetime = NOW) -> tuple[int, str, str]:
        code = main(arguments, now=now)
        return code, *capsys.readouterr()

    world = World(tmp_path, run)
    world.repository.mkdir()
    git(world.repository, "init", "-q", "-b", "main")
    monkeypatch.chdir(world.repository)
    world.synth()
    code, out, _ = world.accept()
    assert (code, out.splitlines()[0]) == (0, "against the contracts in snapshots/")
    commit(world.repository, "contracts")
    world.branch("feature")
    return world


# What it writes


def test_accept_writes_what_is_synthesized_and_a_page_of_it(
    outdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["accept", str(outdir)]) == 0
    assert {p.stem: p.read_text() for p in (tmp_path / "snapshots").iterdir()} == accepted_texts()
    assert (tmp_path / "docs" / "register.md").read_text() == page.page(Contracts())
    assert capsys.readouterr().err.endswith(f"; wrote {len(ESTATE.placements())} contracts to snapshots/\n")


def test_nothing_to_approve_is_written_without_asking_and_a_second_time_alike(world: World) -> None:
    world.synth((LOGINS, owner))
    code, out, err = world.accept()
    assert (code, err) == (0, "1 changed; wrote 3 contracts to snapshots/\n")
    assert 'Properties/Tags/shop:team: "login-team" → "another team"' in out
    before = tree(world.repository)
    assert world.accept() == (code, out, err)  # still against the base
    assert tree(world.repository) == before
    assert world.approvals == []


def test_on_the_default_branch_the_difference_is_that_of_the_next_commit(world: World) -> None:
    git(world.repository, "checkout", "-q", "main")
    world.synth((LOGINS, unprotect()))
    assert world.accept(*ANSWERS)[0] == 0
    commit(world.repository, "unprotect")
    assert world.diff()[:1] == (0,)
    world.synth((LOGINS, unprotect()), (LOGINS, recovery(7)))
    code, out, err = world.accept(*ANSWERS)
    assert (code, out.splitlines()[0].endswith(", the last commit")) == (0, True)
    assert err.startswith("1 weakened; wrote")


def test_a_part_never_touches_what_was_not_synthesized(world: World) -> None:
    """By the tag of the environment: live is synthesized without one of its stacks, dev is not synthesized."""
    world.synth(only=[LOGINS])
    code, out, err = world.accept()
    assert (code, "or use a terminal" in err) == (1, True)
    assert f"the stack is gone, and with it {TABLE}" in out
    assert world.accept(*ANSWERS)[2].endswith(f"; removed {NEWS}\n")
    assert {p.stem for p in (world.repository / "snapshots").iterdir()} == {LOGINS, DEV}
    assert TABLE not in (world.repository / "docs" / "register.md").read_text()
    assert "sessions-eu-central-1" in (world.repository / "docs" / "register.md").read_text()
    assert world.diff()[0] == 0


def test_the_register_has_one_line_per_store_and_environment() -> None:
    contracts = Contracts()
    lines = page.page(contracts).splitlines()
    assert page.page(contracts) == page.page(dict(reversed(list(contracts.items()))))
    assert f"| live | {LOGINS} | {DEVICES} | durable operational | DP, RETAIN, PITR 14 days, 3 alarms |" in lines
    assert "| dev | Orders-dev | carts-dev | transient personal | CMK, TTL expiresAt |" in lines
    tables = [r for c in contracts.values() for r in c["template"]["Resources"].values() if "DynamoDB" in r["Type"]]
    assert len(lines) > len(tables) == sum(len(p.tables) for p in ESTATE.placements())


@pytest.mark.parametrize("policy", ["DeletionPolicy", "UpdateReplacePolicy"])
def test_the_register_says_retained_only_where_both_policies_retain(policy: str) -> None:
    contract = copy.deepcopy(Contracts()[LOGINS])
    assert "| DP, RETAIN, PITR" in page.page({LOGINS: contract})
    table(contract, DEVICES)[policy] = "Delete"
    assert "RETAIN," not in page.page({LOGINS: contract}).partition("|---|")[2]


def test_what_fails_leaves_everything_as_it_was(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.synth((LOGINS, unprotect()))
    before = tree(world.repository)
    write = Path.write_text

    def full(path: Path, *arguments: Any, **more: Any) -> int:
        if "register" in path.name:
            raise OSError(28, "No space left on device", str(path))
        return write(path, *arguments, **more)

    monkeypatch.setattr(Path, "write_text", full)
    code, _, err = world.accept(*ANSWERS)
    assert (code, "No space left on device" in err) == (2, True)
    assert tree(world.repository) == before


def test_what_is_in_the_way_is_one_line_and_nothing_is_written(world: World) -> None:
    world.synth((LOGINS, owner))
    page_ = world.repository / "docs" / "register.md"
    page_.unlink()
    page_.mkdir()
    before = tree(world.repository)
    code, _, err = world.accept()
    assert (code, err.count("\n")) == (2, 1)
    assert f"{page_} is a folder, and a file belongs there: move it away; nothing was written" in err
    shutil.rmtree(page_.parent)
    page_.parent.write_text("x")
    assert f"{page_.parent} is not a folder: move it away" in world.accept()[2]
    page_.parent.unlink()
    assert tree(world.repository) == before
    world.synth(only=[DEV])
    assert "wrote 1 contract to" in world.accept()[2]


# When it refuses


def test_without_a_terminal_and_without_answers_nothing_is_written(world: World) -> None:
    world.synth((LOGINS, unprotect()))
    before = tree(world.repository)
    says = "holdfast: 1 change to approve: give --because, --by and --until, or use a terminal; nothing was written\n"
    for arguments in ((), ANSWERS[:2], ANSWERS[:4]):
        code, out, err = world.accept(*arguments)
        assert (code, err) == (1, says)
        assert "deletion protection is lost" in out
    assert tree(world.repository) == before


@pytest.mark.parametrize("value", ["true", "1", "True"])
def test_in_ci_it_never_writes_and_says_what_is_wrong_first(
    world: World, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("CI", value)
    world.synth((LOGINS, owner))
    before = tree(world.repository)
    code, out, err = world.accept(*ANSWERS)
    assert (code, out) == (2, "")
    assert err.endswith("so it does not run in CI: run it on your machine\n")
    (world.outdir / f"{LOGINS}.template.json").write_text("{")
    assert "is not JSON" in world.accept(*ANSWERS)[2]
    assert tree(world.repository) == before
    monkeypatch.setenv("CI", "false")
    world.synth((LOGINS, owner))
    assert world.accept()[0] == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--because", "x", "--by", "y", "--until", "soon"), "'soon' is not a day such as 2026-11-18"),
        (("--because", "x", "--by", "y", "--until", "2026-11-17"), "2026-11-17 is over"),
        (("--because", " ", "--by", "y", "--until", "2026-11-18"), "an approval needs a reason and a name"),
        (("--because", "x", "--by", "", "--until", "2026-11-18"), "an approval needs a reason and a name"),
        (("--against", "nowhere"), "git knows no such commit here"),
    ],
)
def test_bad_answers_are_one_line(world: World, arguments: tuple[str, ...], says: str) -> None:
    world.synth((LOGINS, unprotect()))
    before = tree(world.repository)
    code, _, err = world.accept(*arguments)
    assert (code, says in err, err.count("\n")) == (2, True, 1)
    assert tree(world.repository) == before


def put(name: str, value: Any) -> Edit:
    return lambda contract: table(contract, DEVICES)["Properties"].update({name: value})


def resource(kind: str, **properties: Any) -> Edit:
    return lambda contract: contract["template"]["Resources"].update(X={"Type": kind, "Properties": properties})


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (put("TableName", "${Token[AWS.AccountId.0]}"), "a look-up or a token has still to decide"),
        (put("X", "#{Token[TOKEN.12]}"), "a look-up or a token has still to decide"),
        (put("X", -1.8881545897087626e289), "a number that a token has still to decide"),
        (put("X", "dummy-value-for-/a/b"), "a look-up or a token has still to decide"),
        (put("X", ["vpc-12345"]), "a look-up or a token has still to decide"),
        (put("X", "ami-1234"), "a look-up or a token has still to decide"),
        (put("X", "s-67890"), "a look-up or a token has still to decide"),
        (put("X", "arn:aws:ec2:us-east-1:123456789012:vpc/vpc-12345"), "a look-up or a token has still to decide"),
        (put("X", "AKIAIOSFODNN7EXAMPLE"), "holds a secret: keep it in Secrets Manager"),
        (put("X", "-----BEGIN RSA PRIVATE KEY-----"), "holds a secret"),
        (put("X", "postgres://admin:hunter2@db/x"), "holds a secret"),
        (put("X", {"Fn::Join": ["", ["postgres://admin:hunter2@", {"Ref": "X"}]]}), "holds a secret"),
        (resource("AWS::RDS::DBInstance", MasterUserPassword="hunter2"), "is a secret in plain text"),
        (resource("AWS::ElastiCache::ReplicationGroup", AuthToken="hunter2"), "is a secret in plain text"),
        (resource("AWS::ElastiCache::User", Passwords=["hunter2"]), "is a secret in plain text"),
        (resource("AWS::SecretsManager::Secret", SecretString="hunter2"), "is a secret in plain text"),
        (resource("AWS::Lambda::Function", Environment={"Variables": {"DB_PASSWORD": "hunter2"}}), "in plain text"),
        (
            resource(
                "AWS::ECS::TaskDefinition",
                ContainerDefinitions=[{"Environment": [{"Name": "API_TOKEN", "Value": "hunter2"}]}],
            ),
            "is a secret in plain text",
        ),
        (put("X", f"eyJ{'a' * 12}.eyJ{'b' * 12}.c"), "holds a secret"),
        (put("X", "sk_test_" + "a" * 16), "holds a secret"),
        (
            resource(
                "AWS::RDS::DBInstance", MasterUserPassword={"Fn::Join": ["", ["hunter2", {"Ref": "AWS::Region"}]]}
            ),
            "in plain text",
        ),
        (resource("AWS::RDS::DBInstance", MasterUserPassword={"Fn::If": ["C", "hunter2", "{{resolve:x}}"]}), "plain"),
        (resource("AWS::SecretsManager::Secret", SecretString={"username": "a", "password": "hunter2"}), "plain text"),
        (resource("AWS::Lambda::Function", Environment={"Variables": {"PASSWORD_OF_DB": "hunter2"}}), "in plain text"),
        (resource("AWS::Lambda::Function", Environment={"Variables": {"MY_TOKEN": "/hunter2"}}), "in plain text"),
        (
            resource(
                "AWS::Lambda::Function",
                Environment={"Variables": {"APIKEY2": {"Fn::Join": ["-", ["hunter2", {"Ref": "P"}]]}}},
            ),
            "in plain text",
        ),
        (resource("AWS::EC2::Instance", UserData={"Fn::Base64": "export DB_PASSWORD='hunter2'"}), "in plain text"),
        (
            lambda c: (
                c["template"].update(Parameters={"DbPassword": {"Type": "String", "Default": "hunter2"}})
                or put("X", {"Ref": "DbPassword"})(c)
            ),
            "is a secret in plain text",
        ),
    ],
)
def test_what_is_undecided_or_secret_cannot_be_accepted(edit: Edit, says: str) -> None:
    contract = copy.deepcopy(Contracts()[LOGINS])
    assert list(unacceptable(contract)) == []
    edit(contract)
    (why,) = unacceptable(contract)
    assert why.startswith("template/")
    assert says in why
    assert "hunter2" not in why


def test_a_secret_stops_it_in_one_line(world: World) -> None:
    world.synth((LOGINS, resource("AWS::RDS::DBInstance", MasterUserPassword="hunter2")))
    before = tree(world.repository)
    code, out, err = world.accept(*ANSWERS)
    assert (code, out, err.count("\n"), "hunter2" in err) == (2, "", 1, False)
    assert f"{LOGINS} cannot be accepted: template/Resources/X/Properties/MasterUserPassword is a secret" in err
    assert tree(world.repository) == before


@pytest.mark.parametrize(
    "edit",
    [
        resource("AWS::RDS::DBInstance", MasterUserPassword="{{resolve:secretsmanager:x}}"),
        resource("AWS::RDS::DBInstance", MasterUserPassword={"Fn::GetAtt": ["S", "Password"]}),
        resource("AWS::Lambda::Function", Environment={"Variables": {"SECRET_NAME": "x", "TOKENS": "5", "KEY": "id"}}),
        resource("AWS::Lambda::Function", Environment={"Variables": {"SECRET": "arn:aws:secretsmanager:x"}}),
        resource("AWS::EC2::Instance", UserData="#!/bin/sh\necho hello"),
        resource("AWS::EC2::Instance", UserData="TOKEN=$(aws ssm)\nSECRET_ARN=x\nPASSWORD=`x`"),
        resource(
            "AWS::RDS::DBInstance",
            MasterUserPassword={
                "Fn::Join": ["", ["{{resolve:secretsmanager:", {"Ref": "S"}, ":SecretString:password::}}"]]
            },
        ),
        resource("AWS::RDS::DBInstance", MasterUserPassword={"Fn::If": ["C", {"Ref": "A"}, {"Fn::ImportValue": "B"}]}),
        resource("AWS::RDS::DBParameterGroup", Parameters={"password_encryption": "scram-sha-256"}),
        resource(
            "AWS::Lambda::Function",
            Environment={
                "Variables": {
                    "TOKEN_TTL": "3600",
                    "DB_SECRET_ARN": {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":x"]]},
                    "PASSWORD_PATH": "/prod/db",
                    "SECRET": {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":secretsmanager:x"]]},
                }
            },
        ),
    ],
)
def test_what_refers_to_a_secret_can_be_accepted(edit: Edit) -> None:
    contract = copy.deepcopy(Contracts()[LOGINS])
    edit(contract)
    assert list(unacceptable(contract)) == []


def test_missing_look_ups_a_name_that_climbs_and_an_empty_assembly_are_refused(world: World) -> None:
    world.synth(manifest={"missing": [{"key": "vpc-provider:x", "provider": "vpc-provider", "props": {}}]})
    code, _, err = world.accept()
    assert (code, "waits for a look-up (vpc-provider)" in err) == (2, True)
    world.synth()
    inner = world.outdir / "assembly-Stage"
    inner.mkdir()
    (inner / "manifest.json").write_text(json.dumps({"artifacts": {}, "missing": [{"provider": "ami"}]}))
    manifest = json.loads((world.outdir / "manifest.json").read_text())
    manifest["artifacts"]["Stage"] = {"type": "cdk:cloud-assembly", "properties": {"directoryName": inner.name}}
    (world.outdir / "manifest.json").write_text(json.dumps(manifest))
    assert "waits for a look-up (ami)" in world.accept()[2]
    world.stacks["../../evil"] = world.stacks[LOGINS]
    world.synth(only=[LOGINS])
    manifest = json.loads((world.outdir / "manifest.json").read_text())
    manifest["artifacts"]["../../evil"] = manifest["artifacts"][LOGINS]
    (world.outdir / "manifest.json").write_text(json.dumps(manifest))
    assert "../../evil" in world.accept()[2]
    world.outdir.joinpath("manifest.json").write_text('{"artifacts": {}}')
    assert "has no stack" in world.accept()[2]


@pytest.mark.parametrize("gone", ["version", "code", "acknowledged"])
def test_check_needs_all_of_a_contract_of_the_working_tree(world: World, gone: str) -> None:
    """Without its version it would count as an old one, which says nothing of roles."""
    path = world.repository / "snapshots" / f"{LOGINS}.json"
    code, _, err = world.run("check", str(world.outdir))
    assert (code, err.splitlines()[1]) == (0, "0 failed, 0 unknown, 0 passed, 0 exempt")
    assert err.splitlines()[0].endswith("no policy rule is run; compared: 3 contracts")
    contract = files.read(path)
    del contract["stack"]["cloudFormationExecutionRoleArn"]
    path.write_text(files.text(contract))
    code, out, _ = world.run("check", str(world.outdir))
    assert (code, "stack/cloudFormationExecutionRoleArn" in out) == (1, True)
    del contract[gone]
    path.write_text(files.text(contract))
    code, out, err = world.run("check", str(world.outdir))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert ("earlier version" if gone == "version" else f"it has no {gone}") in err
    assert world.accept()[0] == 0  # which writes it anew


# Rules and waivers of the estate


def test_a_wrong_contract_cannot_be_accepted(
    outdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rules judge before anything is written, and an output of other declarations is refused."""
    monkeypatch.delenv("CI", raising=False)
    repository, made = tmp_path / "repository", copied(outdir, tmp_path / "cdk.out")
    (repository / ".git").mkdir(parents=True)
    files_ = {p.name for p in project(repository).iterdir()}
    monkeypatch.chdir(repository)

    def run() -> tuple[int, str, str]:
        code = main(["accept", str(made)], now=NOW)
        return code, *capsys.readouterr()

    template = made / f"{NEWS}.template.json"
    right = template.read_text()
    template.write_text(right.replace('"DeletionProtectionEnabled": true', '"DeletionProtectionEnabled": false'))
    code, out, err = run()
    assert (code, err) == (1, "holdfast: 1 rule failed: a wrong contract cannot be accepted; nothing was written\n")
    assert f"FAIL  HF001  critical  {TABLE}: " in out
    stamp.write(made, alone(*ESTATE.stacks[1:]))
    code, out, err = run()
    assert (code, out, "is of other declarations: run `make synth`" in err) == (2, "", True)
    stamp.write(made, ESTATE)
    told = json.loads((made / stamp.FILE).read_text())
    (made / stamp.FILE).write_text(json.dumps(told | {"waived": {NEWS: {}}}))
    assert "is of other declarations" in run()[2]
    (made / stamp.FILE).write_text("[")
    assert "holdfast.json is damaged: run `make synth`" in run()[2]
    assert {p.name for p in repository.iterdir()} == files_
    stamp.write(made, ESTATE)
    template.write_text(right)
    assert run()[2].endswith(f"; wrote {len(ESTATE.placements())} contracts to snapshots/\n")


def excused(*waivers: Waiver) -> tuple[Stack, ...]:
    """One stack of the shop with waivers on a table."""
    sessions, devices = SESSIONS.tables
    return (replace(SESSIONS, tables=(sessions, replace(devices, waivers=waivers))),)


def test_a_waiver_is_part_of_the_contract_and_a_new_or_longer_one_needs_an_approval(world: World) -> None:
    one = Waiver(rule="HF004", environment=LIVE, reason="moves next month", owner="ops", expires=date(2026, 12, 31))

    def told(*waivers: Waiver) -> list[tuple[str, str, str, bool | None]]:
        stamp.write(world.outdir, alone(*excused(*waivers)))
        made = make.contracts(world.outdir)
        assert ("waived" in made[LOGINS]) == bool(waivers)
        jsonschema.validate(made[LOGINS], json.loads((ROOT / "docs" / "contract.schema.json").read_text()))
        (world.repository / "snapshots" / f"{LOGINS}.json").write_text(files.text(made[LOGINS]))
        changes = json.loads(world.diff("--against", "HEAD", "--format", "json")[1])["findings"]
        return [(c["change"], c["store"], c["detail"].split(": waived/")[0], c["approvable"]) for c in changes]

    assert told() == []
    says = "HF004 is waived until 2026-12-31: moves next month"
    assert told(one) == [("weakened", DEVICES, says, True)]
    assert world.accept()[0] == 1
    assert world.accept(*ANSWERS)[0] == 0
    assert world.diff()[0] == 0
    commit(world.repository, "waived")
    assert told(one) == []
    later = replace(one, expires=date(2027, 1, 1))
    assert told(later) == [("weakened", DEVICES, "HF004 is waived until 2027-01-01: moves next month", True)]
    sooner = replace(one, expires=date(2026, 12, 1))
    assert [c[0] for c in told(sooner)] == ["changed"]
    assert told() == [("changed", DEVICES, "HF004 is no longer waived", None)]
    git(world.repository, "checkout", "-q", "HEAD", "--", "snapshots")
    code, out, _ = world.run("check", str(world.outdir))
    assert (code, "HF004 is no longer waived" in out) == (1, True)


def test_an_output_that_does_not_say_what_is_waived_is_refused(tmp_path: Path) -> None:
    stamp.check(tmp_path, alone(*excused()))
    waiver = Waiver(rule="HF004", environment=LIVE, reason="r", owner="o", expires=date(2026, 12, 31))
    with pytest.raises(InputError, match="is of other declarations"):
        stamp.check(tmp_path, alone(*excused(waiver)))
    stamp.write(tmp_path, alone(*excused(waiver)))
    stamp.check(tmp_path, alone(*excused(waiver)))


def test_a_waiver_of_a_new_stack_is_told_too() -> None:
    contract = copy.deepcopy(Contracts()[LOGINS])
    contract["waived"] = {DEVICES: {"HF004": {"reason": "r", "owner": "o", "expires": "2027-01-01"}}}
    assert [c.says for c in diff({}, {LOGINS: contract}) if c.kind is Kind.WEAKENED] == [
        "HF004 is waived until 2027-01-01: r"
    ]
    contract["waived"] = {DEVICES: {"HF004": "r"}}
    with pytest.raises(InputError, match="waived is not stores, rules and reasons"):
        files.parse(files.text(contract).encode(), "x.json")


def test_a_stack_under_another_construct_id_needs_no_approval(world: World) -> None:
    """CloudFormation has the same stack: only the contract's file gets another name."""
    world.stacks["Logins"] = world.stacks.pop(LOGINS)
    world.synth()
    code, out, err = world.accept()
    assert (code, err) == (0, f"1 changed; wrote 3 contracts to snapshots/; removed {LOGINS}\n")
    assert "CHANGED   Logins" in out
    assert sorted(p.stem for p in (world.repository / "snapshots").iterdir()) == sorted([NEWS, DEV, "Logins"])
    assert world.diff()[::2] == (0, "1 changed\n")


# Reason, approver and end


def test_on_a_terminal_it_asks_once_for_what_is_told_as_one(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    def several(contract: Json) -> None:
        unprotect()(contract)
        recovery(7)(contract)
        contract["stack"].pop("terminationProtection")

    world.synth((LOGINS, several))
    answers = iter(["archived", "Owner", "2026-11-30", "no longer needed", "Platform", "2026-11-18"])
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return next(answers)

    given = accept.Answers(ask=ask)
    assert accept.accepted(world.outdir, world.repository, given, today=date(2026, 11, 18), against=None) == 0
    assert asked == ["why? ", "who approves it? ", "until which day (YYYY-MM-DD)? "] * 2
    capsys.readouterr()
    one, other = (approvals.parse(p.read_bytes(), p.name) for p in world.approvals)
    found = {a.because: [e.says for e in a.entries] for a in (one, other)}
    lost = ["deletion protection is lost", "recovery period is lowered"]
    assert found == {"archived": ["termination protection is lost"], "no longer needed": lost}
    assert {a.because: (a.by, a.until) for a in (one, other)}["archived"] == ("Owner", date(2026, 11, 30))
    assert world.diff()[0] == 0


class Terminal:
    """The command on a terminal of its own, which it controls: keys that interrupt it do so."""

    # Of whatever runs the tests in the background a child would inherit that interrupts are ignored.
    START = (
        "import fcntl, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from holdfast.cli import main; sys.exit(main(sys.argv[1:]))"
    )

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.keys, slave = pty.openpty()
        self.shown = ""
        command = [sys.executable, "-c", self.START, *arguments]
        environment = {k: v for k, v in os.environ.items() if k not in ("CI", "GITHUB_BASE_REF")} | {"TERM": "dumb"}
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)

    def answer(self, question: str, keys: str) -> None:
        """What is typed once a question has been asked."""
        while not self.shown.endswith(question):
            shown = self._more()
            assert shown, f"it ended before it asked {question!r}: {self.shown}"
        self.shown += "\n"
        os.write(self.keys, keys.encode())

    def _more(self) -> str:
        if not select.select([self.keys], [], [], PATIENCE)[0]:
            self.process.kill()  # it waits for what nobody types
        try:
            shown = os.read(self.keys, 10_000).decode(errors="replace").replace("\r\n", "\n")
        except OSError:  # as Linux has it where the other side is closed
            shown = ""
        self.shown += shown
        return shown

    def end(self, again: str = "") -> int:
        """Its exit status. ``again`` is typed until it ends: Python misses an interrupt just before it reads."""
        while True:
            if again and not select.select([self.keys], [], [], 1)[0]:
                os.write(self.keys, again.encode())
            elif not self._more():
                break
        os.close(self.keys)
        return self.process.wait()


PATIENCE = 120  # seconds in which it says nothing, after which it is given up
QUESTIONS = ("why? ", "who approves it? ", "until which day (YYYY-MM-DD)? ")


def test_on_a_real_terminal_reason_approver_and_end_are_asked_and_written(world: World) -> None:
    world.synth((LOGINS, unprotect()))
    terminal = Terminal(world.repository, "accept", str(world.outdir))
    for question, answer in zip(QUESTIONS, ("moved to the archive", "Data Owner", "2099-12-31"), strict=True):
        terminal.answer(question, f"{answer}\n")
    assert terminal.end() == 0
    assert "deletion protection is lost" in terminal.shown.partition(QUESTIONS[0])[0]  # shown before it is asked
    assert "1 weakened; wrote 3 contracts to snapshots/, 1 approval to approvals/" in terminal.shown
    (path,) = world.approvals
    found = approvals.parse(path.read_bytes(), path.name)
    assert (found.because, found.by, found.until) == ("moved to the archive", "Data Owner", date(2099, 12, 31))
    assert [e.says for e in found.entries] == ["deletion protection is lost"]
    assert world.diff()[0] == 0


@pytest.mark.parametrize(
    ("key", "code", "said"),
    [
        ("\x03", 130, ""),  # an interrupt
        ("\x04", 2, "holdfast: the answer is missing: nothing was written\n"),  # the end of what is typed
        ("\n", 2, "holdfast: an approval needs a reason and a name: nothing was written\n"),
    ],
)
@pytest.mark.parametrize("asked", [0, 1])
def test_an_interrupt_on_a_real_terminal_writes_nothing(
    world: World, key: str, code: int, said: str, asked: int
) -> None:
    world.synth((LOGINS, unprotect()))
    before = tree(world.repository)
    terminal = Terminal(world.repository, "accept", str(world.outdir))
    given = ["because", "Owner", "2099-12-31"]
    given[asked] = key.strip("\n")
    for question, answer in zip(QUESTIONS, given, strict=True):
        terminal.answer(question, answer if answer in ("\x03", "\x04") else f"{answer}\n")
        if answer == key:
            break
    assert terminal.end(key if key == "\x03" else "") == code
    assert terminal.shown.endswith(said)
    assert "Traceback" not in terminal.shown
    assert tree(world.repository) == before


def test_an_approval_is_used_then_spent_and_then_deleted(world: World) -> None:
    world.synth((LOGINS, unprotect()))
    code, out, err = world.accept(*ANSWERS)
    assert (code, err) == (0, "1 weakened; wrote 3 contracts to snapshots/, 1 approval to approvals/\n")
    (file,) = world.approvals
    assert file.name.startswith(f"{LOGINS}-")
    assert file.name.removeprefix(f"{LOGINS}-").removesuffix(".toml").isalnum()
    code, out, err = world.diff()
    assert (code, err) == (0, "1 weakened\n")
    assert "approved by Data Owner: moved to the archive" in out
    rows = json.loads(world.diff("--format", "json")[1])
    assert rows["approvals"] == [{"file": file.name, "state": "used"}]
    assert (rows["findings"][0]["outcome"], rows["findings"][0]["approval"]) == ("exempt", file.name)
    commit(world.repository, "unprotect")
    assert world.diff()[0] == 0
    git(world.repository, "checkout", "-q", "main")
    git(world.repository, "merge", "-q", "--squash", "feature")
    commit(world.repository, "squashed")
    assert world.diff()[0] == 0  # on main against its first parent
    world.branch("next")
    code, out, err = world.diff()
    assert (code, err) == (0, "nothing differs\n")
    world.synth()  # protected again: nothing to approve
    assert world.accept()[0] == 0
    assert world.approvals == []
    commit(world.repository, "protect")
    git(world.repository, "checkout", "-q", "main")
    git(world.repository, "merge", "-q", "--no-edit", "next")
    world.branch("again")
    git(world.repository, "checkout", "-q", "feature", "--", "snapshots")  # the same weakening, its approval is gone
    code, out, err = world.diff()
    assert (code, err) == (1, "1 weakened; 1 change without an approval\n")
    approve = (
        'to approve, a revert of a strengthening too: holdfast accept --because "why" --by "who" --until YYYY-MM-DD'
    )
    assert out.splitlines()[-1] == approve


def test_a_spent_approval_approves_nothing(world: World) -> None:
    """It came with a merge; the same weakening later needs another."""
    world.synth((LOGINS, unprotect()))
    world.accept(*ANSWERS)
    commit(world.repository, "unprotect")
    git(world.repository, "checkout", "-q", "main")
    git(world.repository, "merge", "-q", "feature")
    git(world.repository, "checkout", "-q", "HEAD~1", "--", "snapshots")
    commit(world.repository, "protect again")  # the approval stays, spent
    world.branch("later")
    git(world.repository, "checkout", "-q", "feature", "--", "snapshots")
    code, _, err = world.diff()
    assert (code, err) == (1, "1 weakened; 1 change without an approval\n")
    assert json.loads(world.diff("--format", "json")[1])["approvals"][0]["state"] == "spent"
    world.synth((LOGINS, unprotect()))
    (before,) = world.approvals
    assert world.accept(*ANSWERS)[0] == 0  # with the same answers
    (after,) = world.approvals
    assert after.name != before.name
    assert world.diff()[0] == 0


def test_an_approval_that_fits_nothing_is_over_or_is_for_another_change_fails(world: World) -> None:
    world.synth((LOGINS, recovery(7)))
    assert world.accept(*ANSWERS)[0] == 0
    (file,) = world.approvals
    content = file.read_text()
    code, out, _ = world.run("diff", now=datetime(2026, 12, 2, 0, 10, tzinfo=UTC))
    assert (code, f"approval  approvals/{file.name} is over since 2026-12-01: ask again" in out) == (1, True)
    assert world.run("diff", now=datetime(2026, 12, 1, 23, 59, tzinfo=UTC))[0] == 0  # the last day counts
    world.synth((LOGINS, recovery(3)))  # lower than what was approved
    git(world.repository, "checkout", "-q", "main", "--", "snapshots")
    for id_, contract in make.contracts(world.outdir).items():
        (world.repository / "snapshots" / f"{id_}.json").write_text(files.text(contract))
    code, out, err = world.diff()
    assert (code, err) == (1, "1 weakened; 1 change without an approval\n")
    assert f"approvals/{file.name} fits nothing in this change (recovery period is lowered of {DEVICES})" in out
    assert world.accept(*ANSWERS)[0] == 0  # writes another, and deletes what fits nothing
    assert [p.name for p in world.approvals] != [file.name]
    assert len(world.approvals) == 1
    assert world.diff()[0] == 0
    world.synth()
    assert world.accept()[0] == 0
    assert world.approvals == []
    file.write_text(content)  # added, though nothing is weakened
    code, out, err = world.diff()
    assert (code, err) == (1, "nothing differs\n")
    assert "fits nothing in this change" in out
    file.write_text(content.replace(LOGINS, NEWS))
    assert world.diff()[0] == 1


def test_what_cannot_be_approved_is_not(world: World) -> None:
    world.synth((NEWS, unprotect(TABLE)))
    before = tree(world.repository)
    code, _, err = world.accept(*ANSWERS)
    assert code == 1
    assert err.startswith(f"holdfast: {TABLE}: personal durable data in production keeps deletion protection")
    assert tree(world.repository) == before
    for id_, contract in make.contracts(world.outdir).items():  # past accept, with an approval by hand
        (world.repository / "snapshots" / f"{id_}.json").write_text(files.text(contract))
    (change,) = json.loads(world.diff("--format", "json")[1])["findings"]
    assert (change["approvable"], change["guard"]) == (False, "DP")
    entry = Entry(
        kind="weakened",
        store=TABLE,
        resource=change["resource"],
        path=change["path"],
        says="deletion protection is lost",
        before=approvals.digest(True),
        after=approvals.digest(False),
    )
    mine = Approval(NEWS, "because", "me", date(2026, 12, 1), (entry,))
    name = approvals.file_name(mine)
    (world.repository / "approvals").mkdir()
    (world.repository / "approvals" / name).write_text(approvals.text(mine))
    code, out, _ = world.diff()
    assert code == 1
    assert f"approvals/{name} is for what cannot be approved (deletion protection is lost of {TABLE})" in out
    assert "cannot be approved (DP)" in out


def lowered(contract: Json) -> None:
    table(contract, TABLE)["Properties"]["Tags"]["shop:data"] = "operational"


def test_a_class_is_lowered_first_and_guards_go_later(world: World) -> None:
    def both(contract: Json) -> None:
        lowered(contract)
        unprotect(TABLE)(contract)

    world.synth((NEWS, both))
    assert world.accept(*ANSWERS)[0] == 1
    world.synth((NEWS, lowered))
    code, out, _ = world.accept(*ANSWERS)
    assert (code, "personal → operational: keeps every guard in live" in out) == (0, True)
    commit(world.repository, "lower")
    assert world.diff()[0] == 0
    git(world.repository, "checkout", "-q", "main")
    git(world.repository, "merge", "-q", "feature")
    world.branch("later")
    world.synth((NEWS, both))
    assert world.accept(*ANSWERS)[0] == 0


@pytest.mark.parametrize(("policy", "fine"), [("Retain", True), ("Delete", False)])
def test_a_removal_is_approvable_where_the_data_stays(world: World, policy: str, fine: bool) -> None:
    world.stacks[NEWS] = copy.deepcopy(world.stacks[NEWS])
    table(world.stacks[NEWS], TABLE)["UpdateReplacePolicy"] = policy
    table(world.stacks[NEWS], TABLE)["Properties"]["Tags"]["shop:team"] = "x"
    world.synth()
    git(world.repository, "checkout", "-q", "main")
    (world.repository / "snapshots" / f"{NEWS}.json").write_text(files.text(make.contracts(world.outdir)[NEWS]))
    commit(world.repository, "as it is")
    world.branch("removal")

    def remove(contract: Json) -> None:
        found = contract["template"]["Resources"]
        del found[next(k for k, r in found.items() if r["Properties"].get("TableName") == TABLE)]

    world.synth((NEWS, remove))
    assert (world.accept(*ANSWERS)[0] == 0) == fine


def test_a_merge_of_main_a_rebase_and_a_dirty_tree_keep_an_approval(world: World) -> None:
    world.synth((LOGINS, unprotect()))
    world.accept(*ANSWERS)
    assert world.diff()[0] == 0  # not committed
    commit(world.repository, "unprotect")
    git(world.repository, "checkout", "-q", "main")
    world.synth((DEV, lambda c: c["stack"]["tags"].update({"shop:team": "x"})))
    world.accept()
    commit(world.repository, "meanwhile")
    git(world.repository, "checkout", "-q", "-b", "rebased", "feature")
    git(world.repository, "rebase", "-q", "main")
    assert world.diff()[0] == 0
    git(world.repository, "checkout", "-q", "feature")
    git(world.repository, "merge", "-q", "--no-edit", "main")
    code, out, err = world.diff()
    assert (code, err) == (0, "1 weakened\n")
    assert DEV not in out


def test_two_branches_that_change_two_tables_of_one_stack_merge_to_the_contract_of_both(world: World) -> None:
    def second(contract: Json) -> None:
        table(contract, "sessions-eu-west-1")["Properties"]["Tags"]["shop:team"] = "a third team"

    for name, edit in (("one", unprotect()), ("two", second)):
        world.branch(name)
        world.synth((LOGINS, edit))
        assert world.accept(*ANSWERS)[0] == 0
        commit(world.repository, name)
    git(world.repository, "merge", "-q", "--no-edit", "one")
    world.synth((LOGINS, unprotect()), (LOGINS, second))
    made = files.text(make.contracts(world.outdir)[LOGINS])
    assert (world.repository / "snapshots" / f"{LOGINS}.json").read_text() == made
    code, _, err = world.diff()
    assert (code, err) == (0, "1 weakened, 1 changed\n")


# Files of approvals


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("x", "not TOML"),
        ("<<<<<<< HEAD\n", "half merged"),
        ("[" * 3000, "not TOML"),
        ('stack = "s"\nbecause = "b"\nby = "x"\nuntil = "2026-01-01"', "until is not a day"),
        ('stack = "s"\nbecause = "b"\nby = "x"\nuntil = 2026-01-01T00:00:00', "until is not a day"),
        ('stack = "s"\nbecause = "b"\nby = "x"\nuntil = 2026-01-01', "it names no change"),
        ('stack = "s"\nbecause = "b"\nby = "x"\nuntil = 2026-01-01\nchange = [1]', "it names no change"),
        ('stack = "s"\nbecause = "b"\nby = "x"\nuntil = 2026-01-01\n[[change]]\nkind = 1', "kind is missing or is not"),
        ('stack = "s"\nbecause = " "\nby = "x"\nuntil = 2026-01-01', "neither why nor who"),
        ('stack = "s"\nby = "x"', "because is missing"),
        ("\0", "not TOML"),
        ("a." * 40_000 + "a = 1", "line 1 is not of an approval"),
        (f"[[{'a.' * 40_000}a]]", "line 1 is not of an approval"),
        (" " * 90_000 + "x", "line 1 is not of an approval"),
        ('x = "' + "\\" * 90_000, "line 1 is not of an approval"),
        ("#" * 100_001, "more than 100 KB"),
    ],
    ids=lambda value: value[:20],
)
def test_a_damaged_approval_is_one_line(content: str, says: str) -> None:
    with pytest.raises(InputError, match=r"^approvals/x\.toml is not an approval \(") as damaged:
        approvals.parse(content.encode(), "x.toml")
    assert says in str(damaged.value)
    assert "\n" not in str(damaged.value)


def test_a_damaged_approval_stops_diff_and_accept(world: World) -> None:
    (world.repository / "approvals").mkdir()
    (world.repository / "approvals" / "x-00000000.toml").write_bytes(b"\xff")
    for code, out, err in (world.diff(), world.accept()):
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("holdfast: approvals/x-00000000.toml is not an approval (not TOML")


def test_a_pipe_is_not_an_approval(world: World) -> None:
    (world.repository / "approvals").mkdir()
    os.mkfifo(world.repository / "approvals" / "x.toml")
    for code, out, err in (world.diff(), world.accept()):
        assert (code, out, "x.toml is not a file" in err, err.count("\n")) == (2, "", True, 1)


words = st.text(max_size=30)


@given(words, words, st.dates(), st.lists(st.builds(Entry, *[words] * 7), min_size=1, max_size=3))
def test_whatever_is_said_is_read_back(because: str, by: str, until: date, entries: list[Entry]) -> None:
    made = Approval("Stack", f"x{because}", f"x{by}", until, tuple(entries))
    assert approvals.parse(approvals.text(made).encode("ascii"), "x.toml") == made
