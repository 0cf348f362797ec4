"""Whether two policy documents say the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from holdfast.verdict import PASS, Verdict, fail, unknown


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
