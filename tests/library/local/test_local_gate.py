"""A web page, another user and uploaded code against `holdfast local`: what keeps them out."""

from __future__ import annotations

import base64
import http.client
import json
import os
import socket
import stat
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import browser
import pytest
from botocore.exceptions import ClientError
from emulator import QUICK, Aws, emulator, fresh_account, shared

from holdfast.cli import main
from holdfast.local import process
from holdfast.local.client import archive
from holdfast.local.gate import FILE, Secret

PAGE = "https://page.example"
ROLE = "arn:aws:iam::000000000000:role/any"
READS = """
import os, pathlib
def handler(event, context):
    found = {"variables": dict(os.environ), "folder": os.getcwd()}
    for path in event.get("paths", []):
        file = pathlib.Path(path).expanduser()
        found[path] = file.read_text() if file.exists() else None
    return found
"""
ASKS = """
import os, boto3
def handler(event, context):
    return boto3.client("dynamodb").list_tables()["TableNames"]
"""


def create(name: str) -> dict[str, Any]:
    return {
        "FunctionName": name,
        "Runtime": "python3.12",
        "Handler": "index.handler",
        "Role": ROLE,
        "Code": {"ZipFile": base64.b64encode(archive("index.py", READS)).decode()},
    }


def request(method: str, path: str, body: str = "", **headers: str) -> tuple[int, dict[str, str], str]:
    """One plain request, with exactly these headers."""
    connection = http.client.HTTPConnection("127.0.0.1", shared().port, timeout=20)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Host": f"127.0.0.1:{shared().port}", **headers}.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.putheader("Content-Length", str(len(body.encode())))
        connection.endheaders(body.encode())
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode(errors="replace")
    finally:
        connection.close()


@pytest.fixture
def aws() -> Aws:
    return fresh_account()


def token() -> dict[str, str]:
    return {"X_Amz_Security_Token": shared().secret.value}


def test_the_two_requests_of_a_web_page_create_and_run_nothing() -> None:
    page = {"Origin": PAGE, "Content_Type": "text/plain"}
    made = request("POST", "/2015-03-31/functions", json.dumps(create("stolen")), **page)
    ran = request("POST", "/2015-03-31/functions/stolen/invocations", "{}", **page)
    for status, headers, body in (made, ran):
        assert status == 403
        assert "holdfast local status" in body
        assert not [name for name in headers if name.lower().startswith("access-control-")]
    for account in ("000000000000", "test"):
        functions = Aws(emulator=shared(), account=account).client("lambda").list_functions()["Functions"]
        assert not [f for f in functions if f["FunctionName"] == "stolen"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X_Amz_Security_Token": ""},
        {"X_Amz_Security_Token": "guess"},
        {"X_Amz_Security_Token": "."},
        {"X_Amz_Security_Token": "Ω"},
        {"Authorization": "AWS4-HMAC-SHA256 Credential=000000000000/20260101/us-east-1/s3/aws4_request"},
        {"Origin": PAGE},
        {"Origin": "null"},
        {"Host": "page.example"},
        {"Host": "localhost"},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "path", ["/", "/_holdfast", "/_holdfast/save", "/_ministack/health", "/_ministack/cfn-response/x"]
)
def test_nothing_is_dispatched_without_the_secret_or_for_a_page(path: str, headers: dict[str, str]) -> None:
    sent = {k: v.encode().decode("latin-1") for k, v in headers.items()}
    if {"Origin", "Host"} & headers.keys():
        sent |= token()  # not even with the secret
    for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
        status, answered, body = request(method, path, "", **sent)
        assert status == 403, method
        assert shared().secret.value not in body
        assert not [name for name in answered if name.lower().startswith("access-control-")]


def test_with_the_secret_every_client_gets_in_and_no_answer_invites_a_page(aws: Aws) -> None:
    status, headers, _ = request("GET", "/_ministack/health", **token())
    assert status == 200
    assert not [name for name in headers if name.lower().startswith("access-control-")]
    aws.client("s3").create_bucket(Bucket="gate")
    address = aws.client("s3").generate_presigned_url("put_object", Params={"Bucket": "gate", "Key": "x"})
    with urllib.request.urlopen(urllib.request.Request(address, b"by address", method="PUT")) as answer:
        assert answer.status == 200
    assert aws.client("s3").get_object(Bucket="gate", Key="x")["Body"].read() == b"by address"


