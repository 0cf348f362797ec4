"""An emulated account with one of everything that the reader reads, and how to look at it."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from emulator import Aws, shared
from support import Json

from holdfast.aws.calls import READ
from holdfast.aws.options import Options
from holdfast.aws.session import Api, apis
from holdfast.kinds.table.live import observed
from holdfast.shared.account import Account, StoreSeen
from holdfast.unknown import Unknown

REGION = "us-east-1"
TAGS = {"Project": "shop", "Owner": "orders-team"}
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
KEY_SCHEMA = [{"AttributeName": "id", "KeyType": "HASH"}]


def api(
    monkeypatch: pytest.MonkeyPatch, endpoint: str, access: str, secret: str = "local", *, token: str | None = None
) -> Api:
    """The door to one account, as the environment's credentials open it."""
    clean(monkeypatch)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", access)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    monkeypatch.setenv("AWS_SESSION_TOKEN", token or shared().secret.value)
    (found,) = apis(Options(regions=(REGION,), endpoint_url=endpoint), READ)
    return found


def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """No credentials, profile or endpoint of whoever runs the tests."""
    for name in [n for n in os.environ if n.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")


def log_in(monkeypatch: pytest.MonkeyPatch, aws: Aws) -> None:
    """The environment's credentials are those of this account, and nothing else of AWS is set."""
    clean(monkeypatch)
    for name, value in aws.credentials.items():
        monkeypatch.setenv(name, value)


def furnish(aws: Aws) -> str:
    """Makes one of everything, and gives the ARN of the customer's key."""
    kms, dynamodb = aws.client("kms"), aws.client("dynamodb")
    key = str(kms.create_key()["KeyMetadata"]["Arn"])
    kms.enable_key_rotation(KeyId=key)
    aws.deploy("Shop", shop(key))
    dynamodb.create_table(**bare("bare"))
    iam = aws.client("iam")
    iam.create_role(RoleName="reader", AssumeRolePolicyDocument=json.dumps(TRUST))
    function(aws, "orders-api", {"TABLE_NAME": "orders", "STALE_TABLE": "no-such-table", "API_KEY": "s3cr3t-value"})
    statement = {"Effect": "Allow", "Action": "dynamodb:GetItem"}
    named = [f"arn:aws:dynamodb:{REGION}:{aws.account}:table/orders/index/*", "arn:aws:dynamodb:*:*:table/*"]
    policy = {"Version": "2012-10-17", "Statement": [statement | {"Resource": named}]}
    iam.put_role_policy(RoleName="reader", PolicyName="orders", PolicyDocument=json.dumps(policy))
    return key


def bare(name: str) -> Json:
    attributes = [{"AttributeName": "id", "AttributeType": "S"}]
    return {
        "TableName": name,
        "KeySchema": KEY_SCHEMA,
        "AttributeDefinitions": attributes,
        "BillingMode": "PAY_PER_REQUEST",
    }


def shop(key: str) -> Json:
    table = {
        "TableName": "orders",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "id", "AttributeType": "S"},
            {"AttributeName": "placed", "AttributeType": "N"},
        ],
        "KeySchema": KEY_SCHEMA,
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "placed-index",
                "KeySchema": [{"AttributeName": "placed", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        "DeletionProtectionEnabled": True,
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 35},
        "SSESpecification": {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": key},
        "StreamSpecification": {"StreamViewType": "NEW_IMAGE"},
        "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True},
        "Tags": [{"Key": k, "Value": v} for k, v in TAGS.items()],
    }
    alarm = {
        "AlarmName": "orders-throttled",
        "Namespace": "AWS/DynamoDB",
        "MetricName": "ReadThrottleEvents",
        "Dimensions": [{"Name": "TableName", "Value": "orders"}],
        "Statistic": "Sum",
        "Period": 300,
        "EvaluationPeriods": 1,
        "Threshold": 1,
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "AlarmActions": [{"Ref": "Topic"}],
    }
    return {
        "Resources": {
            "Orders": {
                "Type": "AWS::DynamoDB::Table",
                "DeletionPolicy": "Retain",
                "UpdateReplacePolicy": "Retain",
                "Properties": table,
            },
            "Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "orders-alarms"}},
            "Alarm": {"Type": "AWS::CloudWatch::Alarm", "Properties": alarm},
        }
    }


def function(aws: Aws, name: str, variables: dict[str, str]) -> None:
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("index.py", "def handler(event, context): return None\n")
    aws.client("lambda").create_function(
        FunctionName=name,
        Runtime="python3.12",
        Handler="index.handler",
        Role=f"arn:aws:iam::{aws.account}:role/reader",
        Code={"ZipFile": code.getvalue()},
        Environment={"Variables": variables},
    )


def wrong(truth: Any, seen: Any, path: str = "") -> Iterator[str]:
    """Where ``seen`` says something else than the truth. Unknown is never wrong, nor are fewer mentions."""
    if isinstance(seen, Unknown):
        return
    if isinstance(truth, Account) and isinstance(seen, Account):
        for name in ("id", "region", "tables", "stacks", "deleted"):
            yield from wrong(getattr(truth, name), getattr(seen, name), name)
        if not isinstance(seen.mentions, Unknown) and not set(seen.mentions) <= set(truth.mentions):  # type: ignore[arg-type]
            yield "mentions"
    elif isinstance(truth, StoreSeen) and isinstance(seen, StoreSeen):
        yield from wrong(observed(truth), observed(seen), f"{path}.observed")
        counted = ("items", "size", "reads", "writes", "indexes")
        for name in ("arn", "status", "owner", "created", "restorable", "without_key", *counted):
            yield from wrong(getattr(truth, name), getattr(seen, name), f"{path}.{name}")
    elif is_dataclass(truth) and type(truth) is type(seen):
        for field in fields(truth):
            yield from wrong(getattr(truth, field.name), getattr(seen, field.name), f"{path}.{field.name}")
    elif isinstance(truth, dict) and isinstance(seen, dict):
        if truth.keys() != seen.keys():
            yield path
        for name in truth.keys() & seen.keys():
            yield from wrong(truth[name], seen[name], f"{path}.{name}")
    elif truth != seen:
        yield f"{path} is {seen!r}, not {truth!r}"
