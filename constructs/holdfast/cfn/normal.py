"""One spelling for everything that CloudFormation takes as the same, whoever wrote the template."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.cfn.facts import TypeFacts, facts
from holdfast.errors import InputError

Json = dict[str, Any]
DEPTH = 100  # CloudFormation's own limit is far below
EMPTY = TypeFacts()
SUB = re.compile(r"\$\{([^{}]*)\}")
WITHOUT_EFFECT = frozenset({"AWSTemplateFormatVersion", "Description"})
OWN = re.compile(r"aws:(cdk|asset):")  # keys of metadata that CDK writes for itself
BOOTSTRAP, CHECK, ANALYTICS = "BootstrapVersion", "CheckBootstrapVersion", "AWS::CDK::Metadata"
LISTS_OF_POLICY = frozenset({"Action", "NotAction", "Resource", "NotResource"})


def template(raw: Mapping[str, Any]) -> Json:
    """The sections that have an effect; CDK's own bookkeeping is left out where nothing refers to it."""
    conditions = _decided(raw.get("Conditions"))
    walk = _Walk(conditions=conditions, mappings=raw.get("Mappings"))
    found: Json = {}
    for section, body in raw.items():
        if section in WITHOUT_EFFECT:
            continue
        if section == "Resources" and isinstance(body, dict):
            found[section] = dict(sorted(walk.resources(body)))
        elif section == "Metadata" and isinstance(body, dict):
            found[section] = {k: walk.value(v) for k, v in sorted(body.items()) if not OWN.match(k)}
        elif section == "Conditions" and isinstance(body, dict):
            found[section] = {k: walk.value(v) for k, v in sorted(body.items()) if conditions.get(k) is None}
        else:
            found[section] = walk.value(body)
    _drop_bookkeeping(found)
    _drop_unused(found)
    return {section: body for section, body in sorted(found.items()) if body not in ({}, [], None)}


def value(raw: Any, kind: str = "") -> Any:
    """One value on its own, such as the properties of a live resource of type ``kind``."""
    return _Walk().value(raw, facts(kind) if kind else EMPTY)


# Conditions that can be decided before a deploy


def _decided(conditions: Any) -> dict[str, bool | None]:
    """Whether each named condition holds; None where a deploy decides. Each is looked at once."""
    known: dict[str, bool | None] = {}
    if not isinstance(conditions, dict):
        return known

    def named(name: Any, depth: int) -> bool | None:
        if not isinstance(name, str) or name not in conditions:
            return None
        if name not in known:
            known[name] = None  # a condition that refers to itself is not decided
            known[name] = holds(conditions[name], depth + 1)
        return known[name]

    def holds(raw: Any, depth: int) -> bool | None:
        if depth > DEPTH or not isinstance(raw, dict) or len(raw) != 1:
            return None
        ((name, argument),) = raw.items()
        if name == "Condition":
            return named(argument, depth)
        if not isinstance(argument, list):
            return None
        if name == "Fn::Equals" and len(argument) == 2 and all(isinstance(a, str | int | float) for a in argument):
            return _text(argument[0]) == _text(argument[1])
        answers = [holds(a, depth + 1) for a in argument] if name in ("Fn::And", "Fn::Or", "Fn::Not") else []
        if name == "Fn::Not" and len(answers) == 1:
            return None if answers[0] is None else not answers[0]
        if name in ("Fn::And", "Fn::Or") and answers:
            decisive = name == "Fn::Or"
            return decisive if decisive in answers else None if None in answers else not decisive
        return None

    for name in conditions:
        named(name, 0)
    return known


def _text(scalar: Any) -> str:
    return str(scalar).lower() if isinstance(scalar, bool) else str(scalar)


# Values


