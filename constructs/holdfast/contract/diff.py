"""Two states of the same contracts: what is weakened, removed, replaced, added or changed, worst first. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

from holdfast.cfn.compare import ABSENT, Difference, differences, same
from holdfast.cfn.facts import facts
from holdfast.contract import guards
from holdfast.contract.guards import guards_of, store_name

Json = dict[str, Any]


class Kind(Enum):
    """What a change means for the data, worst first."""

    WEAKENED = "weakened"
    REMOVED = "removed"
    REPLACED = "replaced"
    ADDED = "added"
    CHANGED = "changed"


SERIOUS = frozenset({Kind.WEAKENED, Kind.REMOVED, Kind.REPLACED})
ALARM = "AWS::CloudWatch::Alarm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one resource, or of a stack where ``resource`` is empty."""

    kind: Kind
    stack: str
    resource: str = ""
    store: str | None = None
    path: tuple[str, ...] = ()
    before: Any = ABSENT
    after: Any = ABSENT
    says: str = ""


def diff(base: Mapping[str, Json], head: Mapping[str, Json]) -> list[Change]:
    """Every change from ``base`` to ``head``, contracts by stack id."""
    found = [
        change for id_ in sorted(base.keys() | head.keys()) for change in _stack(id_, base.get(id_), head.get(id_))
    ]
    order = list(Kind)
    return sorted(found, key=lambda c: (order.index(c.kind), c.stack, c.resource, c.path))


def _stack(id_: str, base: Json | None, head: Json | None) -> Iterator[Change]:
    if base is None:
        yield Change(kind=Kind.ADDED, stack=id_, says="the stack is new")
        return
    if head is None:
        kept = [n for r in _resources(base).values() if (n := store_name(r)) is not None]
        says = f"the stack is gone, and with it {', '.join(sorted(kept))}" if kept else "the stack is gone"
        yield Change(kind=Kind.REMOVED, stack=id_, says=says)
        return
    renamed = _renamed(_resources(base), _resources(head))
    for new, old in renamed.items():
        yield _moved(id_, old, new, _resources(base)[old])
    template = _referring(head["template"], renamed)
    known = base.keys() | head.keys() if base.get("version") else base.keys()  # an old snapshot says less
    for section in sorted(known - {"template", "version"}):
        for d in differences(base.get(section, ABSENT), head.get(section, ABSENT), (section,)):
            if base.get("version") or d.before is not ABSENT:
                yield _of_stack(id_, d)
    before, after = dict(base["template"]), dict(template)
    yield from _all_resources(id_, before.pop("Resources", {}), after.pop("Resources", {}))
    for d in differences(before, after, ("template",)):
        yield Change(kind=Kind.CHANGED, stack=id_, path=d.path, before=d.before, after=d.after)


def _of_stack(id_: str, d: Difference) -> Change:
    if d.path[:2] == ("stack", "terminationProtection") and d.before is True:
        return _change(Kind.WEAKENED, id_, d, says="termination protection is lost")
    if d.path[:2] in (("stack", "name"), ("stack", "environment")):
        return _change(Kind.REPLACED, id_, d, says="CloudFormation makes another stack, and the old one stays as it is")
    return _change(Kind.CHANGED, id_, d)


def _change(kind: Kind, id_: str, d: Difference, **more: Any) -> Change:
    return Change(kind=kind, stack=id_, path=d.path, before=d.before, after=d.after, **more)


# Resources


def _all_resources(id_: str, base: Json, head: Json) -> Iterator[Change]:
    stores = {k: n for k, r in base.items() if (n := store_name(r)) is not None}
    for logical_id in sorted(base.keys() | head.keys()):
        old, new = base.get(logical_id), head.get(logical_id)
        if old is None:
            says = f"new {new.get('Type')}{_reach(new)}" if isinstance(new, dict) else "new"
            yield Change(kind=Kind.ADDED, stack=id_, resource=logical_id, store=store_name(new), says=says)
        elif same(old, new):
            continue
        elif new is None:
            yield _gone(id_, logical_id, old, _mentions(old, stores))
        else:
            yield from _resource(id_, logical_id, old, new, _mentions(old, stores))


