"""What rules judge: a declared thing, a table, a key, a resource, a stack, or whatever is declared nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from holdfast.cfn.template import StackSeen
from holdfast.estate.placement import Placed
from holdfast.estate.stack import Processor
from holdfast.kinds.table.declaration import Table
from holdfast.kinds.table.observed import Observed
from holdfast.model.facts import Guard
from holdfast.model.store import Store
from holdfast.shared.key.observed import ObservedKey
from holdfast.unknown import Unknown


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
