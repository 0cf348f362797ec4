"""How each guard is read from a contract, and which way it is stronger: what a lost one is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
TABLE, GLOBAL_TABLE = "AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable"
DATABASE, CLUSTER = "AWS::RDS::DBInstance", "AWS::RDS::DBCluster"
DOCUMENTS, CACHE, BROKER = "AWS::DocDB::DBCluster", "AWS::ElastiCache::ReplicationGroup", "AWS::MSK::Cluster"
BUCKET, KEY, VAULT, LOGS = "AWS::S3::Bucket", "AWS::KMS::Key", "AWS::Backup::BackupVault", "AWS::Logs::LogGroup"
# What holds data, and the property that names it.
STORES: Mapping[str, str] = {
    TABLE: "TableName",
    GLOBAL_TABLE: "TableName",
    DATABASE: "DBInstanceIdentifier",
    CLUSTER: "DBClusterIdentifier",
    DOCUMENTS: "DBClusterIdentifier",
    CACHE: "ReplicationGroupId",
    BROKER: "ClusterName",
    BUCKET: "BucketName",
    VAULT: "BackupVaultName",
}
LIFETIMES, CLASSES = ("transient", "durable"), ("operational", "personal")


@dataclass(frozen=True, slots=True)
class Guard:
    """A property that protects, and how strong a value of it is; None is a value that nobody can weigh."""

    label: str
    path: tuple[str, ...]  # from the resource: Properties and below, or DeletionPolicy
    strength: Callable[[Any], float | None]


def _on(value: Any) -> float | None:
    return None if isinstance(value, dict) else float(value is True)


def _off(value: Any) -> float | None:
    return None if isinstance(value, dict) else float(value is not True)


def _there(value: Any) -> float | None:
    return float(value not in (None, False, "", []))


def _number(value: Any) -> float | None:
    if value is None:
        return 0
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _longest(value: Any) -> float | None:
    """Days of a log; without a number it is kept for ever."""
    return float("inf") if value is None else _number(value)


def _kept(value: Any) -> float | None:
    if value is not None and not isinstance(value, str):
        return None
    return {"Retain": 2.0, "RetainExceptOnCreate": 2.0, "Snapshot": 1.0}.get(value or "", 0.0)


def _in(order: tuple[str, ...]) -> Callable[[Any], float | None]:
    return lambda value: 1.0 + order.index(value) if value in order else 0.0


def _properties(label: str, path: str, strength: Callable[[Any], float | None]) -> Guard:
    return Guard(label, ("Properties", *path.split("/")), strength)


EVERYWHERE = (
    Guard("retained (DeletionPolicy)", ("DeletionPolicy",), _kept),
    Guard("retained (UpdateReplacePolicy)", ("UpdateReplacePolicy",), _kept),
    _properties("data class", "Tags/DataClass", _in(CLASSES)),
    _properties("lifetime", "Tags/Lifetime", _in(LIFETIMES)),
)
_RDS = (
    _properties("deletion protection", "DeletionProtection", _on),
    _properties("recovery period", "BackupRetentionPeriod", _number),
    _properties("encryption", "StorageEncrypted", _on),
    _properties("customer-managed key", "KmsKeyId", _there),
    _properties("not public", "PubliclyAccessible", _off),
    _properties("IAM log-in", "EnableIAMDatabaseAuthentication", _on),
)
OF_TYPE: Mapping[str, tuple[Guard, ...]] = {
    TABLE: (
        _properties("deletion protection", "DeletionProtectionEnabled", _on),
        _properties("point-in-time recovery", "PointInTimeRecoverySpecification/PointInTimeRecoveryEnabled", _on),
        _properties("recovery period", "PointInTimeRecoverySpecification/RecoveryPeriodInDays", _number),
        _properties("encryption", "SSESpecification/SSEEnabled", _on),
        _properties("customer-managed key", "SSESpecification/KMSMasterKeyId", _there),
    ),
    DATABASE: (*_RDS, _properties("survives a zone", "MultiAZ", _on)),
    CLUSTER: _RDS,
    DOCUMENTS: _RDS,
    CACHE: (
        _properties("encryption", "AtRestEncryptionEnabled", _on),
        _properties("encryption in transit", "TransitEncryptionEnabled", _on),
        _properties("customer-managed key", "KmsKeyId", _there),
        _properties("recovery period", "SnapshotRetentionLimit", _number),
        _properties("survives a zone", "MultiAZEnabled", _on),
    ),
    BROKER: (_properties("customer-managed key", "EncryptionInfo/EncryptionAtRest/DataVolumeKMSKeyId", _there),),
    BUCKET: (
        _properties("versions", "VersioningConfiguration/Status", lambda v: float(v == "Enabled")),
        _properties("object lock", "ObjectLockEnabled", _on),
        _properties("encryption", "BucketEncryption", _there),
        *(
            _properties("not public", f"PublicAccessBlockConfiguration/{name}", _on)
            for name in ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
        ),
    ),
    VAULT: (
        _properties("vault lock", "LockConfiguration", _there),
        _properties("customer-managed key", "EncryptionKeyArn", _there),
    ),
    KEY: (
        _properties("key rotation", "EnableKeyRotation", _on),
        _properties("key enabled", "Enabled", lambda v: None if isinstance(v, dict) else float(v is not False)),
        _properties("days before a key is deleted", "PendingWindowInDays", lambda v: 30.0 if v is None else _number(v)),
    ),
    LOGS: (
        _properties("log retention", "RetentionInDays", _longest),
        _properties("customer-managed key", "KmsKeyId", _there),
    ),
    "AWS::SNS::Topic": (_properties("customer-managed key", "KmsMasterKeyId", _there),),
    "AWS::CloudWatch::Alarm": (_properties("alarm action", "ActionsEnabled", lambda v: float(v is not False)),),
}


def guards_of(kind: str) -> tuple[Guard, ...]:
    return (*OF_TYPE.get(kind, ()), *EVERYWHERE)


def read(resource: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        resource = resource.get(step) if isinstance(resource, dict) else None
    return resource


def expiry(resource: Any) -> str | None:
    """The attribute by which a table deletes its items; None where it deletes none."""
    found = read(resource, ("Properties", "TimeToLiveSpecification"))
    return str(found.get("AttributeName")) if isinstance(found, dict) and found.get("Enabled") is not False else None


def store_name(resource: Any) -> str | None:
    """What a store is called; None for what holds no data."""
    name = STORES.get(resource.get("Type", "")) if isinstance(resource, dict) else None
    if name is None:
        return None
    found = read(resource, ("Properties", name))
    return found if isinstance(found, str) else ""
