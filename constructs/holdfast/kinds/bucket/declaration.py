"""An S3 bucket and its folders, as facts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar

from holdfast.model.declaration import DeclarationError, checked
from holdfast.model.facts import Durable, Guard
from holdfast.model.store import Backups, Store, check_unique, segment
from holdfast.text import span

FIELDS = re.compile(r"\{(\w+)\}")


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """One folder of a bucket, and what becomes of its objects: storage classes by age, and their end."""

    path: str
    purpose: str
    tiers: Mapping[str, timedelta] = field(default_factory=dict, hash=False)
    expire: timedelta | None = None
    assumed: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"([a-z0-9_-]+/)+(\{\w+\}(/|[/.]\{\w+\}|\.[a-z0-9]+)?)?", self.path):
            raise DeclarationError(f"prefix {self.path}: write it as folders, such as recordings/{{meeting_id}}/")
        check_unique("fields", f"prefix {self.path}", FIELDS.findall(self.path))

    @property
    def folder(self) -> str:
        return self.path.partition("{")[0]

    @property
    def fate(self) -> str:
        """What becomes of its objects, in words."""
        ages = [f"{name} after {span(age)}" for name, age in self.tiers.items()]
        return ", ".join([*ages, *([f"expires after {span(self.expire)}"] if self.expire else [])])

    def key(self, **fields: str) -> str:
        """The key of one object below this prefix; values that would leave their folder are refused."""
        wanted = FIELDS.findall(self.path)
        if sorted(wanted) != sorted(fields):
            raise ValueError(f"{self.path} has the fields {', '.join(wanted) or 'none'}, not {', '.join(fields)}")
        return FIELDS.sub(lambda field: segment(fields[field[1]], self.path), self.path)


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket(Store):
    """An S3 bucket; account and region are added to its name, which has to be the only one in the world."""

    kind: ClassVar[str] = "bucket"
    key_services: ClassVar[tuple[str, ...]] = ("backup", "s3")
    networked: ClassVar[bool] = False
    offers: ClassVar[Guard] = Guard.RETAIN | Guard.PITR | Guard.TTL | Guard.CUSTOMER_KEY | Guard.TAGS
    prefixes: tuple[Prefix, ...]
    locked: timedelta | None = None  # nothing written is deleted before that age
    backups: Backups | None = None
    quota_gib: int | None = None  # more, old versions included, raises an alarm where the stack has alarms
    lifetime: Durable = field(default=Durable(), init=False)
    assumed: Mapping[str, str] = field(default_factory=dict, hash=False)  # what: why

    def __post_init__(self) -> None:
        self.check_name()
        if self.quota_gib is not None and self.quota_gib < 1:
            raise DeclarationError(f"bucket {self.name}: a quota of {self.quota_gib} GiB holds nothing")
        check_unique("prefixes", f"bucket {self.name}", (p.folder for p in self.prefixes))

    def identifier(self, name: str, region: str, account: str = "") -> str:
        return f"{name}-{account}-{region}"

    def longest_name(self, region: str) -> int:
        return 63 - len(f"-123456789012-{region}")

    def facts(self, topic_prefix: str | None = None) -> Iterator[tuple[str, str]]:
        yield from ((p.path, p.fate or "kept") for p in self.prefixes)
        if self.locked:
            yield "locked", f"nothing is deleted before {self.locked.days} days"
        if self.quota_gib:
            yield "quota", f"{self.quota_gib:,} GiB"
        if self.backups:
            yield from self.backups.facts()

    def assumptions(self) -> Iterator[tuple[str, str, str]]:
        yield from ((p.path, p.fate, p.assumed) for p in self.prefixes if p.assumed)
        yield from ((what, "as declared", why) for what, why in self.assumed.items())
