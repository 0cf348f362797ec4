"""A cache and the families of its keys, as facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar

from holdfast.model.declaration import DeclarationError, checked
from holdfast.model.facts import Guard, Transient
from holdfast.model.store import LONGEST_NAME, Store, check_unique
from holdfast.text import span

UNSAFE_IN_KEYS = re.compile(r"[\s:*?\[\]{}\\]")


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFamily:
    """Keys of one shape in a cache. Every one expires: there is no family without a time to live."""

    pattern: str  # such as session:{id}
    ttl: timedelta
    purpose: str
    assumed: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z]+(:[a-z]+)*:\{\w+\}", self.pattern):
            raise DeclarationError(
                f"key family {self.pattern}: write it as words and one field, such as session:{{id}}"
            )
        if self.ttl < timedelta(seconds=1):
            raise DeclarationError(f"key family {self.pattern}: a time to live of {self.ttl} never holds a key")

    @property
    def prefix(self) -> str:
        return self.pattern.partition("{")[0]

    @property
    def seconds(self) -> int:
        """What EX wants."""
        return int(self.ttl.total_seconds())

    def key(self, value: str) -> str:
        """The key of one member; values that would leave the family, or match others, are refused."""
        if not value or not value.isprintable() or UNSAFE_IN_KEYS.search(value):
            raise ValueError(f"{value!r} cannot stand in {self.pattern}: no space, colon, bracket or wildcard")
        return self.prefix + value


# Everything that reads a named key; of what writes, only what leaves no key without an end: what sets a value together
# with its time to live, what changes that time, and what deletes. An access list sees commands and not their options:
# SET … EX has to go with SET, and INCR and its like, too, because they make the key that they do not find. Scripts run
# with the rights of their caller. What looks over the whole keyspace names no key that a pattern could refuse.
WRITES = ("setex", "psetex", "expire", "pexpire", "expireat", "pexpireat", "del", "unlink", "getdel")
COMMANDS = (
    f"-@all +@read +@connection +@transaction {' '.join(f'+{name}' for name in WRITES)} -@dangerous "
    "-@scripting +eval +evalsha +script|load -scan -randomkey -dbsize"
)


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Cache(Store):
    """A Valkey or Redis cache: sessions, rooms, limits and locks, all of which expire."""

    kind: ClassVar[str] = "cache"
    key_services: ClassVar[tuple[str, ...]] = ("elasticache",)
    offers: ClassVar[Guard] = Guard.TTL | Guard.CUSTOMER_KEY | Guard.TAGS
    families: tuple[KeyFamily, ...]
    port: int = 6379
    lifetime: Transient = field(default=Transient(ttl="EX"), init=False)

    def __post_init__(self) -> None:
        self.check_name()
        check_unique("key families", f"cache {self.name}", (f.prefix for f in self.families))

    @property
    def access(self) -> str:
        """The ACL of the applications: the declared families, no channel, no command that touches anything else."""
        keys = " ".join(f"~{f.prefix}*" for f in self.families)
        return f"on {keys} resetchannels {COMMANDS}"

    def longest_name(self, region: str) -> int:
        return LONGEST_NAME - len("-default")  # the name of the user that is off

    def facts(self, topic_prefix: str | None = None) -> Iterator[tuple[str, str]]:
        return ((f.pattern, f"expires after {span(f.ttl)}") for f in self.families)

    def assumptions(self) -> Iterator[tuple[str, str, str]]:
        return ((f.pattern, f"expires after {span(f.ttl)}", f.assumed) for f in self.families if f.assumed)
