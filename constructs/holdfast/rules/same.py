"""Whether two values, two policies or two alarms say the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from holdfast.shared.alarms.alarm import Alarm
from holdfast.verdict import PASS, Verdict, fail, unknown

# What decides whether an alarm goes off.
JUDGED = (
    "ComparisonOperator",
    "DatapointsToAlarm",
    "EvaluationPeriods",
    "Metrics",
    "Threshold",
    "TreatMissingData",
)


def changes(alarm: Alarm, seen: Mapping[str, Any] | None) -> list[str]:
    """What about a declared alarm is missing or different in whatever decides when it goes off."""
    if not seen:
        return [f"{alarm.name} itself"]
    want = alarm.properties("", {})
    return [f"{name} of {alarm.name}" for name in JUDGED if not alike(seen.get(name), want.get(name))]


def alike(a: Any, b: Any) -> bool:
    """Equal as CloudFormation reads it: numbers and booleans may be written as text, and text for text."""
    if a == b and type(a) is type(b):
        return True
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    try:
        return float(a) == float(b)
    except (TypeError, ValueError):
        return str(a).lower() == str(b).lower() if isinstance(a, bool) or isinstance(b, bool) else bool(a == b)


def same_policy(seen: Mapping[str, Any], declared: Mapping[str, Any], what: str) -> Verdict:
    """Whether two policy documents hold the same statements, whatever their order and that of their actions."""
    statements = seen.get("Statement")
    if not isinstance(statements, list) or not all(isinstance(t, dict) and "Effect" in t for t in statements):
        return unknown(f"{what} is decided at deploy time, or no policy")
    have, want = ({_canonical(t) for t in ts} for ts in (statements, declared["Statement"]))
    if have == want:
        return PASS
    changed = sorted({str(json.loads(t).get("Sid", "a statement without Sid")) for t in have ^ want})
    return fail(f"{what} is not as declared: {', '.join(changed)}")


def filled(part: Any, account: str, region: str = "") -> Any:
    """A declared value as it is deployed: with the number of the account where the template has a reference."""
    match part:
        case {"Ref": "AWS::AccountId"}:
            return account
        case {"Ref": "AWS::Region"}:
            return region
        case {"Ref": "AWS::Partition"}:
            return "aws"
        case {"Fn::Join": ["", [*words]]}:
            return "".join(str(filled(w, account, region)) for w in words)
        case {"Fn::Sub": str() as text}:
            return text.replace("${AWS::AccountId}", account).replace("${AWS::Region}", region)
        case dict():
            return {name: filled(value, account, region) for name, value in part.items()}
        case list():
            return [filled(value, account, region) for value in part]
        case _:
            return part


def _canonical(statement: Mapping[str, Any]) -> str:
    actions = statement.get("Action")
    listed = sorted(map(str, actions)) if isinstance(actions, list) else actions
    return json.dumps(dict(statement) | {"Action": listed}, sort_keys=True)
