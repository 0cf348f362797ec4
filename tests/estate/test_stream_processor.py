"""Miyabi's stream processor: the very handler that is deployed, fed with stream records."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import re
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from declare import estate
from emulator import fresh_account
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_records import ARN, ITEMS, NOW, PERSONAL, TEXT, TRACES, batch, image, item, record
from support import Json

from holdfast import Environment
from holdfast.local.client import archive
from stacks import ESTATE, miyabi
from stacks.functions.stream_processor import handler as module
from stacks.functions.stream_processor.handler import Send, handler, process

TEMPLATES = json.loads(miyabi.STACK.processors[0].variables["ENTITIES"])


def closed(_: str) -> None:
    raise ConnectionError("what the queue said: mia@example.com")


def run(*records: Any, send: Send | None = None) -> tuple[list[str], list[Json], list[Json]]:
    """From which records on Lambda delivers again, the lines that were logged and the messages in the queue."""
    sent: list[str] = []
    with contextlib.redirect_stdout(io.StringIO()) as out:
        answer = process({"Records": list(records)}, TEMPLATES, send or sent.append)
    assert answer.keys() == {"batchItemFailures"}
    assert all(failure.keys() == {"itemIdentifier"} for failure in answer["batchItemFailures"])
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    return [f["itemIdentifier"] for f in answer["batchItemFailures"]], lines, [json.loads(message) for message in sent]


@pytest.mark.parametrize(("entity", "number"), ITEMS)
def test_every_declared_item_is_accepted_and_counted(entity: str, number: int) -> None:
    failed, lines, sent = run(record(1, new=item(entity, number)))
    assert (failed, sent) == ([], [])
    assert [(line["EntityType"], line["Event"], line["Changes"]) for line in lines] == [(entity, "INSERT", 1)]


def test_what_stands_behind_a_bad_record_is_handled() -> None:
    good, bad = item("USER"), item("USER", SK="PROFILE")
    failed, lines, sent = run(*(record(n, new=bad if n == 3 else good) for n in range(1, 6)))
    assert failed == []  # it is bad at every attempt, and would hold up the others
    assert [line.get("Changes") for line in lines] == [1, 1, None, 1, 1]
    pointer = {"eventID": f"{3:032x}", "SequenceNumber": "3", "eventSourceARN": ARN}
    assert sent == [{"reason": "the keys fit no template of USER", **pointer}]
    assert lines[2].items() >= {"level": "ERROR", "Invalid": 1, **sent[0]}.items()


def test_what_the_queue_does_not_take_is_delivered_again_and_nothing_behind_it_is_counted() -> None:
    good, bad = item("USER"), item("USER", SK="PROFILE")
    failed, lines, _ = run(*(record(n, new=bad if n in (3, 4) else good) for n in range(1, 6)), send=closed)
    assert failed == ["3"]
    assert [line.get("Changes") for line in lines] == [1, 1, None]
    assert lines[2].items() >= {"SequenceNumber": "3", "Undelivered": 1, "eventID": f"{3:032x}"}.items()
    assert lines[2]["reason"] == "the failure queue did not take the record: ConnectionError"


@pytest.mark.parametrize(("numbered", "again"), [((1, 2), "2"), ((1,), "1"), ((), ""), ((4,), "")])
def test_a_record_without_a_number_is_delivered_again_with_those_before_it(numbered: tuple[int], again: str) -> None:
    """Lambda takes an empty number as a failure of the whole batch."""
    records = [record(n, new=item("USER", SK="PROFILE" if n == 3 else "METADATA")) for n in range(1, 5)]
    for n, each in enumerate(records, start=1):
        if n not in numbered:
            del each["dynamodb"]["SequenceNumber"]
    failed, lines, _ = run(*records, send=closed)
    assert failed == [again]
    assert sum(line.get("Changes", 0) for line in lines) == (int(again) - 1 if again else 0)
    assert run(*records)[0] == []  # a number is needed for a failure only


def test_an_empty_batch_is_a_success() -> None:
    assert run() == ([], [], [])


@pytest.mark.parametrize("event", [{}, {"Records": None}, {"Records": {}}, {"records": []}, [], None, "Records"])
def test_an_event_that_is_not_a_batch_is_an_error(event: object) -> None:
    with pytest.raises(ValueError, match=r"^the event has no list of Records: it is not a batch of a stream$"):
        process(event, TEMPLATES, closed)


def test_a_queue_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The entry point, with the SDK itself: nobody listens on port 1."""
    for name, value in {
        "ENTITIES": json.dumps(TEMPLATES),
        "FAILURES": "http://127.0.0.1:1/123456789012/failures",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "ap-northeast-1",
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    module._queue.cache_clear()
    bad = item("USER", SK="PROFILE")
    answer = handler({"Records": [record(1, new=item("USER")), record(2, new=bad), record(3, new=bad)]}, None)
    module._queue.cache_clear()
    assert answer == {"batchItemFailures": [{"itemIdentifier": "2"}]}
    assert "the failure queue did not take the record: EndpointConnectionError" in capsys.readouterr().out


NO_TYPE = "EntityType is missing or unknown"
CONVENTIONS: list[tuple[Json, str]] = [
    (item("USER", EntityType="ROBOT"), NO_TYPE),
    (item("USER", EntityType=None), NO_TYPE),
    (item("USER", EntityType=["USER"]), NO_TYPE),
    ({k: v for k, v in item("USER").items() if k != "EntityType"}, NO_TYPE),
    (item("USER", PK="USER#"), "the keys fit no template of USER"),
    (item("USER", GSI2SK="USER#somebody-else"), "the keys fit no template of USER"),
    (item("AGENT_EXECUTION", GSI1PK="AGENT_TYPE#codegen"), "the keys fit no template of AGENT_EXECUTION"),
    (item("AGENT_EXECUTION", GSI1SK=None), "the keys fit no template of AGENT_EXECUTION"),
    (item("TASK", GSI1SK={"at": NOW}), "the keys fit no template of TASK"),
    (item("USER", Data=None), "Data of USER is not a map"),
    (item("USER", Data=[{"accessToken": "x"}]), "Data of USER is not a map"),
    (item("USER", Data={"metadata": ["x"]}), "metadata of USER is not a map"),
    (item("USER", Data={"metadata": None}), "metadata of USER is not a map"),
    (item("USER", Data={"accessToken": "x"}), "USER carries accessToken; store the ARN of a secret instead"),
    (
        item("LINE_MESSAGE", Data={"metadata": {"replyToken": "x"}}),
        "LINE_MESSAGE carries replyToken; store the ARN of a secret instead",
    ),
]


@pytest.mark.parametrize(("bad", "reason"), CONVENTIONS)
def test_a_record_that_breaks_the_conventions_goes_to_the_queue(bad: Json, reason: str) -> None:
    failed, lines, sent = run(record(7, new=bad), record(8, new=item("USER")))
    assert failed == []
    assert [(line.get("reason"), line.get("Invalid"), line.get("Changes")) for line in lines] == [
        (reason, 1, None),
        (None, None, 1),
    ]
    assert [(message["SequenceNumber"], message["reason"]) for message in sent] == [("7", reason)]


def nested(depth: int) -> Json:
    value: Json = {"S": "x"}
    for _ in range(depth):
        value = {"L": [value]}
    return value


GOOD = record(1, new=item("USER"))
STRANGERS: tuple[Any, ...] = (None, 7, "x", [GOOD], {}, {"dynamodb": []})
EVENTS: tuple[Any, ...] = (None, 1, [], {}, "UPSERT", "")
IMAGES: tuple[Any, ...] = (None, 7, "x", [], [{"S": "x"}])
ATTRIBUTES: tuple[Any, ...] = (
    *(None, 7, "x", [], {}, {"S": 5}, {"S": None}, {"N": 10**400}, {"BOOL": "true"}, {"M": []}, {"L": {}}),
    *({"S": "x", "N": "1"}, {"s": "x"}, {"X": "x"}, {"SS": "x"}, {"NULL": None}, {"M": {"a": 1}}, {"L": [1]}),
)


def with_image(attributes: Any) -> Json:
    return GOOD | {"dynamodb": {"SequenceNumber": "1", "NewImage": attributes}}


FORMS: list[tuple[Any, str]] = [
    *((each, "it is not a record of a DynamoDB stream") for each in STRANGERS),
    *((GOOD | {"eventName": each}, "eventName is missing or unknown") for each in EVENTS),
    ({k: v for k, v in GOOD.items() if k != "eventName"}, "eventName is missing or unknown"),
    *(
        (without, f"the images are not those of {event}; the view must be NEW_AND_OLD_IMAGES")
        for event in ("INSERT", "MODIFY", "REMOVE")
        for without in (record(1, eventName=event), GOOD | {"eventName": event})
        if (without, event) != (GOOD, "INSERT")
    ),
    *((with_image(each), "an attribute is not DynamoDB's JSON") for each in IMAGES),
    *((with_image({**image(item("USER")), "a": each}), "an attribute is not DynamoDB's JSON") for each in ATTRIBUTES),
    (with_image({**image(item("USER")), "a": nested(5_000)}), "the record cannot be read: RecursionError"),
]


@pytest.mark.parametrize(("bad", "reason"), FORMS, ids=range(len(FORMS)))
def test_a_record_of_another_form_goes_to_the_queue(bad: Any, reason: str) -> None:
    failed, lines, sent = run(bad, record(2, new=item("USER")))
    assert failed == []
    assert [message["reason"] for message in sent] == [reason]
    assert lines[1]["Changes"] == 1


def test_no_identifier_is_repeated_in_a_form_that_it_does_not_have() -> None:
    strange = "mia@example.com"
    bad = {"eventID": strange, "eventSourceARN": strange, "dynamodb": {"SequenceNumber": strange}}
    _, (line,), (message,) = run(bad)
    assert strange not in json.dumps([line, message])
    assert [message[name] for name in ("eventID", "SequenceNumber", "eventSourceARN")] == [None] * 3


def test_status_changes_are_counted_and_the_states_not_told() -> None:
    before = item("AGENT_EXECUTION", Data={"status": "running"})
    after = item("AGENT_EXECUTION", GSI1PK="STATUS#done", Data={"status": "done"})
    _, lines, _ = run(record(1, old=before, new=after), record(2, old=after, new=after))
    assert [(line["Event"], line["Changes"], line["StatusChanges"]) for line in lines] == [
        ("MODIFY", 1, 1),
        ("MODIFY", 1, 0),
    ]
    assert not [word for word in ("running", "done") if word in json.dumps(lines)]


@pytest.mark.parametrize("data", [None, [], "x"])
def test_an_item_may_be_mended_or_deleted(data: object) -> None:
    """The former state of an item is nobody's fault any more."""
    before, after = item("TASK", Data=data), item("TASK", Data={"status": "running"})
    failed, lines, sent = run(record(1, old=before, new=after), record(2, old=before))
    assert (failed, sent) == ([], [])
    assert [line["StatusChanges"] for line in lines] == [1, 0]


def test_an_expired_item_is_told_from_a_deleted_one() -> None:
    by_ttl = {"userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"}}
    gone = item("WEBSOCKET")
    _, lines, _ = run(record(1, old=gone, **by_ttl), record(2, old=gone))
    assert [line["Event"] for line in lines] == ["EXPIRE", "REMOVE"]