def test_a_client_without_the_secret_is_told_why(aws: Aws) -> None:
    for service, call in (("dynamodb", "list_tables"), ("cloudformation", "list_stacks"), ("s3", "list_buckets")):
        client = boto3.client(
            service,
            endpoint_url=aws.endpoint,
            region_name="us-east-1",
            aws_access_key_id=aws.account,
            aws_secret_access_key="local",
            config=QUICK,
        )
        with pytest.raises(ClientError, match="holdfast local status"):
            getattr(client, call)()


def test_an_assumed_role_gets_a_token_of_its_own(aws: Aws) -> None:
    trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}]}
    aws.client("iam").create_role(RoleName="deployer", AssumeRolePolicyDocument=json.dumps(trust))
    role = f"arn:aws:iam::{aws.account}:role/deployer"
    found = aws.client("sts").assume_role(RoleArn=role, RoleSessionName="s")["Credentials"]
    assert found["SessionToken"] != shared().secret.value
    client = boto3.client(
        "sts",
        endpoint_url=aws.endpoint,
        region_name="us-east-1",
        aws_access_key_id=found["AccessKeyId"],
        aws_secret_access_key=found["SecretAccessKey"],
        aws_session_token=found["SessionToken"],
        config=QUICK,
    )
    assert client.get_caller_identity()["Account"] == aws.account


def test_tokens_are_of_one_run() -> None:
    one, other = Secret("one"), Secret("other")
    assert one.accepts("one")
    assert one.accepts(one.issue())
    assert not one.accepts(other.issue())
    assert one.issue() != one.issue()
    assert "one" not in repr(one)


def test_function_code_finds_nothing_of_the_user(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".aws").mkdir(parents=True)
    (home / ".aws" / "credentials").write_text("[default]\naws_secret_access_key = stolen\n")
    theirs = {"HOME": str(home), "GITHUB_TOKEN": "stolen", "HTTPS_PROXY": "http://proxy.example:1"}
    (tmp_path / "run").mkdir()
    with emulator(tmp_path / "run", env=theirs) as running:
        functions = Aws(emulator=running, account="300000000001").client("lambda")
        functions.create_function(**{**create("reads"), "Code": {"ZipFile": archive("index.py", READS)}})
        event = {"paths": ["~/.aws/credentials"]}
        answer = functions.invoke(FunctionName="reads", Payload=json.dumps(event))
        found = json.loads(answer["Payload"].read())
    assert found["~/.aws/credentials"] is None
    assert "stolen" not in json.dumps(found)
    assert running.secret.value not in json.dumps(found)
    own = found["variables"]
    assert not {"HTTPS_PROXY", "GITHUB_TOKEN", "PYTHONPATH", "USER", "VIRTUAL_ENV"} & own.keys()
    assert Path(own["HOME"]).is_relative_to(tmp_path / "run")
    assert Path(found["folder"]).is_relative_to(tmp_path / "run")


