"""What a CloudFormation template shows, synthesized or deployed. Pure: JSON in, observations out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

from holdfast.cfn.intrinsics import Reference, Resolver
from holdfast.cfn.tree import mapping
from holdfast.cfn.types import ALARM, TOPIC
from holdfast.unknown import Unknown

UNREAD = frozenset({"AlarmDescription", "OKActions", "Tags"})  # of an alarm, by any rule
HIDING = ("Fn::Transform", "Fn::ForEach")  # what stands there is made when it is deployed
LANGUAGE = "AWS::LanguageExtensions"  # more functions; without a loop it adds and changes no resource


class Source(Enum):
    """Where an observation comes from."""

    DECLARATION = "declaration"
    CONTRACT = "contract"
    TEMPLATE = "template"
    DEPLOYED = "deployed"
    LIVE = "live"


@dataclass(frozen=True, kw_only=True)
class StackSeen:
    """One stack as a template shows it. ``protected`` is its termination protection, where the source tells."""

    id: str
    where: str
    template: Mapping[str, Any]
    name: str | None = None
    region: str | None = None
    account: str | None = None  # None where the credentials decide
    protected: bool | Unknown | None = None
    source: Source = Source.TEMPLATE
    exports: Mapping[str, str] = field(default_factory=dict, repr=False)  # keys of other stacks, by their exports
    # Of a live account: the ARNs of resources by logical id, and the types of resources that could not be listed.
    arns: Mapping[str, str] = field(default_factory=dict, repr=False)
    unread: Mapping[str, Unknown] = field(default_factory=dict)

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
                dimension["Value"] = name_of(self, dimension.get("Value"))
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
        return self.arns.get(logical_id) or f"{self.where}#{logical_id}"


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


def name_of(stack: StackSeen, value: Any) -> str | Unknown:
    """A name that functions may make up; a Ref stands for the name of what it refers to."""
    found = stack.resolver.text(value)
    return found if isinstance(found, str | Unknown) else Unknown(f"{found!r} is not a name")


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
            read = name if isinstance(name, str | Unknown) else Unknown(f"{name!r} is not a metric")
            found.append(AlarmMetric(where=stack.at(logical_id), metric=read, stat=str(stat), dimensions=dimensions))
    return found


def notifies_topic(stack: StackSeen, alarm: Mapping[str, Any]) -> bool | Unknown:
    """Whether an alarm publishes to a topic of its own stack."""
    enabled, actions = flag(alarm.get("ActionsEnabled", True)), alarm.get("AlarmActions", [])
    if isinstance(enabled, Unknown) or isinstance(actions, Unknown):
        return enabled if isinstance(enabled, Unknown) else actions
    return enabled and isinstance(actions, list) and any(stack.is_a(a, TOPIC) for a in actions)


def flag(value: Any) -> bool | Unknown:
    """CloudFormation takes booleans and their names."""
    if isinstance(value, bool | Unknown):
        return value
    if str(value).lower() in {"true", "false"}:
        return str(value).lower() == "true"
    return Unknown(f"{value!r} is neither true nor false")


def _dimensions(properties: Any) -> Iterator[dict[str, Any]]:
    """Every dimension of an alarm, in place."""
    p = mapping(properties)
    queries = p.get("Metrics")
    metrics = [
        mapping(mapping(q).get("MetricStat")).get("Metric") for q in (queries if isinstance(queries, list) else ())
    ]
    for metric in (p, *metrics):
        dimensions = mapping(metric).get("Dimensions")
        yield from (d for d in (dimensions if isinstance(dimensions, list) else ()) if isinstance(d, dict))


def _without(properties: Any, names: frozenset[str]) -> Any:
    return {k: v for k, v in properties.items() if k not in names} if isinstance(properties, dict) else properties
