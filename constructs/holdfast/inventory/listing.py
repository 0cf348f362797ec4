"""The register: what `holdfast list` shows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from textwrap import fill

from holdfast.estate.estate import Estate
from holdfast.estate.placement import Placed
from holdfast.estate.provenance import Stated, every_fact
from holdfast.inventory.entries import Json, assumption, entry, source, store_entry
from holdfast.kinds.table.declaration import Governance, Usage
from holdfast.model.declaration import DeclarationError
from holdfast.model.facts import NONE, Guard
from holdfast.model.provenance import ASSUMED
from holdfast.terminal import coloured, table, width
from holdfast.text import counted

VERSION = 1
NOT_DEPLOYED = "not deployed"
STATES = (*(u.value for u in Usage), *(g.value for g in Governance), NOT_DEPLOYED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which part of the register is asked for; what is None narrows nothing."""

    env: str = "all"
    system: str | None = None
    owner: str | None = None
    state: str | None = None
    table: str | None = None  # a name, or a pattern such as orders-*

    @property
    def one(self) -> bool:
        """Whether one table or store is named, which is then shown whole."""
        return self.table is not None and not any(c in self.table for c in "*?[")

    def places(self, estate: Estate) -> list[Placed]:
        """The placed stacks that it names; a name that nothing has is refused with those that exist."""
        for what, value, known in (
            ("system", self.system, {s.system for s in estate.stacks}),
            ("owner", self.owner, {s.owner for s in estate.stacks}),
            ("state", self.state, set(STATES)),
        ):
            if value is not None and value not in known:
                raise DeclarationError(f"unknown {what} {value!r}: known are {', '.join(sorted(known))}")
        return [
            p
            for p in estate.placements(estate.named(self.env))
            if self.system in (None, p.stack.system) and self.owner in (None, p.stack.owner)
        ]

    def takes(self, row: Json) -> bool:
        """Whether a table or store is asked for."""
        name = row.get("table") or row["store"]
        named = self.table is None or self.table == name or fnmatchcase(name, self.table)
        return named and (self.state is None or self.state in _states(row))


def show(estate: Estate, wanted: Wanted, *, part: str | None = None, wide: bool = False, as_json: bool = False) -> str:
    """The register as text or JSON; ``part`` is "sources" or "assumed" where those of its facts are asked for."""
    places = wanted.places(estate)
    tables = [row for p in places for t in p.tables if wanted.takes(row := entry(p, t))]
    stores = [row for p in places for s in p.stores if wanted.takes(row := store_entry(p, s))]
    if wanted.table and not (tables or stores):
        raise DeclarationError(f"no table or store is called {wanted.table!r}; `holdfast list` names them all")
    if part is None:
        lists = {"tables": tables, "stores": stores}
        if as_json:
            return _json(wanted, lists)
        shown = (_whole(r) for r in (*tables, *stores)) if wanted.one and not wide else _text(tables, stores, wide=wide)
        return "\n\n".join(shown)
    names = {(row["environment"], row.get("table") or row["store"]) for row in (*tables, *stores)}
    whole = wanted.table is None and wanted.state is None  # else facts of a whole stack are not asked for
    facts = [
        (p, s) for p in places for s in every_fact(p) if (p.env.label, s.store) in names or (whole and s.store is None)
    ]
    if part == ASSUMED:
        facts = [(p, s) for p, s in facts if s.origin.kind == ASSUMED]
        return _json(wanted, {"assumptions": [assumption(*f) for f in facts]}) if as_json else _assumed_text(facts)
    return _json(wanted, {"sources": [_sourced(*f) for f in facts]}) if as_json else _sources_text(facts)


def _json(wanted: Wanted, lists: dict[str, list[Json]]) -> str:
    summary = {name: len(rows) for name, rows in lists.items()}
    return json.dumps({"version": VERSION, "command": "list", "env": wanted.env, "summary": summary, **lists}, indent=2)


def _sourced(placed: Placed, stated: Stated) -> Json:
    return {"environment": placed.env.label, "stack": placed.name, "table": stated.store, **source(stated)}


