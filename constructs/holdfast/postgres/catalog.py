"""What a database is made of, as JSON that is the same on every PostgreSQL, and how two of them differ."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psycopg.rows import dict_row

from holdfast.postgres import catalog_queries as queries
from holdfast.postgres.connection import Connection, clear_errors

Facts = dict[str, str | dict[str, str]]
Catalog = dict[str, dict[str, Facts]]  # section, object, aspect

POLICIES = ("ops.partition_policy", "ops.row_policy")  # rows that are as much a part of the schema as its tables
COMES_AND_GOES = "cold"  # what is not declared in there waits to be archived
GUARD = COMES_AND_GOES + ".archive_first_{}"  # the view that refuses the drop of what is not archived
GUARDED = "archived before it is dropped"  # the comment of a partition that has had one

LIKE_THE_PARENT = (
    *("persistence", "row security", "row security of the owner", "owner"),
    *("checks of foreign keys", "options", "replica identity"),
)
SINGULAR = {"indexes": "index", "policies": "policy", "grants": "grant to", "column grants": "grant on"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that is not as declared."""

    kind: str  # missing, changed or extra
    object: str
    aspect: str = ""
    declared: str = ""
    live: str = ""

    def __str__(self) -> str:
        what = f"{self.kind} {self.object} {self.aspect}".rstrip()
        return (
            f"{what}: {self.declared} is {self.live}"
            if self.kind == "changed"
            else f"{what}: {self.declared or self.live}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A database as it is."""

    catalog: Catalog
    partitions: tuple[Difference, ...]  # what is wrong with those that no file lists
    unread: tuple[str, ...]


def read(connection: Connection) -> Live:
    """The catalog now; what others change at this moment may be seen by half."""
    with clear_errors("reading the catalog"), connection.transaction():
        connection.execute(queries.CALM)
        policies, unread = _policies(connection)
        relations, partitions = _relations(connection)
        catalog = {
            "schemas": _objects(connection, queries.SCHEMAS),
            "relations": relations,
            "types": _objects(connection, queries.TYPES),
            "functions": _objects(connection, queries.FUNCTIONS),
            "policies": policies,
            "extensions": _objects(connection, queries.EXTENSIONS),
            "default privileges": _objects(connection, queries.DEFAULT_PRIVILEGES),
        }
    wrong = [d for p in partitions for d in _judge(p, catalog)]
    return Live(catalog=catalog, partitions=tuple(wrong), unread=tuple(unread))


def compare(declared: Catalog, live: Live) -> list[Difference]:
    """Everything that is not as declared, worst first: what is missing, what has changed, what nobody declared."""
    found = list(live.partitions)
    for section in dict.fromkeys([*declared, *live.catalog]):
        want, got = declared.get(section, {}), live.catalog.get(section, {})
        for name in sorted(want.keys() | got.keys()):
            if name in want and name in got:
                found += _changes(name, want[name], got[name])
            elif name in got:
                found += _extra(name, got[name], declared)
            elif not name.startswith(live.unread):
                found.append(Difference(kind="missing", object=name, declared=str(want[name]["kind"])))
    return sorted(found, key=lambda d: ("missing", "changed", "extra").index(d.kind))


def load(path: Path) -> Catalog:
    catalog: Catalog = json.loads(path.read_text())
    return catalog


def dump(catalog: Catalog) -> str:
    return json.dumps(catalog, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _rows(connection: Connection, query: str) -> list[dict[str, Any]]:
    return connection.cursor(row_factory=dict_row).execute(query.encode()).fetchall()


def _facts(row: Mapping[str, Any]) -> Facts:
    """A row's columns as facts: nothing that is not there, options by name, text in one line."""
    facts: Facts = {}
    for name, fact in row.items():
        if isinstance(fact, list):
            facts[name] = dict(option.partition("=")[::2] for option in fact)
        elif fact:
            facts[name] = " ".join(fact.split()) if isinstance(fact, str) else fact
    return facts


def _objects(connection: Connection, query: str) -> dict[str, Facts]:
    return {row.pop("name"): _facts(row) for row in _rows(connection, query)}


def _policies(connection: Connection) -> tuple[dict[str, Facts], list[str]]:
    rows: dict[str, Facts] = {}
    unread = []
    for table in POLICIES:
        readable = connection.execute(queries.READABLE, (table,)).fetchone()
        if readable == (False,):
            unread.append(table)
        elif readable:
            query = f"SELECT to_jsonb(t) FROM {table} t"
            for (row,) in connection.execute(query.encode()):
                facts = {name: fact if isinstance(fact, str) else json.dumps(fact) for name, fact in row.items()}
                rows[f"{table} row {row.get('parent') or row.get('table_name')}"] = {"kind": "row", **facts}
    return rows, unread


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A partition other than DEFAULT; its parts go by their names in the parent."""

    name: str
    parent: str
    bounds: str
    leaving: bool
    guarded: bool
    facts: Facts


def _relations(connection: Connection) -> tuple[dict[str, Facts], list[Partition]]:
    found = _rows(connection, queries.RELATIONS)
    names = {row["oid"]: row["name"] for row in found}
    passing = {row["oid"] for row in found if row["bounds"] not in (None, "DEFAULT")}
    parts: dict[int, dict[str, dict[str, str]]] = {oid: {} for oid in names}
    for aspect, query in queries.PARTS.items():
        for oid, name, definition, in_parent in connection.execute(query.encode(), (list(names),)):
            key = in_parent if in_parent and oid in passing else name
            parts[oid].setdefault(aspect, {})[key] = " ".join((definition or "dropped meanwhile").split())
    relations: dict[str, Facts] = {}
    partitions = []
    for row in found:
        own = ("oid", "name", "parent", "bounds", "leaving", "comment")
        oid, name, parent, bounds, leaving, comment = (row.pop(c) for c in own)
        facts = _facts(row | parts[oid])
        if oid in passing:
            partitions.append(
                Partition(
                    name=name,
                    parent=names[parent],
                    bounds=bounds,
                    leaving=leaving,
                    guarded=comment == GUARDED,
                    facts=facts,
                )
            )
        else:
            relations[name] = facts | ({"partition of": f"{names[parent]} {bounds}"} if bounds else {})
    return relations, partitions


def _judge(partition: Partition, catalog: Catalog) -> Iterator[Difference]:
    """A partition is named for its time, covers exactly that, and is made like its parent."""
    table = partition.parent.rpartition(".")[2]
    step = catalog["policies"].get(f"{POLICIES[0]} row {table}", {}).get("step")
    bounds = _bounds(partition, step)
    if bounds is None:
        pattern = {"1 year": "YYYY", "1 mon": "YYYY_MM"}.get(str(step), "YYYY or YYYY_MM")
        yield _change(partition.name, "name", f"{partition.parent}_{pattern}", partition.name)
    elif partition.bounds != bounds:
        yield _change(partition.name, "bounds", bounds, partition.bounds)
    if partition.leaving:
        yield _change(partition.name, "attached", "yes", "half detached")
    guard = GUARD.format(partition.name.rpartition(".")[2])
    if partition.guarded and guard not in catalog["relations"]:
        yield Difference(kind="missing", object=guard, declared="view")
    parent = catalog["relations"][partition.parent]
    for aspect in (*LIKE_THE_PARENT, *queries.PARTS):
        want, got = parent.get(aspect, {}), partition.facts.get(aspect, {})
        if aspect in ("indexes", "triggers"):  # the definitions name their table
            want, got = _states(want), _states(got)
        elif aspect in ("grants", "column grants"):  # rows are reached through the parent: nobody needs a right here
            want = {}
        yield from _changes(partition.name, {aspect: want}, {aspect: got})


def _bounds(partition: Partition, step: object) -> str | None:
    """The bounds that belong to the name, written as the server writes them."""
    year = r"_(\d{4})"
    suffix = {"1 year": year, "1 mon": year + r"_(\d\d)"}.get(str(step), year + r"(?:_(\d\d))?")
    match = re.fullmatch(re.escape(partition.parent) + suffix, partition.name)
    if not match:
        return None
    first, month = int(match[1]), int(match.groups()[-1] or 0) if match.lastindex == 2 else 0
    start = (first, month or 1)
    end = (first + 1, 1) if month in (0, 12) else (first, month + 1)
    midnight = " 00:00:00+00" if ":" in partition.bounds else ""
    lower, upper = (f"('{y:04}-{m:02}-01{midnight}')" for y, m in (start, end))
    return f"FOR VALUES FROM {lower} TO {upper}"


def _states(parts: str | Mapping[str, str]) -> dict[str, str]:
    state = re.compile(r" (INVALID|DISABLED|ENABLED .)$")
    return {
        name: found[1].lower() if (found := state.search(text)) else "as in its parent"
        for name, text in (parts.items() if isinstance(parts, Mapping) else ())
    }


def _change(name: str, aspect: str, declared: str, live: str) -> Difference:
    return Difference(kind="changed", object=name, aspect=aspect, declared=declared, live=live)


def _changes(name: str, declared: Facts, live: Facts) -> Iterator[Difference]:
    for aspect in dict.fromkeys([*declared, *live]):
        want, got = declared.get(aspect, {}), live.get(aspect, {})
        if isinstance(want, str) or isinstance(got, str):
            if want != got:
                yield _change(name, aspect, str(want or "none"), str(got or "none"))
            continue
        one = SINGULAR.get(aspect, aspect.removesuffix("s"))
        for part in sorted(want.keys() | got.keys()):
            if part not in got:
                yield Difference(kind="missing", object=name, aspect=f"{one} {part}", declared=want[part])
            elif part not in want:
                yield Difference(kind="extra", object=name, aspect=f"{one} {part}", live=got[part])
            elif want[part] != got[part]:
                yield _change(name, f"{one} {part}", want[part], got[part])


def _extra(name: str, facts: Facts, declared: Catalog) -> Iterator[Difference]:
    schema = name.partition(".")[0]
    kind = str(facts["kind"])
    if schema == COMES_AND_GOES or ("." in name and schema not in declared["schemas"]):
        return  # the extra schema itself says it
    parent = declared["relations"].get(re.sub(r"_\d{4}(_\d\d)?$", "", name), {})
    if kind == "table" and "partitioned by" in parent:
        yield _change(name, "attached", "yes", "no")
    else:
        yield Difference(kind="extra", object=name, live=kind)
