"""Alarms of brokers and document stores as data, on metrics that MSK and DocumentDB really publish."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.estate.placement import Placed
from holdfast.kinds.broker.declaration import Broker
from holdfast.policy.required import Thresholds
from holdfast.shared.alarms.alarm import Alarm, Metric

KAFKA = "AWS/Kafka"
DOCUMENTDB = "AWS/DocDB"
# A group that takes its partitions anew shows no lag for a moment; a quarter of an hour is no moment.
LAG_PERIODS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LagAlarm(Alarm):
    """An alarm for which silence is news, too: a group that is unstable or gone has no lag to show."""

    def properties(self, topic: str, tags: Mapping[str, str]) -> dict[str, Any]:
        return Alarm.properties(self, topic, tags) | {
            "EvaluationPeriods": LAG_PERIODS,
            "InsufficientDataActions": [topic],
            "TreatMissingData": "missing",
        }


def broker_alarms(placed: Placed, store: Broker, brokers: int | None = None) -> Iterator[Alarm]:
    """What goes wrong with a cluster, its topics and their consumers."""
    name, above = placed.fill(store.name), placed.policy.thresholds
    cluster = {"Cluster Name": name}
    each = [cluster | {"Broker ID": str(number)} for number in range(1, (brokers or store.brokers) + 1)]
    disks = _metrics("disk", "KafkaDataLogsDiskUsed", "Maximum", each)
    yield Alarm(
        id="Disk",
        name=f"{name}/disk",
        description=f"A broker of {name} has filled more than {above.disk_percent} % of its disk",
        metrics=disks,
        expression=f"MAX([{', '.join(m.id for m in disks)}])",
        threshold=above.disk_percent,
    )
    for topic in store.topics:
        full = placed.topic(store, topic)
        for group in topic.groups:
            of = cluster | {"Consumer Group": group, "Topic": full}
            for word, metric, limit, unit in (
                ("Behind", "SumOffsetLag", above.lag_messages, "messages"),
                ("Late", "EstimatedMaxTimeLag", above.lag_seconds, "seconds"),
            ):
                yield LagAlarm(
                    id=f"{word}-{topic.name}-{group}",
                    name=f"{name}/{full}/{group}/{word.lower()}",
                    description=f"{group} is more than {limit} {unit} behind {full}, or shows no lag at all",
                    metrics=(Metric(id="lag", name=metric, stat="Maximum", dimensions=of, namespace=KAFKA),),
                    expression="lag",
                    threshold=limit,
                )
        if topic.dead_letters:
            arrivals = _metrics("broker", "MessagesInPerSec", "Maximum", [b | {"Topic": full} for b in each])
            yield Alarm(
                id=f"DeadLetters-{topic.name}",
                name=f"{name}/{full}/dead-letters",
                description=f"Messages were given up: they arrive in {full}, with the reason in their headers",
                metrics=arrivals,
                expression=" + ".join(f"FILL({m.id}, 0)" for m in arrivals),
                threshold=0,
            )


def documents_alarms(name: str, above: Thresholds) -> Iterator[Alarm]:
    """What goes wrong with a document cluster called ``name``."""
    of = {"DBClusterIdentifier": name}
    yield Alarm(
        id="Cpu",
        name=f"{name}/cpu",
        description=f"{name} has been busier than {above.cpu_percent} %",
        metrics=(Metric(id="cpu", name="CPUUtilization", stat="Average", dimensions=of, namespace=DOCUMENTDB),),
        expression="FILL(cpu, 0)",
        threshold=above.cpu_percent,
    )
    yield Alarm(
        id="Memory",
        name=f"{name}/memory",
        description=f"{name} refuses work for lack of memory",
        metrics=tuple(
            Metric(id=word, name=f"LowMemNumOperations{metric}", stat="Sum", dimensions=of, namespace=DOCUMENTDB)
            for word, metric in (("throttled", "Throttled"), ("expired", "TimedOut"))
        ),
        expression="FILL(throttled, 0) + FILL(expired, 0)",
        threshold=0,
    )


def _metrics(prefix: str, name: str, stat: str, places: list[dict[str, str]]) -> tuple[Metric, ...]:
    return tuple(
        Metric(id=f"{prefix}{number}", name=name, stat=stat, dimensions=of, namespace=KAFKA)
        for number, of in enumerate(places, 1)
    )
