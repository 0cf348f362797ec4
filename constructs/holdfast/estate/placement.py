"""A declared stack in one place of an environment: every name resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from holdfast.estate.stack import Stack
from holdfast.kinds.broker.declaration import Broker, Topic
from holdfast.kinds.table.declaration import Governance, Table
from holdfast.model.environment import Environment, Place, Tier
from holdfast.model.facts import ExternalKey, Guard, fill
from holdfast.model.store import Store
from holdfast.policy.required import DEFAULT, OF_STORES, Policy, TagSource, lifetime, required

T = TypeVar("T")
KEY_ID = "Key"  # the logical id of the key that a stack makes


@dataclass(frozen=True)
class Placed:
    """One declared stack in one place of an environment; ``at`` is the first of them unless told otherwise."""

    stack: Stack
    env: Environment
    at: Place | None = None
    policy: Policy = DEFAULT
    tell: tuple[str, ...] = ()  # the addresses of its owner
    key_holder: Placed | None = field(default=None, compare=False, repr=False)  # whose key it shares
    key_users: tuple[Placed, ...] = field(default=(), compare=False, repr=False)  # who shares the key that it makes

    @property
    def environment_name(self) -> str:
        """What this system calls the environment: some say ``production`` for prod."""
        return self.stack.environment_names.get(self.env, self.env.label)

    @cached_property
    def place(self) -> Place:
        return self.at or places(self.stack, self.env)[0]

    @property
    def region(self) -> str:
        return self.place.region

    @property
    def account(self) -> str | None:
        return self.place.account

    @property
    def waits(self) -> bool:
        """Whether the stack is declared as not deployed yet."""
        return self.env in self.stack.undeployed

    @cached_property
    def name(self) -> str:
        """The CloudFormation stack name, as documented."""
        return self.fill(self.stack.id)

    @cached_property
    def id(self) -> str:
        """Unique in the estate, because one stack name may exist in several environments, accounts and regions.

        In the first place of an environment it says nothing of the place, so that adding another renames nothing.
        """
        first = places(self.stack, self.env)[0]
        parts = [self.name] if "{" in self.stack.id else [self.name, self.env.label]
        if self.region != first.region and "{region}" not in self.stack.id:
            parts.append(self.region)
        if self.account and self.account != first.account and "{account}" not in self.stack.id:
            parts.append(self.account)
        return "-".join(parts)

    @cached_property
    def external_key(self) -> str | None:
        """The ARN of the key that is used instead of one of the stack's own, where one is declared."""
        declared = self.stack.key or self.policy.key
        return self.fill(declared.arn) if isinstance(declared, ExternalKey) else None

    @property
    def foreign_key(self) -> str | None:
        """What the key resolves to where it is not of the stack's own template: its ARN, or its place in another."""
        return f"{self.key_holder.id}#{KEY_ID}" if self.key_holder else self.external_key

    @property
    def key_export(self) -> str:
        """The name under which it exports the key that others share."""
        return f"holdfast-{self.id}-key"

    @property
    def application_policy(self) -> str:
        """The name of the policy for applications; IAM knows no regions, so in any but the first it says which."""
        first = places(self.stack, self.env)[0].region
        elsewhere = f"-{self.region}" if self.region != first else ""
        name = self.stack.applications or f"{self.stack.system}-applications-{{env}}"
        return f"{self.fill(name)}{elsewhere}"

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where alarms are told."""
        return tuple(self.fill(address) for address in self.tell)

    @property
    def tables(self) -> tuple[Table, ...]:
        return tuple(t for t in self.stack.tables if t.only is None or self.env in t.only)

    @property
    def watched(self) -> tuple[Table, ...]:
        return tuple(t for t in self.tables if Guard.ALARMS in self.required(t))

    @property
    def stores(self) -> tuple[Store, ...]:
        return self.stack.stores

    @property
    def alarmed(self) -> bool:
        """Whether anything here raises alarms: watched tables and stores, or functions that read streams."""
        return bool(self.watched or self.stack.processors or any(Guard.ALARMS in self.required(s) for s in self.stores))

    @property
    def by_import(self) -> bool:
        """True where the tables exist already and belong to no stack: nothing may create them anew."""
        return any(t.state.governance is not Governance.STACK for t in self.tables)

    @property
    def tags(self) -> dict[str, str]:
        """What everything in the stack is tagged with: the stack's own tags, and those that the policy requires."""
        values = {
            TagSource.SYSTEM: self.stack.system,
            TagSource.ENVIRONMENT: self.environment_name,
            TagSource.OWNER: self.stack.owner,
        }
        required = {
            name: source if isinstance(source, str) else values[source]
            for name, source in self.policy.tags.items()
            if isinstance(source, str) or source in values
        }
        return {**self.stack.tags, **required}

    def fill(self, text: str) -> str:
        return fill(text, self._words)

    @cached_property
    def _words(self) -> dict[str, str]:
        name = self.environment_name
        return {"env": name, "Env": name.title(), "region": self.region, "account": self.account or ""}

    def table_tags(self, table: Table | Store) -> dict[str, str]:
        """What a table or store is tagged with beyond its stack's tags."""
        values = {TagSource.DATA_CLASS: table.data.value, TagSource.LIFETIME: lifetime(table)}
        own = table.tags if isinstance(table, Table) else {}
        named = [n for n, s in self.policy.tags.items() if s is TagSource.NAME and n in own]
        values[TagSource.NAME] = own[named[0]] if named else self.fill(table.name)
        required = {n: values[s] for n, s in self.policy.tags.items() if isinstance(s, TagSource) and s in OF_STORES}
        return {**own, **required}

    def required(self, table: Table | Store) -> Guard:
        return required(table, self.env, self.stack.floor, self.policy)

    def by_tier(self, values: Mapping[Tier, T]) -> T:
        """What the policy says for this tier."""
        return values[self.env.tier]

    @property
    def termination_protected(self) -> bool:
        return self.env.tier in self.policy.termination_protection

    @property
    def keeps_logs(self) -> bool:
        """Whether logs, and what failed, stay when what wrote them is deleted."""
        return self.env.tier in self.policy.keeps_logs

    @property
    def cidr(self) -> str:
        return self.stack.cidr or self.policy.cidr

    def recovery_days(self, table: Table) -> int:
        """How far back a table can be restored, where it can."""
        return table.recovery_days or self.policy.recovery_days

    def topic(self, broker: Broker, topic: Topic) -> str:
        """The full name of a topic here."""
        return broker.topic(topic, self.env.topic_prefix)


def places(stack: Stack, env: Environment) -> tuple[Place, ...]:
    """Where a stack is deployed in ``env``: everywhere, or in its own region of each account."""
    if stack.region is None:
        return env.places
    return tuple(dict.fromkeys(Place(stack.region, place.account) for place in env.places))
