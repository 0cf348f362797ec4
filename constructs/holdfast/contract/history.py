"""The contracts of the past: each version of a stack's contract, and the commit that brought it onto the line.

The line is that of the default branch: a branch counts from the commit that merged it. Git reads, once for all; what
follows from it is computed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.contract import files, states
from holdfast.contract.git import PARTIAL, Logged, commit, git, ids, is_shallow, log, moved_from, objects, refusal, tree
from holdfast.contract.make import brought_up
from holdfast.contract.pairing import resources
from holdfast.errors import InputError
from holdfast.rules.gap import Commit
from holdfast.text import counted
from holdfast.unknown import Unknown

Json = dict[str, Any]
MAX_BYTES = 200_000_000  # of all versions of all contracts; the oldest are left out
MOVES = 5  # of the folder of the contracts
SHALLOW = "the clone is shallow: `git fetch --unshallow` brings the rest"
TOO_MUCH = f"only the newest {MAX_BYTES // 1_000_000} MB of contracts are read"
LACKING = f"older contracts are not in this clone: {PARTIAL}"


@dataclass(frozen=True, slots=True)
class Version:
    """A contract of a stack as it was from ``commit`` on; ``cut`` is why it may be older than that."""

    commit: Commit
    contract: Json
    cut: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The contracts of every commit on the line that changed any, newest first, by the ids of what files held."""

    head: Commit
    branch: str  # how the line is called
    merged: bool  # whether HEAD is on the default branch
    line: tuple[tuple[Commit, Mapping[str, str]], ...]  # by stack id
    contents: Mapping[str, bytes]
    working: Mapping[str, Json]  # contracts of the working tree that are not those of HEAD
    cut: str = ""  # why there may be more than the line shows
    _read: dict[str, Json | None] = field(default_factory=dict, compare=False, repr=False)

    @property
    def says(self) -> str:
        told = f"the contract of {self.head.sha[:7]} ({self.branch})"
        if self.working:
            count = counted(len(self.working), "contract")
            told += f"; {count} of the working tree differ{'s' if len(self.working) == 1 else ''} from it"
        return told

    def versions(self, stack: str) -> Iterator[Version]:
        """The versions of one stack's contract, newest first, through renames of its file.

        A file that is deleted and comes back begins anew. What cannot be parsed is passed over.
        """
        name, landed, held = stack, self.head, ""
        newer: Mapping[str, str] = {}
        for at, names in self.line:
            if name not in names:
                name = self._former(held, newer, names) if held else ""
                if not name:
                    break
            older = names[name]
            if held and older != held:
                lacking = older not in self.contents
                yield from self._version(landed, held, (self.cut or LACKING) if lacking else "")
                if lacking:
                    return
            elif not held and self.contract(older) is None:
                return
            landed, held, newer = at, older, names
        yield from self._version(landed, held, self.cut if name else "")

    def _version(self, landed: Commit, held: str, cut: str = "") -> Iterator[Version]:
        if (contract := self.contract(held)) is not None:
            yield Version(landed, contract, cut)

    def contract(self, id_: str) -> Json | None:
        """A contract in today's normal form; None where it cannot be read."""
        if id_ not in self._read:
            try:
                self._read[id_] = brought_up(files.parse(self.contents[id_], id_))
            except (InputError, KeyError):
                self._read[id_] = None
        return self._read[id_]

    def _former(self, held: str, newer: Mapping[str, str], older: Mapping[str, str]) -> str:
        """The name under which a contract stood before its file was renamed; empty where it is new."""
        gone = {name: id_ for name, id_ in older.items() if name not in newer}
        alike = {name: self._likeness(held, id_) for name, id_ in gone.items()}
        best = max(alike, key=alike.__getitem__, default="")
        return best if best and alike[best] >= 0.5 else ""

    def _likeness(self, one: str, other: str) -> float:
        """How much of two contracts is the same: whole resources, and half as much for those with the same id."""
        if one == other:
            return 2.0
        ours, theirs = (resources(c) if (c := self.contract(id_)) else {} for id_ in (one, other))
        shared = [k for k in ours.keys() & theirs.keys() if ours[k].get("Type") == theirs[k].get("Type")]
        alike = sum(1.0 if ours[k] == theirs[k] else 0.5 for k in shared)
        return alike / max(len(ours), len(theirs), 1)


def read(start: Path | None = None) -> History | Unknown:
    """The history of the contracts of the repository around a folder; or why there is none."""
    try:
        folder = states.root(start)
    except InputError as error:
        return Unknown(str(error))
    if why := refusal(folder):
        return Unknown(why)
    head = commit(folder, "HEAD")
    if head is None:
        return Unknown("the repository has no commit yet")
    name, tip = _default(folder)
    merged = bool(tip) and git(folder, "merge-base", "HEAD", tip).strip() == head
    here = git(folder, "symbolic-ref", "--quiet", "--short", "HEAD").strip()
    line = _line(log(folder, head), head, name)
    if not line:
        return Unknown("git cannot tell the history of HEAD")
    cut = _cut(folder, line[-1])
    named = _named(folder, line)
    contents, left = _contents(folder, named)
    at_head = {name: contents.get(id_) for name, id_ in named[0].items()}
    return History(
        head=Commit(head, line[0].when),
        branch=_branch(here, name, merged or here == name),
        merged=merged or here == name,
        line=tuple(_changes(line, named)),
        contents=contents,
        working=_working(folder, at_head),
        cut=cut or left,
    )


