"""What a CloudFormation template shows, synthesized or deployed. Pure: JSON in, observations out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from holdfast.cfn.intrinsics import Reference, Resolver, Unknown
from holdfast.kinds.table.declaration import AttributeType, Index, Key
from holdfast.kinds.table.extra import DECLARED
from holdfast.kinds.table.observed import (
    GLOBAL_TABLE,
    TABLE,
    NamedKey,
    Observed,
    ObservedKey,
    Source,
    parse_capacity,
    parse_index,
    parse_key,
    parse_kinds,
)
from holdfast.model.facts import Encryption

ALARM = "AWS::CloudWatch::Alarm"
UNREAD = frozenset({"AlarmDescription", "OKActions", "Tags"})  # of an alarm, by any rule
HIDING = ("Fn::Transform", "Fn::ForEach")  # what stands there is made when it is deployed
LANGUAGE = "AWS::LanguageExtensions"  # more functions; without a loop it adds and changes no resource
TOPIC = "AWS::SNS::Topic"
OF_INDEX = frozenset({"IndexName", "KeySchema", "Projection"})
DECLARABLE_BELOW = {
    "StreamSpecification": frozenset({"StreamViewType"}),
    "GlobalSecondaryIndexes": OF_INDEX | {"ProvisionedThroughput"},
    "LocalSecondaryIndexes": OF_INDEX,
}
DECLARABLE_OF_KEY = frozenset({"Description", "EnableKeyRotation", "KeyPolicy", "Tags"})
INDEX = "GlobalSecondaryIndexName"


@dataclass(frozen=True, kw_only=True)
class StackSeen:
    """One stack as a template shows it. ``protected`` is its termination protection, where the source tells."""

    id: str
    where: str
    template: Mapping[str, Any]
    name: str | None = None
    region: str | None = None
    account: str | None = None  # None where the credentials decide
    protected: bool | None = None
    source: Source = Source.TEMPLATE
    exports: Mapping[str, str] = field(default_factory=dict, repr=False)  # keys of other stacks, by their exports

    @cached_property
    def resolver(self) -> Resolver:
        return Resolver(self.template, self.region, self.exports)

    def resources(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """(logical id, resource) of every resource of a type that will be there; in doubt it will not."""
        for logical_id in self._by_type.get(kind, ()):
            yield logical_id, self.template["Resources"][logical_id]

    def possible(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The same, and what may be there: for whatever must not be."""
        for logical_id in self.possible_by_type.get(kind, ()):
            yield logical_id, self.template["Resources"][logical_id]

    @cached_property
    def _by_type(self) -> dict[str, dict[str, None]]:
        resources = self.template["Resources"]
        certain = {
            k: [i for i in ids if self.present(resources[i]) is True] for k, ids in self.possible_by_type.items()
        }
        return {kind: dict.fromkeys(ids) for kind, ids in certain.items()}

    @cached_property
    def possible_by_type(self) -> dict[str, list[str]]:
        """The logical ids of whatever is or may be there."""
        found: dict[str, list[str]] = {}
        for logical_id, resource in self.template["Resources"].items():
            if isinstance(resource, dict) and self.present(resource) is not False:
                found.setdefault(str(resource.get("Type")), []).append(logical_id)
        return found

    @cached_property
    def rewritten(self) -> Unknown | None:
        """Why nothing here says what will be deployed: a macro, or a loop over resources."""
        macros = self.template.get("Transform", [])
        changing = [m for m in (macros if isinstance(macros, list) else [macros]) if m != LANGUAGE]
        if changing or any(str(name).startswith("Fn::") for name in self.template["Resources"]):
            return Unknown("a macro rewrites the template when it is deployed")
        return None

    @cached_property
    def may_hide(self) -> bool:
        """Whether a macro, an include or a loop may stand anywhere; a text is quicker to look through."""
        text = json.dumps(self.template, default=str)
        return any(f'"{name}' in text for name in HIDING)

    def present(self, resource: Mapping[str, Any]) -> bool | Unknown:
        """Whether a resource is deployed: a condition that does not hold leaves it out."""
        return self.resolver.condition(resource["Condition"]) if "Condition" in resource else True

    @cached_property
    def alarms(self) -> dict[str, Any]:
        """The resolved properties of every alarm, by logical id."""
        found = {i: self.resolver.value(_without(r.get("Properties", {}), UNREAD)) for i, r in self.resources(ALARM)}
        for properties in found.values():
            for dimension in _dimensions(properties):
                dimension["Value"] = _name(self, dimension.get("Value"))
        return found

    def is_a(self, reference: Any, kind: str) -> bool:
        """Whether a value refers to a resource of this type in the same template."""
        return isinstance(reference, Reference) and reference.logical_id in self._by_type.get(kind, ())

    @cached_property
    def alarm_metrics(self) -> list[AlarmMetric]:
        """Every DynamoDB metric that an alarm of the stack reads, whichever way the alarm is written."""
        return list(_alarm_metrics(self))

    @cached_property
    def _metrics_by_alarm(self) -> dict[str, list[AlarmMetric]]:
        found: dict[str, list[AlarmMetric]] = {}
        for metric in self.alarm_metrics:
            found.setdefault(metric.where, []).append(metric)
        return found

    @cached_property
    def metrics_by_table(self) -> dict[str, list[AlarmMetric]]:
        """The DynamoDB metrics that alarms read, by the table's name where it can be read."""
        found: dict[str, list[AlarmMetric]] = {}
        for metric in self.alarm_metrics:
            if isinstance(metric.table, str):
                found.setdefault(metric.table, []).append(metric)
        return found

    def metrics_of(self, logical_id: str) -> list[AlarmMetric]:
        """The DynamoDB metrics that one alarm reads."""
        return self._metrics_by_alarm.get(self.at(logical_id), [])

    def at(self, logical_id: str) -> str:
        return f"{self.where}#{logical_id}"


