"""What log groups of a stack are called, and how long they are kept."""

from __future__ import annotations

from holdfast.estate.placement import Placed


def log_groups(placed: Placed) -> str:
    """Where everything that stands beside the stores of a stack writes its logs."""
    return f"/holdfast/{placed.id}"


def log_days(placed: Placed) -> int:
    """How long logs are kept, those of access to buckets as well."""
    return placed.policy.log_days[placed.env.tier]
