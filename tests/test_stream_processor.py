"""Miyabi's stream processor: the very handler that is deployed, fed with stream records."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import Json

from holdfast import Environment, placements
from stacks import miyabi
from stacks.functions.stream_processor.handler import handler

NOW = "2025-11-29T10:30:00Z"
VALUES = {
    "userId": "550e8400-e29b-41d4-a716-446655440000",
    "orgId": "org-123",
    "repoId": "repo-abc123",
    "execId": "exec-xyz789",
    "workflowId": "workflow-def456",
    "taskId": "task-ghi789",
    "dependsOnTaskId": "task-jkl012",
    "connectionId": "connection-mno345",
    "messageId": "msg-pqr678",
    "logId": "log-stu901",
    "status": "running",
    "startedAt": NOW,
    "createdAt": NOW,
    "sentAt": NOW,
    "loggedAt": NOW,
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in miyabi.STACK.processors[0].variables.items():
        monkeypatch.setenv(name, value)


def typed(value: Any) -> Json:
    match value:
        case bool():
            return {"BOOL": value}
        case None:
            return {"NULL": True}
        case int() | float():
            return {"N": str(value)}
        case dict():
            return {"M": {k: typed(v) for k, v in value.items()}}
        case list():
            return {"L": [typed(v) for v in value]}
        case _:
            return {"S": value}


def image(item: Json) -> Json:
    return {k: typed(v) for k, v in item.items()}


def item(entity: str, number: int = 0, **more: Any) -> Json:
    (declared,) = [e for e in miyabi.ENTITIES if e.type == entity]
    return {**declared.items[number].render(VALUES), "EntityType": entity, "Data": {}, **more}


def record(sequence: int, *, old: Json | None = None, new: Json | None = None, **more: Any) -> Json:
    change: Json = {"SequenceNumber": str(sequence)}
    change |= {"OldImage": image(old)} if old else {}
    change |= {"NewImage": image(new)} if new else {}
    name = "MODIFY" if old and new else "INSERT" if new else "REMOVE"
    return {"eventName": name, "dynamodb": change, **more}


def run(capsys: pytest.CaptureFixture[str], *records: Json) -> tuple[list[str], list[Json]]:
    """The sequence numbers that failed, and the lines that were logged."""
    answer = handler({"Records": list(records)}, None)
    failed = [f["itemIdentifier"] for f in answer["batchItemFailures"]]
    return failed, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


ITEMS = [(e.type, n) for e in miyabi.ENTITIES for n in range(len(e.items))]


@pytest.mark.parametrize(("entity", "number"), ITEMS)
def test_every_declared_item_is_accepted_and_counted(
    entity: str, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    failed, lines = run(capsys, record(1, new=item(entity, number)))
    assert failed == []
    assert [(line["EntityType"], line["Event"], line["Changes"]) for line in lines] == [(entity, "INSERT", 1)]


def test_the_first_bad_record_ends_the_batch(capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = item("USER"), item("USER", SK="PROFILE")
    failed, lines = run(capsys, *(record(n, new=bad if n == 3 else good) for n in range(1, 6)))
    assert failed == ["3"]
    assert len(lines) == 3  # two handled, one refused, two left for the retry
    assert lines[-1]["reason"] == "the keys fit no template of USER"


def test_an_empty_batch_is_a_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys) == ([], [])


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (item("USER", EntityType="ROBOT"), "EntityType is missing or unknown"),
        (item("USER", EntityType=None), "EntityType is missing or unknown"),
        ({k: v for k, v in item("USER").items() if k != "EntityType"}, "EntityType is missing or unknown"),
        (item("USER", PK="USER#"), "the keys fit no template of USER"),
        (item("USER", GSI2SK="USER#somebody-else"), "the keys fit no template of USER"),
        (item("AGENT_EXECUTION", GSI1PK="AGENT_TYPE#codegen"), "the keys fit no template of AGENT_EXECUTION"),
        (item("USER", Data={"accessToken": "x"}), "USER carries accessToken; store the ARN of a secret instead"),
        (
            item("LINE_MESSAGE", Data={"metadata": {"replyToken": "x"}}),
            "LINE_MESSAGE carries replyToken; store the ARN of a secret instead",
        ),
    ],
)
def test_a_record_that_breaks_the_conventions_is_refused(
    bad: Json, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    failed, lines = run(capsys, record(7, new=bad))
    assert failed == ["7"]
    assert [line["reason"] for line in lines] == [reason]
    assert lines[0]["Invalid"] == 1


def test_a_stream_without_images_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    failed, lines = run(capsys, record(1))
    assert failed == ["1"]
    assert "NEW_AND_OLD_IMAGES" in lines[0]["reason"]


def test_a_record_that_cannot_be_read_is_a_failure_and_no_crash(capsys: pytest.CaptureFixture[str]) -> None:
    failed, lines = run(capsys, {"eventName": "INSERT", "dynamodb": {"SequenceNumber": "9", "NewImage": {"PK": {}}}})
    assert failed == ["9"]
    assert lines[0]["reason"] == "ValueError"


def test_status_changes_say_from_what_to_what(capsys: pytest.CaptureFixture[str]) -> None:
    before = item("AGENT_EXECUTION", Data={"status": "running"})
    after = item("AGENT_EXECUTION", GSI1PK="STATUS#done", Data={"status": "done"})
    _, (line,) = run(capsys, record(1, old=before, new=after))
    assert (line["Event"], line["From"], line["To"]) == ("MODIFY", "running", "done")
    _, (line,) = run(capsys, record(1, old=after, new=after))
    assert "From" not in line


def test_an_expired_item_is_told_from_a_deleted_one(capsys: pytest.CaptureFixture[str]) -> None:
    by_ttl = {"userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"}}
    gone = item("WEBSOCKET")
    _, lines = run(capsys, record(1, old=gone, **by_ttl), record(2, old=gone))
    assert [line["Event"] for line in lines] == ["EXPIRE", "REMOVE"]


def test_an_item_may_not_change_its_type(capsys: pytest.CaptureFixture[str]) -> None:
    organization = item("ORGANIZATION")
    failed, lines = run(capsys, record(1, old=organization | {"EntityType": "USER"}, new=organization))
    assert failed == ["1"]
    assert lines[0]["reason"] == "an item became ORGANIZATION under the same key"


def test_logs_hold_no_item_data(capsys: pytest.CaptureFixture[str]) -> None:
    user = item("USER", Data={"email": "user@example.com", "name": "John Doe"})
    handler({"Records": [record(1, new=user), record(2, new=user | {"SK": "user@example.com"})]}, None)
    out = capsys.readouterr().out
    for secret in ("user@example.com", "John Doe", VALUES["userId"], VALUES["orgId"]):
        assert secret not in out


def test_lines_are_embedded_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    """As the format demands: each dimension and each metric is a member of the line."""
    _, (line,) = run(capsys, record(1, new=item("USER")))
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "Holdfast/Stream"
    assert all(isinstance(line[d], str) for ds in directive["Dimensions"] for d in ds)
    assert all(isinstance(line[m["Name"]], int) for m in directive["Metrics"])
    assert line["_aws"]["Timestamp"] > 1_700_000_000_000


@pytest.mark.parametrize("env", Environment)
def test_what_is_deployed_around_it(env: Environment, templates: dict[str, Json]) -> None:
    (placed,) = placements([miyabi.STACK], [env])
    resources = templates[placed.id]["Resources"]

    def only(kind: str) -> Json:
        (found,) = [r["Properties"] for r in resources.values() if r["Type"] == kind]
        return dict(found)

    function, mapping = only("AWS::Lambda::Function"), only("AWS::Lambda::EventSourceMapping")
    assert function["FunctionName"] == f"miyabi-dynamodb-stream-processor-{placed.word}"
    assert function["Runtime"] == "python3.14"
    variables = function["Environment"]["Variables"]
    assert json.loads(variables["ENTITIES"]).keys() == {e.type for e in miyabi.ENTITIES}
    assert variables["ENVIRONMENT"] == placed.word
    assert sum(len(k) + len(v) for k, v in variables.items()) < 4096  # Lambda's limit
    assert mapping["StartingPosition"] == "LATEST"
    assert mapping["BisectBatchOnFunctionError"] is True
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["MaximumRetryAttempts"] == 3
    (queue,) = [i for i, r in resources.items() if r["Type"] == "AWS::SQS::Queue"]
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
