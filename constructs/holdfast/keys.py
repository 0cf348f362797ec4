"""The one customer-managed key of a stack: when it is needed, when it is kept, and who may use it."""

from __future__ import annotations

from typing import Any

from holdfast.catalog import Placed
from holdfast.model import Guard

ACCOUNT = {"Ref": "AWS::AccountId"}
ROOT = {"Fn::Join": ["", ["arn:aws:iam::", ACCOUNT, ":root"]]}

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
    """Personal data needs a key; so does an alarm topic, because CloudWatch cannot publish through AWS's own."""
    return placed.alarmed or any(Guard.CUSTOMER_KEY in placed.required(t) for t in placed.tables)


def keeps_key(placed: Placed) -> bool:
    """A key stays with the tables that cannot be read without it."""
    return any(Guard.CUSTOMER_KEY | Guard.RETAIN in placed.required(t) for t in placed.tables)


def key_policy(placed: Placed) -> dict[str, Any]:
    """The account may administer the key, and use it only through the services of its stack."""
    through_dynamodb = {
        "kms:CallerAccount": ACCOUNT,
        "kms:ViaService": f"dynamodb.{placed.region}.amazonaws.com",
    }
    statements = [
        _allow("AdministeredByTheAccount", {"AWS": ROOT}, ADMINISTRATION),
        _allow("UsedThroughDynamoDBOnly", {"AWS": ROOT}, (*USE, "CreateGrant"), {"StringEquals": through_dynamodb}),
    ]
    if placed.alarmed:
        statements.append(
            _allow(
                "AlarmsPublishToTheTopic",
                {"Service": "cloudwatch.amazonaws.com"},
                ("Decrypt", "GenerateDataKey*"),
                {"StringEquals": {"aws:SourceAccount": ACCOUNT}},
            )
        )
    if placed.stack.processors:
        groups = [f":log-group:/aws/lambda/{placed.fill(p.name)}" for p in placed.stack.processors]
        arns = [{"Fn::Join": ["", [f"arn:aws:logs:{placed.region}:", ACCOUNT, group]]} for group in groups]
        statements.append(
            _allow(
                "LogsOfTheStreamProcessor",
                {"Service": f"logs.{placed.region}.amazonaws.com"},
                USE,
                {"ArnEquals": {"kms:EncryptionContext:aws:logs:arn": arns}},
            )
        )
    return {"Version": "2012-10-17", "Statement": statements}


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
