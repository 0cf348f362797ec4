"""Options that several commands have, and what they mean."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import InputError

if TYPE_CHECKING:
    from holdfast.estate.finder import Project

EPILOG = (
    "exit status: 0 nothing wrong; 1 a rule failed, something differs from the contract, "
    "a change weakens without an approval, or `fix` has calls to make; "
    "2 bad usage or input; 3 could not see enough to say"
)
NEAREST = 3  # rules that are named for one that does not exist


def estate(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--estate",
        metavar="MODULE:NAME",
        help="the declared stacks, such as stacks:ESTATE "
        "(default: HOLDFAST_ESTATE, else [tool.holdfast] of the project file)",
    )


def outdir(command: argparse.ArgumentParser) -> None:
    command.add_argument("outdir", nargs="?", type=Path, default=Path("cdk.out"), metavar="CDK_OUT")


def findings(command: argparse.ArgumentParser) -> None:
    """How findings are reported, and which."""
    from holdfast.report import FORMATS

    command.add_argument("--format", choices=FORMATS, default="text")
    command.add_argument(
        "--output", type=Path, metavar="FILE", help="write the findings there instead of to the screen"
    )
    command.add_argument("--all", action="store_true", help="also what passed or is exempt")
    command.add_argument("--select", metavar="RULES", help="only these rules, such as HF001,HF004")
    command.add_argument("--ignore", metavar="RULES", help="not these rules")


def account(command: argparse.ArgumentParser) -> None:
    """Which environment, accounts and regions a command looks at; holdfast.aws.options.Options takes them."""
    command.add_argument("--profile", action="append", default=[], help="an AWS profile; again for another account")
    command.add_argument(
        "--account", action="append", default=[], metavar="ID", help="this account and no other; `fix --apply` needs it"
    )
    command.add_argument("--role-arn", metavar="ARN", help="a role to assume, from each profile")
    command.add_argument("--region", action="append", default=[], help="again for another region")
    command.add_argument("--endpoint-url", metavar="URL", help="an emulator instead of AWS")
    command.add_argument("--local", action="store_true", help="look at what `holdfast local` runs, never at AWS")


def project(args: argparse.Namespace) -> Project:
    """The estate of the repository that the command runs in, or the one that was asked for."""
    from holdfast.estate import finder

    return finder.find(args.estate)


def project_if_any(args: argparse.Namespace) -> Project | None:
    """The same for commands that need contracts only."""
    from holdfast.estate import finder

    try:
        return finder.find(args.estate)
    except finder.NoEstateError:
        return None


def wanted(args: argparse.Namespace) -> set[str]:
    """The ids of the rules that were asked for."""
    from holdfast.rules import BY_ID
    from holdfast.rules.former import note

    select, ignore = ids(args.select), ids(args.ignore)
    if args.select is not None and not select:
        raise InputError("--select is empty: give ids, such as HF001,HF004")
    left_out = ignored(ignore)
    for told in filter(None, map(note, (*select, *ignore))):
        print(f"note: {told}", file=sys.stderr)
    return set(known(select) or BY_ID) - left_out


def ignored(names: Sequence[str]) -> set[str]:
    """The rules that are left out; a rule that became a part of the contract takes no difference from it along."""
    from holdfast.rules.former import DROPPED

    known(names)
    return set(known([i for i in names if i not in DROPPED]))


def ids(text: str | None) -> list[str]:
    """Rule ids as they are typed: with commas between them, in any case."""
    return [i for i in (part.strip().upper() for part in (text or "").split(",")) if i]


def known(names: Sequence[str]) -> list[str]:
    """Rules by the ids that they have today."""
    from holdfast.rules import BY_ID
    from holdfast.rules.former import current

    for rule in names:
        if current(rule) not in BY_ID:
            *others, last = get_close_matches(rule, BY_ID, NEAREST, cutoff=0)
            raise InputError(f"unknown rule {rule!r}: did you mean {', '.join(others)} or {last}?")
    return [current(rule) for rule in names]
