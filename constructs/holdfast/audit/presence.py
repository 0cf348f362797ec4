"""Whether what is declared is there: stacks deployed, tables and stores live and readable. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.audit.advice import Way
from holdfast.audit.places import template_of
from holdfast.audit.remedy import advised, made, restore
from holdfast.audit.seen import Seen
from holdfast.cfn.template import Source
from holdfast.estate.placement import Placed
from holdfast.kinds.table.declaration import Table
from holdfast.rules import engine, estate, finding
from holdfast.rules import presence as rules
from holdfast.rules.base import Finding
from holdfast.rules.subjects import Deployed, Presence
from holdfast.shared.account import Account, stack_of
from holdfast.unknown import Unknown
from holdfast.verdict import PASS, Verdict


def present(s: Seen) -> Finding:
    """Whether a declared table or store is there."""
    template, absent = template_of(s.stack), s.then.get(estate.ABSENT)
    there = PASS if absent is None else Verdict(absent.outcome, absent.detail)
    deployed = template if isinstance(template, Unknown) else there
    subject = Presence(placed=s.placed, live=s.live, asked=s.found.asked, stack=s.stack, deployed=deployed)
    if isinstance(s.what, Table):
        return advised(s.judged(rules.ABSENT, subject), restore(s))
    return s.judged(estate.ABSENT, subject, Source.LIVE if s.found.asked and deployed == PASS else Source.DEPLOYED)


def deployed(placed: Placed, accounts: Sequence[Account], way: Way) -> Finding:
    """Whether a stack is there at all."""
    stack = stack_of(placed.region, placed.name, accounts)
    verdict = engine.verdict(rules.UNDEPLOYED, Deployed(placed, stack))
    found = finding(rules.UNDEPLOYED, verdict, placed, None, f"{placed.region}/{placed.name}", Source.DEPLOYED)
    return advised(found, made(way, "")) if stack is None else found
