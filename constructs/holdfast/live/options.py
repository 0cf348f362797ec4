"""Which accounts and regions to look at, and as whom."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Every profile is looked at in every region; without a profile, whatever the environment gives."""

    profiles: tuple[str, ...] = ()
    role_arn: str | None = None
    regions: tuple[str, ...] = ()
    endpoint_url: str | None = None
    accounts: tuple[str, ...] = ()  # none but these; without any, whichever the credentials are of
