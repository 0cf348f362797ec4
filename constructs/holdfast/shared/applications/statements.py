"""What applications may do with the stores of their system: the statements of the policy that they attach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.cfn.dig import ACCOUNT
from holdfast.estate.placement import Placed, places
from holdfast.model.regions import partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One statement; ``why`` its resources are patterns, where they are."""

    sid: str
    actions: tuple[str, ...]
    resources: tuple[Any, ...]
    condition: Mapping[str, Any] | None = None
    why: str | None = None

    @property
    def statement(self) -> dict[str, Any]:
        said = {"Sid": self.sid, "Effect": "Allow", "Action": list(self.actions), "Resource": list(self.resources)}
        return said | ({"Condition": self.condition} if self.condition else {})


def policy_name(placed: Placed) -> str:
    """IAM knows no regions, so in any but the first the name says which."""
    first = places(placed.stack, placed.env)[0].region
    elsewhere = f"-{placed.region}" if placed.region != first else ""
    name = placed.stack.applications or f"{placed.stack.system}-applications-{{env}}"
    return f"{placed.fill(name)}{elsewhere}"


def arn(placed: Placed, service: str, name: str, *more: Any) -> Any:
    start = f"arn:{partition(placed.region)}:{service}:{placed.region}:"
    return {"Fn::Join": ["", [start, ACCOUNT, f":{name}", *more]]}
