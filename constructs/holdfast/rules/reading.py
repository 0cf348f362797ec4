"""Which rule reads a place of a template: it explains a difference from the contract there."""

from __future__ import annotations

from functools import cache

from holdfast.rules.base import ORDER, Rule

Path = tuple[str, ...]
ANY = "*"


def reading(kind: str, path: Path) -> Rule | None:
    """The rule that reads ``path`` of a resource of type ``kind``, or what is beneath it; the most specific wins.

    ``kind`` is ``stack`` for what the manifest says. An empty path is the resource as such.
    """
    at, beneath = _index()
    for length in range(len(path), -1 if not path else 0, -1):
        for type_ in (kind, ANY):
            if rule := at.get((type_, path[:length])):
                return rule
    return (beneath.get((kind, path)) or beneath.get((ANY, path))) if path else None


@cache
def _index() -> tuple[dict[tuple[str, Path], Rule], dict[tuple[str, Path], Rule]]:
    """Rules by the place that they read or explain, and by every place above it: there the most severe."""
    from holdfast.rules import RULES

    at: dict[tuple[str, Path], Rule] = {}
    above: dict[tuple[str, Path], Rule] = {}
    for rule in sorted(RULES, key=lambda r: ORDER[r.severity]):
        for place in (*rule.paths, *rule.explains):
            kind, _, inside = place.partition(" ")
            path = tuple(inside.split("/")) if inside else ()
            at.setdefault((kind, path), rule)
            for length in range(1, len(path)):
                above.setdefault((kind, path[:length]), rule)
    return at, above
