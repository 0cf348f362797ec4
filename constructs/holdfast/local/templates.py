"""Templates before they are deployed: CloudFormation refuses a reference to what they do not have, and runs macros."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from holdfast.local import private

Json = dict[str, Any]

PSEUDO = "AWS::"  # AWS::Region and the like


def complete() -> None:
    """For CreateStack, UpdateStack and CreateChangeSet. What a macro would expand is recorded as it stands."""
    for name in ("changesets", "handlers"):
        part = private.module(f"ministack.services.cloudformation.{name}")
        part._apply_transforms = _checked(part._apply_transforms)


def _checked(expand: Callable[..., Any]) -> Callable[..., Any]:
    def checked(template: Json, *arguments: Any, **named: Any) -> Any:
        if not template.get("Transform"):  # a macro may make what is referred to
            refuse_unresolved(template)
        return expand({key: value for key, value in template.items() if key != "Transform"}, *arguments, **named)

    return checked


def refuse_unresolved(template: Json) -> None:
    """ValueError with CloudFormation's words; ministack puts "Template format error: " before them."""
    resources = template.get("Resources") or {}
    known = {*resources, *(template.get("Parameters") or {})}
    needed = {name for resource in resources.values() for name in _depends(resource)}
    missing = {
        "Resources": {*_references(resources)} - known | needed - resources.keys(),
        "Outputs": {*_references(template.get("Outputs") or {})} - known,
    }
    for block, names in missing.items():
        if names:
            raise ValueError(
                f"Unresolved resource dependencies [{', '.join(sorted(names))}] in the {block} block of the template"
            )


def _references(block: Json) -> Iterator[str]:
    """What Ref, Fn::GetAtt and Fn::Sub name, wherever they stand."""
    found = private.module("ministack.services.cloudformation.engine")._intrinsic_references(block)
    return (name for name, _ in found if not name.startswith(PSEUDO))


def _depends(resource: Json) -> list[str]:
    needs = resource.get("DependsOn") or []
    return [needs] if isinstance(needs, str) else needs
