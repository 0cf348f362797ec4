"""Policy documents: whether one lets more in than another, and what a resource lets others do.

A statement is split into single grants (who, what, where, under which conditions); a grant is new where no
statement of the other side is about all of it. In doubt it is new.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from holdfast.cfn.policies import is_function
from holdfast.cfn.tree import items, mapping, parts
from holdfast.cfn.values import NO_VALUE
from holdfast.contract.words import few

Json = dict[str, Any]
NEGATED = re.compile("Not|IfExists|Null")
GRANTS = 10_000  # of one statement; more is one grant, which only an equal one covers
WITHOUT = "AWS::CloudWatch::"  # alarms and dashboards: large, and without policies
DOCUMENTS = ("PolicyDocument", "KeyPolicy", "ResourcePolicy", "AccessPolicy")  # names of properties that hold one


@dataclass(frozen=True, slots=True)
class Statement:
    body: Json
    within: Any  # the function that may leave it out; None where it is always there

    def is_(self, effect: str) -> bool:
        return self.within is None and self.body.get("Effect") == effect

    def may(self, effect: str) -> bool:
        """A deploy may decide what it does."""
        found = self.body.get("Effect")
        return found == effect or isinstance(found, dict)


def looser(old: Json, new: Json) -> Iterator[tuple[tuple[str, ...], str]]:
    """The properties of a resource whose policies let more in: the path, and what."""
    before, after = _by_property(old, new), _by_property(new, old)
    for name in sorted(before.keys() | after.keys()):
        were, are = before.get(name, []), after.get(name, [])
        if were == are:
            continue
        if more := _beyond(are, were, "Allow"):
            yield ("Properties", name), f"a policy allows more: {few(more, between='; ')}"
        if less := _beyond(were, are, "Deny"):
            yield ("Properties", name), f"a policy no longer denies {few(less, between='; ')}"
    yield from _managed(old, new)


def _managed(old: Json, new: Json) -> Iterator[tuple[tuple[str, ...], str]]:
    before, after = (items(mapping(r.get("Properties")).get("ManagedPolicyArns")) for r in (old, new))
    if more := [a for a in after if a not in before]:
        yield ("Properties", "ManagedPolicyArns"), f"a policy allows more: {few(map(spelled, more), between='; ')}"


def allowed(resource: Json) -> list[str]:
    """What a resource's policies allow: actions, and who may take a role that is not an AWS service."""
    found: set[str] = set()
    for name, statements in _by_property(resource).items():
        for s in (s.body for s in statements if s.may("Allow")):
            if name == "AssumeRolePolicyDocument":
                who = s.get("Principal")
                known = who if isinstance(who, dict) and not is_function(who) else {"": who}
                found |= {f"{spelled(w)} to take it" for k, of in known.items() if k != "Service" for w in items(of)}
            else:
                found |= {spelled(a) for a in items(s.get("Action"))}
                found |= {f"all but {spelled(a)}" for a in items(s.get("NotAction"))}
    return sorted(found | {spelled(a) for a in items(mapping(resource.get("Properties")).get("ManagedPolicyArns"))})


def denies(resource: Json) -> bool:
    return any(s.may("Deny") for of in _by_property(resource).values() for s in of)


def _by_property(resource: Json, but: Json | None = None) -> dict[str, list[Statement]]:
    """The statements of each property that another resource does not have as well."""
    if str(resource.get("Type")).startswith(WITHOUT):
        return {}
    others = mapping((but or {}).get("Properties"))
    found = {
        k: list(statements({k: v}))
        for k, v in mapping(resource.get("Properties")).items()
        if but is None or others.get(k) != v
    }
    return {k: v for k, v in found.items() if v}


def statements(tree: Any) -> Iterator[Statement]:
    """Of every policy document; what stands under a function, which a deploy decides, is marked with it."""
    waiting: list[tuple[Any, Any]] = [(tree, None)]
    while waiting:
        part, within = waiting.pop()
        if isinstance(part, dict):
            within = within or (part if is_function(part) else None)
            if "Statement" in part:
                yield from _stated(part["Statement"], within)
            for name, value in part.items():
                if (
                    name.endswith(DOCUMENTS)
                    and is_function(value)
                    and not any(isinstance(p, dict) and "Statement" in p for p in parts(value))
                ):
                    yield from _stated(value, within)
            waiting.extend((value, within) for value in reversed(part.values()))
        elif isinstance(part, list):
            waiting.extend((p, within) for p in reversed(part))


def _stated(part: Any, within: Any) -> Iterator[Statement]:
    """The statements of a list, and those among which a function chooses."""
    if isinstance(part, list):
        for item in part:
            yield from _stated(item, within)
    elif is_function(part):
        ((name, value),) = part.items()
        chosen = value[1:] if name == "Fn::If" and isinstance(value, list) else [{"Effect": part, "Action": [part]}]
        yield from _stated([c for c in chosen if c != NO_VALUE], within or part)
    elif isinstance(part, dict):
        yield Statement(part, within)


def _beyond(ours: list[Statement], theirs: list[Statement], effect: str) -> list[str]:
    """The grants that ``ours`` may have and that no statement of ``theirs`` certainly covers."""
    known = [s.body for s in theirs if s.is_(effect)]
    same = [s.within for s in theirs if s.within is not None]
    return [
        _words(grant)
        for s in ours
        if s.may(effect) and s.body not in known and s.within not in same and s not in theirs
        for grant in _grants(s.body)
        if not any(_covers(k, grant) for k in known)
    ]


