"""A diff for machines: JSON, documented in docs/findings.md, and SARIF where the declaration or contract has it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from holdfast.cfn.template import Source
from holdfast.contract import files
from holdfast.contract.approvals import NONE, Review
from holdfast.contract.diff import SERIOUS, Change, Kind
from holdfast.contract.explained import UNDO, explained
from holdfast.contract.groups import line_of
from holdfast.contract.guards import environment
from holdfast.contract.text import APPROVE
from holdfast.report import sarif as sarif_format
from holdfast.report.document import document
from holdfast.rules.base import Finding
from holdfast.verdict import Outcome

Json = dict[str, Any]

MEANS = {
    Kind.WEAKENED: "A guard is lost or lowered, or a policy lets more in.",
    Kind.REMOVED: "Something that holds data, or a stack, left the contract.",
    Kind.REPLACED: "CloudFormation makes something that holds data anew.",
    Kind.ADDED: "A new resource can reach, copy, trigger on or delete a store.",
    Kind.CHANGED: "The data of a store goes elsewhere.",
}


def as_json(
    changes: Sequence[Change],
    against: str,
    review: Review = NONE,
    contracts: Mapping[str, Json] = MappingProxyType({}),
    folder: str = str(files.FOLDER),
) -> str:
    """Findings as every command has them, with what only a change has; ``contracts`` are those of both sides."""
    findings = [_finding(c, review, contracts, folder) for c in changes]
    env = ",".join(sorted({e for c in contracts.values() if (e := environment(c))}))
    made = document(findings, findings, command="diff", env=env)
    made["summary"] |= {k.value: sum(c.kind is k for c in changes) for k in Kind} | {"unapproved": len(review.open)}
    made["findings"] = [row | _more(c, review) for row, c in zip(made["findings"], changes, strict=True)]
    states = [{"file": name, "state": state} for name, state in review.states.items()]
    return json.dumps(made | {"against": against, "approvals": states}, indent=2)


def _finding(c: Change, review: Review, contracts: Mapping[str, Json], folder: str) -> Finding:
    """A failure is what needs an approval and has none."""
    id_ = c.stack.partition("/")[0]
    fix = ""
    outcome = Outcome.EXEMPT if review.approval(c) else Outcome.FAIL if c.kind in SERIOUS else Outcome.PASS
    if outcome is Outcome.FAIL:
        fix = f"undo it, or have it approved: {APPROVE}" if c.approvable else UNDO
    return explained(
        c,
        folder=folder,
        outcome=outcome,
        stack=str(contracts.get(id_, {}).get("stack", {}).get("name", id_)),
        environment=c.environment or None,
        source=Source.CONTRACT,
        fix=fix,
    )


def _more(c: Change, review: Review) -> Json:
    approval = review.approval(c)
    return {
        "resource": c.resource or None,
        "type": c.type or None,
        "guard": c.guard or None,
        "reaches": c.reaches,
        "approvable": c.approvable if c.kind in SERIOUS else None,
        "approval": approval[0] if approval else None,
    }


def sarif(changes: Sequence[Change], review: Review, folder: Path, declared: Mapping[str, str]) -> str:
    """What a reviewer has to see: the serious, and what reaches a store. ``declared`` is file:line by store."""
    told = [c for c in changes if c.kind in SERIOUS or c.reaches]
    rules = [
        {"id": f"diff/{k.value}", "name": k.value, "shortDescription": {"text": MEANS[k]}, "help": {"text": MEANS[k]}}
        for k in Kind
    ]
    texts: dict[str, list[str]] = {}
    driver = {"name": "Holdfast diff", "rules": rules}
    return sarif_format.document(driver, [_result(c, review, _place(c, folder, declared, texts)) for c in told])


def _result(c: Change, review: Review, place: tuple[str, int]) -> dict[str, Any]:
    approval = review.approval(c)
    name = c.store or c.resource or c.stack
    identity = json.dumps([c.kind.value, c.stack, c.resource, c.path, c.says])
    result = {
        "ruleId": f"diff/{c.kind.value}",
        "ruleIndex": list(Kind).index(c.kind),
        "level": "note" if approval else "error" if c.kind in SERIOUS else "warning",
        "message": {"text": f"{name} in {c.stack}: {line_of(c)}"},
        **sarif_format.located(place, name, f"{c.stack}/{name}", identity),
    }
    if approval:
        why = f"{approval[1].because} ({approval[1].by})"
        result["suppressions"] = [{"kind": "external", "justification": why}]
    return result


def _place(c: Change, folder: Path, declared: Mapping[str, str], texts: dict[str, list[str]]) -> tuple[str, int]:
    """The declaration of the store, or where the contract shows the resource."""
    file, _, line = declared.get(c.store or "", "").rpartition(":")
    if file:
        return file, int(line)
    name = f"{files.FOLDER}/{c.stack.partition('/')[0]}.json"
    if name not in texts:
        path = folder / name
        texts[name] = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return name, _line(texts[name], c)


def _line(lines: Sequence[str], c: Change) -> int:
    """Of the last step of the path that is found; a file that is not there any more has its first line."""
    found, start, depth = 0, 0, 0
    for step in [c.resource, *c.path] if c.resource else c.path:
        mark = f"{json.dumps(step)}: "
        for number in range(start, len(lines)):
            line = lines[number].lstrip()
            inside = len(lines[number]) - len(line)
            if inside <= depth and number > start and found:
                return found + 1  # behind what it would be in
            if line.startswith(mark):
                found, start, depth = number, number + 1, inside
                break
        else:
            break
    return found + 1
