"""Every way in which a store that is no table can lose its protection, as changes to a template.

A mutation takes a template (its own copy) and the logical id of a store, and changes the one thing that it is named
after. It answers False where there is nothing to lose.
"""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Callable, Iterator
from typing import Any

Json = dict[str, Any]
Mutation = Callable[[Json, str], bool]
GONE = object()
DATABASES = ("AWS::RDS::DBInstance", "AWS::RDS::DBCluster", "AWS::DocDB::DBCluster")

# {name: (the rule that has to hear of it, the change)}
MUTATIONS: dict[str, tuple[str, Mutation]] = {}


def _of(template: Json, logical_id: str) -> Json:
    properties: Json = template["Resources"][logical_id]["Properties"]
    return properties


def _set(path: str, value: Any) -> Mutation:
    """Replaces a property of the store, or takes it away; @ goes on in the resource that a property refers to."""

    def change(template: Json, logical_id: str) -> bool:
        here: Any = _of(template, logical_id)
        *way, last = path.split(".")
        for step in way:
            if step.startswith("@"):
                here = here.get(step[1:])
                here = here[0] if isinstance(here, list) else here
                if here is None:
                    return False
                here = template["Resources"][_target(here)]["Properties"]
            elif isinstance(here, list):
                here = here[int(step)]
            else:
                here = here.get(step.replace("/", "."))
            if here is None:
                return False
        last = last.replace("/", ".")
        if last not in here or here[last] == value:
            return False
        if value is GONE:
            del here[last]
        else:
            here[last] = value
        return True

    return change


def _target(reference: Json) -> str:
    return str(reference["Ref"] if "Ref" in reference else reference["Fn::GetAtt"][0])


def _only(types: tuple[str, ...], change: Mutation) -> Mutation:
    return lambda template, i: template["Resources"][i]["Type"] in types and change(template, i)


def _weaken(rule: str, types: tuple[str, ...] | str, path: str, *values: Any) -> None:
    types = (types,) if isinstance(types, str) else types
    for value in values:
        said = "gone" if value is GONE else json.dumps(value)
        MUTATIONS[f"{path} of {types[0].split('::')[1]} {said}"] = (rule, _only(types, _set(path, value)))


def _mutation(rule: str) -> Callable[[Mutation], Mutation]:
    def register(function: Mutation) -> Mutation:
        MUTATIONS[function.__name__.strip("_")] = (rule, function)
        return function

    return register


def mutants(template: Json, logical_id: str) -> Iterator[tuple[str, str, Json]]:
    """(name, rule, mutated copy) of every mutation that applies to a store."""
    packed = pickle.dumps(template)
    for name, (rule, mutate) in MUTATIONS.items():
        mutant = pickle.loads(packed)
        if mutate(mutant, logical_id):
            yield name, rule, mutant


def _resources(template: Json, kind: str) -> list[str]:
    return [i for i, r in template["Resources"].items() if r["Type"] == kind]


STRANGE_KEY = "arn:aws:kms:us-east-1:111122223333:key/other"
CACHE, BROKER, BUCKET = "AWS::ElastiCache::ReplicationGroup", "AWS::MSK::Cluster", "AWS::S3::Bucket"
INSTANCE = "AWS::RDS::DBInstance"

