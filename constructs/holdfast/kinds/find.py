"""Which resource of a stack is a declared store."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from holdfast.cfn.dig import dig, without_account
from holdfast.cfn.template import StackSeen
from holdfast.estate.placement import Placed
from holdfast.model.store import Store
from holdfast.unknown import Unknown

NO_MEMBERS: Mapping[str, str] = MappingProxyType({})


def find(
    stack: StackSeen, placed: Placed, store: Store, identity: Mapping[str, str], members: Mapping[str, str] = NO_MEMBERS
) -> str | Unknown | None:
    """The logical id of a declared store, None where it is absent."""
    unsure: Unknown | None = stack.rewritten
    wanted = store.identifier(placed.fill(store.name), placed.region)
    for kind in identity if unsure is None else ():
        for logical_id, resource in stack.possible(kind):
            name = identified(stack, logical_id, identity)
            present = stack.present(resource)
            if name == wanted:
                if present is True:
                    return logical_id
                unsure = Unknown(f"whether {stack.at(logical_id)} exists is decided at deploy time")
            elif isinstance(name, Unknown) and cluster_of(stack, logical_id, members) is None:
                unsure = Unknown(f"it may be {stack.at(logical_id)}, whose name cannot be read: {name.reason}")
    return unsure


def identified(stack: StackSeen, logical_id: str, identity: Mapping[str, str]) -> str | Unknown:
    """The name of a store's resource; the account's number, which no template knows, is left out of it."""
    resource: Mapping[str, Any] = stack.template["Resources"][logical_id]
    attribute = identity.get(str(resource["Type"]), "")
    properties = resource.get("Properties")
    if not isinstance(properties, dict) or attribute not in properties:
        return Unknown("CloudFormation chooses its name")
    return without_account(stack, properties[attribute])


def cluster_of(stack: StackSeen, logical_id: str, members: Mapping[str, str]) -> str | None:
    """The cluster of the same stack that an instance belongs to."""
    resource = stack.template["Resources"][logical_id]
    if resource["Type"] not in members.values():
        return None
    cluster = dig(stack, resource, "Properties", "DBClusterIdentifier")
    return cluster.logical_id if any(stack.is_a(cluster, kind) for kind in members) else None
