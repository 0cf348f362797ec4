"""A value that could not be read. It is never "off" and never "fine", and nothing can take it for either."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that cannot be read, and why."""

    reason: str

    def __bool__(self) -> bool:
        raise TypeError(f"an unknown value is neither true nor false ({self.reason})")
