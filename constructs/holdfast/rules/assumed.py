"""Facts that were assumed: confirmed or refuted by a live table, with the lines to paste."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from holdfast.kinds.table.declaration import Attribute, AttributeType, Index, Key, Projection
from holdfast.kinds.table.observed import Observed
from holdfast.model.provenance import OF_INDEXES, Fact
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.subjects import AssumedFact
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, Outcome, Verdict, fail, unknown

TYPES = frozenset({Fact.KEY_TYPES, Fact.INDEX_TYPES})
SHOWN = OF_INDEXES | TYPES | {Fact.KEY, Fact.PROJECTION, Fact.TTL}  # what a live table can confirm or refute


def confirm(s: AssumedFact) -> Verdict:
    """What a live table says of a fact that was assumed of it."""
    said = _compared(s)
    if said.outcome is not Outcome.FAIL:
        return said
    if isinstance(s.deployed, Unknown):
        return fail(f"{said.detail}; whether a deploy made it as assumed cannot be read: {s.deployed.reason}")
    return fail(f"{said.detail}; {SINCE}") if changed(s) else said


def changed(s: AssumedFact) -> bool:
    """Whether a deploy made true what was assumed: what is live differs from it by a change, and not by a wrong guess."""
    return isinstance(s.deployed, Observed) and _compared(replace(s, seen=s.deployed)).outcome is Outcome.PASS


def _compared(s: AssumedFact) -> Verdict:
    table, stated, seen = s.table, s.assumption, s.seen
    what = f"{stated.fact} of {stated.part}" if stated.part else stated.fact
    fact = stated.assumed.fact if stated.assumed else None
    if fact not in SHOWN:
        return EXEMPT  # an account does not show it
    for part in (seen.key, seen.indexes, seen.local_indexes, seen.ttl):
        if isinstance(part, Unknown):
            return unknown(f"{what}: {part.reason}")
    assert isinstance(seen.key, Key)
    indexes, declared = _every(seen), {i.name: i for i in table.every_index}
    local = {i.name for i in table.local_indexes}
    match fact:
        case Fact.KEY:
            same = _names(seen.key) == _names(table.key)
            return _said(what, same, f"key={key_line(seen.key)},")
        case Fact.KEY_TYPES | Fact.INDEX_TYPES:
            kinds = {a.name: a.kind for a in table.attributes if a.name in stated.names}
            wrong = [a for a in _attributes(seen) if kinds.get(a.name, a.kind) is not a.kind]
            return _said(what, not wrong, ", ".join(attribute_line(a) for a in wrong))
        case Fact.PROJECTION:
            different = [
                i for i in indexes.values() if isinstance(i, Index) and i.name in declared and _projects(i, declared)
            ]
            lines = ((lsi_line if i.name in local else gsi_line)(i) for i in different)
            return _said(what, not different, ", ".join(lines))
        case Fact.TTL:
            return _said(what, seen.ttl == table.lifetime.ttl, f"ttl={_quoted(seen.ttl)}" if seen.ttl else "no ttl=")
        case _:  # of one index
            assert stated.part
            guess = declared[stated.part]
            paired, others = _paired(table.indexes, seen)
            found = indexes.get(stated.part) or paired.get(stated.part)
            if isinstance(found, Unknown):
                return unknown(f"{what}: {found.reason}")
            if found is None:
                return _said(what, False, ", ".join(map(gsi_line, others)) or "no such index: drop it")
            same = found.name == guess.name if fact is Fact.INDEX_NAME else _names(found.key) == _names(guess.key)
            line = lsi_line if stated.part in local else gsi_line
            return _said(what, same, f"{line(found)},")


def _assumed(index: Index) -> set[Fact]:
    return {a.fact for a in index.assumed}


def _paired(declared: Sequence[Index], seen: Observed) -> tuple[dict[str, Index], list[Index]]:
    """The live global index of each whose name was a guess, and the live ones of no declaration that are left.

    It is that of the same key, or where the key was a guess, too, the one whose name begins and ends most alike.
    """
    live, names = _global(seen), {i.name for i in declared}
    left = [i for n, i in live.items() if n not in names and isinstance(i, Index)]
    guesses = [i for i in declared if i.name not in live and Fact.INDEX_NAME in _assumed(i)]
    alike = [(likeness, guess, other) for guess in guesses for other in left if (likeness := _likeness(guess, other))]
    paired: dict[str, Index] = {}
    for _, guess, other in sorted(alike, key=lambda found: found[0], reverse=True):
        if guess.name not in paired and other in left:
            paired[guess.name] = other
            left.remove(other)
    return paired, left


def _likeness(guess: Index, other: Index) -> tuple[bool, int] | None:
    """How much another index could be the one that is meant, or None."""
    if _names(guess.key) == _names(other.key):
        return True, 0
    begins = _same(guess.name, other.name)
    if not begins or Fact.INDEX_KEY not in _assumed(guess):
        return None
    return False, begins + _same(guess.name[::-1], other.name[::-1])


def _same(one: str, other: str) -> int:
    """With how many characters in common both begin."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))