def test_an_item_may_not_change_its_type() -> None:
    organization = item("ORGANIZATION")
    _, _, sent = run(record(1, old=organization | {"EntityType": "USER"}, new=organization))
    assert [message["reason"] for message in sent] == ["an item became ORGANIZATION under the same key"]


def test_lines_are_embedded_metrics() -> None:
    """As the format demands: each dimension and each metric is a member of the line."""
    task, bad = record(1, new=item("TASK")), record(2, new=item("USER", SK="PROFILE"))
    lines = [*run(task, bad)[1], *run(bad, send=closed)[1]]
    assert len(lines) == 3
    for line in lines:
        (directive,) = line["_aws"]["CloudWatchMetrics"]
        assert directive["Namespace"] == "Holdfast/Stream"
        assert all(isinstance(line[d], str) for ds in directive["Dimensions"] for d in ds)
        assert all(isinstance(line[m["Name"]], int) for m in directive["Metrics"])
        assert line["_aws"]["Timestamp"] > 1_700_000_000_000


# Random batches

REASONS = (
    r"(EntityType|eventName) is missing or unknown",
    r"(Data|metadata) of [A-Z_]+ is not a map",
    r"[A-Z_]+ carries (accessToken|password); store the ARN of a secret instead",
    r"the keys fit no template of [A-Z_]+",
    r"the images are not those of (INSERT|MODIFY|REMOVE); the view must be NEW_AND_OLD_IMAGES",
    r"an attribute is not DynamoDB's JSON",
    r"it is not a record of a DynamoDB stream",
)


