"""The reader when things go wrong: the right result, or Unknown with the reason. Each fault is injected on the wire."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from xml.sax.saxutils import escape

import aws_stub
import botocore.session
import faults
import pytest
from accounts import NOW
from emulator import Aws, fresh_account
from faults import DOWN, RESET, Asked, Reply, error, only, sometimes
from live_account import REGION, api, bare, clean, furnish, wrong
from support import ROOT

from holdfast.aws import pace
from holdfast.aws.answers import OddTextError, Strict
from holdfast.aws.calls import READ
from holdfast.aws.options import Options
from holdfast.aws.reader import read, read_all
from holdfast.aws.session import Api
from holdfast.errors import InputError
from holdfast.kinds.bucket import live as bucket
from holdfast.kinds.table.live import observed
from holdfast.shared.account import Account, Part
from holdfast.shared.calls import Call
from holdfast.unknown import Unknown

Forward = Callable[[], Reply]
Look = Callable[[faults.Fault], Account]


@pytest.fixture(scope="module")
def aws() -> Aws:
    aws = fresh_account()
    furnish(aws)
    return aws


@pytest.fixture(scope="module")
def truth(aws: Aws) -> Account:
    with pytest.MonkeyPatch.context() as monkeypatch:
        account = read(api(monkeypatch, aws.endpoint, aws.account), now=NOW)
    assert account.unreadable == ()
    return account


class Door:
    """One way through a proxy for all tests, because clients are slow to make; its fault can be changed."""

    def __init__(self, endpoint: str) -> None:
        self.fault: faults.Fault = lambda asked, forward: forward()
        self.endpoint = endpoint

    def __call__(self, asked: Asked, forward: Forward) -> Reply:
        return self.fault(asked, forward)


@pytest.fixture(scope="module")
def shared(aws: Aws) -> Iterator[tuple[Door, Api]]:
    door = Door(aws.endpoint)
    with faults.proxy(aws.endpoint, door) as endpoint, pytest.MonkeyPatch.context() as monkeypatch:
        yield door, api(monkeypatch, endpoint, aws.account)


@pytest.fixture
def look(shared: tuple[Door, Api], monkeypatch: pytest.MonkeyPatch) -> Look:
    """Reads the account while something goes wrong; as many attempts as ever, in less time."""
    door, opened = shared
    monkeypatch.setattr(pace, "LONGEST", 0.01)
    monkeypatch.setattr(pace, "SLOWEST", 0.001)

    def look(fault: faults.Fault) -> Account:
        door.fault = fault
        return read(opened, now=NOW)

    return look


def tables(account: Account) -> Any:
    assert not isinstance(account.tables, Unknown)
    return account.tables


# Nothing at all can be read: one line.


def test_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    clean(monkeypatch)
    with pytest.raises(InputError, match=r"no usable credentials .*: set AWS_PROFILE, give --profile, or log in"):
        read_all(Options(regions=(REGION,), endpoint_url="http://127.0.0.1:9"), now=NOW)


def test_no_region(monkeypatch: pytest.MonkeyPatch) -> None:
    clean(monkeypatch)
    with pytest.raises(InputError, match="no region: give --region"):
        read_all(Options(), now=NOW)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("ExpiredToken", "the credentials have expired: set AWS_PROFILE"),
        ("InvalidClientTokenId", r"AWS does not accept the credentials \(InvalidClientTokenId\)"),
        ("SignatureDoesNotMatch", r"AWS does not accept the credentials \(SignatureDoesNotMatch\)"),
    ],
)
def test_expired_and_refused_credentials(look: Look, code: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        look(only({"GetCallerIdentity"}, lambda asked: error(asked, code, 403)))


def test_endpoint_down(monkeypatch: pytest.MonkeyPatch) -> None:
    door = api(monkeypatch, f"http://127.0.0.1:{_free_port()}", "0" * 12)
    with pytest.raises(
        InputError, match=r"Could not connect .*: is us-east-1 the right region, and is there a network"
    ):
        read(door, now=NOW)


@pytest.mark.parametrize("region", ["us east 1", "us-nowhere-1"])
def test_a_region_that_does_not_exist(monkeypatch: pytest.MonkeyPatch, region: str) -> None:
    api(monkeypatch, "", "0" * 12)
    for name in [n for n in os.environ if n.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    with pytest.raises(InputError, match="region") as raised:
        read_all(Options(regions=(region,)), now=NOW)
    assert "\n" not in str(raised.value)


def test_a_region_where_nothing_is_has_no_tables_which_is_not_unknown(
    monkeypatch: pytest.MonkeyPatch, aws: Aws
) -> None:
    api(monkeypatch, aws.endpoint, aws.account)
    (account,) = read_all(Options(regions=("eu-south-2",), endpoint_url=aws.endpoint), now=NOW)
    assert (account.tables, account.stacks, account.unreadable) == ({}, {}, ())


def test_an_endpoint_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    door = api(monkeypatch, "nonsense", "0" * 12)
    with pytest.raises(InputError, match=r"Invalid endpoint: nonsense: check --region and --endpoint-url"):
        read(door, now=NOW)


@pytest.mark.parametrize(
    ("python", "said"),
    [
        (["-B"], "holdfast: there are no usable credentials"),
        (["-S"], "holdfast: botocore is missing: pip install 'holdfast[aws]'"),
    ],
    ids=["no credentials", "no boto3"],
)
def test_the_command_says_it_in_one_line_without_a_traceback(python: list[str], said: str) -> None:
    path = str(ROOT / "constructs")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": path, "AWS_EC2_METADATA_DISABLED": "true"}
    done = subprocess.run(
        [sys.executable, *python, "-m", "holdfast.cli", "audit", "--env", "prod", "--region", REGION],
        cwd=ROOT,
        env=environment | {"HOME": "/nowhere"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(said)


# Something goes wrong on the way: right, or Unknown.


def test_throttling_of_a_third_of_all_calls_changes_nothing(look: Look, truth: Account) -> None:
    def throttled(asked: Asked) -> Reply:
        return error(asked, "ThrottlingException" if asked.json else "Throttling")

    seen = look(sometimes(0.3, throttled))
    assert list(wrong(truth, seen)) == []
    assert seen.unreadable == ()


def test_an_operation_with_a_low_limit_is_slowed_down_to_it_and_the_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As AWS does: it takes so many DescribeContinuousBackups a second and no more."""
    rate, finished, lock = 20, {"DescribeTable": 0.0, "DescribeContinuousBackups": 0.0}, threading.Lock()
    taken, refused = [time.monotonic()], 0

    def fault(asked: Asked, forward: Forward) -> Reply:
        nonlocal refused
        now = time.monotonic()
        if asked.operation == "DescribeContinuousBackups":
            with lock:
                if len([t for t in taken if now - t < 0.5]) >= rate / 2:
                    refused += 1
                    return error(asked, "ThrottlingException", message="Rate exceeded")
                taken.append(now)
        if asked.operation in finished:
            finished[asked.operation] = now
        return forward()

    with aws_stub.stub(60) as stub, faults.proxy(stub, fault) as endpoint:
        seen = read(api(monkeypatch, endpoint, aws_stub.ACCOUNT), now=NOW)
    assert seen.unreadable == ()
    assert [observed(t).recovery for t in tables(seen).values()] == [aws_stub.recoverable(n) for n in range(60)]
    assert 0 < refused < 120
    assert finished["DescribeTable"] < finished["DescribeContinuousBackups"]


