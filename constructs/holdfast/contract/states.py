"""Where contracts come from: the files of the working tree, or those of a commit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.contract import files
from holdfast.contract.make import brought_up
from holdfast.errors import InputError
from holdfast.git import commit, files_at, git

Json = dict[str, Any]
DEFAULTS = ("origin/HEAD", "main", "master")


@dataclass(frozen=True, slots=True)
class Base:
    """A commit to compare with, and how it was found."""

    commit: str
    says: str


def root(start: Path | None = None) -> Path:
    """The nearest folder upwards that has contracts, up to the root of the repository."""
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if any((folder / files.FOLDER).glob("*.json")):
            return folder
        if (folder / ".git").exists():
            break
    raise InputError(f"there are no contracts here (no {files.FOLDER}/*.json): `make accept` writes them")


def working(folder: Path) -> dict[str, Json]:
    """The contracts of the working tree, by stack id."""
    return {p.stem: brought_up(files.read(p)) for p in sorted((folder / files.FOLDER).glob("*.json"))}


def committed(folder: Path, revision: str) -> dict[str, Json]:
    """The contracts of a commit, by stack id."""
    found = files_at(folder, revision, str(files.FOLDER))
    return {
        name.removesuffix(".json"): brought_up(files.parse(content, f"{revision[:7]}:{files.FOLDER}/{name}"))
        for name, content in sorted(found.items())
        if name.endswith(".json")
    }


def base(folder: Path, against: str | None, environment: Mapping[str, str] = os.environ) -> Base:
    """What the working tree is compared with: ``against``, or where it left the default branch."""
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
    for name in _defaults(environment):
        tip = commit(folder, name)
        if tip is None:
            continue
        if tip == head and _on(folder, name) and (parent := commit(folder, "HEAD^1")):
            return Base(parent, f"the commit before ({parent[:7]})")
        if merged := git(folder, "merge-base", "HEAD", tip).strip():
            return Base(merged, f"{merged[:7]}, where this left {name}")
    raise InputError(f"no default branch is known here ({', '.join(DEFAULTS)}): give --against{_shallow(folder)}")


def _on(folder: Path, name: str) -> bool:
    """Whether the working tree is of that branch itself, or of no branch, as after a push in CI."""
    branch = git(folder, "symbolic-ref", "--quiet", "--short", "HEAD").strip()
    real = git(folder, "rev-parse", "--abbrev-ref", name).strip() or name
    return branch in ("", real.removeprefix("origin/"))


def _defaults(environment: Mapping[str, str]) -> Iterator[str]:
    if target := environment.get("GITHUB_BASE_REF"):
        yield f"origin/{target}"
    yield from DEFAULTS


def _shallow(folder: Path) -> str:
    shallow = git(folder, "rev-parse", "--is-shallow-repository").strip() == "true"
    return "; the clone is shallow: `git fetch --unshallow` brings the rest" if shallow else ""
