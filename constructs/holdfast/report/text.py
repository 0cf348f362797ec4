"""Text for people: worst first, what is wrong and what to do, in three lines each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.model.facts import Guard
from holdfast.rules.base import ORDER, Finding, Severity
from holdfast.rules.use import used
from holdfast.terminal import table
from holdfast.text import counted, printable
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome

if TYPE_CHECKING:
    from holdfast.audit.audit import Audit
    from holdfast.audit.rows import Row

WORDS = {Outcome.FAIL: "FAIL", Outcome.UNKNOWN: "????", Outcome.PASS: "ok", Outcome.EXEMPT: "--"}
COLOURS = {Outcome.FAIL: "31", Outcome.UNKNOWN: "33", Outcome.PASS: "32", Outcome.EXEMPT: "2"}


def render(findings: Sequence[Finding], *, colour: bool) -> str:
    ranked = sorted(findings, key=lambda f: (list(WORDS).index(f.outcome), ORDER[f.rule.severity]))
    alike: dict[object, list[Finding]] = {}
    for n, f in enumerate(ranked):
        alike.setdefault(_same(f) or n, []).append(f)
    return "\n".join(line for group in alike.values() for line in _lines(group[0], colour, group[1:]))


def _same(f: Finding) -> object:
    """What makes two differences of whole stacks one, as of an acknowledgement of something that is in many."""
    whole = f.change and f.path and not f.table and "#" not in f.where
    return (f.outcome, f.rule.id, f.detail, f.fix) if whole else None


def plain(f: Finding) -> Finding:
    """``f`` as people may see it: a name or a value that an account or a template holds is text from outside."""
    return replace(
        f,
        table=f.table and printable(f.table),
        stack=printable(f.stack),
        where=printable(f.where),
        detail=printable(f.detail),
        fix=printable(f.fix),
        path=printable(f.path),
        before=f.before and printable(f.before),
        after=f.after and printable(f.after),
        declared=f.declared and printable(f.declared),
    )


def _lines(f: Finding, colour: bool, others: Sequence[Finding] = ()) -> list[str]:
    word = f"{WORDS[f.outcome]:4}"
    if colour:
        word = f"\033[{COLOURS[f.outcome]}m{word}\033[0m"
    about = f.table or f.where
    lines = [f"{word}  {f.rule.id}  {f.rule.severity.value:8}  {about}: {f.detail or f.rule.title}"]
    if f.outcome in (Outcome.FAIL, Outcome.UNKNOWN):
        lines.append(f"      in {f.stack}, {f.where}{f', declared in {f.declared}' if f.declared else ''}")
        if others:
            lines.append(f"      and the same in {', '.join(o.where for o in others)}")
        lines.append(f"      fix: {f.fix}")
    return lines


def summary(findings: Sequence[Finding]) -> str:
    stores, stacks = len({f.table for f in findings if f.table}), len({(f.stack, f.environment) for f in findings})
    counts = {o: sum(f.outcome is o for f in findings) for o in Outcome}
    about = (
        f"{counted(stores, 'store')}, {counted(stacks, 'stack')}: " if findings else ""
    )  # where only contracts are compared
    return (
        f"{about}{counts[Outcome.FAIL]} failed, {counts[Outcome.UNKNOWN]} unknown, "
        f"{counts[Outcome.PASS]} passed, {counts[Outcome.EXEMPT]} exempt"
    )


# An audit: what is wrong with one table stands together, with its three columns.


def render_audit(findings: Sequence[Finding], audit: Audit, *, colour: bool) -> str:
    # Of a table in several accounts, the columns of one that is not as intended are shown.
    by_table = {(r.environment, r.table): r for r in sorted(audit.rows, key=lambda r: bool(apart(r)))}
    blocks = [running(audit), *(_block(about, group, by_table, colour) for about, group in grouped(findings))]
    return "\n\n".join(text for block in blocks if (text := "\n".join(block)))


def against(audit: Audit) -> str:
    """What was compared with, in one line."""
    if isinstance(audit.history, Unknown):
        return f"against no contract, so that no age is known: {printable(audit.history.reason)}"
    return f"against {printable(audit.history.says)}"


def running(audit: Audit) -> Iterator[str]:
    """Which contract each stack runs; those that run the latest are only counted."""
    if isinstance(audit.history, Unknown):
        return
    current = [s for s in audit.stacks if s.running.commit and not s.running.pending]
    for s in audit.stacks:
        if s not in current:
            yield f"{s.stack} {printable(s.running.told(audit.at, audit.history.merged))}"
    if current:
        yield f"{counted(len(current), 'stack')} run{'s' if len(current) == 1 else ''} the latest contract"


def grouped(findings: Sequence[Finding]) -> list[tuple[tuple[str | None, str], list[Finding]]]:
    """Findings by environment and what they are about; the worst group first, and in it the worst finding."""
    groups: dict[tuple[str | None, str], list[Finding]] = {}
    for f in sorted(findings, key=rank):
        groups.setdefault((f.environment, f.table or f.stack), []).append(f)
    return sorted(groups.items(), key=lambda g: (rank(g[1][0]), -len(g[1])))


def rank(f: Finding) -> tuple[int, int, str]:
    return list(WORDS).index(f.outcome), ORDER[f.rule.severity], f.rule.id


def apart(row: Row) -> dict[Guard, tuple[str, str, str]]:
    """The guards of a table that the policy asks for and that are not on everywhere."""
    return {g: cells for g, cells in row.guards.items() if not set(cells) <= {"on", "-"}}


def _block(
    about: tuple[str | None, str],
    findings: Sequence[Finding],
    rows: dict[tuple[str, str], Row],
    colour: bool,
) -> Iterator[str]:
    env, name = about
    first = findings[0]
    where = [p for p in (first.stack if first.table else "", env, first.declared) if p]
    title = f"{name}  ({', '.join(where)})" if where else name
    yield f"\033[1m{title}\033[0m" if colour else title
    row = rows.get((env or "", name))
    if row and (gaps := apart(row)):
        cells = [["", "intent", "deployed", "live"], *([g.label, *c] for g, c in gaps.items())]
        yield from (f"  {line}" for line in table(cells).splitlines())
    said = ""
    for f in findings:
        word = f"{WORDS[f.outcome]:4}"
        word = f"\033[{COLOURS[f.outcome]}m{word}\033[0m" if colour else word
        yield f"  {word}  {f.rule.id}  {f.rule.severity.value:8}  {f.detail or f.rule.title}"
        if f.gap and (how := f"{f.gap.says}; {f.gap.age}") != said:
            yield f"        {how}"
            said = how
        if f.outcome in (Outcome.FAIL, Outcome.UNKNOWN):
            yield f"        fix: {f.fix}"
    if row and row.live:
        yield f"  use: {used(row.live)}"


def audit_summary(findings: Sequence[Finding], rows: Sequence[Row]) -> str:
    failed = [f for f in findings if f.outcome is Outcome.FAIL]
    worst = ", ".join(f"{n} {s.value}" for s in Severity if (n := sum(f.rule.severity is s for f in failed)))
    counts = {o: sum(f.outcome is o for f in findings) for o in Outcome}
    gaps = sum(bool(apart(r)) for r in rows)
    failed_as = f"{len(failed)} failed ({worst})" if failed else "0 failed"
    return (
        f"{counted(len(rows), 'declared table')}, {gaps} with a gap: {failed_as}, "
        f"{counts[Outcome.UNKNOWN]} unknown, {counts[Outcome.PASS]} passed, {counts[Outcome.EXEMPT]} exempt"
    )
