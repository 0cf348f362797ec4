"""The one customer-managed key that a stack makes: when it is needed, when it is kept, and who may use it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from holdfast.cfn.dig import ACCOUNT
from holdfast.estate.placement import Placed
from holdfast.model.facts import Guard
from holdfast.model.regions import partition, suffix, via
from holdfast.shared.logs.groups import log_groups

# Everything that manages a key and nothing that reads data with it; grants can read, so giving them is not in here.
ADMINISTRATION = (
    "CancelKeyDeletion",
    "CreateAlias",
    "DeleteAlias",
    "DescribeKey",
    "DisableKey",
    "DisableKeyRotation",
    "EnableKey",
    "EnableKeyRotation",
    "GetKeyPolicy",
    "GetKeyRotationStatus",
    "ListGrants",
    "ListKeyPolicies",
    "ListKeyRotations",
    "ListResourceTags",
    "PutKeyPolicy",
    "RevokeGrant",
    "ScheduleKeyDeletion",
    "TagResource",
    "UntagResource",
    "UpdateAlias",
    "UpdateKeyDescription",
)
USE = ("Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey*", "ReEncrypt*")


def needs_key(placed: Placed) -> bool:
    """Personal data needs a key, and an alarm topic, because CloudWatch cannot publish through AWS's own.

    So does any store other than a table: logs and generated secrets stand beside it.
    """
    tables = any(Guard.CUSTOMER_KEY in placed.required(t) for t in placed.tables)
    return bool(placed.stores or placed.key_users) or placed.alarmed or tables


def keeps_key(placed: Placed) -> bool:
    """A key stays with the tables and stores that cannot be read without it."""
    return any(
        Guard.CUSTOMER_KEY | Guard.RETAIN in p.required(t) for p in _users(placed) for t in (*p.tables, *p.stores)
    )


def _users(placed: Placed) -> tuple[Placed, ...]:
    """The users of the key that a stack makes: itself, and the stacks that share it."""
    return (placed, *placed.key_users)


def key_policy(placed: Placed) -> dict[str, Any]:
    """The account may administer the key, and use it only through the services of the stacks that have it."""
    users = _users(placed)
    stores = [store for p in users for store in p.stores]
    statements = [_allow("AdministeredByTheAccount", _account(placed), ADMINISTRATION)]
    if any(p.tables for p in users):
        statements.append(_through(placed, "UsedThroughDynamoDBOnly", "dynamodb"))
    if stores:
        services = sorted({s for store in stores for s in store.key_services})
        statements.append(_through(placed, "UsedThroughTheStoresOnly", *services))
        written = [name for p in users if p.stores for name in _written(p)]
        statements.append(_logs(placed, "LogsOfTheStores", "ArnLike", written))
    if any(p.alarmed for p in users):
        statements.append(
            _allow(
                "AlarmsPublishToTheTopic",
                {"Service": "cloudwatch.amazonaws.com"},
                ("Decrypt", "GenerateDataKey*"),
                {"StringEquals": {"aws:SourceAccount": ACCOUNT}},
            )
        )
    if names := [f"/aws/lambda/{p.fill(x.name)}" for p in users for x in p.stack.processors]:
        statements.append(_logs(placed, "LogsOfTheStreamProcessor", "ArnEquals", names))
    return {"Version": "2012-10-17", "Statement": statements}


def _written(placed: Placed) -> Iterator[str]:
    """The names of log groups: our own folder, and those that engines choose themselves."""
    yield f"{log_groups(placed)}/*"
    for store in placed.stores:
        yield from store.engine_logs(placed.fill(store.name))


def _account(placed: Placed) -> dict[str, Any]:
    return {"AWS": {"Fn::Join": ["", [f"arn:{partition(placed.region)}:iam::", ACCOUNT, ":root"]]}}


def _through(placed: Placed, sid: str, *services: str) -> dict[str, Any]:
    """The account may use the key, but only by way of a service that holds its data."""
    condition = {"StringEquals": {"kms:CallerAccount": ACCOUNT, "kms:ViaService": via(placed.region, *services)}}
    return _allow(sid, _account(placed), (*USE, "CreateGrant"), condition)


def _logs(placed: Placed, sid: str, operator: str, names: Iterable[str]) -> dict[str, Any]:
    """CloudWatch Logs may use the key for these groups, and for no other."""
    start = f"arn:{partition(placed.region)}:logs:{placed.region}:"
    arns = [{"Fn::Join": ["", [start, ACCOUNT, f":log-group:{name}"]]} for name in names]
    condition = {operator: {"kms:EncryptionContext:aws:logs:arn": arns}}
    return _allow(sid, {"Service": f"logs.{placed.region}.{suffix(placed.region)}"}, USE, condition)


def _allow(
    sid: str, principal: dict[str, Any], actions: tuple[str, ...], condition: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "Sid": sid,
        "Effect": "Allow",
        "Principal": principal,
        "Action": [f"kms:{a}" for a in sorted(actions)],
        "Resource": "*",
        **({"Condition": condition} if condition else {}),
    }
