"""Whether two values say the same to CloudFormation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def alike(a: Any, b: Any) -> bool:
    """Equal as CloudFormation reads it: numbers and booleans may be written as text, and text for text."""
    if a == b and type(a) is type(b):
        return True
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    try:
        return float(a) == float(b)
    except (TypeError, ValueError):
        return str(a).lower() == str(b).lower() if isinstance(a, bool) or isinstance(b, bool) else bool(a == b)
