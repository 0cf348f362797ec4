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
from holdfast.rules import engine, estate
from holdfast.rules import presence as rules
from holdfast.rules.base import Finding
from holdfast.rules.live_subjects import Deployed, Presence
from holdfast.shared.account import Account, stack_of
from holdfast.unknown import Unknown
from holdfast.verdict import PASS, Verdict


def present(s: Seen) -> Finding:
    """Whether a declared table or store is there."""
    template, absent = template_of(s.stack), s.then.get(estate.ABSENT)
    there = PASS if absent is None else Verdict(absent.outcome, absent.detail)
    subject = Presence(
        placed=s.placed,
        about=s.what,
        where=s.where,
        live=s.live,
        asked=s.found.asked,
        stack=s.stack,
        deployed=template if isinstance(template, Unknown) else there,
    )
    if isinstance(s.what, Table):
        said = engine.verdict(rules.ABSENT, subject)
        return advised(engine.of(rules.ABSENT, said, subject, Source.LIVE), restore(s))
    source = Source.LIVE if subject.asked and subject.in_template else Source.DEPLOYED
    return engine.of(estate.ABSENT, engine.verdict(estate.ABSENT, subject), subject, source)


def deployed(placed: Placed, accounts: Sequence[Account], way: Way) -> Finding:
    """Whether a stack is there at all."""
    stack = stack_of(placed.region, placed.name, accounts)
    subject = Deployed(placed, stack)
    found = engine.of(rules.UNDEPLOYED, engine.verdict(rules.UNDEPLOYED, subject), subject, Source.DEPLOYED)
    return advised(found, made(way, "")) if stack is None else found
