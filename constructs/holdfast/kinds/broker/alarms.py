"""Alarms of a broker, its topics and their consumers, on metrics that MSK really publishes."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.estate.placement import Placed
from holdfast.kinds.broker.declaration import Broker
from holdfast.shared.alarms.alarm import Alarm, Metric, Silence

KAFKA = "AWS/Kafka"
# A group that takes its partitions anew shows no lag for a moment; a quarter of an hour is no moment.
LAG_PERIODS = 3


def alarms(placed: Placed, store: Broker, brokers: int | None = None) -> Iterator[Alarm]:
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
                yield Alarm(
                    id=f"{word}-{topic.name}-{group}",
                    name=f"{name}/{full}/{group}/{word.lower()}",
                    description=f"{group} is more than {limit} {unit} behind {full}, or shows no lag at all",
                    metrics=(Metric(id="lag", name=metric, stat="Maximum", dimensions=of, namespace=KAFKA),),
                    expression="lag",
                    threshold=limit,
                    periods=LAG_PERIODS,
                    silence=Silence.TOLD,
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


def _metrics(prefix: str, name: str, stat: str, places: list[dict[str, str]]) -> tuple[Metric, ...]:
    return tuple(
        Metric(id=f"{prefix}{number}", name=name, stat=stat, dimensions=of, namespace=KAFKA)
        for number, of in enumerate(places, 1)
    )
