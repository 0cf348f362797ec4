"""How long it takes to read an account, against the plain ways to do so, with the same result.

A stub account answers every call after 20 ms, as AWS does from nearby, and takes no notice of rates; the emulator is
asked as well, for few tables. Everybody asks for the same: each table, its recovery, expiry, resource policy and tags,
and each key. Ours also asks for what else an audit needs: stacks, alarms, index reads, functions and policies.

  ours            holdfast.live, as `holdfast audit` runs it: 12 threads for each of four operations
  boto3 loop      one call after the other
  boto3 threads   a pool of 32 threads, one table each

Each runs in a process of its own, start-up included; CPU is that process's. The floor is what calls and latency alone
would take at so many calls at a time. `--loop N` sets up to how many tables the loop runs, `--custodian PATH` adds
Cloud Custodian, if PATH is its executable: it reads tables, recovery and tags only.

Of AWS itself this says nothing: it allows ten DescribeContinuousBackups a second, so 2,000 tables take 200 s there,
every caller. Ours goes as fast as it is let, operation by operation.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "constructs"), str(ROOT), str(ROOT / "tests")]
LATENCY, REGION, THREADS = 0.02, "us-east-1", 32
AT_ONCE = {"ours": 48, "boto3 loop": 1, "boto3 threads": THREADS}
Result = dict[str, list[Any]]


def ours(endpoint: str) -> Result:
    from datetime import UTC, datetime

    from holdfast.aws.options import Options
    from holdfast.aws.reader import read_all
    from holdfast.kinds.table.live import observed
    from holdfast.shared.key.observed import ObservedKey
    from holdfast.unknown import Unknown

    (account,) = read_all(Options(regions=(REGION,), endpoint_url=endpoint), now=datetime.now(UTC))
    assert not isinstance(account.tables, Unknown)
    assert account.unreadable == (), account.unreadable
    found: Result = {}
    for name, seen in account.tables.items():
        o = observed(seen)
        key = [o.encryption.where, o.encryption.rotation] if isinstance(o.encryption, ObservedKey) else None
        assert not isinstance(o.tags, Unknown)
        assert not isinstance(o.extras, Unknown)
        found[name] = [o.deletion_protection, o.recovery, o.ttl, "ResourcePolicy" in o.extras, dict(o.tags), key]
    return found


class Plain:
    """What one writes without thinking about it; as quick as boto3 is."""

    def __init__(self, endpoint: str, threads: int) -> None:
        import boto3
        from botocore.config import Config

        config = Config(max_pool_connections=max(10, threads))
        self.dynamodb, self.kms = (
            boto3.client(service, endpoint_url=endpoint, region_name=REGION, config=config)
            for service in ("dynamodb", "kms")
        )
        self.account = boto3.client("sts", endpoint_url=endpoint, region_name=REGION).get_caller_identity()["Account"]
        self.threads = threads

    def read(self) -> Result:
        pages = self.dynamodb.get_paginator("list_tables").paginate()
        names = [name for page in pages for name in page["TableNames"]]
        if self.threads == 1:
            found = {name: self.table(name) for name in names}
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                found = dict(zip(names, pool.map(self.table, names), strict=True))
        keys = {row[5]: self.key(row[5]) for row in found.values() if row[5]}
        return {name: [*row[:5], keys.get(row[5])] for name, row in found.items()}

    def table(self, name: str) -> list[Any]:
        d = self.dynamodb
        table = d.describe_table(TableName=name)["Table"]
        backups = d.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
        ttl = d.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        tags = d.list_tags_of_resource(ResourceArn=table["TableArn"])["Tags"]
        try:
            policy = bool(d.get_resource_policy(ResourceArn=table["TableArn"])["Policy"])
        except d.exceptions.PolicyNotFoundException:
            policy = False
        return [
            table.get("DeletionProtectionEnabled", False),
            backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED",
            ttl.get("AttributeName") if ttl["TimeToLiveStatus"] == "ENABLED" else None,
            policy,
            {t["Key"]: t["Value"] for t in tags},
            table.get("SSEDescription", {}).get("KMSMasterKeyArn"),
        ]

    def key(self, arn: str) -> list[Any]:
        self.kms.describe_key(KeyId=arn)
        self.kms.get_key_policy(KeyId=arn, PolicyName="default")
        return [arn, self.kms.get_key_rotation_status(KeyId=arn)["KeyRotationEnabled"]]


WAYS: dict[str, Callable[[str], Result]] = {
    "ours": ours,
    "boto3 loop": lambda endpoint: Plain(endpoint, 1).read(),
    "boto3 threads": lambda endpoint: Plain(endpoint, THREADS).read(),
}


def measure(command: list[str], endpoint: str, token: str) -> tuple[float, float, str]:
    """Seconds on the clock and of CPU, and what was printed."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")} | {
        "AWS_ACCESS_KEY_ID": "000000000000",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_SESSION_TOKEN": token,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": endpoint,
    }
    with tempfile.TemporaryFile("w+") as output:
        started = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
        output.seek(0)
        return wall, usage.ru_utime + usage.ru_stime, output.read()


