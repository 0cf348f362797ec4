"""Which accounts and regions to look at, and as whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Credentials as they are: those of an account of the emulator."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Every profile, or set of keys, is looked at in every region; without any, whatever the environment gives."""

    profiles: tuple[str, ...] = ()
    keys: tuple[Keys, ...] = ()
    role_arn: str | None = None
    regions: tuple[str, ...] = ()
    endpoint_url: str | None = None
    accounts: tuple[str, ...] = ()  # none but these; without any, whichever the credentials are of

    def apart(self) -> Iterator[tuple[str, Options]]:
        """Each profile, or set of keys, by itself, with what to call it."""
        yield from ((f"profile {p}", replace(self, profiles=(p,))) for p in self.profiles)
        if not self.profiles:
            yield from ((f"the keys of {k.access_key}", replace(self, keys=(k,))) for k in self.keys)
            if not self.keys:
                yield "the credentials of the environment", self
