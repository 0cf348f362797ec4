"""What the tags that say a store's facts are called: a policy may give them names of its own."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
OURS = ("Environment", "DataClass", "Lifetime", "Name")


def names(contract: Json) -> dict[str, str]:
    """{our name: the one that is used}, where the template says that another is used."""
    found: Any = contract.get("template", {})
    for step in ("Metadata", "Holdfast", "Tags"):
        found = found.get(step) if isinstance(found, dict) else None
    items = found.items() if isinstance(found, dict) else ()
    return {ours: theirs for ours, theirs in items if ours in OURS and isinstance(theirs, str)}


def with_our_names(contract: Json) -> Json:
    """``contract`` with those tags under our names, so that all that reads them finds them."""
    used = names(contract)
    if not used:
        return contract
    ours = {theirs: name for name, theirs in used.items()}
    template = contract["template"]
    resources = {i: _resource(r, ours) for i, r in template.get("Resources", {}).items()}
    stack = contract["stack"]
    return {
        **contract,
        "stack": {**stack, "tags": _renamed(stack.get("tags"), ours)} if "tags" in stack else stack,
        "template": {**template, "Resources": resources},
    }


def _resource(resource: Any, ours: dict[str, str]) -> Any:
    properties = resource.get("Properties") if isinstance(resource, dict) else None
    if not isinstance(properties, dict) or "Tags" not in properties:
        return resource
    return {**resource, "Properties": {**properties, "Tags": _renamed(properties["Tags"], ours)}}


def _renamed(tags: Any, ours: dict[str, str]) -> Any:
    return {ours.get(name, name): value for name, value in tags.items()} if isinstance(tags, dict) else tags
