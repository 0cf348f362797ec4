"""`holdfast diff`: what a change of the contract does."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from holdfast.cli.output import put
from holdfast.contract import approvals, files, states, text
from holdfast.contract.diff import diff
from holdfast.days import day
from holdfast.errors import InputError
from holdfast.report import changes as documents
from holdfast.report.places import shown_from
from holdfast.terminal import coloured


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--against", metavar="REV", help="a commit (default: where this left the default branch)")
    command.add_argument("--format", choices=("text", "markdown", "json", "sarif"), default="text")
    command.add_argument("--output", type=Path, metavar="FILE", help="write it there instead of to the screen")
    command.add_argument("--estate", metavar="MODULE:NAME", help="where SARIF finds the declarations (optional)")


def run(args: argparse.Namespace) -> int:
    folder, base = states.compared(args.against)
    before, after = states.committed(folder, base.commit), states.working(folder)
    changes = diff(before, after)
    spent = states.approvals_at(folder, base.commit)
    review = approvals.review(changes, approvals.read(folder), spent, day(args.at))
    match args.format:
        case "json":
            contracts = {**before, **after}
            made = documents.as_json(changes, base.says, review, contracts, shown_from(folder / files.FOLDER))
        case "markdown":
            made = text.markdown(changes, base.says, review)
        case "sarif":
            made = documents.sarif(changes, review, folder, _declared(args, folder))
        case _:
            made = text.text(changes, base.says, review, colour=coloured() and args.output is None)
    put(made, args.output)
    print(f"{text.summary(changes)}{text.left(review)}", file=sys.stderr)
    return 0 if review.passes else 1


def _declared(args: argparse.Namespace, folder: Path) -> dict[str, str]:
    """Where each store is declared, by its name; nothing where no estate is named."""
    from holdfast.estate.finder import find
    from holdfast.model.located import declarations

    try:
        project = find(args.estate)
    except InputError:
        if args.estate:
            raise
        return {}
    known, above = declarations(project.source), project.source.parent.resolve()
    inside = above.relative_to(folder).as_posix() if above.is_relative_to(folder) else ""
    return {
        place.fill(store.name): str(Path(inside) / known[store.name].where)
        for place in project.estate.placements()
        for store in (*place.tables, *place.stores)
        if store.name in known
    }
