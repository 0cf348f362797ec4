"""Findings for people and for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.report.text import plain
from holdfast.rules.base import ORDER, Finding, Severity
from holdfast.verdict import Outcome

if TYPE_CHECKING:
    from holdfast.audit.audit import Audit
    from holdfast.audit.causes import Cause
    from holdfast.report.places import Place

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
    place: Place | None = None,
    whole: bool = True,
) -> str:
    """``findings`` in one of FORMATS: what failed or is unknown, or everything. ``audit`` is where they are from.

    ``place`` says at which file and line of the repository a finding points. Text of an audit that is not ``whole`` is
    one screen.
    """
    shown = [f for f in findings if everything or f.outcome in SHOWN]
    match style:  # each is imported when it is asked for; JSON escapes by itself, and loses nothing
        case "json":
            from holdfast.report import document

            return document.render(shown, findings, command=command, env=env, audit=audit, found=_causes(shown, audit))
        case "sarif":
            from holdfast.report import sarif

            return sarif.render(shown, place, _causes(shown, audit))
        case "junit":
            from holdfast.report import junit

            return junit.render([plain(f) for f in findings], command=command)
        case "html":
            from holdfast.report import html

            shown = [plain(f) for f in shown]
            return html.render(shown, findings, command=command, env=env, audit=audit, found=_causes(shown, audit))
        case _:
            from holdfast.report import text

            shown = [plain(f) for f in shown]
            if audit is None:
                return text.render(shown, colour=colour)
            return text.render_audit(shown, audit, _causes(shown, audit), colour=colour, whole=whole)


def _causes(findings: Sequence[Finding], audit: Audit | None) -> list[Cause]:
    if audit is None:
        return []
    from holdfast.audit.causes import causes

    return causes(findings, audit)


def exit_code(findings: Sequence[Finding], fail_on: Severity = Severity.INFO) -> int:
    """1 for a failure that is at least as severe as ``fail_on``, else 3 for anything that could not be read."""
    failed = [f for f in findings if f.outcome is Outcome.FAIL and ORDER[f.rule.severity] <= ORDER[fail_on]]
    return 1 if failed else 3 if any(f.outcome is Outcome.UNKNOWN for f in findings) else 0
