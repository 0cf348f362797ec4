"""What security groups of a template admit, wherever their rules are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.cfn.dig import dig, mentioned
from holdfast.cfn.template import StackSeen
from holdfast.cfn.types import INGRESS


def ingress(stack: StackSeen, groups: set[str]) -> Iterator[Mapping[str, Any]]:
    """Every rule that lets, or may let, something into these security groups, wherever it is written."""
    for logical_id in groups:
        yield from inline(stack, logical_id, "SecurityGroupIngress")
    for _, resource in stack.possible(INGRESS):
        raw = resource.get("Properties", {})
        if groups & mentioned(raw.get("GroupId", raw)):
            rule = stack.resolver.value(raw)
            yield rule if isinstance(rule, dict) else {}


def inline(stack: StackSeen, group: str, name: str) -> list[Mapping[str, Any]]:
    rules = dig(stack, stack.template["Resources"][group], "Properties", name, default=[])
    return [r if isinstance(r, dict) else {} for r in (rules if isinstance(rules, list) else [rules])]


def source(rule: Mapping[str, Any]) -> str:
    known = ("CidrIp", "CidrIpv6", "SourcePrefixListId", "SourceSecurityGroupId", "SourceSecurityGroupName")
    found = next((rule[name] for name in known if name in rule), None)
    return found if isinstance(found, str) else "something that is decided at deploy time"
