"""A table as some source shows it, reduced to what can be compared with its declaration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.model import NONE, Attribute, Guard, Index, Key, Kind, Projection


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    name: str
    where: str
    key: Key
    indexes: frozenset[Index]
    guards: Guard
    ttl: str | None
    stream: str | None
    recovery_days: int | None


def parse_key(schema: Sequence[Mapping[str, str]], kinds: Mapping[str, Kind]) -> Key:
    """A KeySchema, which templates and DescribeTable spell alike."""
    roles = {part["KeyType"]: part["AttributeName"] for part in schema}
    attributes = {role: Attribute(name, kinds[name]) for role, name in roles.items()}
    return Key(attributes["HASH"], attributes.get("RANGE"))


def parse_indexes(indexes: Sequence[Mapping[str, Any]], kinds: Mapping[str, Kind]) -> frozenset[Index]:
    return frozenset(
        Index(i["IndexName"], parse_key(i["KeySchema"], kinds), Projection(i["Projection"]["ProjectionType"]))
        for i in indexes
    )


def parse_kinds(definitions: Sequence[Mapping[str, str]]) -> dict[str, Kind]:
    return {d["AttributeName"]: Kind(d["AttributeType"]) for d in definitions}


def union(flags: Mapping[Guard, bool]) -> Guard:
    guards = NONE
    for guard, on in flags.items():
        if on:
            guards |= guard
    return guards
