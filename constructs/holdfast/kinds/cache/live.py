"""How a live cache is read, and what ElastiCache answers in CloudFormation's words."""

from __future__ import annotations

from holdfast.cfn.types import KEY
from holdfast.kinds.cache import types
from holdfast.kinds.cache.declaration import Cache
from holdfast.kinds.cache.settings import PARAMETERS as SETTINGS
from holdfast.kinds.live import MARKER, Found, ReadContext, Reading, status
from holdfast.shared.account import Aspect
from holdfast.shared.calls import Call, listing
from holdfast.shared.live import Answer, Resource, StackResources, shaped, tags
from holdfast.unknown import Unknown

ARNS = "arn:aws:elasticache:*:*:*"  # caches, groups of parameters, users
CACHES = listing(
    "elasticache",
    "DescribeReplicationGroups",
    "caches",
    "ReplicationGroups",
    MARKER,
    ARNS,
    needs=(
        "ReplicationGroupId",
        "ARN",
        "AtRestEncryptionEnabled",
        "TransitEncryptionEnabled",
        "AutomaticFailover",
        "MultiAZ",
        "MemberClusters",
        "SnapshotRetentionLimit",
    ),
)
NODES = listing(
    "elasticache",
    "DescribeCacheClusters",
    "nodes of caches",
    "CacheClusters",
    MARKER,
    ARNS,
    needs=("CacheClusterId", "EngineVersion", "SecurityGroups.SecurityGroupId"),
)
PARAMETERS = listing(
    "elasticache",
    "DescribeCacheParameters",
    "parameters of the cache",
    "Parameters",
    MARKER,
    ARNS,
    needs=("ParameterName",),
)
USER_GROUPS = listing(
    "elasticache",
    "DescribeUserGroups",
    "user groups of caches",
    "UserGroups",
    MARKER,
    ARNS,
    needs=("UserGroupId", "UserIds"),
)
USERS = listing(
    "elasticache", "DescribeUsers", "users of caches", "Users", MARKER, ARNS, needs=("UserId", "AccessString")
)
TAGS = Call(
    service="elasticache",
    operation="ListTagsForResource",
    action="elasticache:ListTagsForResource",
    reads="tags of the cache",
    member="TagList",
    resource=ARNS,
    needs=("TagList.Key", "TagList.Value"),
)
NO_GROUP = "nobody"  # the group of a cache that has none, and so no users of its own


def read(c: ReadContext, _: Cache, name: str) -> Found | Unknown | None:
    listed = c.listed[CACHES]
    if isinstance(listed, Unknown):
        return listed
    g = next((g for g in listed if g["ReplicationGroupId"] == name), None)
    if g is None:
        return None
    found = Found(arn=g["ARN"], logical_id=c.id(types.CACHE, name), status=status(g, "Status"))
    nodes = c.listed[NODES]
    if isinstance(nodes, Unknown):
        found.unread[Aspect.NODES] = found.unread[Aspect.PARAMETERS] = found.unread[Aspect.GROUPS] = nodes
        nodes = []
    node: Answer = next((n for n in nodes if n.get("ReplicationGroupId") == name), {})
    group = node.get("CacheParameterGroup", {}).get("CacheParameterGroupName")
    parameters = group and c.parameters(
        types.PARAMETERS, PARAMETERS, "CacheParameterGroupName", group, set(SETTINGS), found, "Properties"
    )
    users = [_user_group(c, u, found) for u in g.get("UserGroupIds") or [NO_GROUP]]
    resource = cache(g, node, c.own, parameters, users)
    answer = c.ask(TAGS, name, ResourceName=g["ARN"])
    if isinstance(answer, Unknown):
        found.unread[Aspect.TAGS] = answer
    resource["Properties"]["Tags"] = tags(answer.get("TagList", ())) if isinstance(answer, dict) else []
    c.add(types.CACHE, name, resource)
    return found


def _user_group(c: ReadContext, name: str, found: Found) -> str:
    groups, users = c.listed[USER_GROUPS], c.listed[USERS]
    for listed in (groups, users):
        if isinstance(listed, Unknown):
            found.unread[Aspect.USERS] = listed
    if isinstance(groups, Unknown) or isinstance(users, Unknown):
        return c.id(types.USERS, name)
    members: list[str] = next((g.get("UserIds", []) for g in groups if g["UserGroupId"] == name), [])
    for u in (u for u in users if u["UserId"] in members):
        c.add(types.USER, u["UserId"], user(u))
    ids = [{"Ref": c.id(types.USER, u)} for u in members]
    return c.add(types.USERS, name, shaped(types.USERS, {"UserGroupId": name, "UserIds": ids}))


READING = Reading(
    read=read,
    listings=(CACHES, NODES, USER_GROUPS, USERS),
    calls=(PARAMETERS, TAGS),
    tagged=("elasticache:replicationgroup",),
)


def cache(g: Answer, node: Answer, own: StackResources, parameters: str | None, users: list[str]) -> Resource:
    port = next((n.get("PrimaryEndpoint", {}).get("Port") for n in g.get("NodeGroups", ())), None)
    logs = [log for log in g.get("LogDeliveryConfigurations", ()) if log.get("Status", "active") != "error"]
    return shaped(
        types.CACHE,
        {
            "ReplicationGroupId": g["ReplicationGroupId"],
            "Engine": g.get("Engine"),
            "EngineVersion": node.get("EngineVersion"),
            "CacheNodeType": g.get("CacheNodeType"),
            "NumCacheClusters": len(g.get("MemberClusters", ())),
            "AutomaticFailoverEnabled": g.get("AutomaticFailover") == "enabled",
            "MultiAZEnabled": g.get("MultiAZ") == "enabled",
            "AtRestEncryptionEnabled": g.get("AtRestEncryptionEnabled", False),
            "KmsKeyId": own.arn(KEY, g.get("KmsKeyId")),
            "TransitEncryptionEnabled": g.get("TransitEncryptionEnabled", False),
            "TransitEncryptionMode": g.get("TransitEncryptionMode"),
            "AutoMinorVersionUpgrade": g.get("AutoMinorVersionUpgrade"),
            "SnapshotRetentionLimit": g.get("SnapshotRetentionLimit"),
            "Port": port,
            "LogDeliveryConfigurations": logs,
            "SecurityGroupIds": [own.group(s["SecurityGroupId"]) for s in node.get("SecurityGroups", ())],
            "CacheParameterGroupName": {"Ref": parameters} if parameters else None,
            "UserGroupIds": [{"Ref": u} for u in users],
        },
    )


def user(u: Answer) -> Resource:
    kind = u.get("Authentication", {}).get("Type")
    return shaped(
        types.USER,
        {
            "Engine": u.get("Engine"),
            "UserId": u["UserId"],
            "UserName": u.get("UserName"),
            "AccessString": u.get("AccessString"),
            "AuthenticationMode": {"Type": "no-password-required" if kind == "no-password" else kind},
        },
    )
