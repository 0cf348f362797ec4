"""How each guard is read from a contract, and which way it is stronger: what a resource lost between two states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from holdfast.cfn.compare import ABSENT
from holdfast.cfn.tree import read
from holdfast.contract import deletes, policies
from holdfast.contract.tags import PRODUCTION, names, production
from holdfast.text import counted

Json = dict[str, Any]
Path = tuple[str, ...]
TABLE, GLOBAL_TABLE = "AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable"
DATABASE, CLUSTER = "AWS::RDS::DBInstance", "AWS::RDS::DBCluster"
DOCUMENTS, CACHE, BROKER = "AWS::DocDB::DBCluster", "AWS::ElastiCache::ReplicationGroup", "AWS::MSK::Cluster"
BUCKET, KEY, VAULT, LOGS = "AWS::S3::Bucket", "AWS::KMS::Key", "AWS::Backup::BackupVault", "AWS::Logs::LogGroup"
ALARM, TOPIC, QUEUE = "AWS::CloudWatch::Alarm", "AWS::SNS::Topic", "AWS::SQS::Queue"
SUBSCRIPTION, SELECTION = "AWS::SNS::Subscription", "AWS::Backup::BackupSelection"
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
# What else is lost when it is made anew: data, what data is encrypted with, subscriptions that were confirmed by hand.
HOLDERS = frozenset(
    {
        *STORES,
        *(KEY, LOGS, TOPIC, QUEUE),
        "AWS::CloudTrail::EventDataStore",
        "AWS::Cognito::UserPool",
        "AWS::EC2::Volume",
        "AWS::ECR::Repository",
        "AWS::EFS::FileSystem",
        "AWS::FSx::FileSystem",
        "AWS::Kinesis::Stream",
        "AWS::MSK::Topic",
        "AWS::Neptune::DBCluster",
        "AWS::OpenSearchService::Domain",
        "AWS::Redshift::Cluster",
        "AWS::S3Tables::Table",
        "AWS::SecretsManager::Secret",
        "AWS::Timestream::Table",
    }
)
# What protects by being there.
PROTECTORS: Mapping[str, str] = {
    ALARM: "alarm",
    "AWS::CloudWatch::CompositeAlarm": "alarm",
    SUBSCRIPTION: "subscription",
    "AWS::RDS::EventSubscription": "subscription",
    "AWS::DocDB::EventSubscription": "subscription",
    "AWS::Backup::BackupPlan": "backup plan",
    SELECTION: "backup selection",
    "AWS::EC2::FlowLog": "flow log",
    "AWS::CloudTrail::Trail": "trail",
}
PUBLIC = ("AuthenticatedRead", "PublicRead", "PublicReadWrite")  # access of everyone to a bucket
LIFETIMES, CLASSES = ("transient", "durable"), ("operational", "personal")
UNTOUCHABLE = frozenset({"DP", "RETAIN", "CMK"})  # of personal durable data in production: nothing approves their loss
RETAINED = ("Retain", "RetainExceptOnCreate")
FACTS = frozenset({"data class", "lifetime"})
SHORT = ("DP", "RETAIN", "PITR", "CMK", "backups", "versions", "lock", "TTL")  # in the order in which they are said


@dataclass(frozen=True, slots=True)
class Guard:
    """A property that protects, and how strong a value is: 0 for none, None for what a deploy decides."""

    label: str
    path: Path  # from the resource: Properties and below, or DeletionPolicy
    strength: Callable[[Any], float | None]
    short: str = ""  # what the register and a headline call it
    of: Path = ()  # what the strength is read from, where that is not the path
    within: str = ""  # the guard whose loss says this one's, too


@dataclass(frozen=True, slots=True)
class Loss:
    """What a resource no longer has: where, both values, in words (none where another loss says it), and its guard."""

    path: Path
    before: Any
    after: Any
    says: str
    short: str


def _on(value: Any) -> float | None:
    return None if isinstance(value, dict) else float(value is True)


def _off(value: Any) -> float | None:
    return None if isinstance(value, dict) else float(value is not True)


def _not_off(value: Any) -> float | None:
    return None if isinstance(value, dict) else float(value is not False)


def _there(value: Any) -> float | None:
    return float(value not in (None, False, "", [], {}))


def _own_key(value: Any) -> float | None:
    """A key of the customer's own; aws/… is AWS's."""
    return float(_there(value) == 1 and not (isinstance(value, str) and "alias/aws/" in value))


def _table_key(encryption: Any) -> float | None:
    on = isinstance(encryption, dict) and encryption.get("SSEEnabled") is True
    return _own_key(encryption.get("KMSMasterKeyId")) if on else 0.0


def _bucket_key(encryption: Any) -> float | None:
    rules = encryption.get("ServerSideEncryptionConfiguration") if isinstance(encryption, dict) else None
    keys = [read(r, ("ServerSideEncryptionByDefault", "KMSMasterKeyID")) for r in rules or () if isinstance(r, dict)]
    return max((_own_key(k) or 0.0 for k in keys), default=0.0)


def _number(value: Any) -> float | None:
    if value is None:
        return 0.0
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number_or(default: float) -> Callable[[Any], float | None]:
    return lambda value: default if value is None else _number(value)


def _recovery_days(recovery: Any) -> float | None:
    """DynamoDB keeps 35 days unless told otherwise."""
    on = isinstance(recovery, dict) and recovery.get("PointInTimeRecoveryEnabled") is True
    return _number_or(35.0)(recovery.get("RecoveryPeriodInDays")) if on else 0.0


def _lock_days(retention: Any) -> float | None:
    if not isinstance(retention, dict):
        return 0.0
    days, years = _number(retention.get("Days")), _number(retention.get("Years"))
    return None if days is None or years is None else days + 365 * years


def _kept(value: Any) -> float | None:
    if value is not None and not isinstance(value, str):
        return None
    return 2.0 if value in RETAINED else float(value == "Snapshot")


def _not_public(value: Any) -> float | None:
    return None if isinstance(value, dict) else float(value not in PUBLIC)


def _owner(rules: Any) -> float | None:
    """Without a rule, objects belong to the owner of the bucket."""
    if rules is None:
        return 1.0
    found = [read(r, ("ObjectOwnership",)) for r in rules] if isinstance(rules, list) else [None]
    return float(all(f in ("BucketOwnerEnforced", "BucketOwnerPreferred") for f in found))


def _in(*order: str) -> Callable[[Any], float | None]:
    return lambda value: 1.0 + order.index(value) if value in order else 0.0


def _at(path: str, strength: Callable[[Any], float | None], label: str, short: str = "", **more: Any) -> Guard:
    return Guard(label, ("Properties", *path.split("/")), strength, short, **more)


DP, CMK, BACKUPS = "deletion protection", "customer-managed key", "recovery period"
EVERYWHERE = (
    Guard("retained (DeletionPolicy)", ("DeletionPolicy",), _kept, "RETAIN"),
    Guard("retained (UpdateReplacePolicy)", ("UpdateReplacePolicy",), _kept, "RETAIN"),
    _at("Tags/DataClass", _in(*CLASSES), "data class"),
    _at("Tags/Lifetime", _in(*LIFETIMES), "lifetime"),
)
_RDS = (
    _at("DeletionProtection", _on, DP, "DP"),
    _at("BackupRetentionPeriod", _number, BACKUPS, "backups"),
    _at("StorageEncrypted", _on, "encryption"),
    _at("KmsKeyId", _own_key, CMK, "CMK"),
    _at("PubliclyAccessible", _off, "private access"),
    _at("EnableIAMDatabaseAuthentication", _on, "IAM log-in"),
    _at("ManageMasterUserPassword", _on, "password in Secrets Manager"),
    _at("DeleteAutomatedBackups", lambda v: float(v is False), "automated backups kept after a deletion"),
)
_PITR = "PointInTimeRecoverySpecification"
OF_TYPE: Mapping[str, tuple[Guard, ...]] = {
    TABLE: (
        _at("DeletionProtectionEnabled", _on, DP, "DP"),
        _at(f"{_PITR}/PointInTimeRecoveryEnabled", _on, "point-in-time recovery", "PITR"),
        _at(
            f"{_PITR}/RecoveryPeriodInDays",
            _recovery_days,
            BACKUPS,
            of=("Properties", _PITR),
            within="point-in-time recovery",
        ),
        _at("SSESpecification/KMSMasterKeyId", _table_key, CMK, "CMK", of=("Properties", "SSESpecification")),
        _at("SSESpecification/SSEEnabled", _on, "encryption with a KMS key", within=CMK),
    ),
    DATABASE: (*_RDS, _at("MultiAZ", _on, "standby in another zone")),
    CLUSTER: _RDS,
    DOCUMENTS: _RDS,
    CACHE: (
        _at("AtRestEncryptionEnabled", _on, "encryption"),
        _at("TransitEncryptionEnabled", _on, "encryption in transit"),
        _at("TransitEncryptionMode", _in("preferred", "required"), "encryption in transit"),
        _at("KmsKeyId", _own_key, CMK, "CMK"),
        _at("SnapshotRetentionLimit", _number, BACKUPS, "backups"),
        _at("MultiAZEnabled", _on, "replica in another zone"),
        _at("AutomaticFailoverEnabled", _on, "automatic failover"),
    ),
    BROKER: (
        _at("EncryptionInfo/EncryptionAtRest/DataVolumeKMSKeyId", _own_key, CMK, "CMK"),
        _at("EncryptionInfo/EncryptionInTransit/ClientBroker", _in("TLS_PLAINTEXT", "TLS"), "encryption in transit"),
        _at("EncryptionInfo/EncryptionInTransit/InCluster", _not_off, "encryption between brokers"),
        _at("ClientAuthentication/Sasl/Iam/Enabled", _on, "IAM log-in"),
        _at("ClientAuthentication/Unauthenticated/Enabled", _off, "log-in"),
        _at("BrokerNodeGroupInfo/ConnectivityInfo/PublicAccess/Type", _in("DISABLED"), "private access"),
    ),
    BUCKET: (
        _at("VersioningConfiguration/Status", _in("Enabled"), "versions", "versions"),
        _at("ObjectLockEnabled", _on, "object lock", "lock"),
        _at("ObjectLockConfiguration/Rule/DefaultRetention", _lock_days, "object lock"),
        _at("ObjectLockConfiguration/Rule/DefaultRetention/Mode", _in("GOVERNANCE", "COMPLIANCE"), "object lock mode"),
        _at("BucketEncryption", _bucket_key, CMK, "CMK"),
        _at("BucketEncryption", _there, "encryption", within=CMK),
        _at("LoggingConfiguration", _there, "access log"),
        _at("AccessControl", _not_public, "private access"),
        _at("OwnershipControls/Rules", _owner, "ownership of objects by the bucket's owner"),
        *(
            _at(f"PublicAccessBlockConfiguration/{name}", _on, "private access")
            for name in ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
        ),
    ),
    VAULT: (
        _at("LockConfiguration", _there, "vault lock", "lock"),
        _at("LockConfiguration/MinRetentionDays", _number, "vault lock", within="vault lock"),
        _at("EncryptionKeyArn", _own_key, CMK, "CMK"),
    ),
    KEY: (
        _at("EnableKeyRotation", _on, "key rotation"),
        _at("Enabled", _not_off, "key"),
        _at("PendingWindowInDays", _number_or(30.0), "waiting period before a key is deleted"),
    ),
    LOGS: (
        _at("RetentionInDays", _number_or(float("inf")), "log retention"),
        _at("KmsKeyId", _own_key, CMK),
        _at("DeletionProtectionEnabled", _on, DP),
        _at("DataProtectionPolicy", _there, "data protection policy"),
    ),
    TOPIC: (_at("KmsMasterKeyId", _own_key, CMK),),
    QUEUE: (
        _at("KmsMasterKeyId", _own_key, CMK),
        _at("SqsManagedSseEnabled", _not_off, "encryption"),
        _at("MessageRetentionPeriod", _number_or(345_600.0), "message retention"),
        _at("RedrivePolicy", _there, "dead-letter queue"),
    ),
    ALARM: (_at("ActionsEnabled", _not_off, "alarm action"),),
    "AWS::Lambda::EventSourceMapping": (_at("DestinationConfig/OnFailure", _there, "queue for failed records"),),
    "AWS::RDS::DBProxy": (_at("RequireTLS", _on, "encryption in transit"),),
    "AWS::IAM::Role": (_at("PermissionsBoundary", _there, "permissions boundary"),),
    "AWS::SecretsManager::Secret": (_at("KmsKeyId", _own_key, CMK),),
    "AWS::RDS::DBParameterGroup": (_at("Parameters/rds.force_ssl", _in("1"), "encryption in transit"),),
    "AWS::DocDB::DBClusterParameterGroup": (
        _at("Parameters/tls", _in("enabled", "tls1.2+", "tls1.3+", "fips-140-3"), "encryption in transit"),
        _at("Parameters/audit_logs", lambda v: float(v not in (None, "disabled", "none")), "audit log"),
    ),
}
OF_REPLICA = (
    Guard(DP, ("DeletionProtectionEnabled",), _on, "DP"),
    Guard("point-in-time recovery", (_PITR, "PointInTimeRecoveryEnabled"), _on, "PITR"),
    Guard(CMK, ("SSESpecification", "KMSMasterKeyId"), _own_key, "CMK"),
)
# Lists of which every item protects.
MEMBERS: Mapping[str, tuple[tuple[str, str], ...]] = {
    ALARM: (("AlarmActions", "alarm action"),),
    TOPIC: (("Subscription", "subscription"),),
    SELECTION: (("BackupSelection/Resources", "backup"), ("BackupSelection/ListOfTags", "selecting tag")),
    DATABASE: (("EnableCloudwatchLogsExports", "exported log"),),
    CLUSTER: (("EnableCloudwatchLogsExports", "exported log"),),
    DOCUMENTS: (("EnableCloudwatchLogsExports", "exported log"),),
    CACHE: (("UserGroupIds", "user group"),),
}


# What protects as it is: another value is another protection, and in doubt a weaker one.
AS_IT_IS: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    ALARM: tuple(
        (name, f"alarm is changed: {name}", "alarm")
        for name in (
            *("ComparisonOperator", "DatapointsToAlarm", "Dimensions", "EvaluateLowSampleCountPercentile"),
            *("EvaluationPeriods", "ExtendedStatistic", "MetricName", "Metrics", "Namespace", "Period", "Statistic"),
            *("Threshold", "ThresholdMetricId", "TreatMissingData", "Unit"),
        )
    ),
    SELECTION: (
        ("BackupPlanId", "another plan backs up what is selected", "backups"),
        ("BackupSelection/Conditions", "the selection of backups is changed", "backups"),
        ("BackupSelection/NotResources", "the selection of backups is changed", "backups"),
    ),
    "AWS::SNS::TopicPolicy": (("Topics", "the policy is no longer on every topic", ""),),
    "AWS::SQS::QueuePolicy": (("Queues", "the policy is no longer on every queue", ""),),
    "AWS::S3::BucketPolicy": (("Bucket", "the policy is no longer on its bucket", ""),),
    "AWS::SecretsManager::ResourcePolicy": (("SecretId", "the policy is no longer on its secret", ""),),
    "AWS::DynamoDB::ResourcePolicy": (("ResourceArn", "the policy is no longer on its table", ""),),
    "AWS::Kinesis::ResourcePolicy": (("ResourceArn", "the policy is no longer on its stream", ""),),
    "AWS::EC2::SecurityGroupIngress": tuple(
        (name, "the network is opened to another group or address", "")
        for name in (
            *("CidrIp", "CidrIpv6", "FromPort", "GroupId", "IpProtocol"),
            *("SourcePrefixListId", "SourceSecurityGroupId", "ToPort"),
        )
    ),
}
# Lists of which every new item lets more in.
GAINS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "AWS::EC2::SecurityGroup": (
        ("SecurityGroupIngress", "the network is opened to"),
        ("SecurityGroupEgress", "the network is opened towards"),
    ),
    **{
        f"AWS::IAM::{kind}": tuple((name, "the policy is given to") for name in ("Groups", "Roles", "Users"))
        for kind in ("ManagedPolicy", "Policy")
    },
}
PARAMETERS = ("DBParameterGroupName", "DBClusterParameterGroupName")


@cache
def guards_of(kind: str, words: tuple[str, ...] = PRODUCTION) -> tuple[Guard, ...]:
    """``words`` are what the tag Environment says of production."""
    production = _at("Tags/Environment", lambda v: float(v in words), "production environment")
    return (*OF_TYPE.get(kind, ()), *EVERYWHERE, production)


def losses(old: Json, new: Json, words: tuple[str, ...] = PRODUCTION) -> Iterator[Loss]:
    """Every guard that is read from ``old`` and not, or weaker, from ``new``; and what deletes data that did not."""
    kind = type_of(old)
    if {kind, type_of(new)} == {TABLE, GLOBAL_TABLE}:
        kind, old, new = TABLE, as_table(old), as_table(new)
    yield from _lost(guards_of(kind, words), old, new)
    for path, label in MEMBERS.get(kind, ()):
        yield from _fewer(("Properties", *path.split("/")), label, old, new)
    for path, says, short in AS_IT_IS.get(kind, ()):
        yield from _other(("Properties", *path.split("/")), says, short, old, new)
    for path, says in GAINS.get(kind, ()):
        yield from _more(("Properties", path), says, old, new)
    yield from _elsewhere(kind, old, new)
    if kind == GLOBAL_TABLE:
        yield from _replicas(old, new)
    for place, says in deletes.sooner(old, new):
        yield Loss(place, _value(old, place), _value(new, place), says, _short(place, says))


def _short(place: Path, says: str) -> str:
    return "backups" if place == deletes.BACKUPS else "TTL" if "TTL" in says else ""


def _lost(guards: tuple[Guard, ...], old: Json, new: Json, at: Path = (), where: str = "") -> Iterator[Loss]:
    told: set[str] = set()
    for guard in guards:
        was, is_ = guard.strength(read(old, guard.of or guard.path)), guard.strength(read(new, guard.of or guard.path))
        if not was or (is_ is not None and is_ >= was):
            continue
        says = "" if guard.within in told else f"{guard.label} is {'lowered' if is_ else 'lost'}{where}"
        told.add(guard.label)
        yield Loss((*at, *guard.path), _value(old, guard.path), _value(new, guard.path), says, guard.short)


def _fewer(path: Path, label: str, old: Json, new: Json) -> Iterator[Loss]:
    before, after = read(old, path), read(new, path)
    if not isinstance(before, list) or not before or after == before:
        return
    left = after if isinstance(after, list) else []
    if lost := [item for item in before if item not in left]:
        says = f"{label} is lost" if not left else f"{len(lost)} of {len(before)} {label}s are lost"
        yield Loss(path, before, _value(new, path), says, "")


def _other(path: Path, says: str, short: str, old: Json, new: Json) -> Iterator[Loss]:
    before, after = _value(old, path), _value(new, path)
    if path[-1] in ("Topics", "Queues") and all(i in _items(after) for i in _items(before)):
        return
    if before != after and not (path[-1] == "Threshold" and _more_sensitive(old, new)):
        yield Loss(path, before, after, says, short)


def _more_sensitive(old: Json, new: Json) -> bool:
    """Whether an alarm certainly rings whenever it did."""
    operators = [read(r, ("Properties", "ComparisonOperator")) for r in (old, new)]
    was, is_ = (read(r, ("Properties", "Threshold")) for r in (old, new))
    if not isinstance(was, int | float) or not isinstance(is_, int | float) or operators[0] != operators[1]:
        return False
    greater, less = (str(operators[0]).startswith(f"{word}Than") for word in ("Greater", "Less"))
    return (greater and is_ <= was) or (less and is_ >= was)


def _more(path: Path, says: str, old: Json, new: Json) -> Iterator[Loss]:
    before, after = ([_bare(i) for i in _items(read(r, path))] for r in (old, new))
    if gained := [i for i in after if i not in before]:
        found = ", ".join(dict.fromkeys(map(_who, gained)))
        yield Loss(path, _value(old, path), _value(new, path), f"{says} {found}", "")


def _bare(item: Any) -> Any:
    return {k: v for k, v in item.items() if k != "Description"} if isinstance(item, dict) else item


def _who(item: Any) -> str:
    """The address, the group or the role that an item of a list names."""
    names = ("CidrIp", "CidrIpv6", "SourceSecurityGroupId", "DestinationSecurityGroupId", "SourcePrefixListId")
    found = next((item[n] for n in names if n in item), item) if isinstance(item, dict) else item
    return policies.spelled(found)


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _elsewhere(kind: str, old: Json, new: Json) -> Iterator[Loss]:
    """A key or a parameter group of the template that something outside of it takes the place of."""
    for guard in (g for g in OF_TYPE.get(kind, ()) if g.label == CMK and g.path[-1] != "BucketEncryption"):
        before, after = read(old, guard.path), read(new, guard.path)
        if before != after and _own_key(before) and _own_key(after) and not _of_template(after):
            yield Loss(guard.path, before, after, "customer-managed key is replaced", "key")
    for name in PARAMETERS if kind in (DATABASE, CLUSTER, DOCUMENTS) else ():
        before, after = read(old, ("Properties", name)), read(new, ("Properties", name))
        if before is not None and before != after and not _of_template(after):
            yield Loss(
                ("Properties", name), before, _value(new, ("Properties", name)), "parameter group is replaced", ""
            )


def _of_template(value: Any) -> bool:
    return isinstance(value, dict) and not value.keys().isdisjoint({"Ref", "Fn::GetAtt"})


def _replicas(old: Json, new: Json) -> Iterator[Loss]:
    """A global table has its guards in each region."""
    path = ("Properties", "Replicas")
    before, after = ({str(r.get("Region")): r for r in read(t, path) or () if isinstance(r, dict)} for t in (old, new))
    for region, replica in before.items():
        if region in after:
            yield from _lost(OF_REPLICA, replica, after[region], (*path, region), f" in {region}")
        else:
            yield Loss((*path, region), replica, ABSENT, f"the replica in {region} is gone", "")


def _value(resource: Json, path: Path) -> Any:
    found = read(resource, path)
    return ABSENT if found is None else found


# What a resource is


def type_of(resource: Json) -> str:
    """Anything may stand there in a template."""
    return str(resource.get("Type"))


def store_name(resource: Any) -> str | None:
    """What a store is called, by its tag Name where a deploy names it; None for what holds no data."""
    if not isinstance(resource, dict) or type_of(resource) not in STORES:
        return None
    found = (read(resource, ("Properties", STORES[type_of(resource)])), tag(resource, "Name"))
    return next((name for name in found if isinstance(name, str)), "")


def physical_name(resource: Json) -> str | None:
    """What the template itself calls a store, as text where a deploy fills something in."""
    found = read(resource, ("Properties", STORES.get(type_of(resource), "")))
    return found if isinstance(found, str | None) else policies.spelled(found)


def holds(resource: Json) -> bool:
    """Whether something is lost when it goes: by its type, or because the template itself keeps it."""
    kept = (resource.get(policy) for policy in ("DeletionPolicy", "UpdateReplacePolicy"))
    return type_of(resource) in HOLDERS or any(k in (*RETAINED, "Snapshot") for k in kept)


def retained(resource: Json) -> bool:
    """Whether its data stays when it leaves the template, and when it is replaced."""
    return all(resource.get(policy) in RETAINED for policy in ("DeletionPolicy", "UpdateReplacePolicy"))


def tag(resource: Json, name: str) -> Any:
    return read(as_table(resource), ("Properties", "Tags", name))


def as_table(resource: Json) -> Json:
    """A global table as a table that has what each replica has; in doubt it has none of it."""
    replicas = read(resource, ("Properties", "Replicas"))
    if type_of(resource) != GLOBAL_TABLE or not isinstance(replicas, list) or not replicas:
        return resource
    first, properties = replicas[0] if isinstance(replicas[0], dict) else {}, resource["Properties"]
    shared = {k: v for k, v in first.items() if all(_has(r, k, v) for r in replicas)}
    sse = {**_dict(properties.get("SSESpecification")), **_dict(shared.pop("SSESpecification", None))}
    return {**resource, "Properties": {**properties, **shared, **({"SSESpecification": sse} if sse else {})}}


def _has(replica: Any, name: str, value: Any) -> bool:
    """A key is another one in each region."""
    found = read(replica, (name,))
    return found == value or (name == "SSESpecification" and bool(_own_key(read(found, ("KMSMasterKeyId",)))))


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def environment(contract: Json) -> str:
    """What an environment is called: the stack's tag Environment, else its account and region."""
    of = stack(contract)
    used = names(contract).get("Environment", "Environment")
    return str(read(of, ("tags", "Environment")) or read(of, ("tags", used)) or of.get("environment") or "")


