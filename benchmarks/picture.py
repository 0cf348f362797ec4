"""docs/demo.svg: the incident, its fix and the audit after it, as a terminal shows them. What `make picture` runs.

Every line is what the commands printed, wrapped; a line that starts with an ellipsis says what was left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

from benchmarks.demo import STORY, command, environment, holdfast, remember, run

PICTURE = Path("docs", "demo.svg")
COLUMNS = 112
SHOWN = "call-analytics-prod-call-analysis-us-east-1"
CALLS = 4
# rich's, with the fonts of the reader's machine: a picture fetches nothing.
FORMAT = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>holdfast audit finds unprotected tables and how long they were so; fix repairs them</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px }}
.{unique_id}-title {{ font-family: sans-serif; font-size: 18px }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""
STYLES = (
    (r"^\$ .*", "bold"),
    (r"^(?:… | +fix: ).*", "dim"),
    (r"\bFAIL\b|\boff\b|\b(?:52|78) days\b|never deployed|never applied", "red"),
    (r"\bdone\b|\b0 failed\b", "green"),
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
    told = [text for text in done.stderr.splitlines() if not text.startswith(("read account ", "against ", "not read"))]
    return [f"$ holdfast {line}", *([] if calls else done.stdout.splitlines()), *told], done.returncode


def chosen(findings: str) -> list[str]:
    """The causes, and one table; of the rest only how much it is."""
    *screen, rest = findings.split("\n\n", 3)
    blocks = rest.split("\n\n")
    (shown,) = [block for block in blocks if block.startswith(f"{SHOWN}  (")]
    return "\n\n".join([*screen, shown, f"… {len(blocks) - 1} more causes and tables"]).splitlines()


def drawn(lines: list[str]) -> str:
    console = Console(record=True, width=COLUMNS, file=StringIO(), highlight=False)
    for line in lines:
        text = Text(line)
        for pattern, style in STYLES:
            text.highlight_regex(pattern, style)
        console.print(*text.wrap(console, COLUMNS), sep="\n")
    return console.export_svg(title="holdfast", code_format=FORMAT, unique_id="demo")


if __name__ == "__main__":
    sys.exit(main())
