"""What RDS, ElastiCache, MSK, S3, Backup and EC2 answer, in CloudFormation's words. Pure: answers in, resources out."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.shared.key.policy import ACCOUNT
from holdfast.unknown import Unknown

Answer = Mapping[str, Any]
Resource = dict[str, Any]

INSTANCE, CLUSTER, DOCUMENTS = "AWS::RDS::DBInstance", "AWS::RDS::DBCluster", "AWS::DocDB::DBCluster"
DOCUMENT_NODE = "AWS::DocDB::DBInstance"
CACHE, BROKER, BUCKET = "AWS::ElastiCache::ReplicationGroup", "AWS::MSK::Cluster", "AWS::S3::Bucket"
SETTINGS = "AWS::MSK::Configuration"
TOPIC, POLICY = "AWS::MSK::Topic", "AWS::S3::BucketPolicy"
KEY, GROUP, ALARM, ALARM_TOPIC = (
    "AWS::KMS::Key",
    "AWS::EC2::SecurityGroup",
    "AWS::CloudWatch::Alarm",
    "AWS::SNS::Topic",
)
PLAN, SELECTION, VAULT = "AWS::Backup::BackupPlan", "AWS::Backup::BackupSelection", "AWS::Backup::BackupVault"
ROLE = "AWS::IAM::Role"
PARAMETERS = {
    INSTANCE: "AWS::RDS::DBParameterGroup",
    CLUSTER: "AWS::RDS::DBClusterParameterGroup",
    DOCUMENTS: "AWS::DocDB::DBClusterParameterGroup",
    CACHE: "AWS::ElastiCache::ParameterGroup",
}
USER, USERS = "AWS::ElastiCache::User", "AWS::ElastiCache::UserGroup"
# Which attribute of each type is its ARN, in Fn::GetAtt.
ARN = {INSTANCE: "DBInstanceArn", CLUSTER: "DBClusterArn", BUCKET: "Arn", BROKER: "Arn", KEY: "Arn", ROLE: "Arn"}
ACTIONS = ("AlarmActions", "InsufficientDataActions", "OKActions")
# No API shows these: the deployed template's own column says whether they hold.
KEPT = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}


@dataclass(frozen=True, slots=True)
class Own:
    """The resources of one stack by type and physical id, so that ARNs and names become references to them."""

    members: Mapping[tuple[str, str], str]  # to logical ids
    elsewhere: Mapping[str, str] = field(default_factory=dict)  # ARNs of what other stacks made for it

    def id(self, kind: str, physical: str) -> str | None:
        return self.members.get((kind, physical)) or self.members.get((kind, _last(physical)))

    def physical(self, kind: str) -> list[str]:
        return [name for (of, name) in self.members if of == kind]

    def ref(self, kind: str, physical: str | None) -> Any:
        """A reference where the stack has it; else what it is called."""
        found = self.id(kind, physical) if physical else None
        return {"Ref": found} if found else physical

    def arn(self, kind: str, arn: str | None) -> Any:
        found = self.id(kind, arn) if arn else None
        return {"Fn::GetAtt": [found, ARN.get(kind, "Arn")]} if found else self.elsewhere.get(arn or "", arn)

    def group(self, group: str) -> Any:
        found = self.id(GROUP, group)
        return {"Fn::GetAtt": [found, "GroupId"]} if found else group


def _last(arn: str) -> str:
    return arn.replace("/", ":").rpartition(":")[2]


def shaped(kind: str, properties: Mapping[str, Any], **more: Any) -> Resource:
    return {"Type": kind, "Properties": {k: v for k, v in properties.items() if v is not None}, **more}


def tags(pairs: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """Without CloudFormation's own."""
    return [{"Key": t["Key"], "Value": t["Value"]} for t in pairs if not t["Key"].startswith("aws:")]


# Databases


