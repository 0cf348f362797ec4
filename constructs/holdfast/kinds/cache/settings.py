"""What the construct of a cache sets and the rules demand."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.estate.placement import Placed
from holdfast.kinds.cache.declaration import Cache
from holdfast.shared.logs.groups import log_groups

VERSION = "8.1"
PARAMETERS = {"maxmemory-policy": "volatile-ttl"}  # when memory runs out, what would expire soonest goes first
LOGS = ("slow", "engine")
DEFAULT_USER = "off -@all"  # what the user called default may do: nothing


def written_logs(placed: Placed, store: Cache) -> Iterator[str]:
    yield from (f"{log_groups(placed)}/cache/{word}" for word in LOGS)
