"""`holdfast local` as a process: where it listens, what it refuses, what it keeps, whom it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from emulator import Aws, seen, shared, template
from shop import ESTATE
from support import ROOT

from holdfast import local
from holdfast.cli import main
from holdfast.errors import InputError
from holdfast.estate import finder
from holdfast.estate.finder import Project
from holdfast.local import deploy, process
from holdfast.local.client import ACCOUNT, Client, Stack
from holdfast.local.gate import FILE
from holdfast.local.state import put

FOREIGN = {
    "AWS_PROFILE": "production",
    "AWS_ENDPOINT_URL": "https://dynamodb.us-east-1.amazonaws.com",
    "AWS_ENDPOINT_URL_S3": "https://s3.amazonaws.com",
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SESSION_TOKEN": "token",
    "AWS_CONFIG_FILE": "/home/someone/.aws/config",
    "HTTPS_PROXY": "http://proxy.example:3128",
    "http_proxy": "http://proxy.example:3128",
    "CDK_DEFAULT_ACCOUNT": "123456789012",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own, with the estate; whatever a test starts there is stopped."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(finder, "find", lambda asked: Project(estate=ESTATE, source=tmp_path))
    yield tmp_path
    process.stop()


def test_state_survives_a_restart(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    aws = Aws(emulator=process.start(), account=ACCOUNT)
    aws.deploy("shop", template())
    recorded = {"Resources": {"Proxy": {"Type": "AWS::RDS::DBProxy"}}}
    aws.deploy("proxy", recorded)
    aws.client("dynamodb").put_item(TableName="orders", Item={"id": {"S": "1"}})
    before = seen(aws)
    assert process.stop()
    assert local.endpoint() is None
    again = process.start()
    aws = Aws(emulator=again, account=ACCOUNT)
    after = seen(aws)
    for key in ("Recovery", "Expiry", "Tags", "SSEDescription", "DeletionProtectionEnabled", "ItemCount", "TableId"):
        if key == "Recovery":
            assert after[key]["RecoveryPeriodInDays"] == before[key]["RecoveryPeriodInDays"] == 21
        else:
            assert after[key] == before[key], key
    # An attribute that nobody asked for before the restart is there all the same.
    aws.deploy("proxy", {**recorded, "Outputs": {"Host": {"Value": {"Fn::GetAtt": ["Proxy", "Endpoint"]}}}})
    assert main(["local", "status"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"Running on {again.endpoint}, process {again.pid}")
    assert "us-east-1: 2 stacks, 1 table" in lines
    assert "    1 AWS::RDS::DBProxy" in lines
    assert f"  export AWS_ENDPOINT_URL={again.endpoint}" in lines


def test_starting_twice_is_one_emulator_and_its_endpoint_is_known(here: Path) -> None:
    first = process.start()
    assert process.start() == first
    assert local.endpoint() == first.endpoint
    assert first.endpoint.startswith("http://127.0.0.1:")


def test_it_listens_on_loopback_only() -> None:
    running = shared()
    with pytest.raises(OSError, match=r"refused|unreachable"):
        socket.create_connection((_own_address(), running.port), timeout=2)
    assert _listeners(running.pid) == {("127.0.0.1", running.port)}


def _own_address() -> str:
    """An address of this machine that is not 127.0.0.1; another loopback address where it has no other."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: only asks which address would be used
            address = str(probe.getsockname()[0])
        except OSError:
            address = "127.0.0.2"
    return address


def _listeners(pid: int) -> set[tuple[str, int]]:
    """The TCP sockets on which a process listens, as Linux tells them."""
    if not Path("/proc/net/tcp").exists():
        pytest.skip("no /proc here")
    own = {str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir() if fd.is_symlink()}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            _, where, _, state, *rest = line.split()
            if state == "0A" and f"socket:[{rest[5]}]" in own:
                address, _, port = where.partition(":")
                assert len(address) == 8, "listens on IPv6"
                found.add((socket.inet_ntoa(bytes.fromhex(address)[::-1]), int(port, 16)))
    return found


