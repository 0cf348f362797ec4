"""Which commit's contract a deployed stack runs, and what was merged since and is not deployed. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from holdfast.cfn.compare import differences, same
from holdfast.cfn.tree import read
from holdfast.contract import guards
from holdfast.contract.diff import diff
from holdfast.contract.history import History, Json, Version
from holdfast.contract.make import brought_up
from holdfast.contract.pairing import renames, resources
from holdfast.contract.words import few
from holdfast.days import days
from holdfast.errors import InputError
from holdfast.kinds.table.observed import TABLE
from holdfast.rules.gap import Commit
from holdfast.text import counted
from holdfast.unknown import Unknown

LOOKED_AT = 100  # versions of a stack's contract


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A commit that changed the contract and is not deployed, and what it changes for the stores."""

    commit: Commit
    says: str
    protects: bool  # whether a guard comes or goes with it


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What a deployed stack runs: the contract of ``commit``, or of one of several; or none, and what differs."""

    commit: Commit | None = None
    first: Commit | None = None  # the oldest that it may be, where several are alike and nothing tells which it is
    pending: tuple[Pending, ...] = ()  # oldest first
    nearest: Commit | None = None
    differs: tuple[str, ...] = ()
    why: str = ""  # it is not known

    @property
    def behind(self) -> int | None:
        return len(self.pending) if self.commit else None

    def told(self, now: datetime, merged: bool = True) -> str:
        """In words, after the name of the stack."""
        if self.commit is None:
            if self.nearest is None:
                return f"runs an unknown contract: {self.why}"
            return (
                f"runs what is not a reviewed contract: the nearest is {self.nearest}, "
                f"these properties differ: {few(self.differs)}"
            )
        text = f"runs the contract of {self.commit}"
        if self.first:
            text += f" or one like it, back to {self.first}"
        if not self.pending:
            return f"{text}, which is the latest"
        age = counted(max(0, days(self.pending[0].commit.when, now)), "day")
        waiting = sorted(self.pending, key=lambda p: not p.protects)
        what = few((f"{p.says} ({p.commit.sha[:7]})" for p in waiting), between="; ")
        return (
            f"{text}, {counted(len(self.pending), 'contract change')} behind; "
            f"{'merged' if merged else 'committed'} and not deployed for {age}: {what}"
        )


def normal(template: Mapping[str, Any]) -> Json | Unknown:
    """A deployed template in the form that contracts have."""
    try:
        found: Json = brought_up({"stack": {}, "template": dict(template)})["template"]
    except (InputError, ValueError, TypeError, AttributeError, RecursionError) as error:
        return Unknown(f"its template cannot be compared: {error}")
    return found


def running(
    history: History | Unknown, stack: str, template: Json | Unknown, updated: datetime, *, succeeded: bool
) -> Running:
    """Which contract a deployed template is; ``updated`` is when, and of no help where that did not succeed."""
    if isinstance(history, Unknown):
        return Running(why=history.reason)
    if isinstance(template, Unknown):
        return Running(why=template.reason)
    seen: list[Version] = []
    alike: list[int] = []
    for number, version in zip(range(LOOKED_AT), history.versions(stack), strict=False):
        seen.append(version)
        if matches(version.contract["template"], template):
            alike.append(number)
            if succeeded and version.commit.when <= updated:
                break  # an older one that is the same was replaced before
    if not seen:
        return Running(why=f"no contract of {stack} that can be read is committed")
    if not alike:
        return _unreviewed(seen, template)
    # One that landed after the update was deployed before it was merged.
    before = [n for n in alike if seen[n].commit.when <= updated]
    newest = before[0] if before else alike[-1]
    oldest = newest if succeeded or not before else before[-1]
    first = seen[oldest].commit if oldest != newest else None
    return Running(commit=seen[newest].commit, first=first, pending=tuple(_pending(seen[newest::-1])))


def matches(contract: Json, deployed: Json) -> bool:
    """CloudFormation answers with a question mark for each character beyond ASCII."""
    if same(contract, deployed):
        return True
    asked = _asked(contract)
    return not same(asked, contract) and same(normal(asked), deployed)


def _asked(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {_asked(k): _asked(v) for k, v in tree.items()}
    if isinstance(tree, list):
        return [_asked(v) for v in tree]
    return tree.encode("ascii", errors="replace").decode() if isinstance(tree, str) else tree


def _unreviewed(seen: Sequence[Version], template: Json) -> Running:
    found = {n: ["/".join(d.path) for d in differences(v.contract["template"], template)] for n, v in enumerate(seen)}
    nearest = min(found, key=lambda n: len(found[n]))
    return Running(nearest=seen[nearest].commit, differs=tuple(found[nearest]))


def _pending(versions: Sequence[Version]) -> Iterator[Pending]:
    """What each version changed, of versions that are given oldest first."""
    for older, newer in pairwise(versions):
        changes = [c for c in diff({"": older.contract}, {"": newer.contract}) if c.path[:1] != ("acknowledged",)]
        if changes:  # else only the form of the file changed, or what no deploy brings
            come, gone = _stronger(older.contract, newer.contract), _stronger(newer.contract, older.contract)
            parts = [*_guards(come, newer.contract, ""), *_guards(gone, older.contract, "no ")]
            told = {id_ for ids in (*come.values(), *gone.values()) for id_ in ids}
            if others := {c.resource or "/".join(c.path) for c in changes} - told:
                parts.append(counted(len(others), "other change" if parts else "change"))
            yield Pending(commit=newer.commit, says=", ".join(parts), protects=bool(told))


def _stronger(before: Json, after: Json) -> dict[str, list[str]]:
    """The guards that are on, or stronger, after a change: {label: logical ids}."""
    old, new = resources(before), resources(after)
    renamed = renames(old, new)
    found: dict[str, list[str]] = {}
    for id_, resource in new.items():
        former = old.get(renamed.get(id_, id_))
        for guard in guards.readings(guards.type_of(resource)) if former else ():
            was, is_ = (guard.strength(read(r, guard.source)) for r in (former, resource))
            if is_ and (was is None or is_ > was) and id_ not in found.get(guard.within, ()):
                found.setdefault(guard.label, []).append(id_)
    return found


def _guards(found: Mapping[str, list[str]], contract: Json, word: str) -> Iterator[str]:
    """Labels that concern the same resources stand together."""
    known = resources(contract)
    together: dict[tuple[str, ...], list[str]] = {}
    for label, of in found.items():
        together.setdefault(tuple(of), []).append(label)
    for ids, labels in together.items():
        kinds = {known[id_].get("Type") for id_ in ids}
        noun = "table" if kinds == {TABLE} else "store" if kinds <= guards.STORES.keys() else "resource"
        on = (guards.store_name(known[ids[0]]) or ids[0]) if len(ids) == 1 else counted(len(ids), noun)
        *first, last = labels
        yield f"{word}{', '.join(first)}{' and ' if first else ''}{last} on {on}"
