"""docs/tables.md: every table and store of every stack, with all that the estate knows of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from holdfast.estate.estate import Estate
from holdfast.estate.placement import Placed
from holdfast.estate.provenance import Stated, of_stack, of_store, of_table
from holdfast.estate.stack import Stack
from holdfast.inventory.entries import asked, encryption, sighted
from holdfast.inventory.listing import seen_text, short
from holdfast.kinds.table.declaration import Attribute, Governance, Index, Key, Table
from holdfast.model.facts import Guard
from holdfast.model.provenance import ASSUMED, Fact, spans
from holdfast.model.store import Store
from holdfast.policy.required import lifetime

Facts = list[tuple[Placed, list[Stated]]]  # of one table or store in each of its places

INTRODUCTION = """\
A table has no stream, TTL, successor, archive phase, sighting or waiver where none is given. *Assumed* is what no
document gives: `holdfast list --assumed` says why. `holdfast list --table NAME` gives the lines of every single fact.
"""
GOVERNED = {
    Governance.STACK: "governed by its stack",
    Governance.ORPHAN: "orphan: its stack was deleted",
    Governance.PRE_CDK: "pre-CDK: made by hand, in no stack",
}
KEYS = {"customer-managed": "customer-managed key", "aws-owned": "AWS-owned key", "aws-managed": "AWS-managed key"}
# What is shown of an index that is not documented as it is declared.
OF_INDEX = {
    Fact.INDEX: "assumed",
    Fact.INDEX_NAME: "name assumed",
    Fact.INDEX_KEY: "key assumed",
    Fact.ADDITION: "added",
}
# Shown as they are declared, if they are.
OTHERS = tuple(fact.value for fact in (Fact.FLOOR, Fact.TAGS, Fact.CARDINALITY, Fact.RENAMED, Fact.MIXED))
TYPES = (Fact.KEY_TYPES.value, Fact.INDEX_TYPES.value)
MARKED = (*TYPES, *(fact.value for fact in OF_INDEX))  # where the keys are shown, if they are assumed


def page(estate: Estate) -> Iterator[str]:
    yield "# Tables\n"
    yield INTRODUCTION
    for env in estate.environments:
        places = estate.placements([env])
        count = sum(len(p.tables) for p in places)
        indexes = sum(len(t.every_index) for p in places for t in p.tables)
        stores = sum(len(p.stores) for p in places)
        held = f"{count} tables with {indexes} indexes and {stores} other stores"
        yield f"- **{env.label}**: {held} in {len(places)} stacks"
    for stack in estate.stacks:
        places = tuple(p for p in estate.placements() if p.stack is stack)
        yield f"\n## {stack.id}\n"
        yield f"System {stack.system}, owner {stack.owner}.\n"
        for p in places:
            how = "its tables exist in no stack" if p.by_import else "declared, not yet deployed" if p.waits else ""
            held = f"{len(p.stores)} stores" if p.stores else f"{len(p.tables)} tables"
            yield f"- {p.env.label}: `{p.name}` in {p.region}, {held}{f', {how}' if how else ''}"
        yield from _origins([(p, list(of_stack(p))) for p in places])
        for table in stack.tables:
            yield from _table(stack, table, [p for p in places if table in p.tables])
        for store in stack.stores:
            yield from _store(stack, store, places)


def _store(stack: Stack, store: Store, places: Iterable[Placed]) -> Iterator[str]:
    yield f"\n### {store.name}\n"
    kind = type(store).__name__
    yield f"{store.purpose} *{kind}, {lifetime(store)}, {store.data.value}.*\n"
    yield "| fact | declared |"
    yield "|---|---|"
    assumed = {what for what, _, _ in store.assumptions()}
    yield from (f"| `{what}`{' (assumed)' if what in assumed else ''} | {value} |" for what, value in store.facts())
    yield ""
    yield f"- owner: {stack.owner}"
    yield from _origins([(p, list(of_store(p, store))) for p in places], marked=assumed)
    yield from (_environment(p, store) for p in places)


def _table(stack: Stack, table: Table, places: list[Placed]) -> Iterator[str]:
    facts: Facts = [(p, list(of_table(p, table))) for p in places]
    assumed = {n for _, of in facts for s in of if s.origin.kind == ASSUMED and s.fact in TYPES for n in s.names}
    yield f"\n### {table.name}\n"
    yield f"{table.purpose} *{lifetime(table).capitalize()}, {table.data.value}, {table.state.usage.value}.*\n"
    yield "| key | partition | sort | projection | finds |"
    yield "|---|---|---|---|---|"
    yield f"| table | {_key(table.key, assumed)} |  | {' '.join(asked(stack, table, None))} |"
    local = {i.name for i in table.local_indexes}
    for i in table.every_index:
        marks = [*(["local"] if i.name in local else []), *dict.fromkeys(_guess(a.fact) for a in i.assumed)]
        mark = f" ({', '.join(marks)})" if marks else ""
        yield f"| {i.name}{mark} | {_key(i.key, assumed)} | {_projected(i)} | {' '.join(asked(stack, table, i.name))} |"
    yield ""
    yield from _known(table, facts)
    yield f"- owner: {stack.owner}"
    yield from _origins(facts, marked=MARKED)
    yield from (_environment(p, table) for p in places)


def _known(table: Table, facts: Facts) -> Iterator[str]:
    """What is declared of a table beyond its keys, a line each."""
    state = table.state
    yield f"- state: {state.usage.value}; {GOVERNED[state.governance]}"
    if state.archive_phase is not None:
        yield f"- archive: phase {state.archive_phase}"
    if state.replaced_by:
        yield f"- successor: `{state.replaced_by}`{f', with fewer guards: {w}' if (w := state.fewer_guards) else ''}"
    if state.sighting:
        yield f"- seen: {seen_text(sighted(state.sighting))}"
    if stream := table.stream:
        read = f"read by `{stream.consumer}`" if stream.consumer else stream.pending or "no consumer"
        yield f"- stream: {stream.view.value}, {read}"
    if table.lifetime.ttl:
        yield f"- TTL: `{table.lifetime.ttl}`"
    if table.billing:
        yield f"- provisioned: {table.billing.read} read and {table.billing.write} write units"
    if table.extra:
        yield f"- also set: {', '.join(f'`{name}`' for name in table.extra.properties)}, because {table.extra.reason}"
    others = {s.fact: s.value for _, of in facts for s in of if s.fact in OTHERS}
    yield from (f"- {fact}: {value}" for fact, value in others.items())


def _guess(fact: Fact) -> str:
    return OF_INDEX.get(fact, f"{fact.value} assumed")


def _origins(facts: Facts, marked: Collection[str] = ()) -> Iterator[str]:
    """What is assumed and not marked as such already, and the lines of the document that anything is taken from."""
    of: dict[str, list[str]] = {}
    for placed, stated in facts:
        for s in (s for s in stated if s.origin.kind == ASSUMED and s.fact not in marked):
            of.setdefault(f"{s.fact} of {s.part}" if s.part else s.fact, []).append(placed.env.label)
    if of:
        everywhere = [p.env.label for p, _ in facts]
        yield f"- assumed: {'; '.join(f'{w}{_only(labels, everywhere)}' for w, labels in of.items())}"
    cited: dict[str, set[int]] = {}
    for s in (s for _, stated in facts for s in stated if s.origin.lines):
        cited.setdefault(s.origin.document or "document", set()).update(s.origin.lines)
    if cited:
        yield f"- sources: {'; '.join(f'{name} {spans(tuple(found))}' for name, found in cited.items())}"


def _only(labels: list[str], everywhere: list[str]) -> str:
    return f" ({', '.join(labels)})" if labels != everywhere else ""


def _environment(placed: Placed, store: Table | Store) -> str:
    """One line of an environment: its name there, its guards, whose key, and what is waived."""
    said = [short(placed.required(store))]
    if isinstance(store, Table):
        guarded = Guard.CUSTOMER_KEY in placed.required(store)
        said.append(
            KEYS[encryption(placed, store)] + (f" `{placed.foreign_key}`" if guarded and placed.foreign_key else "")
        )
    waived = [
        f"{w.rule} waived by {w.owner} to {w.expires}: {w.reason}" for w in store.waivers if w.environment == placed.env
    ]
    return f"- {placed.env.label}: `{placed.fill(store.name)}` — {'; '.join((*said, *waived))}"


def _key(key: Key, assumed: set[str]) -> str:
    return " | ".join((_typed(key.partition, assumed), _typed(key.sort, assumed) if key.sort else ""))


def _typed(attribute: Attribute, assumed: set[str]) -> str:
    return f"`{attribute.name}` {attribute.kind.value}{' (assumed)' if attribute.name in assumed else ''}"


def _projected(index: Index) -> str:
    return " ".join((index.projection.value, ", ".join(f"`{name}`" for name in index.include))).strip()