_weaken("HF510", DATABASES, "DeletionProtection", False, "false", GONE)
_weaken("HF512", DATABASES, "BackupRetentionPeriod", 0, 7, "29", GONE)
_weaken("HF512", INSTANCE, "DeleteAutomatedBackups", True, GONE)
_weaken("HF512", BUCKET, "VersioningConfiguration", GONE, {"Status": "Suspended"})
_weaken("HF514", DATABASES, "StorageEncrypted", False, GONE)
_weaken("HF514", DATABASES, "KmsKeyId", GONE, STRANGE_KEY)
_weaken("HF514", CACHE, "AtRestEncryptionEnabled", False, GONE)
_weaken("HF514", CACHE, "KmsKeyId", GONE, STRANGE_KEY)
_weaken("HF514", BROKER, "EncryptionInfo.EncryptionAtRest", GONE, {"DataVolumeKMSKeyId": STRANGE_KEY})
_weaken(
    "HF514",
    BUCKET,
    "BucketEncryption",
    GONE,
    {"ServerSideEncryptionConfiguration": []},
    {"ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]},
    {"ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}}]},
)
_weaken("HF515", INSTANCE, "@DBParameterGroupName.Parameters.rds/force_ssl", "0", GONE)
_weaken("HF515", INSTANCE, "DBParameterGroupName", "default.postgres17", GONE)
_weaken("HF515", CACHE, "TransitEncryptionEnabled", False, GONE)
_weaken("HF515", CACHE, "TransitEncryptionMode", "preferred")
_weaken("HF515", BROKER, "EncryptionInfo.EncryptionInTransit.ClientBroker", "TLS_PLAINTEXT", "PLAINTEXT")
_weaken("HF515", BROKER, "EncryptionInfo.EncryptionInTransit.InCluster", False)
_weaken("HF516", INSTANCE, "PubliclyAccessible", True, GONE)
_weaken("HF516", BUCKET, "PublicAccessBlockConfiguration", GONE)
for _name in ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"):
    _weaken("HF516", BUCKET, f"PublicAccessBlockConfiguration.{_name}", False, GONE)
_weaken("HF517", INSTANCE, "EnableIAMDatabaseAuthentication", False, GONE)
_weaken("HF517", BROKER, "ClientAuthentication", GONE)
_weaken("HF517", BROKER, "ClientAuthentication.Sasl.Iam.Enabled", False)
_weaken("HF517", BROKER, "ClientAuthentication.Unauthenticated", {"Enabled": True})
_weaken("HF518", INSTANCE, "MultiAZ", False, GONE)
_weaken("HF518", CACHE, "AutomaticFailoverEnabled", False, GONE)
_weaken("HF518", CACHE, "MultiAZEnabled", False, GONE)
_weaken("HF518", CACHE, "NumCacheClusters", 1)
_weaken("HF518", BROKER, "NumberOfBrokerNodes", 2)
_weaken("HF519", INSTANCE, "EnableCloudwatchLogsExports", ["upgrade"], GONE)
_weaken("HF519", BROKER, "LoggingInfo", GONE)
_weaken("HF519", CACHE, "LogDeliveryConfigurations", [], GONE)
_weaken("HF519", BUCKET, "LoggingConfiguration", GONE)
_weaken("HF520", DATABASES, "Port", "5432", GONE)
_weaken("HF520", (INSTANCE,), "VPCSecurityGroups", ["sg-0123"], GONE)
_weaken("HF521", INSTANCE, "AutoMinorVersionUpgrade", False)
_weaken("HF521", INSTANCE, "CopyTagsToSnapshot", False, GONE)
_weaken("HF521", CACHE, "AutoMinorVersionUpgrade", False)
_weaken("HF522", INSTANCE, "ManageMasterUserPassword", False, GONE)
_weaken("HF522", INSTANCE, "MasterUserSecret", GONE)
_weaken("HF523", (*DATABASES, CACHE, BUCKET), "Tags", GONE, [])
_weaken("HF531", CACHE, "@CacheParameterGroupName.Properties.maxmemory-policy", "noeviction", "allkeys-lru", GONE)
_weaken("HF533", BUCKET, "LifecycleConfiguration", GONE)
_weaken("HF534", BUCKET, "ObjectLockEnabled", False, GONE)
_weaken("HF534", BUCKET, "ObjectLockConfiguration", GONE)
_weaken("HF534", BUCKET, "ObjectLockConfiguration.Rule.DefaultRetention.Days", 1)


@_mutation("HF511")
def _no_longer_retained(template: Json, store: str) -> bool:
    return bool(template["Resources"][store].pop("DeletionPolicy", None) == "Retain")


@_mutation("HF511")
def _replaced_without_a_copy(template: Json, store: str) -> bool:
    resource = template["Resources"][store]
    kept = bool(resource.get("UpdateReplacePolicy") == "Retain")
    resource["UpdateReplacePolicy"] = "Delete"
    return kept


@_mutation("HF501")
def _removed(template: Json, store: str) -> bool:
    del template["Resources"][store]
    return True


@_mutation("HF522")
def _password_in_the_template(template: Json, store: str) -> bool:
    if template["Resources"][store]["Type"] != INSTANCE:
        return False
    _of(template, store).update(MasterUserPassword="correct horse", ManageMasterUserPassword=False)
    return True


def _selection(template: Json, store: str) -> str | None:
    found = (
        i for i in _resources(template, "AWS::Backup::BackupSelection") if f'"{store}"' in json.dumps(_of(template, i))
    )
    return next(found, None)


@_mutation("HF513")
def _selected_by_no_plan(template: Json, store: str) -> bool:
    selection = _selection(template, store)
    if selection:
        del template["Resources"][selection]
    return selection is not None


def _rules_of(template: Json, store: str) -> list[Json]:
    selection = _selection(template, store)
    if not selection:
        return []
    plan = _target(_of(template, selection)["BackupPlanId"])
    rules: list[Json] = _of(template, plan)["BackupPlan"]["BackupPlanRule"]
    return rules


@_mutation("HF513")
def _backed_up_less_often(template: Json, store: str) -> bool:
    rules = _rules_of(template, store)
    if rules:
        rules.pop()
    return bool(rules) or _selection(template, store) is not None


@_mutation("HF513")
def _backups_end_early(template: Json, store: str) -> bool:
    for rule in _rules_of(template, store):
        rule["Lifecycle"]["DeleteAfterDays"] = 7
    return bool(_rules_of(template, store))


@_mutation("HF513")
def _backed_up_at_another_hour(template: Json, store: str) -> bool:
    for rule in _rules_of(template, store):
        rule["ScheduleExpression"] = "cron(0 12 1 * ? *)"
    return bool(_rules_of(template, store))


@_mutation("HF513")
def _vault_unlocked(template: Json, store: str) -> bool:
    vaults = _resources(template, "AWS::Backup::BackupVault")
    for i in vaults:
        _of(template, i).pop("LockConfiguration", None)
    return bool(vaults) and _selection(template, store) is not None


@_mutation("HF513")
def _vault_without_a_key(template: Json, store: str) -> bool:
    vaults = _resources(template, "AWS::Backup::BackupVault")
    for i in vaults:
        del _of(template, i)["EncryptionKeyArn"]
    return bool(vaults) and _selection(template, store) is not None


def _policy(template: Json, store: str) -> Json | None:
    for i in _resources(template, "AWS::S3::BucketPolicy"):
        if _target(_of(template, i)["Bucket"]) == store:
            found: Json = template["Resources"][i]
            return found
    return None


@_mutation("HF515")
def _bucket_without_a_policy(template: Json, store: str) -> bool:
    policy = _policy(template, store)
    template["Resources"] = {i: r for i, r in template["Resources"].items() if r is not policy}
    return policy is not None


@_mutation("HF515")
def _bucket_takes_plain_http(template: Json, store: str) -> bool:
    policy = _policy(template, store)
    if policy is None:
        return False
    document = policy["Properties"]["PolicyDocument"]
    document["Statement"] = [s for s in document["Statement"] if s["Effect"] != "Deny"]
    return True


@_mutation("HF515")
def _bucket_open_to_anybody(template: Json, store: str) -> bool:
    policy = _policy(template, store)
    if policy is None:
        return False
    statement = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "*"}
    policy["Properties"]["PolicyDocument"]["Statement"].append(statement)
    return True


def _groups(template: Json, store: str) -> list[str]:
    properties = _of(template, store)
    groups = (
        properties.get("VPCSecurityGroups")
        or properties.get("VpcSecurityGroupIds")
        or properties.get("SecurityGroupIds")
        or properties.get("BrokerNodeGroupInfo", {}).get("SecurityGroups")
        or []
    )
    return [_target(g) for g in groups]


@_mutation("HF520")
def _open_to_a_range(template: Json, store: str) -> bool:
    for group in _groups(template, store):
        rules = _of(template, group).setdefault("SecurityGroupIngress", [])
        rules.append({"CidrIp": "0.0.0.0/0", "IpProtocol": "tcp", "FromPort": 1, "ToPort": 65535})
    return bool(_groups(template, store))


@_mutation("HF520")
def _open_on_another_port(template: Json, store: str) -> bool:
    changed = False
    for i in _resources(template, "AWS::EC2::SecurityGroupIngress"):
        rule = _of(template, i)
        if _target(rule["GroupId"]) in _groups(template, store):
            rule.update(FromPort=0, ToPort=65535)
            changed = True
    return changed


def _users(template: Json, store: str) -> list[Json]:
    if template["Resources"][store]["Type"] != CACHE:
        return []
    group = _of(template, store)["UserGroupIds"][0]
    return [_of(template, _target(u)) for u in _of(template, _target(group))["UserIds"]]


@_mutation("HF530")
def _all_keys_to_everybody(template: Json, store: str) -> bool:
    for user in _users(template, store):
        if user["UserName"] != "default":
            user["AccessString"] = "on ~* +@all"
    return bool(_users(template, store))


@_mutation("HF530")
def _default_user_let_in(template: Json, store: str) -> bool:
    for user in _users(template, store):
        if user["UserName"] == "default":
            user["AccessString"] = "on ~* +@all"
    return bool(_users(template, store))


@_mutation("HF530")
def _users_of_the_cache_gone(template: Json, store: str) -> bool:
    return template["Resources"][store]["Type"] == CACHE and bool(_of(template, store).pop("UserGroupIds", None))


@_mutation("HF530")
def _password_instead_of_iam(template: Json, store: str) -> bool:
    for user in _users(template, store):
        user["AuthenticationMode"] = {"Type": "password", "Passwords": ["correct horse battery staple"]}
    return bool(_users(template, store))


def _topic(change: Callable[[Json], None]) -> Mutation:
    def mutate(template: Json, store: str) -> bool:
        topics = _resources(template, "AWS::MSK::Topic")
        if template["Resources"][store]["Type"] != BROKER or not topics:
            return False
        change(_of(template, topics[0]))
        return True

    return mutate


def _reconfigure(name: str, value: str) -> Callable[[Json], None]:
    def change(properties: Json) -> None:
        settings = json.loads(base64.b64decode(properties["Configs"]))
        properties["Configs"] = base64.b64encode(json.dumps(settings | {name: value}).encode()).decode()

    return change


MUTATIONS |= {
    "topic with one replica": ("HF532", _topic(lambda p: p.update(ReplicationFactor=1))),
    "topic with other partitions": ("HF532", _topic(lambda p: p.update(PartitionCount=1))),
    "topic kept for an hour": ("HF532", _topic(_reconfigure("retention.ms", "3600000"))),
    "topic with one replica in sync": ("HF532", _topic(_reconfigure("min.insync.replicas", "1"))),
    "topic renamed": ("HF532", _topic(lambda p: p.update(TopicName="meeting.other"))),
    "topic under another prefix": (
        "HF532",
        _topic(lambda p: p.update(TopicName="x." + p["TopicName"].partition(".")[2])),
    ),
}


@_mutation("HF532")
def _topic_removed(template: Json, store: str) -> bool:
    topics = _resources(template, "AWS::MSK::Topic")
    if template["Resources"][store]["Type"] != BROKER:
        return False
    del template["Resources"][topics[0]]
    return True


def _lifecycle(template: Json, store: str) -> list[Json]:
    found: list[Json] = []
    if template["Resources"][store]["Type"] == BUCKET:
        found = _of(template, store).get("LifecycleConfiguration", {}).get("Rules", [])
    return found


@_mutation("HF533")
def _everything_deleted_after_a_week(template: Json, store: str) -> bool:
    rules = _lifecycle(template, store)
    rules.append({"Id": "all", "Status": "Enabled", "ExpirationInDays": 7})
    return bool(template["Resources"][store]["Type"] == BUCKET)


@_mutation("HF533")
def _lifecycle_switched_off(template: Json, store: str) -> bool:
    for rule in _lifecycle(template, store):
        rule["Status"] = "Disabled"
    return bool(_lifecycle(template, store))


@_mutation("HF512")
def _old_versions_gone_at_once(template: Json, store: str) -> bool:
    for rule in _lifecycle(template, store):
        rule["NoncurrentVersionExpiration"] = {"NoncurrentDays": 1}
    return bool(_lifecycle(template, store))


@_mutation("HF523")
def _owner_changed(template: Json, store: str) -> bool:
    tags = _of(template, store).get("Tags")
    if isinstance(tags, dict):
        tags["Owner"] = "nobody"
    for tag in tags if isinstance(tags, list) else []:
        if tag["Key"] == "Owner":
            tag["Value"] = "nobody"
    return bool(tags)


@_mutation("HF525")
def _schema_applied_by_nobody(template: Json, store: str) -> bool:
    triggers = _resources(template, "Custom::Trigger")
    for i in triggers:
        del template["Resources"][i]
    return bool(triggers) and template["Resources"][store]["Type"].startswith("AWS::RDS")


@_mutation("HF525")
def _jobs_switched_off(template: Json, store: str) -> bool:
    schedules = _resources(template, "AWS::Scheduler::Schedule")
    for i in schedules:
        _of(template, i)["State"] = "DISABLED"
    return bool(schedules) and template["Resources"][store]["Type"].startswith("AWS::RDS")


@_mutation("HF525")
def _jobs_removed(template: Json, store: str) -> bool:
    schedules = _resources(template, "AWS::Scheduler::Schedule")
    for i in schedules:
        del template["Resources"][i]
    return bool(schedules) and template["Resources"][store]["Type"].startswith("AWS::RDS")


def _proxy(change: Callable[[Json], None], kind: str) -> Mutation:
    def mutate(template: Json, store: str) -> bool:
        found = _resources(template, kind)
        if not found or not template["Resources"][store]["Type"].startswith("AWS::RDS"):
            return False
        change(_of(template, found[0]))
        return True

    return mutate


TARGETS = "AWS::RDS::DBProxyTargetGroup"
MUTATIONS |= {
    "pool without TLS": ("HF526", _proxy(lambda p: p.update(RequireTLS=False), "AWS::RDS::DBProxy")),
    "pool with passwords": ("HF526", _proxy(lambda p: p.update(DefaultAuthScheme="NONE"), "AWS::RDS::DBProxy")),
    "pool of everything": (
        "HF526",
        _proxy(lambda p: p["ConnectionPoolConfigurationInfo"].update(MaxConnectionsPercent=100), TARGETS),
    ),
    "pool without idle limit": (
        "HF526",
        _proxy(lambda p: p["ConnectionPoolConfigurationInfo"].pop("MaxIdleConnectionsPercent"), TARGETS),
    ),
}


@_mutation("HF535")
def _service_unregistered(template: Json, store: str) -> bool:
    services = _resources(template, "AWS::ServiceDiscovery::Service")
    if template["Resources"][store]["Type"] != "AWS::ServiceDiscovery::PrivateDnsNamespace":
        return False
    del template["Resources"][services[0]]
    return True


@_mutation("HF524")
def _alarms_removed(template: Json, store: str) -> bool:
    alarms = _resources(template, "AWS::CloudWatch::Alarm")
    for i in alarms:
        del template["Resources"][i]
    return bool(alarms)


@_mutation("HF524")
def _alarms_silenced(template: Json, store: str) -> bool:
    alarms = _resources(template, "AWS::CloudWatch::Alarm")
    for i in alarms:
        _of(template, i)["AlarmActions"] = []
    return bool(alarms)


@_mutation("HF524")
def _thresholds_raised(template: Json, store: str) -> bool:
    alarms = _resources(template, "AWS::CloudWatch::Alarm")
    for i in alarms:
        _of(template, i)["Threshold"] = 10**9
    return bool(alarms)
