"""Tables out of a synthesized CloudFormation template. Pure: JSON in, observations out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.model import Guard
from holdfast.observed import Observed, parse_indexes, parse_key, parse_kinds, union
from holdfast.policy import REQUIRED_TAGS

TABLE = "AWS::DynamoDB::Table"
ALARM = "AWS::CloudWatch::Alarm"

# A table is watched when each of these is, for the table itself; throttles also for each index.
THROTTLES = frozenset({"ReadThrottleEvents", "WriteThrottleEvents"})
WATCHED = THROTTLES | {"SuccessfulRequestLatency", "SystemErrors"}


def observe(template: Mapping[str, Any], where: str) -> Iterator[Observed]:
    """Every table of a template."""
    resources = template["Resources"]
    watched = set(_watched(resources))
    for logical_id, resource in resources.items():
        if resource["Type"] == TABLE:
            yield _observe(resource, f"{where}#{logical_id}", watched)


def _observe(resource: Mapping[str, Any], where: str, watched: set[tuple[str, str | None, str]]) -> Observed:
    p = resource["Properties"]
    name = p["TableName"]
    kinds = parse_kinds(p["AttributeDefinitions"])
    indexes = parse_indexes(p.get("GlobalSecondaryIndexes", []), kinds)
    pitr = p.get("PointInTimeRecoverySpecification", {})
    ttl = p.get("TimeToLiveSpecification", {})
    wanted = {(name, None, m) for m in WATCHED} | {(name, i.name, m) for i in indexes for m in THROTTLES}
    flags = {
        Guard.DELETION_PROTECTION: p.get("DeletionProtectionEnabled") is True,
        Guard.RETAIN: resource.get("DeletionPolicy") == resource.get("UpdateReplacePolicy") == "Retain",
        Guard.PITR: pitr.get("PointInTimeRecoveryEnabled") is True,
        Guard.TTL: ttl.get("Enabled") is True,
        Guard.CUSTOMER_KEY: "KMSMasterKeyId" in p.get("SSESpecification", {}),
        Guard.TAGS: {t["Key"] for t in p.get("Tags", [])} >= set(REQUIRED_TAGS),
        Guard.ALARMS: wanted <= watched,
    }
    return Observed(
        name=name,
        where=where,
        key=parse_key(p["KeySchema"], kinds),
        indexes=indexes,
        guards=union(flags),
        ttl=ttl.get("AttributeName"),
        stream=p.get("StreamSpecification", {}).get("StreamViewType"),
        recovery_days=pitr.get("RecoveryPeriodInDays"),
    )


def _watched(resources: Mapping[str, Any]) -> Iterator[tuple[str, str | None, str]]:
    """(table, index, metric) of every DynamoDB metric that an alarm reads."""
    for resource in resources.values():
        if resource["Type"] == ALARM:
            for query in resource["Properties"].get("Metrics", []):
                metric = query.get("MetricStat", {}).get("Metric", {})
                dimensions = {d["Name"]: d["Value"] for d in metric.get("Dimensions", [])}
                if metric.get("Namespace") == "AWS/DynamoDB" and "TableName" in dimensions:
                    yield dimensions["TableName"], dimensions.get("GlobalSecondaryIndexName"), metric["MetricName"]