def exported_keys(stack: StackSeen) -> Iterator[tuple[str, str]]:
    """(export, place) of every key of a stack that others can import."""
    for output in _dict(stack.template.get("Outputs")).values():
        value, name = _dict(output).get("Value"), _dict(_dict(output).get("Export")).get("Name")
        key = stack.resolver.value(value)
        if isinstance(name, str) and stack.is_a(key, "AWS::KMS::Key") and key.attribute == "Arn":
            yield name, f"{stack.id}#{key.logical_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmMetric:
    """One DynamoDB metric that an alarm reads."""

    where: str
    metric: str | Unknown
    stat: str
    dimensions: Mapping[str, Any]

    @property
    def table(self) -> Any:
        return self.dimensions.get("TableName")


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
        for logical_id, resource in stack.possible(kind):
            if (unsure := _unsure(stack, resource)) is not None:
                yield _unreadable(stack, logical_id, kind, unsure)
                continue
            try:
                yield _observe(stack, logical_id, resource)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                malformed = Unknown(f"the table is malformed ({type(error).__name__}: {error})")
                yield _unreadable(stack, logical_id, kind, malformed)


def _unsure(stack: StackSeen, resource: Mapping[str, Any]) -> Unknown | None:
    """Why nothing about a table is certain."""
    present = stack.present(resource)
    return Unknown(f"whether it exists: {present.reason}") if isinstance(present, Unknown) else stack.rewritten


def _table_name(stack: StackSeen, properties: Any) -> str | Unknown:
    return _name(stack, stack.resolver.get(properties, "TableName", Unknown("CloudFormation chooses its name")))


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
        deletion_protection=_flag(get(p, "DeletionProtectionEnabled", False)),
        deletion_policy=get(resource, "DeletionPolicy"),
        update_replace_policy=get(resource, "UpdateReplacePolicy"),
        recovery=_flag(get(pitr, "PointInTimeRecoveryEnabled", False)),
        recovery_days=get(pitr, "RecoveryPeriodInDays"),
        ttl=_ttl(get(ttl, "Enabled", False), get(ttl, "AttributeName")),
        encryption=_encryption(stack, get(p, "SSESpecification", {})),
        tags=_tags(get(p, "Tags", [])),
        stream=get(get(p, "StreamSpecification", {}), "StreamViewType"),
        watched=_watched(name, stack),
        alarms=_alarms(name, stack),
        extras=dict(_extras(_dict(p))),
        local_indexes=_indexes(get(p, "LocalSecondaryIndexes", []), kinds),
        capacity=_try(parse_capacity, get(p, "ProvisionedThroughput")),
    )


