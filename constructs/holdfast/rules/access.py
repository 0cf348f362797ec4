"""Who is admitted: resource policies name this account and its services, and of a key what these need."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.cfn.dig import flat
from holdfast.cfn.template import StackSeen
from holdfast.rules.subjects import Resource
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Verdict, fail, unknown

# Conditions that keep a statement with an open principal inside the account.
CONFINING = frozenset({"aws:SourceAccount", "aws:PrincipalAccount", "kms:CallerAccount", "aws:SourceOwner"})
ORGANIZATION = frozenset({"aws:PrincipalOrgID"})
# Operators that let through what has another value, or no such key at all.
LOOSE = re.compile("Not|IfExists|Null|ForAllValues")
# What a key is used through, and what for.
THROUGH = frozenset({"kms:ViaService"})
FOR = re.compile(r"kms:EncryptionContext:|aws:Source(Account|Arn|Owner)$")
USE = re.compile(r"^(\*|kms:(\*|.*(Decrypt|Encrypt|GenerateDataKey|GenerateMac|CreateGrant|Sign).*))$", re.IGNORECASE)
ANY = "*"
OWN = "this-account"  # what stands for its number, which no template knows
NUMBER = re.compile(r"\d{12}")
SERVICE = re.compile(r"[\w.-]+\.amazonaws\.com(\.cn)?")
# Who may take a role is another rule's affair; keys are judged on behalf of whatever they encrypt; and these are many,
# large, and have no policy.
ELSEWHERE = frozenset({"AWS::IAM::Role", "AWS::KMS::Key", "AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard"})
CALLED = "AWS::Lambda::Permission"


def admits_own_only(r: Resource) -> Verdict:
    """Whether every policy of a resource lets in only the account, its services and the stack's own roles."""
    if r.type in ELSEWHERE:
        return EXEMPT
    if r.type == CALLED:
        return _called(r)
    documents = list(policies(r.properties))
    if not documents:
        return EXEMPT
    return next((v for d in documents if (v := judge_policy(d, r.stack)) != PASS), PASS)


