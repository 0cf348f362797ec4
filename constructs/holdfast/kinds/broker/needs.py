"""What the rules ask of a broker, and where each answer is read."""

from __future__ import annotations

import base64
import json
from typing import Any

from holdfast.cfn.alike import alike
from holdfast.cfn.intrinsics import Reference
from holdfast.cfn.places import at
from holdfast.cfn.types import LOG_GROUP
from holdfast.kinds.base import Asked, Needs, StoreSubject
from holdfast.kinds.broker.declaration import Broker
from holdfast.kinds.broker.settings import server_properties
from holdfast.kinds.broker.types import BROKER, SETTINGS, TOPIC
from holdfast.kinds.need import (
    Need,
    absent,
    admits,
    at_least,
    exactly,
    kept,
    lines,
    logs_stay,
    met,
    needs,
    off,
    on,
    own,
    own_key,
    settings_in,
    several,
    starting,
    worst,
)
from holdfast.model.facts import Guard
from holdfast.unknown import Unknown
from holdfast.verdict import PASS, Verdict, fail

Subject = StoreSubject[Broker]
ENCRYPTED = Need(
    "the logs are not under the stack's key", "EncryptionInfo.EncryptionAtRest.DataVolumeKMSKeyId", own_key
)
TLS = (
    Need("clients may connect without TLS", "EncryptionInfo.EncryptionInTransit.ClientBroker", exactly("TLS"), "TLS"),
    Need("brokers talk without TLS", "EncryptionInfo.EncryptionInTransit.InCluster", on, True),
)
PRIVATE = (
    Need(
        "it has public addresses", "BrokerNodeGroupInfo.ConnectivityInfo.PublicAccess.Type", exactly(None, "DISABLED")
    ),
    *absent("others are let in", "BrokerNodeGroupInfo.ConnectivityInfo.VpcConnectivity"),
)
CLIENTS = (
    Need("IAM authentication is off", "ClientAuthentication.Sasl.Iam.Enabled", on, False),
    Need("clients may connect without authentication", "ClientAuthentication.Unauthenticated.Enabled", off),
    Need("passwords are taken", "ClientAuthentication.Sasl.Scram.Enabled", off),
    Need("certificates are taken", "ClientAuthentication.Tls.Enabled", off),
)
ZONES = Need("it has fewer than three brokers", "NumberOfBrokerNodes", at_least(3), 0)
LOGGED = Need("broker logs are off", "LoggingInfo.BrokerLogs.CloudWatchLogs.Enabled", on, False)
TAKEN = Need(
    "broker logs go to no group of the stack", "LoggingInfo.BrokerLogs.CloudWatchLogs.LogGroup", own(LOG_GROUP)
)
COUNTED = Need("its topics are not counted, so alarms are blind", "EnhancedMonitoring", starting("PER_TOPIC_"))


def configured(s: Subject) -> Verdict:
    declared = lines(server_properties(s.store, keeps_topics=Guard.RETAIN in s.required))
    wanted = [COUNTED] if Guard.ALARMS in s.required else []
    return worst([settings_in(s, ("ConfigurationInfo", "@Arn", "ServerProperties"), declared), met(s, wanted)])


def topics(s: Subject) -> Verdict:
    """Every declared topic, as declared; and no other."""
    declared = {s.placed.topic(s.store, t): t for t in s.store.topics}
    found, problems = [], []
    for _, resource in s.stack.resources(TOPIC):
        p = s.stack.resolver.value(resource.get("Properties", {}))
        name = str(p.get("TopicName"))
        topic = declared.get(name)
        if topic is None:
            problems.append(f"{name} is declared nowhere")
            continue
        found.append(name)
        for what, seen, want in (
            ("partitions", p.get("PartitionCount"), topic.partitions),
            ("replicas", p.get("ReplicationFactor"), topic.replication),
            ("settings", _settings(p.get("Configs")), topic.settings),
        ):
            if not alike(seen, want):
                problems.append(f"{what} of {name}: {_say(seen)}, declared is {_say(want)}")
        if not (isinstance(p.get("ClusterArn"), Reference) and p["ClusterArn"].logical_id == s.logical_id):
            problems.append(f"{name} is in another cluster")
        if Guard.RETAIN in s.required and (verdict := kept(s.stack, resource)) != PASS:
            problems.append(f"{name}: {verdict.detail}")
    problems += [f"{name} is missing" for name in declared if found.count(name) == 0]
    problems += [f"{name} is there twice" for name in declared if found.count(name) > 1]
    return fail("; ".join(problems)) if problems else PASS


def _settings(configs: Any) -> Any:
    try:
        return json.loads(base64.b64decode(str(configs)))
    except ValueError:
        return Unknown("Configs is not JSON in base64")


def _say(value: Any) -> str:
    if isinstance(value, Unknown):
        return value.reason
    return json.dumps(value, default=str, sort_keys=True) if not isinstance(value, str) else value


NEEDS: Needs[Broker] = Needs(
    deletion_protection=None,
    recovery=None,
    expiry=None,  # how long topics keep their messages is asked for with the topics
    customer_key=Asked(
        needs({BROKER: (ENCRYPTED,)}, guard=Guard.CUSTOMER_KEY), at(BROKER, "EncryptionInfo/EncryptionAtRest")
    ),
    tls=Asked(needs({BROKER: TLS}), at(BROKER, "EncryptionInfo/EncryptionInTransit")),
    private=Asked(needs({BROKER: PRIVATE}), at(BROKER, "BrokerNodeGroupInfo/ConnectivityInfo")),
    clients=Asked(needs({BROKER: CLIENTS}), at(BROKER, "ClientAuthentication")),
    zones=Asked(several(needs({BROKER: (ZONES,)})), at(BROKER, "NumberOfBrokerNodes")),
    logs=Asked(needs({BROKER: (LOGGED,)}), at(BROKER, "LoggingInfo")),
    logs_kept=Asked(logs_stay(TAKEN), ()),
    port=Asked(
        admits("BrokerNodeGroupInfo", "SecurityGroups", listens=False), at(BROKER, "BrokerNodeGroupInfo/SecurityGroups")
    ),
    fixes=None,  # MSK applies them itself
    passwords=None,
    settings=Asked(
        configured, at(BROKER, "ConfigurationInfo", "EnhancedMonitoring") + at(SETTINGS, "ServerProperties")
    ),
    jobs=None,
)
