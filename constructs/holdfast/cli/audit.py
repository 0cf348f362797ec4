"""`holdfast audit`: intent, deployed and live side by side."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from holdfast.audit.code import mentions
from holdfast.cli import options
from holdfast.cli.accounts import look
from holdfast.cli.output import report, tell
from holdfast.contract.history import read
from holdfast.report.text import against, audit_summary, unread
from holdfast.rules.base import Finding, Severity
from holdfast.verdict import Outcome


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--env", required=True, help="prod, test or all")
    command.add_argument(
        "--code", action="append", default=[], type=Path, metavar="DIR", help="also look for table names in this code"
    )
    command.add_argument(
        "--fail-on",
        choices=tuple(s.value for s in Severity),
        default=Severity.INFO.value,
        help="exit 1 only from this severity on (default: on any failure)",
    )
    options.account(command)
    options.findings(command)
    options.estate(command)


def run(args: argparse.Namespace) -> int:
    project, wanted = options.project(args), options.wanted(args)
    ignored = options.ignored(options.ids(args.ignore))
    hint = "log in to the right one, or name it with --account if nothing is deployed there yet"
    found, accounts, environments = look(
        args,
        project,
        lambda names: tuple(mentions(args.code, names)),
        if_empty=None if args.account or args.local else hint,
        history=read(),
    )
    findings = [f for f in found.findings if f.rule.id in wanted or (_unseen(f) and f.rule.id not in ignored)]
    print(against(found), file=sys.stderr)
    for account in accounts:
        tell(f"{'read' if account.id.isdigit() else 'could not read'} account {account.id} in {account.region}")
    if found.elsewhere:
        print(unread(found), file=sys.stderr)
    return report(
        args,
        findings,
        command="audit",
        env=",".join(e.label for e in environments),
        audit=found,
        fail_on=Severity(args.fail_on),
        summary=audit_summary(findings, found.rows),
    )


def _unseen(finding: Finding) -> bool:
    """What keeps the selected rules from being judged is told with them: a choice of rules makes nothing readable."""
    from holdfast.rules import estate, presence, strangers

    there = (estate.ABSENT, presence.ABSENT)
    return (finding.outcome is Outcome.FAIL and finding.rule in there) or (
        finding.outcome is Outcome.UNKNOWN and finding.rule in (*there, strangers.UNREAD, presence.UNDEPLOYED)
    )