def test_connections_that_are_reset_change_nothing(look: Look, truth: Account) -> None:
    seen = look(sometimes(0.3, lambda asked: RESET))
    assert list(wrong(truth, seen)) == []
    assert seen.unreadable == ()


def test_an_operation_that_is_always_throttled_is_unknown_and_the_rest_is_read(look: Look, truth: Account) -> None:
    fault = only({"DescribeContinuousBackups"}, lambda asked: error(asked, "ThrottlingException"))
    seen = look(fault)
    assert list(wrong(truth, seen)) == []
    for table in tables(seen).values():
        recovery = observed(table).recovery
        assert isinstance(recovery, Unknown)
        assert "throttled" in recovery.reason
        assert not isinstance(observed(table).deletion_protection, Unknown)
    (hole,) = seen.unreadable
    assert hole.what == "point-in-time recovery of bare and 1 more"


def test_credentials_that_expire_on_the_way_leave_unknown_not_off(look: Look, truth: Account) -> None:
    later = {"DescribeContinuousBackups", "DescribeTimeToLive", "GetMetricData", "DescribeKey"}
    seen = look(only(later, lambda asked: error(asked, "ExpiredTokenException")))
    assert list(wrong(truth, seen)) == []
    orders = observed(tables(seen)["orders"])
    assert orders.recovery == orders.ttl == orders.encryption == Unknown("the credentials have expired")


