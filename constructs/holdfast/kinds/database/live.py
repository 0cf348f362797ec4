"""How a live database is read, and what RDS answers in CloudFormation's words."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from holdfast.cfn.types import KEY
from holdfast.kinds.database import types
from holdfast.kinds.database.declaration import Database
from holdfast.kinds.database.settings import database_parameters
from holdfast.kinds.live import MARKER, Found, ReadContext, Reading, status
from holdfast.shared.account import Aspect
from holdfast.shared.calls import listing
from holdfast.shared.live import Answer, Resource, StackResources, shaped, tags
from holdfast.unknown import Unknown

ARNS = "arn:aws:rds:*:*:*"  # instances, clusters and groups of parameters
TAGS = ("TagList.Key", "TagList.Value")
INSTANCES = listing(
    "rds",
    "DescribeDBInstances",
    "databases",
    "DBInstances",
    MARKER,
    ARNS,
    needs=(
        "DBInstanceIdentifier",
        "DBInstanceArn",
        "DBInstanceStatus",
        "StorageEncrypted",
        "DeletionProtection",
        "PubliclyAccessible",
        "MultiAZ",
        "BackupRetentionPeriod",
        "IAMDatabaseAuthenticationEnabled",
        "Engine",
        "EngineVersion",
        "VpcSecurityGroups",
        "VpcSecurityGroups.VpcSecurityGroupId",
        "DBParameterGroups.DBParameterGroupName",
        *TAGS,
    ),
)
CLUSTERS = listing(
    "rds",
    "DescribeDBClusters",
    "database clusters",
    "DBClusters",
    MARKER,
    ARNS,
    needs=(
        "DBClusterIdentifier",
        "DBClusterArn",
        "Status",
        "Engine",
        "EngineVersion",
        "BackupRetentionPeriod",
        "VpcSecurityGroups",
        "StorageEncrypted",
        "DeletionProtection",
        "VpcSecurityGroups.VpcSecurityGroupId",
        *TAGS,
    ),
)  # DocumentDB's too
PARAMETERS = listing(
    "rds", "DescribeDBParameters", "parameters of the database", "Parameters", MARKER, ARNS, needs=("ParameterName",)
)
CLUSTER_PARAMETERS = listing(
    "rds",
    "DescribeDBClusterParameters",
    "parameters of the cluster",
    "Parameters",
    MARKER,
    ARNS,
    needs=("ParameterName",),
)


def read(c: ReadContext, store: Database, name: str) -> Found | Unknown | None:
    found = _instance(c, store, name)
    if found is not None and not isinstance(found, Unknown):
        return found
    return read_cluster(c, name, types.CLUSTER, types.CLUSTER_PARAMETERS, set(database_parameters(store)))


def _instance(c: ReadContext, store: Database, name: str) -> Found | Unknown | None:
    listed = c.listed[INSTANCES]
    if isinstance(listed, Unknown):
        return listed
    i = next((i for i in listed if i["DBInstanceIdentifier"] == name and not i.get("DBClusterIdentifier")), None)
    if i is None:
        return None
    found = Found(arn=i["DBInstanceArn"], logical_id=c.id(types.INSTANCE, name), status=status(i, "DBInstanceStatus"))
    group = next((g["DBParameterGroupName"] for g in i.get("DBParameterGroups", ())), None)
    declared = set(database_parameters(store))
    parameters = group and c.parameters(
        types.PARAMETERS, PARAMETERS, "DBParameterGroupName", group, declared, found, "Parameters"
    )
    c.add(types.INSTANCE, name, instance(i, c.own, parameters, None))
    return found


def read_cluster(
    c: ReadContext, name: str, kind: str, group_kind: str, declared: Collection[str]
) -> Found | Unknown | None:
    """A cluster of RDS or of DocumentDB, which share their API, and its instances."""
    listed, nodes = c.listed[CLUSTERS], c.listed[INSTANCES]
    documents = kind != types.CLUSTER
    if isinstance(listed, Unknown):
        return listed
    if isinstance(nodes, Unknown) and not documents:
        return nodes  # it may be an instance that could not be listed
    own = [x for x in listed if x["DBClusterIdentifier"] == name and (x.get("Engine") == "docdb") == documents]
    if not own:
        return None
    answer = own[0]
    found = Found(arn=answer["DBClusterArn"], logical_id=c.id(kind, name), status=status(answer, "Status"))
    group = answer.get("DBClusterParameterGroup")
    parameters = group and c.parameters(
        group_kind, CLUSTER_PARAMETERS, "DBClusterParameterGroupName", group, declared, found, "Parameters"
    )
    logical_id = c.add(kind, name, cluster(answer, c.own, parameters, kind))
    for i in () if isinstance(nodes, Unknown) else nodes:
        if i.get("DBClusterIdentifier") == name:
            node = instance(i, c.own, None, {"Ref": logical_id})
            node["Type"] = kind.replace("Cluster", "Instance")
            c.add(node["Type"], i["DBInstanceIdentifier"], node)
    if isinstance(nodes, Unknown):
        found.unread[Aspect.NODES] = nodes
    return found


READING = Reading(
    read=read,
    listings=(INSTANCES, CLUSTERS),
    calls=(PARAMETERS, CLUSTER_PARAMETERS),
    tagged=("rds:db", "rds:cluster"),
)


def instance(i: Answer, own: StackResources, parameters: str | None, cluster: Any) -> Resource:
    groups = [own.group(g["VpcSecurityGroupId"]) for g in i.get("VpcSecurityGroups", ())]
    insights = i.get("PerformanceInsightsKMSKeyId")
    return shaped(
        types.INSTANCE,
        {
            "DBInstanceIdentifier": i["DBInstanceIdentifier"],
            "DBClusterIdentifier": cluster,
            "DBInstanceClass": i.get("DBInstanceClass"),
            "Engine": i.get("Engine"),
            "EngineVersion": i.get("EngineVersion"),
            "Port": i.get("Endpoint", {}).get("Port") or i.get("DbInstancePort"),
            "MultiAZ": i.get("MultiAZ"),
            "PubliclyAccessible": i.get("PubliclyAccessible"),
            "AutoMinorVersionUpgrade": i.get("AutoMinorVersionUpgrade"),
            "DeleteAutomatedBackups": False,  # said when it is deleted; the deployed template's column judges it
            "VPCSecurityGroups": groups,
            "DBParameterGroupName": {"Ref": parameters} if parameters else None,
            "EnablePerformanceInsights": i.get("PerformanceInsightsEnabled"),
            "PerformanceInsightsKMSKeyId": own.arn(KEY, insights) if insights else None,
            "MonitoringInterval": i.get("MonitoringInterval"),
            "CACertificateIdentifier": i.get("CACertificateIdentifier"),
            **_database(i, own),
            **_secret(i, own),
        },
    )


def cluster(c: Answer, own: StackResources, parameters: str | None, kind: str) -> Resource:
    groups = [own.group(g["VpcSecurityGroupId"]) for g in c.get("VpcSecurityGroups", ())]
    shared = {
        "DBClusterIdentifier": c["DBClusterIdentifier"],
        "EngineVersion": c.get("EngineVersion"),
        "Port": c.get("Port"),
        "VpcSecurityGroupIds": groups,
        "DBClusterParameterGroupName": {"Ref": parameters} if parameters else None,
        **_database(c, own),
    }
    if kind != types.CLUSTER:
        shared.pop("EnableIAMDatabaseAuthentication")
        secret = c.get("MasterUserSecret")
        key = own.arn(KEY, secret.get("KmsKeyId")) if secret else None
        return shaped(kind, {**shared, "ManageMasterUserPassword": bool(secret), "MasterUserSecretKmsKeyId": key})
    return shaped(kind, {**shared, "Engine": c.get("Engine"), **_secret(c, own)})


def _database(d: Answer, own: StackResources) -> dict[str, Any]:
    """What instances and clusters call by the same name."""
    return {
        "StorageEncrypted": d.get("StorageEncrypted", False),
        "KmsKeyId": own.arn(KEY, d.get("KmsKeyId")),
        "DeletionProtection": d.get("DeletionProtection", False),
        "BackupRetentionPeriod": d.get("BackupRetentionPeriod"),
        "CopyTagsToSnapshot": d.get("CopyTagsToSnapshot"),
        "EnableIAMDatabaseAuthentication": d.get("IAMDatabaseAuthenticationEnabled", False),
        "EnableCloudwatchLogsExports": list(d.get("EnabledCloudwatchLogsExports", ())),
        "PreferredBackupWindow": d.get("PreferredBackupWindow"),
        "PreferredMaintenanceWindow": d.get("PreferredMaintenanceWindow"),
        "Tags": tags(d.get("TagList", ())),
    }


def _secret(d: Answer, own: StackResources) -> dict[str, Any]:
    secret = d.get("MasterUserSecret")
    if not secret:
        return {"ManageMasterUserPassword": False}
    key = own.arn(KEY, secret.get("KmsKeyId"))
    return {"ManageMasterUserPassword": True, "MasterUserSecret": {"KmsKeyId": key} if key else {}}