def _extras(p: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Settings, at any depth, that no field of a declaration asks for, with their values as they are written."""
    yield from _beside(p, frozenset(DECLARED))
    for name, known in DECLARABLE_BELOW.items():
        parts = p.get(name)
        for part in parts if isinstance(parts, list) else [parts]:
            yield from ((f"{name}.{k}", v) for k, v in _beside(_dict(part), known))


def _beside(part: dict[str, Any], known: frozenset[str]) -> Iterator[tuple[str, Any]]:
    return ((k, v) for k, v in part.items() if k not in known)


def _unreadable(stack: StackSeen, logical_id: str, kind: str, why: Unknown) -> Observed:
    return Observed(
        source=stack.source,
        stack=stack.id,
        where=stack.at(logical_id),
        type=kind,
        name=why,
        key=why,
        indexes=why,
        billing=why,
        deletion_protection=why,
        deletion_policy=why,
        update_replace_policy=why,
        recovery=why,
        recovery_days=why,
        ttl=why,
        encryption=why,
        tags=why,
        stream=why,
        watched=why,
        alarms=why,
        extras=why,
        local_indexes=why,
        capacity=why,
    )


def _name(stack: StackSeen, value: Any) -> str | Unknown:
    """A name that functions may make up; a Ref stands for the name of what it refers to."""
    found = stack.resolver.text(value)
    return found if isinstance(found, str | Unknown) else Unknown(f"{found!r} is no name")


def _alarm_metrics(stack: StackSeen) -> Iterator[AlarmMetric]:
    for logical_id, properties in stack.alarms.items():
        try:
            yield from _read_alarm(stack, logical_id, properties)
        except (AttributeError, KeyError, TypeError):
            malformed = Unknown("the alarm is malformed, or decided at deploy time")
            yield AlarmMetric(where=stack.at(logical_id), metric=malformed, stat="", dimensions={})


def _read_alarm(stack: StackSeen, logical_id: str, p: Any) -> list[AlarmMetric]:
    stats = [q["MetricStat"] for q in p.get("Metrics", []) if "MetricStat" in q]
    found = []
    for stat, metric in [(p.get("Statistic"), p), *((s.get("Stat"), s.get("Metric", {})) for s in stats)]:
        if metric.get("Namespace") == "AWS/DynamoDB":
            dimensions = {str(d["Name"]): d["Value"] for d in metric.get("Dimensions", [])}
            name = metric.get("MetricName", "")
            read = name if isinstance(name, str | Unknown) else Unknown(f"{name!r} is no metric")
            found.append(AlarmMetric(where=stack.at(logical_id), metric=read, stat=str(stat), dimensions=dimensions))
    return found


def observe_key(stack: StackSeen, logical_id: str) -> ObservedKey | Unknown:
    """A key of the same template."""
    resource = _dict(stack.template["Resources"].get(logical_id))
    if resource.get("Type") != "AWS::KMS::Key" or stack.present(resource) is not True:
        return Unknown(f"{logical_id} is no key of this template")
    p = resource.get("Properties", {})
    return ObservedKey(
        where=stack.at(logical_id),
        rotation=_flag(stack.resolver.get(p, "EnableKeyRotation", False)),
        policy=policy if isinstance(policy := _dict(p).get("KeyPolicy", {}), dict) else Unknown("no policy document"),
        deletion_policy=stack.resolver.get(resource, "DeletionPolicy"),
        update_replace_policy=stack.resolver.get(resource, "UpdateReplacePolicy"),
        extras=frozenset(_dict(p)) - DECLARABLE_OF_KEY,
        unusable=tuple(_unusable(stack, p)),
    )


# What a key has to be to encrypt data for good, and what is wrong where it is not.
USABLE: Mapping[str, tuple[frozenset[str], str]] = {
    "Enabled": (frozenset({"true"}), "the key is disabled, so nobody can read what it encrypts"),
    "KeyUsage": (frozenset({"ENCRYPT_DECRYPT"}), "the key does not encrypt"),
    "KeySpec": (frozenset({"SYMMETRIC_DEFAULT"}), "the key is of a kind that encrypts no table or store"),
    "Origin": (frozenset({"AWS_KMS"}), "the key's material comes from outside, and can expire there"),
    "PendingWindowInDays": (frozenset({"30"}), "a deletion of the key can be cancelled for less than 30 days only"),
    "MultiRegion": (frozenset({"false"}), "the key can be copied to other regions"),
}


def _unusable(stack: StackSeen, properties: Any) -> Iterator[str | Unknown]:
    for name, (good, problem) in USABLE.items():
        seen = stack.resolver.get(properties, name)
        if isinstance(seen, Unknown):
            yield Unknown(f"{name} of the key cannot be read: {seen.reason}")
        elif seen is not None and (str(seen).lower() if isinstance(seen, bool) else str(seen)) not in good:
            yield problem


def _alarms(name: str | Unknown, stack: StackSeen) -> Mapping[str, Mapping[str, Any]] | Unknown:
    """The alarms that read a metric of a table, by their names."""
    if isinstance(name, Unknown):
        return Unknown("alarms are matched by the table's name, which cannot be read")
    own = dict.fromkeys(m.where.rpartition("#")[2] for m in stack.metrics_by_table.get(name, ()))
    found: dict[str, Mapping[str, Any]] = {}
    for alarm in (stack.alarms[i] for i in own):
        label = str(alarm.get("AlarmName"))
        # Two alarms of one name are one alarm, and nobody knows which.
        found[label] = alarm | {"heard": heard(stack, alarm)} if label not in found else {}
    return found


def heard(stack: StackSeen, alarm: Mapping[str, Any]) -> bool | Unknown:
    """Whether an alarm tells a topic of its own stack."""
    enabled, actions = _flag(alarm.get("ActionsEnabled", True)), alarm.get("AlarmActions", [])
    if isinstance(enabled, Unknown) or isinstance(actions, Unknown):
        return enabled if isinstance(enabled, Unknown) else actions
    return enabled and isinstance(actions, list) and any(stack.is_a(a, TOPIC) for a in actions)


def _watched(name: str | Unknown, stack: StackSeen) -> frozenset[tuple[str | None, str]] | Unknown:
    if isinstance(name, Unknown):
        return Unknown("alarms are matched by the table's name, which cannot be read")
    # How often an operation was called says nothing about how long it took.
    own = [m for m in stack.metrics_by_table.get(name, ()) if m.stat != "SampleCount"]
    return frozenset((str(i) if (i := m.dimensions.get(INDEX)) else None, str(m.metric)) for m in own)


def _flag(value: Any) -> bool | Unknown:
    """CloudFormation takes booleans and their names."""
    if isinstance(value, bool | Unknown):
        return value
    if str(value).lower() in {"true", "false"}:
        return str(value).lower() == "true"
    return Unknown(f"{value!r} is no boolean")


def _ttl(enabled: Any, attribute: Any) -> str | Unknown | None:
    on = _flag(enabled)
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
    enabled = _flag(stack.resolver.get(sse, "SSEEnabled", False))
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
        return tags if isinstance(tags, Unknown) else Unknown("tags are no list")
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


def _dimensions(properties: Any) -> Iterator[dict[str, Any]]:
    """Every dimension of an alarm, in place."""
    p = _dict(properties)
    queries = p.get("Metrics")
    metrics = [_dict(_dict(q).get("MetricStat")).get("Metric") for q in (queries if isinstance(queries, list) else ())]
    for metric in (p, *metrics):
        dimensions = _dict(metric).get("Dimensions")
        yield from (d for d in (dimensions if isinstance(dimensions, list) else ()) if isinstance(d, dict))


def _without(properties: Any, names: frozenset[str]) -> Any:
    return {k: v for k, v in properties.items() if k not in names} if isinstance(properties, dict) else properties


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _try(parse: Any, *arguments: Any) -> Any:
    """What ``parse`` makes of it, or Unknown: a function inside, or not the shape that CloudFormation takes."""
    unknown = next((a for a in arguments if isinstance(a, Unknown)), None)
    if unknown is not None:
        return unknown
    try:
        return parse(*arguments)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return Unknown(f"cannot be read ({type(error).__name__}: {error})")
