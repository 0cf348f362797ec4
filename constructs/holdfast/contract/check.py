"""Synthesized against the contract: every difference as a finding, explained by the rule that reads the place. Pure."""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from holdfast.cfn.template import Source
from holdfast.contract.assembly import Synthesized
from holdfast.contract.assets import assets, misplaced
from holdfast.contract.diff import Change, Kind, diff
from holdfast.contract.explained import UNDO, explained, place, read_by
from holdfast.contract.files import FOLDER
from holdfast.contract.hidden import Hidden, hidden
from holdfast.contract.make import brought_up
from holdfast.contract.pairing import flat
from holdfast.contract.tags import names as tag_names
from holdfast.contract.touch import touches
from holdfast.rules.base import ORDER, Finding, Rule
from holdfast.rules.contract import judged
from holdfast.rules.subjects import Apart
from holdfast.text import counted
from holdfast.verdict import Outcome

Json = dict[str, Any]
FIX = "undo it, or review it and `make accept` it; a waiver does not silence a difference from the contract"
FIX_HIDDEN = "write out what it makes; accepting it does not show what it hides"
FIX_PLACE = "run `cdk synth` again, and let nothing edit its output"
FIX_GONE = "restore the stack, or take it out of the contract with `make accept`"
FIX_TOUCH = "undo it, or review it and `make accept` it: a stack that has a contract is compared with it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Both sides, by stack id: contracts as their files have them, and what was synthesized.

    ``declared`` are the ids of the declared stacks; None where there is no estate, and every stack has to have a
    contract. ``environment`` says to which environment a stack belongs; ``only`` narrows to those.
    """

    contracts: Mapping[str, Json]
    made: Mapping[str, Json]
    declared: Mapping[str, str] | None = None  # stack id → environment
    only: frozenset[str] | None = None
    folder: str = str(FOLDER)  # as reports shall name it

    def environment(self, id_: str) -> str | None:
        """By the estate, else by the stack's own tag."""
        if self.declared is not None and id_ in self.declared:
            return self.declared[id_]
        contract = self.contracts.get(id_) or self.made.get(id_) or {}
        tags = contract.get("stack", {}).get("tags")
        name = tag_names(contract).get("Environment", "Environment")
        found = tags.get(name) if isinstance(tags, dict) else None
        return found if isinstance(found, str) else None

    def judged(self, id_: str) -> bool:
        """Whether a stack was asked for."""
        return self.only is None or self.environment(id_) in self.only

    @property
    def known(self) -> set[str]:
        """The stacks that have to be what a contract says; without an estate that is every one."""
        return set(self.contracts) | set(self.made if self.declared is None else self.declared)

    @property
    def ours(self) -> set[str]:
        """Of these what was synthesized and asked for."""
        return {id_ for id_ in self.made.keys() & self.known if self.judged(id_)}

    def name(self, id_: str) -> str:
        contract = self.made.get(id_) or self.contracts.get(id_) or {}
        return str(contract.get("stack", {}).get("name", id_))


def compare(sides: Sides) -> list[Finding]:
    """Everything that differs, and every environment of which nothing was synthesized."""
    missing = {i for i in sides.contracts.keys() - sides.made.keys() if sides.judged(i)}
    present = {e for i in sides.made.keys() & sides.known if (e := sides.environment(i)) is not None}
    gone = {i for i in missing if sides.environment(i) in present}
    return [*_differences(sides, gone), *unseen(sides, missing - gone)]


def addresses(sides: Sides, stacks: Iterable[Synthesized]) -> Iterator[Finding]:
    """Where a manifest would upload or deploy something else than what lies in the folder."""
    for stack in stacks:
        if stack.id in sides.ours:
            for m in misplaced(stack, list(assets(stack))):
                said = Apart(says=f"{m.says}: {m.path} {m.expected} → {m.found}", outside=True)
                yield _finding(sides, stack.id, said, FIX_PLACE, path=m.path, before=m.expected, after=m.found)


def touched(sides: Sides, stacks: Iterable[Synthesized]) -> Iterator[Finding]:
    """What undeclared stacks without a contract do to declared stores."""
    if sides.declared is None:
        return
    ours = {**sides.contracts, **{i: c for i, c in sides.made.items() if i in sides.declared}}
    strangers = {i: c for i, c in sides.made.items() if i not in ours}
    files = {s.id: s.where for s in stacks}
    for touch in touches(strangers, ours) if strangers else ():
        said = Apart(says=f"{touch.says}, and {touch.stack} has no contract", before=False, sure=touch.sure)
        made = _finding(sides, touch.stack, said, FIX_TOUCH, touch.resource, touch.store, change="added")
        yield replace(made, where=f"{files[touch.stack]}{'#' if touch.resource else ''}{touch.resource}")


def rank(f: Finding) -> tuple[int, int]:
    """The worst difference first: by what it means for the data, then by severity."""
    kinds = [k.value for k in Kind]
    return kinds.index(f.change) if f.change in kinds else len(kinds), ORDER[f.rule.severity]


