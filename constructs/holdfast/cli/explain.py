"""`holdfast explain`: what a rule wants."""

from __future__ import annotations

import argparse

from holdfast.cli import options
from holdfast.inventory.pages import rule_text
from holdfast.rules import BY_ID
from holdfast.rules.former import note


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("rule", metavar="RULE", help="such as HF001")


def run(args: argparse.Namespace) -> int:
    asked = args.rule.upper()
    (rule,) = options.known([asked])
    print("\n\n".join(filter(None, (note(asked), rule_text(BY_ID[rule])))))
    return 0
