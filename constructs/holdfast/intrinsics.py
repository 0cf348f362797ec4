"""CloudFormation's intrinsic functions: resolved where that can be decided before a deploy, else Unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that cannot be read, and why."""

    reason: str

    def __bool__(self) -> bool:
        raise TypeError(f"an unknown value is neither true nor false ({self.reason})")


@dataclass(frozen=True, slots=True)
class Reference:
    """Another resource of the same template: what Ref and Fn::GetAtt point at."""

    logical_id: str
    attribute: str | None = None


class _Absent:
    """AWS::NoValue: as if the property were not there."""


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class Resolver:
    """Values of one template, deployed to one region."""

    template: Mapping[str, Any]
    region: str | None
    depth: int = field(default=0)

    def value(self, raw: Any) -> Any:
        """``raw`` with every function in it resolved; Unknown where one of them cannot be."""
        if isinstance(raw, dict):  # not Mapping: ten times as fast, and JSON has nothing else
            if len(raw) == 1:
                ((name, argument),) = raw.items()
                if name == "Ref" or name == "Condition" or str(name).startswith("Fn::"):
                    return self._function(name, argument)
            found = {k: self.value(v) for k, v in raw.items()}
            return {k: v for k, v in found.items() if v is not ABSENT}
        if isinstance(raw, list):
            return [v for v in map(self.value, raw) if v is not ABSENT]
        return raw

    def get(self, properties: Any, name: str, default: Any = None) -> Any:
        """One property, resolved; ``default`` where it is absent."""
        if isinstance(properties, Unknown):
            return properties
        if not isinstance(properties, Mapping):
            return Unknown(f"{name} stands in something that is no object")
        found = self.value(properties[name]) if name in properties else ABSENT
        return default if found is ABSENT else found

    def _function(self, name: str, argument: Any) -> Any:
        try:
            match name:
                case "Ref":
                    return self._ref(argument)
                case "Fn::GetAtt":
                    parts = argument.split(".", 1) if isinstance(argument, str) else argument
                    if not (len(parts) == 2 and all(isinstance(p, str) for p in parts)):
                        return Unknown("Fn::GetAtt of something that is decided at deploy time")
                    return Reference(*parts)
                case "Fn::Join":
                    return self._join(*argument)
                case "Fn::Sub":
                    return self._sub(argument)
                case "Fn::If":
                    return self._if(*argument)
                case "Fn::FindInMap":
                    return self._find(*argument)
                case "Fn::Select":
                    index, choices = self.value(argument[0]), self.value(argument[1])
                    return choices[int(index)] if isinstance(choices, list) else Unknown("Fn::Select")
        except (TypeError, ValueError, IndexError, KeyError, AttributeError):
            return Unknown(f"{name} is malformed")
        return Unknown(f"{name} is decided at deploy time")

    def _ref(self, name: Any) -> Any:
        match name:
            case "AWS::NoValue":
                return ABSENT
            case "AWS::Region":
                return self.region if self.region else Unknown("the region is not fixed")
            case "AWS::Partition":
                return "aws"
            case "AWS::URLSuffix":
                return "amazonaws.com"
        if not isinstance(name, str):
            return Unknown("Ref is malformed")
        if name in self.template.get("Resources", {}):
            return Reference(name)
        if name in self.template.get("Parameters", {}):
            return Unknown(f"parameter {name} is given at deploy time")
        return Unknown(f"Ref {name}")

    def text(self, raw: Any) -> Any:
        """A value that stands inside a text; a Ref to a named resource is that name."""
        found = self.value(raw)
        if isinstance(found, Reference):
            return self.named(found)
        return found if isinstance(found, str | int | float | Unknown) else Unknown("not a text")

    def named(self, reference: Reference) -> Any:
        """The physical name behind a Ref, where the template fixes it."""
        if reference.attribute is not None:
            return Unknown(f"{reference.logical_id}.{reference.attribute} is known after the deploy")
        resource = self.template["Resources"].get(reference.logical_id, {})
        kind = str(resource.get("Type", "")).rpartition("::")[2]
        properties = resource.get("Properties", {})
        for candidate in (f"{kind}Name", "TableName", "QueueName", "FunctionName", "TopicName", "LogGroupName"):
            if candidate in properties:
                if self.depth > 20:
                    return Unknown(f"the name of {reference.logical_id} refers to itself")
                return Resolver(self.template, self.region, self.depth + 1).text(properties[candidate])
        return Unknown(f"{reference.logical_id} is named at deploy time")

    def _join(self, separator: str, parts: Any) -> Any:
        texts = [self.text(p) for p in parts]
        unknown = next((t for t in texts if isinstance(t, Unknown)), None)
        return unknown if unknown is not None else separator.join(map(str, texts))

    def _sub(self, argument: Any) -> Any:
        text, values = (argument, {}) if isinstance(argument, str) else argument
        missing: list[Unknown] = []

        def fill(found: re.Match[str]) -> str:
            name = found[1].strip()
            if name.startswith("!"):
                return "${" + name[1:] + "}"
            raw = values[name] if name in values else {"Fn::GetAtt": name} if self._attribute(name) else {"Ref": name}
            value = self.text(raw)
            if isinstance(value, Unknown):
                missing.append(value)
                return ""
            return str(value)

        filled = re.sub(r"\$\{([^}]+)\}", fill, text)
        return missing[0] if missing else filled

    @staticmethod
    def _attribute(name: str) -> bool:
        return "." in name and not name.startswith("AWS::")

    def _if(self, condition: Any, yes: Any, no: Any) -> Any:
        holds = self.condition(condition)
        if isinstance(holds, Unknown):
            first, second = self.value(yes), self.value(no)
            return first if first is second or first == second else Unknown(f"condition {condition}: {holds.reason}")
        return self.value(yes if holds else no)

    def condition(self, name: Any) -> bool | Unknown:
        """Whether a named condition holds."""
        declared = self.template.get("Conditions", {}).get(name)
        if declared is None or self.depth > 20:
            return Unknown(f"condition {name} is not declared")
        return Resolver(self.template, self.region, self.depth + 1)._holds(declared)

    def _holds(self, raw: Any) -> bool | Unknown:
        if not isinstance(raw, Mapping) or len(raw) != 1:
            return Unknown("no condition")
        ((name, argument),) = raw.items()
        match name:
            case "Condition":
                return self.condition(argument)
            case "Fn::Equals":
                left, right = self.value(argument[0]), self.value(argument[1])
                undecided: Unknown | None = next((v for v in (left, right) if isinstance(v, Unknown)), None)
                return bool(left == right) if undecided is None else undecided
            case "Fn::Not":
                held = self._holds(argument[0])
                return held if isinstance(held, Unknown) else not held
            case "Fn::And" | "Fn::Or":
                answers = [self._holds(a) for a in argument]
                decisive = bool(name == "Fn::Or")
                if any(a is decisive for a in answers):
                    return decisive
                open_ones = [a for a in answers if isinstance(a, Unknown)]
                return open_ones[0] if open_ones else not decisive
        return Unknown(f"{name} is no condition")

    def _find(self, *path: Any) -> Any:
        found: Any = self.template.get("Mappings", {})
        for part in path[:3]:
            step = self.value(part)
            if isinstance(step, Unknown):
                return step
            found = found[step]
        return self.value(found)
