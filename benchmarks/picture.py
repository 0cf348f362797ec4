"""docs/demo.svg: the incident, its fix and the audit after it, as a terminal shows them. What `make picture` runs.

Every line is what the commands printed, wrapped; a line that starts with an ellipsis says what was left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from benchmarks.demo import STORY, command, environment, holdfast, remember, run

PICTURE = Path("docs", "demo.svg")
COLUMNS = 112
WIDE, HIGH, SIZE, EDGE = 7.85, 18, 13, 16
STACK = "CallAnalytics-Prod-Storage"
SHOWN = ("call-analytics-prod-call-analysis-us-east-1", "rc-subscription-prod-webhook-subscriptions")
CALLS = 4
# Colours of a dark terminal, with its own background: the same on a light page and on a dark one.
BACK, EDGES, PLAIN, DIM, RED, GREEN, STRONG = (
    "#0d1117",
    "#30363d",
    "#c9d1d9",
    "#8b949e",
    "#ff7b72",
    "#7ee787",
    "#ffffff",
)
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
LINES = ((re.compile(r"\$ "), STRONG), (re.compile(r"… | +fix: "), DIM))
WORDS = (
    (re.compile(r"\bFAIL\b|\boff\b|\b(?:52|78) days\b|never deployed|never applied"), RED),
    (re.compile(r"\bdone\b|\b0 failed\b"), GREEN),
)


def main() -> int:
    holdfast("local up")
    run("python -m stacks.incident")
    remember(datetime.now(UTC))
    PICTURE.write_text(drawn(story()), encoding="utf-8")
    print(f"{PICTURE} is written.")
    return 0


def story() -> list[str]:
    lines, _ = said("audit --local --env prod --select HF001")
    lines[1:-1] = chosen("\n".join(lines[1:-1]))
    fixed, _ = said("fix --local --env prod --apply", calls=True)
    done = [line for line in fixed if re.match(r"\d+/\d+ ", line)]
    lines += ["", fixed[0], *done[:CALLS], f"… {len(done) - CALLS} more", fixed[-1], ""]
    deployed, _ = said("local up --env prod", calls=True)
    lines += [deployed[0], next(line for line in deployed if line.startswith("All deployed"))]
    keys, _ = said("fix --local --env prod --only HF007 --consumers-have-the-key --apply", calls=True)
    lines += [keys[0], "… who uses these tables", *(k for k in keys if re.match(r"\d+/\d+ ", k)), keys[-1], ""]
    final, status = said("audit --local --env prod --fail-on high")
    return [*lines, final[0], final[-1], "$ echo $?", str(status)]


def said(line: str, *, calls: bool = False) -> tuple[list[str], int]:
    """The command, its results and what it says about them, of ``calls`` only the latter; and its exit status."""
    cwd = Path() if line.startswith("local") else STORY
    done = subprocess.run(
        command(f"holdfast {line}"), cwd=cwd, env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    told = [text for text in done.stderr.splitlines() if not text.startswith(("read account ", "against "))]
    return [f"$ holdfast {line}", *([] if calls else done.stdout.splitlines()), *told], done.returncode


def chosen(findings: str) -> list[str]:
    """Which contract the stack runs, and one table of each cause; of the others only how many they are."""
    contracts, *blocks = findings.split("\n\n")
    runs = [line for line in contracts.splitlines() if line.startswith(f"{STACK} ")]
    shown = [block for name in SHOWN for block in blocks if block.startswith(f"{name} ")]
    more = [f"… {len(contracts.splitlines()) - len(runs)} more lines about stacks"]
    return "\n".join(
        [*runs, *more, "", "\n\n".join([*shown, f"… {len(blocks) - len(shown)} more tables"])]
    ).splitlines()


def drawn(lines: list[str]) -> str:
    rows = [row for line in lines for row in coloured(line)]
    width, height = round(COLUMNS * WIDE + 2 * EDGE), len(rows) * HIGH + 2 * EDGE
    texts = [
        f'<text x="{EDGE}" y="{EDGE + number * HIGH - 5}">{row}</text>'
        for number, row in enumerate(rows, start=1)
        if row
    ]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
            "<title>holdfast audit finds unprotected tables and how long they were so; fix repairs them</title>",
            f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="{BACK}" stroke="{EDGES}"/>',
            f'<g font-family="{FONT}" font-size="{SIZE}" fill="{PLAIN}" xml:space="preserve">',
            *texts,
            "</g>",
            "</svg>\n",
        )
    )


def coloured(line: str) -> list[str]:
    """The line as rows of SVG text: in one colour, or plain with some words in theirs."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    rows = textwrap.wrap(line, COLUMNS, subsequent_indent=indent, break_on_hyphens=False) or [""]
    for pattern, colour in LINES:
        if pattern.match(line):
            return [span(row, colour) for row in rows]
    return [words(row) for row in rows]


def words(row: str) -> str:
    parts: list[str] = []
    at = 0
    for start, end, colour in sorted((m.start(), m.end(), c) for pattern, c in WORDS for m in pattern.finditer(row)):
        parts += [plain(row[at:start]), span(row[start:end], colour)]
        at = end
    return "".join((*parts, plain(row[at:])))


def span(text: str, colour: str) -> str:
    return f'<tspan fill="{colour}">{plain(text)}</tspan>'


def plain(text: str) -> str:
    return escape(text, quote=False).replace(" ", "\u00a0")  # a picture viewer may fold spaces


if __name__ == "__main__":
    sys.exit(main())
