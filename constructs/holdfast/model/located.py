"""Where tables and stores are declared: file and line."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

STORE = {"name", "data"}  # what the declaration of every store says, whatever its kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    where: str  # file and line


def declarations(source: Path) -> dict[str, Declaration]:
    """Every declared table and store of a package or a module, by its declared name."""
    return {
        name: Declaration(where=f"{path.relative_to(source.parent)}:{line}")
        for path in (sorted(p for p in source.rglob("*.py") if p.is_file()) if source.is_dir() else [source])
        for name, line in _declared(path)
    }


def _declared(path: Path) -> Iterator[tuple[str, int]]:
    """(declared name, line) of every ``Table(…)`` or other store in a module."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return  # what Python cannot read declares nothing
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not {k.arg for k in node.keywords} >= STORE:
            continue
        value = next(k.value for k in node.keywords if k.arg == "name")
        name = constants.get(value.id) if isinstance(value, ast.Name) else getattr(value, "value", None)
        if isinstance(name, str):
            yield name, node.lineno
