"""Contracts, and output folders, with one thing changed: made from the leaves of the contracts themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from support import Json

from holdfast.cfn.compare import ABSENT
from holdfast.cfn.tree import texts

Path = tuple[Any, ...]
INCLUDE = {"Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": "s3://elsewhere/part.json"}}}
INTRINSIC = {"Ref": "AWS::StackName"}
NAMES = ("TableName", "BucketName", "DBInstanceIdentifier", "DBClusterIdentifier", "ReplicationGroupId", "ClusterName")
STORES = {
    "AWS::DynamoDB::Table",
    "AWS::DynamoDB::GlobalTable",
    "AWS::RDS::DBInstance",
    "AWS::RDS::DBCluster",
    "AWS::DocDB::DBCluster",
    "AWS::ElastiCache::ReplicationGroup",
    "AWS::MSK::Cluster",
    "AWS::S3::Bucket",
    "AWS::Backup::BackupVault",
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one place; ABSENT takes away what is there."""

    kind: str
    path: Path
    value: Any


def put(tree: Any, path: Path, value: Any) -> Any:
    """``tree`` with another value at a path, ABSENT for none; what is beside it is the same object."""
    if not path:
        return value
    step, *rest = path
    if isinstance(tree, list):
        made = [put(v, tuple(rest), value) if n == step else v for n, v in enumerate(tree)]
        return [v for v in made if v is not ABSENT]
    found = put(tree.get(step, {}), tuple(rest), value)
    return {k: v for k, v in {**tree, step: found}.items() if v is not ABSENT}


def get(tree: Any, path: Path) -> Any:
    for step in path:
        tree = tree[step]
    return tree


def nodes(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every place of a tree but its root, but for what is below a function."""
    for step, part in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield (*path, step), part
        if isinstance(part, dict | list) and (not is_function(part) or "Fn::ToJsonString" in part):
            yield from nodes(part, (*path, step))


def is_function(part: Any) -> bool:
    return isinstance(part, dict) and len(part) == 1 and next(iter(part)).startswith(("Fn::", "Ref"))


def other(value: Any) -> Any:
    """Another value of the same kind."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}x"
    return "another"


def mutants(resource: Json) -> Iterator[Mutant]:
    """Every property removed, changed, replaced by an intrinsic, wrapped in a transform; items removed and added."""
    for path, value in nodes(resource):
        yield Mutant("item removed" if isinstance(path[-1], int) else "removed", path, ABSENT)
        if isinstance(value, list):
            yield Mutant("item added", path, [*value, other_item(value[-1]) if value else "another"])
            yield Mutant("transform", path, INCLUDE)
        elif isinstance(value, dict) and not is_function(value):
            yield Mutant("wrapped", path, {**value, **INCLUDE})
            yield Mutant("transform", path, INCLUDE)
        else:
            yield Mutant("changed", path, other(value))
            yield Mutant("intrinsic", path, INTRINSIC)


def other_item(item: Any) -> Any:
    """Another item of a list: not the same again, which a set would not show."""
    if isinstance(item, dict) and item and not is_function(item):
        name = next(iter(item))
        return {**item, name: other(item[name])}
    return other(item)


def store_of(resource: Any) -> str | None:
    """What a store is called: read by the test itself, beside the reading of the program."""
    if not isinstance(resource, dict) or resource.get("Type") not in STORES:
        return None
    properties = resource.get("Properties", {})
    names = [properties[n] for n in (*NAMES, "BackupVaultName") if n in properties]
    return names[0] if names and isinstance(names[0], str) else ""


def stores(resources: Json) -> dict[str, str]:
    return {k: name for k, r in resources.items() if (name := store_of(r)) is not None}


def concerned(resource: Json, of_stack: dict[str, str]) -> str | None:
    """The store that a resource is, or the only one that it mentions."""
    if (own := store_of(resource)) is not None:
        return own
    words = {word for text in texts(resource) for word in (text, *re.split("[/:]", text))}
    found = {name for logical_id, name in of_stack.items() if logical_id in words or (name and name in words)}
    return found.pop() if len(found) == 1 else None
