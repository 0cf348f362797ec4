"""CloudWatch's alarms, by the tables that they read. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from holdfast.kinds.table.template import INDEX
from holdfast.unknown import Unknown

Watched = dict[str, frozenset[tuple[str | None, str]]]
Alarms = dict[str, dict[str, Mapping[str, Any]]]


def by_table(alarms: Iterable[Mapping[str, Any]], topics: Collection[str] | Unknown) -> tuple[Watched, Alarms]:
    """What is watched of each table, and the alarms that do so, in CloudFormation's words."""
    watched: dict[str, set[tuple[str | None, str]]] = {}
    found: Alarms = {}
    for alarm in alarms:
        for table, index, metric, stat in _metrics(alarm):
            own = watched.setdefault(table, set())
            if stat != "SampleCount":  # how often says nothing about how long
                own.add((index, metric))
            found.setdefault(table, {})[str(alarm["AlarmName"])] = {**alarm, "heard": _heard(alarm, topics)}
    return {table: frozenset(metrics) for table, metrics in watched.items()}, found


def _metrics(alarm: Mapping[str, Any]) -> Iterator[tuple[str, str | None, str, str]]:
    """(table, index, metric, statistic) of every DynamoDB metric that an alarm reads."""
    stats = [q["MetricStat"] for q in alarm.get("Metrics", ()) if "MetricStat" in q]
    for stat, metric in [(alarm.get("Statistic"), alarm), *((s.get("Stat"), s["Metric"]) for s in stats)]:
        dimensions = {d["Name"]: d["Value"] for d in metric.get("Dimensions", ())}
        if metric.get("Namespace") == "AWS/DynamoDB" and "TableName" in dimensions:
            yield dimensions["TableName"], dimensions.get(INDEX), str(metric.get("MetricName")), str(stat)


def _heard(alarm: Mapping[str, Any], topics: Collection[str] | Unknown) -> bool | Unknown:
    """Whether an alarm tells a topic that is there."""
    told = [a for a in alarm.get("AlarmActions", ()) if ":sns:" in a]
    if not alarm.get("ActionsEnabled", True) or not told:
        return False
    return topics if isinstance(topics, Unknown) else any(a in topics for a in told)