@pytest.mark.parametrize("body", [b"<html>a proxy's page</html>", b"", b"[]", b'"text"', b"{}", b"\xff"])
@pytest.mark.parametrize("operation", ["DescribeContinuousBackups", "DescribeTable", "DescribeKey", "DescribeAlarms"])
def test_an_answer_that_is_no_answer_is_unknown(look: Look, truth: Account, operation: str, body: bytes) -> None:
    seen = look(only({operation}, lambda asked: Reply(200, body)))
    assert list(wrong(truth, seen)) == []
    o = observed(tables(seen)["orders"])
    unread = {
        "DescribeContinuousBackups": o.recovery,
        "DescribeTable": o.deletion_protection,
        "DescribeKey": o.encryption,
        "DescribeAlarms": o.watched,
    }
    assert isinstance(unread[operation], Unknown)


DEEP = '{"Resources": ' + '{"a": ' * 100_000 + "1" + "}" * 100_001


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (DEEP, "its template cannot be read: it nests deeper than 100 levels"),
        ('{"Resources": {"a": [' + "[]," * 400_000 + "[]]}}", "its template cannot be read: it holds more than"),
        ('{"Resources": {}, "Resources": {}}', "its template cannot be read: 'Resources' stands twice in one object"),
        ('{"Resources": {}, "n": ' + "9" * 100_000 + "}", "its template cannot be read: a number has 100000 digits"),
        ('{"Resources": {', "its template cannot be read: "),
        ('{"Resources": {"a": 1}}', "its template has no resources"),
        ('{"Resources": []}', "its template has no resources"),
        ("{}", "its template has no resources"),
        ("Resources: {}", "its template is YAML"),
        ("[" * 100_000, "its template is YAML"),
    ],
)
def test_a_template_that_is_a_bomb_is_unknown(look: Look, truth: Account, template: str, said: str) -> None:
    """It may be the stack of somebody else in the same account."""
    body = f"<TemplateBody>{escape(template)}</TemplateBody>"
    answer = f"<GetTemplateResponse><GetTemplateResult>{body}</GetTemplateResult></GetTemplateResponse>".encode()
    seen = look(only({"GetTemplate"}, lambda asked: Reply(200, answer)))
    assert list(wrong(truth, seen)) == []
    assert not isinstance(seen.stacks, Unknown)
    assert seen.stacks
    for stack in seen.stacks.values():
        assert isinstance(stack.seen, Unknown)
        assert stack.seen.reason.startswith(said)


@pytest.mark.parametrize(
    "table",
    [
        None,
        [1],
        {},
        {"TableStatus": "ACTIVE"},
        {"GlobalSecondaryIndexes": [{}]},
        {"GlobalSecondaryIndexes": None},
        {"SSEDescription": None},
        {"CreationDateTime": 1e30, "ItemCount": None},
        {"AttributeDefinitions": None},
    ],
)
def test_an_odd_table_in_a_good_answer_is_unknown_where_it_is_odd(look: Look, truth: Account, table: Any) -> None:
    def odd(asked: Asked, forward: Forward) -> Reply:
        reply = forward()
        if asked.operation != "DescribeTable" or asked.table != "orders":
            return reply
        answer = json.loads(reply.body)
        whole = isinstance(table, dict) and len(table) and "TableStatus" not in table
        answer["Table"] = answer["Table"] | table if whole else table
        return Reply(reply.status, json.dumps(answer).encode())

    seen = tables(look(odd))["orders"]
    if not (isinstance(table, dict) and table and "TableStatus" not in table):
        assert isinstance(observed(seen).deletion_protection, Unknown)
        assert isinstance(seen.status, Unknown)
    elif "SSEDescription" not in table:  # without one DynamoDB's own key encrypts
        assert list(wrong(tables(truth)["orders"], seen)) == []


