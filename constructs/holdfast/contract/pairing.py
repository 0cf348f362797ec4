"""The same resource under another logical id, in another stack, or under another name."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from holdfast.cfn import normal
from holdfast.cfn.facts import facts
from holdfast.cfn.tree import mapping, read
from holdfast.contract import guards
from holdfast.contract.guards import environment, physical_name, store_name, type_of
from holdfast.contract.tags import with_our_names
from holdfast.kinds.table.observed import GLOBAL_TABLE, TABLE

Json = dict[str, Any]
Place = tuple[str, str]  # stack id and logical id


def renames(base: Json, head: Json) -> dict[str, str]:
    """{logical id in ``head``: in ``base``} of resources by type and name, by content, or as the only one of a type."""
    gone, come = (
        {k: one[k] for k in one.keys() - other.keys() if isinstance(one[k], dict)}
        for one, other in ((base, head), (head, base))
    )
    pairs: dict[str, str] = {}
    if not gone or not come:
        return pairs
    for key in (_named, _content):
        pairs |= _pairs(
            {k: key(r) for k, r in gone.items() if k not in pairs.values()},
            {k: key(r) for k, r in come.items() if k not in pairs},
        )
    left = {k: r for k, r in gone.items() if k not in pairs.values()}
    return pairs | _pairs({k: _only(r) for k, r in left.items()}, {k: _only(come[k]) for k in come if k not in pairs})


def _pairs(gone: Mapping[Any, Hashable], come: Mapping[Any, Hashable]) -> dict[Any, Any]:
    """{new: old} for every key that one of each has, and no other."""
    old, new = _by_key(gone), _by_key(come)
    return {new[k][0]: old[k][0] for k in old.keys() & new.keys() if k and len(old[k]) == len(new[k]) == 1}


def _by_key(keys: Mapping[Any, Hashable]) -> dict[Hashable, list[Any]]:
    found: dict[Hashable, list[Any]] = defaultdict(list)
    for name, key in keys.items():
        found[key].append(name)
    return found


def _named(resource: Json) -> Hashable:
    names = _identity(resource)
    return (type_of(resource), names) if names else None


def _content(resource: Json) -> Hashable:
    """Whatever it says, where that is enough to tell it from others."""
    return (
        json.dumps(resource, sort_keys=True)
        if isinstance(p := resource.get("Properties"), dict) and len(p) > 1
        else None
    )


def _only(resource: Json) -> Hashable:
    """The type alone, of what has no name in the template."""
    return None if _identity(resource) else type_of(resource)


def _identity(resource: Json) -> tuple[str, ...]:
    """What names a resource, as far as the template fixes it."""
    kind = type_of(resource)
    names = [path for paths in facts(kind).identity for path in paths] + [guards.STORES.get(kind, "")]
    noun = kind.rpartition("::")[2]
    found = (read(resource, ("Properties", n)) for n in dict.fromkeys([*names, f"{noun}Name", "Name"]) if n)
    return tuple(json.dumps(f, sort_keys=True) for f in found if f is not None)


def template(found: Json, pairs: Mapping[str, str]) -> Json:
    """A template with the logical ids of base: a renamed resource is one change, and what refers to it is none."""
    if not pairs:
        return found
    made = {k: referring(v, pairs) for k, v in found.items()}
    if isinstance(body := made.get("Resources"), dict):
        made["Resources"] = {pairs.get(k, k): _depending(r, pairs) for k, r in body.items()}
    return normal.template(made)  # sets are sorted by what they hold


def _depending(resource: Any, pairs: Mapping[str, str]) -> Any:
    on = resource.get("DependsOn") if isinstance(resource, dict) else None
    if not isinstance(on, list):
        return resource
    return resource | {"DependsOn": [pairs.get(d, d) if isinstance(d, str) else d for d in on]}


def referring(tree: Any, pairs: Mapping[str, str]) -> Any:
    """``tree`` with the logical ids of base."""
    match tree:
        case {"Ref": str(name)} if len(tree) == 1:
            return {"Ref": pairs.get(name, name)}
        case {"Fn::GetAtt": [str(name), *rest]} if len(tree) == 1:
            return {"Fn::GetAtt": [pairs.get(name, name), *rest]}
        case dict():
            return {k: referring(v, pairs) for k, v in tree.items()}
        case list():
            return [referring(v, pairs) for v in tree]
    return tree


# The same stack under another id


def followed(base: Mapping[str, Json], head: Mapping[str, Json]) -> dict[str, str]:
    """{id in ``base``: in ``head``} of stacks that CloudFormation knows by one name, in one place, under both ids."""
    gone, come = (
        {id_: _stack_name(one[id_]) for id_ in one.keys() - other.keys() if "/" not in id_}
        for one, other in ((base, head), (head, base))
    )
    return {old: new for new, old in _pairs(gone, come).items()}


def _stack_name(contract: Json) -> Hashable:
    stack = contract["stack"]
    return (name, str(stack.get("environment"))) if (name := stack.get("name")) else None


def under(contracts: Mapping[str, Json], ids: Mapping[str, str]) -> dict[str, Json]:
    """``contracts`` under other ids, wherever those stand: of files, nested stacks, dependencies and constructs."""
    if not ids:
        return dict(contracts)
    return {_id(id_, ids): _referring_to(contract, ids) for id_, contract in contracts.items()}


def _id(path: str, ids: Mapping[str, str]) -> str:
    """A path that begins with the id of a stack."""
    first, slash, rest = path.partition("/")
    return f"{ids.get(first, first)}{slash}{rest}"


def _referring_to(contract: Json, ids: Mapping[str, str]) -> Json:
    stack, known = contract["stack"], contract.get("acknowledged", {})
    if "dependencies" in stack:
        stack = stack | {"dependencies": sorted(_id(d, ids) for d in stack["dependencies"])}
    told = {why: {r: sorted(_id(p, ids) for p in of) for r, of in rules.items()} for why, rules in known.items()}
    return contract | {"stack": stack} | ({"acknowledged": told} if told else {})


# Stores that left, and where they went


def moves(
    base: Mapping[str, Json], head: Mapping[str, Json], pairs: Mapping[str, Mapping[str, str]]
) -> dict[Place, list[Place]]:
    """{where a store was: where it is now}: the same name elsewhere, or the same shape under another name."""
    gone = _left(base, head, {id_: set(of.values()) for id_, of in pairs.items()})
    come = _left(head, base, {id_: set(of) for id_, of in pairs.items()})
    found = _namesakes(base, gone | _renamed(base, head), head, come | _renamed(head, base))
    taken = {new for of in found.values() for new in of}
    alike = _pairs(
        {p: _same_shape(base[p[0]], r) for p, r in gone.items() if p not in found},
        {p: _same_shape(head[p[0]], r) for p, r in come.items() if p not in taken},
    )
    return found | {old: [new] for new, old in alike.items()}


def _namesakes(
    base: Mapping[str, Json], gone: Mapping[Place, Json], head: Mapping[str, Json], come: Mapping[Place, Json]
) -> dict[Place, list[Place]]:
    """Whatever may be the same store by its own name: in doubt it is, so that no guard is lost on the way."""
    by_name = _by_key({p: _named_store(r) for p, r in come.items()})
    exact = _by_key({p: (_named_store(r), _place(base[p[0]])) for p, r in gone.items()})
    found = {}
    for old, resource in gone.items():
        name, place = _named_store(resource), _place(base[old[0]])
        near = [p for p in by_name.get(name, ()) if name and not _apart(place[1], _place(head[p[0]])[1])]
        own = [p for p in near if old in exact.get((name, _place(head[p[0]])), [old])]
        if near:
            found[old] = sorted(own or near)
    return found


def _left(one: Mapping[str, Json], other: Mapping[str, Json], paired: Mapping[str, set[str]]) -> dict[Place, Json]:
    """Stores of ``one`` that the same stack of ``other`` does not have, under any logical id."""
    found = {}
    for id_, contract in one.items():
        ours = body(contract)
        there = body(other[id_]).keys() | paired.get(id_, set()) if id_ in other else set()
        for logical_id in ours.keys() - there:
            if store_name(ours[logical_id]) is not None:
                found[id_, logical_id] = ours[logical_id]
    return found


def _renamed(one: Mapping[str, Json], other: Mapping[str, Json]) -> dict[Place, Json]:
    """Stores of ``one`` that have another name in ``other``: their name may be taken, or may be another's."""
    found = {}
    for id_ in one.keys() & other.keys():
        theirs = resources(other[id_])
        for logical_id, resource in resources(one[id_]).items():
            name = physical_name(resource) if logical_id in theirs else None
            if name and name != physical_name(theirs[logical_id]):
                found[id_, logical_id] = resource
    return found


