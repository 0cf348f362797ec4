"""What Holdfast knows of caches, in one record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.kinds.base import Kind, none
from holdfast.kinds.cache import types
from holdfast.kinds.cache.alarms import alarms
from holdfast.kinds.cache.declaration import Cache
from holdfast.kinds.cache.guards import PROTECTIONS
from holdfast.kinds.cache.live import READING
from holdfast.kinds.cache.needs import NEEDS
from holdfast.kinds.cache.settings import written_logs

if TYPE_CHECKING:
    from holdfast.shared.applications.statements import Use
    from holdfast.shared.construct.context import StoreContext


def construct(context: StoreContext, store: Cache) -> Iterator[Use]:
    from holdfast.kinds.cache.construct import add_cache

    return add_cache(context, store)


CACHE = Kind(
    declaration=Cache,
    identity=types.IDENTITY,
    made=frozenset({types.CACHE, types.PARAMETERS, types.SUBNETS, types.USER, types.USERS}),
    guards=PROTECTIONS,
    needs=NEEDS,
    alarms=none,
    notices=alarms,
    logs=written_logs,
    construct=construct,
    live=READING,
)