def short(guards: Guard) -> str:
    """The guards by their short names, without tags, which everything has."""
    return (guards & ~Guard.TAGS).short or "-"


# Text

Cell = Callable[[Json], str]
WIDE: dict[str, Cell] = {  # what --wide shows of a table beyond the short list
    "key": lambda r: " + ".join(r["key"]),
    "TTL": lambda r: r["ttl"] or "-",
    "stream": lambda r: _stream(r["stream"]),
    "consumer": lambda r: _consumer(r["stream"]),
    "billing": lambda r: _billing(r["billing"]),
    "encryption": lambda r: r["customer_key"] or r["encryption"],
    "successor": lambda r: r["replaced_by"] or "-",
    "phase": lambda r: str(r["archive_phase"] or "-"),
    "seen": lambda r: seen_text(r["seen"]),
    "region": lambda r: r["region"],
    "owner": lambda r: r["owner"],
    "waivers": lambda r: ", ".join(f"{w['rule']} to {w['expires']}" for w in r["waivers"]) or "-",
    "sources": lambda r: sources_text(r["sources"]),
}
OF_STORES = ("region", "owner", "waivers", "sources")


def _text(tables: list[Json], stores: list[Json], *, wide: bool) -> Iterator[str]:
    if tables:
        header = ["environment", "stack", "table", "indexes", "data", "state", "guards"]
        rows = [[*_where(r, "table"), str(len(r["indexes"])), *_data(r, ", ".join(_states(r)))] for r in tables]
        yield _widened(header, rows, tables, WIDE if wide else {}) if wide else _drawn([header, *rows])
    if stores:
        header = ["environment", "stack", "store", "kind", "data", "guards"]
        rows = [[*_where(r, "store"), r["kind"], *_data(r)] for r in stores]
        more = {name: WIDE[name] for name in OF_STORES}
        yield _widened(header, rows, stores, more) if wide else _drawn([header, *rows])
    indexes = sum(len(r["indexes"]) for r in tables)
    origins = Counter(s["origin"] for r in (*tables, *stores) for s in r["sources"])
    others = counted(len(stores), "other store")
    of_tables = f"{counted(len(tables), 'table')}, {indexes} {'index' if indexes == 1 else 'indexes'}"
    yield f"{of_tables}, {others}, {counted(origins[ASSUMED], 'assumed fact')} (see --assumed)"


WHOLE: dict[str, Cell] = {  # what is known of one table or store beyond the facts that its declaration states
    "environment": lambda r: r["environment"],
    "stack": lambda r: r["stack"],
    "system": lambda r: r["system"],
    "owner": lambda r: r["owner"],
    "region": lambda r: r["region"],
    "deployed": lambda r: "yes" if r["deployed"] else "not yet",
    "guards": lambda r: _short_names(r["guards"]),
    "recovery": lambda r: f"{days} days" if (days := r.get("recovery_days")) else "-",
    "encryption": lambda r: r.get("customer_key") or r.get("encryption") or "-",
    "consumer of the stream": lambda r: _consumer(r.get("stream")),
    "fewer guards of the successor": lambda r: r.get("fewer_guards") or "-",
    "copied by indexes": lambda r: _each({i["name"]: ", ".join(i.get("include", ())) for i in r.get("indexes", ())}),
    "unsupported access patterns": lambda r: _each(r.get("unsupported", {})),
    "also set": lambda r: ", ".join(r.get("extra", ())) or "-",
    "waivers": lambda r: _each({w["rule"]: f"to {w['expires']}, {w['owner']}: {w['reason']}" for w in r["waivers"]}),
}


def _whole(row: Json) -> str:
    """All that is known of one table or store, each stated fact with its source."""
    known = [[name, said, ""] for name, cell in WHOLE.items() if (said := cell(row)) != "-"]
    stated = [
        [f"{s['fact']} of {s['part']}" if s["part"] else s["fact"], s["value"], s["source"]] for s in row["sources"]
    ]
    return f"{row.get('table') or row['store']}\n\n{_drawn([['fact', 'value', 'source'], *known, *stated], 0)}"


