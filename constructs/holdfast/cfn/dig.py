"""Looking into a template: properties of properties, texts that a deploy completes, and what a value refers to."""

from __future__ import annotations

import re
from typing import Any

from holdfast.cfn.intrinsics import Reference, Resolver
from holdfast.cfn.template import StackSeen
from holdfast.model.regions import partition
from holdfast.unknown import Unknown

ACCOUNT = {"Ref": "AWS::AccountId"}


def dig(stack: StackSeen, found: Any, *path: str, default: Any = None) -> Any:
    """A property of a property …, resolved; @ goes on in the resource that a property refers to, / is a dot."""
    for name in path:
        hop, plain = name.startswith("@"), name.removeprefix("@").replace("/", ".")
        if name == path[-1] or hop or not isinstance(found, dict) or _decided_later(found.get(plain)):
            found = stack.resolver.get(found, plain, default if name == path[-1] else {})
        else:
            found = found.get(plain, {})
        if hop:
            found = found[0] if isinstance(found, list) and len(found) == 1 else found
            target = stack.template["Resources"].get(found.logical_id) if isinstance(found, Reference) else None
            if not isinstance(target, dict) or stack.present(target) is not True:
                return Unknown(f"{plain} is not a resource of this template")
            found = target.get("Properties", {})
    return found


def _decided_later(raw: Any) -> bool:
    return isinstance(raw, dict) and any(k == "Ref" or str(k).startswith("Fn::") for k in raw)


def flat(stack: StackSeen | None, raw: Any) -> str | Unknown:
    """A text as Fn::Sub would write it: what only the deploy knows stays in it as ${…}."""
    match raw:
        case str() | int():
            return str(raw)
        case {"Ref": str() as name} | {"Fn::GetAtt": str() as name}:
            text = f"${{{name}}}"
        case {"Fn::GetAtt": [str() as name, str() as attribute]}:
            text = f"${{{name}.{attribute}}}"
        case {"Fn::Sub": str() as text}:
            pass
        case {"Fn::Join": [str() as separator, [*parts]]}:
            texts = [flat(stack, part) for part in parts]
            undecided = next((t for t in texts if isinstance(t, Unknown)), None)
            return separator.join(map(str, texts)) if undecided is None else undecided
        case {"Fn::If": [condition, yes, no]} if stack is not None:
            holds = stack.resolver.condition(condition)
            return holds if isinstance(holds, Unknown) else flat(stack, yes if holds else no)
        case _:
            return Unknown("it is decided at deploy time")
    region = stack.region if stack else None
    return text.replace("${AWS::Partition}", partition(region)).replace("${AWS::Region}", region or "${AWS::Region}")


def mentioned(raw: Any) -> set[str]:
    """Every resource that a raw value refers to, in whichever way."""
    if isinstance(raw, dict):
        if isinstance(name := raw.get("Ref"), str):
            return set() if name.startswith("AWS::") else {name}
        if "Fn::GetAtt" in raw:
            match raw["Fn::GetAtt"]:
                case str() as name:
                    return {name.split(".")[0]}
                case [str() as name, *_]:
                    return {name}
        inside = set(re.findall(r"\$\{\s*(\w+)(?!\w|::)", str(raw["Fn::Sub"]))) if "Fn::Sub" in raw else set()
        return inside | {i for v in raw.values() for i in mentioned(v)}
    return {i for v in raw for i in mentioned(v)} if isinstance(raw, list) else set()


def without_account(stack: StackSeen, raw: Any) -> str | Unknown:
    """A text without the number of the account, which no template knows."""
    found = Resolver(stack.template, stack.region).text(_without_account(raw))
    return found if isinstance(found, str | Unknown) else Unknown(f"{found!r} is not a name")


def _without_account(raw: Any) -> Any:
    if raw == ACCOUNT:
        return ""
    if isinstance(raw, str):
        return raw.replace("${AWS::AccountId}", "")
    if isinstance(raw, dict):
        return {k: _without_account(v) for k, v in raw.items()}
    return [_without_account(v) for v in raw] if isinstance(raw, list) else raw
