"""The `holdfast` command: which commands there are, and how each of them ends."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from holdfast.cli.options import EPILOG

COMMANDS = {  # each is a module of this folder
    "list": "the register: every table and store, its state and guards",
    "check": "compare what was synthesized with the contract, and judge it by the rules",
    "diff": "what a change weakens, removes, replaces or adds",
    "accept": "write what was synthesized as the contract",
    "lint": "judge the declared keys, indexes and access patterns",
    "audit": "intent, deployed and live side by side",
    "fix": "turn on what is required and off, on live tables",
    "waivers": "the rules that are waived, by whom and until when",
    "explain": "what a rule wants, why, and how to fix what it finds",
    "db": "PostgreSQL: migrate, check, retain, restore-check, psql",
    "iam": "the least-privilege policy that a command needs",
    "local": "the whole estate on this machine, without AWS",
    "layer": "build what the functions of databases need, into build/layer",
    "docs": "write the generated pages",
}

EXTRAS = {
    "botocore": "aws",
    "boto3": "aws",
    "psycopg": "postgres,local",
    "filelock": "local",
    "ministack": "local",
}  # what a command may find missing, and the extra that brings it


def main(argv: Sequence[str] | None = None, *, now: datetime | None = None) -> int:
    """One command; what it judges by time it judges at ``now``, which is what the clock says unless given."""
    from holdfast.errors import InputError
    from holdfast.model.declaration import DeclarationError
    from holdfast.text import printable

    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()  # None: closed by the caller
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for a locale that lacks a character; stderr does so already
    try:
        args = _parser().parse_args(argv)
        args.at = now or datetime.now(UTC)
        status = int(args.run(args))
        sys.stdout.flush()
        return status
    except (DeclarationError, InputError) as error:
        print(f"holdfast: {printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130  # whatever was being done can be done again
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        print(f"holdfast: {error.name} is missing: pip install 'holdfast[{EXTRAS[error.name]}]'", file=sys.stderr)
        return 2
    except BrokenPipeError:
        from holdfast.cli.output import drop

        drop()
        return 141  # as a shell has it: how it would have ended is not known
    except OSError as error:
        said = f"{error.strerror or error}: {error.filename or 'the output'}"
        print(f"holdfast: {printable(said)}", file=sys.stderr)
        return 2


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w")


class _Version(argparse.Action):
    """Reads the package's metadata when it is asked for, and not before."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from holdfast.contract.stamp import release

        print(f"holdfast {release()}")
        parser.exit()


class _Command(argparse.ArgumentParser):
    """A command whose module is imported when it is the one that runs: --help and the others stay quick."""

    module = ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.module:
            module = import_module(f"holdfast.cli.{self.module}")
            module.arguments(self)
            self.set_defaults(run=module.run)
        return super().parse_known_args(args, namespace)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="holdfast", description="Declared data stores: what they are and what protects them.", epilog=EPILOG
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="the version of this library")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Command)
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary, epilog=EPILOG).module = name
    return parser
