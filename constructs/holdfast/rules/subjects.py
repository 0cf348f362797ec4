"""What rules judge: a declared thing, a table, a key, a resource, a stack, or whatever is declared nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from holdfast.cfn.template import StackSeen
from holdfast.estate.placement import Placed
from holdfast.estate.provenance import Stated
from holdfast.estate.stack import Processor
from holdfast.kinds.table.declaration import Table
from holdfast.kinds.table.observed import Observed
from holdfast.model.environment import Aspect, Environment
from holdfast.model.facts import Guard
from holdfast.model.store import Store
from holdfast.policy.required import Policy
from holdfast.shared.account import Account, IndexUse, StackLive, StoreSeen
from holdfast.shared.key.observed import ObservedKey
from holdfast.unknown import Unknown
from holdfast.verdict import Verdict


class Subject(Protocol):
    """Whatever belongs to a declared stack."""

    @property
    def placed(self) -> Placed: ...

    @property
    def about(self) -> Table | Store | None: ...

    @property
    def where(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Expected:
    """One declared table or store: where it was found, and where else."""

    placed: Placed
    about: Table | Store
    where: str
    absent: str | Unknown | None  # why it is not there, or may not be
    type: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableSubject:
    """One declared table and what a source shows of it."""

    placed: Placed
    table: Table
    required: Guard
    seen: Observed

    @property
    def about(self) -> Table:
        return self.table

    @property
    def where(self) -> str:
        return self.seen.where


@dataclass(frozen=True, slots=True)
class KeySubject:
    """A customer-managed key that does not belong to one table; of a live one the account is known."""

    placed: Placed
    key: ObservedKey
    account: str | None = None

    @property
    def about(self) -> None:
        return None

    @property
    def where(self) -> str:
        return self.key.where


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of a declared stack, whatever its type."""

    placed: Placed
    stack: StackSeen
    logical_id: str
    about: Table | Store | None = None

    @property
    def where(self) -> str:
        return self.stack.at(self.logical_id)

    @property
    def body(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.stack.template["Resources"][self.logical_id]
        return found

    @property
    def type(self) -> str:
        return str(self.body.get("Type"))

    @property
    def properties(self) -> Any:
        return self.body.get("Properties", {})

    def get(self, name: str, default: Any = None) -> Any:
        return self.stack.resolver.get(self.properties, name, default)


@dataclass(frozen=True, slots=True)
class StackSubject:
    """A declared stack as a whole."""

    placed: Placed
    stack: StackSeen

    @property
    def about(self) -> None:
        return None

    @property
    def where(self) -> str:
        return self.stack.where


@dataclass(frozen=True, slots=True)
class Consumer:
    """A declared function that reads a stream."""

    placed: Placed
    stack: StackSeen
    processor: Processor
    about: Table | None

    @property
    def where(self) -> str:
        return self.stack.where


@dataclass(frozen=True, slots=True)
class Stranger:
    """A table or store of a declared stack that is declared nowhere, as far as its name can be read."""

    stack: StackSeen
    placed: Placed
    name: str | Unknown
    where: str


# What accounts show


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """A declared table or store, and whether its stack and its account have it."""

    placed: Placed
    live: StoreSeen | Unknown | None  # None: not there
    asked: bool  # whether the account was asked for it
    stack: StackLive | Unknown | None  # None: not deployed
    deployed: Verdict | Unknown  # whether the deployed template has it; Unknown where that cannot be read


@dataclass(frozen=True, slots=True)
class Deployed:
    """A declared stack, as CloudFormation has it."""

    placed: Placed
    stack: StackLive | Unknown | None


@dataclass(frozen=True, slots=True)
class Unvisited:
    """A declared stack whose region or account was not read."""

    placed: Placed


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTable:
    """A declared table that is live."""

    placed: Placed
    table: Table
    live: StoreSeen
    # What rules that it keeps say of the deployed template; None where no template of its stack has it.
    then: tuple[Verdict, ...] | Unknown | None
    outside: str  # why it is not in its stack, if it is not
    successor: StoreSeen | Unknown | None  # the table that replaces it
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveIndex:
    """One index ``of`` so many of a live table."""

    live: StoreSeen
    days_old: int | None
    name: str
    use: IndexUse | Unknown
    of: int


@dataclass(frozen=True, slots=True)
class Twins:
    """Two environments' copies of one declared table, what they are called, and what may differ."""

    one: Observed
    other: Observed
    labels: tuple[str, str]
    allowed: frozenset[Aspect] = frozenset()


@dataclass(frozen=True, slots=True)
class AssumedFact:
    """A fact that was assumed of a table that is live, and what the deployed template of its stack has there."""

    table: Table
    assumption: Stated
    seen: Observed
    deployed: Observed | Unknown | None = None  # None: the template does not have the table


@dataclass(frozen=True, slots=True)
class LiveStranger:
    """A table that is declared nowhere: live, in the deployed template of a stack, or both."""

    account: Account
    live: StoreSeen | None
    template: str | None  # the stack that has it
    others: bool = False  # the estate says that it belongs to another team


@dataclass(frozen=True, slots=True)
class Tagged:
    """The tags of a store that is declared nowhere, where they are those of our stacks."""

    tags: Mapping[str, str]
    policy: Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMention:
    """What runs, or is written, and names a table."""

    says: str
    kind: str
    runs: Environment | None
    owner: Placed | None  # the declared stack whose table is meant
    table: Table | None  # that table, where its name alone says so
    exists: bool | Unknown | None  # None: that was not read
    hint: str = ""


# What the contract shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """One thing in which what is synthesized and the contract differ, or which neither can show."""

    says: str
    before: bool = True  # whether the contract has it
    after: bool = True  # whether it is synthesized
    outside: bool = False  # of the manifest or of the code, not of the template
    hides: bool = False  # something else decides at deploy time what is made
    sure: bool = True  # else a deploy, or another synthesis, shows whether it differs

    @property
    def plain(self) -> bool:
        return not self.outside and not self.hides
