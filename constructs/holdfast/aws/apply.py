"""Makes the changes of a fix: one by one, waited for, read back, and written down before and after."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.aws import calls, consumers
from holdfast.aws.failure import CallError, Kind
from holdfast.aws.options import Options
from holdfast.aws.session import Api, apis
from holdfast.errors import InputError
from holdfast.files import private_folder, write_private
from holdfast.fix.plan import Change
from holdfast.shared.calls import DECLARED, Call

PATIENCE = 300.0  # seconds; a change of the key takes minutes
OURS = calls.TABLE.replace("table/*", f"table/{DECLARED}")


def _write(operation: str, says: str) -> Call:
    return Call(service="dynamodb", operation=operation, action=f"dynamodb:{operation}", reads=says, resource=OURS)


CHANGES = {
    call.operation: call
    for call in (
        _write("UpdateTable", "a changed table"),
        _write("UpdateContinuousBackups", "changed recovery"),
        _write("UpdateTimeToLive", "changed TTL"),
        _write("TagResource", "changed tags"),
    )
}
# DynamoDB itself asks KMS on behalf of the caller that changes the key of a table, and only so is it allowed.
GRANT = Call(
    service="kms",
    operation="CreateGrant",
    action="kms:CreateGrant",
    reads="the key of the stack",
    resource=calls.KEY,
    condition={"Bool": {"kms:GrantIsForAWSResource": "true"}},
    via="dynamodb",
)
# And it uses the key as that caller.
KEY_USE = Call(
    service="kms",
    operation="GenerateDataKey",
    action="kms:GenerateDataKey*",
    also=("kms:Decrypt", "kms:Encrypt", "kms:ReEncrypt*"),
    reads="the key of the stack",
    resource=calls.KEY,
    via="dynamodb",
)
READ_BACK = (
    calls.IDENTITY,
    calls.DESCRIBE_TABLE,
    calls.BACKUPS,
    calls.TIME_TO_LIVE,
    calls.TABLE_TAGS,
    calls.DESCRIBE_KEY,
)
FIX: tuple[Call, ...] = (*CHANGES.values(), *READ_BACK, *consumers.READ, GRANT, KEY_USE)
PASSING = frozenset({Kind.THROTTLED, Kind.TRANSIENT, Kind.UNREACHABLE})  # a later look may succeed


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
    reached = apis_for(changes, options)
    rows = [_row(c) for c in changes]
    who = {account: api.arn for (account, _), api in reached.items()}
    document = {"version": 1, "command": "fix", "env": env, "who": who, "changes": rows}
    wrong: list[str] = []
    _save(record, document)
    for account, arn in who.items():
        said(f"changing account {account} as {arn or 'an unknown caller'}")
    for number, (change, row) in enumerate(zip(changes, rows, strict=True), start=1):
        api = reached[change.account, change.region]
        row |= {"outcome": "started", "at": _now()}
        _save(record, document)
        lost = False
        try:
            row |= {"outcome": _make(api, change, row, patience)}
        except CallError as failure:
            row |= {"outcome": "failed", "reason": failure.reason}
            wrong.append(f"{change.table}: {change.says}: {failure.reason}")
            lost = failure.kind is Kind.CREDENTIALS
        row |= {"at": _now(), "after": _shown(api, change)}
        _save(record, document)
        outcome = "FAILED" if row["outcome"] == "failed" else row["outcome"]
        said(f"{number}/{len(changes)}  {outcome}  {change.table}: {change.says}")
        if lost:
            return [*wrong, f"{len(changes) - number} of {len(changes)} calls were not tried: log in and run again"]
    return wrong


def apis_for(changes: Iterable[Change], options: Options) -> dict[tuple[str, str], Api]:
    """Those of each account and region that is to be changed, and of no other."""
    wanted = {(c.account, c.region) for c in changes}
    found: dict[tuple[str, str], Api] = {}
    for _, one in options.apart():
        with suppress(InputError):  # whether it is one that is needed shows below
            found |= {place: api for api in apis(one, FIX) if (place := (api.identity(), api.region)) in wanted}
    if missing := sorted(wanted - set(found)):
        raise InputError(f"account {missing[0][0]} in {missing[0][1]} cannot be reached any more: log in again")
    return found


def _make(api: Api, change: Change, row: dict[str, Any], patience: float) -> str:
    """One change, from what is there now: "done", or "already so". CallError where it has not taken."""
    deadline = time.monotonic() + patience
    key = _key(api, change)
    if change.operation == "UpdateTable":
        _until(lambda: _read(api, change)["TableStatus"] == "ACTIVE", deadline)
    shown = _read(api, change)
    row["before"] = _plain(shown)
    if _shows(change, shown, key):
        return "already so"
    if clash := _clash(api, change, shown):
        said = f"changed meanwhile: {clash}; nothing was done, decide which is right"
        raise CallError(CHANGES[change.operation], Kind.OTHER, said)
    try:
        api.call(CHANGES[change.operation], **change.parameters)
    except CallError as failure:
        # A call whose answer was lost is refused when it is made again, because it has taken already.
        try:
            if _shows(change, _read(api, change), key):
                return "done"
        except CallError:
            pass  # the first failure says more
        raise failure from None
    if not _until(lambda: _shows(change, _read(api, change), key), deadline):
        said = f"it was accepted, but had not taken after {patience:.0f} s: look at the table and run again"
        raise CallError(CHANGES[change.operation], Kind.OTHER, said)
    return "done"


def _key(api: Api, change: Change) -> str | None:
    """The ARN of the key that a change asks for by its alias: a table shows no aliases."""
    if "SSESpecification" not in change.parameters:
        return None
    alias = change.parameters["SSESpecification"]["KMSMasterKeyId"]
    found = _described(api, calls.DESCRIBE_KEY, KeyId=alias)
    if found.get("KeyState", "Enabled") != "Enabled" or not found.get("Arn"):
        said = f"the key {alias} cannot be used: it is {found.get('KeyState')}"
        raise CallError(calls.DESCRIBE_KEY, Kind.OTHER, said)
    return str(found["Arn"])


def _clash(api: Api, change: Change, shown: Mapping[str, Any]) -> str | None:
    """What was set since the plan was made, and the change would overwrite."""
    match change.operation:
        case "UpdateTimeToLive" if shown.get("TimeToLiveStatus", "DISABLED") != "DISABLED":
            return f"TTL is {shown['TimeToLiveStatus']} by {shown.get('AttributeName')}"
        case "TagResource":
            wanted = {t["Key"]: t["Value"] for t in change.parameters["Tags"]}
            other = [k for k in wanted if k in shown and shown[k] != wanted[k]]
            return f"the tag {other[0]} is {shown[other[0]]!r}" if other else None
        case "UpdateTable" if "SSESpecification" in change.parameters and shown.get("Key"):
            found = _described(api, calls.DESCRIBE_KEY, KeyId=shown["Key"])
            return f"its key is {shown['Key']}" if found.get("KeyManager") != "AWS" else None
    return None


def _shows(change: Change, shown: Mapping[str, Any], key: str | None) -> bool:
    """Whether the account shows what was asked for."""
    p = change.parameters
    match change.operation:
        case "UpdateContinuousBackups":
            days = p["PointInTimeRecoverySpecification"]["RecoveryPeriodInDays"]
            on = shown.get("PointInTimeRecoveryStatus") == "ENABLED"
            return on and shown.get("RecoveryPeriodInDays") in (None, days)
        case "UpdateTimeToLive":
            on = shown.get("TimeToLiveStatus") in ("ENABLING", "ENABLED")
            return on and shown.get("AttributeName") == p["TimeToLiveSpecification"]["AttributeName"]
        case "TagResource":
            return all(shown.get(t["Key"]) == t["Value"] for t in p["Tags"])
        case _:
            if shown.get("TableStatus") != "ACTIVE":
                return False
            if "SSESpecification" in p:
                return shown.get("Encryption") == "ENABLED" and shown.get("Key") == key
            return shown.get("DeletionProtectionEnabled") is True


def _read(api: Api, change: Change) -> dict[str, Any]:
    """The part of a table that a change is about, as it is now."""
    match change.operation:
        case "UpdateContinuousBackups":
            answer = _described(api, calls.BACKUPS, TableName=change.table)
            return dict(answer.get("PointInTimeRecoveryDescription") or {})
        case "UpdateTimeToLive":
            return _described(api, calls.TIME_TO_LIVE, TableName=change.table)
        case "TagResource":
            pages = api.pages(calls.TABLE_TAGS, ResourceArn=change.arn)
            return {t["Key"]: t["Value"] for page in pages for t in page.get("Tags") or ()}
        case _:
            table = _described(api, calls.DESCRIBE_TABLE, TableName=change.table)
            sse = table.get("SSEDescription") or {}
            return {
                "TableStatus": table.get("TableStatus"),
                "DeletionProtectionEnabled": table.get("DeletionProtectionEnabled", False),
                "Encryption": sse.get("Status"),
                "Key": sse.get("KMSMasterKeyArn"),
            }


def _described(api: Api, call: Call, **parameters: Any) -> dict[str, Any]:
    """The one member that an answer is about."""
    found = api.call(call, **parameters).get(call.member)
    if not isinstance(found, Mapping):
        raise CallError(call, Kind.OTHER, f"{call.operation} answered something that cannot be understood")
    return dict(found)


def _until(done: Callable[[], bool], deadline: float) -> bool:
    """Looks until it is so; a look that fails for good is not repeated."""
    pause = 0.02
    while True:
        try:
            if done():
                return True
        except CallError as failure:
            if failure.kind not in PASSING:
                raise
        if time.monotonic() + pause > deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 2, 5.0)


def _shown(api: Api, change: Change) -> Any:
    try:
        return _plain(_read(api, change))
    except CallError as failure:
        return f"unknown: {failure.reason}"


def _plain(shown: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(shown, default=str))


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
    private_folder(record.parent)
    draft = record.with_suffix(".tmp")
    write_private(draft, json.dumps(document, indent=2) + "\n")
    draft.replace(record)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
