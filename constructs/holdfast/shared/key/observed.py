"""A customer-managed key, as a template or an account shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.cfn.template import StackSeen, flag
from holdfast.cfn.tree import mapping
from holdfast.cfn.types import KEY
from holdfast.estate.placement import Placed
from holdfast.unknown import Unknown

DECLARABLE_OF_KEY = frozenset({"Description", "EnableKeyRotation", "KeyPolicy", "Tags"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedKey:
    """A customer-managed key."""

    where: str
    rotation: bool | Unknown
    policy: Mapping[str, Any] | Unknown
    deletion_policy: str | Unknown | None
    update_replace_policy: str | Unknown | None = "Retain"
    extras: frozenset[str] = frozenset()
    unusable: tuple[str | Unknown, ...] = ()  # why it cannot be relied on


@dataclass(frozen=True, slots=True)
class NamedKey:
    """A key that a template names and does not hold: of another stack, or of another account."""

    name: str


def exported_keys(stack: StackSeen) -> Iterator[tuple[str, str]]:
    """(export, place) of every key of a stack that others can import."""
    for output in mapping(stack.template.get("Outputs")).values():
        value, name = mapping(output).get("Value"), mapping(mapping(output).get("Export")).get("Name")
        key = stack.resolver.value(value)
        if isinstance(name, str) and stack.is_a(key, KEY) and key.attribute == "Arn":
            yield name, f"{stack.id}#{key.logical_id}"


def observe_key(stack: StackSeen, logical_id: str) -> ObservedKey | Unknown:
    """A key of the same template, or of the same account."""
    resource = mapping(stack.template["Resources"].get(logical_id))
    if resource.get("Type") != KEY or stack.present(resource) is not True:
        return Unknown(f"{logical_id} is not a key of this template")
    p = resource.get("Properties", {})
    policy = mapping(p).get("KeyPolicy", {})
    return ObservedKey(
        where=stack.at(logical_id),
        rotation=flag(stack.resolver.get(p, "EnableKeyRotation", False)),
        policy=policy if isinstance(policy, dict | Unknown) else Unknown("no policy document"),
        deletion_policy=stack.resolver.get(resource, "DeletionPolicy"),
        update_replace_policy=stack.resolver.get(resource, "UpdateReplacePolicy"),
        extras=frozenset(mapping(p)) - DECLARABLE_OF_KEY,
        unusable=tuple(_unusable(stack, p)),
    )


# What a key has to be to encrypt data for good, and what is wrong where it is not.
USABLE: Mapping[str, tuple[frozenset[str], str]] = {
    "Enabled": (frozenset({"true"}), "the key is disabled, so what it encrypts cannot be read"),
    "KeyUsage": (frozenset({"ENCRYPT_DECRYPT"}), "the key does not encrypt"),
    "KeySpec": (frozenset({"SYMMETRIC_DEFAULT"}), "the key is of a kind that encrypts no table or store"),
    "Origin": (frozenset({"AWS_KMS"}), "the key's material comes from outside, and can expire there"),
    "PendingWindowInDays": (frozenset({"30"}), "a deletion of the key can be cancelled for less than 30 days only"),
    "MultiRegion": (frozenset({"false"}), "the key can be copied to other regions"),
}


def _unusable(stack: StackSeen, properties: Any) -> Iterator[str | Unknown]:
    for name, (good, problem) in USABLE.items():
        seen = stack.resolver.get(properties, name)
        if isinstance(seen, Unknown):
            yield Unknown(f"{name} of the key cannot be read: {seen.reason}")
        elif seen is not None and (str(seen).lower() if isinstance(seen, bool) else str(seen)) not in good:
            yield problem


def encrypting_key(placed: Placed, stack: StackSeen, value: Any) -> bool:
    """Whether a value is the key of a stack: one of its own, or the external or shared one that it declares."""
    return bool(value == placed.foreign_key) if placed.foreign_key else stack.is_a(value, KEY)