def in_production(contract: Json, resource: Json) -> bool:
    """By the tag Environment of the resource or the stack, or because the stack is protected from being deleted."""
    of = stack(contract)
    said = (tag(resource, "Environment"), read(of, ("tags", "Environment")))
    return of.get("terminationProtection") is True or any(s in production(contract) for s in said)


def stack(contract: Json) -> Json:
    """What the manifest says of it, or of the stack that it is nested in."""
    found: Json = contract.get("of") or contract["stack"]
    return found


def untouchable(contract: Json, resource: Json) -> bool:
    """Personal durable data in production."""
    facts = tag(resource, "DataClass"), tag(resource, "Lifetime")
    return facts == ("personal", "durable") and in_production(contract, resource)


def held(resource: Json) -> list[str]:
    """The guards of a store by their short names, for one line."""
    found: dict[str, bool] = {}
    days = 0.0
    for guard in guards_of(type_of(resource)):
        strength = guard.strength(read(resource, guard.of or guard.path)) or 0.0
        if guard.short:
            found[guard.short] = found.get(guard.short, True) and strength > 0
        if guard.label == BACKUPS:
            days = strength
    names = sorted((name for name, on in found.items() if on), key=SHORT.index)
    names = [f"{name} {counted(int(days), 'day')}" if name in ("PITR", "backups") else name for name in names]
    return [*names, *([f"TTL {attribute}"] if (attribute := deletes.expiry(resource)) else [])]