def _named_store(resource: Json) -> Hashable:
    """A table keeps its name as a global table."""
    kind = type_of(resource)
    return (TABLE if kind == GLOBAL_TABLE else kind, name) if (name := physical_name(resource)) else None


def _same_shape(contract: Json, resource: Json) -> Hashable:
    """Of a table its key and indexes; of another store whatever is neither a name nor a tag."""
    properties = resource.get("Properties")
    if not isinstance(properties, dict):
        return None
    names: Iterable[str] = ("KeySchema", "GlobalSecondaryIndexes", "LocalSecondaryIndexes")
    if "KeySchema" not in properties:
        names = properties.keys() - {"Tags", "BackupVaultTags", guards.STORES[type_of(resource)]}
    shape = json.dumps({k: properties[k] for k in names if k in properties}, sort_keys=True)
    return (type_of(resource), shape, _place(contract))


def _place(contract: Json) -> tuple[str, str]:
    return environment(contract), str(guards.stack(contract).get("environment"))


def _apart(one: str, other: str) -> bool:
    """Whether two places, aws://account/region, are certainly not the same."""
    both = zip(one.split("/")[2:], other.split("/")[2:], strict=False)
    return any(a != b and not a.startswith("unknown-") and not b.startswith("unknown-") for a, b in both)


def resources(contract: Json) -> Json:
    return {k: r for k, r in body(contract).items() if isinstance(r, dict)}


def body(contract: Json) -> Json:
    """As it stands in the template."""
    return mapping(contract["template"].get("Resources"))


def flat(contracts: Mapping[str, Json]) -> dict[str, Json]:
    """Nested stacks as stacks beside their parent, told apart by a slash; ``of`` is what the parent says of itself."""
    found: dict[str, Json] = {}
    for id_, contract in contracts.items():
        nested = contract.get("nested")
        contract = with_our_names(contract)
        found[id_] = {k: v for k, v in contract.items() if k != "nested"} if "nested" in contract else contract
        if isinstance(nested, dict):
            of = contract.get("of") or contract.get("stack") or {}
            inner = {"version": contract.get("version", 0), "stack": {}, "of": of}
            found |= flat({f"{id_}/{name}": inner | part for name, part in nested.items() if isinstance(part, dict)})
    return found
