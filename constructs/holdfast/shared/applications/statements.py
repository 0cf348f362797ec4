"""What applications may do with the stores of their system: the statements of the policy that they attach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.cfn.dig import ACCOUNT
from holdfast.estate.placement import Placed
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


def arn(placed: Placed, service: str, name: str, *more: Any) -> Any:
    start = f"arn:{partition(placed.region)}:{service}:{placed.region}:"
    return {"Fn::Join": ["", [start, ACCOUNT, f":{name}", *more]]}
