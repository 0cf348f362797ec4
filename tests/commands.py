"""The command line in the test's own process."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code, out, _ = run(capsys, "list", "--format", "json", *arguments)
    assert code == 0
    return json.loads(out)
