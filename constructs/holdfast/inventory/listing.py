"""The register: what `holdfast list` shows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from textwrap import fill
from typing import Any

from holdfast.estate.estate import Estate
from holdfast.estate.placement import Placed
from holdfast.kinds.table.declaration import Index, Key, Stream, Table
from holdfast.model.declaration import DeclarationError
from holdfast.model.facts import NONE, Fact, Guard
from holdfast.model.store import Store
from holdfast.policy.required import lifetime
from holdfast.terminal import coloured, table, width
from holdfast.text import counted

VERSION = 1


def show(estate: Estate, *, env: str, system: str | None, assumed: bool, as_json: bool) -> str:
    """The register, or its assumed facts, as text or JSON."""
    systems = sorted({s.system for s in estate.stacks})
    if system is not None and system not in systems:
        raise DeclarationError(f"unknown system {system!r}: known are {', '.join(systems)}")
    places = [p for p in estate.placements(estate.named(env)) if system in (None, p.stack.system)]
    if assumed:
        rows = [a for p in places for t in p.tables for a in assumptions(p, t)]
        rows += [a for p in places for s in p.stores for a in assumed_of_store(p, s)]
        return _json(env, assumptions=rows) if as_json else _assumed_text(rows)
    tables = [entry(p, t) for p in places for t in p.tables]
    stores = [store_entry(p, s) for p in places for s in p.stores]
    return _json(env, tables=tables, stores=stores) if as_json else "\n\n".join(_text(tables, stores))


def _json(env: str, **lists: list[dict[str, Any]]) -> str:
    summary = {name: len(rows) for name, rows in lists.items()}
    return json.dumps({"version": VERSION, "command": "list", "env": env, "summary": summary, **lists}, indent=2)


def entry(placed: Placed, table: Table) -> dict[str, Any]:
    """One table in one environment, every name resolved."""
    guards = placed.required(table)
    state, seen = table.state, table.state.sighting
    return {
        "table": placed.fill(table.name),
        **_place(placed),
        "purpose": table.purpose,
        "key": _key(table.key),
        "indexes": [_index(i, local=n >= len(table.indexes)) for n, i in enumerate(table.every_index)],
        "billing": {"read": table.billing.read, "write": table.billing.write} if table.billing else "on demand",
        "customer_key": placed.foreign_key if Guard.CUSTOMER_KEY in guards else None,
        "extra": dict(table.extra.properties) if table.extra else {},
        "lifetime": lifetime(table),
        "data": table.data.value,
        "ttl": table.lifetime.ttl,
        "stream": _stream(table.stream, placed),
        "guards": [g.name for g in Guard if g in guards],
        "recovery_days": placed.recovery_days(table) if Guard.PITR in guards else None,
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


def _place(placed: Placed) -> dict[str, Any]:
    return {
        "environment": placed.env.label,
        "region": placed.region,
        "system": placed.stack.system,
        "stack": placed.name,
        "owner": placed.stack.owner,
    }


def _index(index: Index, *, local: bool) -> dict[str, Any]:
    projection = {"projection": index.projection.value}
    included = {"include": list(index.include)} if index.include else {}
    return {"name": index.name, "key": _key(index.key), **projection, **included, **({"local": True} if local else {})}


def assumptions(placed: Placed, table: Table) -> list[dict[str, Any]]:
    return [
        _assumption(placed, a.table, a.assumed.fact.value, a.index, a.value, a.assumed.reason)
        for a in placed.assumptions(table)
    ]


def _assumption(placed: Placed, store: str, fact: str, index: str | None, value: str, reason: str) -> dict[str, Any]:
    row = {"table": store, "environment": placed.env.label, "fact": fact, "index": index}
    return row | {"value": value, "reason": reason}


def store_entry(placed: Placed, store: Store) -> dict[str, Any]:
    """One store other than a table, in one environment."""
    return {
        "store": placed.fill(store.name),
        "kind": store.kind,
        **_place(placed),
        "purpose": store.purpose,
        "lifetime": lifetime(store),
        "data": store.data.value,
        "guards": [g.name for g in Guard if g in placed.required(store)],
        "facts": dict(store.facts(placed.env.topic_prefix)),
        "assumed": [{k: v for k, v in a.items() if k != "table"} for a in assumed_of_store(placed, store)],
    }


def assumed_of_store(placed: Placed, store: Store) -> list[dict[str, Any]]:
    owner = [("owner", placed.stack.owner, a.reason) for a in placed.stack.assumed if a.fact is Fact.OWNER]
    name, known = placed.fill(store.name), (*owner, *store.assumptions())
    return [_assumption(placed, name, what, None, value, reason) for what, value, reason in known]


def short(guards: Guard) -> str:
    """The guards by their short names, without tags, which everything has."""
    return (guards & ~Guard.TAGS).short or "-"


def _key(key: Key) -> list[str]:
    return [f"{a.name}:{a.kind.value}" for a in key.attributes]


def _stream(stream: Stream | None, placed: Placed) -> dict[str, Any] | None:
    if stream is None:
        return None
    consumer = placed.fill(stream.consumer) if stream.consumer else None
    return {"view": stream.view.value, "consumer": consumer, "pending": stream.pending}


def _text(tables: list[dict[str, Any]], stores: list[dict[str, Any]]) -> Iterator[str]:
    if tables:
        header = ["environment", "stack", "table", "indexes", "data", "state", "guards"]
        yield _drawn([header, *([*_where(r, "table"), str(len(r["indexes"])), *_data(r, _state(r))] for r in tables)])
    if stores:
        header = ["environment", "stack", "store", "kind", "data", "guards"]
        yield _drawn([header, *([*_where(r, "store"), r["kind"], *_data(r)] for r in stores)])
    indexes = sum(len(r["indexes"]) for r in tables)
    assumed = counted(sum(len(r["assumed"]) for r in (*tables, *stores)), "assumed fact")
    others = counted(len(stores), "other store")
    of_tables = f"{counted(len(tables), 'table')}, {indexes} {'index' if indexes == 1 else 'indexes'}"
    yield f"{of_tables}, {others}, {assumed} (see --assumed)"


def _drawn(rows: Sequence[Sequence[str]], headings: int = 2) -> str:
    return table(rows, width(), headings=headings, colour=coloured())


def _where(row: dict[str, Any], name: str) -> list[str]:
    return [row["environment"], row["stack"], row[name]]


def _data(row: dict[str, Any], *more: str) -> list[str]:
    return [f"{row['lifetime']} {row['data']}", *more, _short_names(row["guards"])]


def _state(row: dict[str, Any]) -> str:
    governed = [] if row["governance"] == "stack" else [row["governance"]]
    return ", ".join([row["usage"], *governed, *([] if row["deployed"] else ["not deployed"])])


def _short_names(names: Iterable[str]) -> str:
    guards = NONE
    for name in names:
        guards |= Guard[name]
    return short(guards)


def _assumed_text(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "Nothing is assumed: every fact is documented."
    by_reason: dict[str, list[list[str]]] = {}
    for r in rows:
        value = f"{r['index']}: {r['value']}" if r["index"] else r["value"]
        by_reason.setdefault(r["reason"], []).append([r["environment"], r["table"], r["fact"], value])
    header = ["environment", "table", "fact", "assumed"]
    parts = [f"{_wrapped(reason)}\n\n{_drawn([header, *group], 1)}" for reason, group in by_reason.items()]
    return "\n\n\n".join([*parts, f"{counted(len(rows), 'assumed fact')}, {counted(len(by_reason), 'reason')}"])


def _wrapped(text: str) -> str:
    return fill(text, columns, break_on_hyphens=False) if (columns := width()) else text
