"""Places of resources, as rules name what they read: a type, and a path from the resource."""

from __future__ import annotations

from collections.abc import Iterable

OF_RESOURCE = frozenset(
    {
        "Type",
        "Condition",
        "CreationPolicy",
        "DeletionPolicy",
        "DependsOn",
        "Metadata",
        "Properties",
        "UpdatePolicy",
        "UpdateReplacePolicy",
    }
)


def at(kinds: str | Iterable[str], *names: str) -> tuple[str, ...]:
    """Places of these types: attributes of the resource by their names, anything else among its properties."""
    of = (kinds,) if isinstance(kinds, str) else kinds
    return tuple(f"{kind} {n if n in OF_RESOURCE else f'Properties/{n}'}" for kind in of for n in names)
