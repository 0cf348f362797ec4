"""What applications may do with a broker."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from holdfast.estate.placement import Placed
from holdfast.kinds.broker.declaration import Broker
from holdfast.shared.applications.statements import Use, arn


def uses(placed: Placed, store: Broker, cluster: Any) -> list[Use]:
    """The declared topics and consumer groups; none may be made, changed or deleted."""
    unique = {"Fn::Select": [2, {"Fn::Split": ["/", cluster]}]}  # arn:aws:kafka:<region>:<account>:cluster/<name>/<id>

    def named(kind: str, names: Iterable[str]) -> tuple[Any, ...]:
        folder = f"{kind}/{placed.fill(store.name)}/"
        return tuple(arn(placed, "kafka", folder, unique, f"/{name}") for name in names)

    topics = named("topic", (placed.topic(store, t) for t in store.topics))
    groups = named("group", dict.fromkeys(g for t in store.topics for g in t.groups))
    may = "kafka-cluster:"
    return [
        Use(sid=f"{store.id}LogIn", actions=(f"{may}Connect", f"{may}WriteDataIdempotently"), resources=(cluster,)),
        Use(
            sid=f"{store.id}Topics",
            actions=(f"{may}DescribeTopic", f"{may}ReadData", f"{may}WriteData"),
            resources=topics,
        ),
        Use(sid=f"{store.id}Groups", actions=(f"{may}AlterGroup", f"{may}DescribeGroup"), resources=groups),
    ]
