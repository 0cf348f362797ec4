"""The register: what `holdfast list` shows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from holdfast.catalog import Placed, environments_named, placements
from holdfast.model import NONE, DeclarationError, Guard, Key, Stack, Stream, Table
from holdfast.policy import RECOVERY_DAYS, lifetime
from holdfast.text import columns

VERSION = 1
SHORT = {
    Guard.DELETION_PROTECTION: "DP",
    Guard.RETAIN: "RETAIN",
    Guard.PITR: "PITR",
    Guard.TTL: "TTL",
    Guard.CUSTOMER_KEY: "CMK",
    Guard.ALARMS: "ALARMS",
}


def show(stacks: Iterable[Stack], *, env: str, system: str | None, assumed: bool, as_json: bool) -> str:
    """The register, or its assumed facts, as text or JSON."""
    stacks = tuple(stacks)
    systems = sorted({s.system for s in stacks})
    if system is not None and system not in systems:
        raise DeclarationError(f"unknown system {system!r}: known are {', '.join(systems)}")
    places = [p for p in placements(stacks, environments_named(env)) if system in (None, p.stack.system)]
    rows = [row for p in places for t in p.tables for row in (assumptions(p, t) if assumed else [entry(p, t)])]
    if as_json:
        kind = "assumptions" if assumed else "tables"
        document = {"version": VERSION, "command": "list", "env": env, "summary": {kind: len(rows)}, kind: rows}
        return json.dumps(document, indent=2)
    return _assumed_text(rows) if assumed else _text(rows)


def entry(placed: Placed, table: Table) -> dict[str, Any]:
    """One table in one environment, every name resolved."""
    guards = placed.required(table)
    state, seen = table.state, table.state.sighting
    return {
        "table": placed.fill(table.name),
        "environment": placed.env.label,
        "region": placed.region,
        "system": placed.stack.system,
        "stack": placed.name,
        "owner": placed.stack.owner,
        "purpose": table.purpose,
        "key": _key(table.key),
        "indexes": [{"name": i.name, "key": _key(i.key), "projection": i.projection.value} for i in table.indexes],
        "lifetime": lifetime(table),
        "data": table.data.value,
        "ttl": table.lifetime.ttl,
        "stream": _stream(table.stream, placed),
        "guards": [g.name for g in Guard if g in guards],
        "recovery_days": RECOVERY_DAYS if Guard.PITR in guards else None,
        "usage": state.usage.value,
        "governance": state.governance.value,
        "deployed": placed.env not in placed.stack.undeployed,
        "replaced_by": placed.fill(state.replaced_by) if state.replaced_by else None,
        "archive_phase": state.archive_phase,
        "seen": {"on": seen.on.isoformat(), "items": seen.items, "size": seen.size, "reads_7d": seen.reads_7d}
        if seen
        else None,
        "assumed": [{k: v for k, v in a.items() if k != "table"} for a in assumptions(placed, table)],
    }


def assumptions(placed: Placed, table: Table) -> list[dict[str, Any]]:
    return [
        {
            "table": a.table,
            "environment": placed.env.label,
            "fact": a.assumed.fact.value,
            "index": a.index,
            "value": a.value,
            "reason": a.assumed.reason,
        }
        for a in placed.assumptions(table)
    ]


def short(guards: Guard) -> str:
    return " ".join(name for guard, name in SHORT.items() if guard in guards) or "-"


def _key(key: Key) -> list[str]:
    return [f"{a.name}:{a.kind.value}" for a in key.attributes]


def _stream(stream: Stream | None, placed: Placed) -> dict[str, Any] | None:
    if stream is None:
        return None
    consumer = placed.fill(stream.consumer) if stream.consumer else None
    return {"view": stream.view.value, "consumer": consumer, "pending": stream.pending}


def _text(rows: list[dict[str, Any]]) -> str:
    table = [["environment", "stack", "table", "indexes", "data", "state", "guards"]]
    for r in rows:
        guards = NONE
        for name in r["guards"]:
            guards |= Guard[name]
        state = [r["usage"], *([r["governance"]] if r["governance"] != "stack" else [])]
        state += [] if r["deployed"] else ["not deployed"]
        table.append(
            [
                r["environment"],
                r["stack"],
                r["table"],
                str(len(r["indexes"])),
                f"{r['lifetime']} {r['data']}",
                ", ".join(state),
                short(guards),
            ]
        )
    indexes = sum(len(r["indexes"]) for r in rows)
    assumed = sum(len(r["assumed"]) for r in rows)
    return f"{columns(table)}\n\n{len(rows)} tables, {indexes} indexes, {assumed} assumed facts (--assumed lists them)"


def _assumed_text(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "Nothing is assumed: every fact is documented."
    table = [["environment", "table", "fact", "assumed"]]
    by_reason: dict[str, list[list[str]]] = {}
    for r in rows:
        value = f"{r['index']}: {r['value']}" if r["index"] else r["value"]
        by_reason.setdefault(r["reason"], []).append([r["environment"], r["table"], r["fact"], value])
    parts = [f"{reason}\n\n{columns([table[0], *group])}" for reason, group in by_reason.items()]
    return "\n\n\n".join([*parts, f"{len(rows)} assumed facts, {len(by_reason)} reasons"])
