"""How a live broker is read, and what MSK answers in CloudFormation's words."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection

from holdfast.cfn import bounded
from holdfast.cfn.types import KEY
from holdfast.kinds.broker import types
from holdfast.kinds.broker.declaration import Broker
from holdfast.kinds.live import NEXT, Found, ReadContext, Reading, status
from holdfast.shared.account import Aspect
from holdfast.shared.calls import Call, listing
from holdfast.shared.live import KEPT, Answer, Resource, StackResources, shaped
from holdfast.unknown import Unknown

ARNS = "arn:aws:kafka:*:*:*"  # clusters and topics
BROKERS = listing("kafka", "ListClusters", "brokers", "ClusterInfoList", NEXT, needs=("ClusterName", "ClusterArn"))
TOPICS = Call(
    service="kafka",
    operation="ListTopics",
    action="kafka:ListTopics",
    # This API asks for what Kafka's own clients need, too.
    also=("kafka-cluster:Connect", "kafka-cluster:DescribeTopic"),
    reads="the list of topics",
    member="Topics",
    needs=("Topics.TopicName",),
    page=NEXT,
    resource=ARNS,
)
TOPIC = Call(
    service="kafka",
    operation="DescribeTopic",
    action="kafka:DescribeTopic",
    also=("kafka-cluster:Connect", "kafka-cluster:DescribeTopic", "kafka-cluster:DescribeTopicDynamicConfiguration"),
    reads="the topic",
    member="TopicName",
    needs=("PartitionCount", "ReplicationFactor"),
    resource=ARNS,
)
SETTINGS = Call(
    service="kafka",
    operation="DescribeConfigurationRevision",
    action="kafka:DescribeConfigurationRevision",
    reads="settings of the brokers",
    member="ServerProperties",
    resource=ARNS,
)


def read(c: ReadContext, store: Broker, name: str) -> Found | Unknown | None:
    listed = c.listed[BROKERS]
    if isinstance(listed, Unknown):
        return listed
    answer = next((x for x in listed if x["ClusterName"] == name), None)
    if answer is None:
        return None
    arn = answer["ClusterArn"]
    found = Found(arn=arn, logical_id=c.id(types.BROKER, arn), status=status(answer, "State"))
    c.add(types.BROKER, arn, broker(answer, c.own, _settings(c, answer, found)))
    topics = c.ask_all(TOPICS, name, ClusterArn=arn)
    if isinstance(topics, Unknown):
        found.unread[Aspect.TOPICS] = topics
        return found
    declared = {setting for t in store.topics for setting in t.settings}
    for topic_name in (t["TopicName"] for t in topics):
        if topic_name.startswith("__"):
            continue  # Kafka's own
        t = c.ask(TOPIC, name, ClusterArn=arn, TopicName=topic_name)
        if isinstance(t, Unknown):
            found.unread[Aspect.TOPICS] = t
        elif t is not None:
            try:
                resource = topic(t, found.logical_id, declared)
            except ValueError:
                found.unread[Aspect.TOPICS] = Unknown(f"settings of {t['TopicName']} cannot be understood")
            else:
                c.add(types.TOPIC, str(t.get("TopicArn", t["TopicName"])), resource)
    return found


def _settings(c: ReadContext, broker: Answer, found: Found) -> str | None:
    software = broker.get("CurrentBrokerSoftwareInfo", {})
    if not (arn := software.get("ConfigurationArn")):
        return None
    revision = software.get("ConfigurationRevision", 1)
    answer = c.ask(SETTINGS, broker["ClusterName"], Arn=arn, Revision=revision)
    if isinstance(answer, Unknown):
        found.unread[Aspect.PARAMETERS] = answer
    try:
        text = answer["ServerProperties"].decode() if isinstance(answer, dict) else ""
    except UnicodeDecodeError:
        found.unread[Aspect.PARAMETERS], text = Unknown("settings of the brokers cannot be understood"), ""
    return c.add(types.SETTINGS, arn, shaped(types.SETTINGS, {"ServerProperties": text}))


READING = Reading(read=read, listings=(BROKERS,), calls=(TOPICS, TOPIC, SETTINGS), tagged=("kafka:cluster",))


def broker(c: Answer, own: StackResources, settings: str | None) -> Resource:
    nodes = dict(c.get("BrokerNodeGroupInfo", {}))
    nodes["SecurityGroups"] = [own.group(g) for g in nodes.get("SecurityGroups", ())]
    encryption = dict(c.get("EncryptionInfo", {}))
    at_rest = encryption.get("EncryptionAtRest", {})
    encryption["EncryptionAtRest"] = {"DataVolumeKMSKeyId": own.arn(KEY, at_rest.get("DataVolumeKMSKeyId"))}
    return shaped(
        types.BROKER,
        {
            "ClusterName": c["ClusterName"],
            "KafkaVersion": c.get("CurrentBrokerSoftwareInfo", {}).get("KafkaVersion"),
            "NumberOfBrokerNodes": c.get("NumberOfBrokerNodes"),
            "BrokerNodeGroupInfo": nodes,
            "EncryptionInfo": encryption,
            "ClientAuthentication": c.get("ClientAuthentication"),
            "ConfigurationInfo": {"Arn": {"Ref": settings}} if settings else None,
            "LoggingInfo": c.get("LoggingInfo"),
            "EnhancedMonitoring": c.get("EnhancedMonitoring"),
            "Tags": {k: v for k, v in c.get("Tags", {}).items() if not k.startswith("aws:")},
        },
    )


def topic(t: Answer, cluster: str, declared: Collection[str]) -> Resource:
    """Kafka shows every setting that a topic has; those count that a declaration names."""
    settings = bounded.tree(base64.b64decode(t["Configs"])) if t.get("Configs") else {}
    ours = {k: v for k, v in settings.items() if k in declared}
    return shaped(
        types.TOPIC,
        {
            "TopicName": t["TopicName"],
            "PartitionCount": t.get("PartitionCount"),
            "ReplicationFactor": t.get("ReplicationFactor"),
            "Configs": base64.b64encode(json.dumps(ours).encode()).decode(),
            "ClusterArn": {"Fn::GetAtt": [cluster, "Arn"]},
        },
        **KEPT,
    )