def told(lines: list[Json]) -> list[Json]:
    """Without the one thing that differs between two runs."""
    return [{k: v for k, v in line.items() if k != "_aws"} for line in lines]


@settings(max_examples=3_000)
@given(st.randoms(use_true_random=True))
def test_every_record_of_any_batch_is_handled_as_if_it_were_alone(rng: Random) -> None:
    made = batch(rng)
    failed, lines, sent = run(*(each for _, each in made))
    assert failed == []
    assert told(lines) == [line for _, each in made for line in told(run(each)[1])]
    assert [line.get("Changes") for line in lines] == [1 if good else None for good, _ in made]
    assert [line["reason"] for line in lines if "reason" in line] == [message["reason"] for message in sent]
    assert len(sent) == sum(not good for good, _ in made)
    for message in sent:
        assert message.keys() == {"reason", "eventID", "SequenceNumber", "eventSourceARN"}
        assert re.fullmatch("|".join(REASONS), message["reason"])
    assert not [trace for trace in TRACES if trace in json.dumps([lines, sent])]


@settings(max_examples=2_000)
@given(st.randoms(use_true_random=True))
def test_whenever_the_queue_fails_nothing_is_lost_or_counted_twice(rng: Random) -> None:
    """As the event source mapping does it: from the reported record on, the whole rest comes again."""
    records, sent = [each for _, each in batch(rng)], list[str]()
    outages = [rng.random() < 0.5 for _ in range(rng.randrange(10))]

    def send(message: str) -> None:
        if outages and outages.pop():
            closed(message)
        sent.append(message)

    rest, lines, failed = records, list[Json](), [""]
    for _ in range(len(outages) + 1):
        failed, logged, _ = run(*rest, send=send)
        lines += [line for line in logged if "Undelivered" not in line]
        assert not [trace for trace in TRACES if trace in json.dumps([failed, logged, sent])]
        if not failed:
            break
        (again,) = failed
        assert logged[-1]["Undelivered"] == 1
        rest = rest[[module.sequence(each) for each in rest].index(again) if again else 0 :]
    assert failed == []
    _, expected, messages = run(*records)
    assert told(lines) == told(expected)
    assert {json.dumps(message) for message in messages} == set(sent)
    if all(module.sequence(each) for each in records):
        assert [json.loads(message) for message in sent] == messages


