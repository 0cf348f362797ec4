"""`holdfast list`: the register."""

from __future__ import annotations

import argparse

from holdfast.cli import options
from holdfast.inventory.listing import show


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--env", default="all", help="prod, test or all (default)")
    command.add_argument("--system", help="only this system's tables")
    command.add_argument("--assumed", action="store_true", help="the facts that no source gives, with the reason")
    command.add_argument("--format", choices=("text", "json"), default="text")
    options.estate(command)


def run(args: argparse.Namespace) -> int:
    estate = options.project(args).estate
    print(show(estate, env=args.env, system=args.system, assumed=args.assumed, as_json=args.format == "json"))
    return 0
