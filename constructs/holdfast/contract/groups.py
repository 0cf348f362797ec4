"""Changes as they are told: what is equal over many stores once, the rest by store, with the reason first."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from holdfast.cfn.compare import ABSENT
from holdfast.cfn.facts import Property, facts
from holdfast.contract.diff import Change, Kind
from holdfast.contract.guards import FACTS, SHORT, STORES
from holdfast.contract.words import few
from holdfast.text import counted

MANY = 3  # stores from which on equal changes are told once
LONG = 90
SECRET = frozenset(
    {
        *("AuthToken", "MasterUserPassword", "Password", "Passwords", "SecretString", "UserData"),
        *("Command", "EntryPoint", "EnvironmentVariables", "Variables"),
    }
)
TAGS = frozenset({"Tags", "tags"})
Subject = tuple[str, str]  # stack, and store or resource


@dataclass(frozen=True, slots=True)
class Block:
    """What is told under one heading."""

    kind: Kind
    subjects: tuple[Subject, ...]
    changes: tuple[Change, ...]

    @property
    def title(self) -> str:
        if len(self.subjects) == 1:
            stack, name = self.subjects[0]
            return f"{name} in {stack}" if name else stack
        stacks = counted(len({s for s, _ in self.subjects}), "stack")
        return f"{len(self.subjects)} in {stacks}: {few([n or s for s, n in self.subjects])}"

    @property
    def lines(self) -> list[str]:
        """The reason first, then every single change, equal ones once."""
        equal: dict[object, list[Change]] = defaultdict(list)
        for c in self.changes:
            equal[_key(c)].append(c)
        reason = headline(self.changes) if len(self.subjects) == 1 else ""
        return [*([reason] if reason else []), *(self._line(of) for of in equal.values())]

    def _line(self, equal: Sequence[Change]) -> str:
        """With the resources that it is about, where these are not the store itself."""
        others = [c.resource for c in equal if c.store and c.type not in STORES]
        return line_of(equal[0]) + (f" ({few(others)})" if others and len(self.subjects) == 1 else "")


def blocks(changes: Iterable[Change]) -> list[Block]:
    """Worst first. Changes that are equal for many stores are one block, with all that are equal for the same ones."""
    by_key: dict[object, list[Change]] = defaultdict(list)
    for c in changes:
        by_key[_key(c)].append(c)
    many: dict[tuple[Kind, bool, tuple[Subject, ...]], list[Change]] = defaultdict(list)
    for equal in by_key.values():
        subjects = tuple(dict.fromkeys(map(_subject, equal)))
        if len(subjects) >= MANY:
            many[equal[0].kind, not equal[0].reaches, subjects] += equal
        else:
            for c in equal:
                many[c.kind, not c.reaches, (_subject(c),)].append(c)
    order = list(Kind)
    found = sorted(many.items(), key=lambda item: (order.index(item[0][0]), item[0][1], -len(item[0][2]), item[0][2]))
    return [Block(kind, subjects, tuple(of)) for (kind, _, subjects), of in found]


def headline(changes: Sequence[Change]) -> str:
    """Why a store loses guards: durable → transient: loses DP, RETAIN, PITR and 9 alarms in prod."""
    lowered = [c for c in changes if c.guard in FACTS]
    if not lowered:
        return ""
    names = [c.guard for c in changes if c.guard and c.guard not in FACTS and not (c.guard == "TTL" and _added(c))]
    alarms = names.count("alarm")
    lost = [n for n in SHORT if n in names] + ([counted(alarms, "alarm")] if alarms else [])
    facts_ = ", ".join(f"{_word(c.before)} → {_word(c.after)}" for c in reversed(lowered))
    all_ = " and ".join(filter(None, [", ".join(lost[:-1]), *lost[-1:]]))
    where = f" in {changes[0].environment}" if changes[0].environment else ""
    return f"{facts_}: {f'loses {all_}' if lost else 'keeps every guard'}{where}"


def _added(change: Change) -> bool:
    return change.before is ABSENT


def _word(value: Any) -> str:
    return value if isinstance(value, str) else "not said"


def _subject(change: Change) -> Subject:
    return change.stack, change.store or change.resource


def _key(change: Change) -> object:
    """What makes two changes equal, wherever they are."""
    values = tuple(json.dumps(v, sort_keys=True, default=repr) for v in (change.before, change.after))
    return change.kind, change.type, change.path, values, change.says, change.reaches


def line_of(change: Change) -> str:
    """What changed, in one line: what it means, where, and both values."""
    place = "/".join(change.path)
    if not place:
        return change.says
    trees = [v for v in (change.before, change.after) if isinstance(v, dict | list) and len(json.dumps(v)) > LONG]
    if trees:
        how = "is gone" if change.after is ABSENT else "is new" if change.before is ABSENT else "differs"
        return f"{change.says}: {place}" if change.says else f"{place} {how}"
    values = f"{shown(change, change.before)} → {shown(change, change.after)}"
    return f"{change.says}: {place} {values}" if change.says else f"{place}: {values}"


def shown(change: Change, value: Any) -> str:
    """A value as far as it may be seen: what may hold a secret is only said to differ."""
    if value is ABSENT:
        return "absent"
    if _secret(change, value):
        return "(not shown)"
    place = facts(change.type).at(change.path[1:]) if change.path[:1] == ("Properties",) else Property()
    found = json.dumps(_seen(value, place))
    return found if len(found) <= LONG else f"{found[: LONG - 1]}…"


def _secret(change: Change, value: Any) -> bool:
    """Variables, parameters, outputs, passwords; and of what no service tells again all but numbers and switches."""
    path = change.path
    of_stack = path[:2] in (("stack", "parameters"), ("template", "Parameters"))
    output = path[:2] == ("template", "Outputs") and ("Value" in path[3:4] or len(path) < 4)
    given = path[:2] == ("Properties", "Parameters") and not change.type.endswith("ParameterGroup")
    stored = change.type == "AWS::SSM::Parameter" and path[:2] == ("Properties", "Value")
    variable = any(step == "Environment" and above not in TAGS for above, step in pairwise(path))
    if of_stack or output or given or stored or variable or SECRET & set(path):
        return True
    write_only = path[:1] == ("Properties",) and facts(change.type).at(path[1:]).write_only
    return write_only and not isinstance(value, bool | int | float)


def _seen(value: Any, place: Property) -> Any:
    """A tree without what may be secret in it."""
    if isinstance(value, dict):
        return {k: "(not shown)" if _hides(k, v, place.part(k)) else _seen(v, place.part(k)) for k, v in value.items()}
    return [_seen(v, place.part(n)) for n, v in enumerate(value)] if isinstance(value, list) else value


def _hides(name: str, part: Any, place: Property) -> bool:
    variables = name == "Environment" and isinstance(part, dict | list)  # a tag of that name is a text
    return name in SECRET or variables or (place.write_only and not isinstance(part, bool | int | float))
