"""Who uses a table and may not use the key that it is to get, by the policies that an account shows. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from holdfast.model.regions import via
from holdfast.shared.key.policy import USE
from holdfast.unknown import Unknown

Statement = Mapping[str, Any]
Answer = bool | Unknown

READING = ("BatchGetItem", "GetItem", "GetRecords", "PartiQLSelect", "Query", "Scan")
WRITING = (
    "BatchWriteItem",
    "ConditionCheckItem",
    "DeleteItem",
    "PartiQLDelete",
    "PartiQLInsert",
    "PartiQLUpdate",
    "PutItem",
    "UpdateItem",
)
DECRYPT, GENERATE = "kms:Decrypt", "kms:GenerateDataKey"
PART = re.compile(r"/(?:(?:index|stream)/[^/]*|\*)$")  # of a table, as policies name it
CONDITIONS = {"StringEquals": lambda value, wanted: value == wanted, "StringLike": fnmatchcase}
NEVER_READ = "service control policies, session policies, and what runs in other accounts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Something that uses a table, and as whom."""

    table: str
    arn: str  # of the role or user
    how: str  # such as function orders-api, variable TABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A role or a user, with every statement of its own, its groups' and its attached policies."""

    arn: str
    statements: tuple[Statement, ...] = ()
    boundary: tuple[Statement, ...] | None = None
    unread: Unknown | None = None  # an attached policy whose text the account did not show


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a grant of KMS lets one principal do; one with constraints is not counted on."""

    arn: str
    actions: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """The key that tables are to get."""

    arn: str
    account: str
    region: str
    policy: tuple[Statement, ...] | Unknown
    grants: tuple[Grant, ...] | Unknown = ()

    @property
    def service(self) -> str:
        return f"dynamodb.{self.region}.amazonaws.com"

    @property
    def root(self) -> str:
        return f"arn:{self.arn.split(':')[1]}:iam::{self.account}:root"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What one account and region shows of those who use tables."""

    uses: tuple[Use, ...] = ()  # beside those that policies show
    principals: Mapping[str, Principal] | Unknown = field(default_factory=dict)  # by ARN
    unread: tuple[str, ...] = ()  # what could not be looked at, and why


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """A principal that uses tables and lacks these actions on their new key, or of which that cannot be said."""

    arn: str
    tables: tuple[str, ...]
    how: tuple[str, ...]
    actions: tuple[str, ...] | Unknown


def lacking(key: NewKey, tables: Mapping[str, str], around: Surroundings) -> list[Lack]:
    """Users of ``tables``, which are ARNs by name, that are not known to be able to use ``key``."""
    principals = {} if isinstance(around.principals, Unknown) else around.principals
    uses = [u for u in around.uses if u.table in tables]
    for principal in principals.values():
        uses += [
            Use(table=name, arn=principal.arn, how="its policies")
            for name, arn in tables.items()
            if _reaches(principal, (*READING, *WRITING), arn)
        ]
    found = (_lack(key, tables, around, arn, [u for u in uses if u.arn == arn]) for arn in _once(u.arn for u in uses))
    return [lack for lack in found if lack.actions != ()]


def undecided(around: Surroundings, found: Iterable[Lack]) -> list[str]:
    """What could not be read, so that it is not known who else uses the tables."""
    if isinstance(around.principals, Unknown):
        return [*around.unread, f"which roles and users may use them ({around.principals.reason})"]
    named = {lack.arn for lack in found}
    partly = [(p.arn, p.unread) for p in around.principals.values() if p.unread is not None and p.arn not in named]
    if not partly:
        return list(around.unread)
    arn, why = partly[0]
    more = f" and {len(partly) - 1} more" if len(partly) > 1 else ""
    return [*around.unread, f"whether {arn}{more} may use them ({why.reason})"]


def leaves_it_to_iam(key: NewKey, table: str) -> Answer:
    """Whether the key's own policy lets policies of the account allow its use."""
    return _allowed_by_account(key, DECRYPT, _facts(key, table))


def policy(key: NewKey) -> dict[str, Any]:
    """The identity policy with which a principal can use the tables that have ``key``."""
    statement = {
        "Sid": "UseTheKeyThroughDynamoDB",
        "Effect": "Allow",
        "Action": [f"kms:{action}" for action in USE],
        "Resource": key.arn,
        "Condition": {"StringEquals": {"kms:ViaService": via(key.region, "dynamodb")}},
    }
    return {"Version": "2012-10-17", "Statement": [statement]}


def statements(document: Any) -> tuple[Statement, ...]:
    """The statements of a policy, one or several."""
    found = document.get("Statement", []) if isinstance(document, Mapping) else []
    return tuple(s for s in (found if isinstance(found, list) else [found]) if isinstance(s, Mapping))


def principals_of(statement: Statement) -> list[str]:
    """The ARNs, account ids and stars that a statement of a resource's policy is about."""
    named = statement.get("Principal", {})
    return _list(named.get("AWS", []) if isinstance(named, Mapping) else named)


# One principal


def _lack(key: NewKey, tables: Mapping[str, str], around: Surroundings, arn: str, uses: Sequence[Use]) -> Lack:
    names = _once(u.table for u in uses)
    actions = _missing(key, {name: tables[name] for name in names}, around, arn)
    return Lack(arn=arn, tables=names, how=_once(u.how for u in uses), actions=actions)


