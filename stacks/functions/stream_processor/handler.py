"""Reads the change stream of a single-table design: validates every record and routes it by EntityType.

Each route turns a change into one structured log line that CloudWatch reads as metrics, so the function needs
nothing but the stream. Lines name types and states, never keys or items: those may be personal data.

Records are handled in order and the first bad one ends the batch: Lambda retries from there, and what stays bad
goes to the on-failure queue.
"""

from __future__ import annotations

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

SECRETS = frozenset({"accessToken", "refreshToken", "replyToken", "password"})
TTL_SERVICE = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


class InvalidRecordError(ValueError):
    """A record that breaks the table's conventions; the message holds no item data."""


@dataclass(frozen=True)
class Change:
    """One validated stream record."""

    entity: str
    event: str  # INSERT, MODIFY, REMOVE or EXPIRE
    old: Image
    new: Image


def handler(event: Mapping[str, Any], _context: object = None) -> dict[str, list[dict[str, str]]]:
    """The Lambda entry point; answers with the first record that failed, if any."""
    templates: Templates = json.loads(os.environ["ENTITIES"])
    for record in event.get("Records", []):
        sequence = record["dynamodb"]["SequenceNumber"]
        try:
            change = read(record, templates)
            emit(route(change))
        except Exception as error:  # whatever went wrong, only this record and those behind it are retried
            reason = str(error) if isinstance(error, InvalidRecordError) else type(error).__name__
            emit({"level": "ERROR", "sequence": sequence, "reason": reason, **metrics(Invalid=1)})
            return {"batchItemFailures": [{"itemIdentifier": sequence}]}
    return {"batchItemFailures": []}


def read(record: Mapping[str, Any], templates: Templates) -> Change:
    """A stream record as a change, or InvalidRecordError."""
    change = record["dynamodb"]
    old, new = image(change.get("OldImage", {})), image(change.get("NewImage", {}))
    current = new or old
    if not current:
        raise InvalidRecordError("the stream carries no images; its view must be NEW_AND_OLD_IMAGES")
    entity = current.get("EntityType")
    if not isinstance(entity, str) or entity not in templates:
        raise InvalidRecordError("EntityType is missing or unknown")
    if not any(fits(current, keys) for keys in templates[entity]):
        raise InvalidRecordError(f"the keys fit no template of {entity}")
    if old and new and old.get("EntityType") != entity:
        raise InvalidRecordError(f"an item became {entity} under the same key")
    if new:
        data = new.get("Data", {})
        if found := SECRETS & (data.keys() | data.get("metadata", {}).keys()):
            raise InvalidRecordError(f"{entity} carries {', '.join(sorted(found))}; store the ARN of a secret instead")
    expired = record["eventName"] == "REMOVE" and is_ttl(record.get("userIdentity"))
    return Change(entity, "EXPIRE" if expired else record["eventName"], old, new)


def fits(item: Image, keys: Mapping[str, str]) -> bool:
    """Whether every key of the template is there, formed as it says and saying one thing about each name."""
    known: dict[str, str] = {}
    for attribute, template in keys.items():
        found = pattern(template).fullmatch(str(item.get(attribute, "")))
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


def image(attributes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {name: plain(value) for name, value in attributes.items()}


def plain(value: Mapping[str, Any]) -> Any:
    """DynamoDB's typed JSON as plain values; numbers stay text, so that none loses a digit."""
    ((kind, content),) = value.items()
    match kind:
        case "NULL":
            return None
        case "M":
            return image(content)
        case "L":
            return [plain(v) for v in content]
        case _:
            return content


def counted(change: Change) -> dict[str, Any]:
    return {"EntityType": change.entity, "Event": change.event, **metrics("EntityType", "Event", Changes=1)}


def status_changed(change: Change) -> dict[str, Any]:
    """Counts the change and, where the status moved, says from what to what."""
    line = counted(change)
    before, after = (i.get("Data", {}).get("status") for i in (change.old, change.new))
    if before != after:
        line |= {"From": before, "To": after}
    return line


Route = Callable[[Change], dict[str, Any]]
ROUTES: Mapping[str, Route] = {"AGENT_EXECUTION": status_changed, "TASK": status_changed}


def route(change: Change) -> dict[str, Any]:
    return ROUTES.get(change.entity, counted)(change)


def metrics(*dimensions: str, **values: int) -> dict[str, Any]:
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
