"""`holdfast iam`: the policy that a command needs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from holdfast.cli import options
from holdfast.cli.output import tell
from holdfast.errors import InputError
from holdfast.estate.placement import Placed
from holdfast.model.regions import partition
from holdfast.shared.calls import Scope, policy

LONGEST = 6_144  # characters of a managed policy, which IAM counts without white space
ELSE = "make it an inline policy of a role, which takes 10,240, or give --env for a shorter one"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("command", metavar="COMMAND", help="audit or fix")
    command.add_argument("--env", default="all", help="prod, test or all (default)")
    command.add_argument("--partition", help="of the accounts, where they are in several: aws, aws-cn, aws-us-gov …")
    options.estate(command)


def run(args: argparse.Namespace) -> int:
    from holdfast.aws.calls import AUDIT

    if args.command not in ("audit", "fix"):
        raise InputError(f"{args.command!r} is not a command that calls AWS: give audit or fix")
    estate = options.project(args).estate
    scopes = _scopes(estate.placements(estate.named(args.env)), args.env, args.partition)
    needed = AUDIT
    if args.command == "fix":
        from holdfast.aws.apply import FIX

        needed = (*AUDIT, *FIX)
    document = policy(needed, scopes)
    print(json.dumps(document, indent=2))
    if (length := len(json.dumps(document, separators=(",", ":")))) > LONGEST:
        tell(f"it has {length:,} characters, more than the {LONGEST:,} of a managed policy: {ELSE}")
    return 0


def _scopes(places: Sequence[Placed], env: str, asked: str | None) -> list[Scope]:
    """The accounts and regions of an environment, each with its tables; a policy is of one partition."""
    found = {partition(p.region) for p in places}
    if asked is None and len(found) > 1:
        raise InputError(f"{env} is in several partitions, and a policy fits one: give --partition {_listed(found)}")
    if asked is not None and asked not in found:
        raise InputError(f"nothing of {env} is declared in --partition {asked!r}: known are {_listed(found)}")
    tables: dict[tuple[str, str], list[str]] = {}
    for p in places:
        if asked in (None, partition(p.region)):
            tables.setdefault((p.region, p.account or "*"), []).extend(p.fill(t.name) for t in p.tables)
    return [
        Scope(partition=partition(region), region=region, account=account, tables=names)
        for (region, account), names in tables.items()
    ]


def _listed(partitions: set[str]) -> str:
    return ", ".join(sorted(partitions)) or "none"
