"""What a rule is, what it may answer, and what a finding says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from holdfast.catalog import Placed
from holdfast.gap import Gap
from holdfast.model import Guard, Table
from holdfast.observed import Observed, Source

__all__ = ["Finding", "Outcome", "Rule", "Severity", "Source", "Subject", "Verdict", "fail", "guarded", "unknown"]


class Outcome(Enum):
    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"  # could not be read: never "off", never "fine"
    EXEMPT = "exempt"  # the policy asks nothing here, or a waiver holds


class Severity(Enum):
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


ORDER = {severity: n for n, severity in enumerate(Severity)}  # the worst first


@dataclass(frozen=True, slots=True)
class Verdict:
    outcome: Outcome
    detail: str = ""


PASS = Verdict(Outcome.PASS)
EXEMPT = Verdict(Outcome.EXEMPT)


def fail(detail: str) -> Verdict:
    return Verdict(Outcome.FAIL, detail)


def unknown(detail: str) -> Verdict:
    return Verdict(Outcome.UNKNOWN, detail)


def guarded(run: Callable[..., Verdict], *arguments: object) -> Verdict:
    """What a check says; a check that crashes has failed, it has not passed."""
    try:
        return run(*arguments)
    except Exception as error:
        return fail(f"the rule itself failed ({type(error).__name__}: {error})")


@dataclass(frozen=True, slots=True)
class Subject:
    """One declared table and what a source shows of it."""

    placed: Placed
    table: Table
    required: Guard
    seen: Observed


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """``fix`` is ready to paste: {table}, {region} and {stack} are filled in. ``controls`` are the ids it answers."""

    id: str
    title: str
    why: str
    fix: str
    severity: Severity
    controls: tuple[str, ...] = ()
    check: Callable[..., Verdict] | None = field(default=None, compare=False, repr=False)  # of one subject
    waivable: bool = True  # if not: never for personal durable prod tables


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
    declared: str | None = None  # file and line of the declaration, where an audit knows it
