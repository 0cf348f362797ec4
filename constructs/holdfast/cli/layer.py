"""`holdfast layer`: what the functions of databases need."""

from __future__ import annotations

import argparse
from pathlib import Path

from holdfast.kinds.database.layer import build


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--authorities", type=Path, metavar="FILE", help="RDS's certificates in PEM, where its region is a newer one"
    )


def run(args: argparse.Namespace) -> int:
    print(f"Built {build(Path(), args.authorities)}.")
    return 0