@dataclass(slots=True)
class _Walk:
    conditions: Mapping[str, bool | None] = field(default_factory=dict)
    mappings: Any = None

    def resources(self, body: Json) -> Iterator[tuple[str, Any]]:
        for logical_id, resource in body.items():
            if not isinstance(resource, dict):
                yield logical_id, resource
                continue
            holds = self.conditions.get(str(resource.get("Condition"))) if "Condition" in resource else None
            if holds is False:
                continue
            yield logical_id, self._resource({k: v for k, v in resource.items() if k != "Condition" or holds is None})

    def _resource(self, resource: Json) -> Json:
        kind = resource.get("Type")
        known = facts(kind) if isinstance(kind, str) else EMPTY
        found: Json = {}
        for name, part in sorted(resource.items()):
            match name:
                case "Properties":
                    found[name] = self.value(part, known)
                case "DependsOn":
                    found[name] = sorted({part} if isinstance(part, str) else set(part)) if _names(part) else part
                case "Metadata" if isinstance(part, dict):
                    found[name] = {k: self.value(v) for k, v in sorted(part.items()) if not OWN.match(k)}
                case _:
                    found[name] = self.value(part)
        return {k: v for k, v in found.items() if v not in ({}, [])}

    def value(self, raw: Any, known: TypeFacts = EMPTY, at: str = "", depth: int = 0) -> Any:
        if depth > DEPTH:
            raise InputError(f"a template nests deeper than {DEPTH} levels: CloudFormation takes no such template")
        if isinstance(raw, dict):
            if len(raw) == 1 and (made := self._function(raw, known, at, depth)) is not None:
                return made[0]
            if _is_policy(raw):
                return self._policy(raw, depth)
            below = f"{at}/" if at else ""
            found = {k: self.value(v, known, below + k, depth + 1) for k, v in sorted(raw.items())}
            return {k: v for k, v in found.items() if v is not NO_VALUE}
        if isinstance(raw, list):
            items = [self.value(v, known, f"{at}/*", depth + 1) for v in raw]
            items = [i for i in items if i is not NO_VALUE]
            if tags := _tags(items):
                return tags
            return sorted(items, key=_key) if at in known.unordered else items
        if isinstance(raw, str) and (tree := _json_inside(raw)) is not None:
            return {"Fn::ToJsonString": self.value(tree, depth=depth + 1)}
        return _scalar(raw, known.scalars.get(at))

    def _policy(self, raw: Json, depth: int) -> Json:
        """The order of statements, and of what a statement lists, means nothing; one is a list of one."""
        found = {k: self.value(v, depth=depth + 1) for k, v in sorted(raw.items()) if k != "Statement"}
        statements = raw["Statement"] if isinstance(raw["Statement"], list) else [raw["Statement"]]
        made = [self._statement(s, depth + 1) for s in statements]
        found["Statement"] = sorted((s for s in made if s is not NO_VALUE), key=_sid)
        return dict(sorted(found.items()))

    def _statement(self, raw: Any, depth: int) -> Any:
        if not isinstance(raw, dict):
            return self.value(raw, depth=depth)
        found: Json = {}
        for name, part in sorted(raw.items()):
            made = self.value(part, depth=depth + 1)
            if name in LISTS_OF_POLICY:
                made = _listed(made)
            elif name in ("Principal", "NotPrincipal") and isinstance(made, dict) and not _is_function(made):
                made = {k: _listed(v) for k, v in made.items()}
            elif name == "Condition" and isinstance(made, dict):
                made = {
                    how: {k: _listed(v) for k, v in of.items()} if isinstance(of, dict) else of
                    for how, of in made.items()
                }
            found[name] = made
        return found

    # Functions: (value,) where there is another spelling, None where the function stays as it is

    def _function(self, raw: Json, known: TypeFacts, at: str, depth: int) -> tuple[Any] | None:
        ((name, argument),) = raw.items()
        match name, argument:
            case "Ref", "AWS::NoValue":
                return (NO_VALUE,)
            case "Fn::GetAtt", str():
                return ({name: argument.split(".", 1)},)
            case "Fn::Sub", _:
                return self._sub(argument, depth)
            case "Fn::Join", [str(between), list(parts)]:
                return (self._joined([self.value(p, depth=depth + 1) for p in parts], between, depth),)
            case "Fn::If", [str(condition), yes, no]:
                holds = self.conditions.get(condition)
                return None if holds is None else (self.value(yes if holds else no, known, at, depth + 1),)
            case "Fn::FindInMap", [str(top), str(second), str(third)]:
                return self._found(top, second, third)
        return None

    def _found(self, top: str, second: str, third: str) -> tuple[Any] | None:
        try:
            return (self.mappings[top][second][third],)
        except (KeyError, TypeError, IndexError):
            return None

    def _sub(self, argument: Any, depth: int) -> tuple[Any] | None:
        if isinstance(argument, str):
            argument = [argument, {}]
        match argument:
            case [str(text), dict(given)]:
                pass
            case _:
                return None
        parts: list[Any] = []
        end = 0
        for found in SUB.finditer(text):
            parts.append(text[end : found.start()])
            name = found[1].strip()
            if name.startswith("!"):
                parts.append("${" + name[1:] + "}")
            elif name in given:
                parts.append(self.value(given[name], depth=depth + 1))
            elif "." in name and not name.startswith("AWS::"):
                parts.append({"Fn::GetAtt": name.split(".", 1)})
            else:
                parts.append({"Ref": name})
            end = found.end()
        parts.append(text[end:])
        return (self._joined(parts, "", depth),)

    def _joined(self, parts: list[Any], between: str, depth: int) -> Any:
        """Parts of a text behind each other: neighbours that are texts are one, and a text alone is no function."""
        flat: list[Any] = []
        for number, part in enumerate(p for p in parts if p is not NO_VALUE):
            for piece in ([between] if number and between else []) + _pieces(part):
                if isinstance(piece, str) and flat and isinstance(flat[-1], str):
                    flat[-1] += piece
                elif piece != "":
                    flat.append(piece)
        if not flat:
            return ""
        if len(flat) == 1 and isinstance(flat[0], str):
            tree = _json_inside(flat[0])
            return flat[0] if tree is None else {"Fn::ToJsonString": self.value(tree, depth=depth + 1)}
        if len(flat) == 1 and isinstance(flat[0], dict):
            return flat[0]
        if (tree := _json_with_holes(flat)) is not None:
            return {"Fn::ToJsonString": self.value(tree, depth=depth + 1)}
        return {"Fn::Join": ["", flat]}


