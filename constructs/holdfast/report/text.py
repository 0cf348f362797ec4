"""Text for people: worst first, what is wrong and what to do, in three lines each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING

from holdfast.audit.causes import Kind
from holdfast.model.facts import Guard
from holdfast.rules.base import ORDER, Finding, Severity
from holdfast.rules.use import used
from holdfast.terminal import table
from holdfast.text import counted, printable
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome

if TYPE_CHECKING:
    from holdfast.audit.audit import Audit
    from holdfast.audit.causes import Cause
    from holdfast.audit.rows import Row

# Of a terminal as it opens.
LINES, COLUMNS = 24, 100
NAMES, PARTS, LONGEST = 4, 2, 3  # tables and parts of a cause that are shown, and lines of its longest sentence
NAMED = 10  # undeclared tables
ALL_BELOW = "each cause and each table is below"
ALL_ELSEWHERE = "each cause and each table: add `| less`, or --format html --output FILE"
UNDECLARED = "Find out whose they are: declare yours in stacks/, and name other teams' in foreign=(…) of the estate."
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


def render_audit(
    findings: Sequence[Finding], audit: Audit, found: Sequence[Cause], *, colour: bool, whole: bool = True
) -> str:
    """The causes on one screen, and below it, where the ``whole`` is asked for, each of them and each table."""
    # Of a table in several accounts, the columns of one that is not as intended are shown.
    by_table = {(r.environment, r.table): r for r in sorted(audit.rows, key=lambda r: bool(apart(r)))}
    undeclared = [c for c in found if c.kind is Kind.FOREIGN]
    together = {id(f) for c in undeclared for f in c.findings}
    tables = grouped([f for f in findings if id(f) not in together])
    undeclared = [c for c in found if c.kind is Kind.FOREIGN]
    together = {id(f) for c in undeclared for f in c.findings}
    tables = grouped([f for f in findings if id(f) not in together])
    blocks = [running(audit), *(_block(about, group, by_table, colour) for about, group in tables)]
    causes = [_in_full(n, c, colour) for n, c in enumerate(found, 1) if n > 1]
    details = [*causes, *blocks, *map(_undeclared, undeclared)]
    below = "\n\n".join(text for block in details if (text := "\n".join(block)))
    if not found:
        return below
    first = "\n".join(screen(found, ALL_BELOW if whole else ALL_ELSEWHERE, colour=colour))
    return f"{first}\n\n{below}" if whole else first


# The causes, on one screen.


def screen(found: Sequence[Cause], how_to_see_all: str, *, colour: bool = False) -> list[str]:
    """The worst cause in full, the next ones in a line each."""
    findings = counted(sum(len(c.findings) for c in found), "finding")
    shown = [f"{counted(len(found), 'cause')} of {findings}, the worst first", "", *_in_full(1, found[0], colour)]
    numbered = list(enumerate(found, 1))[1:]
    shown += [""] if numbered else []
    room = LINES - len(shown) - 1
    if len(numbered) > room:
        # What could not be read may hide the worst: it is never among those that are only counted.
        numbered = sorted(sorted(numbered, key=lambda n: not n[1].unknown)[:room])
    left = len(found) - 1 - len(numbered)
    more = f"{counted(left, 'more cause')}; " if left else ""
    return [*shown, *(fit(_line(n, c)) for n, c in numbered), f"    {more}{how_to_see_all}"]


def _in_full(number: int, c: Cause, colour: bool) -> Iterator[str]:
    first, *more = _wrapped(f"{number:>2}  {c.says}", "")
    yield f"\033[1;{COLOURS[Outcome.UNKNOWN if c.unknown else Outcome.FAIL]}m{first}\033[0m" if colour else first
    yield from more
    for part in c.parts[:PARTS]:
        yield from _wrapped(part)
    yield from (fit(f"      {printable(name)}") for name in c.tables[:NAMES])
    if len(c.tables) > NAMES:
        yield f"      and {len(c.tables) - NAMES:,} more"
    yield from _wrapped(f"first {c.before}; then") if c.before else ()
    # A command is never cut nor wrapped: it is to be copied.
    yield from [f"    $ {printable(c.command)}"] if c.command else _wrapped(f"fix: {c.fix}")
    if c.meanwhile:
        yield f"    until then: {printable(c.meanwhile)}"


def _wrapped(text: str, indent: str = "    ") -> list[str]:
    whole = wrap(printable(text), COLUMNS, initial_indent=indent, subsequent_indent="    ", break_on_hyphens=False)
    return whole if len(whole) <= LONGEST else [*whole[: LONGEST - 1], fit(f"{whole[LONGEST - 1]} …")]


def _line(number: int, c: Cause) -> str:
    age = f", {counted(c.days, 'day')}" if c.days else ""
    return f"{number:>2}  {WORDS[Outcome.UNKNOWN] if c.unknown else c.severity.value:8}  {printable(c.says)}{age}"


def fit(line: str) -> str:
    """At most COLUMNS of it, cut after a clause where there is one."""
    if len(line) <= COLUMNS:
        return line
    cut = line[: COLUMNS - 1]
    clause, comma, _ = cut.rpartition(", ")
    return f"{clause if comma and len(clause) > COLUMNS // 2 else cut}…"


def unread(audit: Audit) -> str:
    """The regions in which nothing is declared, and of which nothing is known therefore."""
    names = ", ".join(audit.elsewhere)
    return f"not read, because nothing that was asked for is declared there: {names}, and what was opted into"


def _undeclared(c: Cause) -> Iterator[str]:
    """Tables that no declaration has; an account may have thousands of them."""
    yield printable(c.says)
    names = ", ".join(printable(name) for name in c.tables[:NAMED])
    more = len(c.tables) - NAMED
    yield f"  {names}{f' and {more:,} more, which --format json lists' if more > 0 else ''}"
    yield f"  FAIL  {c.findings[0].rule.id}  {c.severity.value:8}  {c.findings[0].rule.title}"
    if len(c.tables) == 1:
        yield f"        {printable(c.findings[0].detail)}"
    yield f"        fix: {printable(UNDECLARED if len(c.tables) > 1 else c.fix)}"


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
