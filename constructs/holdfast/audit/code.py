"""Table names and ARNs that are written down in code."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from holdfast.errors import InputError
from holdfast.shared.account import Mention

SKIPPED = frozenset({".git", ".hg", ".venv", "venv", "node_modules", "cdk.out", "__pycache__", "dist", "build"})
MAX_BYTES = 1_000_000
ARN = re.compile(r"arn:aws[\w-]*:dynamodb:[\w-]*:\d*:table/([A-Za-z0-9_.-]{3,255})")


def mentions(roots: Iterable[Path], names: Collection[str]) -> Iterator[Mention]:
    """Every line below ``roots`` with the ARN of a table, or with one of ``names`` as a text of its own."""
    if not (roots := tuple(roots)):
        return
    # In quotes, because a name such as orders is also a word.
    quoted = re.compile(r"""["'`](""" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + r""")["'`]""")
    for root in roots:
        if not root.exists():
            raise InputError(f"--code {root} does not exist: give a folder or a file")
        for path in _files(root):
            for number, line in enumerate(_lines(path), start=1):
                found = dict.fromkeys([*ARN.findall(line), *(quoted.findall(line) if names else ())])
                yield from (Mention(where=f"{path}:{number}", kind="code", table=name) for name in found)


def _files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
    for folder, below, files in os.walk(root):
        below[:] = sorted(b for b in below if b not in SKIPPED)
        yield from (Path(folder, name) for name in sorted(files))


def _lines(path: Path) -> list[str]:
    """The lines of a text; nothing of what is binary, too large for code or not readable."""
    try:
        if path.is_symlink() or path.stat().st_size > MAX_BYTES:
            return []
        data = path.read_bytes()
    except OSError:
        return []
    return [] if b"\0" in data else data.decode(errors="replace").splitlines()
