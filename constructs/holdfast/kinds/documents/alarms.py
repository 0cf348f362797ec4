"""Alarms of a document database, on metrics that DocumentDB really publishes."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.estate.placement import Placed
from holdfast.kinds.documents.declaration import DocumentDatabase
from holdfast.shared.alarms.alarm import Alarm, Metric

DOCUMENTDB = "AWS/DocDB"


def alarms(placed: Placed, store: DocumentDatabase) -> Iterator[Alarm]:
    name, above = placed.fill(store.name), placed.policy.thresholds
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
