"""`holdfast waivers`: the rules that are waived."""

from __future__ import annotations

import argparse

from holdfast.cli import options
from holdfast.days import day
from holdfast.rules import check_waivers
from holdfast.terminal import coloured, table, width

arguments = options.estate


def run(args: argparse.Namespace) -> int:
    estate, today = options.project(args).estate, day(args.at)
    check_waivers(estate)
    rows = [
        [s.name, w.environment.label, w.rule, f"{w.expires}{', over' if w.expires < today else ''}", w.owner, w.reason]
        for stack in estate.stacks
        for s in (*stack.tables, *stack.stores)
        for w in s.waivers
    ]
    header = ["store", "environment", "rule", "ends", "owner", "reason"]
    print(table([header, *rows], width(), headings=1, colour=coloured()) if rows else "No rule is waived.")
    return 0
