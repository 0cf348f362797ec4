"""SARIF 2.1.0, for code scanning. Places are logical: a table in a stack; the file is the template that shows it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from holdfast.rules.base import Finding, Outcome, Severity

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


def render(findings: Sequence[Finding]) -> str:
    from holdfast.rules import RULES

    index = {rule.id: n for n, rule in enumerate(RULES)}
    driver = {
        "name": "Holdfast",
        "rules": [
            {
                "id": r.id,
                "name": r.id,
                "shortDescription": {"text": r.title},
                "fullDescription": {"text": r.why},
                "help": {"text": f"{r.why}\n\nFix: {r.fix}"},
                "defaultConfiguration": {"level": LEVELS[r.severity]},
                "properties": {"security-severity": SCORES[r.severity], "tags": ["security", *r.controls]},
            }
            for r in RULES
        ],
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(f, index[f.rule.id]) for f in findings]}],
    }
    return json.dumps(document, indent=2)


def _result(f: Finding, rule: int) -> dict[str, Any]:
    about = f"{f.stack}/{f.table}" if f.table else f"{f.stack}/{f.where}"
    identity = f"{f.rule.id}:{f.environment}:{about}"
    if f.rule.id.startswith("HF6"):  # an account may show several of one rule on one table: indexes, functions, facts
        identity += f":{f.where}"
    # What is live has no file; its declaration has, and a reviewer can go there.
    file, _, line = (f.declared or "").rpartition(":")
    return {
        "ruleId": f.rule.id,
        "ruleIndex": rule,
        "kind": KINDS[f.outcome],
        "level": LEVELS[f.rule.severity] if f.outcome is Outcome.FAIL else "none",
        "message": {"text": f"{f.table or f.where}: {f.detail or f.rule.title}. Fix: {f.fix}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(file or f.where.partition("#")[0])},
                    "region": {"startLine": int(line) if file else 1},
                },
                "logicalLocations": [
                    {"name": f.table or f.where, "fullyQualifiedName": about, "kind": "resource"},
                ],
            }
        ],
        "partialFingerprints": {"holdfast/v1": hashlib.sha256(identity.encode()).hexdigest()},
    }