def merged(judged: Iterable[Finding], differences: Iterable[Finding]) -> list[Finding]:
    """Both; where a rule failed and a difference at the same resource is of the same rule, they are one finding."""
    waiting: dict[tuple[str, ...], list[Finding]] = {}
    for d in differences:
        waiting.setdefault(_about(d), []).append(d)
    found = []
    for f in judged:
        same = waiting.get(_about(f)) if f.outcome in (Outcome.FAIL, Outcome.UNKNOWN) else None
        if same:
            d = same.pop(0)
            detail = f"{f.detail} ({d.detail})" if f.detail else d.detail
            f = replace(
                f, outcome=d.outcome, detail=detail, change=d.change, path=d.path, before=d.before, after=d.after
            )
        found.append(f)
    return [*found, *(d for left in waiting.values() for d in left)]


def _about(f: Finding) -> tuple[str, ...]:
    return (f.rule.id, f.stack, f.environment or "", f.where.partition("#")[2])


# Differences


def _differences(sides: Sides, gone: set[str]) -> Iterator[Finding]:
    texts = {i: _written(sides.made[i]) for i in sides.ours}
    differing = {i for i, text in texts.items() if _written(sides.contracts.get(i)) != text}
    base = flat({i: brought_up(sides.contracts[i]) for i in (differing | gone) & sides.contracts.keys()})
    head = flat({i: sides.made[i] for i in differing})
    hides = {i: list(_hidden(sides.made[i], text)) for i, text in texts.items()}
    before = {i: set(_hidden(c, _written(c))) for i, c in sides.contracts.items() if hides.get(i)}
    about: dict[tuple[str, str], str | None] = {}  # the store that a changed resource concerns
    for change in diff(base, head):
        id_ = change.stack.partition("/")[0]
        about[id_, change.resource] = change.store
        rule = read_by(change)
        told = [h for h in hides.get(id_, ()) if h not in before.get(id_, ())]
        if rule is None and any(_explains(h, change) for h in told):
            continue  # told as what it is, below
        yield _difference(sides, change, rule)
    for id_, found in hides.items():
        for h in found:
            new = h not in before.get(id_, ())
            says = h.says if new else f"{h.says}; the contract has it, too, and cannot say what it makes"
            path, store = "/".join(h.path), h.store or about.get((id_, h.resource))
            said = Apart(says=f"{path}: {says}", hides=True, sure=new)
            kind = Kind.ADDED.value if new else None
            yield _finding(sides, id_, said, FIX_HIDDEN, h.resource, store, path=path, change=kind)


def _written(contract: Json | None) -> str:
    """All of a contract as one text, to compare and to search: 1 is not true there, and JSON would take far longer."""
    return marshal.dumps(contract, 0).decode("latin-1")


def _hidden(contract: Json, text: str) -> Iterator[Hidden]:
    yield from hidden(contract, text)
    for nested in contract.get("nested", {}).values():
        yield from _hidden(nested, text)


def _explains(h: Hidden, change: Change) -> bool:
    if h.resource != change.resource:
        return False
    short, long = sorted((h.path, change.path), key=len)
    return h.path == ("Type",) or (bool(short) and long[: len(short)] == short)


def _fix(change: Change) -> str:
    if not change.approvable:
        return UNDO
    return FIX_GONE if change.kind is Kind.REMOVED and not change.resource else FIX


def _difference(sides: Sides, change: Change, rule: Rule | None) -> Finding:
    id_ = change.stack.partition("/")[0]
    return explained(
        change,
        folder=sides.folder,
        rule=rule,
        outcome=Outcome.FAIL,
        stack=sides.name(id_),
        environment=sides.environment(id_),
        source=Source.TEMPLATE,
        fix=_fix(change),
    )


def _finding(
    sides: Sides, id_: str, apart: Apart, fix: str, resource: str = "", store: str | None = None, **more: Any
) -> Finding:
    rule, said = judged(apart)
    return Finding(
        rule=rule,
        outcome=said.outcome,
        detail=said.detail,
        table=store,
        stack=sides.name(id_),
        environment=sides.environment(id_),
        source=Source.TEMPLATE,
        where=place(sides.folder, id_, resource),
        fix=fix,
        **more,
    )


# What was not synthesized


def unseen(sides: Sides, ids: Iterable[str]) -> Iterator[Finding]:
    """One unknown for each environment that these stacks are of, and for each stack that is of none."""
    by_environment: dict[str | None, list[str]] = {}
    for id_ in sorted(ids):
        by_environment.setdefault(sides.environment(id_), []).append(id_)
    alone = by_environment.pop(None, [])
    for label, group in by_environment.items():
        detail = f"{label} was not synthesized: {counted(len(group), 'stack')} could not be judged"
        fix = f"cdk synth -c env=all, or cdk synth -c env={label}; --env narrows to what was synthesized"
        yield _finding(sides, group[0], Apart(says=detail, after=False, sure=False), fix)
    for id_ in alone:
        said = Apart(says="the stack was not synthesized", after=False, sure=False)
        yield _finding(sides, id_, said, "synthesize it, too: `cdk synth --all`")
