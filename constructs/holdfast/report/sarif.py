"""SARIF 2.1.0, for code scanning: at the line of a declaration, of the contract, or in the template that shows it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from holdfast.contract.stamp import release
from holdfast.report.document import cause
from holdfast.rules.base import Finding, Severity
from holdfast.verdict import Outcome

if TYPE_CHECKING:
    from holdfast.audit.causes import Cause
    from holdfast.report.places import Place

LEVELS = {
    Severity.CRITICAL: "error",
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "note",
    Severity.INFO: "note",
}
# GitHub ranks security findings by this number.
SCORES = {
    Severity.CRITICAL: "9.5",
    Severity.HIGH: "8.0",
    Severity.MEDIUM: "5.5",
    Severity.LOW: "3.0",
    Severity.INFO: "0.0",
}
KINDS = {
    Outcome.FAIL: "fail",
    Outcome.UNKNOWN: "review",
    Outcome.PASS: "pass",
    Outcome.EXEMPT: "notApplicable",
}


def render(findings: Sequence[Finding], place: Place | None = None, found: Sequence[Cause] = ()) -> str:
    from holdfast.rules import RULES

    index = {rule.id: n for n, rule in enumerate(RULES)}
    identities = Counter[str]()
    driver = {
        "name": "Holdfast",
        "semanticVersion": release(),
        "rules": [
            {
                "id": r.id,
                "name": r.id,
                "shortDescription": {"text": r.title},
                "fullDescription": {"text": r.why},
                "help": {"text": f"{r.why}\n\nFix: {r.remediation}\n\nMore: holdfast explain {r.id}"},
                "defaultConfiguration": {"level": LEVELS[r.severity]},
                "properties": {"security-severity": SCORES[r.severity], "tags": ["security", *r.controls]},
            }
            for r in RULES
        ],
    }
    results = [_result(f, index[f.rule.id], place or _in_template, identities) for f in findings]
    of = {id(f): c for c in found for f in c.findings}
    for f, result in zip(findings, results, strict=True):
        if id(f) in of:
            result["properties"] = {"cause": of[id(f)].id}
    return document(driver, results, {"properties": {"causes": [cause(c) for c in found]}} if found else {})


def document(
    driver: Mapping[str, Any], results: Sequence[Mapping[str, Any]], more: Mapping[str, Any] | None = None
) -> str:
    made = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results, **(more or {})}],
    }
    return json.dumps(made, indent=2)


def located(place: tuple[str, int], name: str, about: str, identity: str) -> dict[str, Any]:
    """Where a result is, what it is about, and by what it is known again."""
    file, line = place
    return {
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": quote(file)}, "region": {"startLine": line}},
                "logicalLocations": [{"name": name, "fullyQualifiedName": about, "kind": "resource"}],
            }
        ],
        "partialFingerprints": {"holdfast/v1": hashlib.sha256(identity.encode(errors="backslashreplace")).hexdigest()},
    }


def _result(f: Finding, rule: int, place: Place, identities: Counter[str]) -> dict[str, Any]:
    about = f"{f.stack}/{f.table}" if f.table else f"{f.stack}/{f.where}"
    identity = f"{f.rule.id}:{f.environment}:{about}:{f.where}:{f.path}"
    identities[identity] += 1
    if (count := identities[identity]) > 1:  # several of one rule at one place, such as the facts of an account
        identity += f":{count}"
    return {
        "ruleId": f.rule.id,
        "ruleIndex": rule,
        "kind": KINDS[f.outcome],
        "level": LEVELS[f.rule.severity] if f.outcome is Outcome.FAIL else "none",
        "message": {"text": f"{f.table or f.where}: {f.detail or f.rule.title}. Fix: {f.fix}"},
        **located(place(f), f.table or f.where, about, identity),
    }


def _in_template(f: Finding) -> tuple[str, int]:
    """Where it was seen. What is live has no file; its declaration has, and a reviewer can go there."""
    file, _, line = (f.declared or "").rpartition(":")
    return (file, int(line)) if file else (f.where.partition("#")[0], 1)
