"""What a difference from the contract is called where no other rule reads the place."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.engine import Rules
from holdfast.rules.subjects import Apart
from holdfast.verdict import EXEMPT, Verdict, fail, unknown


def _told(where: Callable[[Apart], bool]) -> tuple[Check[Apart]]:
    def told(s: Apart) -> Verdict:
        return EXEMPT if not where(s) else fail(s.says) if s.sure else unknown(s.says)

    return (Check(Apart, told),)


ADDED = Rule(
    id="HF701",
    title="Everything that is synthesized is in the contract",
    why="What was not reviewed may delete, copy or open what is declared: a custom resource, a role, a trigger, a property.",
    remediation="Undo it, or review it and write it into the contract with make accept.",
    severity=Severity.HIGH,
    checks=_told(lambda s: s.plain and s.after and not s.before),
)
MISSING = Rule(
    id="HF702",
    title="Everything in the contract is synthesized",
    why="What leaves a template is deleted or left behind by the next deploy, with whatever it protected.",
    remediation="Restore it, or take it out of the contract with make accept.",
    severity=Severity.HIGH,
    checks=_told(lambda s: s.plain and not s.after),
)
DIFFERS = Rule(
    id="HF703",
    title="What is synthesized equals the contract",
    why="The contract is what was reviewed; whatever differs from it was not.",
    remediation="Undo it, or review it and write it into the contract with make accept.",
    severity=Severity.MEDIUM,
    checks=_told(lambda s: s.plain and s.before and s.after),
)
HIDES = Rule(
    id="HF704",
    title="Templates are written out, without macros, includes, modules or loops",
    why="A macro, an include, a loop, a module or a template elsewhere decides at deploy time what is made: no review saw it.",
    remediation="Write out what it makes, and drop the macro, include, loop, module or reference.",
    severity=Severity.HIGH,
    checks=_told(lambda s: s.hides),
)
MANIFEST = Rule(
    id="HF705",
    title="Manifest and code equal the contract",
    why="Account, roles, tags, notifications, parameters and the code of functions decide as much as the template, and stand "
    "outside of it.",
    remediation="Undo it, or review it and write it into the contract with make accept; after a change by hand synthesize again.",
    severity=Severity.HIGH,
    checks=_told(lambda s: s.outside and not s.hides),
)
RULES = (ADDED, MISSING, DIFFERS, HIDES, MANIFEST)
_RULES = Rules(RULES)


def judged(s: Apart) -> tuple[Rule, Verdict]:
    """The one rule that a difference is told by, and what it says."""
    return next((rule, said) for rule, said in _RULES.judge(s) if said is not EXEMPT)
