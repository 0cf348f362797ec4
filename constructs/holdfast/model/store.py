"""What every table and every other store declares, and how stores are called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar

from holdfast.model.declaration import DeclarationError, Located, checked
from holdfast.model.facts import NONE, Data, Durable, Guard, Transient, Waiver, construct_id, fill, unknown_placeholders
from holdfast.model.provenance import Source, Sources

LEGAL_NAME = re.compile(r"[a-z](-?[a-z0-9])+")  # of RDS, ElastiCache, MSK and S3 alike
LONGEST_NAME = 40  # of a cache; RDS and MSK take more
SAFE_IN_PATHS = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")  # no slash, and nothing that starts with a dot


def segment(value: str, where: str) -> str:
    """A value that may stand between two slashes; one that would climb out of its folder is refused."""
    if not SAFE_IN_PATHS.fullmatch(value):
        raise ValueError(
            f"{value!r} cannot stand in {where}: 1 to 128 of A-Z, a-z, 0-9, '.', '_' and '-', no dot in front"
        )
    return value


def check_unique(kind: str, owner: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DeclarationError(f"{owner}: two {kind} are called {name}; rename or drop one")
        seen.add(name)


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Backups:
    """Snapshots in a vault, beside the recovery to any second that the engine itself offers. Schedules are UTC."""

    schedules: Mapping[str, str] = field(hash=False)
    keep: timedelta

    def facts(self) -> Iterator[tuple[str, str]]:
        for name, schedule in self.schedules.items():
            yield f"{name} backup", f"{schedule}, kept {self.keep.days} days"


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(Located):
    """What is declared of every table and of every other store; each kind adds its own facts."""

    kind: ClassVar[str]  # what messages and JSON call it
    offers: ClassVar[Guard]  # the guards that its engine can give
    key_services: ClassVar[tuple[str, ...]] = ()  # the services that hold, move or back up its data under its key
    networked: ClassVar[bool] = True  # whether it stands in subnets
    zones: ClassVar[int] = 0  # that its network needs for it, whatever the policy says
    name: str
    purpose: str
    data: Data
    lifetime: Durable | Transient
    floor: Guard = NONE
    waivers: tuple[Waiver, ...] = ()
    source: Source = ()  # where name, purpose and whatever else stands on its own line come from
    sources: Sources = field(default_factory=dict, hash=False)  # where single facts come from

    @property
    def id(self) -> str:
        return construct_id(self.name)

    def check_name(self) -> None:
        """Refuses a name that its engine would refuse, whatever the environment fills in."""
        if wrong := unknown_placeholders(self.name):
            raise DeclarationError(f"{self.kind} {self.name}: {wrong}")
        words = {"env": "prod", "Env": "Prod", "region": "ap-northeast-1", "account": "123456789012"}
        if wrong := self.illegal_name(fill(self.name, words), words["region"]):
            raise DeclarationError(f"{self.kind} {self.name}: its name {wrong}")

    def illegal_name(self, name: str, region: str) -> str | None:
        """What is wrong with a name of it in a region, or None."""
        longest = self.longest_name(region)
        if LEGAL_NAME.fullmatch(name) and 3 <= len(name) <= longest:
            return None
        return (
            f"{name!r} needs 3 to {longest} characters of a-z, 0-9 and single '-', and has to start with a letter "
            "and not to end with '-'"
        )

    def longest_name(self, region: str) -> int:
        return LONGEST_NAME

    def identifier(self, name: str, region: str, account: str = "") -> str:
        """What its service knows it by where it is called ``name``; no template knows the account's number."""
        return name

    def engine_logs(self, name: str) -> Iterator[str]:
        """The log groups that its engine names itself, with wildcards, where it is called ``name``."""
        yield from ()

    def facts(self, topic_prefix: str | None = None) -> Iterator[tuple[str, str]]:
        """What is declared about it, in words."""
        yield from ()

    def assumptions(self) -> Iterator[tuple[str, str, str]]:
        """(what, value, why) of every fact about it that no source gives."""
        yield from ()
