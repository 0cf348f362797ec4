"""What a command asks of AWS, and the least-privilege policy that allows exactly that."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.model.regions import via

DECLARED = "{declared}"  # in a resource: each declared table


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One API operation and the IAM action that it needs. What is not declared like this cannot be called."""

    service: str
    operation: str
    action: str | None  # None: AWS allows it to everybody
    reads: str  # what it tells, in words, for a message that it is missing
    member: str = ""  # what an answer must have; without it, it is none, whatever its status
    needs: tuple[str, ...] = ()  # and what, inside of it: a path asks for its end wherever the rest of it is there
    resource: str = "*"
    page: tuple[str, str] | None = None  # the token's name in the request and in the answer
    also: tuple[str, ...] = ()  # further actions, where one call needs several
    absent: tuple[str, ...] = ()  # errors that only say that nothing is set
    condition: Mapping[str, Any] = field(default_factory=dict, hash=False)  # under which alone it is allowed
    via: str = ""  # the service through which alone it is allowed


def listing(
    service: str,
    operation: str,
    reads: str,
    member: str,
    page: tuple[str, str],
    resource: str = "*",
    needs: tuple[str, ...] = (),
) -> Call:
    """A call that answers in pages, and whose action has its name; ``needs`` are of what it lists."""
    return Call(
        service=service,
        operation=operation,
        action=f"{service}:{operation}",
        reads=reads,
        member=member,
        needs=tuple(f"{member}.{need}" for need in needs),
        page=page,
        resource=resource,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One region of one account, and the tables that are declared for it; what is not known is any."""

    partition: str = "aws"
    region: str = "*"
    account: str = "*"
    tables: Sequence[str] = ("*",)

    def arns(self, resource: str) -> list[str]:
        """What ``resource``, which is written for any region and account, is called here."""
        if resource == "*":
            return ["*"]
        _, _, service, region, account, rest = resource.split(":", 5)
        region = self.region if region == "*" else region
        # A key may be another account's, which its own policy decides.
        account = self.account if account == "*" and service != "kms" else account
        names = [rest.replace(DECLARED, table) for table in self.tables] if DECLARED in rest else [rest]
        return [f"arn:{self.partition}:{service}:{region}:{account}:{name}" for name in names]


def policy(calls: Iterable[Call], scopes: Sequence[Scope] = (Scope(),)) -> dict[str, Any]:
    """The identity policy that allows these calls and nothing else, in accounts of one partition."""
    statements: dict[tuple[str, str], set[str]] = {}
    for call in calls:
        if call.action:
            conditions = {how: dict(of) for how, of in call.condition.items()}
            if call.via:
                through = [name for scope in scopes for name in _several(via(scope.region, call.via))]
                conditions["StringLike"] = {"kms:ViaService": _one(through)}
            where = (call.resource, json.dumps(conditions, sort_keys=True))
            statements.setdefault(where, set()).update((call.action, *call.also))
    found = [
        (sorted({arn for scope in scopes for arn in scope.arns(resource)}), sorted(actions), json.loads(condition))
        for (resource, condition), actions in sorted(statements.items())
    ]
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": actions, "Resource": _one(arns)}
            | ({"Condition": condition} if condition else {})
            for arns, actions, condition in found
            if arns
        ],
    }


def _several(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else names


def _one(names: Iterable[str]) -> str | list[str]:
    """One value as itself, several as a list, each once."""
    found = list(dict.fromkeys(names))
    return found[0] if len(found) == 1 else found
