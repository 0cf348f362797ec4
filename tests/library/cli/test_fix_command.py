"""How `holdfast audit` and `fix` end when they saw nothing, too little or another place, and what they say then."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from emulator import Aws, fresh_account
from faults import Asked, Reply, error, only, proxy
from live_account import bare, log_in
from support import ROOT
from unprotected import commands

from holdfast import cli
from holdfast.aws.apply import CHANGES
from holdfast.aws.session import CONNECTIONS
from holdfast.model.located import declarations

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    """An account that has one of the two declared tables, and no stack."""
    found = fresh_account()
    log_in(monkeypatch, found)
    found.client("dynamodb").create_table(**bare("orders-prod"))
    return found


@pytest.fixture
def run(aws: Aws, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return commands(aws, monkeypatch, tmp_path, capsys)


@pytest.mark.parametrize("command", ["audit", "fix"])
@pytest.mark.parametrize("region", ["eu-west-1", ""])
def test_a_region_where_nothing_is_declared_is_refused(command: str, region: str, run: Run) -> None:
    code, out, err = run(command, "--region", region)
    assert (code, out) == (2, "")
    assert err == f"holdfast: nothing of prod is declared in --region {region!r}: known are us-east-1\n"


@pytest.mark.parametrize("command", ["audit", "fix"])
def test_credentials_of_another_account_are_refused_before_anything_is_read(command: str, run: Run, aws: Aws) -> None:
    code, out, err = run(command, "--account", "123456789012")
    assert (code, out) == (2, "")
    other = f"the credentials are of account {aws.account}; declared or asked for is 123456789012: "
    assert err.startswith(f"holdfast: {other}")
    assert run(command, "--account", "123456789012", "--account", aws.account)[0] == 1


def test_fix_changes_nothing_and_asks_nothing_before_it_is_told_which_account(run: Run, aws: Aws) -> None:
    asked: list[str] = []

    def note(request: Asked, forward: Callable[[], Reply]) -> Reply:
        asked.append(request.operation)
        return forward()

    with proxy(aws.endpoint, note) as endpoint:
        code, out, err = run("fix", "--apply", endpoint=endpoint)
        assert (code, out, asked) == (2, "", [])
        assert err.startswith("holdfast: --apply needs --account ID, the account to change: ")
        assert err.count("\n") == 1
        *_, last = run("fix", "--only", "HF001", endpoint=endpoint)[2].splitlines()
    assert last == f"1 call; nothing was changed: --apply --account {aws.account} makes them"
    assert not set(asked) & set(CHANGES)
    assert run("fix", "--only", "HF001", "--apply", "--account", aws.account)[0] == 1  # carts-prod is not there
    assert aws.client("dynamodb").describe_table(TableName="orders-prod")["Table"]["DeletionProtectionEnabled"]


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (("audit",), "log in to the right one, or name it with --account if nothing is deployed there yet"),
        (("fix",), "log in to the right one; before its first deploy there is nothing to fix"),
        (("fix", "--apply", "--account"), "log in to the right one; before its first deploy there is nothing to fix"),
    ],
)
def test_an_account_in_which_nothing_that_is_declared_exists_is_refused(
    command: tuple[str, ...], hint: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = fresh_account()
    other.client("dynamodb").create_table(**bare("orders-test"))
    other.client("dynamodb", "eu-west-1").create_table(**bare("orders-prod"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", other.account)
    code, out, err = run(*command, *([other.account] if command[-1] == "--account" else []))
    assert (code, out) == (2, "")
    assert err == f"holdfast: nothing that is declared for prod exists in account {other.account}: {hint}\n"


def test_an_account_that_is_named_is_audited_before_its_first_deploy(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    other = fresh_account()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", other.account)
    code, out, _ = run("audit", "--account", other.account, "--select", "HF601")
    assert code == 1
    assert out.count("HF601") == 2


def test_a_choice_of_rules_does_not_hide_that_nothing_could_be_read(run: Run, aws: Aws) -> None:
    blind = only({"ListTables"}, lambda asked: error(asked, "AccessDeniedException"))
    with proxy(aws.endpoint, blind) as endpoint:
        code, out, _ = run("audit", "--select", "HF001", endpoint=endpoint)
        assert code == 3
        assert "HF614" in out
        assert run("fix", endpoint=endpoint)[0] == 3


def test_a_choice_of_rules_does_not_hide_a_stack_that_could_not_be_read(run: Run, aws: Aws) -> None:
    blind = only({"DescribeStacks"}, lambda asked: error(asked, "AccessDenied", 403))
    with proxy(aws.endpoint, blind) as endpoint:
        code, out, _ = run("audit", "--select", "HF001", "--format", "json", endpoint=endpoint)
    told = {(f["rule"], f["outcome"]) for f in json.loads(out)["findings"]}
    assert ("HF616", "unknown") in told
    assert code == 1  # a table is not there


def test_a_choice_of_rules_does_not_hide_that_a_table_is_gone(run: Run) -> None:
    code, out, _ = run("audit", "--select", "HF004")
    assert code == 1
    assert "HF601" in out
    assert "HF010" not in out


def test_l15_a_deleted_key_is_a_failure_and_no_missing_action(run: Run, aws: Aws) -> None:
    key = aws.client("kms").create_key()["KeyMetadata"]["Arn"]
    sse = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": key}
    aws.client("dynamodb").update_table(TableName="orders-prod", SSESpecification=sse)
    gone = only({"DescribeKey"}, lambda asked: error(asked, "NotFoundException"))
    with proxy(aws.endpoint, gone) as endpoint:
        _, out, _ = run("audit", "--format", "json", endpoint=endpoint)
    told = {(f["rule"], f["outcome"]): f for f in json.loads(out)["findings"] if f["table"] in ("orders-prod", None)}
    assert "the key is Deleted" in told["HF007", "fail"]["detail"]
    assert not {("HF007", "unknown"), ("HF008", "unknown"), ("HF009", "unknown"), ("HF614", "unknown")} & told.keys()


def test_a_choice_that_names_no_rule_is_refused(run: Run) -> None:
    code, _, err = run("audit", "--select", ",")
    assert (code, err) == (2, "holdfast: --select is empty: give ids, such as HF001,HF004\n")


def test_what_no_call_repairs_and_what_is_not_there_are_no_success(run: Run, aws: Aws) -> None:
    code, out, err = run("fix", "--only", "HF007", "--apply", "--account", aws.account)
    assert (code, out) == (1, "")
    assert "not changed: HF007 orders-prod: the key alias/holdfast/" in err
    assert "not there: carts-prod: " in err


def test_lines_to_paste_go_where_the_audit_looked(run: Run, aws: Aws) -> None:
    code, out, _ = run("fix", "--only", "HF001")
    comment, line = out.splitlines()
    assert code == 1
    assert comment == f"# HF001 orders-prod in account {aws.account}: deletion protection on"
    assert line.endswith(f"--region us-east-1 --endpoint-url {aws.endpoint}")


def test_a_former_rule_of_tables_names_the_one_of_today_and_one_of_stores_none(run: Run) -> None:
    assert run("fix", "--only", "hf005") == run("fix", "--only", "HF004")
    assert "point-in-time recovery on" in run("fix", "--only", "HF005")[1]
    code, out, err = run("fix", "--only", "HF510", "--apply")
    assert (code, out) == (2, "")
    assert "--only HF510 is not what a call can repair" in err


def test_a_reader_that_stops_early_does_not_change_the_exit_status(aws: Aws) -> None:
    line = [sys.executable, "-m", "holdfast.cli", "audit", "--env", "prod", "--endpoint-url", aws.endpoint]
    line += ["--account", aws.account]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as started:
        assert started.stdout
        assert started.stderr
        started.stdout.close()
        said = started.stderr.read()
    assert started.returncode == 1
    assert "Traceback" not in said
    assert "declared tables" in said.splitlines()[-1]


def test_a_closed_output_is_no_traceback() -> None:
    done = subprocess.run(
        f"{shlex.quote(sys.executable)} -m holdfast.cli lint >&-",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (cli.main(["lint"]), False)


@pytest.mark.parametrize("text", [b"def broken(:\n", b'name = "\xff\xfe"\n', b"x = '\0'\n"])
def test_a_module_that_python_cannot_read_declares_nothing_and_the_others_do(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "broken.py").write_bytes(text)
    (tmp_path / "good.py").write_text('Table(name="orders", data=Data.PERSONAL)\n')
    assert list(declarations(tmp_path)) == ["orders"]


def test_a_catalog_that_python_cannot_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "__init__.py").write_text("ESTATE = (\n")
    line = [sys.executable, "-m", "holdfast.cli", "list", "--estate", "stacks:ESTATE"]
    done = subprocess.run(line, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("line 1: Python cannot read it ('(' was never closed)\n")
    assert done.stderr.count("\n") == 1


def test_interrupting_an_audit_that_is_throttled_ends_it_soon(aws: Aws) -> None:
    for n in range(20):
        aws.client("dynamodb").create_table(**bare(f"table-{n}"))
    asked, interrupted = threading.Event(), threading.Event()
    late: list[str] = []

    def throttle(request: Asked, forward: Callable[[], Reply]) -> Reply:
        if request.operation in ("GetCallerIdentity", "ListTables"):
            return forward()
        asked.set()
        if interrupted.is_set():
            late.append(request.operation)
        return error(request, "ThrottlingException")

    with proxy(aws.endpoint, throttle) as endpoint:
        line = [sys.executable, "-m", "holdfast.cli", "audit", "--env", "prod", "--endpoint-url", endpoint]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as started:
            assert asked.wait(30)
            started.send_signal(signal.SIGINT)
            interrupted.set()
            _, said = started.communicate(timeout=120)
    assert len(late) <= CONNECTIONS  # what was under way; all attempts of all calls are many more
    assert (started.returncode, said) == (130, "")


def test_an_endpoint_that_never_answers_is_given_up_soon(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.aws.session.FIRST_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        code, out, err = run("audit", endpoint=f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert (code, out) == (2, "")
    assert err.startswith("holdfast: AWS cannot be asked who we are (GetCallerIdentity was not answered in time (Read")
    assert err.count("\n") == 1
