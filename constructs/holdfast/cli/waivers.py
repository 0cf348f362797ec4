"""`holdfast waivers`: the rules that are waived."""

from __future__ import annotations

import argparse

from holdfast.cli import options
from holdfast.days import day
from holdfast.rules import check_waivers
from holdfast.text import columns

arguments = options.estate


def run(args: argparse.Namespace) -> int:
    estate, today = options.project(args).estate, day(args.at)
    check_waivers(estate)
    rows = [
        [w.rule, t.name, w.environment.label, f"{w.expires}{', over' if w.expires < today else ''}", w.owner, w.reason]
        for stack in estate.stacks
        for t in (*stack.tables, *stack.stores)
        for w in t.waivers
    ]
    print(
        columns([["rule", "table", "environment", "ends", "owner", "reason"], *rows]) if rows else "No rule is waived."
    )
    return 0
