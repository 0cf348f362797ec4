"""What the tags that say a store's facts are called, and what production is: an estate may have names of its own."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
OURS = ("Environment", "DataClass", "Lifetime", "Name")
PRODUCTION = ("prod", "production")


def names(contract: Json) -> dict[str, str]:
    """{our name: the one that is used}, where the template says that another is used."""
    found = _said(contract, "Tags")
    items = found.items() if isinstance(found, dict) else ()
    return {ours: theirs for ours, theirs in items if ours in OURS and isinstance(theirs, str)}


def production(contract: Json) -> tuple[str, ...]:
    """What the tag Environment says of production: our words, and the one of the estate, which its template tells."""
    found = _said(contract, "Production")
    return (*PRODUCTION, found) if isinstance(found, str) else PRODUCTION


def environment_label(contract: Json) -> str | None:
    """The environment's label, which its template tells where a tag says another name."""
    found = _said(contract, "Environment")
    return found if isinstance(found, str) else None


def _said(contract: Json, name: str) -> Any:
    found: Any = contract.get("template", {})
    for step in ("Metadata", "Holdfast", name):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def as_used(path: tuple[str, ...], used: dict[str, str]) -> tuple[str, ...]:
    """A path to one of those tags as it stands in the file of a contract, by its ``names``."""
    for tags in (("Properties", "Tags"), ("stack", "tags")):
        if path[:2] == tags and len(path) > 2:
            return (*tags, used.get(path[2], path[2]), *path[3:])
    return path


def with_our_names(contract: Json) -> Json:
    """``contract`` with those tags under our names, so that all that reads them finds them."""
    used = names(contract)
    if not used:
        return contract
    ours = {theirs: name for name, theirs in used.items()}
    template = contract["template"]
    resources = template.get("Resources")
    if isinstance(resources, dict):
        template = {**template, "Resources": {i: _resource(r, ours) for i, r in resources.items()}}
    stack = contract["stack"]
    return {
        **contract,
        "stack": {**stack, "tags": _renamed(stack.get("tags"), ours)} if "tags" in stack else stack,
        "template": template,
    }


def _resource(resource: Any, ours: dict[str, str]) -> Any:
    properties = resource.get("Properties") if isinstance(resource, dict) else None
    if not isinstance(properties, dict) or not properties.keys() & {"Tags", "Replicas"}:
        return resource
    made = _tagged(properties, ours)
    if isinstance(replicas := made.get("Replicas"), list):
        made["Replicas"] = [_tagged(r, ours) if isinstance(r, dict) else r for r in replicas]
    return {**resource, "Properties": made}


def _tagged(properties: Json, ours: dict[str, str]) -> Json:
    return {name: _renamed(value, ours) if name == "Tags" else value for name, value in properties.items()}


def _renamed(tags: Any, ours: dict[str, str]) -> Any:
    """A tag that only happens to have one of our names stands aside, so that it hides nothing."""
    if not isinstance(tags, dict):
        return tags
    taken = {ours[n] for n in tags.keys() & ours.keys()}
    return {ours.get(n) or (f"{n} (not a fact)" if n in taken else n): value for n, value in tags.items()}
