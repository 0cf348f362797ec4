"""`holdfast accept`: what was synthesized becomes the contract, once its difference has been shown and approved."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.contract import approvals, files, make, page, states, text
from holdfast.contract.approvals import Approval
from holdfast.contract.assembly import Synthesized, environments_in, stacks
from holdfast.contract.diff import Change, diff
from holdfast.contract.groups import blocks
from holdfast.contract.guards import environment
from holdfast.contract.refused import ID, missing, unacceptable
from holdfast.errors import InputError
from holdfast.text import counted, printable

if TYPE_CHECKING:
    from holdfast.estate.finder import Project
    from holdfast.rules.base import Finding

Json = dict[str, Any]
Ask = Callable[[str], str]
REFUSED = 1  # a rule fails, or a change weakens without an approval: nothing is written
FAILURES = 10  # that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What was given on the command line, and how to ask for the rest; None: there is no one to ask."""

    because: str | None = None
    by: str | None = None
    until: str | None = None
    ask: Ask | None = None

    @property
    def complete(self) -> bool:
        return None not in (self.because, self.by, self.until)


@dataclass(frozen=True, slots=True)
class Before:
    """What the synthesized contracts are compared with."""

    contracts: Mapping[str, Json]
    spent: Sequence[str]
    says: str


def run(
    outdir: Path,
    folder: Path,
    say: Callable[[str], None],
    *,
    answers: Answers,
    today: date,
    against: str | None,
    project: Project | None = None,
) -> int:
    found = stacks(outdir)
    made = _made(outdir, found)
    failed = _failed(outdir, found, project, today) if project else []
    until = _day(answers.until, today) if answers.until is not None else None
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        raise InputError("accept writes what a person has reviewed, so it does not run in CI: run it on your machine")
    before = _before(folder, made, against)
    left = _left(folder, made)
    known = approvals.read(folder)
    changes = diff(before.contracts, made)
    seen = approvals.review(changes, known, before.spent, today)
    say(text.text(changes, before.says, approvals.Review(used=seen.used)))
    if failed:
        from holdfast.report import render

        say(render("text", failed[:FAILURES], command="accept", env=""))
        more = f", of which {FAILURES} are shown" if len(failed) > FAILURES else ""
        lost = f"{counted(len(failed), 'rule')} failed{more}: a wrong contract cannot be accepted"
        print(f"holdfast: {lost}; nothing was written", file=sys.stderr)
        return REFUSED
    if refusal := _refusal(seen.open, answers):
        print(f"holdfast: {refusal}; nothing was written", file=sys.stderr)
        return REFUSED
    given = list(_asked(seen.open, answers, until, today))
    stale = [n for n, s in seen.states.items() if s != "used" and (s == "spent" or known[n].stack in before.contracts)]
    _write(folder, made, left, {approvals.file_name(a, before.spent): approvals.text(a) for a in given}, stale)
    also = f", {counted(len(given), 'approval')} to {approvals.FOLDER}/" if given else ""
    gone = f"; removed {', '.join(left)}" if left else ""
    wrote = counted(len(made), "contract")
    print(f"{text.summary(changes)}; wrote {wrote} to {files.FOLDER}/{also}{gone}", file=sys.stderr)
    return 0


def _failed(outdir: Path, found: Sequence[Synthesized], project: Project, today: date) -> list[Finding]:
    """What `check` will say of the declared stacks, the worst first: no contract can excuse it."""
    from holdfast.contract import check_command
    from holdfast.report.places import at_declarations
    from holdfast.rules.base import ORDER
    from holdfast.verdict import Outcome

    check_command.prepare(outdir, project.estate)
    environments = environments_in((s.seen for s in found), project.estate)
    findings = check_command.judged(found, project.estate, environments, today)
    failed = [f for f in findings if f.outcome is Outcome.FAIL]
    return at_declarations(sorted(failed, key=lambda f: ORDER[f.rule.severity]), project)


