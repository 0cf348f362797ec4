"""What the register holds of each table and store, as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from holdfast.estate.placement import Placed
from holdfast.estate.provenance import Stated, of_store, of_table
from holdfast.estate.stack import Stack
from holdfast.kinds.table.declaration import Index, Key, Sighting, Stream, Table
from holdfast.model.facts import Guard
from holdfast.model.provenance import ASSUMED
from holdfast.model.store import Store
from holdfast.policy.required import lifetime

Json = dict[str, Any]


def entry(placed: Placed, table: Table) -> Json:
    """One table in one environment, every name resolved."""
    guards = placed.required(table)
    state = table.state
    facts = list(of_table(placed, table))
    return {
        "table": placed.fill(table.name),
        **_place(placed),
        "purpose": table.purpose,
        "key": _key(table.key),
        "indexes": [
            _index(i, asked(placed.stack, table, i.name), local=n >= len(table.indexes))
            for n, i in enumerate(table.every_index)
        ],
        "questions": list(asked(placed.stack, table, None)),
        "unsupported": {p.id: p.unsupported for p in placed.stack.patterns_of(table) if p.unsupported},
        "billing": {"read": table.billing.read, "write": table.billing.write} if table.billing else "on demand",
        "customer_key": placed.foreign_key if Guard.CUSTOMER_KEY in guards else None,
        "encryption": encryption(placed, table),
        "extra": dict(table.extra.properties) if table.extra else {},
        "lifetime": lifetime(table),
        "data": table.data.value,
        "ttl": table.lifetime.ttl,
        "stream": _stream(table.stream, placed),
        "guards": [g.name for g in Guard if g in guards],
        "recovery_days": placed.recovery_days(table) if Guard.PITR in guards else None,
        "usage": state.usage.value,
        "governance": state.governance.value,
        "deployed": not placed.waits,
        "replaced_by": placed.fill(state.replaced_by) if state.replaced_by else None,
        "fewer_guards": state.fewer_guards or None,
        "archive_phase": state.archive_phase,
        "seen": sighted(state.sighting),
        "waivers": _waivers(placed, table),
        "assumed": _assumed(facts),
        "sources": [source(s) for s in facts],
    }


def sighted(seen: Sighting | None) -> Json | None:
    """What was measured of a live table, and when."""
    if seen is None:
        return None
    return {"on": seen.on.isoformat(), "items": seen.items, "size": seen.size, "reads_7d": seen.reads_7d}


def encryption(placed: Placed, table: Table) -> str:
    """Whose key its data is encrypted with: the customer's, or which of AWS's."""
    own = Guard.CUSTOMER_KEY in placed.required(table)
    return "customer-managed" if own else placed.stack.encryption.value


def asked(stack: Stack, table: Table, index: str | None) -> Iterator[str]:
    """What a table, or one of its indexes, is asked; and why it cannot answer, where it cannot."""
    for pattern in stack.patterns_of(table):
        if pattern.index == index:
            yield f"{pattern.purpose}{f' Not possible: {why}.' if (why := pattern.unsupported) else ''}"


def store_entry(placed: Placed, store: Store) -> Json:
    """One store other than a table, in one environment."""
    facts = list(of_store(placed, store))
    return {
        "store": placed.fill(store.name),
        "kind": store.kind,
        **_place(placed),
        "purpose": store.purpose,
        "lifetime": lifetime(store),
        "data": store.data.value,
        "guards": [g.name for g in Guard if g in placed.required(store)],
        "deployed": not placed.waits,
        "facts": dict(store.facts(placed.env.topic_prefix)),
        "waivers": _waivers(placed, store),
        "assumed": _assumed(facts),
        "sources": [source(s) for s in facts],
    }


def source(stated: Stated) -> Json:
    """One fact and where it comes from."""
    origin = stated.origin
    found = {"part": stated.part, "fact": stated.fact, "value": stated.value, "origin": origin.kind}
    where = {"document": origin.document, "lines": list(origin.lines), "reason": origin.reason or None}
    return found | where | {"source": str(origin)}


def assumption(placed: Placed, stated: Stated) -> Json:
    """One assumed fact; without a table it is one of the whole stack."""
    where = {"environment": placed.env.label, "stack": placed.name, "table": stated.store}
    return where | _guess(stated)


def _assumed(facts: Iterable[Stated]) -> list[Json]:
    return [_guess(s) for s in facts if s.origin.kind == ASSUMED]


def _guess(stated: Stated) -> Json:
    return {"fact": stated.fact, "index": stated.part, "value": stated.value, "reason": stated.origin.reason}


def _place(placed: Placed) -> Json:
    return {
        "environment": placed.env.label,
        "region": placed.region,
        "system": placed.stack.system,
        "stack": placed.name,
        "owner": placed.stack.owner,
    }


def _waivers(placed: Placed, store: Table | Store) -> list[Json]:
    return [
        {"rule": w.rule, "owner": w.owner, "expires": w.expires.isoformat(), "reason": w.reason}
        for w in store.waivers
        if w.environment == placed.env
    ]


def _index(index: Index, questions: Iterable[str], *, local: bool) -> Json:
    projection = {"projection": index.projection.value}
    included = {"include": list(index.include)} if index.include else {}
    found = {"name": index.name, "key": _key(index.key), **projection, **included, **({"local": True} if local else {})}
    return found | {"questions": list(questions)}


def _key(key: Key) -> list[str]:
    return [f"{a.name}:{a.kind.value}" for a in key.attributes]


def _stream(stream: Stream | None, placed: Placed) -> Json | None:
    if stream is None:
        return None
    consumer = placed.fill(stream.consumer) if stream.consumer else None
    return {"view": stream.view.value, "consumer": consumer, "pending": stream.pending}