def test_a_table_deleted_between_list_and_describe_is_not_there(look: Look, aws: Aws, truth: Account) -> None:
    dynamodb = aws.client("dynamodb")
    dynamodb.create_table(**bare("victim"))

    def fault(asked: Asked, forward: Forward) -> Reply:
        reply = forward()
        if asked.operation == "ListTables":
            dynamodb.delete_table(TableName="victim")
        return reply

    seen = look(fault)
    assert list(wrong(truth, seen)) == []
    assert "victim" not in tables(seen)
    assert seen.unreadable == ()


def test_a_table_deleted_between_describe_and_the_rest_is_not_there(look: Look, aws: Aws, truth: Account) -> None:
    dynamodb, described = aws.client("dynamodb"), threading.Event()
    dynamodb.create_table(**bare("victim"))

    def fault(asked: Asked, forward: Forward) -> Reply:
        if asked.operation == "DescribeContinuousBackups" and asked.table == "victim":
            assert described.wait(10)
            dynamodb.delete_table(TableName="victim")
        reply = forward()
        if asked.operation == "DescribeTable" and asked.table == "victim":
            described.set()
        return reply

    seen = look(fault)
    assert list(wrong(truth, seen)) == []
    assert "victim" not in tables(seen)


def test_a_table_that_is_being_created_is_there_and_what_it_cannot_tell_yet_is_unknown(look: Look) -> None:
    def fault(asked: Asked, forward: Forward) -> Reply:
        if asked.operation == "DescribeTable" and asked.table == "bare":
            return Reply(200, forward().body.replace(b'"ACTIVE"', b'"CREATING"'))
        if asked.operation == "DescribeContinuousBackups" and asked.table == "bare":
            return error(asked, "TableNotFoundException", message="Table not found: bare")
        if asked.operation == "DescribeTimeToLive" and asked.table == "bare":
            return error(asked, "ContinuousBackupsUnavailableException", message="try later")
        return forward()

    bare_table = tables(look(fault))["bare"]
    assert bare_table.status == "CREATING"
    assert isinstance(observed(bare_table).recovery, Unknown)
    assert isinstance(observed(bare_table).ttl, Unknown)
    assert observed(bare_table).deletion_protection is False


def test_half_a_list_is_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "LONGEST", 0.01)
    with aws_stub.stub(150) as stub:

        def fault(asked: Asked, forward: Forward) -> Reply:
            second = asked.operation == "ListTables" and b"ExclusiveStartTableName" in asked.body
            return error(asked, "InternalServerError", 500) if second else forward()

        with faults.proxy(stub, fault) as endpoint:
            seen = read(api(monkeypatch, endpoint, aws_stub.ACCOUNT), now=NOW)
    assert isinstance(seen.tables, Unknown)
    assert [(u.part, u.what) for u in seen.unreadable] == [(Part.TABLES, "the list of tables")]


def test_an_endpoint_that_goes_down_on_the_way_is_given_up_soon_and_nothing_is_called_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    described = iter(range(1000))

    def fault(asked: Asked, forward: Forward) -> Reply:
        if asked.operation != "DescribeTable":
            return forward()
        return forward() if (n := next(described)) < 10 else DOWN if n == 10 else RESET

    with aws_stub.stub(90) as stub, faults.proxy(stub, fault) as endpoint:
        door = api(monkeypatch, endpoint, aws_stub.ACCOUNT)
        send, sent = door._send, list[str]()

        def noted(call: Call, parameters: dict[str, Any]) -> dict[str, Any]:
            sent.append(f"{call.operation} {parameters}")
            return send(call, parameters)

        monkeypatch.setattr(door, "_send", noted)
        seen = read(door, now=NOW)
    assert len(sent) < 2 * len(set(sent))  # each would be sent three times or more
    unread = 0
    for n, table in enumerate(tables(seen).values()):
        protected = observed(table).deletion_protection
        unread += isinstance(protected, Unknown)
        assert isinstance(protected, Unknown) or protected is aws_stub.protected(n)
    assert unread >= 70
    assert {u.part for u in seen.unreadable} >= {Part.TABLES}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


PAGES = (
    Reply(502, b"<html><body><h1>502 Bad Gateway</h1></body>"),
    Reply(200, b"<!DOCTYPE html><html><body>Log in<br></body></html>"),
    Reply(200, b"<html><body><p>Log in</p></body></html>"),
    Reply(200, b""),
    Reply(200, b"[" * 100_000),
    Reply(500, b"\xff\xfe"),
)


