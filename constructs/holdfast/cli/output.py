"""Results go to standard output or a file; what is said about them goes to standard error."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import InputError
from holdfast.terminal import coloured
from holdfast.text import printable

if TYPE_CHECKING:
    from holdfast.audit.audit import Audit
    from holdfast.estate.finder import Project
    from holdfast.rules.base import Finding, Severity


def say(text: str) -> None:
    """Prints for as long as standard output is read; the exit status tells the rest."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        drop()


def drop() -> None:
    """The reader (head, less) has seen enough; what is still to be written goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(line: str) -> None:
    """About the results; names in it may be from an account."""
    print(printable(line), file=sys.stderr, flush=True)


def put(text: str, output: Path | None) -> None:
    """To --output, or to the screen."""
    if output:
        try:
            output.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{output} cannot be written ({error.strerror}): give another --output") from None
    elif text:
        say(text)


def report(
    args: argparse.Namespace,
    findings: Sequence[Finding],
    *,
    command: str,
    env: str,
    audit: Audit | None = None,
    fail_on: Severity | None = None,
    summary: str | None = None,
    project: Project | None = None,
    outdir: Path | None = None,
) -> int:
    """The findings in the format that was asked for, and the exit status that they give."""
    from holdfast.report import exit_code, render
    from holdfast.report.places import Places, at_declarations, contracts_folder
    from holdfast.report.text import summary as counted
    from holdfast.rules.base import Severity
    from holdfast.terminal import width

    if audit is None:
        findings = at_declarations(findings, project)
    place = Places(outdir, contracts_folder(), project.source if project else None) if args.format == "sarif" else None
    text = render(
        args.format,
        findings,
        command=command,
        env=env,
        everything=args.all,
        colour=coloured() and args.output is None,
        audit=audit,
        place=place,
        whole=args.all or args.output is not None or width() is None,
    )
    put(text, args.output)
    print(summary or counted(findings), file=sys.stderr)
    return exit_code(findings, fail_on or Severity.INFO)
