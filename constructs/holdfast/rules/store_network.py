"""How a store can be reached: its port and groups, its subnets, and that no way leads out of the stack's network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.cfn.intrinsics import Reference
from holdfast.cfn.template import StackSeen
from holdfast.kinds.bucket.declaration import Bucket
from holdfast.kinds.database.declaration import Database
from holdfast.kinds.registry.declaration import Registry
from holdfast.rules.same import alike
from holdfast.rules.store_subject import (
    BROKER,
    CACHE,
    CLUSTER,
    DOCUMENTS,
    GROUP,
    INSTANCE,
    LOG_GROUP,
    StoreSubject,
    dig,
    flat,
    mentioned,
)
from holdfast.rules.subjects import Resource, StackSubject
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Verdict, fail, unknown

VPC, SUBNET, END_POINT = "AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::EC2::VPCEndpoint"
INGRESS, EGRESS = "AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress"
# Which property names the security groups of each type, and which its subnets.
GROUPS_OF = {
    INSTANCE: ("VPCSecurityGroups",),
    CLUSTER: ("VpcSecurityGroupIds",),
    DOCUMENTS: ("VpcSecurityGroupIds",),
    CACHE: ("SecurityGroupIds",),
    BROKER: ("BrokerNodeGroupInfo", "SecurityGroups"),
}
NOWHERE = "255.255.255.255/32"  # CDK's way to write that nothing goes out


def admitted(s: StoreSubject) -> Verdict:
    """Exactly the declared port, and only from security groups of the same stack."""
    port = getattr(s.store, "port", None)
    if port is None:
        return EXEMPT
    listens = s.get("Port", default=0) if s.type != BROKER else port
    if not alike(listens, port):
        return fail(f"it listens on {listens}, declared is {port}")
    groups = s.get(*GROUPS_OF[s.type], default=[])
    if isinstance(groups, Unknown):
        return unknown(f"its security groups cannot be read: {groups.reason}")
    ids = {g.logical_id for g in groups if s.stack.is_a(g, GROUP)}
    if len(ids) != 1 or not all(s.stack.is_a(g, GROUP) for g in groups):
        return fail("it has no security group of the stack for itself alone, or one from elsewhere")
    rules = list(ingress(s.stack, ids))
    for rule in rules:
        if not s.stack.is_a(rule.get("SourceSecurityGroupId"), GROUP):
            return fail(f"it admits {_source(rule)}, not a group of the stack")
        seen = (rule.get("IpProtocol"), rule.get("FromPort"), rule.get("ToPort"))
        if not alike(list(seen), ["tcp", port, port]):
            said = "all ports" if alike(seen[0], -1) else f"{seen[0]} {seen[1]}-{seen[2]}"
            return fail(f"it admits {said}, declared is tcp {port}")
    return PASS if rules else fail("it admits nobody: the rule for its port is gone")


def ingress(stack: StackSeen, groups: set[str]) -> Iterator[Mapping[str, Any]]:
    """Every rule that lets, or may let, something into these security groups, wherever it is written."""
    for logical_id in groups:
        yield from _inline(stack, logical_id, "SecurityGroupIngress")
    for _, resource in stack.possible(INGRESS):
        raw = resource.get("Properties", {})
        if groups & mentioned(raw.get("GroupId", raw)):
            rule = stack.resolver.value(raw)
            yield rule if isinstance(rule, dict) else {}


def _inline(stack: StackSeen, group: str, name: str) -> list[Mapping[str, Any]]:
    rules = dig(stack, stack.template["Resources"][group], "Properties", name, default=[])
    return [r if isinstance(r, dict) else {} for r in (rules if isinstance(rules, list) else [rules])]


def _source(rule: Mapping[str, Any]) -> str:
    known = ("CidrIp", "CidrIpv6", "SourcePrefixListId", "SourceSecurityGroupId", "SourceSecurityGroupName")
    found = next((rule[name] for name in known if name in rule), None)
    return found if isinstance(found, str) else "something that is decided at deploy time"


def no_ranges(r: Resource) -> Verdict:
    """Whether a security group, of a store or of anything else, admits anything but groups of the stack."""
    if r.type == GROUP:
        rules = _inline(r.stack, r.logical_id, "SecurityGroupIngress")
    else:
        found = r.stack.resolver.value(r.properties)
        rules = [found if isinstance(found, dict) else {}]
    wrong = [_source(rule) for rule in rules if not r.stack.is_a(rule.get("SourceSecurityGroupId"), GROUP)]
    return fail(f"it admits {', '.join(wrong)}") if wrong else PASS


def isolated(of: StackSubject) -> Verdict:
    """A network that nothing leaves but for AWS's own end points, that is watched, and whose default group is empty."""
    stack, placed = of.stack, of.placed
    if not any(s.networked for s in placed.stores):
        return EXEMPT
    problems = [*_unwatched(stack), *_openings(stack)]
    reached = {
        service: any(isinstance(s, kind) for s in placed.stores)
        for service, kind in (
            ("secretsmanager", Database),
            ("s3", Bucket),
            ("ssm", Registry),
            ("servicediscovery", Registry),
        )
    }
    there = {str(flat(stack, r.get("Properties", {}).get("ServiceName"))) for _, r in stack.resources(END_POINT)}
    for service, needed in reached.items():
        # In China some of them begin with cn.com.amazonaws.
        if needed and not any(name.endswith(f"com.amazonaws.{placed.region}.{service}") for name in there):
            problems.append(f"nothing in it reaches {service}: its end point is gone")
    return fail("; ".join(problems)) if problems else PASS


