"""`holdfast iam`: the policy that a command needs."""

from __future__ import annotations

import argparse
import json

from holdfast.errors import InputError
from holdfast.shared.calls import policy


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("command", metavar="COMMAND", help="audit or fix")
    command.add_argument("--partition", default="aws", help="of the accounts: aws (default), aws-cn, aws-us-gov …")


def run(args: argparse.Namespace) -> int:
    from holdfast.aws.calls import AUDIT

    if args.command not in ("audit", "fix"):
        raise InputError(f"{args.command!r} is not a command that calls AWS: give audit or fix")
    needed = AUDIT
    if args.command == "fix":
        from holdfast.aws.apply import FIX

        needed = (*AUDIT, *FIX)
    print(json.dumps(policy(needed, args.partition), indent=2))
    return 0
