"""What the construct of a broker sets and the rules demand."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.estate.placement import Placed
from holdfast.kinds.broker.declaration import Broker
from holdfast.shared.logs.groups import log_groups


def server_properties(store: Broker, *, keeps_topics: bool) -> str:
    """The brokers' own settings: topics are not made by being named and, where they are kept, not deleted."""
    settings = {
        "auto.create.topics.enable": "false",
        "default.replication.factor": str(store.brokers),
        "delete.topic.enable": str(not keeps_topics).lower(),
        "min.insync.replicas": str(max(t.min_in_sync for t in store.topics)),
        "unclean.leader.election.enable": "false",
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def written_logs(placed: Placed, store: Broker) -> Iterator[str]:
    yield f"{log_groups(placed)}/broker"
