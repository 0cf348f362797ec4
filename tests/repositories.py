"""Git repositories as tests make them."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

COMMITTED = datetime(2026, 4, 23, 12, tzinfo=UTC)


def git(folder: Path, *arguments: str, when: datetime = COMMITTED) -> None:
    author = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b.c",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b.c",
    }
    dates = {"GIT_AUTHOR_DATE": when.isoformat(), "GIT_COMMITTER_DATE": when.isoformat()}
    nowhere = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, env=os.environ | author | dates | nowhere
    )


def tree(folder: Path) -> dict[str, bytes]:
    """Every file beside git's own."""
    found = [p for p in folder.rglob("*") if p.is_file() and ".git" not in p.parts]
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in found}


def commit(folder: Path, message: str) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", message)
