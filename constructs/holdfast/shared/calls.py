"""What a command asks of AWS, and the least-privilege policy that allows exactly that."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


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


def policy(calls: Iterable[Call], partition: str = "aws") -> dict[str, Any]:
    """The identity policy that allows these calls and nothing else, in accounts of one partition."""
    statements: dict[tuple[str, str], set[str]] = {}
    for call in calls:
        if call.action:
            where = (call.resource, json.dumps(call.condition, sort_keys=True))
            statements.setdefault(where, set()).update((call.action, *call.also))
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": sorted(actions),
                "Resource": resource.replace("arn:aws:", f"arn:{partition}:", 1),
            }
            | ({"Condition": json.loads(condition)} if condition != "{}" else {})
            for (resource, condition), actions in sorted(statements.items())
        ],
    }
