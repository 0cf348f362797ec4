"""Approvals: files that permit one merge of exactly the changes that they name, with who, why and until when.

Used: the base has what stood before, and the head what stands after. Spent: the file is at the base already; it is
ignored, and `accept` deletes it. Whatever else is new and fits nothing, or is over, fails.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from datetime import date, datetime
from itertools import count
from pathlib import Path
from typing import Any

from holdfast.cfn import bounded
from holdfast.cfn.compare import ABSENT
from holdfast.contract.diff import SERIOUS, Change
from holdfast.errors import InputError

FOLDER = Path("approvals")
MAX_BYTES = 100_000
MEND = "write it with holdfast accept"
TOP, ENTRY = ("stack", "because", "by"), ("kind", "store", "resource", "path", "says", "before", "after")
# A comment, a heading, or one word with a string or something short.
LINE = re.compile(r'(#.*|\[\[change\]\]|[a-z]+ *= *("(?:[^"\\]|\\.)*"|[\w:\[\]+-]{1,40}))?')
HEADER = "# Written by `holdfast accept`. It permits one merge of exactly these changes.\n"


@dataclass(frozen=True, slots=True)
class Entry:
    """One change that is permitted; by digests of both values it is that one and no other."""

    kind: str
    store: str
    resource: str
    path: str
    says: str
    before: str
    after: str


Key = tuple[str, Entry]  # the stack, and the change


@dataclass(frozen=True, slots=True)
class Approval:
    """One file: changes of one stack, with one reason."""

    stack: str
    because: str
    by: str
    until: date
    entries: tuple[Entry, ...]


def file_name(approval: Approval, taken: Iterable[str] = ()) -> str:
    """The same for the same approval, and another where a spent one has that name already."""
    names = frozenset(taken)
    for number in count():
        known = json.dumps([astuple(approval), number], default=str)
        name = f"{approval.stack.partition('/')[0]}-{hashlib.sha256(known.encode()).hexdigest()[:8]}.toml"
        if name not in names:
            break
    return name


@dataclass(frozen=True, slots=True)
class Review:
    """What the approvals say of a diff."""

    used: Mapping[Key, tuple[str, Approval]] = field(default_factory=dict)  # the file, and what it says
    open: tuple[Change, ...] = ()  # serious, and without an approval
    states: Mapping[str, str] = field(default_factory=dict)  # of every file: used, spent, or what is wrong with it
    problems: tuple[str, ...] = ()

    @property
    def passes(self) -> bool:
        return not self.open and not self.problems

    def approval(self, change: Change) -> tuple[str, Approval] | None:
        return self.used.get(key(change)) if self.used and change.kind in SERIOUS else None


NONE = Review()


def digest(value: Any) -> str:
    known = "absent" if value is ABSENT else json.dumps(value, sort_keys=True)
    return hashlib.sha256(known.encode()).hexdigest()[:16]


def entry(change: Change) -> Entry:
    before, after = (change.before, change.after) if change.path or change.whole == (ABSENT, ABSENT) else change.whole
    return Entry(
        kind=change.kind.value,
        store=change.store or "",
        resource=change.resource,
        path="/".join(change.path),
        says=change.says,
        before=digest(before),
        after=digest(after),
    )


def key(change: Change) -> Key:
    return change.stack, entry(change)


def review(changes: Iterable[Change], found: Mapping[str, Approval], spent: Iterable[str], today: date) -> Review:
    """Which changes are approved, by which of the files ``found``; ``spent`` are the names of those at the base."""
    serious = [c for c in changes if c.kind in SERIOUS]
    known = {key(c): c for c in serious}
    used: dict[Key, tuple[str, Approval]] = {}
    states, problems = {}, []
    gone = frozenset(spent)
    for name, approval in sorted(found.items()):
        state = "spent"
        if name not in gone:
            state = _state(approval, known, today)
            if state == "used":
                used |= {(approval.stack, e): (name, approval) for e in approval.entries}
            else:
                problems.append(f"{FOLDER / name} {state}")
        states[name] = state
    still = tuple(c for k, c in known.items() if k not in used)
    return Review(used=used, open=still, states=states, problems=tuple(problems))


def _state(approval: Approval, known: Mapping[Key, Change], today: date) -> str:
    if today > approval.until:
        return f"is over since {approval.until}: ask again"
    for e in approval.entries:
        change = known.get((approval.stack, e))
        what = f"({e.says or e.kind} of {e.store or e.resource or approval.stack})"
        if change is None:
            return f"fits nothing in this change {what}"
        if not change.approvable:
            return f"is for what cannot be approved {what}"
    return "used"


# Files


def read(folder: Path) -> dict[str, Approval]:
    """The approvals of the working tree, by file name."""
    found = {}
    for path in sorted((folder / FOLDER).glob("*.toml")):
        found[path.name] = parse(bounded.read(path, MAX_BYTES, MEND), path.name)
    return found


def parse(content: bytes, name: str) -> Approval:
    """One approval from the bytes of its file."""
    where = FOLDER / name
    if len(content) > MAX_BYTES:
        raise _damaged(where, f"more than {MAX_BYTES // 1_000} KB")
    try:
        known = tomllib.loads(_plain(content.decode("utf-8")))
    except (ValueError, RecursionError) as error:
        why = "half merged" if b"<<<<<<< " in content else f"not TOML: {' '.join(str(error).split())}"
        raise _damaged(where, why) from None
    texts = _texts(known, TOP, where)
    if not texts["because"].strip() or not texts["by"].strip():
        raise _damaged(where, "it says neither why nor who" if not texts["because"].strip() else "it does not say who")
    until, entries = known.get("until"), known.get("change")
    if not isinstance(until, date) or isinstance(until, datetime):
        raise _damaged(where, "until is not a day such as 2026-12-31")
    if not isinstance(entries, list) or not entries or not all(isinstance(e, dict) for e in entries):
        raise _damaged(where, "it names no change")
    return Approval(until=until, entries=tuple(Entry(**_texts(e, ENTRY, where)) for e in entries), **texts)


def _plain(content: str) -> str:
    """The same where every line is one that `text` could have written: what else TOML knows can take for ever."""
    for number, line in enumerate(content.split("\n"), 1):
        if not LINE.fullmatch(line.strip()):
            raise ValueError(f"line {number} is not of an approval")
    return content


def _texts(known: Mapping[str, Any], names: Sequence[str], where: Path) -> dict[str, str]:
    for name in names:
        if not isinstance(known.get(name), str):
            raise _damaged(where, f"{name} is missing or is not a text")
    return {name: known[name] for name in names}


def _damaged(where: Path, why: str) -> InputError:
    return InputError(f"{where} is not an approval ({why}): {MEND}")


def text(approval: Approval) -> str:
    lines = [f"{name} = {_quoted(getattr(approval, name))}" for name in TOP]
    lines.append(f"until = {approval.until.isoformat()}")
    for e in approval.entries:
        lines += ["", "[[change]]", *(f"{name} = {_quoted(getattr(e, name))}" for name in ENTRY)]
    return HEADER + "\n".join(lines) + "\n"


def _quoted(words: str) -> str:
    """A basic string of TOML: whatever could end it, or cannot stand in it, is escaped."""
    return '"' + "".join(_escaped(c) for c in words) + '"'


def _escaped(c: str) -> str:
    if c in '"\\':
        return f"\\{c}"
    code = ord(c)
    if 0x20 <= code < 0x7F:
        return c
    if 0xD800 <= code <= 0xDFFF:
        return "\\uFFFD"  # half of a character: TOML has none
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
