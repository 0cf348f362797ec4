"""How strongly a value of a resource protects: 0 for not at all, more for better, None for what a deploy decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Strength = Callable[[Any], float | None]
RETAINED = ("Retain", "RetainExceptOnCreate")


def on(value: Any) -> float | None:
    return None if isinstance(value, dict) else float(value is True)


def off(value: Any) -> float | None:
    return None if isinstance(value, dict) else float(value is not True)


def not_off(value: Any) -> float | None:
    return None if isinstance(value, dict) else float(value is not False)


def there(value: Any) -> float | None:
    return float(value not in (None, False, "", [], {}))


def own_key(value: Any) -> float | None:
    """A key of the customer's own; aws/… is AWS's."""
    return float(there(value) == 1 and not (isinstance(value, str) and "alias/aws/" in value))


def number(value: Any) -> float | None:
    if value is None:
        return 0.0
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def number_or(default: float) -> Strength:
    return lambda value: default if value is None else number(value)


def one_of(*order: str) -> Strength:
    """By its place among these, from weak to strong."""
    return lambda value: 1.0 + order.index(value) if value in order else 0.0


def kept(policy: Any) -> float | None:
    """Of a DeletionPolicy or an UpdateReplacePolicy."""
    if policy is not None and not isinstance(policy, str):
        return None
    return 2.0 if policy in RETAINED else float(policy == "Snapshot")
