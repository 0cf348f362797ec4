"""What a kind of store is: everything that differs between kinds, as one record that the type checker completes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from holdfast.cfn.dig import dig, mentioned
from holdfast.cfn.template import StackSeen
from holdfast.estate.placement import Placed
from holdfast.kinds.live import Reading
from holdfast.model.facts import Guard
from holdfast.model.store import Store
from holdfast.shared.alarms.alarm import Alarm
from holdfast.shared.readings import Protection
from holdfast.verdict import Verdict

if TYPE_CHECKING:
    from holdfast.shared.applications.statements import Use
    from holdfast.shared.construct.context import StoreContext

S = TypeVar("S", bound=Store)


@dataclass(frozen=True, slots=True)
class StoreSubject(Generic[S]):
    """One declared store, and the resource of a stack that is it, or that belongs to it."""

    placed: Placed
    store: S
    kind: Kind[S]
    stack: StackSeen
    logical_id: str

    @property
    def about(self) -> S:
        return self.store

    @property
    def required(self) -> Guard:
        return self.placed.required(self.store)

    @property
    def where(self) -> str:
        return self.stack.at(self.logical_id)

    @property
    def resource(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.stack.template["Resources"][self.logical_id]
        return found

    @property
    def type(self) -> str:
        return str(self.resource["Type"])

    @property
    def name(self) -> str:
        return self.placed.fill(self.store.name)

    def get(self, *path: str, default: Any = None) -> Any:
        return dig(self.stack, self.resource, "Properties", *path, default=default)

    def part(self, logical_id: str) -> StoreSubject[S]:
        """Another resource, on behalf of the same store."""
        return replace(self, logical_id=logical_id)

    @property
    def members(self) -> Iterator[StoreSubject[S]]:
        """The instances of a cluster, also those that only may be there."""
        for logical_id, resource in self.stack.possible(self.kind.members.get(self.type, "")):
            if self.logical_id in mentioned(resource.get("Properties", {})):
                yield self.part(logical_id)


@dataclass(frozen=True, slots=True)
class Asked(Generic[S]):
    """How a kind is asked for one thing: the check, and the places that it reads."""

    check: Callable[[StoreSubject[S]], Verdict]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs(Generic[S]):
    """What the rules ask of every kind of store; None where a kind has no such thing.

    Tags, alarms, retention of the resource and backups in a vault are read alike for all, and not listed here.
    """

    deletion_protection: Asked[S] | None
    recovery: Asked[S] | None
    expiry: Asked[S] | None
    customer_key: Asked[S] | None
    tls: Asked[S] | None
    private: Asked[S] | None  # not public, and copied nowhere
    clients: Asked[S] | None  # who may connect
    zones: Asked[S] | None
    logs: Asked[S] | None  # that they are written
    logs_kept: Asked[S] | None
    port: Asked[S] | None  # and who reaches it
    fixes: Asked[S] | None
    passwords: Asked[S] | None
    settings: Asked[S] | None
    jobs: Asked[S] | None  # what has to run, or stand, beside it


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[S]):
    """One kind of store. A new one is a folder with these, and a line in kinds/kinds.py."""

    declaration: type[S]
    identity: Mapping[str, str]  # the types of resource that are the store itself, and the property that names each
    made: frozenset[str]  # every type that its construct makes, beside those that all stacks have
    guards: tuple[Protection, ...]  # how each guard is read from a contract, and which way it is stronger
    needs: Needs[S]
    alarms: Callable[[Placed, S], Iterator[Alarm]]
    logs: Callable[[Placed, S], Iterator[str]]  # the log groups that it, and what stands beside it, writes to
    construct: Callable[[StoreContext, S], Iterable[Use]]  # makes it; answers what applications may do with it
    live: Reading[S] | None  # None: no API shows it
    # Alarms that no guard demands: made wherever the stack has alarms at all.
    notices: Callable[[Placed, S], Iterator[Alarm]] = lambda placed, store: iter(())
    # The resources of its types that belong to another resource, so that they are not strangers.
    beside: Callable[[StackSeen, Collection[str]], Collection[str]] = lambda stack, matched: ()
    members: Mapping[str, str] = field(default_factory=dict)  # the instances that a cluster consists of
    arns: Mapping[str, str] = field(default_factory=dict)  # how Fn::GetAtt names the ARN of each type, where it can
    end_points: tuple[str, ...] = ()  # services of AWS that its applications or functions reach from the network
    harmless: tuple[str, ...] = ()  # actions that delete, and that applications may be allowed all the same
    backup_policies: tuple[str, ...] = ()  # AWS's policies that AWS Backup needs for it
    protect: Mapping[str, str] = field(default_factory=dict)  # the aws call that a resource's name completes

    def __post_init__(self) -> None:
        """Refuses a guard that is offered and nowhere read: its loss would not be told."""
        asked = {
            Guard.DELETION_PROTECTION: self.needs.deletion_protection,
            Guard.PITR: self.needs.recovery,
            Guard.CUSTOMER_KEY: self.needs.customer_key,
        }
        read = {reading.label for of in self.guards for reading in of.readings}
        named = {of.type: of.name for of in self.guards}
        for guard in self.declaration.offers & (Guard.DELETION_PROTECTION | Guard.PITR | Guard.CUSTOMER_KEY):
            if asked[guard] is None or (guard is not Guard.PITR and guard.label not in read):
                raise TypeError(
                    f"{self.declaration.__name__} offers {guard.label}: say in needs and guards how it is read"
                )
        for of, name in self.identity.items():
            if self.guards and named.get(of) != name:
                raise TypeError(f"{self.declaration.__name__}: guards need a Protection(type={of!r}, name={name!r}, …)")


def none(placed: Placed, store: Store) -> Iterator[Any]:
    """For a kind that has no alarms, or writes no logs."""
    yield from ()
