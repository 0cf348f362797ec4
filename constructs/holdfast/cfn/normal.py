"""One spelling for everything that CloudFormation takes as the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from holdfast.cfn import bounded
from holdfast.cfn.conditions import decide
from holdfast.cfn.conditions import text as spelled
from holdfast.cfn.facts import Property, facts
from holdfast.cfn.tree import mapping, parts, texts
from holdfast.cfn.values import NO_VALUE, NOWHERE, SUB, Walk
from holdfast.errors import InputError
from holdfast.unknown import Unknown

Json = dict[str, Any]
LEVELS = 200  # a template in normal form may be deeper than it was read: JSON inside of texts is a tree there
SET = Property(unordered=True)
WITHOUT_EFFECT = frozenset({"AWSTemplateFormatVersion", "Description"})
FEW = 20  # names that a text is searched for, one after the other
NAMED = ("Conditions", "Mappings", "Parameters")
OWN = re.compile(r"aws:(cdk|asset):")  # keys of metadata that CDK writes for itself
BOOTSTRAP, CHECK, ANALYTICS = "BootstrapVersion", "CheckBootstrapVersion", "AWS::CDK::Metadata"


def template(raw: Mapping[str, Any]) -> Json:
    """The sections that have an effect; CDK's own bookkeeping is left out where nothing refers to it."""
    _hold(raw)
    walk = Walk(mappings=raw.get("Mappings"))
    known: dict[str, bool | Unknown] = {}
    decide(raw.get("Conditions"), walk.value, known)
    walk.conditions = {name: holds for name, holds in known.items() if not isinstance(holds, Unknown)}
    found = {section: _section(walk, section, body) for section, body in sorted(raw.items())}
    found = {section: body for section, body in found.items() if section not in WITHOUT_EFFECT}
    if not _is_rewritten(found):
        _drop_bookkeeping(found)
        _drop_unused(found)
    return {section: body for section, body in found.items() if body not in ({}, [])}


def value(raw: Any, kind: str = "") -> Any:
    """One value on its own: the properties of a resource of type ``kind``, or what a manifest says of a stack."""
    _hold(raw)
    return Walk().value(raw, facts(kind).properties if kind else SET)


def _hold(raw: Any) -> None:
    try:
        bounded.hold(raw, LEVELS)
    except ValueError as error:
        raise InputError(f"a template cannot be read ({error}): CloudFormation does not take it") from None


def _section(walk: Walk, section: str, body: Any) -> Any:
    if not isinstance(body, dict):
        return walk.value(body)
    match section:
        case "Resources":
            return dict(_entries(walk, body, _resource))
        case "Outputs":
            return dict(_entries(walk, body, lambda w, output: w.value(output)))
        case "Metadata":
            return _metadata(walk, body)
        case "Parameters":
            return {name: _texts_only(parameter) for name, parameter in sorted(body.items())}
    return {name: walk.value(entry) for name, entry in sorted(body.items())}


def _entries(walk: Walk, body: Json, made: Any) -> Iterator[tuple[str, Any]]:
    """Whatever is there; a condition that always holds is not one."""
    for name, entry in sorted(body.items()):
        condition = entry.get("Condition") if isinstance(entry, dict) else None
        holds = walk.conditions.get(condition) if isinstance(condition, str) else None
        if holds is None:
            yield name, made(walk, entry)
        elif holds:
            yield name, made(walk, {k: v for k, v in entry.items() if k != "Condition"})


def _resource(walk: Walk, resource: Any) -> Any:
    if not isinstance(resource, dict):
        return walk.value(resource)
    kind = resource.get("Type")
    properties = facts(kind).properties if isinstance(kind, str) else NOWHERE
    found: Json = {}
    for name, part in sorted(resource.items()):
        match name:
            case "Properties":
                found[name] = walk.value(part, properties)
            case "DependsOn" if _is_names(part):
                found[name] = sorted({part} if isinstance(part, str) else set(part))
            case "Metadata" if isinstance(part, dict):
                found[name] = _metadata(walk, part)
            case _:
                found[name] = walk.value(part)
    return {k: v for k, v in found.items() if v not in ({}, []) and v is not NO_VALUE}


