"""What applications may do with a registry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.estate.placement import Placed
from holdfast.kinds.registry.declaration import Registry
from holdfast.model.regions import partition
from holdfast.shared.applications.statements import Use, arn


def uses(placed: Placed, store: Registry, services: Sequence[Any], zone: Any) -> list[Use]:
    """Settings below the registry's root, where its services are, and that a service says where it is itself.

    ``services`` are their ARNs; ``zone`` is where Cloud Map writes their names, with the rights of its caller.
    """
    known = "servicediscovery:"
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
        Use(
            sid=f"{store.id}Register",
            actions=(
                f"{known}DeregisterInstance",
                f"{known}RegisterInstance",
                f"{known}UpdateInstanceCustomHealthStatus",
            ),
            resources=tuple(services),
        ),
        Use(
            sid=f"{store.id}Names",
            actions=("route53:ChangeResourceRecordSets", "route53:GetHostedZone"),
            resources=({"Fn::Join": ["", [f"arn:{partition(placed.region)}:route53:::hostedzone/", zone]]},),
        ),
    ]
