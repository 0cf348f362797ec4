"""`holdfast local up` into the accounts that an estate declares, with the real CDK CLI; audit and fix read all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from emulator import Aws
from support import CONTEXT, ROOT, Json

from holdfast.cli import main
from holdfast.local import process
from holdfast.local.client import ACCOUNT

pytestmark = pytest.mark.e2e
OURS, THEIRS = "111122223333", "444455556666"
# The same stack in both accounts, in one region and in another.
ESTATE = f'''
from holdfast import Data, Durable, Environment, Estate, Place, Policy, Stack, Table, Tier, key

LIVE = Environment(
    "live",
    Tier.PROD,
    "eu-west-1",
    account="{OURS}",
    also=(Place("eu-west-1", "{THEIRS}"), Place("eu-central-1", "{THEIRS}")),
)
DEV = Environment("dev", Tier.TEST, "eu-central-1")
ORDERS = Table(
    name="orders-{{env}}", purpose="What was ordered.", key=key("id"), lifetime=Durable(), data=Data.PERSONAL
)
ESTATE = Estate(
    name="small",
    environments=(LIVE, DEV),
    policy=Policy(recovery_days=14),
    stacks=(Stack(id="Small-{{env}}", system="small", owner="small-team", tables=(ORDERS,)),),
)
'''
APP = """
from small import ESTATE

from holdfast.cdk import app

app(ESTATE, {}).synth()
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A repository of its own, whose estate is in the emulator."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "small.py").write_text(ESTATE)
    (folder / "app.py").write_text(APP)
    (folder / "holdfast.toml").write_text('[tool.holdfast]\nestate = "small:ESTATE"\n')
    (folder / "cdk.json").write_text(json.dumps({"app": "python app.py", "context": CONTEXT}))
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert main(["local", "up"]) == 0
        yield folder
    finally:
        process.stop()
        os.chdir(before)


def account(id_: str) -> Aws:
    running = process.running()
    assert running
    return Aws(emulator=running, account=id_)


def tables(id_: str, region: str) -> list[str]:
    found: list[str] = account(id_).client("dynamodb", region).list_tables()["TableNames"]
    return found


def run(*words: str, env: str = "live") -> int:
    """A command, after which the environment is as before: --local puts the emulator's settings there."""
    with mock.patch.dict(os.environ):
        return main([words[0], "--env", env, *words[1:]])


def failures(capsys: pytest.CaptureFixture[str], outcome: str = "fail") -> list[Json]:
    return [f for f in json.loads(capsys.readouterr().out)["findings"] if f["outcome"] == outcome]


@pytest.fixture
def unprotected(home: Path) -> Iterator[None]:
    """Somebody switches deletion protection off, in one of the accounts and regions."""
    client = account(THEIRS).client("dynamodb", "eu-west-1")
    client.update_table(TableName="orders-live", DeletionProtectionEnabled=False)
    yield
    client.update_table(TableName="orders-live", DeletionProtectionEnabled=True)


def test_every_stack_is_in_its_account_and_in_no_other(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    regions = ("eu-west-1", "eu-central-1")
    assert {(id_, r): tables(id_, r) for id_ in (OURS, THEIRS, ACCOUNT) for r in regions} == {
        (OURS, "eu-west-1"): ["orders-live"],
        (OURS, "eu-central-1"): [],
        (THEIRS, "eu-west-1"): ["orders-live"],
        (THEIRS, "eu-central-1"): ["orders-live"],
        (ACCOUNT, "eu-west-1"): [],
        (ACCOUNT, "eu-central-1"): ["orders-dev"],
    }
    assert main(["local", "status"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "eu-central-1: 1 stack, 1 table" in lines
    assert f"eu-west-1 of account {THEIRS}: 1 stack, 1 table" in lines
    assert lines[-1] == f"In another account, AWS_ACCESS_KEY_ID is its id: {OURS}, {THEIRS}"


def test_what_was_deployed_is_as_declared_in_every_account(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("audit", "--local", env="all") == 0
    told = capsys.readouterr().err
    for id_ in (OURS, THEIRS, ACCOUNT):
        assert f"read account {id_} in eu-west-1" in told


@pytest.mark.usefixtures("unprotected")
def test_what_is_off_in_one_account_is_said_of_that_one_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("audit", "--local", "--format", "json") == 1
    (found,) = failures(capsys)
    assert (found["rule"], found["table"]) == ("HF001", "orders-live")
    assert found["where"] == f"arn:aws:dynamodb:eu-west-1:{THEIRS}:table/orders-live"


@pytest.mark.usefixtures("unprotected")
def test_fix_repairs_it_there(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fix", "--local") == 1
    assert f"# HF001 orders-live in account {THEIRS}: " in capsys.readouterr().out
    assert run("fix", "--local", "--apply") == 0
    assert run("audit", "--local") == 0


def test_an_account_that_was_not_read_is_unknown(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("audit", "--local", "--account", OURS, "--format", "json") == 3
    unread = failures(capsys, "unknown")
    assert {f["rule"] for f in unread} == {"HF614"}
    assert {f["detail"].partition(" was not read")[0] for f in unread} == {
        f"{region} of account {THEIRS}" for region in ("eu-west-1", "eu-central-1")
    }


def test_credentials_of_an_undeclared_account_are_refused(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in account("777788889999").environment("eu-west-1").items():
        monkeypatch.setenv(name, value)
    assert run("audit", "--endpoint-url", account(OURS).endpoint) == 2
    said = capsys.readouterr().err
    assert f"the credentials are of account 777788889999; declared or asked for is {OURS} or {THEIRS}" in said
    assert run("audit", "--local", "--account", "777788889999") == 2
    assert f"live is not declared in --account 777788889999: known are {OURS}, {THEIRS}" in capsys.readouterr().err