def policies(tree: Any) -> Iterator[Any]:
    """Every policy document that says who it is for, as a tree or as a text of JSON."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str) and '"Statement"' in part:
            try:
                part = json.loads(part)
            except ValueError:
                continue
        if isinstance(part, dict):
            if any(_has_principal(s) for s in _list(part.get("Statement"))):
                yield part
            else:
                waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _has_principal(statement: Any) -> bool:
    return isinstance(statement, dict) and not statement.keys().isdisjoint({"Principal", "NotPrincipal"})


def judge_policy(document: Mapping[str, Any], stack: StackSeen | None, account: str | None = None) -> Verdict:
    """A policy of a template of ``stack``; a live one speaks of ``account`` where a template refers."""
    unsure = None
    for statement in _list(document.get("Statement")):
        if not isinstance(statement, dict):
            unsure = unknown("a statement of the policy is decided at deploy time")
        elif statement.get("Effect") != "Deny":
            problem = _Statement(statement, stack, account).problem()
            if isinstance(problem, Unknown):
                unsure = unknown(problem.reason)
            elif problem:
                label = statement.get("Sid") or json.dumps(statement.get("Action"))
                return fail(f"the policy {problem}: {label}")
    return unsure or PASS


def tested(statement: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """The keys that have to be there, and to have one of the values, for a statement to apply."""
    conditions = statement.get("Condition")
    for operator, test in conditions.items() if isinstance(conditions, Mapping) else ():
        if isinstance(test, Mapping) and not LOOSE.search(operator):
            yield from ((key, _list(values)) for key, values in test.items())


def open_statements(policy: Mapping[str, Any]) -> Iterator[str]:
    """Statements that admit every principal, without a condition that names accounts or an organization."""
    for statement in _list(policy.get("Statement")):
        if not isinstance(statement, Mapping) or statement.get("Effect") != "Allow":
            continue
        principal = statement.get("Principal")
        named = principal.values() if isinstance(principal, Mapping) else [principal]
        every = any(ANY in _list(p) for p in named) or "NotPrincipal" in statement
        confined = any(key in CONFINING | ORGANIZATION and ANY not in values for key, values in tested(statement))
        if every and not confined:
            yield statement.get("Sid") or json.dumps(statement.get("Action"))


class _Statement:
    """One statement that allows something, or may."""

    def __init__(self, statement: Mapping[str, Any], stack: StackSeen | None, account: str | None) -> None:
        self._statement, self._stack, self._account = statement, stack, account

    def problem(self) -> str | Unknown | None:
        if "NotPrincipal" in self._statement:
            return "admits every principal that it does not name"
        principal = self._statement.get("Principal", {})
        if principal == ANY:
            return None if self._confined() else "admits every principal"
        if not isinstance(principal, dict) or {"Ref", "Fn::If", "Fn::GetAtt"} & principal.keys():
            return Unknown("whom a policy admits is decided at deploy time")
        for kind, names in principal.items():
            for name in _list(names):
                problem = self._who(kind, name)
                if problem is not None:
                    return problem
        return self._use(principal)

    def _who(self, kind: str, name: Any) -> str | Unknown | None:
        text = self._text(name)
        if isinstance(text, Unknown):
            return Unknown("whom a policy admits is decided at deploy time")
        if text == ANY:
            return None if self._confined() else "admits every principal"
        if kind == "Service":
            return None if SERVICE.fullmatch(text) else f"admits {text}, which is not a service of AWS"
        if kind != "AWS":
            return f"admits {text}, which is not of this account"
        return f"admits {text}, which is not of this account" if self._foreign(text) else None

    def _foreign(self, text: str) -> bool:
        """Whether a principal, as Fn::Sub writes it, is of another account; one of the stack's roles is not."""
        if re.fullmatch(r"\$\{\w+(\.Arn)?\}", text):
            return False
        owner = text.split(":")[4] if text.startswith("arn:") and text.count(":") >= 5 else text
        return owner != OWN and owner != self._account

    def _use(self, principal: Mapping[str, Any]) -> str | None:
        """A key is used through the services that hold the data, or for what they name."""
        if not any(USE.match(str(a)) for a in _list(self._statement.get("Action", "*"))):
            return None
        keys = {key for key, _ in tested(self._statement)}
        if "AWS" in principal and not keys & THROUGH:
            return "lets the key be used otherwise than through the services that hold the data (kms:ViaService)"
        if "Service" in principal and not any(FOR.match(k) for k in keys):
            return "lets a service use the key for every account (aws:SourceAccount or the context is not tested)"
        return None

    def _confined(self) -> bool:
        """Whether a condition keeps an open principal inside this account, or an organization."""
        return any(
            (key in ORGANIZATION and ANY not in values)
            or (key in CONFINING and not any(self._foreign(str(self._text(v))) for v in values))
            for key, values in tested(self._statement)
        )

    def _text(self, raw: Any) -> str | Unknown:
        return _flat(self._stack, raw)


def _called(r: Resource) -> Verdict:
    """Whether a function can be called by this account and its own sources only."""
    who = _flat(r.stack, r.properties.get("Principal"))
    if isinstance(who, Unknown):
        return unknown("who may call the function is decided at deploy time")
    sources = [_flat(r.stack, r.properties[n]) for n in ("SourceArn", "SourceAccount") if n in r.properties]
    if r.get("FunctionUrlAuthType") == "NONE" or who == "*":
        return fail("every principal may call the function")
    if not SERVICE.fullmatch(who) and OWN not in who:
        return fail(f"{who}, which is not of this account, may call the function")
    if SERVICE.fullmatch(who) and not sources:
        return fail(f"{who} may call the function for every account")
    other = next((s for s in sources if isinstance(s, str) and NUMBER.search(s)), None)
    return fail(f"{other} of another account may call the function") if other else PASS


def _flat(stack: StackSeen | None, raw: Any) -> str | Unknown:
    found = flat(stack, raw)
    return found if isinstance(found, Unknown) else found.replace("${AWS::AccountId}", OWN)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
