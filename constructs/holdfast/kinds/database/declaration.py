"""A PostgreSQL database, as facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import ClassVar

from holdfast.model.declaration import DeclarationError, checked
from holdfast.model.facts import Durable, Guard
from holdfast.model.store import Backups, Store
from holdfast.text import span

DRIFT_SCHEDULE = "cron(30 5 * * ? *)"  # after the upkeep, whose partitions are no drift


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """How applications share the connections of a database."""

    max_open: int
    max_idle: int
    max_lifetime: timedelta
    max_connections: int = 200  # of the server itself

    def __post_init__(self) -> None:
        if not 0 < self.max_idle <= self.max_open <= self.max_connections:
            raise DeclarationError(
                f"pool: {self.max_idle} idle, {self.max_open} open and {self.max_connections} in all do not nest"
            )

    @property
    def settings(self) -> dict[str, str]:
        """The figures by the names that applications know them by; a lifetime is in seconds."""
        return {
            "max_idle_conns": str(self.max_idle),
            "max_open_conns": str(self.max_open),
            "conn_max_lifetime": str(int(self.max_lifetime.total_seconds())),
        }


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """The daily job that keeps partitions ahead, archives what is expired and purges rows."""

    partitioned: tuple[str, ...]
    archive: str  # the bucket of the same stack that takes the archive
    schedule: str = "cron(0 5 * * ? *)"


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class RowUpkeep:
    """The daily job of a database without partitions: expired rows go, and every table is vacuumed.

    What is expired, and what quotas there are, stands in the schema's own ``ops.row_policy``.
    """

    tables: tuple[str, ...]  # that are written most: their dead rows and their bloat are watched
    schedule: str = "cron(0 5 * * ? *)"


class Engine(Enum):
    """What runs a database. Another one is another database: nothing moves the data."""

    INSTANCE = "instance"
    AURORA = "aurora"


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Database(Store):
    """A PostgreSQL database whose schema is the numbered SQL in ``schemas/<schema>``."""

    kind: ClassVar[str] = "database"
    key_services: ClassVar[tuple[str, ...]] = ("backup", "lambda", "rds", "secretsmanager")
    offers: ClassVar[Guard] = (
        Guard.DELETION_PROTECTION | Guard.RETAIN | Guard.PITR | Guard.CUSTOMER_KEY | Guard.TAGS | Guard.ALARMS
    )
    schema: str
    backups: Backups
    engine: Engine = Engine.INSTANCE
    recovery: timedelta = timedelta(days=30)
    port: int = 5433  # never the default one
    pool: Pool | None = None
    upkeep: Upkeep | RowUpkeep | None = None
    lifetime: Durable = field(default=Durable(), init=False)
    assumed: Mapping[str, str] = field(default_factory=dict, hash=False)  # what: why

    def __post_init__(self) -> None:
        self.check_name()
        if not timedelta(days=1) <= self.recovery <= timedelta(days=35):
            raise DeclarationError(f"database {self.name}: RDS keeps 1 to 35 days for recovery, not {self.recovery}")

    @property
    def archive(self) -> str | None:
        """The bucket that takes what leaves its partitions, where it has any."""
        return self.upkeep.archive if isinstance(self.upkeep, Upkeep) else None

    @property
    def role(self) -> str:
        """Whom applications log in as; the schema's own migrations make it."""
        return f"{self.schema}_app"

    def engine_logs(self, name: str) -> Iterator[str]:
        yield f"/aws/rds/*/{name}/*"
        if self.pool:
            yield f"/aws/rds/proxy/{name}"

    def facts(self, topic_prefix: str | None = None) -> Iterator[tuple[str, str]]:
        yield "schema", f"schemas/{self.schema}"
        yield "engine", self.engine.value
        yield "recovery", f"any second of the last {self.recovery.days} days"
        yield from self.backups.facts()
        if self.pool:
            yield "pool", f"{self.pool.max_open} open, {self.pool.max_idle} idle, for {span(self.pool.max_lifetime)}"
        match self.upkeep:
            case Upkeep(partitioned=tables):
                yield "partitioned", ", ".join(tables)
            case RowUpkeep(tables=tables):
                yield "watched for dead rows", ", ".join(tables)

    def assumptions(self) -> Iterator[tuple[str, str, str]]:
        return ((what, "as declared", why) for what, why in self.assumed.items())
