"""Conditions that a deploy decides, and that are defined otherwise than before: what depends on them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.cfn.compare import same
from holdfast.cfn.conditions import in_order
from holdfast.cfn.tree import mapping, parts, texts
from holdfast.cfn.values import NO_VALUE
from holdfast.contract import policies
from holdfast.contract.guards import Loss, losses

Json = dict[str, Any]
Path = tuple[str, str]  # a section of a template, and a name there
NAMED = ("Conditions", "Mappings", "Parameters")


def redefined(base: Json, head: Json) -> dict[str, Path]:
    """{condition of both templates: what is defined otherwise, itself or what it refers to}."""
    anew: dict[str, Path] = {}
    for section in NAMED:
        before, after = mapping(base.get(section)), mapping(head.get(section))
        both = before.keys() & after.keys()
        anew |= {name: (section, name) for name in both if not same(before[name], after[name])}
    conditions = mapping(head.get("Conditions"))
    for name in in_order(conditions) if anew else ():
        if name not in anew and (roots := [anew[t] for t in texts(conditions[name]) if t in anew]):
            anew[name] = min(roots)
    both = conditions.keys() & mapping(base.get("Conditions")).keys()
    return {name: anew[name] for name in sorted(anew.keys() & both)}


def choosing(resource: Json) -> set[str]:
    """The conditions that decide a part of a resource."""
    chosen = (part["Fn::If"] for part in parts(resource) if isinstance(part, dict) and "Fn::If" in part)
    return {of[0] for of in chosen if isinstance(of, list) and of and isinstance(of[0], str)}


def at_stake(resource: Json, name: str) -> Iterator[Loss]:
    """The guards that a resource has with a condition and not without it, or the other way round."""
    held, failed = (_chosen(resource, name, side) for side in (1, 2))
    told: set[str] = set()
    for one, other in ((held, failed), (failed, held)):
        loose = (Loss(path, None, None, says, "") for path, says in policies.looser(one, other))
        for loss in (*losses(one, other), *loose):
            if loss.says and loss.says not in told:
                told.add(loss.says)
                yield loss


def _chosen(tree: Any, name: str, side: int) -> Any:
    """``tree`` as it is where a condition holds (1), or does not (2)."""
    match tree:
        case {"Fn::If": [str(condition), _, _]} if condition == name and len(tree) == 1:
            return _chosen(tree["Fn::If"][side], name, side)
        case dict():
            made = {k: _chosen(v, name, side) for k, v in tree.items()}
            return {k: v for k, v in made.items() if v != NO_VALUE}
        case list():
            return [v for v in (_chosen(part, name, side) for part in tree) if v != NO_VALUE]
    return tree
