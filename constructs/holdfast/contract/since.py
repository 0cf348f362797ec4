"""Since when the contract has what a rule asks for: the commit that set the properties that the rule reads. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.cfn.compare import ABSENT, same
from holdfast.cfn.tree import read, texts
from holdfast.contract import guards
from holdfast.contract.history import History, Json
from holdfast.contract.pairing import referring, renames, resources
from holdfast.contract.tags import with_our_names
from holdfast.rules.gap import Since
from holdfast.unknown import Unknown

Place = tuple[str, tuple[str, ...]]  # a logical id, or nothing for the stack itself, and a path from there
THERE = ("Type",)  # where no property is named: since when the resource is there
UNCOMMITTED = "not committed yet"
NOT_ASKED = "the committed contract does not ask for it: `make accept` writes what the code declares"
BY_HAND = "what changed it was not a deploy: only CloudTrail can say when"


def since(
    history: History | Unknown, stack: str, name: str | None, paths: Sequence[str], deployed: Json | None
) -> Since:
    """Since when the contract of a stack has its values at the places of a rule about the store ``name``.

    ``deployed`` is the deployed template in normal form: where it says the same, the contract asks for nothing else.
    """
    if isinstance(history, Unknown):
        return Since(why=history.reason)
    newest = next(history.versions(stack), None)
    if newest is None:
        return Since(
            why=UNCOMMITTED if stack in history.working else f"no contract of {stack} that can be read is committed"
        )
    found, exact = places(newest.contract, name, paths)
    if stack in history.working:
        mine, also = places(history.working[stack], name, paths)
        if also is not exact or _apart(history.working[stack], newest.contract, mine):
            return Since(why=UNCOMMITTED)
    if not found:
        return Since(why=NOT_ASKED if name else "")
    shown = [place for place in found if place[0]]  # of the stack itself a template says nothing
    if exact and shown and deployed is not None and not _apart(newest.contract, {"template": deployed}, shown):
        return Since(why=NOT_ASKED)
    return _walked(history, stack, found)


def _walked(history: History, stack: str, found: Sequence[Place]) -> Since:
    newer = None
    for version in history.versions(stack):
        if newer is not None:
            renamed = renames(resources(version.contract), resources(newer.contract))
            if _apart(newer.contract, version.contract, found, renamed):
                return Since(commit=newer.commit)
            found = [(renamed.get(id_, id_), path) for id_, path in found]
        newer = version
    return Since(commit=newer.commit, why=newer.cut) if newer else Since()


def _apart(new: Json, old: Json, found: Sequence[Place], renamed: Mapping[str, str] | None = None) -> bool:
    """Whether two contracts differ at one of these places, which are named as in ``new``."""
    renamed = renames(resources(old), resources(new)) if renamed is None else renamed
    for id_, path in found:
        former = renamed.get(id_, id_)
        if id_ and (former in resources(old)) is not (id_ in resources(new)):
            return True
        before, after = value(old, former, path), value(new, id_, path)
        untold = not id_ and before is ABSENT and not old.get("version")  # an old snapshot says less of the stack
        if not untold and not same(before, referring(after, renamed)):
            return True
    return False


def value(contract: Json, id_: str, path: tuple[str, ...]) -> Any:
    found = resources(contract).get(id_, ABSENT) if id_ else contract.get("stack", ABSENT)
    for step in path:
        found = found.get(step, ABSENT) if isinstance(found, dict) else ABSENT
    return found


def places(contract: Json, name: str | None, paths: Sequence[str]) -> tuple[list[Place], bool]:
    """Where a rule reads, for one store or for a whole stack; and whether that is more than the store's existence."""
    known = resources(with_our_names(contract))
    own = _own(known, name) if name else []
    found: list[Place] = []
    for kind, _, path in (p.partition(" ") for p in paths):
        steps = tuple(path.partition("/*")[0].split("/"))  # items of a list have no names of their own
        ids = [""] if kind == "stack" else _concerned(known, own, kind) if own or not name else []
        found += [(id_, steps) for id_ in ids]
    return (found, True) if found else ([(id_, THERE) for id_ in own], False)


def _own(known: Json, name: str) -> list[str]:
    """The resource that is the store of this name."""
    named = [k for k, r in known.items() if guards.store_name(r) == name]
    tagged = [k for k, r in known.items() if read(r, ("Properties", "Tags", "Name")) == name]
    return named or [k for k in tagged if known[k].get("Type") in guards.STORES] or tagged


def _concerned(known: Json, own: Sequence[str], kind: str) -> list[str]:
    """The resources of a type that are about a store: itself, what it names, what names it. Without a store, all."""
    of_kind = [k for k, r in known.items() if kind in ("*", r.get("Type"))]
    if not own:
        return of_kind
    if itself := [k for k in of_kind if k in own]:
        return itself
    theirs = {t for k in own for t in texts(known[k])}
    wanted = {*own, *(n for k in own if (n := guards.store_name(known[k])))}
    return [k for k in of_kind if k in theirs or wanted & set(texts(known[k]))]