def _missing(key: NewKey, tables: Mapping[str, str], around: Surroundings, arn: str) -> tuple[str, ...] | Unknown:
    if isinstance(around.principals, Unknown):
        return around.principals
    principal = around.principals.get(arn)
    if principal is None:
        return Unknown("IAM of this account does not list it")
    answers = [
        (action, _may(principal, key, action, _facts(key, name)))
        for name, table in tables.items()
        for action in ((DECRYPT, GENERATE) if _reaches(principal, WRITING, table) else (DECRYPT,))
    ]
    missing = _once(action for action, may in answers if may is False)
    return missing or next((may for _, may in answers if isinstance(may, Unknown)), ())


def _reaches(principal: Principal, actions: Iterable[str], table: str) -> bool:
    """Whether a statement allows one of these on a table, its indexes or its stream, under whatever condition."""
    return any(
        _is(statement, "Allow")
        and _named(statement, "Resource", table)
        and any(_named(statement, "Action", f"dynamodb:{action}") for action in actions)
        for statement in principal.statements
    )


def _may(principal: Principal, key: NewKey, action: str, facts: Mapping[str, str]) -> Answer:
    """Whether the key's policy, a grant, or both the key's policy and the principal's own allow an action."""
    if isinstance(key.policy, Unknown):
        return key.policy
    direct = [s for s in key.policy if {"*", principal.arn} & set(principals_of(s)) or "NotPrincipal" in s]
    own = (*principal.statements, *(principal.boundary or ()))
    denied = _any(_fits(s, action, key.arn, facts) for s in (*direct, *_of_account(key), *own) if _is(s, "Deny"))
    allowed = _any(
        (
            _any(_fits(s, action, key.arn, facts) for s in direct if _is(s, "Allow")),
            _all((_allowed_by_account(key, action, facts), _allowed_by_itself(principal, key, action, facts))),
            _granted(principal, key, action),
        )
    )
    if principal.unread is not None and denied is not True:
        return principal.unread
    return False if denied is True or allowed is False else denied if isinstance(denied, Unknown) else allowed


def _allowed_by_itself(principal: Principal, key: NewKey, action: str, facts: Mapping[str, str]) -> Answer:
    return _all(
        _any(_fits(s, action, key.arn, facts) for s in own if _is(s, "Allow"))
        for own in (principal.statements, principal.boundary)
        if own is not None
    )


def _allowed_by_account(key: NewKey, action: str, facts: Mapping[str, str]) -> Answer:
    if isinstance(key.policy, Unknown):
        return key.policy
    return _any(_fits(s, action, key.arn, facts) for s in _of_account(key) if _is(s, "Allow"))


def _of_account(key: NewKey) -> list[Statement]:
    assert not isinstance(key.policy, Unknown)
    return [s for s in key.policy if {key.root, key.account} & set(principals_of(s))]


def _granted(principal: Principal, key: NewKey, action: str) -> Answer:
    if isinstance(key.grants, Unknown):
        return key.grants
    return any(g.arn == principal.arn and action.removeprefix("kms:") in g.actions for g in key.grants)


def _facts(key: NewKey, table: str) -> dict[str, str]:
    """What KMS is told when DynamoDB asks it on behalf of the principal that uses a table."""
    context = "kms:encryptioncontext:aws:dynamodb:"
    return {
        "kms:viaservice": key.service,
        "kms:calleraccount": key.account,
        f"{context}tablename": table,
        f"{context}subscriberid": key.account,
    }


# Statements


def _fits(statement: Statement, action: str, resource: str, facts: Mapping[str, str]) -> Answer:
    """Whether a statement is about this call; unknown where only a condition decides that cannot be judged here."""
    if not _named(statement, "Action", action) or not _named(statement, "Resource", resource):
        return False
    if "NotPrincipal" in statement:
        return Unknown("the key policy has a NotPrincipal")
    conditions = statement.get("Condition", {})
    if not isinstance(conditions, Mapping) or not all(isinstance(of, Mapping) for of in conditions.values()):
        return Unknown("a policy has a condition that cannot be understood")
    return _all(_met(how, name, wanted, facts) for how, of in conditions.items() for name, wanted in of.items())


def _met(how: str, name: str, wanted: Any, facts: Mapping[str, str]) -> Answer:
    fact, compare = facts.get(name.lower()), CONDITIONS.get(how)
    if fact is None or compare is None:
        return Unknown(f"it depends on the condition {f'{how} {name}'[:200]!a}")  # no text of theirs steers a terminal
    return any(compare(fact, w) for w in _list(wanted))


def _named(statement: Statement, element: str, value: str) -> bool:
    """Whether Action or Resource names a value, or NotAction or NotResource does not."""
    if element in statement:
        return any(_like(value, pattern, element) for pattern in _list(statement[element]))
    return not any(_like(value, pattern, element) for pattern in _list(statement.get(f"Not{element}", [])))


def _like(value: str, pattern: str, element: str) -> bool:
    if element == "Action":  # in any case
        return fnmatchcase(value.lower(), pattern.lower())
    return fnmatchcase(value, pattern) or fnmatchcase(value, PART.sub("", pattern))


def _is(statement: Statement, effect: str) -> bool:
    return statement.get("Effect") == effect


def _any(answers: Iterable[Answer]) -> Answer:
    found = list(answers)
    if any(a is True for a in found):
        return True
    return next((a for a in found if isinstance(a, Unknown)), False)


def _all(answers: Iterable[Answer]) -> Answer:
    found = list(answers)
    if any(a is False for a in found):
        return False
    return next((a for a in found if isinstance(a, Unknown)), True)


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _list(value: Any) -> list[str]:
    return [str(v) for v in value] if isinstance(value, list) else [str(value)]
