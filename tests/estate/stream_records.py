"""Records of Miyabi's change stream: those that its declaration asks for, and random ones, good and bad."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

from support import Json

from stacks import miyabi

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
ITEMS = [(e.type, n) for e in miyabi.ENTITIES for n in range(len(e.items))]
ARN = "arn:aws:dynamodb:ap-northeast-1:123456789012:table/miyabi-lambda-data-test/stream/2025-11-29T10:30:00.000"


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


def item(entity: str, number: int = 0, values: dict[str, str] = VALUES, **more: Any) -> Json:
    (declared,) = [e for e in miyabi.ENTITIES if e.type == entity]
    return {**declared.items[number].render(values), "EntityType": entity, "Data": {}, **more}


def record(sequence: int, *, old: Json | None = None, new: Json | None = None, **more: Any) -> Json:
    change: Json = {"SequenceNumber": str(sequence)}
    change |= {"OldImage": image(old)} if old else {}
    change |= {"NewImage": image(new)} if new else {}
    name = "MODIFY" if old and new else "INSERT" if new else "REMOVE"
    return {"eventID": f"{sequence:032x}", "eventName": name, "eventSourceARN": ARN, "dynamodb": change, **more}


# Whatever stands in a random item holds one of these, so that a trace of it is found wherever it goes.
TEXT, DIGITS = "mia@example.com", "47114711471147"
TRACES = (TEXT, DIGITS)
PERSONAL = {name: f"{TEXT}-{name}" for name in VALUES}
NUMBERS = (DIGITS, f"-{DIGITS}.{DIGITS}", f"{DIGITS}E+125", DIGITS * 3)
ODD: tuple[Any, ...] = (None, True, 0, 10**400, 1.5, "", TEXT, int(DIGITS), [], {})
BROKEN_DATA: tuple[Json, ...] = (
    {"NULL": True},
    {"S": TEXT},
    {"L": [{"M": {}}]},
    {"M": {"metadata": {"L": [{"S": TEXT}]}}},
    {"M": {"metadata": {"NULL": True}}},
    {"M": {"accessToken": {"S": TEXT}}},
    {"M": {"metadata": {"M": {"password": {"S": TEXT}}}}},
)


def some_value(rng: Random, depth: int = 3) -> Json:
    """An attribute as DynamoDB writes it."""
    match rng.choice(("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "M", "L")):
        case "M":
            return {"M": some_map(rng, depth - 1)}
        case "L":
            return {"L": [some_value(rng, depth - 1) for _ in range(rng.randrange(3) if depth else 0)]}
        case "BOOL" | "NULL" as kind:
            return {kind: True}
        case "N":
            return {"N": rng.choice(NUMBERS)}
        case "NS":
            return {"NS": [rng.choice(NUMBERS)]}
        case "S" | "B" as kind:
            return {kind: TEXT}
        case kind:
            return {kind: [TEXT] * rng.randrange(3)}


def some_map(rng: Random, depth: int = 3) -> Json:
    return {f"{TEXT} {n}": some_value(rng, depth) for n in range(rng.randrange(3) if depth else 0)}


def some_json(rng: Random, depth: int = 3) -> Any:
    """Anything that JSON can say, with words of DynamoDB where nobody expects them."""
    if not depth or rng.random() < 0.4:
        return rng.choice(ODD)
    inner = [some_json(rng, depth - 1) for _ in range(rng.randrange(3))]
    words = rng.sample(("S", "N", "M", "L", "dynamodb", "NewImage", "eventID", TEXT), len(inner))
    return inner if rng.random() < 0.5 else dict(zip(words, inner, strict=True))


def good_record(rng: Random) -> Json:
    """One that has to be counted, whatever its attributes hold and whichever identifiers are missing or strange."""
    new = image(item(*rng.choice(ITEMS), PERSONAL)) | some_map(rng) | {"Data": {"M": some_map(rng)}}
    if rng.random() < 0.5:
        new["Data"]["M"] |= {"status": some_value(rng), "metadata": {"M": some_map(rng)}}
    old = new | some_map(rng) | rng.choice(({}, {"Data": some_value(rng)}))
    event = rng.choice(("INSERT", "MODIFY", "REMOVE"))
    change = {} if event == "INSERT" else {"OldImage": copy.deepcopy(old)}
    change |= {} if event == "REMOVE" else {"NewImage": new}
    made = {"eventID": f"{rng.getrandbits(128):032x}", "eventSourceARN": ARN, "eventName": event, "dynamodb": change}
    if rng.random() < 0.3:
        made[rng.choice(("eventID", "eventSourceARN", "userIdentity"))] = some_json(rng)
    return made


def bad_record(rng: Random) -> Any:
    """One that can never be counted: a good one with one thing wrong, or no record at all."""
    made = good_record(rng)
    change = made["dynamodb"]
    current = change.get("NewImage") or change["OldImage"]
    match rng.choice(("record", "dynamodb", "event", "images", "image", "attribute", "type", "key", "missing", "data")):
        case "record":
            return some_json(rng)
        case "dynamodb":
            made["dynamodb"] = rng.choice((None, 7, TEXT, [change]))
        case "event":
            made["eventName"] = some_json(rng)
        case "images":
            del change[rng.choice([*change])]
        case "image":
            change[rng.choice(("OldImage", "NewImage"))] = rng.choice((None, 7, TEXT, [current]))
        case "attribute":
            two_types = {"S": TEXT, "N": DIGITS}
            current[TEXT] = rng.choice((*ODD, two_types, {"S": 7}, {"N": int(DIGITS)}, {"M": [TEXT]}, {TEXT: TEXT}))
        case "type":
            current["EntityType"] = some_value(rng)
        case "key":
            current[rng.choice(("PK", "SK"))] = some_value(rng)
        case "missing":
            del current[rng.choice(("PK", "SK", "EntityType"))]
        case _:
            made |= {"eventName": "INSERT", "dynamodb": {"NewImage": current | {"Data": rng.choice(BROKEN_DATA)}}}
    return made


def batch(rng: Random) -> list[tuple[bool, Any]]:
    """Records, each with whether it is good; some have no number, or one that is none."""
    made = [
        (True, good_record(rng)) if rng.random() < 0.5 else (False, bad_record(rng)) for _ in range(rng.randrange(9))
    ]
    for number, (_, each) in enumerate(made, start=1):
        if isinstance(each, dict) and isinstance(each.get("dynamodb"), dict) and rng.random() < 0.8:
            each["dynamodb"]["SequenceNumber"] = str(number) if rng.random() < 0.9 else some_json(rng)
    return made
