"""The values of a template in one spelling: scalars and sets as the type says, functions resolved or in one form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from holdfast.cfn import bounded, policies
from holdfast.cfn.conditions import text as spelled
from holdfast.cfn.facts import Property
from holdfast.cfn.tree import parts
from holdfast.errors import InputError

Json = dict[str, Any]
NOWHERE, FREE = Property(), Property(free_json=True)
LEVELS_INSIDE = 30  # of JSON inside of a text, and how often it may stand in another
NESTED = 2
GROWTH = 10_000_000  # characters that functions may add to a template: CloudFormation takes one million in all
PIECE = 20  # what a function inside of a text counts for
NO_VALUE = {"Ref": "AWS::NoValue"}  # by identity: absent; equal to it but another object: stays as it is
SUB = re.compile(r"\$\{([^{}]*)\}")
NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]+)?")
# Free JSON that CloudFormation takes as a text alone, so that a tree is not another spelling of it.
TEXTS = frozenset(
    {
        "Configuration",
        "DashboardBody",
        "DefinitionString",
        "Input",
        "Manifest",
        "Pattern",
        "ReplicationTaskSettings",
        "RuleBody",
        "TableMappings",
    }
)
MARK = re.compile("(\ue000\\d+\ue001)")


@dataclass(slots=True)
class Walk:
    """One way through a template. How deep it goes is bounded by its input, how much it writes by ``left``."""

    conditions: Mapping[str, bool] = field(default_factory=dict)
    mappings: Any = None
    left: int = GROWTH

    def value(self, raw: Any, place: Property = NOWHERE, inside: int = 0) -> Any:
        """``inside`` is how many texts of JSON this stands in. NO_VALUE is for the caller to leave out."""
        if isinstance(raw, dict):
            if len(raw) == 1:
                ((name, argument),) = raw.items()
                if policies.names_function(name):
                    return self._function(name, argument, place, inside)
            return self._object(raw, place, inside)
        if isinstance(raw, list):
            return self._list(raw, place, inside)
        return self._text(raw, place, inside) if isinstance(raw, str) else _scalar(raw, place.scalar)

    def _object(self, raw: Json, place: Property, inside: int) -> Json:
        found: Json = {}
        for name in sorted(raw):
            below = _below(place, name)
            made = self.value(raw[name], below, inside)
            if made is NO_VALUE:
                continue
            either = below.free_json and not place.free_json and name not in TEXTS and "*" not in place.parts
            found[name] = self.value(made["Fn::ToJsonString"], below, inside) if either and _is_json(made) else made
        return policies.canonical(found) if policies.is_policy(found) else found

    def _list(self, raw: list[Any], place: Property, inside: int) -> Any:
        below = _below(place, "*")
        items = []
        for item in raw:
            made = self.value(item, below, inside)
            if made is not NO_VALUE:
                items.append(made)
        if not place.unordered:
            return items
        tags = _tags(items)
        return sorted(items, key=policies.key) if tags is None else tags

    def _text(self, raw: str, place: Property, inside: int) -> Any:
        tree = _json_inside(raw) if inside < NESTED else None
        if tree is None:
            return _scalar(raw, place.scalar)
        return {"Fn::ToJsonString": self.value(tree, inside=inside + 1)}

    # Functions

    def _function(self, name: str, argument: Any, place: Property, inside: int) -> Any:
        """Resolved, or in one spelling; one that is not well formed stays as it is and never becomes another."""
        match name, argument:
            case "Ref", "AWS::NoValue":
                return NO_VALUE
            case "Fn::Sub" | "Fn::Join", _:
                pieces = self._pieces(name, argument, inside)
                return {name: argument} if pieces is None else self._joined(pieces, place, inside)
            case "Fn::GetAtt", _:
                return {name: self._attribute(argument, inside)}
            case "Fn::If", [str(condition), yes, no]:
                return self._chosen(condition, yes, no, place, inside)
            case "Fn::FindInMap", [_, _, _]:
                return self._found([_kept(self.value(v, NOWHERE, inside)) for v in argument], place, inside)
            case "Fn::Select", [index, items]:
                return self._selected(_scalar(index, "integer"), self.value(items, NOWHERE, inside), place, inside)
            case "Fn::GetAZs", _:
                zones = self.value(argument, NOWHERE, inside)
                return {name: "" if zones == {"Ref": "AWS::Region"} else zones}
            case "Fn::Equals", [left, right]:
                return {name: [_scalar(_kept(self.value(v, NOWHERE, inside)), "string") for v in (left, right)]}
            case "Fn::ToJsonString", _:
                return {name: _kept(self.value(argument, NOWHERE, inside + 1))}
            case "Ref" | "Fn::If" | "Fn::Select", _:
                return {name: argument}
        if isinstance(argument, list):  # of arguments, which are told by their places
            return {name: [_kept(self.value(v, NOWHERE, inside)) for v in argument]}
        return {name: _kept(self.value(argument, NOWHERE, inside))}

    def _attribute(self, argument: Any, inside: int) -> Any:
        match argument:
            case str():
                return argument.split(".", 1)
            case [str(of), dict(attribute)]:
                return [of, _kept(self.value(attribute, NOWHERE, inside))]
        return argument

    def _chosen(self, condition: str, yes: Any, no: Any, place: Property, inside: int) -> Any:
        if (holds := self.conditions.get(condition)) is not None:
            return self.value(yes if holds else no, place, inside)
        return {"Fn::If": [condition, *(_kept(self.value(v, place, inside)) for v in (yes, no))]}

    def _selected(self, index: Any, items: Any, place: Property, inside: int) -> Any:
        if _is_literal(items) and not isinstance(index, bool) and index in range(len(items)):
            return self.value(items[index], place, inside)
        return {"Fn::Select": [_kept(self.value(index, NOWHERE, inside)), _kept(items)]}

    def _found(self, steps: list[Any], place: Property, inside: int) -> Any:
        """What a mapping holds there, where that is known: texts and lists of texts."""
        found = self.mappings
        for step in steps:
            found = found.get(step) if isinstance(found, dict) and isinstance(step, str) else None
        if isinstance(found, str | int | float) or _is_literal(found):
            return self.value(found, place, inside)
        return {"Fn::FindInMap": steps}

    # Texts that are put together

    def _pieces(self, name: str, argument: Any, inside: int) -> list[Any] | None:
        """What stands behind each other in a Fn::Sub or Fn::Join; None where it is not well formed."""
        match name, argument:
            case "Fn::Join", [str(between), parts]:
                listed = parts if isinstance(parts, list) else self.value(parts, NOWHERE, inside)
                if isinstance(listed, list):
                    return self._of_join(between, listed, inside)
                return [{"Fn::Join": [between, _kept(listed)]}]
            case "Fn::Sub", str(text):
                return self._of_sub(text, {}, inside)
            case "Fn::Sub", [str(text), dict(given)]:
                return self._of_sub(text, given, inside)
        return None

    def _of_join(self, between: str, parts: list[Any], inside: int) -> list[Any]:
        found: list[Any] = []
        first = True
        for part in parts:
            if part == NO_VALUE:
                continue
            if between and not first:
                found.append(self._paid(between))
            found += self._part(part, inside)
            first = False
        return found

    def _of_sub(self, text: str, given: Json, inside: int) -> list[Any]:
        found: list[Any] = []
        values: dict[str, list[Any]] = {}  # each is looked at once, however often it is named
        end = 0
        for hole in SUB.finditer(text):
            found.append(text[end : hole.start()])
            end = hole.end()
            name = hole[1].strip()
            if name.startswith("!"):
                found.append("${" + name[1:] + "}")
                continue
            if name not in values:
                values[name] = self._part(given[name] if name in given else _reference(name), inside)
            found += map(self._paid, values[name])
        found.append(text[end:])
        return found

    def _part(self, raw: Any, inside: int) -> list[Any]:
        """The pieces of one part; a text in a text is not JSON by itself."""
        if isinstance(raw, dict) and len(raw) == 1:
            ((name, argument),) = raw.items()
            if (pieces := self._pieces(name, argument, inside)) is not None:
                return list(map(self._paid, pieces))
        made = raw if isinstance(raw, str) else _kept(self.value(raw, NOWHERE, inside))
        return [self._paid(spelled(made) if isinstance(made, bool | int | float) else made)]

    def _paid(self, piece: Any) -> Any:
        self.left -= 1 + len(piece) if isinstance(piece, str) else PIECE
        if self.left < 0:
            raise InputError("a template's Fn::Sub and Fn::Join write more than CloudFormation takes: shorten them")
        return piece

    def _joined(self, pieces: list[Any], place: Property, inside: int) -> Any:
        """Neighbours that are texts are one, a text alone is not a function, and a text of JSON is a tree."""
        flat: list[Any] = []
        for texts, group in groupby(pieces, key=lambda p: isinstance(p, str)):
            if not texts:
                flat += group
            elif joined := "".join(group):
                flat.append(joined)
        if len(flat) < 2:
            whole = flat[0] if flat else ""
            if isinstance(whole, str):
                return self._text(whole, place, inside)
            if not policies.is_function(whole):
                return {"Fn::Join": ["", flat]}
            # Alone, a function stands at this place itself; a Fn::Join is in its last spelling.
            return whole if "Fn::Join" in whole else self.value(whole, place, inside)
        tree = _json_with_holes(flat) if inside < NESTED else None
        return {"Fn::Join": ["", flat]} if tree is None else {"Fn::ToJsonString": self.value(tree, inside=inside + 1)}


def _below(place: Property, step: str) -> Property:
    return place.parts.get(step) or place.parts.get("*") or (FREE if place.free_json else NOWHERE)


def _kept(made: Any) -> Any:
    """Where something must stand, even if it is nothing."""
    return dict(NO_VALUE) if made is NO_VALUE else made


def _reference(name: str) -> Json:
    dotted = "." in name and not name.startswith("AWS::")
    return {"Fn::GetAtt": name.split(".", 1)} if dotted else {"Ref": name}


def _is_literal(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(i, str | int | float) for i in found)


def _scalar(raw: Any, kind: str | None) -> Any:
    """As the property's type says: CloudFormation takes "true" and "35" for true and 35, and the other way round."""
    match kind, raw:
        case "boolean", "true" | "false":
            return raw == "true"
        case "integer" | "number", str() if NUMBER.fullmatch(raw):
            return _number(float(raw)) if "." in raw else int(raw)
        case "integer" | "number", float():
            return _number(raw)
        case "string", bool() | int() | float():
            return spelled(raw)
    return raw


