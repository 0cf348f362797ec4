"""Tables and progress as a terminal of some width shows them, and as a file or another program gets them."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from holdfast.terminal import table

ROWS = [
    ["environment", "stack", "table", "indexes", "guards"],
    ["live", "Shop-live", "customers-of-the-shop-live", "12", "DP RETAIN PITR"],
    ["live", "Shop-live", "orders-live", "0", ""],
    ["dev", "Shop-dev", "[bold]orders[/]-dev", "3", "TTL"],
]


def on_a_terminal(columns: int, *command: str, **variables: str) -> str:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
    env = kept | {"TERM": "xterm"} | variables
    shown = b""
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        try:
            while block := os.read(ours, 65_536):
                shown += block
        except OSError:  # the other end is closed
            pass
        os.close(ours)
    assert process.returncode == 0
    return shown.decode().replace("\r\n", "\n")


def test_without_a_terminal_each_row_is_one_line_whatever_its_length() -> None:
    assert table(ROWS).splitlines() == [
        "environment  stack      table                       indexes  guards",
        "live         Shop-live  customers-of-the-shop-live       12  DP RETAIN PITR",
        "live         Shop-live  orders-live                       0",
        "dev          Shop-dev   [bold]orders[/]-dev               3  TTL",
    ]
    assert table(ROWS, 80, headings=2) == table(ROWS)  # it has room


def test_in_a_narrow_terminal_the_first_columns_are_headings_and_others_wrap_between_words() -> None:
    assert table(ROWS, 50, headings=2).splitlines() == [
        "table                       indexes  guards",
        "live Shop-live",
        "  customers-of-the-shop-li       12  DP RETAIN",
        "ve                                   PITR",
        "  orders-live                     0",
        "dev Shop-dev",
        "  [bold]orders[/]-dev             3  TTL",
    ]


@pytest.mark.parametrize("headings", [0, 1, 2])
@pytest.mark.parametrize("columns", [24, 30, 40, 60])
def test_no_line_is_too_long_and_no_letter_is_lost(columns: int, headings: int) -> None:
    shown = table(ROWS, columns, headings=headings)
    assert max(map(len, shown.splitlines())) <= columns
    letters = sorted("".join("".join(row[headings:]) for row in ROWS).replace(" ", ""))
    rest = sorted(shown.replace(" ", "").replace("\n", ""))
    for letter in letters:
        rest.remove(letter)
    assert bool(rest) == bool(headings)


@pytest.mark.parametrize("columns", [80, 100])
def test_the_register_fits_its_terminal(repository: Path, columns: int) -> None:
    command = (sys.executable, "-m", "holdfast.cli", "list")
    shown = on_a_terminal(columns, *command)
    assert "\x1b[1m" in shown
    plain = on_a_terminal(columns, *command, NO_COLOR="1")
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[\d*m", "", shown).split() == plain.split()
    assert max(map(len, plain.splitlines())) <= columns
    piped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "\x1b" not in piped
    assert max(map(len, piped.splitlines())) > 100


def test_progress_is_one_line_that_goes_and_takes_no_result_along(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom holdfast.terminal import progress\n"
        "with progress() as show:\n show('reading [red]a\\x1b')\n print('result', file=open(sys.argv[1], 'w'))\n"
        " show('')\n print('said', file=sys.stderr)\n show('reading b')"
    )
    shown = on_a_terminal(80, sys.executable, "-c", code, str(tmp_path / "out"))
    assert (tmp_path / "out").read_text() == "result\n"
    before, said, after = shown.partition("said\n")
    assert "reading [red]a\\x1b" in before
    assert said
    assert "reading b" in after
    assert all(part.rstrip("\n").endswith("\x1b[2K") for part in (before, after))
    assert on_a_terminal(80, sys.executable, "-c", code, str(tmp_path / "out"), TERM="dumb") == "said\n"


@pytest.mark.parametrize("command", [("list",), ("list", "--assumed"), ("explain", "HF402"), ("--help",), ("waivers",)])
def test_an_ascii_stdout_gets_ascii(repository: Path, command: tuple[str, ...]) -> None:
    env = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run([sys.executable, "-m", "holdfast.cli", *command], env=env, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
