"""What a template hides: whatever something else decides when it is deployed, so that no contract can hold it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.contract.guards import store_name

Json = dict[str, Any]
LANGUAGE = "AWS::LanguageExtensions"  # more functions; what they make stands in the template
ELSEWHERE = {
    "AWS::CloudFormation::Stack": "a nested template that is not in the folder",
    "AWS::CloudFormation::StackSet": "a template that is not in the folder",
    "AWS::ServiceCatalog::CloudFormationProvisionedProduct": "a template of the Service Catalog",
}
CUSTOM = re.compile(r"Custom::|AWS::CloudFormation::CustomResource$")
KNOWN_OWNERS = ("AWS::", "Alexa::", "Custom::")
# Secrets are resolved when they are used and belong into no contract; every other reference decides a property.
DYNAMIC = re.compile(r"\{\{resolve:(?!secretsmanager:|ssm-secure:)")
MARKS = ("Fn::Transform", "Fn::ForEach", "{{resolve:")


@dataclass(frozen=True, slots=True)
class Hidden:
    """One place; ``resource`` is empty for the template as a whole."""

    resource: str
    path: tuple[str, ...]
    says: str
    store: str | None = None


def hidden(contract: Json, text: str) -> Iterator[Hidden]:
    """``text`` is the contract as one text: to look there for the marks is quicker than to walk."""
    marked = any(mark in text for mark in MARKS)
    template = contract["template"]
    macros = template.get("Transform", [])
    for macro in macros if isinstance(macros, list) else [macros]:
        if macro != LANGUAGE:
            yield Hidden("", ("template", "Transform"), f"{_name(macro)} rewrites the template when it is deployed")
    resources = template.get("Resources", {})
    for logical_id, resource in resources.items():
        if logical_id.startswith("Fn::"):
            yield Hidden("", ("template", "Resources", logical_id), "a loop or a macro makes resources")
        elif isinstance(resource, dict):
            yield from _of_resource(contract, logical_id, resource, resources)
            if marked:
                store = store_name(resource)
                yield from (Hidden(logical_id, path, says, store) for path, says in _inside(resource, ()))
    rest = {k: v for k, v in template.items() if k not in ("Resources", "Transform")}
    if marked:
        yield from (Hidden("", ("template", *path), says) for path, says in _inside(rest, ()))


def _of_resource(contract: Json, logical_id: str, resource: Json, resources: Json) -> Iterator[Hidden]:
    kind, store = str(resource.get("Type")), store_name(resource)
    if kind.endswith("::MODULE"):
        yield Hidden(logical_id, ("Type",), f"{kind} is a module: its resources stand elsewhere", store)
    elif not kind.startswith(KNOWN_OWNERS):
        yield Hidden(logical_id, ("Type",), f"{kind} is not a type of AWS: what it makes cannot be known", store)
    elif CUSTOM.match(kind) and not _own_function(contract, resource, resources):
        path = ("Properties", "ServiceToken")
        yield Hidden(logical_id, path, f"the function behind {kind} is not in this stack: what it does cannot be known")
    elif kind in ELSEWHERE and logical_id not in contract.get("nested", {}):
        properties = resource.get("Properties")
        if not isinstance(properties, dict) or "TemplateBody" not in properties:
            yield Hidden(logical_id, ("Properties", "TemplateURL"), f"it is made by {ELSEWHERE[kind]}")


def _own_function(contract: Json, resource: Json, resources: Json) -> bool:
    """Whether the code behind a custom resource is in the contract: by its files, or written into the template."""
    match resource.get("Properties"):
        case {"ServiceToken": {"Fn::GetAtt": [str(name), _]} | {"Ref": str(name)}}:
            if name in contract.get("code", {}):
                return True
            match resources.get(name):
                case {"Properties": {"Code": {"ZipFile": str()}}}:
                    return True
    return False


def _inside(tree: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(tree, str):
        if DYNAMIC.search(tree):
            yield path, "a dynamic reference is resolved when it is deployed"
        return
    for key, part in _parts(tree):
        here = (*path, key)
        if key == "Fn::Transform":
            yield here, f"{_name(part)} decides it when it is deployed"
        elif key.startswith("Fn::ForEach"):
            yield here, "a loop decides it when it is deployed"
        else:
            yield from _inside(part, here)


def _parts(tree: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(tree, Mapping):
        yield from tree.items()
    elif isinstance(tree, list):
        yield from ((str(n), part) for n, part in enumerate(tree))


def _name(macro: Any) -> str:
    found = macro.get("Name") if isinstance(macro, dict) else macro
    return found if isinstance(found, str) else "a macro"