SERVICES = sorted(
    {call.service for call in READ} - {"sts", "resourcegroupstaggingapi"}
)  # tags are asked again, one by one


@pytest.mark.parametrize(("turn", "service"), list(enumerate(SERVICES)))
def test_l20_a_page_that_is_no_answer_makes_what_it_was_asked_for_unknown(
    look: Look, truth: Account, turn: int, service: str
) -> None:
    names = {call.operation for call in READ if call.service == service}
    for page in (PAGES[turn % 3], PAGES[3 + turn % 3]):
        seen = look(only(names, partial(_always, page)))
        assert list(wrong(truth, seen)) == []
        assert seen.unreadable
        assert all("\n" not in u.reason and len(u.reason) < 300 for u in seen.unreadable)


@pytest.mark.parametrize("page", PAGES)
def test_l20_a_page_where_aws_says_who_we_are_is_one_line(look: Look, page: Reply) -> None:
    with pytest.raises(InputError) as raised:
        look(only({"GetCallerIdentity"}, lambda asked: page))
    assert "\n" not in str(raised.value)


def test_l20_a_bucket_behind_a_login_page_is_not_one_without_versions() -> None:
    page = {"body": b"<html><body><p>Log in</p></body></html>", "status_code": 200, "headers": {}}
    for call in (bucket.LOCATION, bucket.VERSIONS, bucket.LOGGING):
        model = botocore.session.Session().get_service_model("s3").operation_model(call.operation)
        with pytest.raises(OddTextError, match="html where"):
            Strict().create_parser("rest-xml").parse(page, model.output_shape)


def test_l21_text_in_the_place_of_true_or_of_a_list_is_not_taken_for_false_or_for_none() -> None:
    model = botocore.session.Session().get_service_model("cloudformation").operation_model("DescribeStacks")

    def parsed(stacks: str) -> Any:
        inside = f"<DescribeStacksResult><Stacks>{stacks}</Stacks></DescribeStacksResult>"
        page = {"body": f"<R>{inside}</R>".encode(), "status_code": 200, "headers": {}}
        return Strict().create_parser("query").parse(page, model.output_shape)

    def protected(text: str) -> Any:
        member = f"<EnableTerminationProtection>{text}</EnableTerminationProtection>"
        return parsed(f"<member>{member}</member>")["Stacks"][0]["EnableTerminationProtection"]

    assert (protected("true\n "), protected("false")) == (True, False)
    for text in ("", "maybe", "1"):
        with pytest.raises(OddTextError, match="EnableTerminationProtection is neither true nor false"):
            protected(text)
    with pytest.raises(OddTextError, match="Stacks is text"):
        parsed("none")


def _always(page: Reply, asked: Asked) -> Reply:
    return page


def test_half_an_answer_is_none(look: Look, truth: Account) -> None:
    def half(asked: Asked, forward: Forward) -> Reply:
        whole = forward()
        if asked.operation in ("GetCallerIdentity", "ListTables", "DescribeTable", "ListTagsOfResource"):
            return whole
        return Reply(whole.status, whole.body[: len(whole.body) // 2], lost=len(whole.body))

    seen = look(half)
    assert list(wrong(truth, seen)) == []
    assert isinstance(seen.stacks, Unknown)
    assert isinstance(observed(tables(seen)["orders"]).recovery, Unknown)
    assert {u.part for u in seen.unreadable} >= {Part.TABLES, Part.STACKS, Part.ALARMS, Part.MENTIONS}


def test_l22_a_list_without_end_is_no_list(look: Look, truth: Account) -> None:
    def endless(asked: Asked, forward: Forward) -> Reply:
        reply = forward()
        if asked.operation == "ListTables":
            answer = json.loads(reply.body) | {"LastEvaluatedTableName": "orders"}
            return Reply(200, json.dumps(answer).encode())
        if asked.operation == "ListStacks":
            return Reply(
                200, reply.body.replace(b"</ListStacksResult>", b"<NextToken>x</NextToken></ListStacksResult>")
            )
        return reply

    seen = look(endless)
    assert isinstance(seen.tables, Unknown)
    assert isinstance(seen.deleted, Unknown)
    assert seen.tables.reason == "ListTables gives the same page again and again"
    assert list(wrong(truth, seen)) == []
