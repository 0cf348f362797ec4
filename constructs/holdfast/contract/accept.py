"""What `holdfast accept` writes: the synthesized contracts and the approvals of what they weaken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from holdfast.contract import approvals, files, make, page, states
from holdfast.contract.approvals import Approval, Review
from holdfast.contract.assembly import Synthesized
from holdfast.contract.diff import Change, diff
from holdfast.contract.guards import environment
from holdfast.contract.refused import ID, missing, unacceptable
from holdfast.errors import InputError

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Before:
    """What the synthesized contracts are compared with."""

    contracts: Mapping[str, Json]
    spent: Sequence[str]
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What would be written, and how that differs from before."""

    folder: Path
    made: Mapping[str, Json]
    before: Before
    left: Sequence[str]  # contracts whose stack is not synthesized any more
    changes: Sequence[Change]
    known: Mapping[str, Approval]
    review: Review

    def write(self, given: Iterable[Approval]) -> None:
        """The contracts and these approvals; approvals that are used up or have nothing left to approve go."""
        states = self.review.states.items()
        stale = [
            name
            for name, state in states
            if state != "used" and (state == "spent" or self.known[name].stack in self.before.contracts)
        ]
        texts = {approvals.file_name(a, self.before.spent): approvals.text(a) for a in given}
        _write(self.folder, self.made, self.left, texts, stale)


def proposal(folder: Path, made: Mapping[str, Json], against: str | None, today: date) -> Proposal:
    before = _before(folder, made, against)
    known = approvals.read(folder)
    changes = diff(before.contracts, made)
    return Proposal(
        folder=folder,
        made=made,
        before=before,
        left=_left(folder, made),
        changes=changes,
        known=known,
        review=approvals.review(changes, known, before.spent, today),
    )


def synthesized(outdir: Path, found: Iterable[Synthesized]) -> dict[str, Json]:
    made = make.made(found)
    if not made:
        raise InputError(f"{outdir} has no stack: run `cdk synth -c env=all` first")
    for provider in missing(outdir):
        raise InputError(f"{outdir} waits for a look-up ({provider}): run `cdk synth` where it can be answered")
    for id_, contract in made.items():
        if not ID.fullmatch(id_):
            raise InputError(f"{id_!r} cannot name a file: give the stack another id")
        for why in unacceptable(contract):
            raise InputError(f"{id_} cannot be accepted: {why}")
    return made


# What it is compared with


def _before(folder: Path, made: Mapping[str, Json], against: str | None) -> Before:
    """The contracts that `diff` will compare with later; without a base in git, the files."""
    try:
        base = states.base(folder, against, ahead=True)
    except InputError:
        if against is not None:
            raise
        found = {
            id_: make.brought_up(files.read(path))
            for id_ in (*made, *_left(folder, made))
            if (path := folder / files.FOLDER / f"{id_}.json").is_file()
        }
        return Before(found, (), f"the contracts in {files.FOLDER}/")
    here = {environment(c) for c in made.values()}
    found = states.committed(folder, base.commit)
    part = {id_: c for id_, c in found.items() if id_ in made or environment(c) in here}
    return Before(part, states.approvals_at(folder, base.commit), base.says)


def _left(folder: Path, made: Mapping[str, Json]) -> list[str]:
    """Contracts whose stack is not synthesized any more, while others of its environment are."""
    here = {environment(c) for c in made.values()}
    others = sorted(p for p in (folder / files.FOLDER).glob("*.json") if p.stem not in made)
    return [p.stem for p in others if environment(files.read(p)) in here]


# Files


def _write(
    folder: Path, made: Mapping[str, Json], left: Iterable[str], given: Mapping[str, str], stale: Iterable[str]
) -> None:
    """Everything is written beside its place first, and then put there.

    What cannot be written, or has a place that something else takes, leaves all as it was.
    """
    contracts = folder / files.FOLDER
    gone = {*left}
    kept = {p.stem: p for p in contracts.glob("*.json") if p.stem not in made and p.stem not in gone}
    everything = {**{id_: make.brought_up(files.read(p)) for id_, p in kept.items()}, **made}
    wanted = {contracts / f"{id_}.json": files.text(contract) for id_, contract in made.items()}
    wanted |= {folder / approvals.FOLDER / name: content for name, content in given.items()}
    wanted[folder / page.FILE] = page.page(everything)
    for path in wanted:
        _free(path)
    waiting = {path: path.with_name(f".{path.name}.new") for path in wanted}
    try:
        for path, content in wanted.items():
            path.parent.mkdir(exist_ok=True)
            waiting[path].write_text(content, encoding="utf-8", newline="\n")
        for path, new in waiting.items():
            new.replace(path)
    finally:
        for new in waiting.values():
            new.unlink(missing_ok=True)
    for path in [contracts / f"{id_}.json" for id_ in gone] + [folder / approvals.FOLDER / name for name in stale]:
        if path not in wanted:
            path.unlink(missing_ok=True)


def _free(path: Path) -> None:
    """Refuses a place that a file cannot be put to."""
    if path.parent.exists() and not path.parent.is_dir():
        raise InputError(f"{path.parent} is not a folder: move it away, and accept again; nothing was written")
    if path.is_dir():
        raise InputError(f"{path} is a folder, and a file belongs there: move it away; nothing was written")