def _metadata(walk: Walk, metadata: Json) -> Json:
    return {k: walk.value(v) for k, v in sorted(metadata.items()) if not OWN.match(k)}


def _is_names(part: Any) -> bool:
    return isinstance(part, str) or (isinstance(part, list) and all(isinstance(p, str) for p in part))


def _texts_only(tree: Any) -> Any:
    """Of a parameter: CloudFormation reads every value as a text."""
    if isinstance(tree, dict):
        return {k: _texts_only(v) for k, v in sorted(tree.items())}
    if isinstance(tree, list):
        return [_texts_only(v) for v in tree]
    return tree if tree is None else spelled(tree)


# What nothing refers to


def _is_rewritten(found: Json) -> bool:
    """Whether a macro or a loop may refer to anything under a name that it makes."""
    if found.get("Transform") not in (None, {}, []):
        return True
    if not _may_mention(found, ("Fn::Transform", "Fn::ForEach")):
        return False
    names = (name for part in parts(found) if isinstance(part, dict) for name in part)
    return any(name.startswith(("Fn::Transform", "Fn::ForEach")) for name in names)


def _drop_bookkeeping(found: Json) -> None:
    """CDK's own parameter, rule and analytics, as CDK writes them, unless something refers to them."""
    resources = found.get("Resources")
    for logical_id in [k for k, r in mapping(resources).items() if _is_analytics(r)]:
        if logical_id not in _names({k: r for k, r in mapping(resources).items() if k != logical_id}):
            del found["Resources"][logical_id]
    rules, parameters = found.get("Rules"), found.get("Parameters")
    if not isinstance(parameters, dict) or not _is_own_parameter(parameters.get(BOOTSTRAP)):
        return
    if isinstance(rules, dict) and _is_own_rule(rules.get(CHECK)):
        rest = {k: v for k, v in found.items() if k not in ("Rules", "Parameters")}
        if _may_mention(rest, (BOOTSTRAP,)) and BOOTSTRAP in _names(rest):
            return
        del rules[CHECK]


def _is_analytics(resource: Any) -> bool:
    return isinstance(resource, dict) and resource.get("Type") == ANALYTICS and "DependsOn" not in resource


def _is_own_parameter(parameter: Any) -> bool:
    return (
        isinstance(parameter, dict)
        and parameter.get("Type") == "AWS::SSM::Parameter::Value<String>"
        and str(parameter.get("Default")).startswith("/cdk-bootstrap/")
    )


def _is_own_rule(rule: Any) -> bool:
    match rule:
        case {"Assertions": [{"Assert": {"Fn::Not": [{"Fn::Contains": [list(), {"Ref": "BootstrapVersion"}]}]}}]}:
            return len(rule) == 1
    return False


def _drop_unused(found: Json) -> None:
    """Parameters, mappings and conditions that nothing names have no effect; conditions name the others."""
    rest = {k: v for k, v in found.items() if k not in NAMED}
    known = [name for section in NAMED for name in mapping(found.get(section))]
    names = _names(rest) if _may_mention(rest, known) else set()
    for section in NAMED:
        body = found.get(section)
        if isinstance(body, dict):
            names |= _reached(body, names) if section == "Conditions" else set()
            found[section] = {k: v for k, v in body.items() if k in names}


def _reached(conditions: Json, names: set[str]) -> set[str]:
    """What the conditions mention that are named, and those that they name."""
    waiting = list(conditions.keys() & names)
    found: set[str] = set(waiting)
    while waiting:
        more = _names(conditions[waiting.pop()]) - found
        found |= more
        waiting.extend(more & conditions.keys())
    return found


def _may_mention(tree: Any, names: Sequence[str]) -> bool:
    """Whether one of these stands anywhere at all: to look through one long text for a few is quicker than to walk."""
    text = json.dumps(tree)
    return len(names) > FEW or any(json.dumps(name)[1:-1] in text for name in names)


def _names(tree: Any) -> set[str]:
    """Every text in a tree, and whatever stands in the holes of one."""
    found: set[str] = set()
    for text in texts(tree):
        found.add(text)
        if "${" in text:
            found.update(hole.partition(".")[0] for hole in SUB.findall(text))
    return found
