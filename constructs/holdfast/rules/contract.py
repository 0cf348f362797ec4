"""What a difference from the contract is called where no other rule reads the place."""

from __future__ import annotations

from holdfast.rules.base import Rule, Severity

ADDED = Rule(
    id="HF701",
    title="Everything that is synthesized is in the contract",
    why="What was not reviewed may delete, copy or open what is declared: a custom resource, a role, a trigger, a property.",
    remediation="Undo it, or review it and write it into the contract with make accept.",
    severity=Severity.HIGH,
)
MISSING = Rule(
    id="HF702",
    title="Everything in the contract is synthesized",
    why="What leaves a template is deleted or left behind by the next deploy, with whatever it protected.",
    remediation="Restore it, or take it out of the contract with make accept.",
    severity=Severity.HIGH,
)
DIFFERS = Rule(
    id="HF703",
    title="What is synthesized equals the contract",
    why="The contract is what was reviewed; whatever differs from it was not.",
    remediation="Undo it, or review it and write it into the contract with make accept.",
    severity=Severity.MEDIUM,
)
HIDES = Rule(
    id="HF704",
    title="Templates are written out, without macros, includes, modules or loops",
    why="A macro, an include, a loop, a module or a template elsewhere decides at deploy time what is made: no review saw it.",
    remediation="Write out what it makes, and drop the macro, include, loop, module or reference.",
    severity=Severity.HIGH,
)
MANIFEST = Rule(
    id="HF705",
    title="Manifest and code equal the contract",
    why="Account, roles, tags, notifications, parameters and the code of functions decide as much as the template, and stand "
    "outside of it.",
    remediation="Undo it, or review it and write it into the contract with make accept; after a change by hand synthesize again.",
    severity=Severity.HIGH,
)
RULES = (ADDED, MISSING, DIFFERS, HIDES, MANIFEST)
