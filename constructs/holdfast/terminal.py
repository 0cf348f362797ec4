"""Tables and progress, as wide as the terminal is. Each imports rich when it draws."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING

from holdfast.text import printable

if TYPE_CHECKING:
    from rich.progress import Progress

UNLIMITED = 10_000  # where a file or another program reads the lines
GAP = 2
Row = Sequence[str]


def width() -> int | None:
    """Of the terminal that standard output is; None: it is none, and lines may be of any length."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def coloured() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def table(rows: Sequence[Row], columns: int | None = None, *, headings: int = 0, colour: bool = False) -> str:
    """Rows under a header. In a narrow terminal the first ``headings`` columns become lines of their own."""
    whole = _drawn(rows, UNLIMITED, colour=colour)
    longest = sum(max(map(len, cells)) + GAP for cells in zip(*rows, strict=True)) - GAP
    if columns is None or longest <= columns:
        return whole
    return _drawn(list(_below(rows, headings)) if headings else rows, columns, colour=colour)


def _below(rows: Sequence[Row], headings: int) -> Iterator[Row]:
    header, *body = rows
    yield header[headings:]
    last: Row = ()
    for row in body:
        if row[:headings] != last:
            last = row[:headings]
            yield [" ".join(last), *[""] * (len(row) - headings - 1)]
        first, *others = row[headings:]
        yield [f"  {first}", *others]


def _drawn(rows: Sequence[Row], columns: int, *, colour: bool) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    header, *body = rows
    drawn = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
    for name, cells, size in zip(header, zip(*body, strict=True), _widths(rows, columns), strict=True):
        right = any(cells) and all(cell.isdigit() for cell in cells if cell)
        drawn.add_column(Text(name), justify="right" if right else "left", overflow="fold", width=size)
    for row in body:
        drawn.add_row(*map(Text, row))
    console = Console(
        file=StringIO(), width=columns, force_terminal=colour, color_system="standard" if colour else None
    )
    with console.capture() as captured:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _widths(rows: Sequence[Row], columns: int) -> list[int]:
    """Room for the longest word of each column and for most of a name, which is the first; then for the fullest."""
    cells = list(zip(*rows, strict=True))
    whole = [max(map(len, column)) for column in cells]
    words = [max(len(word) for cell in column for word in cell.split() or [""]) for column in cells]
    room, share = columns - GAP * (len(cells) - 1), max(1, columns // len(cells) - GAP)
    widths = [min(share, words[0]), *words[1:]]
    if sum(widths) > room:
        widths = [min(share, word) for word in words]
    widths[0] += max(0, min(room - sum(widths), whole[0] - widths[0], columns * 2 // 5 - widths[0]))
    for _ in range(min(room, sum(whole)) - sum(widths)):
        fullest = max(range(len(cells)), key=lambda n: whole[n] / max(1, widths[n]))
        widths[fullest] += 1
    return widths


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """One line on standard error that says what is done now, on a terminal only; an empty one takes it away."""
    shown = _progress() if sys.stderr.isatty() else None
    if shown is None:
        yield lambda text: None
        return
    task = shown.add_task("")

    def show(text: str) -> None:
        if text:
            shown.update(task, description=printable(text))
            shown.start()
            shown.refresh()
        else:
            shown.stop()

    try:
        yield show
    finally:
        shown.stop()


def _progress() -> Progress | None:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    console = Console(stderr=True)
    shown = Progress(
        SpinnerColumn("line"),
        TextColumn("{task.description}", markup=False),
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,  # results go where they are sent
        redirect_stderr=False,
    )
    return shown if console.is_interactive else None
