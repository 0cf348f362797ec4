"""How a live store is read: what was asked, and what was answered, as resources in CloudFormation's words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from holdfast.estate.placement import Placed
from holdfast.model.store import Store
from holdfast.shared.account import Aspect
from holdfast.shared.calls import Call
from holdfast.shared.live import Answer, Resource, StackResources, shaped
from holdfast.unknown import Unknown

Listed = list[dict[str, Any]] | Unknown
S = TypeVar("S", bound=Store)
MARKER, NEXT = ("Marker", "Marker"), ("NextToken", "NextToken")


class Ask(Protocol):
    """The answer; empty where nothing is set, None where there is nothing to ask about."""

    def __call__(self, call: Call, about: str, **parameters: Any) -> dict[str, Any] | Unknown | None: ...


class AskAll(Protocol):
    """All that a call lists, page after page."""

    def __call__(self, call: Call, about: str = "", **parameters: Any) -> Listed: ...


@dataclass(slots=True, kw_only=True)
class Found:
    """One store that is live, before the whole stack is known."""

    arn: str
    logical_id: str
    status: str | Unknown = "available"  # of a bucket there is none
    unread: dict[Aspect, Unknown] = field(default_factory=dict)


def status(answer: Answer, member: str) -> str | Unknown:
    """The state of a store, as its API names it."""
    found = answer.get(member)
    return found if isinstance(found, str) and found else Unknown(f"the answer has no {member}")


@dataclass(slots=True, kw_only=True)
class ReadContext:
    """One declared stack in one account: what its stores are read with, and where their resources are collected."""

    placed: Placed
    account: str
    partition: str
    ask: Ask
    ask_all: AskAll
    listed: Mapping[Call, Listed]  # what is listed once for an account and region
    own: StackResources
    resources: dict[str, Resource] = field(default_factory=dict)

    def id(self, kind: str, physical: str) -> str:
        """The logical id of the stack; one of our own for what is live and not in it."""
        noun = kind.rpartition("::")[2]
        return self.own.id(kind, physical) or f"Live{noun}{''.join(c for c in physical if c.isalnum())}"

    def add(self, kind: str, physical: str, resource: Resource) -> str:
        logical_id = self.id(kind, physical)
        self.resources[logical_id] = resource
        return logical_id

    def parameters(
        self, kind: str, call: Call, asked: str, group: str, declared: Collection[str], found: Found, named: str
    ) -> str:
        """A group of parameters as a resource; ``asked`` is what the call names it, ``named`` what holds its values."""
        listed = self.ask_all(call, group, **{asked: group})
        if isinstance(listed, Unknown):
            found.unread[Aspect.PARAMETERS] = listed
            listed = []
        return self.add(kind, group, shaped(kind, {named: parameters(listed, declared)}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Generic[S]):
    """How stores of one kind are read. ``listings`` are made once for an account and region."""

    read: Callable[[ReadContext, S, str], Found | Unknown | None]  # by its name; None: it is not there
    listings: Sequence[Call]
    calls: Sequence[Call]  # all others
    tagged: Sequence[str]  # what the API of tags calls them


def parameters(answers: Iterable[Answer], declared: Collection[str]) -> dict[str, str]:
    """What was set, and what is declared wherever its value comes from; other defaults of the engine are left out."""
    return {
        p["ParameterName"]: p["ParameterValue"]
        for p in answers
        if "ParameterValue" in p and (p.get("Source") == "user" or p["ParameterName"] in declared)
    }