def test_function_code_reaches_the_emulator_as_its_account(aws: Aws) -> None:
    aws.client("dynamodb").create_table(
        TableName="mine",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    functions = aws.client("lambda")
    functions.create_function(**{**create("asks"), "Code": {"ZipFile": archive("index.py", ASKS)}, "Timeout": 30})
    assert json.loads(functions.invoke(FunctionName="asks")["Payload"].read()) == ["mine"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    process.stop()


def test_the_secret_and_the_state_are_the_users_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = os.umask(0)
    try:
        process.HOME.mkdir(parents=True)  # as an older version left it
        running = process.start()
        Aws(emulator=running, account="000000000000").client("s3").create_bucket(Bucket="kept")
        process.ask(running, "/_holdfast/save")
        assert main(["local", "status"]) == 0
    finally:
        os.umask(before)
    out = capsys.readouterr().out
    assert running.secret.value not in out
    assert f'export AWS_SESSION_TOKEN="$(cat {(process.HOME / FILE).resolve()})"' in out
    assert stat.S_IMODE(process.HOME.stat().st_mode) == 0o700
    written = [p for p in process.HOME.parent.rglob("*") if p.is_file()]
    assert len(written) >= 3
    assert {p.name: oct(stat.S_IMODE(p.stat().st_mode) & 0o077) for p in written} == {p.name: "0o0" for p in written}
    for name in ("cmdline", "environ"):
        assert running.secret.value.encode() not in Path(f"/proc/{running.pid}/{name}").read_bytes()


def test_every_run_has_a_secret_and_a_port_of_its_own(here: Path) -> None:
    first = process.start()
    process.stop()
    assert not (process.HOME / FILE).exists()
    second = process.start()
    assert first.secret != second.secret
    assert not second.secret.accepts(first.secret.issue())


def test_nothing_of_the_working_folder_is_imported(here: Path) -> None:
    for name in ("asyncio", "json", "ministack", "hypercorn"):
        (here / f"{name}.py").write_text("raise SystemExit('the working folder was imported from')\n")
    assert process.start().pid


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """A server of somebody else on this machine; its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def test_what_the_process_was_given_holds_nothing_of_the_user(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "stolen")
    given = Path(f"/proc/{process.start().pid}/environ").read_bytes()  # functions may read it
    assert b"stolen" not in given
    assert b"HOME=" not in given


def test_another_program_on_the_port_of_an_emulator_is_not_the_emulator(here: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        process.HOME.mkdir(parents=True)
        told = {"pid": os.getpid(), "port": port, "endpoint": f"http://127.0.0.1:{port}"}
        (process.HOME / "emulator.json").write_text(json.dumps(told))
        (process.HOME / FILE).write_text("earlier")

        def greet() -> None:
            with other.accept()[0] as caller:
                caller.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
                caller.recv(65536)

        threading.Thread(target=greet, daemon=True).start()
        assert process.running() is None


def test_whoever_listens_where_an_emulator_was_is_not_believed_and_learns_nothing(here: Path) -> None:
    heard: list[str] = []

    class Stranger(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(str(self.headers))
            self.send_response(200)
            self.end_headers()
            sent = self.headers["X-Amz-Security-Token"]
            self.wfile.write(json.dumps({"pid": os.getpid(), "proof": sent, "token": sent}).encode())

        def log_message(self, *_: Any) -> None:
            pass

    with serving(Stranger) as port:
        process.HOME.mkdir(parents=True)
        told = {"pid": os.getpid(), "port": port, "endpoint": f"http://127.0.0.1:{port}"}
        (process.HOME / "emulator.json").write_text(json.dumps(told))
        (process.HOME / FILE).write_text("a-secret-of-an-earlier-run")
        assert process.running() is None
        assert len(heard) == 1
        assert "a-secret-of-an-earlier-run" not in heard[0]


SCRIPT = """<!doctype html><title>waiting</title><script>
const at = "http://127.0.0.1:PORT", body = BODY;
(async () => {
  const said = [];
  for (const [path, content] of [["/2015-03-31/functions", body], ["/2015-03-31/functions/stolen/invocations", "{}"]])
    try { said.push((await fetch(at + path, {method: "POST", mode: "MODE", body: content})).type); }
    catch (error) { said.push("failed"); }
  document.title = "done " + said.join(" ");
})();
</script>"""


@browser.needed
@pytest.mark.parametrize("mode", ["no-cors", "cors"])
def test_a_real_page_in_a_real_browser_creates_nothing(mode: str, tmp_path: Path) -> None:
    text = SCRIPT.replace("PORT", str(shared().port)).replace("BODY", json.dumps(json.dumps(create("stolen"))))
    asked: list[str] = []

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.replace("MODE", mode).encode())

        def log_message(self, *_: Any) -> None:
            pass

    with serving(Page) as port:
        said = browser.title_of(f"http://127.0.0.1:{port}/", tmp_path, "--virtual-time-budget=5000")
    assert asked, "the page was loaded"
    assert said == ("done opaque opaque" if mode == "no-cors" else "done failed failed")
    assert not Aws(emulator=shared(), account="000000000000").client("lambda").list_functions()["Functions"]
