"""The wheel, built as a release would be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import ROOT


def built(folder: Path) -> Path:
    line = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(line, cwd=ROOT, capture_output=True, check=True)
    (found,) = folder.glob("*.whl")
    return found
