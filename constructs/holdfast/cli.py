"""The `holdfast` command. Each subcommand imports what it needs when it runs, so that --help stays quick."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from holdfast.model import DeclarationError

EPILOG = (
    "exit status: 0 nothing wrong; 1 a rule failed or a plan is destructive; "
    "2 bad usage or input; 3 could not see enough to say"
)


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    try:
        return int(args.run(args))
    except DeclarationError as error:
        print(f"holdfast: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        sys.stderr.close()  # the reader (head, less) has seen enough
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="holdfast", description="Declared data stores: what they are and what protects them.", epilog=EPILOG
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    register = commands.add_parser("list", help="the register: every table, its state, owner and guards", epilog=EPILOG)
    register.add_argument("--env", default="all", help="prod, test or all (default)")
    register.add_argument("--system", help="only this system's tables")
    register.add_argument("--assumed", action="store_true", help="the facts that no source gives, with the reason")
    register.add_argument("--format", choices=("text", "json"), default="text")
    register.set_defaults(run=_list)

    docs = commands.add_parser("docs", help="write the generated pages", epilog=EPILOG)
    docs.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is out of date")
    docs.set_defaults(run=_docs)
    return parser


def _list(args: argparse.Namespace) -> int:
    from holdfast.register import show
    from stacks import CATALOG

    print(show(CATALOG, env=args.env, system=args.system, assumed=args.assumed, as_json=args.format == "json"))
    return 0


def _docs(args: argparse.Namespace) -> int:
    from holdfast.docs import write
    from stacks import CATALOG

    return write(CATALOG, check=args.check)


if __name__ == "__main__":
    sys.exit(main())
