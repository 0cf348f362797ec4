"""JSON. The schema is documented in docs/findings.md and only grows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from holdfast.audit import Audit, Row
from holdfast.gap import Gap
from holdfast.rules.base import Finding, Outcome

VERSION = 1


def render(
    shown: Sequence[Finding], findings: Sequence[Finding], *, command: str, env: str, audit: Audit | None = None
) -> str:
    tables = {f.table for f in findings if f.table}
    summary = {"tables": len(tables)} | {o.value: sum(f.outcome is o for f in findings) for o in Outcome}
    document: dict[str, Any] = {
        "version": VERSION,
        "command": command,
        "env": env,
        "summary": summary,
        "findings": [row(f) for f in shown],
    }
    if audit:
        document |= {
            "at": audit.at.isoformat(timespec="seconds"),
            "tables": [_table(r) for r in audit.rows],
            "read": [{"account": account, "region": region} for account, region in audit.read],
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
        **({"declared": f.declared} if f.declared else {}),
        **({"gap": _gap(f.gap)} if f.gap else {}),
    }


def _gap(gap: Gap) -> dict[str, Any]:
    return {
        "intent": gap.intent,
        "deployed": gap.deployed,
        "live": gap.live,
        "says": gap.says,
        "commit": gap.commit.sha if gap.commit else None,
        "committed": gap.commit.when.isoformat() if gap.commit else None,
        "days_since_commit": gap.days_intended,
        "updated": gap.updated.isoformat() if gap.updated else None,
        "days_since_update": gap.days_since_update,
    }


def _table(r: Row) -> dict[str, Any]:
    return {
        "table": r.table,
        "stack": r.stack,
        "environment": r.environment,
        "region": r.region,
        "account": r.account,
        "state": r.state,
        "items": r.items,
        "bytes": r.size,
        "guards": {
            str(guard.name): {"intent": intent, "deployed": deployed, "live": live}
            for guard, (intent, deployed, live) in r.guards.items()
        },
    }
