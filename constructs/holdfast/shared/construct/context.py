"""What every store of a stack shares: its key, its topic, its network and its vault."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from constructs import Construct

from holdfast.estate.placement import Placed
from holdfast.shared.network.construct import Network
from holdfast.shared.vault.construct import Vault


@dataclass(frozen=True, kw_only=True)
class StoreContext:
    """Passed to every store. Network and vault are made when the first store asks for them."""

    scope: Construct
    placed: Placed
    root: Path  # of the project: its schemas and its layer are below
    key: kms.IKey
    topic: str | None  # where alarms go; none where nothing is watched
    made: dict[str, Construct] = field(default_factory=dict)  # what another store uses, by the store's name

    @property
    def rebuilt(self) -> str:
        """Why nothing is protected here, in words for a reviewer; said only where the policy asks for nothing."""
        env = self.placed.env
        return f"{env.label} is a {env.tier.value} environment: its stores may be rebuilt at any time"

    def resolved(self, value: Any) -> Any:
        """A token as CloudFormation has it: policies are data."""
        return cdk.Stack.of(self.scope).resolve(value)

    @cached_property
    def network(self) -> Network:
        return Network(self.scope, self.placed, self.key)

    @property
    def networked(self) -> bool:
        """Whether a store stands in a network; buckets and registries need none."""
        return any(s.networked for s in self.placed.stores)

    @cached_property
    def vault(self) -> Vault:
        return Vault(self.scope, self.placed, self.key)