def _widened(header: list[str], rows: list[list[str]], of: list[Json], more: dict[str, Cell]) -> str:
    """Every column on lines as long as they are, for a pager that scrolls sideways or a file."""
    wider = [[*row, *(cell(r) for cell in more.values())] for row, r in zip(rows, of, strict=True)]
    return table([[*header, *more], *wider], colour=coloured())


def seen_text(seen: Json | None) -> str:
    """What was measured of a live table, and when."""
    if seen is None:
        return "-"
    items = f"{seen['items']:,} items" if seen["items"] is not None else None
    reads = f"{seen['reads_7d']:,g} reads in 7 days" if seen["reads_7d"] is not None else None
    return ", ".join(filter(None, (items, seen["size"], reads, f"on {seen['on']}")))


def sources_text(facts: Iterable[Json]) -> str:
    """How many facts come from where."""
    count = Counter(s["origin"] for s in facts)
    return ", ".join(f"{number} {origin}" for origin, number in count.items())


def _stream(stream: Json | None) -> str:
    if stream is None:
        return "-"
    return f"{stream['view']}{' (off)' if stream['pending'] else ''}"


def _each(said: dict[str, str]) -> str:
    return "; ".join(f"{name}: {what}" for name, what in said.items() if what) or "-"


def _billing(billing: Json | str) -> str:
    return billing if isinstance(billing, str) else f"{billing['read']} read, {billing['write']} write units"


def _consumer(stream: Json | None) -> str:
    return (stream["consumer"] or stream["pending"] or "none") if stream else "-"


def _drawn(rows: Sequence[Sequence[str]], headings: int = 2) -> str:
    return table(rows, width(), headings=headings, colour=coloured())


def _where(row: Json, name: str) -> list[str]:
    return [row["environment"], row["stack"], row[name]]


def _data(row: Json, *more: str) -> list[str]:
    return [f"{row['lifetime']} {row['data']}", *more, _short_names(row["guards"])]


def _states(row: Json) -> list[str]:
    """How a table is used and what governs it, where that is not its own stack; of another store, nothing."""
    used = [row["usage"]] if "usage" in row else []
    governed = [row["governance"]] if row.get("governance", "stack") != "stack" else []
    return [*used, *governed, *([] if row["deployed"] else [NOT_DEPLOYED])]


def _short_names(names: Iterable[str]) -> str:
    guards = NONE
    for name in names:
        guards |= Guard[name]
    return short(guards)


def _sources_text(facts: list[tuple[Placed, Stated]]) -> str:
    rows = [[p.env.label, s.store or p.name, _called(s), s.value, str(s.origin)] for p, s in facts]
    count = Counter(s.origin.kind for _, s in facts)
    said = ", ".join(f"{number:,} {kind}" for kind, number in count.most_common())
    return f"{_drawn([['environment', 'declared', 'fact', 'value', 'source'], *rows])}\n\n{said}"


def _called(stated: Stated) -> str:
    return f"{stated.fact} of {stated.part}" if stated.part else stated.fact


def _assumed_text(facts: list[tuple[Placed, Stated]]) -> str:
    if not facts:
        return "Nothing is assumed: every fact is documented."
    by_reason: dict[str, list[list[str]]] = {}
    for p, s in facts:
        value = f"{s.part}: {s.value}" if s.part else s.value
        by_reason.setdefault(s.origin.reason, []).append([p.env.label, s.store or p.name, s.fact, value])
    header = ["environment", "declared", "fact", "assumed"]
    parts = [f"{_wrapped(reason)}\n\n{_drawn([header, *group], 1)}" for reason, group in by_reason.items()]
    return "\n\n\n".join([*parts, f"{counted(len(facts), 'assumed fact')}, {counted(len(by_reason), 'reason')}"])


def _wrapped(text: str) -> str:
    return fill(text, columns, break_on_hyphens=False) if (columns := width()) else text
