"""The only place that runs git: it reads, and nothing that a repository configures is executed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

# A repository's own configuration may name programs: none of them is run, and nothing is fetched.
HARMLESS = (
    *("--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"),
    *("-c", "log.showSignature=false", "-c", "core.quotePath=false"),
)
SETTINGS = {"LC_ALL": "C", "GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}


def git(folder: Path, *arguments: str) -> str:
    """What git prints; nothing where it fails, or where there is no git."""
    return git_bytes(folder, *arguments).decode("utf-8", errors="replace")


def git_bytes(folder: Path, *arguments: str, sent: bytes = b"") -> bytes:
    """The same, as it is. Inside a hook git's own variables would point it elsewhere, so they are dropped."""
    try:
        done = subprocess.run(
            ["git", *HARMLESS, "-C", str(folder), *arguments],
            input=sent,
            capture_output=True,
            check=False,
            env={k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | SETTINGS,
        )
    except OSError:
        return b""
    return done.stdout if done.returncode == 0 else b""


def commit(folder: Path, revision: str) -> str | None:
    """The full id of the commit that a revision names."""
    if revision.startswith("-"):
        return None
    found = git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
    return found or None


def files_at(folder: Path, revision: str, inside: str) -> dict[str, bytes]:
    """Every file directly in ``inside``, a folder below ``folder``, at a commit, by its name: two processes for all."""
    listed = git(folder, "ls-tree", "-z", revision, f"./{inside}/").split("\0")
    rows = [row.partition("\t") for row in listed if row]
    blobs = {name.rpartition("/")[2]: about.split()[2] for about, _, name in rows if about.split()[1] == "blob"}
    answer = git_bytes(folder, "cat-file", "--batch", sent="".join(f"{b}\n" for b in blobs.values()).encode())
    found, at = {}, 0
    for name in blobs:
        end = answer.index(b"\n", at)
        size = int(answer[at:end].split()[2])
        found[name] = answer[end + 1 : end + 1 + size]
        at = end + 2 + size
    return found
