"""A table as some source shows it. Templates, deployed stacks and live accounts all become this one type."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.cfn.template import Source
from holdfast.kinds.table.declaration import Attribute, AttributeType, Index, Key, Projection, Provisioned
from holdfast.model.facts import NONE, Encryption, Guard
from holdfast.shared.key.observed import NamedKey, ObservedKey
from holdfast.unknown import Unknown

TABLE = "AWS::DynamoDB::Table"
GLOBAL_TABLE = "AWS::DynamoDB::GlobalTable"

# A table is watched when an alarm reads each of these, for the table itself; throttles also for each index.
THROTTLES = frozenset({"ReadThrottleEvents", "WriteThrottleEvents"})
WATCHED = THROTTLES | {"SuccessfulRequestLatency", "SystemErrors"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Every field may be Unknown: could not be read. Unknown is never "off"."""

    source: Source
    stack: str
    where: str
    type: str
    name: str | Unknown
    key: Key | Unknown
    indexes: Mapping[str, Index | Unknown] | Unknown
    billing: str | Unknown
    deletion_protection: bool | Unknown
    deletion_policy: str | Unknown | None
    update_replace_policy: str | Unknown | None
    recovery: bool | Unknown
    recovery_days: int | Unknown | None
    ttl: str | Unknown | None
    encryption: ObservedKey | NamedKey | Encryption | Unknown
    tags: Mapping[str, str | Unknown] | Unknown
    stream: str | Unknown | None
    watched: frozenset[tuple[str | None, str]] | Unknown = field(default=frozenset())
    alarms: Mapping[str, Mapping[str, Any]] | Unknown = field(default_factory=dict)  # properties by alarm name
    extras: Mapping[str, Any] | Unknown = field(
        default_factory=dict
    )  # settings that no field of a declaration asks for
    local_indexes: Mapping[str, Index | Unknown] | Unknown = field(default_factory=dict)
    capacity: Provisioned | Unknown | None = None  # where it is provisioned

    def guards(self, required_tags: Collection[str]) -> Guard:
        """The guards that are certainly on."""
        indexes = [] if isinstance(self.indexes, Unknown) else list(self.indexes)
        flags = {
            Guard.DELETION_PROTECTION: self.deletion_protection is True,
            Guard.RETAIN: self.deletion_policy == self.update_replace_policy == "Retain",
            Guard.PITR: self.recovery is True,
            Guard.TTL: isinstance(self.ttl, str),
            Guard.CUSTOMER_KEY: isinstance(self.encryption, ObservedKey),
            Guard.TAGS: not isinstance(self.tags, Unknown) and set(required_tags) <= set(self.tags),
            Guard.ALARMS: not isinstance(self.watched, Unknown) and wanted(indexes) <= self.watched,
        }
        guards = NONE
        for guard, on in flags.items():
            guards |= guard if on else NONE
        return guards


def wanted(indexes: Sequence[str]) -> frozenset[tuple[str | None, str]]:
    """(index or None for the table itself, metric) that alarms must read for a table to count as watched."""
    return frozenset({(None, m) for m in WATCHED} | {(i, m) for i in indexes for m in THROTTLES})


def parse_kinds(definitions: Sequence[Mapping[str, str]]) -> dict[str, AttributeType]:
    return {d["AttributeName"]: AttributeType(d["AttributeType"]) for d in definitions}


def parse_key(schema: Sequence[Mapping[str, str]], kinds: Mapping[str, AttributeType]) -> Key:
    """A KeySchema, which templates and DescribeTable spell alike."""
    roles = {part["KeyType"]: part["AttributeName"] for part in schema}
    if len(roles) < len(schema):
        raise ValueError("several attributes have one role in the key")
    attributes = {role: Attribute(name, kinds[name]) for role, name in roles.items()}
    return Key(attributes["HASH"], attributes.get("RANGE"))


def parse_index(index: Mapping[str, Any], kinds: Mapping[str, AttributeType]) -> Index:
    projection = index["Projection"]
    return Index(
        index["IndexName"],
        parse_key(index["KeySchema"], kinds),
        Projection(projection["ProjectionType"]),
        tuple(map(_text, projection.get("NonKeyAttributes") or ())),
        parse_capacity(index.get("ProvisionedThroughput")),
    )


def parse_capacity(throughput: Any) -> Provisioned | None:
    """A ProvisionedThroughput; of what is billed on demand a live table shows zeros."""
    if throughput is None:
        return None
    read, write = (int(throughput[name]) for name in ("ReadCapacityUnits", "WriteCapacityUnits"))
    return Provisioned(read=read, write=write) if read or write else None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("an attribute that is projected is decided at deploy time")
    return value
