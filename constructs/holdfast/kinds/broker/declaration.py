"""A Kafka cluster and its topics, as facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar

from holdfast.model.declaration import DeclarationError, checked
from holdfast.model.facts import Durable, Guard
from holdfast.model.store import Store, check_unique
from holdfast.text import span

LEGAL_GROUP = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # CloudWatch has no lag of a group with other characters


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One Kafka topic; its full name has the broker's prefix before it."""

    name: str
    purpose: str
    partitions: int
    keep: timedelta
    groups: tuple[str, ...]  # who consumes it
    dead_letters: bool = False
    replication: int = 3
    min_in_sync: int = 2
    assumed: str | None = None

    def __post_init__(self) -> None:
        if not LEGAL_GROUP.fullmatch(self.name):
            raise DeclarationError(f"topic {self.name}: Kafka takes letters, digits, '.', '_' and '-'")
        if self.partitions < 1:
            raise DeclarationError(f"topic {self.name}: it needs a partition at least, not {self.partitions}")
        for group in self.groups:
            if not LEGAL_GROUP.fullmatch(group):
                raise DeclarationError(f"topic {self.name}: consumer group {group!r} has characters that hide its lag")
        if not 0 < self.min_in_sync < self.replication:
            raise DeclarationError(
                f"topic {self.name}: with {self.min_in_sync} of {self.replication} replicas in sync, "
                "no broker can be restarted; keep one less than there are"
            )

    @property
    def settings(self) -> dict[str, str]:
        return {
            "cleanup.policy": "delete",
            "min.insync.replicas": str(self.min_in_sync),
            "retention.ms": str(int(self.keep.total_seconds() * 1000)),
        }


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Broker(Store):
    """A Kafka cluster and its topics."""

    kind: ClassVar[str] = "broker"
    key_services: ClassVar[tuple[str, ...]] = ("kafka",)
    offers: ClassVar[Guard] = Guard.RETAIN | Guard.TTL | Guard.CUSTOMER_KEY | Guard.TAGS | Guard.ALARMS
    zones: ClassVar[int] = 3  # as many brokers stand in each: with two, three replicas would need four of them
    topics: tuple[Topic, ...]
    prefix: str  # of the names of its topics
    port: int = 9098  # IAM over TLS
    lifetime: Durable = field(default=Durable(ttl="retention.ms"), init=False)

    def __post_init__(self) -> None:
        self.check_name()
        if not self.topics:
            raise DeclarationError(f"broker {self.name}: it has no topic, and none appears by itself; declare one")
        # Kafka's metrics write '.' and '_' alike: two topics that differ in nothing else would share their figures.
        check_unique("topics", f"broker {self.name}", (t.name.replace(".", "_") for t in self.topics))

    @property
    def brokers(self) -> int:
        """One for each replica."""
        return max(t.replication for t in self.topics)

    def topic(self, topic: Topic, prefix: str | None = None) -> str:
        """The full name of a topic of this broker."""
        name = f"{self.prefix if prefix is None else prefix}.{topic.name}"
        if not LEGAL_GROUP.fullmatch(name) or not name[0].isalnum():
            raise DeclarationError(
                f"topic {name!r}: a prefix starts with a letter or digit and has only those, '.', '_' and '-'; "
                "give another one"
            )
        return name

    def facts(self, topic_prefix: str | None = None) -> Iterator[tuple[str, str]]:
        for t in self.topics:
            name = self.topic(t, topic_prefix)
            yield name, f"{t.partitions} partitions, {t.replication} replicas, kept {span(t.keep)}"

    def assumptions(self) -> Iterator[tuple[str, str, str]]:
        for t in self.topics:
            if t.assumed:
                yield self.topic(t), f"{t.partitions} partitions, kept {span(t.keep)}", t.assumed
