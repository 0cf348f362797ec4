"""What a template shows of its tables, synthesized or deployed. Pure: JSON in, observations out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from holdfast.cfn.intrinsics import Reference
from holdfast.cfn.template import StackSeen, flag, name_of, notifies_topic
from holdfast.cfn.tree import mapping
from holdfast.cfn.types import ALARM
from holdfast.kinds.table.declaration import AttributeType, Index, Key
from holdfast.kinds.table.extra import DECLARED
from holdfast.kinds.table.observed import (
    GLOBAL_TABLE,
    TABLE,
    Observed,
    parse_capacity,
    parse_index,
    parse_key,
    parse_kinds,
)
from holdfast.model.facts import Encryption
from holdfast.shared.key.observed import NamedKey, ObservedKey, observe_key
from holdfast.unknown import Unknown

OF_INDEX = frozenset({"IndexName", "KeySchema", "Projection"})
DECLARABLE_BELOW = {
    "StreamSpecification": frozenset({"StreamViewType"}),
    "GlobalSecondaryIndexes": OF_INDEX | {"ProvisionedThroughput"},
    "LocalSecondaryIndexes": OF_INDEX,
}
INDEX = "GlobalSecondaryIndexName"


def table_names(stack: StackSeen) -> Iterator[tuple[str, str | Unknown]]:
    """(logical id, name) of every table that is or may be there."""
    for kind in (TABLE, GLOBAL_TABLE):
        for logical_id, resource in stack.possible(kind):
            unsure = _unsure(stack, resource)
            properties = resource.get("Properties", {})
            yield logical_id, _table_name(stack, properties) if unsure is None else unsure


def observe(stack: StackSeen) -> Iterator[Observed]:
    """Every table of a stack; one that is not formed as CloudFormation wants it is unknown in every respect."""
    for kind in (TABLE, GLOBAL_TABLE):
        for logical_id, _ in stack.possible(kind):
            yield observed(stack, logical_id)


def observed(stack: StackSeen, logical_id: str) -> Observed:
    """One table of a template or of an account."""
    resource = stack.template["Resources"][logical_id]
    if (unsure := _unsure(stack, resource)) is not None:
        return _unreadable(stack, logical_id, resource["Type"], unsure)
    try:
        return _observe(stack, logical_id, resource)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        malformed = Unknown(f"the table is malformed ({type(error).__name__}: {error})")
        return _unreadable(stack, logical_id, resource["Type"], malformed)


def _unsure(stack: StackSeen, resource: Mapping[str, Any]) -> Unknown | None:
    """Why nothing about a table is certain."""
    present = stack.present(resource)
    return Unknown(f"whether it exists: {present.reason}") if isinstance(present, Unknown) else stack.rewritten


def _table_name(stack: StackSeen, properties: Any) -> str | Unknown:
    return name_of(stack, stack.resolver.get(properties, "TableName", Unknown("CloudFormation chooses its name")))


def _observe(stack: StackSeen, logical_id: str, resource: Mapping[str, Any]) -> Observed:
    get, p = stack.resolver.get, resource.get("Properties", {})
    name = _table_name(stack, p)
    pitr, ttl = get(p, "PointInTimeRecoverySpecification", {}), get(p, "TimeToLiveSpecification", {})
    kinds = _try(parse_kinds, get(p, "AttributeDefinitions", []))
    return Observed(
        source=stack.source,
        stack=stack.id,
        where=stack.at(logical_id),
        type=str(resource["Type"]),
        name=name,
        key=_key(get(p, "KeySchema", []), kinds),
        indexes=_indexes(get(p, "GlobalSecondaryIndexes", []), kinds),
        billing=get(p, "BillingMode", "PROVISIONED"),
        deletion_protection=flag(get(p, "DeletionProtectionEnabled", False)),
        deletion_policy=get(resource, "DeletionPolicy"),
        update_replace_policy=get(resource, "UpdateReplacePolicy"),
        recovery=flag(get(pitr, "PointInTimeRecoveryEnabled", False)),
        recovery_days=get(pitr, "RecoveryPeriodInDays"),
        ttl=_ttl(get(ttl, "Enabled", False), get(ttl, "AttributeName")),
        encryption=_encryption(stack, get(p, "SSESpecification", {})),
        tags=_tags(get(p, "Tags", [])),
        stream=get(get(p, "StreamSpecification", {}), "StreamViewType"),
        watched=_watched(name, stack),
        alarms=_alarms(name, stack),
        extras=_whole(dict(_extras(mapping(p)))),
        local_indexes=_indexes(get(p, "LocalSecondaryIndexes", []), kinds),
        capacity=_try(parse_capacity, get(p, "ProvisionedThroughput")),
    )


def _extras(p: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Settings, at any depth, that no field of a declaration asks for, with their values as they are written."""
    yield from _beside(p, frozenset(DECLARED))
    for name, known in DECLARABLE_BELOW.items():
        parts = p.get(name)
        for part in parts if isinstance(parts, list) else [parts]:
            yield from ((f"{name}.{k}", v) for k, v in _beside(mapping(part), known))


