"""The only place that runs git: it reads, and nothing that a repository configures is executed."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from holdfast.errors import InputError

# A repository's own configuration may name programs: none of them is run, and nothing is fetched. What it says in
# place of an object or of a commit's parents is not believed, either.
HARMLESS = (
    *("--no-pager", "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"),
    *("-c", "log.showSignature=false", "-c", "core.quotePath=false"),
)
SETTINGS = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_GRAFT_FILE": os.devnull,
}
PARTIAL = "it was cloned in part, and `git log -p -- snapshots` fetches the rest"
LAST = 253_402_300_799  # seconds: the last moment that a datetime can say


@dataclass(frozen=True, slots=True)
class Logged:
    """One commit of a log."""

    sha: str
    parents: tuple[str, ...]
    when: datetime  # the committer's date, in UTC
    subject: str


def _run(folder: Path, *arguments: str, sent: bytes = b"") -> subprocess.CompletedProcess[bytes] | None:
    """None without git. Inside a hook git's own variables would point it elsewhere, so they are dropped."""
    try:
        return subprocess.run(
            ["git", *HARMLESS, "-C", str(folder), *arguments],
            input=sent,
            capture_output=True,
            check=False,
            env={k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | SETTINGS,
        )
    except OSError:
        return None


def git(folder: Path, *arguments: str) -> str:
    """What git prints; nothing where it fails, or where there is no git."""
    done = _run(folder, *arguments)
    return done.stdout.decode("utf-8", errors="replace") if done and done.returncode == 0 else ""


def refusal(folder: Path) -> str:
    """Why git shows nothing of a folder, and what to do; empty where it does."""
    done = _run(folder, "rev-parse", "--git-dir")
    if done is None:
        return "git is not installed"
    if done.returncode == 0:
        return ""
    if b"dubious ownership" in done.stderr:
        mend = f"git config --global --add safe.directory {folder}"
        return f"git reads no repository of another user: `{mend}` if you trust it"
    return f"{folder} is not in a git repository that can be read"


def is_shallow(folder: Path) -> bool:
    return git(folder, "rev-parse", "--is-shallow-repository").strip() == "true"


def commit(folder: Path, revision: str) -> str | None:
    """The full id of the commit that a revision names."""
    if revision.startswith("-"):
        return None
    found = git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
    return found or None


def log(folder: Path, head: str) -> dict[str, Logged]:
    """Every commit that ``head`` comes from, by its id."""
    told = git(folder, "rev-list", "--format=%P%x00%ct%x00%s", "--encoding=UTF-8", head, "--")
    lines = told.split("\n")
    found = {}
    for first, second in zip(lines[::2], lines[1::2], strict=False):
        sha = first.removeprefix("commit ")
        parents, when, subject = second.split("\0", 2)
        seconds = max(0, min(int(when or 0), LAST))
        found[sha] = Logged(sha, tuple(parents.split()), datetime.fromtimestamp(seconds, UTC), subject)
    return found


def ids(folder: Path, names: Sequence[str]) -> list[tuple[str, int] | None]:
    """The id and the size of each object, such as that of ``HEAD:./folder``; one process for all."""
    done = _run(folder, "cat-file", "--batch-check=%(objectname) %(objectsize)", sent=_lines(names))
    told = done.stdout.decode("utf-8", errors="replace").splitlines() if done else []
    found = [_numbered(line) for line in told]
    return [*found, *[None] * (len(names) - len(found))]


def _numbered(line: str) -> tuple[str, int] | None:
    id_, _, size = line.partition(" ")
    return (id_, int(size)) if size.isdigit() else None


def objects(folder: Path, names: Sequence[str]) -> Iterator[bytes | None]:
    """The content of each object, None where it is missing; one process for all."""
    done = _run(folder, "cat-file", "--batch", sent=_lines(names))
    answer, at = done.stdout if done else b"", 0
    for _ in names:
        end = answer.find(b"\n", at)
        size = answer[at : max(end, at)].rpartition(b" ")[2]
        if not size.isdigit():
            yield None
            at = end + 1 if end >= 0 else len(answer)
            continue
        yield answer[end + 1 : end + 1 + int(size)]
        at = end + 2 + int(size)


def _lines(names: Sequence[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def tree(content: bytes, id_: str) -> dict[str, str]:
    """The files directly in a folder and the ids of what they hold, by their names; ``id_`` is that of the folder."""
    found, at, digest = {}, 0, len(id_) // 2
    while (end := content.find(b"\0", at)) > 0:
        mode, _, name = content[at:end].partition(b" ")
        at = end + 1 + digest
        if mode.startswith(b"100"):
            found[name.decode("utf-8", errors="replace")] = content[end + 1 : at].hex()
    return found


def moved_from(folder: Path, older: str, newer: str, here: str) -> str:
    """The folder from which most files came that are new in ``here``, both from the repository's root; or empty."""
    exact = ("-r", "-z", "-M", "--diff-filter=R", "--name-status", "--no-ext-diff", "--no-textconv")
    told = git(folder, "diff-tree", *exact, older, newer, "--").split("\0")
    moves = zip(told[1::3], told[2::3], strict=False)
    found = Counter(old.rpartition("/")[0] for old, new in moves if new.rpartition("/")[0] == here)
    return next((old for old, _ in found.most_common(1) if "\n" not in old), "")


def files_at(folder: Path, revision: str, inside: str) -> dict[str, bytes]:
    """Every file directly in ``inside``, a folder below ``folder``, at a commit, by its name: two processes for all."""
    listed = git(folder, "ls-tree", "-z", revision, f"./{inside}/").split("\0")
    rows = [row.partition("\t") for row in listed if row]
    blobs = {name.rpartition("/")[2]: about.split()[2] for about, _, name in rows if about.split()[1] == "blob"}
    found = {}
    for name, content in zip(blobs, objects(folder, list(blobs.values())), strict=True):
        if content is None:
            raise InputError(f"{revision[:7]}:{inside}/{name} is not in this clone: {PARTIAL}")
        found[name] = content
    return found
