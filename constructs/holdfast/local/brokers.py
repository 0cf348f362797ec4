"""Kafka's topics, of which ministack knows nothing, and the tags of clusters, which it spells in its own way."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote

from holdfast.local import private

Json = dict[str, Any]
ROUTE = re.compile(r"/v1/clusters/(?P<cluster>.+?)/topics(?:/(?P<topic>[^/]+))?")


def complete() -> None:
    """Topics are kept with the record of their cluster, and so are saved and deleted with it."""
    api = private.module("ministack.services.msk")
    handlers = private.module("ministack.services.cloudformation.provisioners")._RESOURCE_HANDLERS

    def arn_of(cluster: str, name: str) -> str:
        return f"{cluster.replace(':cluster/', ':topic/')}/{name}"

    def create(logical_id: str, props: Json, stack: str) -> tuple[str, Json]:
        topics = api._clusters[props["ClusterArn"]].setdefault("Topics", {})
        if props["TopicName"] in topics:
            raise ValueError(f"topic {props['TopicName']} already exists")
        return keep(props)

    def keep(props: Json) -> tuple[str, Json]:
        cluster, name = props["ClusterArn"], props["TopicName"]
        api._clusters[cluster].setdefault("Topics", {})[name] = {
            "topicArn": arn_of(cluster, name),
            "topicName": name,
            "partitionCount": int(props["PartitionCount"]),
            "replicationFactor": int(props["ReplicationFactor"]),
            "configs": props.get("Configs", ""),
            "status": "ACTIVE",
        }
        return arn_of(cluster, name), {"TopicArn": arn_of(cluster, name)}

    def delete(physical: str, props: Json) -> None:
        api._clusters.get(props["ClusterArn"], {}).get("Topics", {}).pop(props["TopicName"], None)

    handlers["AWS::MSK::Topic"] = {
        "create": create,
        "update": lambda physical, old, new, stack: keep(new),
        "delete": delete,
    }
    spell, rest = api._camelize, api.handle_request

    def spelled(found: Any) -> Any:
        """Names of tags are not the API's to spell."""
        if isinstance(found, dict) and "Tags" in found:
            return {**spell({k: v for k, v in found.items() if k != "Tags"}), "tags": found["Tags"]}
        if isinstance(found, dict):
            return {k[:1].lower() + k[1:]: spelled(v) for k, v in found.items()}
        return [spelled(v) for v in found] if isinstance(found, list) else found

    api._camelize = spelled

    async def with_topics(method: str, path: str, headers: Any, body: Any, query: Any) -> Any:
        asked = ROUTE.fullmatch(unquote(path))
        cluster = api._clusters.get(asked["cluster"]) if asked else None
        if method != "GET" or asked is None or cluster is None:
            return await rest(method, path, headers, body, query)
        topics = cluster.get("Topics", {})
        if asked["topic"] is None:
            return _json({"topics": [{k: v for k, v in t.items() if k != "configs"} for t in topics.values()]})
        if asked["topic"] in topics:
            return _json(topics[asked["topic"]])
        return api._not_found(f"Topic {asked['topic']} does not exist.")

    api.handle_request = with_topics


def _json(document: Json) -> tuple[int, Json, bytes]:
    return 200, {"Content-Type": "application/json"}, json.dumps(document).encode()
