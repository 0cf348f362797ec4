"""The one customer-managed key of a stack."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from holdfast.catalog import Placed
from holdfast.model import Guard

# Everything that manages a key and nothing that reads data with it.
ADMINISTRATION = [
    f"kms:{action}"
    for action in (
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
]
USE = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"]


def needs_key(placed: Placed) -> bool:
    """Personal data needs a key; so does an alarm topic, because CloudWatch cannot publish through AWS's own."""
    return placed.alarmed or any(Guard.CUSTOMER_KEY in placed.required(t) for t in placed.tables)


def stack_key(scope: Construct, placed: Placed) -> kms.Key:
    """A rotated key that this account may administer, and use only through the services of its stack."""
    retained = any(
        Guard.CUSTOMER_KEY in guards and Guard.RETAIN in guards for guards in map(placed.required, placed.tables)
    )
    account = iam.AccountRootPrincipal()
    this_account = {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}
    statements = [
        iam.PolicyStatement(
            sid="AdministeredByTheAccount", principals=[account], actions=ADMINISTRATION, resources=["*"]
        ),
        iam.PolicyStatement(
            sid="UsedThroughDynamoDBOnly",
            principals=[account],
            actions=[*USE, "kms:CreateGrant"],
            resources=["*"],
            conditions={
                "StringEquals": {
                    "kms:CallerAccount": cdk.Aws.ACCOUNT_ID,
                    "kms:ViaService": f"dynamodb.{placed.region}.amazonaws.com",
                }
            },
        ),
    ]
    if placed.alarmed:
        statements.append(
            iam.PolicyStatement(
                sid="AlarmsPublishToTheTopic",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                resources=["*"],
                conditions={"StringEquals": this_account},
            )
        )
    if placed.stack.processors:
        logs = f"arn:{cdk.Aws.PARTITION}:logs:{placed.region}:{cdk.Aws.ACCOUNT_ID}:log-group:/aws/lambda/"
        names = [placed.fill(p.name) for p in placed.stack.processors]
        statements.append(
            iam.PolicyStatement(
                sid="LogsOfTheStreamProcessor",
                principals=[iam.ServicePrincipal(f"logs.{placed.region}.amazonaws.com")],
                actions=USE,
                resources=["*"],
                conditions={"ArnEquals": {"kms:EncryptionContext:aws:logs:arn": [logs + name for name in names]}},
            )
        )
    return kms.Key(
        scope,
        "Key",
        description=f"Personal data and alarms of {placed.name}",
        alias=f"alias/holdfast/{placed.id}",
        enable_key_rotation=True,
        policy=iam.PolicyDocument(statements=statements),
        removal_policy=cdk.RemovalPolicy.RETAIN if retained else cdk.RemovalPolicy.DESTROY,
    )
