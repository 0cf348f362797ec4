"""Files that their user alone may read: live data, records of it, and what opens the emulator."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import IO


def private_folder(path: Path) -> Path:
    """The folder, made with those above it where they are missing; an existing one is closed to others."""
    if path.is_symlink() and path.resolve().name != path.name:  # a repository may hold links to what is not ours
        raise NotADirectoryError(errno.ENOTDIR, "a symbolic link that leads elsewhere, remove it", str(path))
    for folder in reversed([path, *path.parents]):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    path.chmod(0o700)
    return path


def append_private(path: Path) -> IO[bytes]:
    """A file to read and to add to, which nobody else may read, also when it was there before."""

    def opener(name: str, flags: int) -> int:
        descriptor = os.open(name, flags | os.O_NOFOLLOW, 0o600)
        os.fchmod(descriptor, 0o600)
        return descriptor

    return open(path, "a+b", opener=opener)


def write_private(path: Path, text: str) -> None:
    """Never readable by others, not even while it is written."""
    path.unlink(missing_ok=True)  # whatever others opened before is not what is written now
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
