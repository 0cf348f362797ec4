"""JSON. The schema is documented in docs/findings.md and only grows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from holdfast.rules.base import Finding, Outcome

VERSION = 1


def render(shown: Sequence[Finding], findings: Sequence[Finding], *, command: str, env: str) -> str:
    tables = {f.table for f in findings if f.table}
    summary = {"tables": len(tables)} | {o.value: sum(f.outcome is o for f in findings) for o in Outcome}
    document = {
        "version": VERSION,
        "command": command,
        "env": env,
        "summary": summary,
        "findings": [row(f) for f in shown],
    }
    return json.dumps(document, indent=2)


def row(f: Finding) -> dict[str, Any]:
    return {
        "rule": f.rule.id,
        "outcome": f.outcome.value,
        "severity": f.rule.severity.value,
        "table": f.table,
        "stack": f.stack,
        "environment": f.environment,
        "source": f.source.value,
        "where": f.where,
        "detail": f.detail,
        "fix": f.fix,
        "controls": list(f.rule.controls),
    }
