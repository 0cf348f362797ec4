"""Bad conditions of a whole audit, as real processes meet them: credentials, profiles, deadlines, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from accounts import NOW
from emulator import Aws, fresh_account
from faults import Asked, Reply, proxy
from live_account import REGION, api, bare, clean, furnish, wrong
from support import ROOT

from holdfast.aws import session
from holdfast.aws.calls import AUDIT
from holdfast.aws.options import Options
from holdfast.aws.reader import read, read_all
from holdfast.errors import InputError
from holdfast.shared.account import Account
from holdfast.unknown import Unknown

EXPIRED = {"Version": 1, "AccessKeyId": "a", "SecretAccessKey": "b", "Expiration": "2020-01-01T00:00:00Z"}
PROCESS = f"print({json.dumps(json.dumps(EXPIRED))})"
MFA = """
[profile broken]
role_arn = arn:aws:iam::111122223333:role/x
source_profile = source
mfa_serial = arn:aws:iam::111122223333:mfa/me
[profile source]
aws_access_key_id = a
aws_secret_access_key = b
"""


@pytest.fixture(scope="module")
def aws() -> Aws:
    aws = fresh_account()
    furnish(aws)
    return aws


def configured(monkeypatch: pytest.MonkeyPatch, folder: Path, *profiles: str) -> None:
    clean(monkeypatch)
    (folder / "config").write_text("\n".join(profiles))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "config"))


def of(aws: Aws, name: str) -> str:
    keys = "\n".join(f"{k.lower()} = {v}" for k, v in aws.credentials.items())
    return f"[profile {name}]\n{keys}\n"


def process(folder: Path, code: str) -> str:
    (folder / "keys.py").write_text(code)
    return f"[profile broken]\ncredential_process = {sys.executable} {folder / 'keys.py'}\n"


# Credentials


@pytest.mark.parametrize("code", [PROCESS, "print('Please log in')", "raise SystemExit(1)", "print('{}')", "print(1)"])
def test_l24_a_process_that_gives_no_usable_keys_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str
) -> None:
    configured(monkeypatch, tmp_path, process(tmp_path, code))
    with pytest.raises(InputError, match=r"broken: there are no usable credentials \(.*\): set AWS_PROFILE") as raised:
        read_all(Options(profiles=("broken",), regions=(REGION,), endpoint_url="http://127.0.0.1:9"), now=NOW)
    assert "\n" not in str(raised.value)


def test_l24_mfa_without_a_terminal_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(MFA)
    environment = {"PATH": os.environ["PATH"], "AWS_CONFIG_FILE": str(tmp_path / "config"), "HOME": "/nowhere"}
    line = [sys.executable, "-m", "holdfast.cli", "audit", "--env", "prod", "--profile", "broken"]
    done = subprocess.run(
        [*line, "--endpoint-url", "http://127.0.0.1:9"],
        cwd=ROOT,
        env=environment | {"AWS_EC2_METADATA_DISABLED": "true"},
        input="123456\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        start_new_session=True,  # no terminal of this one either
    )
    assert (done.returncode, done.stdout) == (2, "")
    (said,) = done.stderr.splitlines()
    assert "a code of MFA is needed, and there is no terminal to ask for it" in said


@pytest.mark.parametrize("broken", [PROCESS, None])
def test_l25_one_bad_profile_of_several_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, aws: Aws, broken: str | None
) -> None:
    other = fresh_account()
    profiles = [of(aws, "one"), of(other, "two"), *([process(tmp_path, broken)] if broken else [])]
    configured(monkeypatch, tmp_path, *profiles)
    asked = Options(profiles=("one", "broken", "two"), regions=(REGION, "eu-west-1"), endpoint_url=aws.endpoint)
    seen = read_all(asked, now=NOW)
    closed = "unknown (profile broken)"
    assert [a.id for a in seen] == [aws.account, aws.account, other.account, other.account, closed, closed]
    assert [a.unreadable for a in seen[:4]] == [()] * 4
    for account, region in zip(seen[4:], (REGION, "eu-west-1"), strict=True):
        assert account.region == region
        assert isinstance(account.tables, Unknown)
        assert isinstance(account.stacks, Unknown)
        (hole,) = account.unreadable
        assert hole.what == "the account of profile broken"


def test_l25_only_bad_profiles_are_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    configured(monkeypatch, tmp_path, process(tmp_path, PROCESS))
    with pytest.raises(InputError, match="broken"):
        read_all(Options(profiles=("broken", "missing"), regions=(REGION,)), now=NOW)


def test_l25_the_command_reports_what_it_could_read_and_which_profile_it_could_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, aws: Aws
) -> None:
    configured(monkeypatch, tmp_path, of(aws, "one"), process(tmp_path, PROCESS))
    line = [sys.executable, "-m", "holdfast.cli", "audit", "--env", "prod", "--region", REGION]
    done = subprocess.run(
        [*line, "--account", aws.account, "--endpoint-url", aws.endpoint, "--profile", "one", "--profile", "broken"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1  # tables that are not declared
    assert "????  HF601" in done.stdout
    assert "FAIL  HF601" not in done.stdout  # nothing is missing: it may be in the other account
    assert "the account of profile broken" in done.stdout
    assert f"read account {aws.account} in {REGION}\n" in done.stderr
    assert f"could not read account unknown (profile broken) in {REGION}\n" in done.stderr
    assert "Traceback" not in done.stderr


# Time


@contextmanager
def slow(aws: Aws, names: set[str]) -> Iterator[str]:
    """An endpoint that answers what we ask first, and never these."""
    over = threading.Event()

    def fault(asked: Asked, forward: Callable[[], Reply]) -> Reply:
        if asked.operation in names:
            over.wait(30)
        return forward()

    with proxy(aws.endpoint, fault) as endpoint:
        try:
            yield endpoint
        finally:
            over.set()


def look(monkeypatch: pytest.MonkeyPatch, endpoint: str, aws: Aws) -> Account:
    return read(api(monkeypatch, endpoint, aws.account), now=NOW)


def test_l23_what_is_not_answered_is_given_up_after_a_few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = fresh_account()
    for n in range(40):
        aws.client("dynamodb").create_table(**bare(f"table-{n}"))
    for name in ("holdfast.aws.session.ANSWER_SECONDS", "holdfast.aws.wire.SECONDS"):
        monkeypatch.setattr(name, 0.5)
    with slow(aws, {"DescribeContinuousBackups", "ListFunctions"}) as endpoint:
        began = time.monotonic()
        seen = look(monkeypatch, endpoint, aws)
        took = time.monotonic() - began
    assert (
        took < 10
    )  # every call twice: 40 * 2 * 0.5 s by twelve at once would be no less than that for the tables alone
    assert isinstance(seen.tables, dict)
    assert len(seen.tables) == 40
    assert {u.what.split(" of ")[0] for u in seen.unreadable} >= {"point-in-time recovery", "variables"}


def test_l23_an_endpoint_that_has_stopped_answering_is_asked_no_more(monkeypatch: pytest.MonkeyPatch, aws: Aws) -> None:
    for name in ("holdfast.aws.session.ANSWER_SECONDS", "holdfast.aws.wire.SECONDS"):
        monkeypatch.setattr(name, 1)
    with slow(aws, {call.operation for call in AUDIT} - {"GetCallerIdentity"}) as endpoint:
        began = time.monotonic()
        seen = look(monkeypatch, endpoint, aws)
        took = time.monotonic() - began
    assert took < 4  # every listing twice would be that for those of the first eight alone
    assert isinstance(seen.tables, Unknown)
    assert isinstance(seen.stacks, Unknown)


def test_l23_an_answer_that_comes_byte_by_byte_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "CALL_SECONDS", 0.5)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            while not over.is_set():
                with suppress(TimeoutError):
                    connection, _ = server.accept()
                    threading.Thread(target=_drip, args=(connection, over), daemon=True).start()

        server.settimeout(0.1)
        accepting = threading.Thread(target=drip, daemon=True)
        accepting.start()
        began = time.monotonic()
        with pytest.raises(InputError, match=r"GetCallerIdentity took more than 0.5 s"):
            read(api(monkeypatch, f"http://127.0.0.1:{server.getsockname()[1]}", "0" * 12), now=NOW)
        over.set()
        accepting.join()
    assert time.monotonic() - began < 10


def _drip(connection: socket.socket, over: threading.Event) -> None:
    with connection:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not over.wait(0.05):
            try:
                connection.sendall(b" ")
            except OSError:
                return


def test_l23_after_the_time_of_an_audit_nothing_more_is_asked(monkeypatch: pytest.MonkeyPatch, aws: Aws) -> None:
    door = api(monkeypatch, aws.endpoint, aws.account)
    truth = read(door, now=NOW)
    door._until = time.monotonic() - 1
    monkeypatch.setattr(door, "identity", lambda: aws.account)
    seen = read(door, now=NOW)
    assert isinstance(seen.tables, Unknown)
    assert seen.tables.reason == "the 30 minutes that an audit may take are over: read fewer accounts at once"
    assert list(wrong(truth, seen)) == []


@pytest.mark.parametrize("operation", ["GetCallerIdentity", "DescribeContinuousBackups", "ListFunctions"])
def test_l23_ctrl_c_ends_it_within_two_seconds_whatever_is_waited_for(aws: Aws, operation: str) -> None:
    asked, asked_at, over = threading.Event(), list[float](), threading.Event()

    def hang(request: Asked, forward: Callable[[], Reply]) -> Reply:
        if request.operation == operation:
            asked_at.append(time.monotonic())
            asked.set()
            over.wait(8)
        return forward()

    with proxy(aws.endpoint, hang) as endpoint:
        done = interrupted(aws, endpoint, asked)
        took = time.monotonic() - asked_at[0]
        over.set()
    assert done == (130, "", "")
    assert took < 2


@pytest.mark.parametrize("number", [2, 40])
def test_ctrl_c_at_any_request_leaves_no_traceback(aws: Aws, number: int) -> None:
    asked, seen = threading.Event(), iter(range(1_000_000))

    def count(request: Asked, forward: Callable[[], Reply]) -> Reply:
        if next(seen) + 1 == number:
            asked.set()
        return forward()

    with proxy(aws.endpoint, count) as endpoint:
        done, out, said = interrupted(aws, endpoint, asked)
    assert "Traceback" not in said
    assert (done, out) in ((130, ""), (2, ""))  # 2: it was done before, and nothing that is declared is there


def interrupted(aws: Aws, endpoint: str, asked: threading.Event) -> tuple[int, str, str]:
    """An audit to which Ctrl-C comes when that is set."""
    line = [sys.executable, "-m", "holdfast.cli", "audit", "--env", "prod", "--endpoint-url", endpoint]
    there = os.environ | aws.environment()
    pipe = subprocess.PIPE
    with subprocess.Popen(line, stdout=pipe, stderr=pipe, text=True, cwd=ROOT, env=there) as started:
        assert asked.wait(30)
        started.send_signal(signal.SIGINT)
        out, said = started.communicate(timeout=60)
    return started.returncode, out, said