def test_without_ministack_the_way_to_install_it_is_said(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'holdfast\[local\]'"):
        process.start()


def test_down_never_signals_a_process_that_is_not_the_emulator(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        process.HOME.mkdir(parents=True)
        # A stale file: the number now belongs to somebody else; and one that points at another emulator.
        for port, endpoint in ((1, "http://127.0.0.1:1"), (shared().port, shared().endpoint)):
            told = {"pid": other.pid, "port": port, "endpoint": endpoint}
            (process.HOME / "emulator.json").write_text(json.dumps(told))
            (process.HOME / FILE).write_text("ours")
            assert main(["local", "down"]) == 0
            assert capsys.readouterr().out == "It does not run.\n"
            assert other.poll() is None
        other.communicate(b"\n", timeout=60)
    assert other.returncode == 0
    assert process.contents(shared())["pid"] == shared().pid


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pid": "x"}'])
def test_a_broken_endpoint_file_means_that_it_does_not_run(here: Path, text: str) -> None:
    process.HOME.mkdir(parents=True)
    (process.HOME / "emulator.json").write_text(text)
    assert local.endpoint() is None


def test_down_ends_it_and_reset_empties_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    running = process.start()
    assert main(["local", "down"]) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(running.pid, 0)
    assert (process.HOME / "state").exists()
    assert main(["local", "reset"]) == 0
    assert not process.HOME.exists()
    assert main(["local", "status"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "It does not run: `holdfast local up` starts it."


@pytest.mark.parametrize("step", ["up", "down", "reset"])
def test_one_command_at_a_time_changes_the_emulator(here: Path, capsys: pytest.CaptureFixture[str], step: str) -> None:
    with process.alone():
        assert main(["local", step]) == 2
    assert capsys.readouterr().err.startswith("holdfast: another `holdfast local` command is at work")
    assert not process.HOME.exists()


@pytest.mark.parametrize("step", ["status", "down", "reset"])
def test_an_emulator_that_does_not_answer_is_not_called_stopped_and_keeps_its_state(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    running = process.start()
    os.kill(running.pid, signal.SIGSTOP)
    try:
        with monkeypatch.context() as impatient:
            impatient.setattr(process, "ANSWER_SECONDS", 0.3)
            assert main(["local", step]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"holdfast: {running.endpoint} does not answer within 0.3 s, but it accepts connections")
        assert (process.HOME / "emulator.json").exists()
    finally:
        os.kill(running.pid, signal.SIGCONT)


def test_a_state_that_cannot_be_removed_is_not_called_emptied(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "elsewhere").mkdir()
    process.HOME.parent.mkdir()
    process.HOME.symlink_to(here / "elsewhere")
    assert main(["local", "reset"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "symbolic link" in err


def test_a_killed_emulator_is_noticed_and_started_again(here: Path) -> None:
    running = process.start()
    os.kill(running.pid, signal.SIGKILL)
    assert local.endpoint() is None
    assert process.start().pid != running.pid


def test_nothing_of_the_callers_aws_settings_reaches_the_cdk(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in FOREIGN.items():
        monkeypatch.setenv(name, value)
    env = deploy.environment(shared(), "us-west-2")
    assert not set(env.values()) & set(FOREIGN.values())
    assert {k: v for k, v in env.items() if k.startswith("AWS_")} == {
        "AWS_ENDPOINT_URL": shared().endpoint,
        "AWS_ACCESS_KEY_ID": "000000000000",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_SESSION_TOKEN": shared().secret.value,
        "AWS_REGION": "us-west-2",
        "AWS_DEFAULT_REGION": "us-west-2",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    assert not [k for k in env if k.upper().endswith("_PROXY") and k != "NO_PROXY"]
    assert not [k for k in process.own_environment() if k.startswith("AWS_")]


def test_a_stack_without_a_region_is_refused_before_anything_is_deployed() -> None:
    def to(region: str) -> Stack:
        return Stack(id="S", name="S", region=region, account=None, template={}, tags={}, protected=False)

    deploy.refuse_nowhere([to("us-east-1")])
    with pytest.raises(InputError, match="stack S does not name a region"):
        deploy.refuse_nowhere([to("us-east-1"), to("unknown-region")])


@pytest.mark.parametrize("endpoint", ["https://dynamodb.us-east-1.amazonaws.com", "http://127.0.0.1.example:1"])
def test_only_this_machine_is_ever_asked(endpoint: str) -> None:
    with pytest.raises(InputError, match="is not this machine"):
        Client(emulator=replace(shared(), endpoint=endpoint)).dynamodb("us-east-1", "ListTables")


def test_bad_input_is_one_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["local", "up", "--env", "staging"]) == 2
    assert capsys.readouterr().err.strip() == "holdfast: unknown environment 'staging': known are live, dev, all"


def test_without_a_cdk_cli_or_a_cdk_json_the_way_out_is_said(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"no cdk\.json here"):
        deploy.synthesize(shared(), "test")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="the CDK CLI is not installed: run `make setup`"):
        deploy.cdk()


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (" ❌  Shop failed: table exists", "Shop: table exists"),
        ("❌  Shop failed to deploy\n\n‣ DeploymentError: table exists", "Shop: DeploymentError: table exists"),
        (
            "Shop | 9/3 | 9:24:08 AM | UPDATE_FAILED   | AWS::DynamoDB::Table | Shop/Table (TableBAF2) no",
            "Shop: AWS::DynamoDB::Table TableBAF2: no",
        ),
        ("holdfast: the layer is not built\napp.py: Subprocess exited with error 1", "the layer is not built"),
        ("ERROR shop: no key (Holdfast)\n   Shop/Table\nSynthesis finished with errors", "shop: no key (Holdfast)"),
        ("something\n  else\n\n", "else"),
        ("", "it said nothing"),
    ],
)
def test_a_failed_command_gives_the_stack_and_the_reason(here: Path, said: str, reason: str) -> None:
    script = f"print({said!a}); raise SystemExit(1)"
    with pytest.raises(InputError) as failed:
        deploy.run([sys.executable, "-c", script], {**os.environ, "PYTHONUTF8": "1"}, here / "deploy.log", "deploy")
    assert str(failed.value) == f"cdk deploy failed: {reason} (all of it: {here}/deploy.log)"
    assert (here / "deploy.log").read_text(encoding="utf-8").strip() == said.strip()


def test_only_an_emulator_that_runs_is_put_into_a_state_of_ones_own(here: Path) -> None:
    with pytest.raises(InputError, match="the emulator does not run: start it with `holdfast local up`"):
        put(lambda *_: pytest.fail("nothing to fill"))
    with process.alone(), pytest.raises(InputError, match="another `holdfast local` command is at work"):
        put(lambda *_: pytest.fail("not alone"))


def test_what_is_printed_for_the_emulator_says_what_it_takes_to_run_it(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A printed `holdfast` line goes to AWS without --local, and the emulator refuses `aws` without its secret."""
    running = process.start()
    table = {"TableName": "prices-production", "BillingMode": "PAY_PER_REQUEST"}
    key = {"AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}]}
    schema = {"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}
    resource = {"Type": "AWS::DynamoDB::Table", "Properties": {**table, **key, **schema}}
    Aws(emulator=running, account=ACCOUNT).deploy("Prices", {"Resources": {"Prices": resource}}, "eu-west-1")
    with mock.patch.dict(os.environ):  # --local puts the emulator's settings there
        assert main(["audit", "--env", "live", "--local", "--select", "HF010"]) == 1
        assert "`holdfast fix --env live --only HF010` with the same account options" in capsys.readouterr().out
        assert main(["fix", "--env", "live", "--only", "HF010", "--local"]) == 1
    out, err = capsys.readouterr()
    assert f"--endpoint-url {running.endpoint}" in out
    assert err.count("the variables that `holdfast local status` prints") == 1


def test_ministack_is_imported_in_one_place() -> None:
    for path in (ROOT / "constructs" / "holdfast").rglob("*.py"):
        if path.parent.name != "local":
            assert b"import ministack" not in path.read_bytes(), path
            assert b"from ministack" not in path.read_bytes(), path
