"""Every rule about templates names the places that it reads: they exist, and a change there is heard of."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from shop import ESTATE, LIVE
from support import Json

from holdfast.cfn.generate import schemas, tree
from holdfast.cfn.places import OF_RESOURCE
from holdfast.cfn.template import StackSeen
from holdfast.estate.placement import Placed
from holdfast.rules import ACTIONABLE, RULES, verdicts
from holdfast.rules.base import Rule
from holdfast.rules.waivers import CURRENT

JUDGING = [r for r in RULES if r.id[2] not in "467" and r is not CURRENT]  # not of declarations, accounts, contracts
PLACES = ESTATE.placements([LIVE])
OF_STACK = {
    "name": {"name": "Other"},
    "environment": {"region": "us-east-1"},
    "terminationProtection": {"protected": False},
    "Transform": {},
}
UNDECIDED = {"Ref": "P"}
RETYPED = {"AWS::DynamoDB::GlobalTable": "AWS::DynamoDB::Table"}


def seen(placed: Placed, template: Json) -> StackSeen:
    return StackSeen(
        id=placed.id, where=placed.id, template=template, name=placed.name, region=placed.region, protected=True
    )


def told(placed: Placed, stack: StackSeen) -> set[str]:
    return {f.rule.id for f in verdicts([placed], [stack]) if f.outcome in ACTIONABLE}


@pytest.mark.parametrize("rule", JUDGING, ids=lambda r: r.id)
def test_every_rule_about_templates_names_places_that_exist(rule: Rule) -> None:
    assert rule.paths
    assert len(set(rule.paths)) == len(rule.paths)
    for place in rule.paths:
        kind, path = place.split(" ")
        assert exists(kind, path), place


def exists(kind: str, path: str) -> bool:
    attribute, _, inside = path.partition("/")
    if kind == "stack":
        return path in OF_STACK
    if attribute not in OF_RESOURCE:
        return False
    if not inside or kind == "*" or kind.startswith("Custom::"):
        return True
    return any(_matches(inside.split("/"), known) for known in _known(kind))


@cache
def _known(kind: str) -> list[list[str]]:
    return [path.split("/") for path in tree(schemas()[kind])]


def _matches(steps: list[str], known: list[str]) -> bool:
    """A schema ends where JSON of any content begins."""
    return len(steps) >= len(known) > 0 and all(k in ("*", s) for s, k in zip(steps, known, strict=False))


@pytest.mark.parametrize("rule", JUDGING, ids=lambda r: r.id)
def test_a_change_of_a_place_is_heard_of_by_the_rule_that_names_it(rule: Rule, templates: dict[str, Json]) -> None:
    unheard = []
    for place in rule.paths:
        if any(rule.id in told(placed, stack) for placed, stack in changed(place, templates)):
            return
        unheard.append(place)
    pytest.fail(f"{rule.id} hears of no change of {unheard}")


def changed(place: str, templates: dict[str, Json]) -> Iterator[tuple[Placed, StackSeen]]:
    """The stacks of the estate, with this one place gone, other, twice or decided later."""
    kind, path = place.split(" ")
    for placed in PLACES:
        whole = templates[placed.id]
        if kind == "stack":
            yield placed, replace(seen(placed, whole), **OF_STACK[path])  # type: ignore[arg-type]
            continue
        own = [i for i, r in whole["Resources"].items() if r["Type"] in (kind, RETYPED.get(kind))]
        for logical_id in [*own[:2], *own[-2:]] or [""]:
            for template in _mutants(whole, logical_id, kind, path.split("/")):
                yield placed, seen(placed, template)


def _mutants(whole: Json, logical_id: str, kind: str, path: list[str]) -> Iterator[Json]:
    packed = pickle.dumps(whole)
    if path == ["Type"] or not logical_id:
        for properties in ({}, {"TableName": "rogue"}):
            rogue = {"Type": "AWS::EC2::EIP" if kind == "*" else kind, "Properties": properties}
            yield whole | {"Resources": whole["Resources"] | {"Rogue": rogue}}
    if not logical_id:
        return
    gone: Json = pickle.loads(packed)
    gone["Resources"]["Twin"] = gone["Resources"][logical_id]
    yield gone
    gone = pickle.loads(packed)
    del gone["Resources"][logical_id]
    yield gone
    values: tuple[Any, ...] = (kind,) if path == ["Type"] else (None, "other", UNDECIDED, False, [])
    for value in values:
        mutant: Json = pickle.loads(packed)
        mutant["Parameters"] = {"P": {"Type": "String"}}
        here = mutant["Resources"][logical_id]
        for step in path[:-1]:
            here = here.setdefault(step, {}) if isinstance(here, dict) else {}
        if value is None:
            here.pop(path[-1], None)
        else:
            here[path[-1]] = value
        yield mutant
