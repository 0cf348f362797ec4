"""One declared registry: names in Cloud Map, settings in Parameter Store."""

from __future__ import annotations

from collections.abc import Iterator

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from holdfast.kinds.registry.declaration import Registry
from holdfast.kinds.registry.settings import DNS
from holdfast.kinds.registry.uses import uses
from holdfast.model.facts import construct_id
from holdfast.shared.applications.statements import Use
from holdfast.shared.construct.context import StoreContext
from holdfast.shared.construct.parameter import parameter


def add_registry(context: StoreContext, store: Registry) -> Iterator[Use]:
    registry = ServiceRegistry(context.scope, store, context)
    services = [context.resolved(service.get_att("Arn")) for service in registry.services]
    yield from uses(context.placed, store, services, context.resolved(registry.namespace.get_att("HostedZoneId")))


class ServiceRegistry(Construct):
    """Both are in the template, so nothing of it has to be backed up."""

    def __init__(self, scope: Construct, store: Registry, context: StoreContext) -> None:
        super().__init__(scope, store.id)
        placed, network = context.placed, context.network
        # Names are resolved without leaving the network; settings and registrations are calls to AWS.
        network.reach(network.services, "Parameters", ec2.InterfaceVpcEndpointAwsService.SSM)
        network.reach(network.services, "Registrations", ec2.InterfaceVpcEndpointAwsService.CLOUD_MAP_SERVICE_DISCOVERY)
        # Finding instances is another API, at an address of its own.
        network.reach(
            network.services, "Discoveries", ec2.InterfaceVpcEndpointAwsService.CLOUD_MAP_DATA_SERVICE_DISCOVERY
        )
        tags = placed.tags | placed.table_tags(store)
        listed = [{"Key": key, "Value": value} for key, value in sorted(tags.items())]
        self.namespace = cdk.CfnResource(
            self,
            "Namespace",
            type="AWS::ServiceDiscovery::PrivateDnsNamespace",
            properties={
                "Name": store.domain,
                "Description": store.purpose,
                "Vpc": network.vpc_id,
                "Tags": listed,
            },
        )
        self.services: list[cdk.CfnResource] = []
        for service in store.services:
            made = cdk.CfnResource(
                self,
                construct_id(service.name),
                type="AWS::ServiceDiscovery::Service",
                properties={
                    "Name": service.name,
                    "NamespaceId": self.namespace.ref,
                    "DnsConfig": DNS,
                    "HealthCheckCustomConfig": {"FailureThreshold": 1},
                    "Tags": listed,
                },
            )
            self.services.append(made)
            for name, value in store.parameters(service).items():
                parameter(self, name, value, f"Where {service.name} is found", tags)
