"""Reads the change stream of a single-table design: validates every record and routes it by EntityType.

Each route turns a change into one structured log line that CloudWatch reads as metrics. Lines count, and name declared
types, event ids, sequence numbers and reasons; never keys, states or anything else of an item: it may be personal.

A record that breaks the conventions breaks them at every attempt, so it is not retried: a pointer to it goes to the
failure queue with the reason, and the batch goes on. Only where the queue does not take it, Lambda is told to deliver
again from that record on; nothing from there on is counted in this run, so that nothing is lost or counted twice.
"""

from __future__ import annotations

import functools
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

# {"USER": [{"PK": "USER#{userId}", "SK": "METADATA", …}, …], …}: set by the stack from its declared entities.
Templates = Mapping[str, list[dict[str, str]]]
Image = Mapping[str, Any]
Line = dict[str, Any]
Answer = dict[str, list[dict[str, str]]]
Send = Callable[[str], object]

SECRETS = frozenset({"accessToken", "refreshToken", "replyToken", "password"})
TTL_SERVICE = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
IMAGES = {"INSERT": (False, True), "MODIFY": (True, True), "REMOVE": (True, False)}  # old, new
# What finds a record again. In any other form it is not repeated: who knows what stands there.
EVENT_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
SEQUENCE_NUMBER = re.compile(r"[0-9]{1,40}")
STREAM_ARN = re.compile(r"arn:[a-z-]+:dynamodb:[a-z0-9-]+:[0-9]{12}:table/[\w.-]+/stream/[0-9T:.-]+", re.ASCII)


class InvalidRecordError(ValueError):
    """A record that breaks the table's conventions; the message holds no item data."""


class UndeliveredError(Exception):
    """The queue did not take a record; the message holds no item data."""


@dataclass(frozen=True)
class Change:
    """One validated stream record."""

    entity: str
    event: str  # INSERT, MODIFY, REMOVE or EXPIRE
    old: Image
    new: Image


def handler(event: object, _context: object = None) -> Answer:
    """The Lambda entry point."""
    return process(event, json.loads(os.environ["ENTITIES"]), send_to_queue)


def process(event: object, templates: Templates, send: Send) -> Answer:
    """Counts every record or sends it to the queue; answers from which one Lambda has to deliver again, if any."""
    records = event.get("Records") if isinstance(event, dict) else None
    if not isinstance(records, list):  # by hand, or from elsewhere: an answer would say that something was handled
        raise ValueError("the event has no list of Records: it is not a batch of a stream")
    lines: list[Line] = []
    failures: list[dict[str, str]] = []
    for position, record in enumerate(records):
        try:
            lines.append(judged(record, templates, send))
        except UndeliveredError as error:
            while position and not sequence(records[position]):  # Lambda knows a record by its number only
                position -= 1
            failures = [{"itemIdentifier": sequence(records[position]) or ""}]  # an empty one is the whole batch
            lines[position:] = [failed(record, str(error), Undelivered=1)]
            break
    for line in lines:
        emit(line)
    return {"batchItemFailures": failures}


def judged(record: object, templates: Templates, send: Send) -> Line:
    """What is to be logged of a record; a bad one is in the queue by then, or UndeliveredError."""
    try:
        return route(read(record, templates))
    except Exception as error:  # reading is pure: whatever went wrong goes wrong at every attempt
        known = isinstance(error, InvalidRecordError)
        reason = str(error) if known else f"the record cannot be read: {type(error).__name__}"
    try:
        send(json.dumps({"reason": reason, **pointer(record)}))
    except Exception as error:  # of the network, of AWS, of a permission: it may go away
        raise UndeliveredError(f"the failure queue did not take the record: {type(error).__name__}") from None
    return failed(record, reason, Invalid=1)


def failed(record: object, reason: str, **counts: int) -> Line:
    return {"level": "ERROR", "reason": reason, **pointer(record), **metrics(**counts)}


def pointer(record: object) -> dict[str, str | None]:
    """What finds a record in its stream, for the day that it is kept there."""
    return {
        "eventID": _text(record, "eventID", EVENT_ID),
        "SequenceNumber": sequence(record),
        "eventSourceARN": _text(record, "eventSourceARN", STREAM_ARN),
    }


def sequence(record: object) -> str | None:
    return _text(record.get("dynamodb") if isinstance(record, dict) else None, "SequenceNumber", SEQUENCE_NUMBER)


def _text(holder: object, name: str, form: re.Pattern[str]) -> str | None:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, str) and form.fullmatch(value) else None


def send_to_queue(message: str) -> None:
    _queue().send_message(QueueUrl=os.environ["FAILURES"], MessageBody=message)


@functools.cache
def _queue() -> Any:
    """Made for the first bad record: the SDK, which is Lambda's own, takes longer to load than a batch to read."""
    import boto3
    from botocore.config import Config

    # Well inside the function's time, so that a queue that does not answer is reported and not a timeout.
    patience = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 2})
    return boto3.client("sqs", config=patience)


