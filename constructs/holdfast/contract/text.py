"""A diff for people: as text, and as Markdown for the pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from holdfast.contract.approvals import NONE, Review
from holdfast.contract.diff import Change, Kind
from holdfast.contract.groups import Block, blocks, line_of, shown
from holdfast.contract.words import few
from holdfast.text import counted, printable

__all__ = ["line_of", "markdown", "shown", "summary", "text"]
COLOURS = {Kind.WEAKENED: "31", Kind.REMOVED: "31", Kind.REPLACED: "31", Kind.ADDED: "33", Kind.CHANGED: "2"}
FOLDED = {Kind.ADDED: 20, Kind.CHANGED: 20}  # blocks that are shown of what is not serious
LINES = 5  # of such a block
FIRST = 5
LIMIT = 60_000  # GitHub takes comments of 65,536 characters
MARKS = re.compile(r"([\\`*_{}\[\]<>|#!~@])")
ALL = "`--format json` lists all"
APPROVE = 'holdfast accept --because "why" --by "who" --until YYYY-MM-DD'


def text(changes: Sequence[Change], against: str, review: Review = NONE, *, colour: bool = False) -> str:
    lines = [f"against {printable(against)}"]
    for kind in Kind:
        of_kind = [b for b in blocks(changes) if b.kind is kind]
        shown_ = of_kind[: FOLDED.get(kind, len(of_kind))]
        for block in shown_:
            word = f"{kind.value.upper():8}"
            word = f"\033[{COLOURS[kind]}m{word}\033[0m" if colour else word
            lines.append(f"{word}  {printable(block.title)}")
            lines += [f"          {printable(line)}" for line in _folded(block)]
            lines += [f"          {printable(line)}" for line in _approval(block, review)]
        if more := len(of_kind) - len(shown_):
            lines.append(f"{kind.value.upper():8}  {more} more of these: {ALL}")
    lines += [f"approval  {printable(line)}" for line in review.problems]
    if review.open and all(c.approvable for c in review.open):
        lines.append(f"to approve, a revert of a strengthening too: {APPROVE}")
    return "\n".join(lines)


def _folded(block: Block) -> list[str]:
    lines = block.lines
    if block.kind not in FOLDED or len(lines) <= LINES + 1:
        return lines
    return [*lines[:LINES], f"and {len(lines) - LINES} more: {ALL}"]


def _approval(block: Block, review: Review) -> Iterator[str]:
    by = [found[1] for c in block.changes if (found := review.approval(c))]
    if by:
        part = "" if len(by) == len(block.changes) else f"{len(by)} of {len(block.changes)} "
        yield f"{part}approved by {few(a.by for a in by)}: {few(a.because for a in by)}"
    fixed = [c for c in block.changes if not c.approvable]
    if fixed:
        what = ", ".join(dict.fromkeys(c.guard or c.kind.value for c in fixed))
        yield f"cannot be approved ({what}): personal durable data in production keeps DP, RETAIN and CMK"


def markdown(changes: Sequence[Change], against: str, review: Review = NONE) -> str:
    """Five lines first, the rest folded; cut where a comment would be too long."""
    found = blocks(changes)
    state = f", **{len(review.open)} without an approval**" if review.open else ""
    head = [f"**holdfast diff** against {_plain(against)}: {summary(changes)}{state}", ""]
    head += [f"- **{b.kind.value}** {_code(b.title)}: {_code((b.lines or [''])[0])}" for b in found[:FIRST]]
    if len(found) > FIRST:
        head.append(f"- and {len(found) - FIRST} more")
    head += [f"- **approval** {_plain(line)}" for line in review.problems]
    if review.open and all(c.approvable for c in review.open):
        head += ["", f"To approve: `{APPROVE}`"]
    body = [part for kind in Kind if (part := _section([b for b in found if b.kind is kind], kind, review))]
    return _cut("\n".join(head), body)


def _section(of_kind: Sequence[Block], kind: Kind, review: Review) -> list[str]:
    if not of_kind:
        return []
    lines = [f"<details><summary>{kind.value} ({sum(len(b.changes) for b in of_kind)})</summary>", ""]
    for block in of_kind:
        lines.append(f"- {_code(block.title)}")
        if len(block.subjects) > 1:
            lines.append(f"  - in {', '.join(_code(n or s) for s, n in block.subjects)}")
        lines += [f"  - {_code(line)}" for line in (*block.lines, *_approval(block, review))]
    return [*lines, "", "</details>"]


def _cut(head: str, sections: Sequence[Sequence[str]]) -> str:
    """Whole lines, as many as fit; a section that is cut is closed."""
    lines = [head[: LIMIT // 2]]
    size = len(lines[0])
    for section in sections:
        kept: list[str] = []
        for line in section:
            if size + len(line) + 200 > LIMIT:
                return "\n".join([*lines, "", *kept, "", *(["</details>", ""] if kept else []), f"Cut here: {ALL}."])
            size += len(line) + 1
            kept.append(line)
        lines += ["", *kept]
    return "\n".join(lines)


def summary(changes: Sequence[Change]) -> str:
    counts = [f"{n} {k.value}" for k in Kind if (n := sum(c.kind is k for c in changes))]
    return ", ".join(counts) or "nothing differs"


def _code(words: str) -> str:
    """As code, in which nothing is a mark but the backtick, and in a table the bar."""
    return "`" + printable(words).replace("`", "'").replace("|", "\\|") + "`"


def _plain(words: str) -> str:
    return MARKS.sub(r"\\\1", printable(words))


def left(review: Review) -> str:
    return f"; {counted(len(review.open), 'change')} without an approval" if review.open else ""
