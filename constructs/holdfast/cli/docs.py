"""`holdfast docs`: the generated pages."""

from __future__ import annotations

import argparse

from holdfast.cli import options
from holdfast.inventory.pages import write


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is out of date")
    options.estate(command)


def run(args: argparse.Namespace) -> int:
    return write(options.project(args).estate, check=args.check)
