"""The network of a stack: isolated subnets, and one narrow way between any two things in it."""

from __future__ import annotations

import re
from functools import cached_property

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from holdfast.estate.placement import Placed
from holdfast.model.declaration import DeclarationError
from holdfast.model.regions import S3_PREFIX_LISTS
from holdfast.shared.logs.construct import log_group


class Network(Construct):
    """No way in or out but AWS's own end points, and groups that by themselves allow nothing."""

    def __init__(self, scope: Construct, placed: Placed, key: kms.IKey) -> None:
        super().__init__(scope, "Network")
        count = max(placed.by_tier(placed.policy.zones), *(s.zones for s in placed.stores))
        self._placed = placed
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr(placed.cidr),
            availability_zones=_zones(placed, count),
            nat_gateways=0,
            create_internet_gateway=False,
            restrict_default_security_group=True,
            subnet_configuration=[
                ec2.SubnetConfiguration(name="data", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=20)
            ],
        )
        self.vpc_id = self.vpc.vpc_id
        self.subnet_ids = [subnet.subnet_id for subnet in self.vpc.isolated_subnets]
        self.services = self.group("Services", f"Applications of {placed.name}")
        self._flow_log(placed, key)

    def group(self, id: str, description: str) -> ec2.SecurityGroup:  # noqa: A002 (as constructs call it)
        """A security group that lets nothing in and nothing out."""
        return ec2.SecurityGroup(self, id, vpc=self.vpc, description=description, allow_all_outbound=False)

    def allow(self, source: ec2.SecurityGroup, target: ec2.SecurityGroup, port: int, why: str) -> None:
        """``source`` may open connections to ``port`` of ``target``: one rule out, one rule in."""
        source.add_egress_rule(target, ec2.Port.tcp(port), why)
        target.add_ingress_rule(source, ec2.Port.tcp(port), why)

    @cached_property
    def functions(self) -> ec2.SecurityGroup:
        """The group of our own functions: they go where applications have no business, such as past a pool."""
        return self.group("Functions", f"Functions of {self._placed.name}")

    @cached_property
    def end_points(self) -> ec2.SecurityGroup:
        """The group of the interface end points."""
        return self.group("EndPoints", "Interface end points of AWS services")

    def reach(self, source: ec2.SecurityGroup, name: str, service: ec2.InterfaceVpcEndpointAwsService) -> Construct:
        """``source`` reaches an AWS service from here; asking twice is asking once."""
        self.allow(source, self.end_points, 443, "AWS services through their end points")
        if found := self.node.try_find_child(name):
            assert isinstance(found, Construct)
            return found
        return ec2.InterfaceVpcEndpoint(
            self,
            name,
            vpc=self.vpc,
            service=service,
            private_dns_enabled=True,
            open=False,
            security_groups=[self.end_points],
        )

    def reach_s3(self, source: ec2.SecurityGroup) -> None:
        """``source`` reaches S3 without leaving AWS's network."""
        region, known = self._placed.region, {**S3_PREFIX_LISTS, **self._placed.env.s3_prefix_lists}
        if region not in known:
            raise DeclarationError(
                f"S3's prefix list in {region} is not known: declare it in s3_prefix_lists of the environment "
                f"{self._placed.env.label} (`aws ec2 describe-prefix-lists --region {region}` tells it)"
            )
        if not self.node.try_find_child("S3"):
            ec2.GatewayVpcEndpoint(self, "S3", vpc=self.vpc, service=ec2.GatewayVpcEndpointAwsService.S3)
        source.add_egress_rule(ec2.Peer.prefix_list(known[region]), ec2.Port.tcp(443), "S3")

    def _flow_log(self, placed: Placed, key: kms.IKey) -> None:
        group = log_group(self, "FlowLogs", "flow", placed, key)
        policy = iam.ManagedPolicy(
            self,
            "FlowPolicy",
            description=f"Writes the flow log of {placed.name}",
            statements=[
                iam.PolicyStatement(
                    actions=["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                    resources=[group.attr_arn],
                )
            ],
        )
        role = iam.Role(
            self,
            "FlowRole",
            assumed_by=iam.ServicePrincipal("vpc-flow-logs.amazonaws.com"),
            description=f"Writes the flow log of {placed.name}",
            managed_policies=[policy],
        ).without_policy_updates()
        ec2.CfnFlowLog(
            self,
            "FlowLog",
            resource_id=self.vpc_id,
            resource_type="VPC",
            traffic_type="ALL",
            log_destination=group.attr_arn,
            deliver_logs_permission_arn=role.role_arn,
        )


def _zones(placed: Placed, count: int) -> list[str]:
    letters = placed.env.zones if placed.region == placed.env.region else ()  # those of other regions are others
    if not letters:
        return [cdk.Fn.select(number, cdk.Fn.get_azs()) for number in range(count)]
    if len(set(letters)) < max(count, len(letters)) or not all(re.fullmatch("[a-z]", letter) for letter in letters):
        raise DeclarationError(
            f"environment {placed.env.label}: its zones are {', '.join(letters)}, and {placed.name} needs {count}: "
            "declare as many different letters of its region's zones"
        )
    return [placed.region + letter for letter in letters[:count]]
