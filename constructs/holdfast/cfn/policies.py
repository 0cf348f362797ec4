"""Policy documents in one spelling: order means nothing in them, and one is a list of one."""

from __future__ import annotations

import json
import re
from typing import Any

Json = dict[str, Any]
LISTS = frozenset({"Action", "NotAction", "Resource", "NotResource"})
PRINCIPALS = frozenset({"Principal", "NotPrincipal"})
PARTITION, ACCOUNT = {"Ref": "AWS::Partition"}, {"Ref": "AWS::AccountId"}
ROOT = re.compile(r"(?:arn:(aws[a-z-]*):iam::)?([0-9]{12}|\0)(?::root)?")


def is_policy(tree: Json) -> bool:
    """By its shape: policies stand in many places, inside of texts and of custom resources, too."""
    if "Statement" not in tree or not tree.keys() <= {"Statement", "Version", "Id"}:
        return False
    statements = tree["Statement"] if isinstance(tree["Statement"], list) else [tree["Statement"]]
    return all(isinstance(s, dict) and ("Effect" in s or is_function(s)) for s in statements)


def canonical(policy: Json) -> Json:
    """One spelling of a policy whose parts are in normal form already."""
    statements = policy["Statement"] if isinstance(policy["Statement"], list) else [policy["Statement"]]
    return {**policy, "Statement": sorted((_statement(s) for s in statements), key=_by_name)}


def key(item: Any) -> str:
    """What a set is sorted by."""
    return json.dumps(item, sort_keys=True)


def is_function(tree: Any) -> bool:
    return isinstance(tree, dict) and len(tree) == 1 and names_function(next(iter(tree)))


def names_function(name: str) -> bool:
    return name == "Ref" or name.startswith("Fn::")


def _statement(statement: Json) -> Json:
    return statement if is_function(statement) else {name: _part(name, part) for name, part in statement.items()}


def _part(name: str, part: Any) -> Any:
    if name in LISTS:
        return _set(part)
    if not isinstance(part, dict) or is_function(part):
        return part
    if name in PRINCIPALS:
        return {kind: _set(_roots(of) if kind == "AWS" else of) for kind, of in part.items()}
    if name == "Condition":
        return {
            how: {k: _set(v) for k, v in of.items()} if isinstance(of, dict) and not is_function(of) else of
            for how, of in part.items()
        }
    return part


def _set(part: Any) -> list[Any]:
    items = {key(item): item for item in (part if isinstance(part, list) else [part])}
    return [items[k] for k in sorted(items)]


def _roots(principals: Any) -> list[Any]:
    return [_root(p) for p in (principals if isinstance(principals, list) else [principals])]


def _root(principal: Any) -> Any:
    """An account as a principal is its root user, however it is written."""
    match principal:
        case {"Fn::Join": ["", list(pieces)]}:
            parts = pieces
        case _:
            parts = [principal]
    text = "".join(p if isinstance(p, str) else _symbol(p) for p in parts)
    found = ROOT.fullmatch(text)
    if found is None or text.startswith("arn:") != text.endswith(":root"):
        return principal
    start = f"arn:{found[1] or 'aws'}:iam::"
    return {"Fn::Join": ["", [start, ACCOUNT, ":root"]]} if found[2] == "\0" else f"{start}{found[2]}:root"


def _symbol(part: Any) -> str:
    return "aws" if part == PARTITION else "\0" if part == ACCOUNT else "\1"


def _by_name(statement: Any) -> tuple[str, str]:
    sid = statement.get("Sid", "") if isinstance(statement, dict) else ""
    return str(sid), key(statement)