@pytest.mark.parametrize("env", ESTATE.environments)
def test_what_is_deployed_around_it(env: Environment, templates: dict[str, Json]) -> None:
    (placed,) = estate(miyabi.STACK).placements([env])
    resources = templates[placed.id]["Resources"]

    def only(kind: str) -> Json:
        (found,) = [r["Properties"] for r in resources.values() if r["Type"] == kind]
        return dict(found)

    function, mapping = only("AWS::Lambda::Function"), only("AWS::Lambda::EventSourceMapping")
    assert function["FunctionName"] == f"miyabi-dynamodb-stream-processor-{placed.environment_name}"
    assert function["Runtime"] == "python3.14"
    variables = function["Environment"]["Variables"]
    assert json.loads(variables["ENTITIES"]).keys() == {e.type for e in miyabi.ENTITIES}
    assert variables["ENVIRONMENT"] == placed.environment_name
    (queue,) = [i for i, r in resources.items() if r["Type"] == "AWS::SQS::Queue"]
    assert variables["FAILURES"] == {"Ref": queue}
    address = f"https://sqs.ap-northeast-1.amazonaws.com/123456789012/{resources[queue]['Properties']['QueueName']}"
    assert sum(len(k) + len(v) for k, v in (variables | {"FAILURES": address}).items()) < 4096  # Lambda's limit
    assert mapping["StartingPosition"] == "LATEST"
    assert mapping["BisectBatchOnFunctionError"] is True
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["MaximumRetryAttempts"] == 100
    assert mapping["MaximumRecordAgeInSeconds"] == 6 * 60 * 60
    assert mapping["DestinationConfig"]["OnFailure"]["Destination"] == {"Fn::GetAtt": [queue, "Arn"]}


