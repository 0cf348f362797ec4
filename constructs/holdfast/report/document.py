"""JSON. The schema is documented in docs/findings.md and only grows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast.rules.base import Finding
from holdfast.shared.account import StoreSeen, Units
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome

if TYPE_CHECKING:
    from holdfast.audit.audit import Audit
    from holdfast.audit.causes import Cause
    from holdfast.audit.rows import Row, StackRow
    from holdfast.rules.gap import Commit, Gap

VERSION = 1


def render(
    shown: Sequence[Finding],
    findings: Sequence[Finding],
    *,
    command: str,
    env: str,
    audit: Audit | None = None,
    found: Sequence[Cause] = (),
) -> str:
    made = document(shown, findings, command=command, env=env)
    if audit:
        of = {id(f): c.id for c in found for f in c.findings}
        for f, told in zip(shown, made["findings"], strict=True):
            told["cause"] = of.get(id(f))
        made |= {
            "causes": [cause(c) for c in found],
            "at": audit.at.isoformat(timespec="seconds"),
            "tables": [_table(r) for r in audit.rows],
            "read": [{"account": account, "region": region} for account, region in audit.read],
            "not_read": list(audit.elsewhere),
            "contract": _contract(audit),
            "stacks": [_stack(s) for s in audit.stacks],
        }
    return json.dumps(made, indent=2)


def document(shown: Sequence[Finding], findings: Sequence[Finding], *, command: str, env: str) -> dict[str, Any]:
    """What the documents of all commands have."""
    tables = {f.table for f in findings if f.table}
    summary = {"tables": len(tables)} | {o.value: sum(f.outcome is o for f in findings) for o in Outcome}
    return {
        "version": VERSION,
        "command": command,
        "env": env,
        "summary": summary,
        "findings": [row(f) for f in shown],
    }


def row(f: Finding) -> dict[str, Any]:
    return {
        "rule": f.rule.id,
        "outcome": f.outcome.value,
        "severity": f.rule.severity.value,
        "table": f.table,
        "store": f.table,
        "stack": f.stack,
        "environment": f.environment,
        "source": f.source.value,
        "where": f.where,
        "path": f.path or None,
        "before": f.before,
        "after": f.after,
        "change": f.change,
        "detail": f.detail,
        "fix": f.fix,
        "controls": list(f.rule.controls),
        **({"declared": f.declared} if f.declared else {}),
        **({"gap": _gap(f.gap)} if f.gap else {}),
    }


def cause(c: Cause) -> dict[str, Any]:
    return {
        "id": c.id,
        "kind": c.kind.value,
        "environment": c.environment,
        "severity": c.severity.value,
        "outcome": (Outcome.UNKNOWN if c.unknown else Outcome.FAIL).value,
        "says": c.says,
        "parts": list(c.parts),
        "tables": list(c.tables),
        "findings": len(c.findings),
        "personal": c.personal,
        "items": c.items,
        "days": c.days,
        "command": c.command or None,
        "before": c.before or None,
        "meanwhile": c.meanwhile or None,
        "fix": c.fix,
    }


def _gap(gap: Gap) -> dict[str, Any]:
    return {
        "intent": gap.intent,
        "deployed": gap.deployed,
        "live": gap.live,
        "says": gap.says,
        **_commit(gap.commit),
        "days_since_commit": gap.days_intended,
        "why": gap.since.why or None,
        "updated": gap.updated.isoformat() if gap.updated else None,
        "days_since_update": gap.days_since_update,
        "rolled_back": gap.rolled_back,
    }


def _commit(found: Commit | None) -> dict[str, Any]:
    return {"commit": found.sha if found else None, "committed": found.when.isoformat() if found else None}


def _contract(audit: Audit) -> dict[str, Any]:
    if isinstance(audit.history, Unknown):
        return {**_commit(None), "branch": None, "why": audit.history.reason}
    return {**_commit(audit.history.head), "branch": audit.history.branch, "why": None}


def _stack(s: StackRow) -> dict[str, Any]:
    found = s.running
    return {
        "stack": s.stack,
        "environment": s.environment,
        "region": s.region,
        "account": s.account,
        **_commit(found.commit),
        "first": found.first.sha if found.first else None,
        "behind": found.behind,
        "pending": [{**_commit(p.commit), "says": p.says} for p in found.pending],
        "nearest": found.nearest.sha if found.nearest else None,
        "differs": list(found.differs),
        "why": found.why or None,
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
        "use": _use(r.live) if r.live else None,
        "guards": {
            str(guard.name): {"intent": intent, "deployed": deployed, "live": live}
            for guard, (intent, deployed, live) in r.guards.items()
        },
    }


def _use(live: StoreSeen) -> dict[str, Any]:
    indexes = {} if isinstance(live.indexes, Unknown) else live.indexes
    return {
        "reads": _units(live.reads),
        "writes": _units(live.writes),
        "indexes": {name: _units(index.reads) for name, index in indexes.items()},
    }


def _units(seen: Units | Unknown) -> dict[str, Any]:
    if isinstance(seen, Unknown):
        return {"days_7": None, "days_30": None, "last": None, "why": seen.reason}
    return {
        "days_7": seen.week,
        "days_30": seen.month,
        "last": seen.last.isoformat() if seen.last else None,
        "why": None,
    }
