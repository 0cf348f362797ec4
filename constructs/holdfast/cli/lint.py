"""`holdfast lint`: the declared keys, indexes and access patterns."""

from __future__ import annotations

import argparse

from holdfast.cli import options
from holdfast.cli.output import report
from holdfast.days import day
from holdfast.rules.schema import lint


def arguments(command: argparse.ArgumentParser) -> None:
    options.findings(command)
    options.estate(command)


def run(args: argparse.Namespace) -> int:
    project = options.project(args)
    wanted = options.wanted(args)
    findings = [f for f in lint(project.estate, today=day(args.at)) if f.rule.id in wanted]
    return report(args, findings, command="lint", env="all", project=project)
