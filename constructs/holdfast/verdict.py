"""What a check may answer: pass, fail, unknown or exempt."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"  # could not be read: never "off", never "fine"
    EXEMPT = "exempt"  # the policy asks nothing here, or a waiver holds


@dataclass(frozen=True, slots=True)
class Verdict:
    outcome: Outcome
    detail: str = ""
    part: str = ""  # of what was judged, where a check speaks of several


PASS = Verdict(Outcome.PASS)
EXEMPT = Verdict(Outcome.EXEMPT)


def fail(detail: str) -> Verdict:
    return Verdict(Outcome.FAIL, detail)


def unknown(detail: str) -> Verdict:
    return Verdict(Outcome.UNKNOWN, detail)
