"""The alarm of a cache: that its memory is nearly full, after which it gives up keys before they expire."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.estate.placement import Placed
from holdfast.kinds.cache.declaration import Cache
from holdfast.shared.alarms.alarm import Alarm, Metric

ELASTICACHE = "AWS/ElastiCache"


def alarms(placed: Placed, store: Cache) -> Iterator[Alarm]:
    """What a cache holds can be made again, so no policy demands it: it is made where a stack has alarms at all."""
    name, above = placed.fill(store.name), placed.policy.thresholds.memory_percent
    nodes = [f"{name}-{number:03}" for number in range(1, placed.by_tier(placed.policy.instances) + 1)]
    metrics = tuple(
        Metric(
            id=f"node{number}",
            name="DatabaseMemoryUsagePercentage",
            stat="Maximum",
            dimensions={"CacheClusterId": node},
            namespace=ELASTICACHE,
        )
        for number, node in enumerate(nodes, 1)
    )
    yield Alarm(
        id="Memory",
        name=f"{name}/memory",
        description=f"A node of {name} has filled more than {above} % of its memory, and soon gives up keys",
        metrics=metrics,
        expression=f"MAX([{', '.join(m.id for m in metrics)}])",
        threshold=above,
    )
