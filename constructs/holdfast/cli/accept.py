"""`holdfast accept`: what was synthesized becomes the contract, once its difference has been shown and approved."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli import options
from holdfast.cli.check import judged, prepare
from holdfast.cli.output import say
from holdfast.contract import accept, approvals, files, states, text
from holdfast.contract.approvals import Approval, Review
from holdfast.contract.assembly import Synthesized, environments_in, stacks
from holdfast.contract.diff import Change
from holdfast.contract.groups import blocks
from holdfast.days import day
from holdfast.errors import InputError
from holdfast.report import render
from holdfast.report.places import at_declarations
from holdfast.rules.base import ORDER, Finding
from holdfast.text import counted, printable
from holdfast.verdict import Outcome

if TYPE_CHECKING:
    from holdfast.estate.finder import Project

Ask = Callable[[str], str]
REFUSED = 1  # a rule fails, or a change weakens without an approval: nothing is written
FAILURES = 10  # that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What was given on the command line, and how to ask for the rest; None: there is no terminal to ask on."""

    because: str | None = None
    by: str | None = None
    until: str | None = None
    ask: Ask | None = None

    @property
    def complete(self) -> bool:
        return None not in (self.because, self.by, self.until)


def arguments(command: argparse.ArgumentParser) -> None:
    options.outdir(command)
    command.add_argument("--against", metavar="REV", help="as `diff` has it: what the difference is shown against")
    command.add_argument("--because", metavar="WHY", help="why what is weakened, removed or replaced may be")
    command.add_argument("--by", metavar="WHO", help="who approves it")
    command.add_argument("--until", metavar="DAY", help="the last day on which it may merge, such as 2026-12-31")
    options.estate(command)


def run(args: argparse.Namespace) -> int:
    ask = input if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() else None
    answers = Answers(because=args.because, by=args.by, until=args.until, ask=ask)
    folder = states.nearest() or Path.cwd()
    project = options.project_if_any(args)
    return accepted(args.outdir, folder, answers, today=day(args.at), against=args.against, project=project)


def accepted(
    outdir: Path, folder: Path, answers: Answers, *, today: date, against: str | None, project: Project | None = None
) -> int:
    found = stacks(outdir)
    made = accept.synthesized(outdir, found)
    failed = _failed(outdir, found, project, today) if project else []
    until = _day(answers.until, today) if answers.until is not None else None
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        raise InputError("accept writes what a person has reviewed, so it does not run in CI: run it on your machine")
    proposal = accept.proposal(folder, made, against, today)
    say(text.text(proposal.changes, proposal.before.says, Review(used=proposal.review.used)))
    needed = proposal.review.open
    if failed:
        say(render("text", failed[:FAILURES], command="accept", env=""))
    if refusal := _wrong(failed) or _refusal(needed, answers):
        print(f"holdfast: {refusal}; nothing was written", file=sys.stderr)
        return REFUSED
    given = list(_asked(needed, answers, until, today))
    proposal.write(given)
    also = f", {counted(len(given), 'approval')} to {approvals.FOLDER}/" if given else ""
    gone = f"; removed {', '.join(proposal.left)}" if proposal.left else ""
    wrote = counted(len(made), "contract")
    print(f"{text.summary(proposal.changes)}; wrote {wrote} to {files.FOLDER}/{also}{gone}", file=sys.stderr)
    return 0


def _failed(outdir: Path, found: Sequence[Synthesized], project: Project, today: date) -> list[Finding]:
    """What `check` will say of the declared stacks, the worst first: no contract can excuse it."""
    prepare(outdir, project.estate)
    environments = environments_in((s.seen for s in found), project.estate)
    findings = judged(found, project.estate, environments, today)
    failed = [f for f in findings if f.outcome is Outcome.FAIL]
    return at_declarations(sorted(failed, key=lambda f: ORDER[f.rule.severity]), project)


def _wrong(failed: Sequence[Finding]) -> str:
    more = f", of which {FAILURES} are shown" if len(failed) > FAILURES else ""
    return f"{counted(len(failed), 'rule')} failed{more}: a wrong contract cannot be accepted" if failed else ""


def _refusal(needed: Sequence[Change], answers: Answers) -> str:
    """Why nothing can be written, where that is so."""
    fixed = [c for c in needed if not c.approvable]
    if fixed:
        names = ", ".join(dict.fromkeys(c.store or c.stack for c in fixed))
        return (
            f"{printable(names)}: personal durable data in production keeps deletion protection, RETAIN and its key, "
            "and nothing approves their loss"
        )
    if needed and not answers.complete and answers.ask is None:
        return f"{counted(len(needed), 'change')} to approve: give --because, --by and --until, or use a terminal"
    return ""


def _asked(needed: Sequence[Change], answers: Answers, until: date | None, today: date) -> Iterator[Approval]:
    """One answer for what is told as one; of each stack with the same answer one file."""
    found: dict[tuple[str, str, str, date], list[Change]] = {}
    for block in blocks(needed):
        if not answers.complete and answers.ask:
            print(f"\n{block.kind.value}: {printable(block.title)}", file=sys.stderr)
            print("\n".join(f"  {printable(line)}" for line in block.lines), file=sys.stderr)
        because = answers.because if answers.because is not None else _text(answers.ask, "why? ")
        by = answers.by if answers.by is not None else _text(answers.ask, "who approves it? ")
        end = until or _day(_text(answers.ask, "until which day (YYYY-MM-DD)? "), today)
        if not because.strip() or not by.strip():
            raise InputError("an approval needs a reason and a name: nothing was written")
        for change in block.changes:
            found.setdefault((change.stack, because.strip(), by.strip(), end), []).append(change)
    for (stack, because, by, end), changes in found.items():
        entries = dict.fromkeys(approvals.entry(c) for c in changes)
        yield Approval(stack, because, by, end, tuple(entries))


def _text(ask: Ask | None, question: str) -> str:
    try:
        return ask(question) if ask else ""
    except EOFError:
        raise InputError("the answer is missing: nothing was written") from None


def _day(text: str, today: date) -> date:
    try:
        found = date.fromisoformat(text.strip())
    except ValueError:
        raise InputError(f"{text!r} is not a day such as {today.isoformat()}: nothing was written") from None
    if found < today:
        raise InputError(f"{found} is over: an approval ends today or later; nothing was written")
    return found
