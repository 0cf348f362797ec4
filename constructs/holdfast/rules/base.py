"""What a rule is, what it may answer, and what a finding says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar

from holdfast.cfn.template import Source
from holdfast.model.facts import Guard
from holdfast.rules.gap import Gap
from holdfast.shared.account import Aspect
from holdfast.verdict import Outcome, Verdict, fail

S = TypeVar("S")


class Severity(Enum):
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


ORDER = {severity: n for n, severity in enumerate(Severity)}  # the worst first


@dataclass(frozen=True, slots=True)
class Check(Generic[S]):
    """How one kind of subject is judged: a table, a store, a resource of some ``types`` (of any, where none is given) …"""

    of: type[S]
    run: Callable[[S], Verdict | Iterable[Verdict]]
    types: tuple[str, ...] = ()


def run_check(check: Check[S], subject: S) -> list[Verdict]:
    """What a check says; a check that crashes has failed, it has not passed."""
    try:
        said = check.run(subject)
        return [said] if isinstance(said, Verdict) else list(said)
    except Exception as error:
        return [fail(f"the rule itself failed ({type(error).__name__}: {error})")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One demand, and all there is to say of it.

    ``remediation`` is ready to paste: {table}, {region}, {stack} and {days} are filled in. ``controls`` are the ids it
    answers. ``checks`` say of each kind of subject whether it holds. Where a rule that it ``requires`` fails, that is the finding, and this one says nothing.

    ``paths`` are the places that it reads, each a CloudFormation type (``*`` for any) and a path from the resource:
    ``AWS::DynamoDB::Table Properties/DeletionProtectionEnabled``; ``Type`` alone is whether such a resource is there at
    all. ``stack`` as the type is what the manifest says. A difference from the contract at such a place, or below it, is
    explained by this rule; so is one at the places that it ``explains`` without judging them.
    """

    id: str
    title: str
    why: str
    remediation: str
    severity: Severity
    controls: tuple[str, ...] = ()
    guard: Guard | None = None  # which it asks for, where the policy requires it
    paths: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    checks: tuple[Check[Any], ...] = field(default=(), compare=False, repr=False)
    aspects: frozenset[Aspect] = frozenset()  # what of a live store has to be readable, beside the store itself
    only_deployed: str = ""  # why the deployed template alone answers it, and no API
    waivable: bool = True  # if not: never for personal durable prod tables
    # It says that a thing is as its construct makes it: of a template the contract tells that, and check does not ask;
    # the audit does, until it compares accounts with the contract, too.
    audited: bool = False
    forbids: bool = False  # only what may not be there: that something is gone is not its concern


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One verdict of one rule about one table or store, or about another resource where ``table`` is None."""

    rule: Rule
    outcome: Outcome
    detail: str
    table: str | None
    stack: str
    environment: str | None
    source: Source
    where: str
    fix: str
    untouchable: bool = False  # about personal durable data in prod
    gap: Gap | None = None  # where intent, deployed and live part, in an audit
    declared: str | None = None  # file and line of the declaration, where it is known
    # Of a difference between two states: what it is called, where exactly, and both values as far as they may be seen.
    change: str | None = None
    path: str = ""
    before: str | None = None
    after: str | None = None