class _NoValue:
    """What a Ref of AWS::NoValue leaves: nothing."""


NO_VALUE = _NoValue()


def _pieces(part: Any) -> list[Any]:
    match part:
        case {"Fn::Join": ["", list(inner)]} if len(part) == 1:
            return inner
        case bool() | int() | float():
            return [_text(part)]
    return [part]


def _scalar(raw: Any, kind: str | None) -> Any:
    """As the property's type says: CloudFormation takes "true" and "35" for true and 35, and the other way round."""
    match kind, raw:
        case "boolean", "true" | "false":
            return raw == "true"
        case "integer" | "number", str() if re.fullmatch(r"-?(0|[1-9]\d{0,17})(\.\d+)?", raw):
            return float(raw) if "." in raw else int(raw)
        case "string", bool() | int() | float():
            return _text(raw)
    return raw


def _tags(items: list[Any]) -> Json | None:
    if not items or not all(isinstance(i, dict) and i.keys() == {"Key", "Value"} for i in items):
        return None
    names = [i["Key"] for i in items]
    if not all(isinstance(n, str) for n in names) or len(set(names)) < len(names):
        return None  # a key that stands twice must not hide the other
    return {i["Key"]: i["Value"] for i in sorted(items, key=lambda i: str(i["Key"]))}


def _json_inside(text: str) -> Any:
    """The tree that a text spells, where it is a JSON object or list with something in it."""
    if text[:1] not in "{[" or len(text) < 4:
        return None
    try:
        found = json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) and found else None


