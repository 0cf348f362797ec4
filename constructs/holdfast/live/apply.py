"""Makes the changes of a fix: one by one, waited for, read back, and written down before and after."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.assembly import InputError
from holdfast.fix import Change
from holdfast.iam import Call
from holdfast.live import calls
from holdfast.live.failure import CallError
from holdfast.live.options import Options
from holdfast.live.session import Api, apis

PATIENCE = 300.0  # seconds; a change of the key takes minutes
TABLE = calls.TABLE


def _write(operation: str, says: str) -> Call:
    return Call(service="dynamodb", operation=operation, action=f"dynamodb:{operation}", reads=says, resource=TABLE)


CHANGES = {
    call.operation: call
    for call in (
        _write("UpdateTable", "a changed table"),
        _write("UpdateContinuousBackups", "changed recovery"),
        _write("UpdateTimeToLive", "changed expiry"),
        _write("TagResource", "changed tags"),
    )
}
# DynamoDB itself asks KMS on behalf of whoever changes the key of a table.
KEYS = tuple(
    Call(service="kms", operation=o, action=f"kms:{o}", reads="the key of the stack", resource=calls.KEY)
    for o in ("CreateGrant", "DescribeKey")
)
READ_BACK = (calls.IDENTITY, calls.DESCRIBE_TABLE, calls.BACKUPS, calls.TIME_TO_LIVE, calls.TABLE_TAGS)
FIX: tuple[Call, ...] = (*CHANGES.values(), *READ_BACK, *KEYS)


def apply(
    changes: Sequence[Change],
    options: Options,
    record: Path,
    *,
    env: str,
    said: Callable[[str], None],
    patience: float = PATIENCE,
) -> list[str]:
    """Makes ``changes`` in turn and keeps ``record`` true at every moment; what went wrong, in words."""
    doors = _doors(changes, options)
    rows = [_row(c) for c in changes]
    who = {account: str(api.call(calls.IDENTITY).get("Arn", account)) for (account, _), api in doors.items()}
    document = {"version": 1, "command": "fix", "env": env, "who": who, "changes": rows}
    wrong: list[str] = []
    _save(record, document)
    for number, (change, row) in enumerate(zip(changes, rows, strict=True), start=1):
        api = doors[change.account, change.region]
        row |= {"outcome": "started", "at": _now()}
        _save(record, document)
        failure = _make(api, change, patience)
        row |= {"outcome": "failed" if failure else "done", "at": _now(), "after": _shown(api, change)}
        row |= {"reason": failure} if failure else {}
        _save(record, document)
        said(f"{number}/{len(changes)}  {'FAILED' if failure else 'done'}  {change.table}: {change.says}")
        if failure:
            wrong.append(f"{change.table}: {change.says}: {failure}")
    return wrong


def _doors(changes: Iterable[Change], options: Options) -> dict[tuple[str, str], Api]:
    """The way into each account and region that is to be changed, and into no other."""
    wanted = {(c.account, c.region) for c in changes}
    found = {}
    for api in apis(options, FIX):
        if (place := (api.identity(), api.region)) in wanted:
            found[place] = api
    if missing := sorted(wanted - set(found)):
        raise InputError(f"account {missing[0][0]} in {missing[0][1]} cannot be reached any more: log in again")
    return found


def _make(api: Api, change: Change, patience: float) -> str | None:
    """One change; None when it has taken, else why not."""
    deadline = time.monotonic() + patience
    if change.operation == "UpdateTable":
        _until(lambda: _table(api, change).get("TableStatus") == "ACTIVE", deadline)
    try:
        api.call(CHANGES[change.operation], **change.parameters)
    except CallError as failure:
        # A call whose answer was lost is refused when it is made again, because it has taken already.
        return None if _guarded(lambda: _taken(api, change)) else failure.reason
    if _until(lambda: _taken(api, change), deadline):
        return None
    return f"it was accepted, but had not taken after {patience:.0f} s: look at the table and run again"


def _taken(api: Api, change: Change) -> bool:
    """Whether the account shows what was asked for."""
    shown, p = _read(api, change), change.parameters
    match change.operation:
        case "UpdateContinuousBackups":
            wanted = p["PointInTimeRecoverySpecification"]
            days = shown.get("RecoveryPeriodInDays")
            return shown.get("PointInTimeRecoveryStatus") == "ENABLED" and days in (
                None,
                wanted["RecoveryPeriodInDays"],
            )
        case "UpdateTimeToLive":
            on = shown.get("TimeToLiveStatus") in ("ENABLING", "ENABLED")
            return on and shown.get("AttributeName") == p["TimeToLiveSpecification"]["AttributeName"]
        case "TagResource":
            return all(shown.get(t["Key"]) == t["Value"] for t in p["Tags"])
        case _:
            if shown.get("TableStatus") != "ACTIVE":
                return False
            if "SSESpecification" in p:
                return shown.get("Encryption") == "ENABLED" and bool(shown.get("Key"))
            return shown.get("DeletionProtectionEnabled") is True


def _read(api: Api, change: Change) -> dict[str, Any]:
    """The part of a table that a change is about."""
    match change.operation:
        case "UpdateContinuousBackups":
            answer = api.call(calls.BACKUPS, TableName=change.table)["ContinuousBackupsDescription"]
            return dict(answer.get("PointInTimeRecoveryDescription", {}))
        case "UpdateTimeToLive":
            return dict(api.call(calls.TIME_TO_LIVE, TableName=change.table)["TimeToLiveDescription"])
        case "TagResource":
            pages = api.pages(calls.TABLE_TAGS, ResourceArn=change.arn)
            return {t["Key"]: t["Value"] for page in pages for t in page.get("Tags", ())}
        case _:
            table = _table(api, change)
            sse = table.get("SSEDescription", {})
            return {
                "TableStatus": table.get("TableStatus"),
                "DeletionProtectionEnabled": table.get("DeletionProtectionEnabled", False),
                "Encryption": sse.get("Status"),
                "Key": sse.get("KMSMasterKeyArn"),
            }


def _table(api: Api, change: Change) -> Mapping[str, Any]:
    table: Mapping[str, Any] = api.call(calls.DESCRIBE_TABLE, TableName=change.table)["Table"]
    return table


def _until(done: Callable[[], bool], deadline: float) -> bool:
    pause = 0.02
    while not _guarded(done):
        if time.monotonic() + pause > deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 2, 5.0)
    return True


def _guarded(ask: Callable[[], bool]) -> bool:
    """A look that fails has seen nothing."""
    try:
        return ask()
    except (CallError, KeyError):
        return False


def _shown(api: Api, change: Change) -> Any:
    try:
        return json.loads(json.dumps(_read(api, change), default=str))
    except (CallError, KeyError) as error:
        return f"unknown: {error}"


def _row(change: Change) -> dict[str, Any]:
    return {
        "rule": change.rule,
        "table": change.table,
        "arn": change.arn,
        "operation": change.operation,
        "parameters": dict(change.parameters),
        "before": dict(change.before),
        "after": None,
        "at": None,
        "outcome": "planned",
    }


def _save(record: Path, document: Mapping[str, Any]) -> None:
    """Whole or not at all: the record outlives whatever stops the command."""
    record.parent.mkdir(parents=True, exist_ok=True)
    draft = record.with_suffix(".tmp")
    draft.write_text(json.dumps(document, indent=2) + "\n")
    draft.replace(record)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
