"""What EC2 answers of security groups, in CloudFormation's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from holdfast.cfn.types import GROUP
from holdfast.shared.calls import listing
from holdfast.shared.live import Answer, Resource, StackResources, shaped

GROUPS = listing(
    "ec2",
    "DescribeSecurityGroups",
    "security groups",
    "SecurityGroups",
    ("NextToken", "NextToken"),
    needs=(
        "GroupId",
        "IpPermissions",
        "IpPermissionsEgress",
        *(
            f"{rules}.{need}"
            for rules in ("IpPermissions", "IpPermissionsEgress")
            for need in ("IpProtocol", "IpRanges.CidrIp", "Ipv6Ranges.CidrIpv6", "PrefixListIds.PrefixListId")
        ),
    ),
)


def group(g: Answer, own: StackResources) -> Resource:
    return shaped(
        GROUP,
        {
            "GroupDescription": g.get("Description"),
            "VpcId": g.get("VpcId"),
            "SecurityGroupIngress": list(_rules(g.get("IpPermissions", ()), own, "Source")),
            "SecurityGroupEgress": list(_rules(g.get("IpPermissionsEgress", ()), own, "Destination")),
        },
    )


def _rules(permissions: Iterable[Answer], own: StackResources, end: str) -> Iterator[dict[str, Any]]:
    for p in permissions:
        ports = {k: p[k] for k in ("IpProtocol", "FromPort", "ToPort") if k in p}
        for pair in p.get("UserIdGroupPairs", ()):
            yield {**ports, f"{end}SecurityGroupId": own.group(pair.get("GroupId", "a group without id"))}
        for listed, name in (("IpRanges", "CidrIp"), ("Ipv6Ranges", "CidrIpv6")):
            yield from ({**ports, name: r[name]} for r in p.get(listed, ()))
        yield from ({**ports, f"{end}PrefixListId": r["PrefixListId"]} for r in p.get("PrefixListIds", ()))
