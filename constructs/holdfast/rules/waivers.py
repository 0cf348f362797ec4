"""Waivers: a failure that a named owner answers for, in one environment and until a day."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from holdfast.cfn.template import Source
from holdfast.estate.placement import Placed
from holdfast.model.environment import Environment
from holdfast.model.facts import Waiver
from holdfast.rules.base import Check, Finding, Rule, Severity
from holdfast.rules.engine import finding, verdict
from holdfast.verdict import PASS, Outcome, Verdict, fail

LONGEST = 366  # days: a year, whichever it is


@dataclass(frozen=True, slots=True)
class Waived:
    """One waiver on one day."""

    waiver: Waiver
    today: date

    @property
    def left(self) -> int:
        """Days until it ends; none are left on its last one, on which it still holds."""
        return (self.waiver.expires - self.today).days


def holding(s: Waived) -> Verdict:
    if s.left < 0:
        return fail(f"its waiver of {s.waiver.rule} by {s.waiver.owner} ended on {s.waiver.expires}")
    if s.left > LONGEST:
        return fail(f"its waiver of {s.waiver.rule} by {s.waiver.owner} ends in {s.left} days; at most a year ahead")
    return PASS


CURRENT = Rule(
    id="HF212",
    title="Waivers have not expired, and end within a year",
    why="A waiver is a debt with a last day. One that is over excuses nothing, also where its rule passes today: the next failure is "
    "taken for one that was agreed. One without an end in sight is a rule that was switched off.",
    remediation="Drop the waiver from the declaration of {table}; or agree on it anew, with a reason and a last day within a year.",
    severity=Severity.MEDIUM,
    checks=(Check(Waived, holding),),
)
RULES = (CURRENT,)


def standing(places: Iterable[Placed], today: date, rules: Container[str] | None = None) -> Iterator[Finding]:
    """Whether each waiver is one that can be, whatever its rule says; of ``rules`` only, where some are named."""
    for placed in places:
        for store in (*placed.tables, *placed.stores):
            for waiver in store.waivers:
                if waiver.environment == placed.env and (rules is None or waiver.rule in rules):
                    said = verdict(CURRENT, Waived(waiver, today))
                    where = f"{placed.id}/{placed.fill(store.name)}/{waiver.rule}"
                    yield finding(CURRENT, said, placed, store, where, Source.DECLARATION)


def waived(found: Finding, waivers: Iterable[Waiver], environments: Sequence[Environment], today: date) -> Finding:
    """``found``, exempt while its rule is waived in all ``environments`` that it is about; else what is in the way."""
    if found.outcome is not Outcome.FAIL:
        return found
    mine = [w for w in waivers if w.rule == found.rule.id and w.environment in environments]
    if not mine:
        return found
    said = {w: holding(Waived(w, today)) for w in mine}
    good = [w for w in mine if said[w] is PASS]
    left = [e.label for e in environments if e not in {w.environment for w in good}]
    if not left:
        last = min(good, key=lambda w: w.expires)
        detail = f"waived until {last.expires} by {last.owner}: {last.reason} ({found.detail})"
        return replace(found, outcome=Outcome.EXEMPT, detail=detail)
    why = [v.detail for v in said.values() if v.detail] or [f"it is not waived in {', '.join(left)}"]
    return replace(found, detail="; ".join((found.detail, *why)))