def _unwatched(stack: StackSeen) -> Iterator[str]:
    for vpc, _ in stack.resources(VPC):
        logs = [stack.resolver.value(r.get("Properties", {})) for _, r in stack.resources("AWS::EC2::FlowLog")]
        if not any(
            isinstance(p, dict)
            and p.get("ResourceId") == Reference(vpc)
            and p.get("TrafficType") == "ALL"
            and stack.is_a(p.get("LogDestination"), LOG_GROUP)
            for p in logs
        ):
            yield "no flow log of all its traffic goes to a log group of the stack"
        emptied = [
            dig(stack, r, "Properties", "DefaultSecurityGroupId")
            for _, r in stack.resources("Custom::VpcRestrictDefaultSG")
        ]
        if Reference(vpc, "DefaultSecurityGroup") not in emptied:
            yield "its default security group is not emptied"


def _openings(stack: StackSeen) -> Iterator[str]:
    for logical_id, resource in stack.possible(SUBNET):
        if not alike(dig(stack, resource, "Properties", "MapPublicIpOnLaunch", default=False), False):
            yield f"{logical_id} gives out public addresses"
    for logical_id, resource in stack.possible(END_POINT):
        groups = dig(stack, resource, "Properties", "SecurityGroupIds", default=[])
        if not (isinstance(groups, list) and all(stack.is_a(g, GROUP) for g in groups)):
            yield f"{logical_id} wears groups that are not the stack's"
    ways = [(i, rule) for i, _ in stack.possible(GROUP) for rule in _inline(stack, i, "SecurityGroupEgress")]
    for logical_id, resource in stack.possible(EGRESS):
        found = stack.resolver.value(resource.get("Properties", {}))
        ways.append((logical_id, found if isinstance(found, dict) else {}))
    for logical_id, rule in ways:
        to_aws = "DestinationPrefixListId" in rule and alike([rule.get("FromPort"), rule.get("ToPort")], [443, 443])
        to_group = stack.is_a(rule.get("DestinationSecurityGroupId"), GROUP)
        if not (to_aws or to_group or rule.get("CidrIp") == NOWHERE):
            yield f"{logical_id} lets out to {rule.get('CidrIp') or rule.get('CidrIpv6') or 'other groups'}"
