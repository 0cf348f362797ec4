"""What rules judge of accounts: a declared thing, and what no declaration has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from holdfast.estate.placement import Assumption, Placed
from holdfast.kinds.table.declaration import Table
from holdfast.kinds.table.observed import Observed
from holdfast.model.environment import Aspect, Environment
from holdfast.model.store import Store
from holdfast.policy.required import Policy
from holdfast.shared.account import Account, IndexUse, Mention, StackLive, StoreSeen, Unreadable
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome, Verdict


class Outsider(Protocol):
    """Whatever belongs to an account, and perhaps to no declared stack."""

    @property
    def name(self) -> str | None: ...

    @property
    def stack(self) -> str: ...

    @property
    def environment(self) -> str | None: ...

    @property
    def where(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """A declared table or store, and whether its stack and its account have it."""

    placed: Placed
    about: Table | Store
    where: str
    live: StoreSeen | Unknown | None  # None: not there
    asked: bool  # whether the account was asked for it
    stack: StackLive | Unknown | None  # None: not deployed
    deployed: Verdict | Unknown  # whether the deployed template has it; Unknown where that cannot be read

    @property
    def in_template(self) -> bool:
        return isinstance(self.deployed, Verdict) and self.deployed.outcome is Outcome.PASS


@dataclass(frozen=True, slots=True)
class Deployed:
    """A declared stack, as CloudFormation has it."""

    placed: Placed
    stack: StackLive | Unknown | None

    @property
    def about(self) -> None:
        return None

    @property
    def where(self) -> str:
        return f"{self.placed.region}/{self.placed.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTable:
    """A declared table that is live."""

    placed: Placed
    about: Table
    live: StoreSeen
    # What rules that it keeps say of the deployed template; None where no template of its stack has it.
    then: tuple[Verdict, ...] | Unknown | None
    outside: str  # why it is not in its stack, if it is not
    successor: StoreSeen | Unknown | None  # the table that replaces it

    @property
    def where(self) -> str:
        return self.live.arn


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveIndex:
    """One index ``of`` so many of a live table; its name is empty where none can be read."""

    placed: Placed
    about: Table
    live: StoreSeen
    days_old: int | None
    name: str
    use: IndexUse | Unknown
    of: int

    @property
    def where(self) -> str:
        return f"{self.live.arn}/index/{self.name}" if self.name else self.live.arn


@dataclass(frozen=True, slots=True, kw_only=True)
class Twins:
    """Two environments' copies of one declared table."""

    placed: Placed
    beside: Placed
    about: Table
    one: Observed
    other: Observed
    where: str = ""

    @property
    def allowed(self) -> frozenset[Aspect]:
        """What may differ."""
        return frozenset({*self.placed.env.differs, *self.beside.env.differs})

    @property
    def labels(self) -> tuple[str, str]:
        one, two = self.placed, self.beside
        if one.env != two.env:
            return one.env.label, two.env.label
        return f"{one.env.label} ({one.place})", f"{two.env.label} ({two.place})"


@dataclass(frozen=True, slots=True)
class AssumedFact:
    """A fact that was assumed of a table that is live."""

    placed: Placed
    about: Table
    assumption: Assumption
    seen: Observed
    arn: str = ""

    @property
    def where(self) -> str:
        return "/".join(filter(None, (self.arn, self.assumption.assumed.fact.value, self.assumption.index)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStranger:
    """A table that is declared nowhere: live, in the deployed template of a stack, or both."""

    account: Account
    name: str
    live: StoreSeen | None
    template: str | None  # the stack that has it
    environment: None = None

    @property
    def stack(self) -> str:
        owner = self.live.owner if self.live else None
        return self.template or (owner if isinstance(owner, str) else "no stack")

    @property
    def where(self) -> str:
        return self.live.arn if self.live and not self.template else f"{self.template}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """A store with the tags of our stacks that is declared nowhere."""

    name: str
    where: str
    tags: Mapping[str, str]
    policy: Policy
    stack: str = "no stack"
    environment: None = None


@dataclass(frozen=True, slots=True)
class Hole:
    """A call that was refused or failed."""

    account: Account
    call: Unreadable
    name: None = None
    environment: None = None

    @property
    def stack(self) -> str:
        return f"account {self.account.id}"

    @property
    def where(self) -> str:
        return f"{self.account.id}/{self.account.region}/{self.call.what}"


@dataclass(frozen=True, slots=True)
class Unvisited:
    """A declared stack whose region or account was not read."""

    placed: Placed

    @property
    def about(self) -> None:
        return None

    @property
    def where(self) -> str:
        return f"{self.placed.region}/{self.placed.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMention:
    """What runs, or is written, and names a table."""

    mention: Mention
    account: Account | None  # where it runs; code runs in none
    runs: Environment | None
    named: Placed | None  # the declared stack with a table of that name
    owner: Placed | None  # the declared stack whose table is meant
    about: Table | None  # that table, where a name alone means it
    exists: bool | Unknown | None  # None: that was not read
    hint: str = ""

    @property
    def name(self) -> str:
        return self.mention.table

    @property
    def stack(self) -> str:
        return self.named.name if self.named else "no stack"

    @property
    def environment(self) -> str | None:
        env = self.runs or (self.named.env if self.named else None)
        return env.label if env else None

    @property
    def elsewhere(self) -> bool:
        """Whether an ARN points out of where it runs."""
        return self.account is not None and self.mention.place not in (None, (self.account.id, self.account.region))

    @property
    def says(self) -> str:
        said = f"{self.mention.where} names {self.mention.table}"
        if self.mention.place is None or not self.elsewhere:
            return said
        owner, region = self.mention.place
        return f"{said} of account {owner} in {region}"

    @property
    def where(self) -> str:
        a = self.account
        return f"{a.id}/{a.region}/{self.mention.where}" if a else self.mention.where
