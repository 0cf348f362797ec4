"""What runs and names a table: variables, event sources, policies, code; and whether it should. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from holdfast.audit.consumers import statements
from holdfast.audit.places import here
from holdfast.cfn.template import Source
from holdfast.estate.estate import Estate
from holdfast.estate.placement import Placed
from holdfast.kinds.table.declaration import Table
from holdfast.model.environment import Environment
from holdfast.rules import engine
from holdfast.rules import mentions as rules
from holdfast.rules.base import Finding
from holdfast.rules.subjects import TableMention
from holdfast.shared.account import Account, Mention
from holdfast.unknown import Unknown

ARN = re.compile(r"arn:aws[a-z-]*:dynamodb:([a-z0-9*?-]*):([0-9*?]*):table/([A-Za-z0-9_.*?-]{1,255})(?=/|$)")
NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")
# Variables whose value is taken for a table although none is known by it; those of secrets never are.
VARIABLE = re.compile(r"(?:^|_)TABLES?(?:_?(?:NAMES?|ARNS?))?(?:_?V?[0-9]+)?$", re.IGNORECASE)
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL", re.IGNORECASE)
SWITCH = re.compile(r"true|false|yes|no|on|off|none|null|[0-9.]+", re.IGNORECASE)
# Other things that are called tables: of routes, and of databases and catalogs that a variable names.
OTHER_ID = re.compile(r"(?:tgw-)?rtb-[0-9a-f]+$")
OTHERS = re.compile(
    r"(?:^|_)(?:ATHENA|AURORA|BIGQUERY|BIGTABLE|BQ|CASSANDRA|CLICKHOUSE|DELTA|GLUE|HBASE|HIVE|HUDI|ICEBERG|KEYSPACES|LAKE|MARIADB|"
    r"MYSQL|ORACLE|PG|POSTGRES|POSTGRESQL|PSQL|RDS|REDSHIFT|ROUTE|ROUTING|SNOWFLAKE|SPARK|SQL|SQLITE|TIMESTREAM|TRINO)_",
    re.IGNORECASE,
)
WILD = frozenset("*?")


def in_functions(functions: Iterable[Mapping[str, Any]], names: Collection[str]) -> Iterator[Mention]:
    """Variables that hold ARNs or names of tables, or call themselves a table. No other value leaves here."""
    for function in functions:
        for variable, value in function.get("Environment", {}).get("Variables", {}).items():
            where = f"function {function['FunctionName']}, variable {variable}"
            texts = dict.fromkeys(_texts(variable, str(value)))
            # Of several names none is taken for a table unless another is one: other databases have tables, too.
            guess = len(texts) == 1 or any(text in names or ARN.match(text) for _, text in texts)
            for label, text in texts:
                arn = ARN.match(text)
                if arn and NAME.fullmatch(arn[3]):
                    yield Mention(where=where, kind="variable", table=arn[3], place=(arn[2], arn[1]))
                elif text in names or (guess and _guessed(label, text)):
                    yield Mention(where=where, kind="variable", table=text)


def _texts(label: str, value: str) -> Iterator[tuple[str, str]]:
    """What a variable holds, one by one, each with what it is called: it may be a list or JSON."""
    try:
        found = json.loads(value) if value.lstrip()[:1] in ("[", "{") else None
        if found is not None:
            yield from _leaves(label, found)
            return
    except (ValueError, RecursionError):
        pass
    # Elsewhere a word between commas may be anything.
    listed = "TABLE" in label.upper() or "arn:aws" in value
    yield from ((label, part) for part in (re.split(r"[\s,;]+", value.strip()) if listed else [value]))


def _leaves(label: str, value: Any) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield label, value
        case list():
            yield from (leaf for v in value for leaf in _leaves(label, v))
        case dict():
            yield from (leaf for k, v in value.items() for leaf in _leaves(f"{label}_{k}", v))


def _guessed(label: str, value: str) -> bool:
    """Whether a variable calls itself a table of DynamoDB, and its value could be the name of one."""
    if SECRET.search(label) or SWITCH.fullmatch(value) or OTHERS.search(label) or OTHER_ID.match(value):
        return False
    return bool(VARIABLE.search(label) and NAME.fullmatch(value))


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
    elif name.strip("*"):  # all tables name none in particular
        yield from (n for n in names if fnmatchcase(n, name))


# Whether it should


@dataclass(frozen=True, slots=True)
class _Names:
    """Every table that is live or declared, by its name."""

    live: frozenset[str]
    others: Unknown | bool  # whether a table of another name exists
    read: Mapping[tuple[str, str], frozenset[str] | Unknown]  # by account and region
    placed: Mapping[tuple[str, str], Placed]  # every declared table, by region and name, wherever it was read
    declared: Mapping[str, tuple[Placed, Table]]
    elsewhere: Mapping[str, str]  # what a table would be called in an environment that does not have it


def judged(
    every: Sequence[Placed], accounts: Sequence[Account], code: Sequence[Mention], estate: Estate
) -> Iterator[Finding]:
    names = _Names(
        live=frozenset(n for a in accounts if not isinstance(a.tables, Unknown) for n in a.tables),
        others=next((_unlisted(a) for a in accounts if isinstance(a.tables, Unknown)), False),
        read={(a.id, a.region): a.tables if isinstance(a.tables, Unknown) else frozenset(a.tables) for a in accounts},
        placed={(p.region, p.fill(t.name)): p for p in estate.placements() for t in p.tables},
        declared={p.fill(t.name): (p, t) for p in reversed(every) for t in p.tables},
        elsewhere={
            Placed(p.stack, env).fill(
                t.name
            ): f"{p.fill(t.name)} would be called so in {env.label}, which does not have it"
            for p in every
            for env in estate.environments
            for t in p.stack.tables
            if env != p.env
        },
    )
    for account in accounts:
        environments = {p.env for p in every if here(account, p)}
        # Where two environments share a region, nothing says which of them a function belongs to.
        env = next(iter(environments)) if len(environments) == 1 else None
        for mention in () if isinstance(account.mentions, Unknown) else account.mentions:
            yield _mention(mention, env, names, account)
    for mention in code:
        yield _mention(mention, None, names, None)


def _unlisted(account: Account) -> Unknown:
    return Unknown(f"tables of {account.region} could not be listed")


def _mention(mention: Mention, env: Environment | None, names: _Names, account: Account | None) -> Finding:
    """``env`` is where the thing runs; code runs in all of them."""
    named, table = names.declared.get(mention.table, (None, None))
    told = TableMention(
        says=f"{mention.where} names {mention.table}",
        kind=mention.kind,
        runs=env,
        owner=named,
        table=table,
        exists=mention.table in names.live or names.others,
        hint=names.elsewhere.get(mention.table, ""),
    )
    if account and mention.place and mention.place != (account.id, account.region):
        owner, region = mention.place  # an ARN that points out of where it was found: a name says nothing about it
        told = TableMention(
            says=f"{told.says} of account {owner} in {region}",
            kind=mention.kind,
            runs=env,
            owner=names.placed.get((region, mention.table)) if owner in {a for a, _ in names.read} else None,
            table=None,
            exists=_there(names.read.get(mention.place), mention.table),
        )
    rule, verdict = rules.judged(told)
    runs = env or (named.env if named else None)
    return engine.outside(
        rule,
        verdict,
        mention.table,
        f"{account.id}/{account.region}/{mention.where}" if account else mention.where,
        named.name if named else "no stack",
        runs.label if runs else None,
        Source.LIVE if account else Source.DECLARATION,
    )


def _there(tables: Collection[str] | Unknown | None, name: str) -> bool | Unknown | None:
    """Whether a table is where its ARN says; None where that was not read."""
    if isinstance(tables, Unknown):
        return Unknown(f"tables there could not be listed: {tables.reason}")
    return None if tables is None else name in tables
