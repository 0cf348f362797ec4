"""What the audit says of every live mutant, beyond what it says of the clean account: kept in golden/.

A merge of rules may change ids there and nothing else. After a change that is meant, rewrite the files and read their
diff: `HOLDFAST_GOLDEN=write pytest tests -k golden`.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from accounts import NOW, account, deployed, live, template, with_table
from mutants import MUTATIONS, tables
from shop import DEV, ESTATE, alone

from holdfast.audit.audit import Audit, audit
from holdfast.cfn.template import StackSeen
from holdfast.estate.placement import Placed
from holdfast.kinds.table.live import observed
from holdfast.kinds.table.observed import Observed
from holdfast.rules import ACTIONABLE
from holdfast.shared.account import Account, StoreSeen
from holdfast.shared.key.observed import ObservedKey
from holdfast.unknown import Unknown

FOLDER = Path(__file__).parent / "golden"
# A stack with personal, operational and transient data, indexes and a stream consumer; and one with assumed facts.
STACKS = ("Orders-production", "Journal-live")
UNREAD = Unknown("refused")
KEY_CHANGES: Mapping[str, Mapping[str, Any]] = {
    "key disabled": {"extras": frozenset({"KeyState Disabled"})},
    "key being deleted": {"extras": frozenset({"KeyState PendingDeletion"})},
    "key not rotated": {"rotation": False},
    "key policy unread": {"policy": UNREAD},
    "key of another account": {"where": "arn:aws:kms:us-east-1:111122223333:key/x"},
    "key with more settings": {"extras": frozenset({"KeySpec"})},
}
TABLE_CHANGES: Mapping[str, Mapping[str, Any]] = {
    "being deleted": {"status": "DELETING"},
    "without its key": {"status": "INACCESSIBLE_ENCRYPTION_CREDENTIALS"},
    "being made": {"status": "CREATING"},
    "without its key and active": {"without_key": NOW},
    "recoverable since now": {"restorable": NOW},
    "of another stack": {"owner": "Other"},
    "uncounted": {"items": UNREAD, "size": UNREAD, "indexes": UNREAD},
}


def said(found: Audit) -> set[str]:
    """The findings that somebody has to act on, without their wording."""
    return {
        f"{f.rule.id} {f.outcome.value} {f.rule.severity.value} {f.environment or '-'} {f.table or '-'}"
        for f in found.findings
        if f.outcome in ACTIONABLE
    }


def check(name: str, found: Mapping[str, Iterable[str]]) -> None:
    """Compares with golden/, or writes it where that is asked for."""
    text = json.dumps({mutant: sorted(lines) for mutant, lines in sorted(found.items())}, indent=1) + "\n"
    path = FOLDER / f"{name}.json"
    if os.environ.get("HOLDFAST_GOLDEN") == "write":
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert json.loads(text) == json.loads(path.read_text(encoding="utf-8"))  # read this module's first lines


def table_mutants() -> Iterator[tuple[str, Placed, Account]]:
    """(name, where, account): a template's mutation live, deployed, or both; and what only a live table can be."""
    for placed in (p for p in ESTATE.placements() if p.id in STACKS):
        clean = account(placed.region, (placed.stack.id,))
        for logical_id, name in tables(template(placed.id)).items():
            for kind, mutate in MUTATIONS.items():
                mutant = copy.deepcopy(template(placed.id))
                if mutate(mutant, logical_id):
                    yield from _three(f"{name}: {kind}", placed, clean, name, mutant)
            assert isinstance(clean.tables, Mapping)
            for kind, changes in _live_only(clean.tables[name]):
                yield f"{name}: {kind}, live", placed, with_table(clean, name, **changes)


def _three(title: str, placed: Placed, clean: Account, name: str, mutant: Any) -> Iterator[tuple[str, Placed, Account]]:
    stack = deployed(placed, mutant["Resources"])
    assert isinstance(stack.seen, StackSeen)
    assert isinstance(clean.stacks, Mapping)
    there = replace(clean, stacks=dict(clean.stacks) | {placed.name: stack})
    assert isinstance(clean.tables, Mapping)
    seen = live(stack.seen, placed.region)
    yield f"{title}, deployed", placed, there
    yield f"{title}, live", placed, replace(clean, tables=seen)
    yield f"{title}, both", placed, replace(there, tables=seen)


def _live_only(table: StoreSeen) -> Iterator[tuple[str, dict[str, Any]]]:
    same = {"source", "stack", "where", "type", "name"}
    for field in (f.name for f in fields(Observed) if f.name not in same):
        # Alarms are listed whole or not at all: what can be unread beside them is who hears them.
        yield f"{field} unread", {"observed": {"topics" if field == "watched" else field: UNREAD}}
    key = observed(table).encryption
    for kind, changes in KEY_CHANGES.items() if isinstance(key, ObservedKey) else ():
        assert isinstance(key, ObservedKey)
        yield kind, {"observed": {"encryption": replace(key, **changes)}}
    for kind, changes in TABLE_CHANGES.items():
        yield kind, dict(changes)


def tables_said() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    clean: dict[str, set[str]] = {}
    for name, placed, seen in table_mutants():
        there, twin = (account(region, (placed.stack.id,)) for region in (placed.region, DEV.region))
        if placed.id not in clean:
            clean[placed.id] = said(_look(placed, there)) | said(_look(placed, there, twin))
        found[name] = said(_look(placed, seen)) - clean[placed.id]
        if placed.id == STACKS[0] and name.endswith(", live"):  # beside the same stack in dev
            beside = said(_look(placed, seen, twin))
            found[name.replace(", live", ", live beside its twin")] = beside - clean[placed.id] - found[name]
    return found


def _look(placed: Placed, *seen: Account) -> Audit:
    both = len(seen) > 1
    return audit(alone(placed.stack), seen, [placed.env, *([DEV] if both else [])], now=NOW)
