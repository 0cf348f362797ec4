"""Findings for people and for machines."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.audit import Audit
from holdfast.report import document, html, junit, sarif, text
from holdfast.rules.base import ORDER, Finding, Outcome, Severity

FORMATS = ("text", "json", "sarif", "junit", "html")
SHOWN = frozenset({Outcome.FAIL, Outcome.UNKNOWN})


def render(
    style: str,
    findings: Sequence[Finding],
    *,
    command: str,
    env: str,
    everything: bool = False,
    colour: bool = False,
    audit: Audit | None = None,
) -> str:
    """``findings`` in one of FORMATS: what failed or is unknown, or everything. ``audit`` is where they are from."""
    if style not in ("json", "sarif"):  # which escape by themselves, and lose nothing
        findings = [text.plain(f) for f in findings]
    shown = [f for f in findings if everything or f.outcome in SHOWN]
    match style:
        case "json":
            return document.render(shown, findings, command=command, env=env, audit=audit)
        case "sarif":
            return sarif.render(shown)
        case "junit":
            return junit.render(findings, command=command)
        case "html":
            return html.render(shown, findings, command=command, env=env, audit=audit)
        case _:
            return text.render_audit(shown, audit.rows, colour=colour) if audit else text.render(shown, colour=colour)


def exit_code(findings: Sequence[Finding], fail_on: Severity = Severity.INFO) -> int:
    """1 for a failure that is at least as severe as ``fail_on``, else 3 for anything that could not be read."""
    failed = [f for f in findings if f.outcome is Outcome.FAIL and ORDER[f.rule.severity] <= ORDER[fail_on]]
    return 1 if failed else 3 if any(f.outcome is Outcome.UNKNOWN for f in findings) else 0
