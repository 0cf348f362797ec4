"""An alarm and its metrics as data, and the topic that it publishes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from holdfast.cfn.alike import alike
from holdfast.cfn.dig import ACCOUNT

PERIOD = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    id: str
    name: str
    stat: str
    dimensions: Mapping[str, str]
    namespace: str = "AWS/DynamoDB"


class Silence(Enum):
    """What it means that a metric has no data."""

    FINE = "notBreaching"  # a table that is not called sends none
    BREACHING = "breaching"  # whatever writes it is dead
    TOLD = "missing"  # its own state, of which the topic is told: a consumer group that is gone has no lag to show


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """Breached when ``expression`` over ``metrics`` is above ``threshold``, or ``below`` it, for ``periods``."""

    id: str
    name: str
    description: str
    metrics: tuple[Metric, ...]
    expression: str
    threshold: float
    below: bool = False
    period: int = PERIOD
    periods: int = 1
    silence: Silence = Silence.FINE

    def properties(self, topic: str, tags: Mapping[str, str]) -> dict[str, Any]:
        """As CloudFormation wants it."""
        return {
            "AlarmName": self.name,
            "AlarmDescription": self.description,
            "ComparisonOperator": "LessThanThreshold" if self.below else "GreaterThanThreshold",
            "EvaluationPeriods": self.periods,
            "Threshold": self.threshold,
            "TreatMissingData": self.silence.value,
            "AlarmActions": [topic],
            "OKActions": [topic],
            **({"InsufficientDataActions": [topic]} if self.silence is Silence.TOLD else {}),
            "Tags": [{"Key": k, "Value": v} for k, v in sorted(tags.items())],
            "Metrics": [
                *(
                    {
                        "Id": m.id,
                        "ReturnData": False,
                        "MetricStat": {
                            "Period": self.period,
                            "Stat": m.stat,
                            "Metric": {
                                "Namespace": m.namespace,
                                "MetricName": m.name,
                                "Dimensions": [{"Name": n, "Value": v} for n, v in m.dimensions.items()],
                            },
                        },
                    }
                    for m in self.metrics
                ),
                {"Id": "judged", "Expression": self.expression, "ReturnData": True},
            ],
        }


# What decides whether an alarm goes off.
JUDGED = (
    "ComparisonOperator",
    "DatapointsToAlarm",
    "EvaluationPeriods",
    "Metrics",
    "Threshold",
    "TreatMissingData",
)


def changes(alarm: Alarm, seen: Mapping[str, Any] | None) -> list[str]:
    """What about a declared alarm is missing or different in whatever decides when it goes off."""
    if not seen:
        return [f"{alarm.name} itself"]
    want = alarm.properties("", {})
    return [f"{name} of {alarm.name}" for name in JUDGED if not alike(seen.get(name), want.get(name))]


def waiting(id: str, name: str, what: str, queue: str) -> Alarm:  # noqa: A002 (as constructs call it)
    """What waits in ``queue`` was given up, and has to be looked at."""
    return Alarm(
        id=id,
        name=name,
        description=f"{what}: they wait in {queue}",
        metrics=(
            Metric(
                id="waiting",
                name="ApproximateNumberOfMessagesVisible",
                stat="Maximum",
                dimensions={"QueueName": queue},
                namespace="AWS/SQS",
            ),
        ),
        expression="FILL(waiting, 0)",
        threshold=0,
    )


def topic_policy(topic: object) -> dict[str, Any]:
    """CloudWatch of this account may publish, over TLS; a topic with any policy no longer lets it in by default."""
    publish = {"Action": "sns:Publish", "Resource": topic}
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "AlarmsMayPublish",
                "Effect": "Allow",
                "Principal": {"Service": "cloudwatch.amazonaws.com"},
                "Condition": {"StringEquals": {"aws:SourceAccount": ACCOUNT}},
                **publish,
            },
            {
                "Sid": "OverTlsOnly",
                "Effect": "Deny",
                "Principal": "*",
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                **publish,
            },
        ],
    }