def _whole(extras: dict[str, Any]) -> dict[str, Any] | Unknown:
    """One that could not be read may not be there at all."""
    return next((value for value in extras.values() if isinstance(value, Unknown)), extras)


def _beside(part: dict[str, Any], known: frozenset[str]) -> Iterator[tuple[str, Any]]:
    return ((k, v) for k, v in part.items() if k not in known)


def _unreadable(stack: StackSeen, logical_id: str, kind: str, why: Unknown) -> Observed:
    unread: dict[str, Any] = {f.name: why for f in fields(Observed)}
    known = {"source": stack.source, "stack": stack.id, "where": stack.at(logical_id), "type": kind}
    return Observed(**unread | known)


def _alarms(name: str | Unknown, stack: StackSeen) -> Mapping[str, Mapping[str, Any]] | Unknown:
    """The alarms that read a metric of a table, by their names."""
    if (unread := _unmatched(name, stack)) is not None:
        return unread
    own = dict.fromkeys(m.where.rpartition("#")[2] for m in stack.metrics_by_table.get(str(name), ()))
    found: dict[str, Mapping[str, Any]] = {}
    for alarm in (stack.alarms[i] for i in own):
        label = str(alarm.get("AlarmName"))
        # Two alarms of one name are one alarm, and which of them cannot be told.
        found[label] = alarm | {"notifies": notifies_topic(stack, alarm)} if label not in found else {}
    return found


def _unmatched(name: str | Unknown, stack: StackSeen) -> Unknown | None:
    if isinstance(name, Unknown):
        return Unknown("alarms are matched by the table's name, which cannot be read")
    return stack.unread.get(ALARM)


def _watched(name: str | Unknown, stack: StackSeen) -> frozenset[tuple[str | None, str]] | Unknown:
    if (unread := _unmatched(name, stack)) is not None:
        return unread
    # How often an operation was called says nothing about how long it took.
    own = [m for m in stack.metrics_by_table.get(str(name), ()) if m.stat != "SampleCount"]
    return frozenset((str(i) if (i := m.dimensions.get(INDEX)) else None, str(m.metric)) for m in own)


def _ttl(enabled: Any, attribute: Any) -> str | Unknown | None:
    on = flag(enabled)
    if isinstance(on, Unknown):
        return on
    if not on:
        return None
    if isinstance(attribute, Unknown):
        return attribute
    return attribute if isinstance(attribute, str) and attribute else Unknown("the TTL attribute is missing")


def _encryption(stack: StackSeen, sse: Any) -> ObservedKey | NamedKey | Encryption | Unknown:
    if isinstance(sse, Unknown):
        return sse
    enabled = flag(stack.resolver.get(sse, "SSEEnabled", False))
    if isinstance(enabled, Unknown):
        return enabled
    if not enabled:
        return Encryption.AWS_OWNED
    if sse.get("SSEType", "KMS") != "KMS":
        return Unknown("the type of encryption is decided at deploy time, or unheard of")
    match sse.get("KMSMasterKeyId"):
        case None:
            return Encryption.AWS_MANAGED
        case Unknown() as unknown:
            return unknown
        case Reference() as key:
            return observe_key(stack, key.logical_id)
        case "alias/aws/dynamodb":
            return Encryption.AWS_MANAGED
        case str() as other if not other.startswith("{{"):
            return NamedKey(other)
        case other:
            return Unknown(f"key {other} is decided at deploy time")


def _tags(tags: Any) -> Mapping[str, str | Unknown] | Unknown:
    if not isinstance(tags, list):
        return tags if isinstance(tags, Unknown) else Unknown("tags are not a list")
    if not all(isinstance(t, Mapping) for t in tags):
        return Unknown("a tag is decided at deploy time")
    if len({str(t.get("Key")) for t in tags}) < len(tags):
        return Unknown("a tag is given twice")
    return {str(t["Key"]): t.get("Value", "") for t in tags if isinstance(t, Mapping) and "Key" in t}


def _key(schema: Any, kinds: Mapping[str, AttributeType] | Unknown) -> Key | Unknown:
    if isinstance(kinds, Unknown):
        return kinds
    key: Key | Unknown = _try(parse_key, schema, kinds)
    return key


def _indexes(indexes: Any, kinds: Mapping[str, AttributeType] | Unknown) -> Mapping[str, Index | Unknown] | Unknown:
    if isinstance(indexes, Unknown | str) or isinstance(kinds, Unknown):
        return indexes if isinstance(indexes, Unknown) else Unknown("the attribute types cannot be read")
    found: dict[str, Index | Unknown] = {}
    for index in indexes:
        if not isinstance(index, dict) or not isinstance(index.get("IndexName"), str):
            return Unknown("the name of an index cannot be decided")
        twice = index["IndexName"] in found
        found[index["IndexName"]] = Unknown("it is given twice") if twice else _try(parse_index, index, kinds)
    return found


def _try(parse: Any, *arguments: Any) -> Any:
    """What ``parse`` makes of it, or Unknown: a function inside, or not the shape that CloudFormation takes."""
    unknown = next((a for a in arguments if isinstance(a, Unknown)), None)
    if unknown is not None:
        return unknown
    try:
        return parse(*arguments)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return Unknown(f"cannot be read ({type(error).__name__}: {error})")
