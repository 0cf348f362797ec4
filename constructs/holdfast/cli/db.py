"""`holdfast db`: its steps are in databases.py, which needs the extra `postgres`; its help does not."""

from __future__ import annotations

import argparse

from holdfast.cli import options


def arguments(command: argparse.ArgumentParser) -> None:
    commands = command.add_subparsers(required=True, metavar="COMMAND", parser_class=argparse.ArgumentParser)

    def add(name: str, summary: str) -> argparse.ArgumentParser:
        step = commands.add_parser(name, help=summary, epilog=options.EPILOG)
        step.set_defaults(step=name)
        return step

    def on_a_server(name: str, summary: str) -> argparse.ArgumentParser:
        step = add(name, summary)
        step.add_argument("--schema", help="a folder of schemas/ (default: each, on the embedded server)")
        step.add_argument("--dsn", help="any PostgreSQL from 14 on (default: an embedded one, kept in .holdfast/)")
        return step

    migrate = on_a_server("migrate", "apply the numbered SQL files that are not applied yet")
    migrate.add_argument("--plan", action="store_true", help="only say what would be applied")
    check = on_a_server("check", "compare the declared catalog with the live one")
    check.add_argument("--format", choices=("text", "json"), default="text")
    retain = on_a_server("retain", "create partitions ahead, archive and drop expired ones, purge expired rows")
    retain.add_argument(
        "--archive",
        metavar="WHERE",
        help="a folder or s3://bucket/prefix (default on the embedded server: .holdfast/archive)",
    )
    retain.add_argument(
        "--now",
        metavar="TIME",
        help="act as if it were this time, such as 2026-11-16T05:00Z (default: the server's clock)",
    )
    retain.add_argument("--force-now", action="store_true", help="with --dsn, --now without --plan needs it")
    retain.add_argument("--plan", action="store_true", help="only say what would be done")
    restore = add("restore-check", "read an archive back into a scratch database and compare")
    restore.add_argument("archive", metavar="ARCHIVE", help="a manifest, or a folder or s3://bucket/prefix of them")
    psql = on_a_server("psql", "open psql, or run it with what follows --")
    psql.add_argument("arguments", nargs="*", metavar="ARGUMENT")


def run(args: argparse.Namespace) -> int:
    from holdfast.cli import databases

    return databases.run(args)