def calls(endpoint: str) -> int:
    with urllib.request.urlopen(f"{endpoint}/calls") as answer:
        counted: dict[str, int] = json.load(answer)
    return sum(n for name, n in counted.items() if name != "Calls")


@contextmanager
def emulated(tables: int) -> Iterator[tuple[str, str]]:
    import emulator

    with tempfile.TemporaryDirectory() as folder, emulator.emulator(Path(folder)) as running:
        aws = emulator.Aws(emulator=running, account="000000000000")
        for n in range(tables):
            aws.client("dynamodb").create_table(
                TableName=f"table-{n}",
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
                Tags=[{"Key": "Project", "Value": "bench"}],
            )
        yield running.endpoint, running.secret.value


@contextmanager
def stubbed(tables: int) -> Iterator[tuple[str, str]]:
    import aws_stub

    with aws_stub.stub(tables, LATENCY) as endpoint:
        yield endpoint, "any"


CUSTODIAN = {
    "policies": [
        {
            "name": "tables",
            "resource": "aws.dynamodb-table",
            "filters": [{"type": "continuous-backup", "key": "ContinuousBackupsStatus", "value": "present"}],
        }
    ]
}


def custodian(executable: str, folder: Path) -> list[str]:
    policy = folder / "policy.json"
    policy.write_text(json.dumps(CUSTODIAN))
    return [executable, "run", "--cache-period", "0", "-s", str(folder / "out"), "--region", REGION, str(policy)]


def show(tables: int, ways: dict[str, list[str]], *, on_emulator: bool) -> None:
    place = "emulator" if on_emulator else f"stub, {LATENCY * 1000:.0f} ms"
    print(f"\n{tables} tables ({place})")
    print("                        wall s    CPU s   calls   a table   floor s")
    truth: Result | None = None
    for way, command in ways.items():
        account = emulated(tables) if on_emulator else stubbed(tables)
        with account as (endpoint, token):
            wall, cpu, printed = measure([*command, *([endpoint] if way in WAYS else [])], endpoint, token)
            made = 0 if on_emulator else calls(endpoint)
        if way in WAYS:
            result = json.loads(printed)
            assert len(result) == tables
            truth = truth or result
            assert result == truth, f"{way} does not see what {next(iter(ways))} sees"
        floor = f"{made * LATENCY / AT_ONCE[way]:10.1f}" if way in AT_ONCE else ""
        counted = f"{made:8}{made / tables:10.2f}{floor}" if made else ""
        print(f"  {way:18} {wall:9.1f} {cpu:8.1f}{counted}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="reading an account: ours against the plain ways")
    parser.add_argument("--loop", type=int, default=500, metavar="N", help="largest account that the loop reads")
    parser.add_argument("--tables", type=int, nargs="*", default=[50, 500, 2_000, 10_000])
    parser.add_argument("--custodian", metavar="PATH", help="Cloud Custodian's executable")
    parser.add_argument("--run", nargs=2, metavar=("WAY", "ENDPOINT"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        print(json.dumps(WAYS[args.run[0]](args.run[1])))
        return
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f} at the start")
    itself = {way: [sys.executable, __file__, "--run", way] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        if args.custodian:
            itself["Cloud Custodian"] = custodian(args.custodian, Path(folder))
        show(50, {way: itself[way] for way in WAYS}, on_emulator=True)
        for tables in args.tables:
            left_out = {"boto3 loop"} if tables > args.loop else set()
            left_out |= {"boto3 threads", "Cloud Custodian"} if tables > 2_000 else set()
            show(tables, {w: c for w, c in itself.items() if w not in left_out}, on_emulator=False)


if __name__ == "__main__":
    main()
