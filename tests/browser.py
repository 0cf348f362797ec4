"""A real browser, where this machine has one: `apt install chromium`."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
# Only this machine: no update, no look-up, no report.
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-default-apps"),
)
needed = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt install chromium")


def title_of(address: str, profile: Path, *flags: str) -> str:
    """The title of a page once its scripts have run: what they found out."""
    line = [str(CHROMIUM), *QUIET, f"--user-data-dir={profile}", *flags, "--dump-dom", address]
    done = subprocess.run(line, capture_output=True, text=True, encoding="utf-8", check=True, timeout=120)
    found = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert found
    return unescape(found[1])
