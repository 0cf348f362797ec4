"""Alarms of a table, on metrics that DynamoDB really publishes.

Throttles exist per table and per index, latency and system errors only per table and operation; UserErrors has no
TableName at all. Item count and size are not metrics: they are read from DescribeTable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from holdfast.estate.placement import Placed
from holdfast.kinds.table.declaration import Table
from holdfast.policy.required import DEFAULT, Thresholds
from holdfast.shared.alarms.alarm import PERIOD, Alarm, Metric, waiting

DYNAMODB = "AWS/DynamoDB"
# Single-item and query calls; scans and batches are slow by nature. Two metrics of each make ten: an alarm's limit.
OPERATIONS = ("GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem")


# The sets of dimensions under which DynamoDB publishes each metric; an alarm on any other never sees data.
_TABLE, _INDEX, _OPERATION = {"TableName"}, {"TableName", "GlobalSecondaryIndexName"}, {"TableName", "Operation"}
PUBLISHED: Mapping[str, tuple[set[str], ...]] = {
    **dict.fromkeys(("ReadThrottleEvents", "WriteThrottleEvents"), (_TABLE, _INDEX)),
    **dict.fromkeys(("ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"), (_TABLE, _INDEX)),
    **dict.fromkeys(("ProvisionedReadCapacityUnits", "ProvisionedWriteCapacityUnits"), (_TABLE, _INDEX)),
    **dict.fromkeys(("OnDemandMaxReadRequestUnits", "OnDemandMaxWriteRequestUnits"), (_TABLE, _INDEX)),
    **dict.fromkeys(("OnlineIndexConsumedWriteCapacity", "OnlineIndexPercentageProgress"), (_INDEX,)),
    "OnlineIndexThrottleEvents": (_INDEX,),
    **dict.fromkeys(
        ("SuccessfulRequestLatency", "SystemErrors", "ThrottledRequests", "ReturnedItemCount"), (_OPERATION,)
    ),
    **dict.fromkeys(("ConditionalCheckFailedRequests", "TimeToLiveDeletedItemCount"), (_TABLE,)),
    "TransactionConflict": (_TABLE,),
    "ReturnedBytes": ({"TableName", "Operation", "StreamLabel"}, _OPERATION),
    "ReturnedRecordsCount": ({"TableName", "Operation", "StreamLabel"},),
    **dict.fromkeys(("ReplicationLatency", "PendingReplicationCount"), ({"TableName", "ReceivingRegion"},)),
    "UserErrors": (set(),),  # of the whole account and region, never of a table
    **dict.fromkeys(
        ("AccountProvisionedReadCapacityUtilization", "AccountProvisionedWriteCapacityUtilization"), (set(),)
    ),
    **dict.fromkeys(("AccountMaxReads", "AccountMaxWrites"), (set(),)),
    **dict.fromkeys(("AccountMaxTableLevelReads", "AccountMaxTableLevelWrites"), (set(),)),
    **dict.fromkeys(
        ("MaxProvisionedTableReadCapacityUtilization", "MaxProvisionedTableWriteCapacityUtilization"), (set(),)
    ),
}


def table_alarms(table: Table, name: str, above: Thresholds = DEFAULT.thresholds) -> Iterator[Alarm]:
    """Throttle, latency and system-error alarms of one table, called ``name``, and its indexes."""
    for index in (None, *(i.name for i in table.indexes)):
        of = {"TableName": name} | ({"GlobalSecondaryIndexName": index} if index else {})
        yield Alarm(
            id=f"Throttles{index or ''}",
            name=f"{name}/{index}/throttles" if index else f"{name}/throttles",
            description=f"Requests to {f'index {index} of ' if index else ''}{name} are refused for lack of capacity",
            metrics=(
                Metric(id="read", name="ReadThrottleEvents", stat="Sum", dimensions=of),
                Metric(id="write", name="WriteThrottleEvents", stat="Sum", dimensions=of),
            ),
            expression="FILL(read, 0) + FILL(write, 0)",
            threshold=above.throttles,
        )
    latencies = _per_operation("latency", "SuccessfulRequestLatency", "p99", name)
    yield Alarm(
        id="Latency",
        name=f"{name}/latency",
        description=f"The slowest operation on {name} has a p99 above {above.latency_ms} ms",
        metrics=latencies,
        expression=f"MAX([{', '.join(_filled(latencies))}])",
        threshold=above.latency_ms,
    )
    errors = _per_operation("errors", "SystemErrors", "Sum", name)
    answers = _per_operation("answers", "SuccessfulRequestLatency", "SampleCount", name)
    failed, answered = " + ".join(_filled(errors)), " + ".join(_filled(answers))
    yield Alarm(
        id="SystemErrors",
        name=f"{name}/system-errors",
        description=f"DynamoDB itself fails more than {above.error_percent} % of the requests to {name}",
        metrics=(*errors, *answers),
        expression=f"IF({failed} > 0, 100 * ({failed}) / ({failed} + {answered}), 0)",
        threshold=above.error_percent,
    )


def failure_queue(processor: str) -> str:
    return f"{processor}-failures"


def processor_alarms(name: str, queue: str) -> Iterator[Alarm]:
    """What goes wrong with a stream processor called ``name`` whose failures go to ``queue``."""
    yield waiting("Failing", f"{name}/failures", f"{name} gave up on records", queue)
    yield Alarm(
        id="Behind",
        name=f"{name}/behind",
        description=f"{name} is more than an hour behind its stream, which keeps a day",
        metrics=(
            Metric(
                id="age",
                name="IteratorAge",
                stat="Maximum",
                dimensions={"FunctionName": name},
                namespace="AWS/Lambda",
            ),
        ),
        expression="FILL(age, 0)",
        threshold=3_600_000,
    )


def table_widgets(placed: Placed) -> Iterator[dict[str, Any]]:
    """The alarms of a stack's tables, then the metrics behind them. ``${…}`` stand where Fn::Sub fills in."""
    tables = [(placed.fill(t.name), t) for t in placed.watched]
    if not tables:
        return
    arn = f"arn:${{AWS::Partition}}:cloudwatch:{placed.region}:${{AWS::AccountId}}:alarm:"
    alarms = [
        arn + alarm.name for name, table in tables for alarm in table_alarms(table, name, placed.policy.thresholds)
    ]
    status = {"title": f"Alarms of {placed.name}", "alarms": alarms}
    yield {"type": "alarm", "x": 0, "y": 0, "width": 24, "height": 4, "properties": status}
    throttles, latency = ("ReadThrottleEvents", "WriteThrottleEvents"), "SuccessfulRequestLatency"
    names = [name for name, _ in tables]
    graphs: tuple[tuple[str, str, list[tuple[str, ...]]], ...] = (
        ("Throttled requests", "Sum", [(m, "TableName", n) for n in names for m in throttles]),
        ("Consumed read units", "Sum", [("ConsumedReadCapacityUnits", "TableName", n) for n in names]),
        ("Consumed write units", "Sum", [("ConsumedWriteCapacityUnits", "TableName", n) for n in names]),
        ("GetItem p99 (ms)", "p99", [(latency, "TableName", n, "Operation", "GetItem") for n in names]),
        ("Query p99 (ms)", "p99", [(latency, "TableName", n, "Operation", "Query") for n in names]),
        ("Expired items", "Sum", [("TimeToLiveDeletedItemCount", "TableName", n) for n, t in tables if t.lifetime.ttl]),
    )
    for place, (label, stat, metrics) in enumerate(graphs):
        if metrics:
            yield {
                "type": "metric",
                "x": place % 3 * 8,
                "y": 4 + place // 3 * 5,
                "width": 8,
                "height": 5,
                "properties": {
                    "title": label,
                    "region": placed.region,
                    "stat": stat,
                    "period": PERIOD,
                    "metrics": [[DYNAMODB, *m] for m in metrics],
                },
            }


def _per_operation(prefix: str, metric: str, stat: str, table: str) -> tuple[Metric, ...]:
    return tuple(
        Metric(id=prefix + o, name=metric, stat=stat, dimensions={"TableName": table, "Operation": o})
        for o in OPERATIONS
    )


def _filled(metrics: Iterable[Metric]) -> list[str]:
    """Missing data counts as zero: an operation that was not called must not hide the others."""
    return [f"FILL({m.id}, 0)" for m in metrics]