def _made(outdir: Path, found: Iterable[Synthesized]) -> dict[str, Json]:
    made = make.made(found)
    if not made:
        raise InputError(f"{outdir} has no stack: run `cdk synth -c env=all` first")
    for provider in missing(outdir):
        raise InputError(f"{outdir} waits for a look-up ({provider}): run `cdk synth` where it can be answered")
    for id_, contract in made.items():
        if not ID.fullmatch(id_):
            raise InputError(f"{id_!r} cannot name a file: give the stack another id")
        for why in unacceptable(contract):
            raise InputError(f"{id_} cannot be accepted: {why}")
    return made


# What it is compared with


def _before(folder: Path, made: Mapping[str, Json], against: str | None) -> Before:
    """The contracts that `diff` will compare with later; without a base in git, the files."""
    try:
        base = states.base(folder, against, ahead=True)
    except InputError:
        if against is not None:
            raise
        found = {
            id_: make.brought_up(files.read(path))
            for id_ in (*made, *_left(folder, made))
            if (path := folder / files.FOLDER / f"{id_}.json").is_file()
        }
        return Before(found, (), f"the contracts in {files.FOLDER}/")
    here = {environment(c) for c in made.values()}
    found = states.committed(folder, base.commit)
    part = {id_: c for id_, c in found.items() if id_ in made or environment(c) in here}
    return Before(part, states.approvals_at(folder, base.commit), base.says)


def _left(folder: Path, made: Mapping[str, Json]) -> list[str]:
    """Contracts whose stack is not synthesized any more, while others of its environment are."""
    here = {environment(c) for c in made.values()}
    others = sorted(p for p in (folder / files.FOLDER).glob("*.json") if p.stem not in made)
    return [p.stem for p in others if environment(files.read(p)) in here]


# Reason, approver and end


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
        return f"{counted(len(needed), 'change')} to approve, and no terminal to ask: give --because, --by and --until"
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
            raise InputError("an approval says why and who: nothing was written")
        for change in block.changes:
            found.setdefault((change.stack, because.strip(), by.strip(), end), []).append(change)
    for (stack, because, by, end), changes in found.items():
        entries = dict.fromkeys(approvals.entry(c) for c in changes)
        yield Approval(stack, because, by, end, tuple(entries))


def _text(ask: Ask | None, question: str) -> str:
    try:
        return ask(question) if ask else ""
    except EOFError:
        raise InputError("no answer: nothing was written") from None


def _day(text: str, today: date) -> date:
    try:
        found = date.fromisoformat(text.strip())
    except ValueError:
        raise InputError(f"{text!r} is not a day such as {today.isoformat()}: nothing was written") from None
    if found < today:
        raise InputError(f"{found} is over: an approval ends today or later; nothing was written")
    return found


# Files


def _write(
    folder: Path, made: Mapping[str, Json], left: Iterable[str], given: Mapping[str, str], stale: Iterable[str]
) -> None:
    """Everything is written beside its place first, and then put there.

    What cannot be written, or has a place that something else takes, leaves all as it was.
    """
    contracts = folder / files.FOLDER
    gone = {*left}
    kept = {p.stem: p for p in contracts.glob("*.json") if p.stem not in made and p.stem not in gone}
    everything = {**{id_: make.brought_up(files.read(p)) for id_, p in kept.items()}, **made}
    wanted = {contracts / f"{id_}.json": files.text(contract) for id_, contract in made.items()}
    wanted |= {folder / approvals.FOLDER / name: content for name, content in given.items()}
    wanted[folder / page.FILE] = page.page(everything)
    for path in wanted:
        _free(path)
    waiting = {path: path.with_name(f".{path.name}.new") for path in wanted}
    try:
        for path, content in wanted.items():
            path.parent.mkdir(exist_ok=True)
            waiting[path].write_text(content, encoding="utf-8", newline="\n")
        for path, new in waiting.items():
            new.replace(path)
    finally:
        for new in waiting.values():
            new.unlink(missing_ok=True)
    for path in [contracts / f"{id_}.json" for id_ in gone] + [folder / approvals.FOLDER / name for name in stale]:
        if path not in wanted:
            path.unlink(missing_ok=True)


def _free(path: Path) -> None:
    """Refuses a place that a file cannot be put to."""
    if path.parent.exists() and not path.parent.is_dir():
        raise InputError(f"{path.parent} is not a folder: move it away, and accept again; nothing was written")
    if path.is_dir():
        raise InputError(f"{path} is a folder, and a file belongs there: move it away; nothing was written")
