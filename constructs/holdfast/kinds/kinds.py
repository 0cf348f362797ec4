"""Every kind of store. What differs between them is asked of their records; nothing else tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from holdfast.cfn.template import StackSeen
from holdfast.estate.placement import Placed
from holdfast.kinds import find as finding
from holdfast.kinds.base import Asked, Kind, Needs, StoreSubject
from holdfast.kinds.broker.kind import BROKER
from holdfast.kinds.bucket.kind import BUCKET
from holdfast.kinds.cache.kind import CACHE
from holdfast.kinds.database.kind import DATABASE
from holdfast.kinds.documents.kind import DOCUMENTS
from holdfast.kinds.registry.kind import REGISTRY
from holdfast.model.facts import Guard
from holdfast.model.store import Store
from holdfast.shared.alarms.alarm import Alarm
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, Verdict

# In the order in which a stack makes them: databases archive into buckets.
KINDS: tuple[Kind[Any], ...] = (BUCKET, DATABASE, DOCUMENTS, CACHE, BROKER, REGISTRY)

IDENTITY = {of: name for kind in KINDS for of, name in kind.identity.items()}
MEMBERS = {cluster: member for kind in KINDS for cluster, member in kind.members.items()}
ARNS = {of: attribute for kind in KINDS for of, attribute in kind.arns.items()}
MADE = frozenset(made for kind in KINDS for made in kind.made)
_BY_DECLARATION = {kind.declaration: kind for kind in KINDS}

Choice = Callable[[Needs[Any]], Asked[Any] | None]


def kind_of(store: Store) -> Kind[Any]:
    return _BY_DECLARATION[type(store)]


def subject(placed: Placed, store: Store, stack: StackSeen, logical_id: str) -> StoreSubject[Any]:
    return StoreSubject(placed, store, kind_of(store), stack, logical_id)


def asked(choice: Choice) -> Callable[[StoreSubject[Any]], Verdict]:
    """A check of stores of every kind: what each kind answers, where it knows such a thing."""

    def check(s: StoreSubject[Any]) -> Verdict:
        found = choice(s.kind.needs)
        return found.check(s) if found else EXEMPT

    return check


def read(choice: Choice) -> tuple[str, ...]:
    """The places that such a check reads."""
    found = (choice(kind.needs) for kind in KINDS)
    return tuple(dict.fromkeys(path for each in found if each for path in each.paths))


def find(stack: StackSeen, placed: Placed, store: Store) -> str | Unknown | None:
    """The logical id of a declared store, None where it is absent."""
    kind = kind_of(store)
    return finding.find(stack, placed, store, kind.identity, kind.members)


def identified(stack: StackSeen, logical_id: str) -> str | Unknown:
    return finding.identified(stack, logical_id, IDENTITY)


def cluster_of(stack: StackSeen, logical_id: str) -> str | None:
    return finding.cluster_of(stack, logical_id, MEMBERS)


def strangers(stack: StackSeen, placed: Placed, matched: Collection[str]) -> Iterator[str]:
    """Stores that are declared nowhere: neither matched, nor a part of something that is."""
    if placed.stores and stack.rewritten is not None:
        return  # each of its stores is unknown already
    declared = {s.identifier(placed.fill(s.name), placed.region) for s in placed.stores}
    beside = {i for kind in KINDS for i in kind.beside(stack, matched)}
    for kind in IDENTITY:
        for logical_id, resource in stack.possible(kind):
            if logical_id in matched or logical_id in beside or cluster_of(stack, logical_id):
                continue
            if stack.present(resource) is not True and identified(stack, logical_id) in declared:
                continue  # whether it exists is another rule's question
            yield logical_id


def alarms(placed: Placed, store: Store) -> Iterator[Alarm]:
    return kind_of(store).alarms(placed, store)


def made_alarms(placed: Placed, store: Store) -> Iterator[Alarm]:
    """The alarms that a store has here: those that are demanded, and those that go with them."""
    if Guard.ALARMS in placed.required(store):
        yield from alarms(placed, store)
    if placed.alarmed:
        yield from kind_of(store).notices(placed, store)
