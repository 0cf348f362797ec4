"""Kafka: clusters and their configurations by CloudFormation, and topics, of which ministack knows nothing."""

from __future__ import annotations

import base64
import json
import re
from typing import Any
from urllib.parse import unquote

from holdfast.local import private
from holdfast.local.tables import call

Json = dict[str, Any]
ROUTE = re.compile(r"/v1/clusters/(?P<cluster>.+?)/topics(?:/(?P<topic>[^/]+))?")


def complete() -> None:
    api = private.module("ministack.services.msk")
    handlers = private.module("ministack.services.cloudformation.provisioners")._RESOURCE_HANDLERS
    handlers["AWS::MSK::Cluster"] = _clusters(api)
    handlers["AWS::MSK::Configuration"] = _configurations(api)
    handlers["AWS::MSK::Topic"] = _topics(api)
    api._camelize = spelled
    rest = api.handle_request

    async def with_topics(method: str, path: str, headers: Any, body: Any, query: Any) -> Any:
        asked = ROUTE.fullmatch(unquote(path))
        cluster = api._clusters.get(asked["cluster"]) if asked else None
        if method != "GET" or asked is None or cluster is None:
            return await rest(method, path, headers, body, query)
        topics = cluster.get("Topics", {})
        if asked["topic"] is None:
            return api._json({"topics": [{k: v for k, v in t.items() if k != "configs"} for t in topics.values()]})
        if asked["topic"] in topics:
            return api._json(topics[asked["topic"]])
        return api._not_found(f"Topic {asked['topic']} does not exist.")

    api.handle_request = with_topics


def spelled(found: Any) -> Any:
    """A template's names as the API has them: BrokerNodeGroupInfo is brokerNodeGroupInfo; names of tags stay."""
    if isinstance(found, dict):
        return {k[:1].lower() + k[1:]: v if k == "Tags" else spelled(v) for k, v in found.items()}
    return [spelled(v) for v in found] if isinstance(found, list) else found


def _clusters(api: Any) -> Json:
    def create(logical_id: str, props: Json, stack: str) -> tuple[str, Json]:
        brokers = {"NumberOfBrokerNodes": int(props.get("NumberOfBrokerNodes", 2))}
        made = call(api._create_cluster, json.dumps(spelled({"Tags": {}, **props, **brokers})))
        return made["clusterArn"], {"Arn": made["clusterArn"]}

    return {
        "create": create,
        "update": lambda physical, old, new, stack: (physical, {"Arn": physical}),
        "delete": lambda physical, props: api._delete_cluster(physical),
    }


def _configurations(api: Any) -> Json:
    latest = {"LatestRevision.Revision": 1}

    def create(logical_id: str, props: Json, stack: str) -> tuple[str, Json]:
        text = base64.b64encode(props["ServerProperties"].encode()).decode()
        versions = props.get("KafkaVersionsList", [])
        request = {"name": props["Name"], "serverProperties": text, "kafkaVersions": versions}
        made = call(api._create_configuration, json.dumps(request))
        return made["arn"], {"Arn": made["arn"], **latest}

    return {
        "create": create,
        "update": lambda physical, old, new, stack: (physical, {"Arn": physical, **latest}),
        "delete": lambda physical, props: None,
    }


def _topics(api: Any) -> Json:
    """They are kept with the record of their cluster, and so are saved and deleted with it."""

    def of(props: Json) -> Json:
        found: Json = api._clusters[props["ClusterArn"]].setdefault("Topics", {})
        return found

    def create(logical_id: str, props: Json, stack: str) -> tuple[str, Json]:
        if props["TopicName"] in of(props):
            raise ValueError(f"topic {props['TopicName']} already exists")
        return keep(props)

    def keep(props: Json) -> tuple[str, Json]:
        name = props["TopicName"]
        arn = f"{props['ClusterArn'].replace(':cluster/', ':topic/')}/{name}"
        of(props)[name] = {
            "topicArn": arn,
            "topicName": name,
            "partitionCount": int(props["PartitionCount"]),
            "replicationFactor": int(props["ReplicationFactor"]),
            "configs": props.get("Configs", ""),
            "status": "ACTIVE",
        }
        return arn, {"TopicArn": arn}

    def delete(physical: str, props: Json) -> None:
        if props["ClusterArn"] in api._clusters:
            of(props).pop(props["TopicName"], None)

    return {"create": create, "update": lambda physical, old, new, stack: keep(new), "delete": delete}