def _number(found: float) -> float:
    return int(found) if found.is_integer() and abs(found) < 1e15 else found


def _tags(items: list[Any]) -> Json | None:
    """Tags as a map, where no key stands twice and none would be read as a function."""
    if not items or not all(isinstance(i, dict) and i.keys() == {"Key", "Value"} for i in items):
        return None
    names = [i["Key"] for i in items]
    if not all(isinstance(n, str) and not policies.names_function(n) for n in names) or len(set(names)) < len(names):
        return None
    return {i["Key"]: i["Value"] for i in sorted(items, key=lambda i: str(i["Key"]))}


# JSON inside of texts


def _is_json(made: Any) -> bool:
    return isinstance(made, dict) and made.keys() == {"Fn::ToJsonString"} and isinstance(made["Fn::ToJsonString"], dict)


def _json_inside(text: str) -> Any:
    """The tree that a text spells, where it is a JSON object or list with something in it."""
    if text[:1] not in "{[" or len(text) < 4:
        return None
    try:
        found = bounded.tree(text, LEVELS_INSIDE)
    except ValueError:
        return None
    return found if isinstance(found, dict | list) and found and _is_plain(found) else None


def _is_plain(tree: Any) -> bool:
    """Whether no words of a text would be taken for a function of CloudFormation, and no name has a hole."""
    objects = (part for part in parts(tree) if isinstance(part, dict))
    return not any(policies.is_function(o) or any("\ue000" in name for name in o) for o in objects)


def _json_with_holes(parts: list[Any]) -> Any:
    """The same for a text that is put together at deploy time, where what is put in stands inside of its texts."""
    if not isinstance(parts[0], str) or parts[0][:1] not in "{[":
        return None
    if any("\ue000" in p or "\ue001" in p for p in parts if isinstance(p, str)):
        return None
    marks = {f"\ue000{n}\ue001": part for n, part in enumerate(parts) if not isinstance(part, str)}
    names = iter(marks)
    tree = _json_inside("".join(p if isinstance(p, str) else next(names) for p in parts))
    return None if tree is None else _filled(tree, marks)


def _filled(tree: Any, marks: Mapping[str, Any]) -> Any:
    if isinstance(tree, dict):
        return {k: _filled(v, marks) for k, v in tree.items()}
    if isinstance(tree, list):
        return [_filled(v, marks) for v in tree]
    if not isinstance(tree, str) or "\ue000" not in tree:
        return tree
    return {"Fn::Join": ["", [marks.get(p, p) for p in MARK.split(tree) if p]]}
