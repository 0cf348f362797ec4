"""What applications may do with a registry."""

from __future__ import annotations

from holdfast.estate.placement import Placed
from holdfast.kinds.registry.declaration import Registry
from holdfast.shared.applications.statements import Use, arn


def uses(placed: Placed, store: Registry) -> list[Use]:
    """Settings below the registry's root, and where its services are."""
    return [
        Use(
            sid=f"{store.id}Settings",
            actions=("ssm:GetParameter", "ssm:GetParameters", "ssm:GetParametersByPath"),
            resources=(arn(placed, "ssm", f"parameter/{store.root}/*"),),
            why="the settings below one root, which belongs to the registry alone",
        ),
        Use(
            sid=f"{store.id}Services",
            actions=("servicediscovery:DiscoverInstances",),
            resources=("*",),
            condition={"StringEquals": {"servicediscovery:NamespaceName": store.domain}},
            why="DiscoverInstances knows no resource; a condition names the one namespace",
        ),
    ]
