"""CloudFormation's intrinsic functions: resolved where that can be decided before a deploy, else Unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.cfn.conditions import decide
from holdfast.cfn.conditions import text as spelled
from holdfast.model import regions
from holdfast.unknown import Unknown

LEVELS = 60  # of what is resolved, names of resources in names included
LONGEST = 2_000  # characters of a name: no service takes so many
GROWTH = 50_000_000  # characters that the functions of one template may write
SUB = re.compile(r"\$\{([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class Reference:
    """Another resource of the same template: what Ref and Fn::GetAtt point at."""

    logical_id: str
    attribute: str | None = None


class _Absent:
    """AWS::NoValue: as if the property were not there."""


ABSENT = _Absent()


@dataclass(slots=True)
class _Seen:
    """What was found out once, and how much may still be written: whatever a template says, reading it ends."""

    conditions: dict[str, bool | Unknown] | None = None
    names: dict[str, Any] = field(default_factory=dict)
    left: int = GROWTH


@dataclass(frozen=True, slots=True)
class Resolver:
    """Values of one template, deployed to one region."""

    template: Mapping[str, Any]
    region: str | None
    exports: Mapping[str, str] = field(default_factory=dict, repr=False)  # of other templates, where they are known
    _seen: _Seen = field(default_factory=_Seen, repr=False, compare=False)

    def value(self, raw: Any) -> Any:
        """``raw`` with every function in it resolved; Unknown where one of them cannot be."""
        return self._value(raw, 0)

    def _value(self, raw: Any, level: int) -> Any:
        if isinstance(raw, dict):  # not Mapping: ten times as fast, and JSON has nothing else
            if level > LEVELS:
                return Unknown(f"it nests deeper than {LEVELS} levels")
            if len(raw) == 1:
                ((name, argument),) = raw.items()
                if name == "Ref" or name == "Condition" or str(name).startswith("Fn::"):
                    return self._function(name, argument, level + 1)
            found = {k: self._value(v, level + 1) for k, v in raw.items()}
            return {k: v for k, v in found.items() if v is not ABSENT}
        if isinstance(raw, list):
            if level > LEVELS:
                return Unknown(f"it nests deeper than {LEVELS} levels")
            return [made for v in raw if (made := self._value(v, level + 1)) is not ABSENT]
        return raw

    def get(self, properties: Any, name: str, default: Any = None) -> Any:
        """One property, resolved; ``default`` where it is absent."""
        if isinstance(properties, Unknown):
            return properties
        if not isinstance(properties, Mapping):
            return Unknown(f"{name} stands in something that is not an object")
        found = self.value(properties[name]) if name in properties else ABSENT
        return default if found is ABSENT else found

    def _function(self, name: str, argument: Any, level: int) -> Any:
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
                    separator, parts = argument
                    return self._joined(separator, parts, level)
                case "Fn::Sub":
                    return self._sub(argument, level)
                case "Fn::If":
                    condition, yes, no = argument
                    return self._if(condition, yes, no, level)
                case "Fn::FindInMap":
                    return self._find(argument, level)
                case "Fn::Select":
                    index, choices = self._value(argument[0], level), self._value(argument[1], level)
                    return choices[int(index)] if isinstance(choices, list) else Unknown("Fn::Select")
                case "Fn::ImportValue" if isinstance(argument, str) and argument in self.exports:
                    return self.exports[argument]
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
                return regions.partition(self.region)
            case "AWS::URLSuffix":
                return regions.suffix(self.region)
        if not isinstance(name, str):
            return Unknown("Ref is malformed")
        if name in self.template.get("Resources", {}):
            return Reference(name)
        if name in self.template.get("Parameters", {}):
            return Unknown(f"parameter {name} is given at deploy time")
        return Unknown(f"Ref {name}")

    def text(self, raw: Any) -> Any:
        """A value that stands inside a text; a Ref to a named resource is that name."""
        return self._text(raw, 0)

    def _text(self, raw: Any, level: int) -> Any:
        found = self._value(raw, level)
        if isinstance(found, Reference):
            return self._named(found, level)
        return found if isinstance(found, str | int | float | Unknown) else Unknown("not a text")

    def named(self, reference: Reference) -> Any:
        """The physical name behind a Ref, where the template fixes it."""
        return self._named(reference, 0)

    def _named(self, reference: Reference, level: int) -> Any:
        if reference.attribute is not None:
            return Unknown(f"{reference.logical_id}.{reference.attribute} is known after the deploy")
        names = self._seen.names
        if reference.logical_id not in names:
            names[reference.logical_id] = Unknown(f"the name of {reference.logical_id} refers to itself")
            names[reference.logical_id] = self._name(reference.logical_id, level)
        return names[reference.logical_id]

    def _name(self, logical_id: str, level: int) -> Any:
        resources = self.template.get("Resources")
        resource = resources.get(logical_id) if isinstance(resources, dict) else None
        properties = resource.get("Properties") if isinstance(resource, dict) else None
        if not isinstance(resource, dict) or not isinstance(properties, dict):
            return Unknown(f"{logical_id} is named at deploy time")
        kind = str(resource.get("Type", "")).rpartition("::")[2]
        for candidate in (f"{kind}Name", "TableName", "QueueName", "FunctionName", "TopicName", "LogGroupName"):
            if candidate in properties:
                found = self._text(properties[candidate], level + 3)
                too_long = isinstance(found, str) and len(found) > LONGEST
                return Unknown(f"the name of {logical_id} is longer than any name") if too_long else found
        return Unknown(f"{logical_id} is named at deploy time")

    def _written(self, texts: list[Any], separator: str = "") -> Any:
        """Texts behind each other, as long as there is room for them."""
        unknown = next((t for t in texts if isinstance(t, Unknown)), None)
        if unknown is not None:
            return unknown
        parts = list(map(spelled, texts))
        self._seen.left -= sum(map(len, parts)) + len(separator) * len(parts)
        return separator.join(parts) if self._seen.left > 0 else Unknown("the functions of the template write too much")

    def _joined(self, separator: str, parts: list[Any], level: int) -> Any:
        if len(parts) == 1 and isinstance(found := self._value(parts[0], level), Reference):
            return found  # nothing but a reference is that reference
        return self._written([self._text(p, level) for p in parts], separator)

    def _sub(self, argument: Any, level: int) -> Any:
        text, given = (argument, {}) if isinstance(argument, str) else argument
        pieces = SUB.split(text)  # a text, a name, a text, a name, …, a text
        values: dict[str, Any] = {}
        for hole in pieces[1::2]:
            if hole not in values:
                values[hole] = self._hole(hole.strip(), given)
        if len(pieces) == 3 and not pieces[0] and not pieces[2] and isinstance(values[pieces[1]], dict):
            return self._joined("", [values[pieces[1]]], level)
        texts = {hole: raw if isinstance(raw, str) else self._text(raw, level) for hole, raw in values.items()}
        return self._written([texts[piece] if n % 2 else piece for n, piece in enumerate(pieces)])

    @staticmethod
    def _hole(name: str, given: Any) -> Any:
        """What stands in a hole of Fn::Sub: a text, or what is to be resolved."""
        if name.startswith("!"):
            return "${" + name[1:] + "}"
        if name in given:
            return given[name]
        attribute = "." in name and not name.startswith("AWS::")
        return {"Fn::GetAtt": name} if attribute else {"Ref": name}

    def _if(self, condition: Any, yes: Any, no: Any, level: int) -> Any:
        holds = self.condition(condition)
        if isinstance(holds, Unknown):
            first, second = self._value(yes, level), self._value(no, level)
            return first if first is second or first == second else Unknown(f"condition {condition}: {holds.reason}")
        return self._value(yes if holds else no, level)

    def condition(self, name: Any) -> bool | Unknown:
        """Whether a named condition holds."""
        declared = self.template.get("Conditions")
        if not isinstance(declared, Mapping) or not isinstance(name, str) or name not in declared:
            return Unknown(f"condition {name} is not declared")
        if self._seen.conditions is None:
            self._seen.conditions = {}
            decide(declared, self.value, self._seen.conditions)
        return self._seen.conditions.get(name, Unknown(f"condition {name} refers to itself"))

    def _find(self, path: Any, level: int) -> Any:
        """What a mapping holds: texts and lists of texts, never a function."""
        found: Any = self.template.get("Mappings", {})
        for part in path[:3]:
            step = self._value(part, level)
            if isinstance(step, Unknown):
                return step
            found = found[step]
        return Unknown("Fn::FindInMap finds what no mapping can hold") if isinstance(found, dict) else found
