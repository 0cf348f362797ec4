"""Findings for people and for machines."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.report import document, junit, sarif, text
from holdfast.rules.base import Finding, Outcome

FORMATS = ("text", "json", "sarif", "junit")
SHOWN = frozenset({Outcome.FAIL, Outcome.UNKNOWN})


def render(
    style: str, findings: Sequence[Finding], *, command: str, env: str, everything: bool = False, colour: bool = False
) -> str:
    """``findings`` in one of FORMATS: what failed or is unknown, or everything."""
    shown = [f for f in findings if everything or f.outcome in SHOWN]
    match style:
        case "json":
            return document.render(shown, findings, command=command, env=env)
        case "sarif":
            return sarif.render(shown)
        case "junit":
            return junit.render(findings, command=command)
        case _:
            return text.render(shown, colour=colour)


def exit_code(findings: Sequence[Finding]) -> int:
    outcomes = {f.outcome for f in findings}
    return 1 if Outcome.FAIL in outcomes else 3 if Outcome.UNKNOWN in outcomes else 0
