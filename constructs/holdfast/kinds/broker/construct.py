"""One declared broker as an MSK cluster and its topics."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import aws_cdk as cdk
from aws_cdk import aws_msk as msk
from constructs import Construct

from holdfast.kinds.broker.alarms import alarms
from holdfast.kinds.broker.declaration import Broker, Topic
from holdfast.kinds.broker.settings import server_properties
from holdfast.kinds.broker.uses import uses
from holdfast.model.facts import Guard, construct_id
from holdfast.shared.alarms.construct import add_alarms
from holdfast.shared.applications.statements import Use
from holdfast.shared.construct.context import StoreContext
from holdfast.shared.construct.tags import tag
from holdfast.shared.logs.construct import log_group

KAFKA_VERSION = "3.9.x"


def add_broker(context: StoreContext, store: Broker) -> Iterator[Use]:
    broker = GuardedBroker(context.scope, store, context)
    yield from uses(context.placed, store, context.resolved(broker.cluster.attr_arn))


class GuardedBroker(Construct):
    """TLS and IAM are the only way in, and a topic that is not declared does not exist."""

    def __init__(self, scope: Construct, store: Broker, context: StoreContext) -> None:
        super().__init__(scope, store.id)
        placed, network = context.placed, context.network
        name = placed.fill(store.name)
        guards = placed.required(store)
        removal = cdk.RemovalPolicy.RETAIN if Guard.RETAIN in guards else cdk.RemovalPolicy.DESTROY
        group = network.group(f"{store.id}Group", f"Broker {name}")
        network.allow(network.services, group, store.port, f"Services use broker {name}")
        # Every zone holds equally many, and there is one for each replica.
        zones = len(network.subnet_ids)
        brokers = -(-store.brokers // zones) * zones
        configuration = msk.CfnConfiguration(
            self,
            "Configuration",
            name=name,
            kafka_versions_list=[KAFKA_VERSION],
            server_properties=server_properties(store, keeps_topics=Guard.RETAIN in guards),
        )
        self.cluster = msk.CfnCluster(
            self,
            "Cluster",
            cluster_name=name,
            kafka_version=KAFKA_VERSION,
            number_of_broker_nodes=brokers,
            broker_node_group_info=msk.CfnCluster.BrokerNodeGroupInfoProperty(
                client_subnets=network.subnet_ids,
                instance_type=placed.by_tier(placed.policy.sizes.broker),
                security_groups=[group.security_group_id],
                storage_info=msk.CfnCluster.StorageInfoProperty(
                    ebs_storage_info=msk.CfnCluster.EBSStorageInfoProperty(
                        volume_size=placed.by_tier(placed.policy.sizes.broker_gib)
                    )
                ),
                connectivity_info=msk.CfnCluster.ConnectivityInfoProperty(
                    public_access=msk.CfnCluster.PublicAccessProperty(type="DISABLED")
                ),
            ),
            client_authentication=msk.CfnCluster.ClientAuthenticationProperty(
                sasl=msk.CfnCluster.SaslProperty(
                    iam=msk.CfnCluster.IamProperty(enabled=True), scram=msk.CfnCluster.ScramProperty(enabled=False)
                ),
                unauthenticated=msk.CfnCluster.UnauthenticatedProperty(enabled=False),
            ),
            encryption_info=msk.CfnCluster.EncryptionInfoProperty(
                encryption_at_rest=msk.CfnCluster.EncryptionAtRestProperty(data_volume_kms_key_id=context.key.key_arn),
                encryption_in_transit=msk.CfnCluster.EncryptionInTransitProperty(client_broker="TLS", in_cluster=True),
            ),
            # Arrivals in one topic are only counted from this level on; lag is counted at any.
            enhanced_monitoring="PER_TOPIC_PER_BROKER" if Guard.ALARMS in guards else "DEFAULT",
            logging_info=msk.CfnCluster.LoggingInfoProperty(
                broker_logs=msk.CfnCluster.BrokerLogsProperty(
                    cloud_watch_logs=msk.CfnCluster.CloudWatchLogsProperty(
                        enabled=True, log_group=log_group(self, "Log", "broker", placed, context.key).ref
                    )
                )
            ),
            configuration_info=msk.CfnCluster.ConfigurationInfoProperty(
                arn=configuration.attr_arn,
                revision=cdk.Token.as_number(configuration.get_att("LatestRevision.Revision")),
            ),
        )
        self.cluster.apply_removal_policy(removal)
        for topic in store.topics:
            self._topic(topic, placed.topic(store, topic)).apply_removal_policy(removal)
        tag(self, store, placed)
        if context.topic and Guard.ALARMS in guards:
            add_alarms(self, alarms(placed, store, brokers), placed, context.topic)

    def _topic(self, topic: Topic, name: str) -> cdk.CfnResource:
        return cdk.CfnResource(
            self,
            f"Topic{construct_id(topic.name)}",
            type="AWS::MSK::Topic",
            properties={
                "ClusterArn": self.cluster.attr_arn,
                "TopicName": name,
                "PartitionCount": topic.partitions,
                "ReplicationFactor": topic.replication,
                "Configs": base64.b64encode(json.dumps(topic.settings, sort_keys=True).encode()).decode(),
            },
        )
