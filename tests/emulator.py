"""One emulator for all tests; each test that asks gets an account of its own in it, so none sees another's tables."""

from __future__ import annotations

import atexit
import functools
import itertools
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from support import Json

from holdfast.local import process
from holdfast.local.client import Client

QUICK = Config(retries={"max_attempts": 1, "mode": "standard"}, proxies={}, parameter_validation=False)

_numbers = itertools.count(100_000_000_001)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aws:
    """An account of the emulator, empty at first. Its id is the access key: that is how ministack tells accounts."""

    emulator: process.Running
    account: str

    @property
    def endpoint(self) -> str:
        return self.emulator.endpoint

    @property
    def credentials(self) -> dict[str, str]:
        """What opens this account, as environment variables."""
        return {
            "AWS_ACCESS_KEY_ID": self.account,
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_SESSION_TOKEN": self.emulator.secret.value,
        }

    def client(self, service: str, region: str = "us-east-1") -> Any:
        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=region,
            aws_access_key_id=self.account,
            aws_secret_access_key="local",
            aws_session_token=self.emulator.secret.value,
            config=QUICK,
        )

    def environment(self, region: str = "us-east-1") -> dict[str, str]:
        """What sends every AWS client to this account, and to nothing else."""
        return {
            **self.credentials,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_DEFAULT_REGION": region,
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "127.0.0.1",
        }

    def deploy(self, name: str, template: Json, region: str = "us-east-1") -> None:
        """A stack, created or changed; InputError with CloudFormation's reason when it fails."""
        Client(emulator=self.emulator, account=self.account).deploy(name, template, region)

    def deploy_assembly(self, outdir: Path) -> None:
        """Every stack of a CDK output folder, without the CLI."""
        Client(emulator=self.emulator, account=self.account).deploy_assembly(outdir)


@contextmanager
def emulator(folder: Path, *, env: Mapping[str, str] | None = None) -> Iterator[process.Running]:
    """An emulator on any free port, without a state on disk; it ends with the tests, even when they are killed."""
    ready, log = folder / "emulator.json", folder / "emulator.log"
    with log.open("w") as output:
        started = subprocess.Popen(
            process.command(ready, attached=True),
            env={**process.own_environment(), **(env or {})},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
        )
    try:
        yield process.wait(started, ready, log)
    finally:
        started.terminate()
        started.wait(timeout=60)
        if started.stdin:
            started.stdin.close()


@functools.cache
def shared() -> process.Running:
    """The one emulator of this test run, started when the first test asks."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(emulator(Path(stack.enter_context(tempfile.TemporaryDirectory()))))


def fresh_account() -> Aws:
    """An empty account, of which no other test knows."""
    return Aws(emulator=shared(), account=str(next(_numbers)))


KEY = {"AttributeName": "id", "KeyType": "HASH"}


def template(**changed: Any) -> Json:
    """A table with everything that Holdfast declares; None takes a property away."""
    properties: Json = {
        "TableName": "orders",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": attributes("id", "customer"),
        "KeySchema": [KEY],
        "GlobalSecondaryIndexes": [index("customer")],
        "DeletionProtectionEnabled": True,
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 21},
        "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expires"},
        "SSESpecification": {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": {"Fn::GetAtt": ["Key", "Arn"]}},
        "StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"},
        "Tags": [{"Key": "Owner", "Value": "shop"}],
    }
    properties = {k: v for k, v in {**properties, **changed}.items() if v is not None}
    table = {"Type": "AWS::DynamoDB::Table", "DeletionPolicy": "Retain", "Properties": properties}
    return {"Resources": {"Key": {"Type": "AWS::KMS::Key", "Properties": {"KeyPolicy": {}}}, "Table": table}}


def attributes(*names: str) -> list[Json]:
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def index(attribute: str) -> Json:
    key = {"AttributeName": attribute, "KeyType": "HASH"}
    return {"IndexName": f"{attribute}-index", "KeySchema": [key], "Projection": {"ProjectionType": "ALL"}}


def seen(aws: Aws, name: str = "orders", region: str = "us-east-1") -> Json:
    """What the API says of a table."""
    api = aws.client("dynamodb", region)
    table = api.describe_table(TableName=name)["Table"]
    recovery = api.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    tags = api.list_tags_of_resource(ResourceArn=table["TableArn"])["Tags"]
    return {
        **table,
        "Recovery": recovery["PointInTimeRecoveryDescription"],
        "Expiry": api.describe_time_to_live(TableName=name)["TimeToLiveDescription"],
        "Tags": {t["Key"]: t["Value"] for t in tags if not t["Key"].startswith("aws:")},
    }


def drift(aws: Aws) -> dict[str, set[str]]:
    """The properties that are not as deployed, by logical id."""
    formation = aws.client("cloudformation")
    detection = formation.detect_stack_drift(StackName="shop")["StackDriftDetectionId"]
    deadline = time.monotonic() + 60
    while (
        formation.describe_stack_drift_detection_status(StackDriftDetectionId=detection)["DetectionStatus"]
        == "DETECTION_IN_PROGRESS"
    ):
        assert time.monotonic() < deadline
    found = formation.describe_stack_resource_drifts(StackName="shop")["StackResourceDrifts"]
    return {
        d["LogicalResourceId"]: {p["PropertyPath"] for p in d["PropertyDifferences"]}
        for d in found
        if d["StackResourceDriftStatus"] == "MODIFIED"
    }


def ends(aws: Aws, stack: str) -> str:
    formation, deadline = aws.client("cloudformation"), time.monotonic() + 60
    while True:
        (found,) = [s for s in formation.list_stacks()["StackSummaries"] if s["StackName"] == stack]
        if not found["StackStatus"].endswith("_IN_PROGRESS"):
            return str(found["StackStatus"])
        assert time.monotonic() < deadline
