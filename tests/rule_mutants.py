"""Stacks with one thing changed at a place that a rule reads: generated, so that a new rule needs no list of its own.

A place is a type and a path, as ``Rule.paths`` has it. What is there is removed and changed, leaf by leaf; and one of
each kind of value is put, also into a resource that is added. A place that says whether a resource is there at all
loses it and gets others: empty ones, and copies under other names.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from typing import Any

from contract_mutants import INTRINSIC, get, is_function, nodes, other, put
from support import Json

from holdfast.cfn.compare import ABSENT
from holdfast.cfn.template import StackSeen
from holdfast.estate.placement import Placed

ANYONE = {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}
OPEN = {"Statement": [ANYONE]}
# One of each kind of value, and what opens a thing to everyone.
VALUES: tuple[Any, ...] = (
    *(True, False, 0, 1, "other", "*", "0.0.0.0/0", "NONE", [], ["other"], {}, {"other": "x"}, INTRINSIC),
    *(OPEN, {"PolicyDocument": OPEN}),
)
OF_STACK: dict[str, dict[str, Any]] = {
    "name": {"name": "Other"},
    "environment": {"region": "us-east-1"},
    "terminationProtection": {"protected": False},
}
RETYPED = {"AWS::DynamoDB::GlobalTable": "AWS::DynamoDB::Table"}  # CloudFormation replaces one by the other
Change = tuple[str, tuple[Any, ...], Any]  # the resource that differs, where in it, and what is there then


def seen(placed: Placed, template: Json, **changes: Any) -> StackSeen:
    """A template as a stack that is as declared otherwise."""
    stack = StackSeen(id=placed.id, where=placed.id, template=template, name=placed.name, region=placed.region)
    return replace(stack, **{"protected": True} | changes)


def mutants(
    place: str, placed: Placed, template: Json, known: Container[str] = ()
) -> Iterator[tuple[str, str, StackSeen]]:
    """Every mutant at a place but at ``known`` leaves: the resource and the leaf that differ, and the stack then."""
    kind, _, inside = place.partition(" ")
    if kind != "stack":
        for where, path, value in at(kind, tuple(inside.split("/")), template):
            steps = ("*" if isinstance(step, int) else step for step in path)
            leaf = f"{kind} {'/'.join(steps)}" if where in template["Resources"] else f"{place} of another one"
            if leaf not in known:
                yield where, leaf, seen(placed, put(template, ("Resources", where, *path), value))
    elif inside in OF_STACK:
        yield "", place, seen(placed, template, **OF_STACK[inside])
    else:
        yield "", place, seen(placed, {**template, inside: "Other"})


def at(kind: str, path: tuple[str, ...], template: Json) -> Iterator[Change]:
    rogue = {"Type": "AWS::EC2::EIP" if kind == "*" else kind, "Properties": {}}
    if path == ("Type",):
        yield "Rogue", (), rogue
        yield from (change for i, r in template["Resources"].items() for change in _types(kind, i, r))
        return
    for logical_id, resource in template["Resources"].items():
        if kind in ("*", resource["Type"], RETYPED.get(resource["Type"])):
            yield from ((logical_id, step, value) for step, value in _changes(resource, path))
            if path[:1] == ("Properties",):
                yield "Twin", (), resource
    yield from (("Rogue", (), put(rogue, path, value)) for value in VALUES)


def _types(kind: str, logical_id: str, resource: Json) -> Iterator[Change]:
    if resource["Type"] == kind:
        yield logical_id, (), ABSENT
    if kind in (resource["Type"], *(new for new, old in RETYPED.items() if old == resource["Type"])):
        named = {k: other(v) if isinstance(v, str) else v for k, v in resource.get("Properties", {}).items()}
        yield logical_id, ("Type",), kind
        yield "Twin", (), {**resource, "Type": kind, "Properties": named}


def _changes(resource: Json, path: tuple[str, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    try:
        present = get(resource, path)
    except (KeyError, TypeError):
        present = ABSENT
    if present is not ABSENT:
        yield path, ABSENT
    yield from ((path, value) for value in (*VALUES, *_others(present)) if value != present)
    for step, value in nodes(present) if isinstance(present, dict | list) and not is_function(present) else ():
        yield (*path, *step), ABSENT
        yield from (((*path, *step), changed) for changed in _others(value))


def _others(value: Any) -> tuple[Any, ...]:
    """Other values of the same kind."""
    match value:
        case bool():
            return (not value,)
        case int() | float():
            return (value - 1, value + 1, 0, str(value - 1))
        case str():
            return (f"{value}x", "*")
        case [*items]:
            return ([], [*items, ANYONE], [*items, "other"])
        case dict():
            return ({}, "*")
    return ()