def _gone(id_: str, logical_id: str, old: Json, about: str | None) -> Change:
    name, kind = store_name(old), old.get("Type")
    if name is not None:
        stays = guards.read(old, ("DeletionPolicy",)) in ("Retain", "RetainExceptOnCreate")
        what = "its data stays behind, in no stack" if stays else "its data is deleted"
        says = f"{kind} {name} is gone: {what}"
        return Change(kind=Kind.REMOVED, stack=id_, resource=logical_id, store=name, says=says)
    if kind in (ALARM, "AWS::SNS::Subscription", "AWS::Backup::BackupSelection", "AWS::Backup::BackupPlan"):
        return Change(
            kind=Kind.WEAKENED, stack=id_, resource=logical_id, store=about, says=f"{kind} {logical_id} is gone"
        )
    if _policies(old):
        denies = any(s.get("Effect") == "Deny" for p in _policies(old) for s in p["Statement"] if isinstance(s, dict))
        if denies:
            return Change(
                kind=Kind.WEAKENED, stack=id_, resource=logical_id, store=about, says=f"{kind}, which denies, is gone"
            )
    return Change(kind=Kind.REMOVED, stack=id_, resource=logical_id, store=about, says=f"{kind} is gone")


def _resource(id_: str, logical_id: str, old: Json, new: Json, about: str | None) -> Iterator[Change]:
    store = store_name(old) if store_name(old) is not None else about
    told: set[tuple[str, ...]] = set()
    kind = str(old.get("Type"))
    here = partial(Change, stack=id_, resource=logical_id, store=store)
    if kind != new.get("Type"):
        says = f"{kind} becomes {new.get('Type')}: another resource takes its place"
        yield here(kind=Kind.REPLACED, path=("Type",), before=kind, after=new.get("Type"), says=says)
    for guard in guards_of(kind):
        before, after = guards.read(old, guard.path), guards.read(new, guard.path)
        was, is_ = guard.strength(before), guard.strength(after)
        if was and (is_ is None or is_ < was):
            told.add(guard.path)
            yield here(
                kind=Kind.WEAKENED,
                path=guard.path,
                before=_absent(before),
                after=_absent(after),
                says=f"{guard.label} is lost" if not is_ else f"{guard.label} is lowered",
            )
    if guards.expiry(new) != guards.expiry(old):
        path = ("Properties", "TimeToLiveSpecification")
        told.add(path)
        yield here(kind=Kind.WEAKENED, path=path, says=_expiry(guards.expiry(old), guards.expiry(new)))
    for d in differences(old, new):
        if any(d.path[: len(p)] == p or p[: len(d.path)] == d.path for p in told):
            continue
        if _creates(kind, d.path):
            says = f"{d.path[-1]} cannot be changed in place: CloudFormation makes a new one"
            yield here(kind=Kind.REPLACED, path=d.path, before=d.before, after=d.after, says=says)
        elif looser := _looser(old, new, d.path):
            yield here(kind=Kind.WEAKENED, path=d.path, before=d.before, after=d.after, says=looser)
        else:
            yield here(kind=Kind.CHANGED, path=d.path, before=d.before, after=d.after)


def _expiry(before: str | None, after: str | None) -> str:
    if before is None:
        return f"TTL is added: items are deleted by {after}"
    return f"TTL by {before} is removed" if after is None else f"TTL moves from {before} to {after}"


def _absent(value: Any) -> Any:
    return ABSENT if value is None else value


def _creates(kind: str, path: tuple[str, ...]) -> bool:
    """Whether a property can be set only when the resource is made."""
    if path[:1] != ("Properties",) or len(path) < 2:
        return False
    return facts(kind).at(path[1:]).create_only


# Policies


def _policies(resource: Any) -> list[Json]:
    """Every policy document in a resource."""
    found, waiting = [], [resource]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if isinstance(part.get("Statement"), list):
                found.append(part)
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return found


def _looser(old: Json, new: Json, path: tuple[str, ...]) -> str:
    """Why a change inside of a policy lets more in; empty where it is not in one, or lets nothing more in."""
    if "Statement" not in path:
        return ""
    to = path[: path.index("Statement") + 1]
    before, after = _statements(guards.read(old, to)), _statements(guards.read(new, to))
    if any(not any(_covers(b, a) for b in before) for a in after if a.get("Effect") == "Allow"):
        return "a policy allows more than it did"
    if any(not any(_covers(a, b) for a in after) for b in before if b.get("Effect") == "Deny"):
        return "a policy no longer denies all that it did"
    return ""


def _statements(found: Any) -> list[Json]:
    return [s for s in found if isinstance(s, dict)] if isinstance(found, list) else []


