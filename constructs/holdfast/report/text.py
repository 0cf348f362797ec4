"""Text for people: worst first, what is wrong and what to do, in three lines each."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.rules.base import Finding, Outcome, Severity

ORDER = {severity: n for n, severity in enumerate(Severity)}
WORDS = {Outcome.FAIL: "FAIL", Outcome.UNKNOWN: "????", Outcome.PASS: "ok", Outcome.EXEMPT: "--"}
COLOURS = {Outcome.FAIL: "31", Outcome.UNKNOWN: "33", Outcome.PASS: "32", Outcome.EXEMPT: "2"}


def render(findings: Sequence[Finding], *, colour: bool) -> str:
    ranked = sorted(findings, key=lambda f: (list(WORDS).index(f.outcome), ORDER[f.rule.severity]))
    return "\n".join(line for f in ranked for line in _lines(f, colour))


def _lines(f: Finding, colour: bool) -> list[str]:
    word = f"{WORDS[f.outcome]:4}"
    if colour:
        word = f"\033[{COLOURS[f.outcome]}m{word}\033[0m"
    about = f.table or f.where
    lines = [f"{word}  {f.rule.id}  {f.rule.severity.value:8}  {about}: {f.detail or f.rule.title}"]
    if f.outcome in (Outcome.FAIL, Outcome.UNKNOWN):
        lines.append(f"      in {f.stack}, {f.where}")
        lines.append(f"      fix: {f.fix}")
    return lines


def summary(findings: Sequence[Finding]) -> str:
    tables, stacks = len({f.table for f in findings if f.table}), len({(f.stack, f.environment) for f in findings})
    counts = {o: sum(f.outcome is o for f in findings) for o in Outcome}
    return (
        f"{tables} tables and stores, {stacks} stacks: "
        f"{counts[Outcome.FAIL]} failed, {counts[Outcome.UNKNOWN]} unknown, "
        f"{counts[Outcome.PASS]} passed, {counts[Outcome.EXEMPT]} exempt"
    )
