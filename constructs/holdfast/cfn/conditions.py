"""Named conditions of a template: which of them can be decided before a deploy. Each is looked at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from holdfast.cfn.tree import parts

LOGIC = frozenset({"Fn::And", "Fn::Or", "Fn::Not"})


def decided(conditions: Any, value: Callable[[Any], Any]) -> dict[str, bool]:
    """Whether each condition holds that can be decided; ``value`` resolves what is compared."""
    known: dict[str, bool] = {}
    if isinstance(conditions, dict):
        for name in in_order(conditions):
            if (holds := _holds(conditions[name], known, value)) is not None:
                known[name] = holds
    return known


def in_order(conditions: Mapping[str, Any]) -> Iterator[str]:
    """Names so that whatever a condition refers to comes before it; one that refers to itself never comes."""
    needs = {name: _mentioned(raw) & conditions.keys() for name, raw in conditions.items()}
    needed_by: dict[str, list[str]] = {name: [] for name in conditions}
    for name, others in needs.items():
        for other in others:
            needed_by[other].append(name)
    ready = [name for name, others in needs.items() if not others]
    while ready:
        name = ready.pop()
        yield name
        for other in needed_by[name]:
            needs[other].discard(name)
            if not needs[other]:
                ready.append(other)


def _mentioned(raw: Any) -> set[str]:
    found = (part.get("Condition") for part in parts(raw) if isinstance(part, dict))
    return {name for name in found if isinstance(name, str)}


def _holds(raw: Any, known: Mapping[str, bool], value: Callable[[Any], Any]) -> bool | None:
    if not isinstance(raw, dict) or len(raw) != 1:
        return None
    ((name, argument),) = raw.items()
    if name == "Condition":
        return known.get(argument) if isinstance(argument, str) else None
    if not isinstance(argument, list) or not argument:
        return None
    if name == "Fn::Equals" and len(argument) == 2:
        sides = [value(side) for side in argument]
        return text(sides[0]) == text(sides[1]) if all(isinstance(s, str | int | float) for s in sides) else None
    if name not in LOGIC:
        return None
    answers = [_holds(part, known, value) for part in argument]
    if name == "Fn::Not":
        return None if len(answers) != 1 or answers[0] is None else not answers[0]
    decisive = name == "Fn::Or"
    return decisive if decisive in answers else None if None in answers else not decisive


def text(scalar: Any) -> str:
    """A scalar as CloudFormation writes it into a text."""
    return str(scalar).lower() if isinstance(scalar, bool) else str(scalar)