def _covers(wide: Json, narrow: Json) -> bool:
    """Whether whatever ``narrow`` is about, ``wide`` is about, too; the name of a statement means nothing."""
    for part in (wide.keys() | narrow.keys()) - {"Sid", "Condition"}:
        ours, theirs = wide.get(part), narrow.get(part)
        if part in ("Action", "Resource") and isinstance(ours, list) and isinstance(theirs, list):
            if not all(t in ours for t in theirs):
                return False
        elif part == "Principal" and isinstance(ours, dict) and isinstance(theirs, dict):
            if not all(
                t in ours.get(k, []) for k, of in theirs.items() for t in (of if isinstance(of, list) else [of])
            ):
                return False
        elif ours != theirs:
            return False
    conditions = wide.get("Condition", {})
    return all(
        narrow.get("Condition", {}).get(how, {}).get(k) == v for how, of in conditions.items() for k, v in of.items()
    )


def _reach(resource: Json) -> str:
    """What a new resource lets others do, where it is one of those that reach stores."""
    allowed = sorted(
        {
            action
            for p in _policies(resource)
            for s in p["Statement"]
            if isinstance(s, dict) and s.get("Effect") == "Allow"
            for action in _actions(s)
        }
    )
    return f", which allows {', '.join(allowed[:5])}{' …' if len(allowed) > 5 else ''}" if allowed else ""


def _actions(statement: Json) -> list[str]:
    found = statement.get("Action")
    return [a for a in found if isinstance(a, str)] if isinstance(found, list) else []


# Renames


def _renamed(base: Json, head: Json) -> dict[str, str]:
    """Logical ids of ``head`` that are those of ``base`` under another name: by type and name, or the only one."""
    gone, come = ({k: r for k, r in one.items() if k not in other} for one, other in ((base, head), (head, base)))
    pairs: dict[str, str] = {}
    for new, resource in come.items():
        alike = [old for old, r in gone.items() if r.get("Type") == resource.get("Type") and old not in pairs.values()]
        named = [old for old in alike if _identity(gone[old]) == _identity(resource) != ()]
        kind = resource.get("Type")
        alone = len(alike) == 1 and sum(r.get("Type") == kind for r in come.values()) == 1
        if len(named) == 1 or (alone and not _identity(resource) and not _identity(gone[alike[0]])):
            pairs[new] = (named or alike)[0]
    return pairs


def _identity(resource: Json) -> tuple[str, ...]:
    """What names a resource, as far as the template fixes it."""
    kind = str(resource.get("Type"))
    names = [path for paths in facts(kind).identity for path in paths] + [guards.STORES.get(kind, "")]
    noun = kind.rpartition("::")[2]
    found = (guards.read(resource, ("Properties", n)) for n in dict.fromkeys([*names, f"{noun}Name", "Name"]) if n)
    return tuple(json.dumps(f, sort_keys=True) for f in found if f is not None)


def _moved(id_: str, old: str, new: str, resource: Json) -> Change:
    says = f"its logical id changes from {old} to {new}: CloudFormation makes a new {resource.get('Type')}"
    store = store_name(resource)
    return Change(kind=Kind.REPLACED, stack=id_, resource=new, store=store, before=old, after=new, says=says)


def _referring(tree: Any, renamed: Mapping[str, str]) -> Any:
    """``tree`` with the logical ids of base: a renamed resource is one change, and what refers to it is none."""
    if not renamed:
        return tree
    match tree:
        case {"Ref": str(name)} if len(tree) == 1:
            return {"Ref": renamed.get(name, name)}
        case {"Fn::GetAtt": [str(name), *rest]} if len(tree) == 1:
            return {"Fn::GetAtt": [renamed.get(name, name), *rest]}
        case dict():
            return {
                (renamed.get(k, k) if isinstance(v, dict) and "Type" in v else k): (
                    sorted(renamed.get(d, d) for d in v)
                    if k == "DependsOn" and isinstance(v, list)
                    else _referring(v, renamed)
                )
                for k, v in tree.items()
            }
        case list():
            return [_referring(v, renamed) for v in tree]
    return tree


def _resources(contract: Json) -> Json:
    found = contract["template"].get("Resources", {})
    return {k: r for k, r in found.items() if isinstance(r, dict)} if isinstance(found, dict) else {}


def _mentions(resource: Json, stores: Mapping[str, str]) -> str | None:
    """The one store that a resource is about: an alarm on it, its key, its policy."""
    text = json.dumps(resource)
    found = {name for logical_id, name in stores.items() if f'"{logical_id}"' in text or (name and f'"{name}"' in text)}
    return found.pop() if len(found) == 1 else None