def instance(i: Answer, own: Own, parameters: str | None, cluster: Any) -> Resource:
    groups = [own.group(g["VpcSecurityGroupId"]) for g in i.get("VpcSecurityGroups", ())]
    insights = i.get("PerformanceInsightsKMSKeyId")
    return shaped(
        INSTANCE,
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


def cluster(c: Answer, own: Own, parameters: str | None) -> Resource:
    groups = [own.group(g["VpcSecurityGroupId"]) for g in c.get("VpcSecurityGroups", ())]
    documents = c.get("Engine") == "docdb"
    shared = {
        "DBClusterIdentifier": c["DBClusterIdentifier"],
        "EngineVersion": c.get("EngineVersion"),
        "Port": c.get("Port"),
        "VpcSecurityGroupIds": groups,
        "DBClusterParameterGroupName": {"Ref": parameters} if parameters else None,
        **_database(c, own),
    }
    if documents:
        shared.pop("EnableIAMDatabaseAuthentication")
        secret = c.get("MasterUserSecret")
        key = own.arn(KEY, secret.get("KmsKeyId")) if secret else None
        return shaped(DOCUMENTS, {**shared, "ManageMasterUserPassword": bool(secret), "MasterUserSecretKmsKeyId": key})
    return shaped(CLUSTER, {**shared, "Engine": c.get("Engine"), **_secret(c, own)})


def _database(d: Answer, own: Own) -> dict[str, Any]:
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


def _secret(d: Answer, own: Own) -> dict[str, Any]:
    secret = d.get("MasterUserSecret")
    if not secret:
        return {"ManageMasterUserPassword": False}
    key = own.arn(KEY, secret.get("KmsKeyId"))
    return {"ManageMasterUserPassword": True, "MasterUserSecret": {"KmsKeyId": key} if key else {}}


def parameters(answers: Iterable[Answer], declared: Collection[str]) -> dict[str, str]:
    """What somebody set, and what is declared wherever its value comes from; defaults of the engine are nobody's."""
    return {
        p["ParameterName"]: p["ParameterValue"]
        for p in answers
        if "ParameterValue" in p and (p.get("Source") == "user" or p["ParameterName"] in declared)
    }


# Caches


def cache(g: Answer, node: Answer, own: Own, parameters: str | None, users: list[str]) -> Resource:
    port = next((n.get("PrimaryEndpoint", {}).get("Port") for n in g.get("NodeGroups", ())), None)
    logs = [log for log in g.get("LogDeliveryConfigurations", ()) if log.get("Status", "active") != "error"]
    return shaped(
        CACHE,
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
        USER,
        {
            "Engine": u.get("Engine"),
            "UserId": u["UserId"],
            "UserName": u.get("UserName"),
            "AccessString": u.get("AccessString"),
            "AuthenticationMode": {"Type": "no-password-required" if kind == "no-password" else kind},
        },
    )


# Brokers


def broker(c: Answer, own: Own, settings: str | None) -> Resource:
    nodes = dict(c.get("BrokerNodeGroupInfo", {}))
    nodes["SecurityGroups"] = [own.group(g) for g in nodes.get("SecurityGroups", ())]
    encryption = dict(c.get("EncryptionInfo", {}))
    at_rest = encryption.get("EncryptionAtRest", {})
    encryption["EncryptionAtRest"] = {"DataVolumeKMSKeyId": own.arn(KEY, at_rest.get("DataVolumeKMSKeyId"))}
    return shaped(
        BROKER,
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
    settings = json.loads(base64.b64decode(t["Configs"])) if t.get("Configs") else {}
    ours = {k: v for k, v in settings.items() if k in declared}
    return shaped(
        TOPIC,
        {
            "TopicName": t["TopicName"],
            "PartitionCount": t.get("PartitionCount"),
            "ReplicationFactor": t.get("ReplicationFactor"),
            "Configs": base64.b64encode(json.dumps(ours).encode()).decode(),
            "ClusterArn": {"Fn::GetAtt": [cluster, "Arn"]},
        },
        **KEPT,
    )


# Buckets


def bucket(name: str, found: Mapping[str, Answer | Unknown], own: Own) -> Resource:
    """``found`` are the answers by operation; what was not answered is left to whoever judges."""
    known = {k: {} if isinstance(v, Unknown) else v for k, v in found.items()}
    lock = known["GetObjectLockConfiguration"].get("ObjectLockConfiguration")
    logs = known["GetBucketLogging"].get("LoggingEnabled")
    rules = known["GetBucketLifecycleConfiguration"].get("Rules")
    rest = known["GetBucketEncryption"].get("ServerSideEncryptionConfiguration")
    return shaped(
        BUCKET,
        {
            "BucketName": name,
            "BucketEncryption": _encryption(rest, own) if rest else None,
            "VersioningConfiguration": {"Status": known["GetBucketVersioning"].get("Status", "Suspended")},
            "PublicAccessBlockConfiguration": known["GetPublicAccessBlock"].get("PublicAccessBlockConfiguration"),
            "OwnershipControls": known["GetBucketOwnershipControls"].get("OwnershipControls"),
            "LifecycleConfiguration": {"Rules": [_rule(r) for r in rules]} if rules else None,
            "LoggingConfiguration": _logging(logs, own) if logs else None,
            "ObjectLockEnabled": bool(lock and lock.get("ObjectLockEnabled") == "Enabled"),
            "ObjectLockConfiguration": lock,
            "Tags": tags(known["GetBucketTagging"].get("TagSet", ())),
        },
    )


def _encryption(rest: Answer, own: Own) -> dict[str, Any]:
    rules = []
    for rule in rest.get("Rules", ()):
        default = dict(rule.get("ApplyServerSideEncryptionByDefault", {}))
        if key := default.get("KMSMasterKeyID"):
            default["KMSMasterKeyID"] = own.arn(KEY, key)
        rules.append(
            {"ServerSideEncryptionByDefault": default, "BucketKeyEnabled": rule.get("BucketKeyEnabled", False)}
        )
    return {"ServerSideEncryptionConfiguration": rules}


def _logging(logs: Answer, own: Own) -> dict[str, Any]:
    found = {"DestinationBucketName": own.ref(BUCKET, logs["TargetBucket"])}
    return {**found, "LogFilePrefix": logs["TargetPrefix"]} if logs.get("TargetPrefix") else found


def _rule(rule: Answer) -> dict[str, Any]:
    where = rule.get("Filter", {})
    both = where.get("And", {})
    prefix = where.get("Prefix") or both.get("Prefix") or rule.get("Prefix")
    moves = [
        {("TransitionInDays" if k == "Days" else "TransitionDate" if k == "Date" else k): v for k, v in move.items()}
        for move in rule.get("Transitions", ())
    ]
    end = rule.get("Expiration", {})
    tagged = [where["Tag"]] if "Tag" in where else both.get("Tags")
    found = {
        "Id": rule.get("ID"),
        "Status": rule.get("Status"),
        "Prefix": prefix or None,
        "TagFilters": tagged,
        "ObjectSizeGreaterThan": where.get("ObjectSizeGreaterThan", both.get("ObjectSizeGreaterThan")),
        "ObjectSizeLessThan": where.get("ObjectSizeLessThan", both.get("ObjectSizeLessThan")),
        "Transitions": moves or None,
        "ExpirationInDays": end.get("Days"),
        "ExpirationDate": end.get("Date"),
        "ExpiredObjectDeleteMarker": end.get("ExpiredObjectDeleteMarker"),
        "NoncurrentVersionExpiration": rule.get("NoncurrentVersionExpiration"),
        "NoncurrentVersionTransitions": rule.get("NoncurrentVersionTransitions"),
        "AbortIncompleteMultipartUpload": rule.get("AbortIncompleteMultipartUpload"),
    }
    return {k: v for k, v in found.items() if v is not None}


def bucket_policy(arn: str, bucket: str, text: str, own: Own, account: str) -> Resource:
    """The policy with the bucket, the stack's roles and the account's number as a template writes them."""
    ref = {"Fn::GetAtt": [bucket, "Arn"]}

    def written(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: written(v) for k, v in value.items()}
        if isinstance(value, list):
            return [written(v) for v in value]
        if value == account:
            return ACCOUNT
        if not isinstance(value, str) or not value.startswith("arn:"):
            return value
        if value == arn:
            return ref
        if value.startswith(f"{arn}/"):
            return {"Fn::Join": ["", [ref, value.removeprefix(arn)]]}
        return own.arn(ROLE, value) if ":role/" in value else value

    return shaped(POLICY, {"Bucket": {"Ref": bucket}, "PolicyDocument": written(json.loads(text))})


# What stands around them


def group(g: Answer, own: Own) -> Resource:
    return shaped(
        GROUP,
        {
            "GroupDescription": g.get("Description"),
            "VpcId": g.get("VpcId"),
            "SecurityGroupIngress": list(_rules(g.get("IpPermissions", ()), own, "Source")),
            "SecurityGroupEgress": list(_rules(g.get("IpPermissionsEgress", ()), own, "Destination")),
        },
    )


def _rules(permissions: Iterable[Answer], own: Own, end: str) -> Iterator[dict[str, Any]]:
    for p in permissions:
        ports = {k: p[k] for k in ("IpProtocol", "FromPort", "ToPort") if k in p}
        for pair in p.get("UserIdGroupPairs", ()):
            yield {**ports, f"{end}SecurityGroupId": own.group(pair.get("GroupId", "a group without id"))}
        for listed, name in (("IpRanges", "CidrIp"), ("Ipv6Ranges", "CidrIpv6")):
            yield from ({**ports, name: r[name]} for r in p.get(listed, ()))
        yield from ({**ports, f"{end}PrefixListId": r["PrefixListId"]} for r in p.get("PrefixListIds", ()))


def plan(p: Answer, own: Own) -> Resource:
    rules = []
    for rule in p.get("Rules", ()):
        found = dict(rule)
        found["TargetBackupVault"] = own.ref(VAULT, found.pop("TargetBackupVaultName", None))
        rules.append(found)
    return shaped(PLAN, {"BackupPlan": {"BackupPlanName": p.get("BackupPlanName"), "BackupPlanRule": rules}})


def selection(s: Answer, plan: str, arns: Mapping[str, tuple[str, str]], own: Own) -> Resource:
    """``arns`` are the stores that were read: which resource of which type each ARN is."""
    chosen = {k: v for k, v in s.items() if v}
    chosen["Resources"] = [_chosen(arn, arns) for arn in s.get("Resources", ())]
    if role := s.get("IamRoleArn"):
        chosen["IamRoleArn"] = own.arn(ROLE, role)
    return shaped(SELECTION, {"BackupPlanId": {"Ref": plan}, "BackupSelection": chosen})


def _chosen(arn: str, arns: Mapping[str, tuple[str, str]]) -> Any:
    if arn not in arns:
        return arn
    logical_id, kind = arns[arn]
    if kind in ARN:
        return {"Fn::GetAtt": [logical_id, ARN[kind]]}
    return {"Fn::Join": ["", [f"{arn.rpartition(':')[0]}:", {"Ref": logical_id}]]}  # DocumentDB has no such attribute


def vault(v: Answer, own: Own) -> Resource:
    days = {k: v[k] for k in ("MinRetentionDays", "MaxRetentionDays") if v.get(k) is not None}
    return shaped(
        VAULT,
        {
            "BackupVaultName": v["BackupVaultName"],
            "EncryptionKeyArn": own.arn(KEY, v.get("EncryptionKeyArn")),
            "LockConfiguration": days if v.get("Locked") and days else None,
        },
        **KEPT,
    )


def alarm(a: Answer, own: Own) -> Resource:
    tells = {name: [own.ref(ALARM_TOPIC, t) for t in a[name]] for name in ACTIONS if a.get(name)}
    return shaped(ALARM, {**a, **tells})
