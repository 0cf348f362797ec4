"""The network of the stores: no way leads out of it, and no address is let in."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.cfn.alike import alike
from holdfast.cfn.dig import dig, flat
from holdfast.cfn.intrinsics import Reference
from holdfast.cfn.places import at
from holdfast.cfn.template import StackSeen
from holdfast.cfn.types import EGRESS, END_POINT, FLOW_LOG, GROUP, INGRESS, LOG_GROUP, SUBNET, VPC
from holdfast.kinds.base import StoreSubject
from holdfast.kinds.broker.types import BROKER
from holdfast.kinds.cache.types import CACHE
from holdfast.kinds.database.types import CLUSTER, INSTANCE
from holdfast.kinds.documents.types import DOCUMENTS
from holdfast.kinds.kinds import KINDS, asked, read
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.subjects import Resource, StackSubject
from holdfast.shared.account import Aspect
from holdfast.shared.network.groups import inline, source
from holdfast.verdict import EXEMPT, PASS, Verdict, fail

NOWHERE = "255.255.255.255/32"  # CDK's way to write that nothing goes out


def no_ranges(r: Resource) -> Verdict:
    """Whether a security group, of a store or of anything else, admits anything but groups of the stack."""
    if r.type == GROUP:
        rules = inline(r.stack, r.logical_id, "SecurityGroupIngress")
    else:
        found = r.stack.resolver.value(r.properties)
        rules = [found if isinstance(found, dict) else {}]
    wrong = [source(rule) for rule in rules if not r.stack.is_a(rule.get("SourceSecurityGroupId"), GROUP)]
    return fail(f"it admits {', '.join(wrong)}") if wrong else PASS


def isolated(of: StackSubject) -> Verdict:
    """A network that nothing leaves but for AWS's own end points, that is watched, and whose default group is empty."""
    stack, placed = of.stack, of.placed
    if not any(s.networked for s in placed.stores):
        return EXEMPT
    problems = [*_unwatched(stack), *_openings(stack)]
    there = {str(flat(stack, r.get("Properties", {}).get("ServiceName"))) for _, r in stack.resources(END_POINT)}
    declared = {type(store) for store in placed.stores}
    needed = (service for kind in KINDS if kind.declaration in declared for service in kind.end_points)
    for service in dict.fromkeys(needed):
        # In China some of them begin with cn.com.amazonaws.
        if not any(name.endswith(f"com.amazonaws.{placed.region}.{service}") for name in there):
            problems.append(f"nothing in it reaches {service}: its end point is gone")
    return fail("; ".join(problems)) if problems else PASS


def _unwatched(stack: StackSeen) -> Iterator[str]:
    for vpc, _ in stack.resources(VPC):
        logs = [stack.resolver.value(r.get("Properties", {})) for _, r in stack.resources(FLOW_LOG)]
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
            yield f"{logical_id} has security groups that are not the stack's"
    ways = [(i, rule) for i, _ in stack.possible(GROUP) for rule in inline(stack, i, "SecurityGroupEgress")]
    for logical_id, resource in stack.possible(EGRESS):
        found = stack.resolver.value(resource.get("Properties", {}))
        ways.append((logical_id, found if isinstance(found, dict) else {}))
    for logical_id, rule in ways:
        to_aws = "DestinationPrefixListId" in rule and alike([rule.get("FromPort"), rule.get("ToPort")], [443, 443])
        to_group = stack.is_a(rule.get("DestinationSecurityGroupId"), GROUP)
        if not (to_aws or to_group or rule.get("CidrIp") == NOWHERE):
            yield f"{logical_id} lets out to {rule.get('CidrIp') or rule.get('CidrIpv6') or 'other groups'}"


RANGES = Rule(
    id="HF503",
    forbids=True,
    title="Security groups admit groups, not addresses",
    why="An address range admits whatever stands behind it tomorrow; a group admits only what has that group.",
    remediation="Name a security group of {stack} as the source, as Network.allow does.",
    severity=Severity.HIGH,
    paths=at("AWS::EC2::SecurityGroup", "SecurityGroupIngress")
    + at(
        "AWS::EC2::SecurityGroupIngress",
        "CidrIp",
        "CidrIpv6",
        "SourcePrefixListId",
        "SourceSecurityGroupId",
        "SourceSecurityGroupName",
        "Type",
    ),
    controls=("SecurityHub EC2.18", "SecurityHub EC2.19"),
    checks=(Check(Resource, no_ranges, (GROUP, INGRESS)),),
)
NETWORK = Rule(
    id="HF506",
    title="Networks of stores are closed, and log their traffic",
    why="Data leaves by the way that was not looked at: an open group, a subnet with public addresses, traffic that no log has. A store "
    "in other subnets has their routes and their neighbours, and in one zone it fails with that zone.",
    remediation="Restore the network of {stack}; the construct makes its flow log, its end points and groups that allow nothing more.",
    severity=Severity.HIGH,
    paths=at("AWS::EC2::FlowLog", "Type", "LogDestination", "ResourceId", "TrafficType")
    + at("AWS::EC2::SecurityGroup", "SecurityGroupEgress")
    + at(
        "AWS::EC2::SecurityGroupEgress",
        "Type",
        "CidrIp",
        "CidrIpv6",
        "DestinationPrefixListId",
        "DestinationSecurityGroupId",
    )
    + at("AWS::EC2::Subnet", "MapPublicIpOnLaunch")
    + at("AWS::EC2::VPCEndpoint", "Type", "SecurityGroupIds", "ServiceName")
    + at("Custom::VpcRestrictDefaultSG", "Type"),
    explains=at((INSTANCE, CLUSTER, DOCUMENTS), "DBSubnetGroupName")
    + at(("AWS::RDS::DBSubnetGroup", "AWS::DocDB::DBSubnetGroup", "AWS::ElastiCache::SubnetGroup"), "SubnetIds")
    + at(CACHE, "CacheSubnetGroupName")
    + at(BROKER, "BrokerNodeGroupInfo/ClientSubnets"),
    controls=("SecurityHub EC2.2", "SecurityHub EC2.6", "SecurityHub EC2.15", "PCI 1.4.4"),
    checks=(Check(StackSubject, isolated),),
)
ADMITTED = Rule(
    id="HF520",
    title="Stores accept connections on their port, from the stack's security groups only",
    why="Every further port and every further source is a way in that is not watched.",
    remediation="Restore the one ingress rule of {table}; Network.allow makes it.",
    severity=Severity.HIGH,
    aspects=frozenset({Aspect.OWN, Aspect.GROUPS}),
    paths=read(lambda n: n.port) + at("AWS::EC2::SecurityGroupIngress", "FromPort", "GroupId", "IpProtocol", "ToPort"),
    checks=(Check(StoreSubject, asked(lambda n: n.port)),),
)
RULES = (
    RANGES,
    NETWORK,
    ADMITTED,
)
