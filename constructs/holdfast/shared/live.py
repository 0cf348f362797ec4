"""What APIs answer, in CloudFormation's words: resources, tags, and references to a stack's own resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.cfn.types import GROUP

Answer = Mapping[str, Any]
Resource = dict[str, Any]
# No API shows these: the deployed template's own column says whether they hold.
KEPT = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}


@dataclass(frozen=True, slots=True)
class StackResources:
    """The resources of one stack by type and physical id, so that ARNs and names become references to them."""

    members: Mapping[tuple[str, str], str]  # to logical ids
    elsewhere: Mapping[str, str] = field(default_factory=dict)  # ARNs of what other stacks made for it

    def id(self, kind: str, physical: str) -> str | None:
        return self.members.get((kind, physical)) or self.members.get((kind, _last(physical)))

    def physical(self, kind: str) -> list[str]:
        return [name for (of, name) in self.members if of == kind]

    def ref(self, kind: str, physical: str | None) -> Any:
        """A reference where the stack has it; else what it is called."""
        found = self.id(kind, physical) if physical else None
        return {"Ref": found} if found else physical

    def arn(self, kind: str, arn: str | None) -> Any:
        found = self.id(kind, arn) if arn else None
        return {"Fn::GetAtt": [found, "Arn"]} if found else self.elsewhere.get(arn or "", arn)

    def group(self, group: str) -> Any:
        found = self.id(GROUP, group)
        return {"Fn::GetAtt": [found, "GroupId"]} if found else group


def _last(arn: str) -> str:
    return arn.replace("/", ":").rpartition(":")[2]


def shaped(kind: str, properties: Mapping[str, Any], **more: Any) -> Resource:
    return {"Type": kind, "Properties": {k: v for k, v in properties.items() if v is not None}, **more}


def tags(pairs: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """Without CloudFormation's own."""
    return [{"Key": t["Key"], "Value": t["Value"]} for t in pairs if not t["Key"].startswith("aws:")]
