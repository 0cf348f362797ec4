"""What the public resource schemas say of a type and of each of its properties; schemas.json is generated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("schemas.json")
SCALARS = ("string", "number", "integer", "boolean")  # where a schema allows several, the first of these
HELD_BENEATH = ("create_only", "conditional_create_only", "write_only", "read_only", "free_json")
LISTS = (*HELD_BENEATH, "unordered", *SCALARS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Property:
    """One place of a resource, and by ``part`` the places beneath it."""

    scalar: str | None = None  # what CloudFormation converts to; holds inside free JSON, too
    unordered: bool = False
    free_json: bool = False  # given as a tree or as a string of JSON
    create_only: bool = False
    conditional_create_only: bool = False
    write_only: bool = False
    read_only: bool = False
    parts: Mapping[str | int, Property] = field(default_factory=dict, repr=False, hash=False)

    def part(self, step: str | int) -> Property:
        """What is beneath: a property by its name, an item by its number, an entry of a map by any name."""
        return self.parts.get(step) or self.parts.get("*") or self._unnamed()

    def _unnamed(self) -> Property:
        return _unnamed(*(getattr(self, fact) for fact in HELD_BENEATH))


@cache
def _unnamed(*held: bool) -> Property:
    return Property(**dict(zip(HELD_BENEATH, held, strict=True)))  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class TypeFacts:
    """Paths are separated by ``/``, with ``*`` for the items of a list and the keys of a map."""

    identity: tuple[tuple[str, ...], ...] = ()  # the primary identifier first, then the additional ones
    create_only: frozenset[str] = frozenset()
    conditional_create_only: frozenset[str] = frozenset()  # a change may replace the resource
    write_only: frozenset[str] = frozenset()
    read_only: frozenset[str] = frozenset()
    unordered: frozenset[str] = frozenset()
    scalars: Mapping[str, str] = field(default_factory=dict)
    free_json: frozenset[str] = frozenset()
    tags: str = ""  # the property that holds them
    properties: Property = field(default=Property(), repr=False)

    def at(self, path: Iterable[str | int]) -> Property:
        """What is known of a property by its concrete path, list indexes included."""
        place = self.properties
        for step in path:
            place = place.part(step)
        return place


NOTHING = TypeFacts()


@cache
def facts(type_name: str) -> TypeFacts:
    """What is known of a type; nothing of an unknown one."""
    name = "AWS::CloudFormation::CustomResource" if type_name.startswith("Custom::") else type_name
    known = _file().get(name)
    return NOTHING if known is None else _facts(known)


@cache
def _file() -> dict[str, Any]:
    return dict(json.loads(FILE.read_bytes()))


def _facts(known: Mapping[str, Any]) -> TypeFacts:
    return TypeFacts(
        identity=tuple(map(tuple, known["identity"])),
        scalars={path: kind for kind in SCALARS for path in known.get(kind, ())},
        tags=known.get("tags", ""),
        properties=_tree(known),
        **{fact: frozenset(known.get(fact, ())) for fact in LISTS if fact not in SCALARS},
    )


def _tree(known: Mapping[str, Any]) -> Property:
    marks: dict[str, set[str]] = {}
    nested: dict[str, Any] = {}
    for fact in LISTS:
        for path in known.get(fact, ()):
            marks.setdefault(path, set()).add(fact)
            node = nested
            for step in path.split("/"):
                node = node.setdefault(step, {})
    return _property(nested, "", frozenset(), marks)


def _property(node: Mapping[str, Any], path: str, held: frozenset[str], marks: Mapping[str, set[str]]) -> Property:
    own = marks.get(path, set())
    held = held.union(own & set(HELD_BENEATH))
    return Property(
        scalar=next((kind for kind in SCALARS if kind in own), None),
        unordered="unordered" in own,
        parts={step: _property(child, f"{path}/{step}".lstrip("/"), held, marks) for step, child in node.items()},
        **dict.fromkeys(held, True),
    )
