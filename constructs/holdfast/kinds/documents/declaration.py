"""A DocumentDB cluster, as facts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar

from holdfast.kinds.database.declaration import Database
from holdfast.model.declaration import DeclarationError, checked
from holdfast.model.facts import Durable, Guard
from holdfast.model.store import Backups, Store

LEGAL_DATABASE = re.compile(r"[A-Za-z0-9_-]{1,63}")


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentDatabase(Store):
    """A DocumentDB cluster."""

    kind: ClassVar[str] = "documents"
    key_services: ClassVar[tuple[str, ...]] = ("backup", "rds", "secretsmanager")
    offers: ClassVar[Guard] = Database.offers
    backups: Backups
    recovery: timedelta = timedelta(days=30)
    port: int = 27018
    database: str | None = None  # that applications read and write, as a user of their own
    lifetime: Durable = field(default=Durable(), init=False)
    assumed: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        self.check_name()
        if self.database is not None and not LEGAL_DATABASE.fullmatch(self.database):
            raise DeclarationError(
                f"documents {self.name}: its database {self.database!r} needs 1 to 63 letters, digits, '_' and '-'"
            )

    def engine_logs(self, name: str) -> Iterator[str]:
        yield f"/aws/docdb/{name}/*"

    def facts(self, topic_prefix: str | None = None) -> Iterator[tuple[str, str]]:
        yield "recovery", f"any second of the last {self.recovery.days} days"
        yield from self.backups.facts()
        if self.database:
            yield "applications", f"read and write {self.database}"

    def assumptions(self) -> Iterator[tuple[str, str, str]]:
        return ((what, "as declared", why) for what, why in self.assumed.items())
