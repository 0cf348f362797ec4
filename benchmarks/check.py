"""How check grows: CPU seconds to judge 1,000 and 5,000 generated tables, templates made directly, no synth.

python -m benchmarks.check
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterator
from datetime import date
from typing import Any

from holdfast import Data, Durable, Estate, Stack, Table, gsi, key
from holdfast.cfn.template import StackSeen
from holdfast.estate.placement import Placed
from holdfast.garbage import uncollected
from holdfast.kinds.table.alarms import table_alarms
from holdfast.rules import ACTIONABLE, judge
from holdfast.shared.alarms.alarm import topic_policy
from holdfast.shared.key.policy import key_policy
from stacks import environments

PER_STACK = 20  # CloudFormation takes 500 resources, and each table brings its alarms
SIZES = (1_000, 5_000)
RUNS = 2  # the better one counts: other work on the machine costs CPU, too
TODAY = date(2026, 11, 16)


def stacks(count: int) -> Iterator[Stack]:
    """As many tables as asked for, PER_STACK in each stack."""
    for start in range(0, count, PER_STACK):
        tables = tuple(_table(f"orders-{n:05}") for n in range(start, min(start + PER_STACK, count)))
        yield Stack(
            id=f"Orders{start // PER_STACK:04}",
            system="orders",
            owner="orders-team",
            tables=tables,
            environments=(environments.PROD,),
        )


def _table(name: str) -> Table:
    return Table(
        name=name,
        purpose="Orders.",
        key=key("id", "placedAt"),
        lifetime=Durable(),
        data=Data.PERSONAL,
        indexes=(gsi("customer", "placedAt"),),
    )


def template(placed: Placed) -> dict[str, Any]:
    """What the construct would make, as far as rules look."""
    made: dict[str, Any] = {
        "Key": {
            "Type": "AWS::KMS::Key",
            "Properties": {"EnableKeyRotation": True, "KeyPolicy": key_policy(placed)},
            "DeletionPolicy": "Retain",
            "UpdateReplacePolicy": "Retain",
        },
        "Alias": {
            "Type": "AWS::KMS::Alias",
            "Properties": {"AliasName": f"alias/{placed.id}", "TargetKeyId": {"Fn::GetAtt": ["Key", "Arn"]}},
        },
        "Topic": {"Type": "AWS::SNS::Topic", "Properties": {"KmsMasterKeyId": {"Fn::GetAtt": ["Key", "Arn"]}}},
        "TopicPolicy": {
            "Type": "AWS::SNS::TopicPolicy",
            "Properties": {"PolicyDocument": topic_policy({"Ref": "Topic"}), "Topics": [{"Ref": "Topic"}]},
        },
    }
    for table in placed.tables:
        name = placed.fill(table.name)
        made[f"{table.id}Table"] = _resource(placed, table, name)
        for n, alarm in enumerate(table_alarms(table, name)):
            properties = alarm.properties("", {}) | {"AlarmActions": [{"Ref": "Topic"}]}
            made[f"{table.id}Alarm{n}"] = {"Type": "AWS::CloudWatch::Alarm", "Properties": properties}
    return {"Resources": made}


def _resource(placed: Placed, table: Table, name: str) -> dict[str, Any]:
    schema = [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "placedAt", "KeyType": "RANGE"}]
    by_customer = [{"AttributeName": "customer", "KeyType": "HASH"}, schema[1]]
    tags = placed.tags | placed.table_tags(table)
    return {
        "Type": "AWS::DynamoDB::Table",
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
        "Properties": {
            "TableName": name,
            "KeySchema": schema,
            "AttributeDefinitions": [{"AttributeName": a.name, "AttributeType": "S"} for a in table.attributes],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": table.indexes[0].name,
                    "KeySchema": by_customer,
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            "BillingMode": "PAY_PER_REQUEST",
            "DeletionProtectionEnabled": True,
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 35},
            "SSESpecification": {
                "SSEEnabled": True,
                "SSEType": "KMS",
                "KMSMasterKeyId": {"Fn::GetAtt": ["Key", "Arn"]},
            },
            "Tags": [{"Key": k, "Value": v} for k, v in tags.items()],
        },
    }


def measure(count: int) -> float:
    """CPU seconds for ``count`` tables, from the text of the templates to the findings."""
    declared = tuple(stacks(count))
    places = [Placed(s, environments.PROD) for s in declared]
    texts = {p.id: json.dumps(template(p)) for p in places}
    gc.collect()
    start = time.process_time()
    with uncollected():  # as `holdfast check` does
        seen = [
            StackSeen(
                id=p.id, where=p.id, template=json.loads(texts[p.id]), name=p.name, region=p.region, protected=True
            )
            for p in places
        ]
        findings = judge(
            Estate(name="orders", environments=(environments.PROD,), stacks=tuple(declared)),
            seen,
            [environments.PROD],
            today=TODAY,
        )
        spent = time.process_time() - start
    wrong = [f for f in findings if f.outcome in ACTIONABLE]
    assert not wrong, wrong[0]
    return spent


def main() -> None:
    measure(PER_STACK)  # imports and first calls do not count as growth
    spent = {count: min(measure(count) for _ in range(RUNS)) for count in SIZES}
    for count, seconds in spent.items():
        print(f"{count:,} tables: {seconds:.2f} s CPU, {seconds / count * 1000:.2f} ms each")
    print(f"ratio: {spent[SIZES[1]] / spent[SIZES[0]]:.2f} for {SIZES[1] / SIZES[0]:.0f} times the tables")


if __name__ == "__main__":
    main()