def read(record: object, templates: Templates) -> Change:
    """A stream record as a change, or InvalidRecordError."""
    if not isinstance(record, dict) or not isinstance(change := record.get("dynamodb"), dict):
        raise InvalidRecordError("it is not a record of a DynamoDB stream")
    event = record.get("eventName")
    if not isinstance(event, str) or event not in IMAGES:
        raise InvalidRecordError("eventName is missing or unknown")
    old, new = image(change.get("OldImage", {})), image(change.get("NewImage", {}))
    if (bool(old), bool(new)) != IMAGES[event]:
        raise InvalidRecordError(f"the images are not those of {event}; the view must be NEW_AND_OLD_IMAGES")
    current = new or old
    entity = current.get("EntityType")
    if not isinstance(entity, str) or entity not in templates:
        raise InvalidRecordError("EntityType is missing or unknown")
    if not any(fits(current, keys) for keys in templates[entity]):
        raise InvalidRecordError(f"the keys fit no template of {entity}")
    if old and new and old.get("EntityType") != entity:
        raise InvalidRecordError(f"an item became {entity} under the same key")
    if new:
        data = _map(new, "Data", entity)
        if found := SECRETS & (data.keys() | _map(data, "metadata", entity).keys()):
            raise InvalidRecordError(f"{entity} carries {', '.join(sorted(found))}; store the ARN of a secret instead")
    expired = event == "REMOVE" and is_ttl(record.get("userIdentity"))
    return Change(entity, "EXPIRE" if expired else event, old, new)


def _map(item: Image, name: str, entity: str) -> Image:
    value = item.get(name, {})
    if not isinstance(value, dict):
        raise InvalidRecordError(f"{name} of {entity} is not a map")
    return value


def fits(item: Image, keys: Mapping[str, str]) -> bool:
    """Whether every key of the template is there, formed as it says and saying one thing about each name."""
    known: dict[str, str] = {}
    for attribute, template in keys.items():
        value = item.get(attribute)
        found = pattern(template).fullmatch(value) if isinstance(value, str) else None
        if not found:
            return False
        for name, value in found.groupdict().items():
            if known.setdefault(name, value) != value:
                return False
    return True


def pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", template)
    return re.compile("".join(f"(?P<{p}>[^#]+)" if n % 2 else re.escape(p) for n, p in enumerate(parts)))


def is_ttl(identity: object) -> bool:
    return isinstance(identity, dict) and {k: identity.get(k) for k in TTL_SERVICE} == TTL_SERVICE


def image(attributes: object) -> dict[str, Any]:
    if not isinstance(attributes, dict):
        raise InvalidRecordError("an attribute is not DynamoDB's JSON")
    return {name: plain(value) for name, value in attributes.items()}


def plain(value: object) -> Any:
    """DynamoDB's typed JSON as plain values; numbers stay text, so that none loses a digit."""
    match value if isinstance(value, dict) and len(value) == 1 else None:
        case {"NULL": bool()}:
            return None
        case {"M": dict(content)}:
            return image(content)
        case {"L": list(content)}:
            return [plain(v) for v in content]
        case {"S": str(content)} | {"N": str(content)} | {"B": str(content)} | {"BOOL": bool(content)}:
            return content
        case {"SS": list(content)} | {"NS": list(content)} | {"BS": list(content)}:
            return content
        case _:
            raise InvalidRecordError("an attribute is not DynamoDB's JSON")


def counted(change: Change, **more: int) -> Line:
    counts = metrics("EntityType", "Event", Changes=1, **more)
    return {"EntityType": change.entity, "Event": change.event, **counts}


def status_changed(change: Change) -> Line:
    """Counts the change, and whether the status moved; from what to what stands in the item."""
    return counted(change, StatusChanges=int(status(change.old) != status(change.new)))


def status(item: Image) -> object:
    data = item.get("Data")
    return data.get("status") if isinstance(data, dict) else None


Route = Callable[[Change], Line]
ROUTES: Mapping[str, Route] = {"AGENT_EXECUTION": status_changed, "TASK": status_changed}


def route(change: Change) -> Line:
    return ROUTES.get(change.entity, counted)(change)


def metrics(*dimensions: str, **values: int) -> Line:
    """The embedded metric format: CloudWatch turns such a log line into metrics without any API call."""
    directive = {
        "Namespace": "Holdfast/Stream",
        "Dimensions": [["Function", *dimensions]],
        "Metrics": [{"Name": name, "Unit": "Count"} for name in values],
    }
    function = os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "local")
    return {
        "_aws": {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [directive]},
        "Function": function,
        **values,
    }


def emit(line: Mapping[str, Any]) -> None:
    print(json.dumps(line, separators=(",", ":")))