def once(pairs: list[tuple[str, Any]]) -> Json:
    """An object of JSON in which no key stands twice: the last would hide the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [k for k, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} stands twice in one object")
    return found


def _json_with_holes(parts: list[Any]) -> Any:
    """The same for a text that is put together at deploy time, where what is put in stands inside of its texts."""
    if not isinstance(parts[0], str) or parts[0][:1] not in "{[":
        return None
    holes: dict[str, Any] = {}
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
        else:
            mark = f"\ue000{len(holes)}\ue001"
            holes[mark] = part
            text += mark
    tree = _json_inside(text)
    return None if tree is None else _filled(tree, holes)


def _filled(tree: Any, holes: Mapping[str, Any]) -> Any:
    if isinstance(tree, dict):
        return {k: _filled(v, holes) for k, v in tree.items()}
    if isinstance(tree, list):
        return [_filled(v, holes) for v in tree]
    if not isinstance(tree, str) or "\ue000" not in tree:
        return tree
    pieces = re.split("(\ue000\\d+\ue001)", tree)
    return {"Fn::Join": ["", [holes.get(p, p) for p in pieces if p]]}


def _is_policy(raw: Json) -> bool:
    return "Statement" in raw and raw.keys() <= {"Statement", "Version", "Id"}


def _is_function(raw: Any) -> bool:
    return isinstance(raw, dict) and len(raw) == 1 and next(iter(raw)).startswith(("Fn::", "Ref"))


def _listed(made: Any) -> Any:
    return sorted(made, key=_key) if isinstance(made, list) else [made]


def _names(part: Any) -> bool:
    return isinstance(part, str) or (isinstance(part, list) and all(isinstance(p, str) for p in part))


def _key(item: Any) -> str:
    return json.dumps(item, sort_keys=True)


def _sid(statement: Any) -> tuple[str, str]:
    sid = statement.get("Sid", "") if isinstance(statement, dict) else ""
    return str(sid), _key(statement)


# What nothing refers to


def _drop_bookkeeping(found: Json) -> None:
    """CDK's own parameter, rule and analytics, as CDK writes them, unless something refers to them."""
    resources = found.get("Resources")
    if isinstance(resources, dict):
        for logical_id in [k for k, r in resources.items() if isinstance(r, dict) and r.get("Type") == ANALYTICS]:
            if not _mentioned({k: r for k, r in resources.items() if k != logical_id}, logical_id):
                del resources[logical_id]
    rules, parameters = found.get("Rules"), found.get("Parameters")
    own = isinstance(rules, dict) and BOOTSTRAP in _key(rules.get(CHECK, ""))
    if isinstance(rules, dict) and own and isinstance(parameters, dict):
        rest = {k: v for k, v in found.items() if k not in ("Rules", "Parameters")}
        if _is_own_parameter(parameters.get(BOOTSTRAP)) and not _mentioned(rest, BOOTSTRAP):
            del rules[CHECK]
            if not _mentioned(rules, BOOTSTRAP):
                del parameters[BOOTSTRAP]


def _is_own_parameter(parameter: Any) -> bool:
    return isinstance(parameter, dict) and str(parameter.get("Default", "")).startswith("/cdk-bootstrap/")


def _drop_unused(found: Json) -> None:
    """Parameters, mappings and conditions that nothing names have no effect."""
    for section in ("Conditions", "Mappings", "Parameters"):  # conditions first: they name the others
        body = found.get(section)
        if isinstance(body, dict):
            used = _used(body, found, section)
            found[section] = {k: v for k, v in body.items() if k in used}


def _used(body: Json, found: Json, section: str) -> set[str]:
    """Names of ``body`` that the rest of the template mentions, or that something mentioned does."""
    texts = _texts({k: v for k, v in found.items() if k != section})
    used = {k for k in body if k in texts}
    waiting = list(used)
    while waiting:
        for name in _texts(body[waiting.pop()]) & (body.keys() - used):
            used.add(name)
            waiting.append(name)
    return used


def _mentioned(tree: Any, name: str) -> bool:
    return name in _texts(tree)


def _texts(tree: Any) -> set[str]:
    """Every text in a tree."""
    found: set[str] = set()
    waiting = [tree]
    while waiting:
        match waiting.pop():
            case str() as text:
                found.add(text)
            case dict() as inner:
                waiting.extend(inner.values())
            case list() as items:
                waiting.extend(items)
    return found