def _said(what: str, same: bool, line: str) -> Verdict:
    if same:
        return Verdict(Outcome.PASS, f"{what}: confirmed by the live table; delete assumed=")
    return fail(f"{what}: refuted by the live table, which has {line}")


ASSUMED = Rule(
    id="HF613",
    title="Assumed facts are true",
    why="No source gives these facts, so they were chosen. The live table shows what is true, and a deploy of a wrong guess at a "
    "key replaces the table.",
    remediation="Correct the declaration of {table} as shown, and delete assumed=.",
    severity=Severity.HIGH,
    checks=(Check(AssumedFact, confirm),),
)
SINCE = "the deployed template has what was assumed, so it was changed after the deploy, or imported and never applied"
# What the audit says instead of the rule's own words, where it knows that a deploy made it as assumed.
CHANGED = (
    "Find out who changed {table}, and bring it back to what the contract says. Only if what is live is right: correct the "
    "declaration as shown, and delete assumed="
)
RULES = (ASSUMED,)


def _names(key: Key) -> tuple[str, ...]:
    return tuple(a.name for a in key.attributes)


def _attributes(seen: Observed) -> tuple[Attribute, ...]:
    assert isinstance(seen.key, Key)
    keys = (seen.key, *(i.key for i in _every(seen).values() if isinstance(i, Index)))
    return tuple(dict.fromkeys(a for k in keys for a in k.attributes))


def _global(seen: Observed) -> Mapping[str, Index | Unknown]:
    return {} if isinstance(seen.indexes, Unknown) else seen.indexes


def _every(seen: Observed) -> Mapping[str, Index | Unknown]:
    """The indexes that could be read, the local ones with them."""
    local = {} if isinstance(seen.local_indexes, Unknown) else seen.local_indexes
    return {**_global(seen), **local}


def _projects(seen: Index, declared: Mapping[str, Index]) -> bool:
    other = declared[seen.name]
    return (seen.projection, seen.include) != (other.projection, other.include)


# Lines to paste


def key_line(key: Key) -> str:
    return f"key({', '.join(map(attribute_line, key.attributes))})"


def gsi_line(index: Index) -> str:
    return f"gsi({', '.join(_index_parts(index, index.key.attributes))})"


def lsi_line(index: Index) -> str:
    return f"lsi({', '.join(_index_parts(index, index.key.attributes[1:]))})"


def _index_parts(index: Index, key: Sequence[Attribute]) -> list[str]:
    parts = [attribute_line(a) for a in key]
    if index.name != "-".join([*(a.name for a in key), "index"]):
        parts.append(f"name={_quoted(index.name)}")
    if index.projection is Projection.INCLUDE:
        parts.append(f"include=({', '.join(map(_quoted, index.include))},)")
    elif index.projection is not Projection.ALL:
        parts.append(f"projection=Projection.{index.projection.name}")
    return parts


def attribute_line(a: Attribute) -> str:
    match a.kind:
        case AttributeType.STRING:
            return _quoted(a.name)
        case AttributeType.NUMBER:
            return f"number({_quoted(a.name)})"
        case AttributeType.BINARY:
            return f"Attribute({_quoted(a.name)}, AttributeType.BINARY)"


def _quoted(text: object) -> str:
    return f'"{text}"'
