"""What every store of a stack shares: its key, its topic, its network, its vault, and what the synth was told."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from aws_cdk import aws_kms as kms
from constructs import Construct

from holdfast.catalog import Placed
from holdfast.cdk.backups import Vault
from holdfast.cdk.network import Network
from holdfast.model import DeclarationError
from holdfast.stores import Bucket, Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What may be chosen with ``-c`` at synth, and is off unless it is."""

    aurora: bool = False
    documents: bool = False
    topic_prefix: str | None = None
    zones: tuple[str, ...] = ()  # letters of the region's; where there are none, the first that AWS names

    @classmethod
    def of(cls, scope: Construct) -> Options:
        return cls(
            aurora=_flag(scope, "aurora"),
            documents=_flag(scope, "documents"),
            topic_prefix=scope.node.try_get_context("topicPrefix"),
            zones=_zones(scope),
        )


@dataclass(frozen=True, kw_only=True)
class StoreContext:
    """Passed to every store. Network and vault are made when the first store asks for them."""

    scope: Construct
    placed: Placed
    key: kms.IKey
    topic: str | None  # where alarms go; none where nothing is watched
    options: Options

    @property
    def rebuilt(self) -> str:
        """Why nothing is protected here, in words for a reviewer; said only where the policy asks for nothing."""
        env = self.placed.env
        return f"{env.label} is a {env.tier.value} environment: its stores may be rebuilt at any time"

    @cached_property
    def network(self) -> Network:
        return Network(self.scope, self.placed, self.key, self.options.zones)

    @property
    def networked(self) -> bool:
        """Whether a store stands in a network; buckets and registries need none."""
        return any(not isinstance(s, Bucket | Registry) for s in self.placed.stores)

    @cached_property
    def vault(self) -> Vault:
        return Vault(self.scope, self.placed, self.key)


def _flag(scope: Construct, name: str) -> bool:
    match scope.node.try_get_context(name):
        case None | False | "false":
            return False
        case True | "true":
            return True
        case value:
            raise DeclarationError(f"-c {name}={value}: say true or false")


def _zones(scope: Construct) -> tuple[str, ...]:
    value = scope.node.try_get_context("zones")
    if value is None:
        return ()
    zones = tuple(str(value).split(","))
    if len(set(zones)) < len(zones) or not all(re.fullmatch("[a-z]", zone) for zone in zones):
        raise DeclarationError(f"-c zones={value}: give different letters of the region's zones, such as a,b,d")
    return zones
