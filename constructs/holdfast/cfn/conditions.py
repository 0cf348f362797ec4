"""Named conditions of a template: whether each holds, as far as that is known before a deploy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from holdfast.cfn.tree import mapping, parts
from holdfast.unknown import Unknown


def decide(conditions: Any, value: Callable[[Any], Any], known: dict[str, bool | Unknown]) -> None:
    """Adds to ``known`` whether each condition holds; ``value`` resolves what is compared."""
    for name in in_order(mapping(conditions)):
        known[name] = _holds(conditions[name], known, value)


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


def _holds(raw: Any, known: Mapping[str, bool | Unknown], value: Callable[[Any], Any]) -> bool | Unknown:
    if not isinstance(raw, dict) or len(raw) != 1:
        return Unknown("it is not a condition")
    ((name, argument),) = raw.items()
    match name, argument:
        case "Condition", str():
            return known.get(argument, Unknown(f"condition {argument} is not declared"))
        case "Fn::Equals", [left, right]:
            return _equal(value(left), value(right))
        case "Fn::Not", [part]:
            held = _holds(part, known, value)
            return held if isinstance(held, Unknown) else not held
        case "Fn::And" | "Fn::Or", [_, *_]:
            answers = [_holds(part, known, value) for part in argument]
            decisive = bool(name == "Fn::Or")
            if any(a is decisive for a in answers):
                return decisive
            return next((a for a in answers if isinstance(a, Unknown)), not decisive)
    return Unknown(f"{name} is malformed, or is not a condition")


def _equal(left: Any, right: Any) -> bool | Unknown:
    for side in (left, right):
        if not isinstance(side, str | int | float):
            return side if isinstance(side, Unknown) else Unknown("Fn::Equals compares what is decided at deploy time")
    return text(left) == text(right)


def text(scalar: Any) -> str:
    """A scalar as CloudFormation writes it into a text."""
    return str(scalar).lower() if isinstance(scalar, bool) else str(scalar)