def test_its_role_may_read_the_stream_and_nothing_of_the_table(templates: dict[str, Json]) -> None:
    policies = {
        r["Properties"].get("ManagedPolicyName"): r["Properties"]["PolicyDocument"]["Statement"]
        for r in templates["MiyabiLambda-production"]["Resources"].values()
        if r["Type"] == "AWS::IAM::ManagedPolicy"
    }

    def actions(name: str | None) -> set[str]:
        listed = [s["Action"] for s in policies[name]]
        return {a for action in listed for a in (action if isinstance(action, list) else [action])}

    assert actions(None) == {
        "dynamodb:DescribeStream",
        "dynamodb:GetRecords",
        "dynamodb:GetShardIterator",
        "dynamodb:ListStreams",
        "kms:Decrypt",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "sqs:SendMessage",
    }
    assert actions("miyabi-lambda-dynamodb-production") == {
        *(f"dynamodb:{a}Item" for a in ("Get", "Put", "Update", "Delete", "BatchGet", "BatchWrite", "ConditionCheck")),
        "dynamodb:Query",
        "dynamodb:Scan",
        "kms:Decrypt",
        "kms:GenerateDataKey",
    }


def test_the_deployed_function_counts_the_good_and_puts_the_bad_into_the_queue(templates: dict[str, Json]) -> None:
    """With the code and template that are deployed, through the emulator's DynamoDB, stream, mapping and SQS."""
    aws, region, template = fresh_account(), "ap-northeast-1", copy.deepcopy(templates["MiyabiLambda-test"])
    (function,) = [r["Properties"] for r in template["Resources"].values() if r["Type"] == "AWS::Lambda::Function"]
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    code, place = archive("handler.py", source), {"LocationConstraint": region}
    aws.client("s3", region).create_bucket(Bucket="code", CreateBucketConfiguration=place)
    aws.client("s3", region).put_object(Bucket="code", Key="code.zip", Body=code)
    function["Code"] = {"S3Bucket": "code", "S3Key": "code.zip"}
    aws.deploy("MiyabiLambda-test", template, region)
    items = [item("USER", values=PERSONAL), item("USER", values=PERSONAL, Data=None), item("TASK", values=PERSONAL)]
    for each in items:
        aws.client("dynamodb", region).put_item(TableName="miyabi-lambda-data-test", Item=image(each))
    name = "miyabi-dynamodb-stream-processor-test"
    queue, logs = aws.client("sqs", region), aws.client("logs", region)
    lines: list[Json] = []
    deadline = time.monotonic() + 60
    while len(lines) < len(items) and time.monotonic() < deadline:
        time.sleep(0.1)
        events = logs.filter_log_events(logGroupName=f"/aws/lambda/{name}")["events"]
        lines = [json.loads(e["message"]) for e in events if e["message"].startswith("{")]
    assert [line.get("EntityType") for line in lines] == ["USER", None, "TASK"]
    address = queue.get_queue_url(QueueName=f"{name}-failures")["QueueUrl"]
    (message,) = queue.receive_message(QueueUrl=address, MaxNumberOfMessages=10)["Messages"]
    body = json.loads(message["Body"])
    assert body["reason"] == "Data of USER is not a map"
    assert all(body.values())  # the identifiers have the form in which the service gives them
    assert TEXT not in json.dumps([events, body])
