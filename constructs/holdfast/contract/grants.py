"""What a statement of a policy allows on declared stores: surely, or perhaps, as a deploy decides. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from holdfast.contract.guards import type_of
from holdfast.contract.hidden import CUSTOM
from holdfast.contract.pairing import resources

Json = dict[str, Any]
HOLE = "\ue001"  # what a deploy fills in
OWN = "\ue000"  # something of the same stack, or of another one that is not declared: never a declared store
OTHER = "\ue002"  # a name that no pattern spells out: what matches it matches every name
DYNAMIC = re.compile(r"\{\{resolve:[^}]*\}\}")
SHOWN = 3
LATER = "its resource is decided when it is deployed"
RIGHTS = "rights that are taken or given may be on any store"
# Where the name of a store stands in an ARN, by service.
STORES: Mapping[str, tuple[str, ...]] = {
    "dynamodb": ("table/{}", "table/{}/index/i", "table/{}/stream/s", "table/{}/backup/b", "table/{}/export/e"),
    "s3": ("{}", "{}/o"),
    "kms": ("key/{}", "alias/{}"),
    "rds": ("db:{}", "cluster:{}", "snapshot:{}", "cluster-snapshot:{}"),
    "rds-db": ("dbuser:{}/u",),
    "elasticache": ("replicationgroup:{}", "cluster:{}"),
    "kafka": ("cluster/{}/u", "topic/{}/u/t", "group/{}/u/g"),
    "dax": ("cache/{}",),
    "backup": ("backup-vault:{}", "recovery-point:{}"),
}
STACKS = {"cloudformation": ("stack/{}/i",)}
ROLES = {"iam": ("role/{}", "user/{}", "group/{}", "policy/{}")}
# Services whose actions reach stores and keys, but for what only tells that they are there.
REACHING = (*STORES, "rds-data", "kafka-cluster")
ONLY_TELLS = re.compile(r"(?!s3:)[a-z-]+:(list|describe)|s3:listallmybuckets")
ON_STACKS = tuple(
    f"cloudformation:{name}"
    for name in (
        *("createchangeset", "deletestack", "executechangeset", "setstackpolicy"),
        *("updatestack", "updateterminationprotection"),
    )
)
ON_ROLES = (
    "sts:assumerole",
    *(f"iam:{how}{who}policy" for how in ("attach", "put") for who in ("group", "role", "user")),
    *("iam:addusertogroup", "iam:createaccesskey", "iam:createpolicyversion", "iam:passrole"),
    *("iam:setdefaultpolicyversion", "iam:updateassumerolepolicy"),
)


@dataclass(frozen=True, slots=True)
class Scope:
    """What names in a template stand for: its own resources, by their types, and pseudo parameters."""

    types: Mapping[str, str]
    pseudo: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Grant:
    """``names`` are none where it is about all of them; ``why`` it is not sure."""

    actions: str
    noun: str
    names: tuple[str, ...] = ()
    why: str = ""


def scope(part: Json, stack: Json) -> Scope:
    """Of a template; ``stack`` is what the manifest says of it."""
    account, _, region = str(stack.get("environment", "")).removeprefix("aws://").partition("/")
    return Scope(
        types={logical_id: type_of(resource) for logical_id, resource in resources(part).items()},
        pseudo={
            "AWS::AccountId": HOLE if "unknown" in account else account or HOLE,
            "AWS::NoValue": "",
            "AWS::Partition": "aws",
            "AWS::Region": HOLE if "unknown" in region else region or HOLE,
            "AWS::StackId": OWN,
            "AWS::StackName": str(stack.get("name", OWN)),
            "AWS::URLSuffix": "amazonaws.com",
        },
    )


def granted(
    statement: Json, at: Scope, *, stores: Collection[str], stacks: Collection[str], roles: Collection[str]
) -> list[Grant]:
    """What a statement allows on what is declared: on stores and their stacks, else on roles."""
    actions = _actions(statement, at)
    resources = ["*"] if "NotResource" in statement else list(texts(statement.get("Resource"), at))
    found = list(_on("store", [a for a in actions if _reaches(a)], resources, STORES, stores))
    if any(not g.names and not g.why for g in found):
        return found  # more than every store it cannot be
    on_stacks = _on("stack", [a for a in actions if _any(ON_STACKS, a)], resources, STACKS, stacks)
    found += [g for g in on_stacks if not g.why or not found]
    return found or list(_on("role", [a for a in actions if _any(ON_ROLES, a)], resources, ROLES, roles, RIGHTS))


def reaching(statement: Json, at: Scope) -> str:
    """The actions of an allowing statement that are about data, in words."""
    return _words([a for a in _actions(statement, at) if _reaches(a)])


def _actions(statement: Json, at: Scope) -> list[str]:
    if statement.get("Effect") == "Deny":
        return []
    return ["*"] if "NotAction" in statement else list(texts(statement.get("Action"), at))


def _words(actions: Sequence[str]) -> str:
    return ", ".join(a.replace(HOLE, "…") for a in actions[:SHOWN]) + (" …" if len(actions) > SHOWN else "")


def _on(
    noun: str,
    actions: list[str],
    resources: list[str],
    places: Mapping[str, tuple[str, ...]],
    names: Collection[str],
    why: str = "",
) -> Iterator[Grant]:
    if not actions:
        return
    told = _words(actions)
    if all(HOLE in a for a in actions):
        why = "its action is decided when it is deployed"
    sure = {n for r in resources for n in _names(r, places, names)}
    perhaps = {n for r in resources if HOLE in r for n in _names(r.replace(HOLE, "*"), places, names)} - sure
    if OTHER in sure:
        yield Grant(told, noun, why=why)
        return
    names = sorted(sure)
    yield from (Grant(told, noun, tuple(of), why) for of in ([names] if why and names else [[n] for n in names]))
    if perhaps:
        yield Grant(told, noun, () if OTHER in perhaps else tuple(sorted(perhaps)), LATER)


def _names(resource: str, places: Mapping[str, tuple[str, ...]], names: Collection[str]) -> Iterator[str]:
    """The names that a pattern of a policy takes; OTHER where it takes every one."""
    parts = resource.split(":", 5)
    for service, forms in places.items():
        if len(parts) == 6 and not _like(service, parts[2]):
            continue
        for form in forms:
            arn = "" if len(parts) == 6 else f"arn:aws:{service}:{':' if service == 's3' else 'us-east-1:1:'}"
            pattern = resource if arn else parts[5]
            yield from (n for n in (OTHER, *names) if _like(arn + form.format(n), pattern))


def text(value: Any, at: Scope) -> str:
    """A value in which what a deploy fills in is a HOLE."""
    match value:
        case str():
            return DYNAMIC.sub(HOLE, value)
        case {"Ref": str(name)}:
            return at.pseudo.get(name, OWN if name in at.types else HOLE)
        case {"Fn::GetAtt": [str(name), *_]}:
            return OWN if name in at.types and not CUSTOM.match(at.types[name]) else HOLE
        case {"Fn::Join": [str(between), list(parts)]}:
            return between.join(text(p, at) for p in parts)
        case {"Fn::ImportValue": str()}:
            return OWN  # an export of a declared store is known by its name
        case {"Fn::FindInMap": _} | {"Fn::If": _} | {"Fn::Transform": _}:
            return HOLE
        case dict() | list():
            inside = value.values() if isinstance(value, dict) else value
            return HOLE if any(HOLE in text(p, at) for p in inside) else OWN
    return OWN


def texts(value: Any, at: Scope) -> Iterator[str]:
    """Each of a list, and of what a condition chooses from."""
    for one in flattened(value):
        yield text(one, at)


def flattened(value: Any) -> Iterator[Any]:
    """The members of a list, and of both branches of a condition."""
    match value:
        case None:
            return
        case list():
            for one in value:
                yield from flattened(one)
        case {"Fn::If": [_, yes, no]}:
            yield from flattened(yes)
            yield from flattened(no)
        case _:
            yield value


def _reaches(action: str) -> bool:
    """Whether an action is about data: of a service that has some, and more than to tell that it is there."""
    action = action.replace(HOLE, "*").lower()
    service = action.partition(":")[0]
    return any(_like(s, service) for s in REACHING) and not ONLY_TELLS.match(action)


def _any(known: Collection[str], action: str) -> bool:
    return any(_like(k, action.replace(HOLE, "*").lower()) for k in known)


def _like(name: str, pattern: str) -> bool:
    """By IAM's wildcards, which are * and ? alone."""
    return fnmatchcase(name, pattern.replace("[", "[[]"))