def _default(folder: Path) -> tuple[str, str]:
    """The name of the default branch, and its last commit; empty where none is known."""
    for name in states.DEFAULTS:
        if tip := commit(folder, name):
            real = git(folder, "rev-parse", "--abbrev-ref", name).strip() or name
            return real.removeprefix("origin/"), tip
    return "", ""


def _branch(here: str, default: str, merged: bool) -> str:
    if not default:
        return f"{here or 'no branch'}; no default branch is known here"
    return default if merged else f"{here or 'no branch'}, which is not on {default}"


def _line(known: Mapping[str, Logged], head: str, default: str) -> list[Logged]:
    """The commits that were the tip of the branch, newest first.

    The first parent is the branch that was merged into. Where that was another branch, into which the default one was
    merged, and which then became the default one as it was, its second parent is the line. Git itself does not keep
    where a commit was made: only the subject that it writes tells, and a pull into the default branch names no other.
    """
    name = re.escape(default)
    brought = re.compile(rf"Merge (remote-tracking )?branch '(origin/)?{name}'( of .+)? into (?!{name}$)\S+")
    found, at = [], known.get(head)
    while at is not None:
        found.append(at)
        second = len(at.parents) == 2 and bool(default) and brought.fullmatch(at.subject)
        at = known.get(at.parents[1 if second else 0]) if at.parents else None
    return found


def _cut(folder: Path, last: Logged) -> str:
    """Why the line may go on before its last commit: in a shallow clone git keeps silent about its parents."""
    if not is_shallow(folder):
        return ""
    (raw,) = objects(folder, [last.sha])
    return SHALLOW if raw is None or b"\nparent " in raw.partition(b"\n\n")[0] else ""


def _named(folder: Path, line: list[Logged]) -> list[dict[str, str]]:
    """The contracts of each commit: {stack id: id of what its file held}."""
    trees = _trees(folder, line)
    known = list(dict.fromkeys(t[0] for t in trees if t))
    listed = {
        id_: {n.removesuffix(".json"): held for n, held in tree(content or b"", id_).items() if n.endswith(".json")}
        for id_, content in zip(known, objects(folder, known), strict=True)
    }
    nothing: dict[str, str] = {}
    return [listed[t[0]] if t else nothing for t in trees]


def _trees(folder: Path, line: list[Logged]) -> list[tuple[str, int] | None]:
    """The folder of the contracts at each commit, also where it was another one before."""
    here = git(folder, "rev-parse", "--show-prefix").strip() + str(files.FOLDER)
    trees = ids(folder, [f"{c.sha}:{here}" for c in line])
    for _ in range(MOVES):
        born = next((n for n in range(1, len(trees)) if trees[n - 1] and not trees[n]), None)
        if born is None or not (here := moved_from(folder, line[born].sha, line[born - 1].sha, here)):
            break
        trees[born:] = ids(folder, [f"{c.sha}:{here}" for c in line[born:]])
    return trees


def _changes(line: list[Logged], named: list[dict[str, str]]) -> Iterator[tuple[Commit, dict[str, str]]]:
    """Only the commits that changed a contract, with the contracts from then on."""
    for (at, names), older in zip(zip(line, named, strict=True), [*named[1:], None], strict=True):
        if names is not older:
            yield Commit(at.sha, at.when), names


def _contents(folder: Path, named: list[dict[str, str]]) -> tuple[dict[str, bytes], str]:
    """What the files held, newest first, as far as there is room; and why something is left out."""
    wanted = list(dict.fromkeys(id_ for names in named for id_ in names.values()))
    room, taken = MAX_BYTES, []
    for id_, found in zip(wanted, ids(folder, wanted), strict=True):
        size = found[1] if found else 0
        room -= size
        if room < 0:
            break
        taken.append(id_)
    contents = {id_: c for id_, c in zip(taken, objects(folder, taken), strict=True) if c is not None}
    return contents, TOO_MUCH if len(taken) < len(wanted) else ""


def _working(folder: Path, head: Mapping[str, bytes | None]) -> dict[str, Json]:
    """The contracts of the working tree that differ from those of HEAD; line ends are git's affair."""
    found: dict[str, Json] = {}
    for path in sorted((folder / files.FOLDER).glob("*.json")):
        mine = files.content(path)
        if mine.replace(b"\r\n", b"\n") != (head.get(path.stem) or b"").replace(b"\r\n", b"\n"):
            found[path.stem] = brought_up(files.parse(mine, str(path)))
    return found
