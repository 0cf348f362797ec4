"""A change as a finding: with the rule that reads the place, else with one of the contract's own. Pure."""

from __future__ import annotations

from typing import Any

from holdfast.cfn.compare import ABSENT
from holdfast.contract.diff import Change, Kind
from holdfast.contract.groups import line_of, shown
from holdfast.rules.base import Finding, Rule
from holdfast.rules.contract import judged
from holdfast.rules.reading import reading
from holdfast.rules.subjects import Apart

UNDO = "undo it: nothing approves this"


def read_by(change: Change) -> Rule | None:
    """The rule that reads the place; None where none does."""
    if change.path[:1] == ("stack",):
        return reading("stack", change.path[1:])
    if not change.type or not change.resource:
        return None
    if not change.gone:
        return reading(str(change.after) if change.path == ("Type",) else change.type, change.path)
    rule = reading(change.type, ("Type",))
    return None if rule is None or rule.forbids else rule


def apart(change: Change, says: str) -> Apart:
    section = change.path[:1] == ("template",)  # of the template: an output, a parameter, a condition
    gone = change.gone or change.kind is Kind.REMOVED or (section and change.after is ABSENT)
    new = change.kind is Kind.ADDED or (section and change.before is ABSENT)
    outside = change.path[:1] in (("stack",), ("code",))
    return Apart(says=says, before=gone or not new, after=not gone, outside=outside)


def explained(change: Change, *, folder: str, rule: Rule | None = None, **more: Any) -> Finding:
    """``folder`` is where contracts are, as reports shall name it; ``more`` is what a change alone does not say."""
    id_, _, nested = change.stack.partition("/")
    resource = change.resource or "".join(change.path[1:2] if change.path[:1] == ("code",) else ())
    inside = f"in the nested stack {nested}: " if nested else ""
    says = f"{inside}{line_of(change) or 'it differs'}"
    return Finding(
        rule=rule or read_by(change) or judged(apart(change, says))[0],
        detail=says,
        table=resource if change.store == "" else change.store,
        where=place(folder, id_, resource),
        path="/".join(change.path),
        before=None if change.before is ABSENT else shown(change, change.before),
        after=None if change.after is ABSENT else shown(change, change.after),
        change=change.kind.value,
        **more,
    )


def place(folder: str, id_: str, resource: str = "") -> str:
    """Where a contract has a resource, or what it says of the stack."""
    return f"{folder}/{id_}.json{'#' if resource else ''}{resource}"