def _grants(statement: Json) -> list[Json]:
    parts = [
        [(name, one) for one in _each(name, statement[name])]
        for name in ("Principal", "Action", "Resource")
        if name in statement
    ]
    size = 1
    for part in parts:
        size *= max(len(part), 1)
    if size > GRANTS:
        return [statement]
    rest = {k: v for k, v in statement.items() if k not in ("Principal", "Action", "Resource", "Sid")}
    return [rest | dict(chosen) for chosen in product(*parts)]


def _each(name: str, value: Any) -> list[Any]:
    if name == "Principal" and isinstance(value, dict) and not is_function(value):
        return [{kind: [who]} for kind, of in value.items() for who in items(of)]
    return [value] if name == "Principal" else [[v] for v in items(value)]


def _covers(wide: Json, narrow: Json) -> bool:
    """Whether ``wide`` is about everything that ``narrow`` is about."""
    return (
        _what("Action", wide, narrow)
        and _what("Resource", wide, narrow)
        and _who(wide, narrow)
        and _whenever(wide.get("Condition") or {}, narrow.get("Condition") or {})
    )


def _what(name: str, wide: Json, narrow: Json) -> bool:
    ours, theirs = (_texts(s.get(name)) for s in (wide, narrow))
    but, theirs_but = (_texts(s.get(f"Not{name}")) for s in (wide, narrow))
    if name == "Action":
        ours, theirs, but, theirs_but = ([t.lower() for t in of] for of in (ours, theirs, but, theirs_but))
    if "*" in ours:
        return True
    if but:
        return bool(theirs_but) and all(any(_matches(t, b) for t in theirs_but) for b in but)
    if theirs_but:
        return False
    return all(any(_matches(o, t) for o in ours) for t in theirs)


def _who(wide: Json, narrow: Json) -> bool:
    ours, theirs = wide.get("Principal"), narrow.get("Principal")
    if wide.get("NotPrincipal") != narrow.get("NotPrincipal"):
        return False
    if ours == theirs or ours == "*":
        return True
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return False
    if "*" in items(ours.get("AWS")):
        return True
    return all(who in items(ours.get(kind)) for kind, of in theirs.items() for who in items(of))


def _whenever(wide: Any, narrow: Any) -> bool:
    """Whether whatever ``narrow`` demands is at least what ``wide`` demands."""
    if wide == narrow or not wide:
        return True
    if not isinstance(wide, dict) or not isinstance(narrow, dict):
        return False
    for how, keys in wide.items():
        asked = narrow.get(how)
        if not isinstance(keys, dict) or not isinstance(asked, dict):
            return False
        for key, values in keys.items():
            if key not in asked or not _demands(how, _texts(values), _texts(asked[key])):
                return False
    return True


def _demands(how: str, wide: list[str], narrow: list[str]) -> bool:
    if sorted(wide) == sorted(narrow):
        return True
    if "Like" in how or "Arn" in how:
        return not NEGATED.search(how) and all(any(_matches(w, n) for w in wide) for n in narrow)
    if how.startswith(("StringNotEquals", "NotIpAddress")):
        return set(wide) <= set(narrow)
    return not NEGATED.search(how) and ":" not in how and set(narrow) <= set(wide)


def _matches(wide: str, narrow: str) -> bool:
    """Whether a pattern takes whatever another does: step by step, so that no pattern takes for ever."""
    at = here = 0
    star, back = -1, 0
    while here < len(narrow):
        if at < len(wide) and wide[at] == "*":
            star, back = at, here
            at += 1
        elif at < len(wide) and (wide[at] == narrow[here] or (wide[at] == "?" and narrow[here] != "*")):
            at, here = at + 1, here + 1
        elif star >= 0:
            back += 1
            at, here = star + 1, back
        else:
            return False
    return set(wide[at:]) <= {"*"}


def _texts(value: Any) -> list[str]:
    return [_text(v) for v in items(value)]


def _text(value: Any) -> str:
    """A value as text, in which what a deploy fills in stands between marks."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(joined := value.get("Fn::Join"), list) and joined[:1] == [""]:
        return "".join(_text(part) for part in items(joined[-1]))
    return "\ue000" + json.dumps(value, sort_keys=True).replace("*", "\\u002a") + "\ue001"


def spelled(value: Any) -> str:
    """For people: references by what they refer to."""
    if isinstance(value, str):
        return value
    match value:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]}:
            return f"${{{name}}}"
        case {"Fn::Join": ["", list(parts)]}:
            return "".join(map(spelled, parts))
    return json.dumps(value)


def _words(grant: Mapping[str, Any]) -> str:
    what = ", ".join(map(spelled, items(grant.get("Action")))) or "all but some actions"
    where = ", ".join(spelled(r) for r in items(grant.get("Resource")) if r != "*")
    who = grant.get("Principal")
    if isinstance(who, dict) and not is_function(who):
        who = ", ".join(spelled(w) for of in who.values() for w in items(of))
    return what + (f" on {where}" if where else "") + (f" to {spelled(who)}" if who else "")
