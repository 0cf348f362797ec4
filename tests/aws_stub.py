"""An account with as many tables as one likes: a small, quick server that answers what the reader asks.

`python aws_stub.py TABLES SECONDS` serves on a free loopback port, which it prints, and answers after SECONDS.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

ACCOUNT, REGION, PAGE = "000000000000", "us-east-1", 100
DAY = 86_400
JSON_TYPE, XML_TYPE = "application/x-amz-json-1.0", "text/xml"
EMPTY = {  # the query protocol, with nothing to tell
    "DescribeStacks": "<Stacks/>",
    "ListStacks": "<StackSummaries/>",
    "ListTopics": "<Topics/>",
    "GetAccountAuthorizationDetails": "<IsTruncated>false</IsTruncated>",
    "GetCallerIdentity": f"<Account>{ACCOUNT}</Account><Arn>arn:aws:iam::{ACCOUNT}:root</Arn><UserId>x</UserId>",
}


@contextmanager
def stub(tables: int, latency: float = 0.0) -> Iterator[str]:
    """The endpoint of a stub in its own process."""
    command = [sys.executable, __file__, str(tables), str(latency)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait(timeout=60)
        process.stdout.close()


# What the tables are like, by their number: a test computes the same.


def name(n: int) -> str:
    return f"table-{n:05}"


def arn(n: int) -> str:
    return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name(n)}"


def protected(n: int) -> bool:
    return n % 2 == 0


def recoverable(n: int) -> bool:
    return n % 3 == 0


def expires(n: int) -> bool:
    return n % 5 == 0


def tagged(n: int) -> bool:
    return n % 50 != 0


def key_arn(n: int) -> str | None:
    return f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{n % 7}" if n % 4 == 0 else None


def describe(n: int) -> dict[str, Any]:
    indexes = [
        {
            "IndexName": f"{attribute}-index",
            "KeySchema": [{"AttributeName": attribute, "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
            "IndexStatus": "ACTIVE",
            "ItemCount": n,
            "IndexSizeBytes": 10 * n,
            "IndexArn": f"{arn(n)}/index/{attribute}-index",
            "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0, "NumberOfDecreasesToday": 0},
        }
        for attribute in ("owner", "state")
    ]
    key = key_arn(n)
    return {
        "TableName": name(n),
        "TableArn": arn(n),
        "TableId": f"00000000-0000-0000-0000-{n:012}",
        "TableStatus": "ACTIVE",
        "CreationDateTime": 1_760_000_000.5 + n,
        "ItemCount": n,
        "TableSizeBytes": 100 * n,
        "AttributeDefinitions": [{"AttributeName": a, "AttributeType": "S"} for a in ("id", "owner", "state")],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
        "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0, "NumberOfDecreasesToday": 0},
        "DeletionProtectionEnabled": protected(n),
        "GlobalSecondaryIndexes": indexes,
        **({"SSEDescription": {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": key}} if key else {}),
    }


def tags(n: int) -> list[dict[str, str]]:
    return [{"Key": "Project", "Value": "stub"}, {"Key": "Name", "Value": name(n)}] if tagged(n) else []


class Account:
    def __init__(self, tables: int) -> None:
        self.numbers = {name(n): n for n in range(tables)}
        self.names = list(self.numbers)
        self.calls: dict[str, int] = {}

    def answer(self, operation: str, body: bytes) -> tuple[int, str, bytes]:
        self.calls[operation] = self.calls.get(operation, 0) + 1
        if operation == "Calls":
            return 200, JSON_TYPE, json.dumps(self.calls).encode()
        if operation in EMPTY:
            text = (
                f"<{operation}Response><{operation}Result>{EMPTY[operation]}</{operation}Result></{operation}Response>"
            )
            return 200, XML_TYPE, text.encode()
        asked = json.loads(body) if body else {}
        status, found = self.json(operation, asked)
        return status, JSON_TYPE, json.dumps(found).encode()

    def json(self, operation: str, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        table = asked.get("TableName") or str(asked.get("ResourceArn", "")).rpartition("/")[2]
        n = self.numbers.get(table, 0)
        match operation:
            case "ListTables":
                start = asked.get("ExclusiveStartTableName")
                first = self.numbers[start] + 1 if start else 0
                page = self.names[first : first + PAGE]
                more = first + PAGE < len(self.names)
                return 200, {"TableNames": page, **({"LastEvaluatedTableName": page[-1]} if more else {})}
            case "DescribeTable":
                return 200, {"Table": describe(n)}
            case "DescribeContinuousBackups":
                pitr = {"PointInTimeRecoveryStatus": "ENABLED", "RecoveryPeriodInDays": 35}
                pitr |= {"EarliestRestorableDateTime": 0}
                status = pitr if recoverable(n) else {"PointInTimeRecoveryStatus": "DISABLED"}
                found = {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": status}
                return 200, {"ContinuousBackupsDescription": found}
            case "DescribeTimeToLive":
                on = {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}
                return 200, {"TimeToLiveDescription": on if expires(n) else {"TimeToLiveStatus": "DISABLED"}}
            case "GetResourcePolicy":
                return 400, {"__type": "com.amazonaws.dynamodb.v20120810#PolicyNotFoundException", "message": "none"}
            case "ListTagsOfResource":
                return 200, {"Tags": tags(n)}
            case "GetResources":
                first, known = int(asked.get("PaginationToken") or 0), [i for i in self.numbers.values() if tagged(i)]
                page_of = [{"ResourceARN": arn(i), "Tags": tags(i)} for i in known[first : first + PAGE]]
                token = str(first + PAGE) if first + PAGE < len(known) else ""
                return 200, {"ResourceTagMappingList": page_of, "PaginationToken": token}
            case "DescribeKey":
                data = {"KeyId": "k", "Arn": asked["KeyId"], "KeyManager": "CUSTOMER", "KeyState": "Enabled"}
                return 200, {"KeyMetadata": data}
            case "GetKeyRotationStatus":
                return 200, {"KeyRotationEnabled": True}
            case "GetKeyPolicy":
                return 200, {"Policy": json.dumps({"Version": "2012-10-17", "Statement": []})}
            case "DescribeAlarms":
                return 200, {"MetricAlarms": []}
            case "GetMetricData":
                ids, end = [query["Id"] for query in asked["MetricDataQueries"]], asked["EndTime"]
                units = {"Timestamps": [end - 20 * DAY, end - DAY], "Values": [2.0, 1.0], "StatusCode": "Complete"}
                return 200, {"MetricDataResults": [{"Id": i, **units} for i in ids]}
            case "ListFunctions":
                return 200, {"Functions": []}
            case "ListEventSourceMappings":
                return 200, {"EventSourceMappings": []}
        return 400, {"__type": "UnknownOperationException", "message": operation}


def operation(head: str, body: bytes) -> str:
    """The operation that a request asks for, in whichever protocol its service speaks."""
    path = head.split(" ", 2)[1].partition("?")[0]
    if found := re.search(r"(?im)^x-amz-target: *\S+\.(\w+)", head):
        return found[1]
    if path == "/calls":
        return "Calls"
    if "/functions" in path or "/event-source-mappings" in path:
        return "ListFunctions" if "/functions" in path else "ListEventSourceMappings"
    action = re.search(rb"(?:^|&)Action=(\w+)", body)
    return action[1].decode() if action else "Unknown"


class Server(asyncio.Protocol):
    def __init__(self, account: Account, latency: float) -> None:
        self.account, self.latency, self.buffer = account, latency, b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].decode("latin-1")
            length = re.search(r"(?i)content-length: *(\d+)", head)
            size = int(length[1]) if length else 0
            if len(self.buffer) < end + 4 + size:
                return
            body, self.buffer = self.buffer[end + 4 : end + 4 + size], self.buffer[end + 4 + size :]
            status, kind, text = self.account.answer(operation(head, body), body)
            start = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(text)}\r\n\r\n"
            asyncio.get_running_loop().call_later(self.latency, self.transport.write, start.encode() + text)


async def main(tables: int, latency: float) -> None:
    account = Account(tables)
    server = await asyncio.get_running_loop().create_server(lambda: Server(account, latency), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
