"""`holdfast list`: the register."""

from __future__ import annotations

import argparse

from holdfast.cli import options
from holdfast.inventory.listing import Wanted, show


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--env", default="all", help="an environment, or all (default)")
    command.add_argument("--system", help="only stacks of this system")
    command.add_argument("--owner", help="only stacks of this owner")
    command.add_argument("--table", metavar="NAME", help="only this table or store, whole; orders-* takes several")
    command.add_argument(
        "--state", help="only tables of this use or governance: mirror, dead, orphan, 'not deployed' …"
    )
    part = command.add_mutually_exclusive_group()
    part.add_argument(
        "--sources", action="store_const", const="sources", dest="part", help="where each fact comes from"
    )
    part.add_argument(
        "--assumed", action="store_const", const="assumed", dest="part", help="what no source gives, with the reason"
    )
    part.add_argument("--wide", action="store_true", help="everything that is known of each, on long lines")
    command.add_argument("--format", choices=("text", "json"), default="text")
    options.estate(command)


def run(args: argparse.Namespace) -> int:
    wanted = Wanted(env=args.env, system=args.system, owner=args.owner, state=args.state, table=args.table)
    estate = options.project(args).estate
    print(show(estate, wanted, part=args.part, wide=args.wide, as_json=args.format == "json"))
    return 0
