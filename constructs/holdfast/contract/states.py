"""Where contracts come from: the files of the working tree, or those of a commit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.contract import approvals, files
from holdfast.contract.git import commit, files_at, git, is_shallow
from holdfast.contract.make import brought_up
from holdfast.errors import InputError

Json = dict[str, Any]
NONE = f"there are no contracts here (no {files.FOLDER}/*.json): `make accept` writes them"
DEFAULTS = ("origin/HEAD", "main", "master")


@dataclass(frozen=True, slots=True)
class Base:
    """A commit to compare with, and how it was found."""

    commit: str
    says: str


def root(start: Path | None = None) -> Path:
    """The nearest folder upwards that has contracts."""
    found = nearest(start)
    if found is None:
        raise InputError(NONE)
    return found


def nearest(start: Path | None = None) -> Path | None:
    """The same, up to the root of the repository; None where there is none."""
    return next((f for f in _upwards(start) if any((f / files.FOLDER).glob("*.json"))), None)


def _upwards(start: Path | None) -> Iterator[Path]:
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        yield folder
        if (folder / ".git").exists():
            break


def compared(against: str | None, start: Path | None = None) -> tuple[Path, Base]:
    """The folder whose contracts are compared, and with which commit; all contracts of it may be deleted by now."""
    found = nearest(start)
    if found:
        return found, base(found, against)
    near = next(_upwards(start))
    if git(near, "rev-parse", "--git-dir"):
        known = base(near, against)
        for folder in _upwards(start):
            if _named(files_at(folder, known.commit, str(files.FOLDER))):
                return folder, known
    raise InputError(NONE)


def working(folder: Path) -> dict[str, Json]:
    """The contracts of the working tree, by stack id."""
    return {p.stem: brought_up(files.current(p)) for p in sorted((folder / files.FOLDER).glob("*.json"))}


def committed(folder: Path, revision: str) -> dict[str, Json]:
    """The contracts of a commit, by stack id."""
    there, inside = _former(folder, revision)
    found = _named(files_at(there, revision, str(inside / files.FOLDER)))
    return {
        name.removesuffix(".json"): brought_up(files.parse(content, f"{revision[:7]}:{inside / files.FOLDER}/{name}"))
        for name, content in sorted(found.items())
    }


def _named(found: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in found.items() if name.endswith(".json")}


def _former(folder: Path, revision: str) -> tuple[Path, Path]:
    """A folder, and where from there a commit has what is in ``folder`` today: it may have been moved since.

    Contracts elsewhere are the same project's where they are gone today, or have names of those here.
    """
    top = Path(git(folder, "rev-parse", "--show-toplevel").removesuffix("\n") or folder)
    if _named(files_at(folder, revision, str(files.FOLDER))):
        return folder, Path()
    here = {p.name for p in (folder / files.FOLDER).glob("*.json")}
    elsewhere: dict[Path, set[str]] = {}
    for path in map(Path, filter(None, git(top, "ls-tree", "-r", "-z", "--name-only", revision).split("\0"))):
        if path.parent.name == files.FOLDER.name and path.suffix == ".json":
            elsewhere.setdefault(path.parent, set()).add(path.name)
    moved = [
        inside.parent
        for inside, names in elsewhere.items()
        if (names & here or not any((top / inside).glob("*.json"))) and _holds(top, revision, inside)
    ]
    if len(moved) > 1:
        told = ", ".join(str(p / files.FOLDER) for p in moved[:3])
        raise InputError(f"{revision[:7]} has contracts elsewhere ({told}), none here: move one folder in one change")
    return (top, moved[0]) if moved else (folder, Path())


def _holds(top: Path, revision: str, inside: Path) -> bool:
    """Whether a folder of that name has contracts at all: other tools have snapshots, too."""
    for name, content in _named(files_at(top, revision, str(inside))).items():
        with suppress(InputError):
            files.parse(content, name)
            return True
    return False


def base(
    folder: Path, against: str | None, environment: Mapping[str, str] = os.environ, *, ahead: bool = False
) -> Base:
    """What the working tree is compared with: ``against``, or where it left the default branch.

    ``ahead``: on the default branch itself the working tree is its next commit, and HEAD the one before.
    """
    if not git(folder, "rev-parse", "--git-dir"):
        raise InputError(f"{folder} is not in a git repository that can be read: the contracts of a commit are needed")
    head = commit(folder, "HEAD")
    if head is None:
        raise InputError("the repository has no commit yet: there is nothing to compare with")
    if against is not None:
        found = commit(folder, against)
        if found is None:
            raise InputError(f"--against {against}: git knows no such commit here{_shallow(folder)}")
        return Base(found, f"{against} ({found[:7]})")
    for name, needed in _defaults(environment):
        tip = commit(folder, name)
        if tip is None and needed:
            raise InputError(f"{name}, the base of the pull request, is not here{_shallow(folder) or '; fetch it'}")
        if tip is None:
            continue
        if tip == head and _on(folder, name):
            return Base(head, f"{head[:7]}, the last commit") if ahead else _before(folder, head)
        merged = git(folder, "merge-base", "HEAD", tip).strip()
        if not merged:
            why = _shallow(folder) or "; give --against"
            raise InputError(f"HEAD and {name} have no commit in common here{why}")
        return Base(merged, f"{merged[:7]}, where this left {name}")
    raise InputError(f"no default branch is known here ({', '.join(DEFAULTS)}): give --against{_shallow(folder)}")


def _before(folder: Path, head: str) -> Base:
    """The first parent; the first commit of all has none, and only the working tree can differ from it."""
    if parent := commit(folder, "HEAD^1"):
        return Base(parent, f"the commit before ({parent[:7]})")
    if why := _shallow(folder):
        raise InputError(f"the commit before {head[:7]} is not here{why}")
    return Base(head, f"{head[:7]}, the first commit")


def approvals_at(folder: Path, revision: str) -> list[str]:
    """The names of the approvals of a commit: they are spent."""
    there, inside = _former(folder, revision)
    return sorted(files_at(there, revision, str(inside / approvals.FOLDER)))


def _on(folder: Path, name: str) -> bool:
    """Whether the working tree is of that branch itself, or of no branch, as after a push in CI."""
    branch = git(folder, "symbolic-ref", "--quiet", "--short", "HEAD").strip()
    real = git(folder, "rev-parse", "--abbrev-ref", name).strip() or name
    return branch in ("", real.removeprefix("origin/"))


def _defaults(environment: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Names to look for, and whether another will not do."""
    if target := environment.get("GITHUB_BASE_REF"):
        yield f"origin/{target}", True
    yield from ((name, False) for name in DEFAULTS)


def _shallow(folder: Path) -> str:
    mend = "; the clone is shallow: set `fetch-depth: 0` in the workflow, or `git fetch --unshallow`"
    return mend if is_shallow(folder) else ""
