"""What applications may do with a cache."""

from __future__ import annotations

from holdfast.estate.placement import Placed
from holdfast.kinds.cache.declaration import Cache
from holdfast.shared.applications.statements import Use, arn


def uses(placed: Placed, store: Cache) -> list[Use]:
    """Log in as the one user that is not off; what that one may do is its access string's affair."""
    name = placed.fill(store.name)
    both = tuple(arn(placed, "elasticache", f"{kind}:{name}") for kind in ("replicationgroup", "user"))
    return [Use(sid=f"{store.id}LogIn", actions=("elasticache:Connect",), resources=both)]
