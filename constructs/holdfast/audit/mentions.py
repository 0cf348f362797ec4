"""What runs and names a table: variables, event sources, policies. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from holdfast.audit.consumers import statements
from holdfast.shared.account import Mention

ARN = re.compile(r"arn:aws[a-z-]*:dynamodb:([a-z0-9*?-]*):([0-9*?]*):table/([A-Za-z0-9_.*?-]{1,255})(?=/|$)")
NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")
# Variables whose value is taken for a table although nobody knows it; those of secrets never are.
VARIABLE = re.compile(r"(?:^|_)TABLES?(?:_?(?:NAME|ARN))?(?:_?V?[0-9]+)?$", re.IGNORECASE)
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL", re.IGNORECASE)
SWITCH = re.compile(r"true|false|yes|no|on|off|none|null|[0-9.]+", re.IGNORECASE)
WILD = frozenset("*?")


def in_functions(functions: Iterable[Mapping[str, Any]], names: Collection[str]) -> Iterator[Mention]:
    """Variables that hold an ARN or the name of a table, or call themselves a table. No other value leaves here."""
    for function in functions:
        for variable, value in function.get("Environment", {}).get("Variables", {}).items():
            where = f"function {function['FunctionName']}, variable {variable}"
            arn = ARN.match(value)
            if arn and NAME.fullmatch(arn[3]):
                yield Mention(where=where, kind="variable", table=arn[3], place=(arn[2], arn[1]))
            elif value in names or _guessed(variable, value):
                yield Mention(where=where, kind="variable", table=value)


def _guessed(variable: str, value: str) -> bool:
    """Whether a variable calls itself a table, and its value could be the name of one."""
    if SECRET.search(variable) or SWITCH.fullmatch(value):
        return False
    return bool(VARIABLE.search(variable) and NAME.fullmatch(value))


def in_event_sources(mappings: Iterable[Mapping[str, Any]]) -> Iterator[Mention]:
    for mapping in mappings:
        arn = ARN.match(mapping.get("EventSourceArn", ""))
        if arn:
            function = str(mapping.get("FunctionArn", "")).rpartition(":function:")[2]
            yield Mention(
                where=f"function {function}, event source", kind="event source", table=arn[3], place=(arn[2], arn[1])
            )


def in_policies(
    details: Iterable[Mapping[str, Any]], names: Collection[str], *, region: str, account: str
) -> Iterator[Mention]:
    """Inline and customer-managed policies that name a table of this region, or a pattern that fits some."""
    for page in details:
        for where, document in _documents(page):
            for table in dict.fromkeys(_tables(document, names, region, account)):
                yield Mention(where=where, kind="policy", table=table)


def _documents(page: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for kind, listed, inline in (
        ("user", "UserDetailList", "UserPolicyList"),
        ("group", "GroupDetailList", "GroupPolicyList"),
        ("role", "RoleDetailList", "RolePolicyList"),
    ):
        for owner in page.get(listed, ()):
            for policy in owner.get(inline, ()):
                yield f"{kind} {owner[f'{kind.title()}Name']}, policy {policy['PolicyName']}", policy["PolicyDocument"]
    for policy in page.get("Policies", ()):
        for version in policy.get("PolicyVersionList", ()):
            if version.get("IsDefaultVersion"):
                yield f"policy {policy['PolicyName']}", version["Document"]


def _tables(document: Any, names: Collection[str], region: str, account: str) -> Iterator[str]:
    for statement in statements(document):
        resources = statement.get("Resource", [])
        for resource in resources if isinstance(resources, list) else [resources]:
            found = ARN.match(str(resource))
            if found and fnmatchcase(region, found[1]) and fnmatchcase(account, found[2]):
                yield from _fitting(found[3], names)


def _fitting(name: str, names: Collection[str]) -> Iterator[str]:
    if not WILD & set(name):
        yield name
    elif name.strip("*"):  # all tables is no table in particular
        yield from (n for n in names if fnmatchcase(n, name))
