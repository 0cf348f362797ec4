"""Every way in which a store that is no table can lose its protection, as changes to a template.

A mutation takes a template (its own copy) and the logical id of a store, and changes the one thing that it is named
after. It answers False where there is nothing to lose, and then has changed nothing.
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
OWNERS = {"Owner", "shop:team"}  # the tag, by estate
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
    mutant = pickle.loads(packed)
    for name, (rule, mutate) in MUTATIONS.items():
        if mutate(mutant, logical_id):
            yield name, rule, mutant
            mutant = pickle.loads(packed)


def _resources(template: Json, kind: str) -> list[str]:
    return [i for i, r in template["Resources"].items() if r["Type"] == kind]


def _all(template: Json, kind: str, change: Callable[[Json], Any]) -> bool:
    found = _resources(template, kind)
    for i in found:
        change(template["Resources"][i])
    return bool(found)


def _without(template: Json, kind: str) -> bool:
    found = _resources(template, kind)
    for i in found:
        del template["Resources"][i]
    return bool(found)


STRANGE_KEY = "arn:aws:kms:us-east-1:111122223333:key/other"
CACHE, BROKER, BUCKET = "AWS::ElastiCache::ReplicationGroup", "AWS::MSK::Cluster", "AWS::S3::Bucket"
INSTANCE = "AWS::RDS::DBInstance"

_weaken("HF001", DATABASES, "DeletionProtection", False, "false", GONE)
_weaken("HF004", DATABASES, "BackupRetentionPeriod", 0, 7, "29", GONE)
_weaken("HF004", INSTANCE, "DeleteAutomatedBackups", True, GONE)
_weaken("HF004", BUCKET, "VersioningConfiguration", GONE, {"Status": "Suspended"})
_weaken("HF007", DATABASES, "StorageEncrypted", False, GONE)
_weaken("HF007", DATABASES, "KmsKeyId", GONE, STRANGE_KEY)
_weaken("HF007", CACHE, "AtRestEncryptionEnabled", False, GONE)
_weaken("HF007", CACHE, "KmsKeyId", GONE, STRANGE_KEY)
_weaken("HF007", BROKER, "EncryptionInfo.EncryptionAtRest", GONE, {"DataVolumeKMSKeyId": STRANGE_KEY})
_weaken(
    "HF007",
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
_weaken("HF010", (*DATABASES, CACHE, BUCKET), "Tags", GONE, [])
_weaken("HF531", CACHE, "@CacheParameterGroupName.Properties.maxmemory-policy", "noeviction", "allkeys-lru", GONE)
_weaken("HF006", BUCKET, "LifecycleConfiguration", GONE)
_weaken("HF534", BUCKET, "ObjectLockEnabled", False, GONE)
_weaken("HF534", BUCKET, "ObjectLockConfiguration", GONE)
_weaken("HF534", BUCKET, "ObjectLockConfiguration.Rule.DefaultRetention.Days", 1)


_weaken("HF007", INSTANCE, "PerformanceInsightsKMSKeyId", STRANGE_KEY)
_weaken("HF516", BUCKET, "OwnershipControls", GONE, {"Rules": [{"ObjectOwnership": "ObjectWriter"}]})
_weaken("HF517", BROKER, "ClientAuthentication.Sasl.Scram.Enabled", True)
_weaken("HF527", INSTANCE, "Engine", "mysql")
_weaken("HF527", DATABASES, "EngineVersion", "11.1")
_weaken("HF527", INSTANCE, "@DBParameterGroupName.Parameters.timezone", "Asia/Shanghai", GONE)
_weaken("HF527", INSTANCE, "@DBParameterGroupName.Parameters.log_parameter_max_length", "-1")
_weaken("HF527", ("AWS::DocDB::DBCluster",), "@DBClusterParameterGroupName.Parameters.audit_logs", "disabled")
_weaken("HF527", INSTANCE, "PreferredBackupWindow", "02:00-02:30")
_weaken("HF527", BROKER, "ConfigurationInfo.@Arn.ServerProperties", "auto.create.topics.enable=true")
_weaken("HF527", CACHE, "Engine", "redis")
_weaken("HF703", INSTANCE, "DBSubnetGroupName", "default")
_weaken("HF703", DATABASES, "@DBSubnetGroupName.SubnetIds", ["subnet-1", "subnet-2"])
_weaken("HF703", BROKER, "BrokerNodeGroupInfo.ClientSubnets", ["subnet-1", "subnet-2", "subnet-3"])
_weaken("HF529", BROKER, "LoggingInfo.BrokerLogs.CloudWatchLogs.LogGroup", "elsewhere")
_weaken("HF530", CACHE, "UserGroupIds", ["open-group"])
_weaken("HF534", BUCKET, "ObjectLockConfiguration.ObjectLockEnabled", GONE)


def _add(types: tuple[str, ...], **settings: Any) -> None:
    """A setting that no construct makes."""
    for name, value in settings.items():

        def change(template: Json, logical_id: str, name: str = name, value: Any = value) -> bool:
            _of(template, logical_id)[name] = value
            return True

        MUTATIONS[f"{name} of {types[0].split('::')[1]} added"] = ("HF703", _only(types, change))


_add(
    (INSTANCE,),
    DBSnapshotIdentifier="arn:aws:rds:us-east-1:111122223333:snapshot:x",
    SourceDBInstanceIdentifier="other",
    AutomaticBackupReplicationRegion="eu-west-1",
    AssociatedRoles=[{"FeatureName": "s3Export", "RoleArn": "arn:aws:iam::111122223333:role/x"}],
)
_add(("AWS::RDS::DBCluster",), EnableHttpEndpoint=True, PubliclyAccessible=True)
_add((CACHE,), AuthToken="correct horse battery staple")
_add(
    (BUCKET,),
    AccessControl="PublicRead",
    WebsiteConfiguration={"IndexDocument": "index.html"},
    ReplicationConfiguration={"Role": "arn:x", "Rules": []},
    InventoryConfigurations=[{"Id": "x"}],
)


@_mutation("HF002")
def _no_longer_retained(template: Json, store: str) -> bool:
    resource = template["Resources"][store]
    return resource.get("DeletionPolicy") == "Retain" and bool(resource.pop("DeletionPolicy"))


@_mutation("HF002")
def _replaced_without_a_copy(template: Json, store: str) -> bool:
    resource = template["Resources"][store]
    if resource.get("UpdateReplacePolicy") != "Retain":
        return False
    resource["UpdateReplacePolicy"] = "Delete"
    return True


@_mutation("HF201")
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
    if _selection(template, store) is None:
        return False
    return _all(template, "AWS::Backup::BackupVault", lambda r: r["Properties"].pop("LockConfiguration"))


@_mutation("HF513")
def _vault_without_a_key(template: Json, store: str) -> bool:
    if _selection(template, store) is None:
        return False
    return _all(template, "AWS::Backup::BackupVault", lambda r: r["Properties"].pop("EncryptionKeyArn"))


def _policy(template: Json, store: str) -> Json | None:
    for i in _resources(template, "AWS::S3::BucketPolicy"):
        if _target(_of(template, i)["Bucket"]) == store:
            found: Json = template["Resources"][i]
            return found
    return None


@_mutation("HF515")
def _bucket_without_a_policy(template: Json, store: str) -> bool:
    policy = _policy(template, store)
    if policy is not None:
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
    "topic renamed": ("HF532", _topic(lambda p: p.update(TopicName=p["TopicName"].partition(".")[0] + ".other"))),
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


@_mutation("HF006")
def _everything_deleted_after_a_week(template: Json, store: str) -> bool:
    rules = _lifecycle(template, store)
    if rules:
        rules.append({"Id": "all", "Status": "Enabled", "ExpirationInDays": 7})
    return bool(rules)


@_mutation("HF006")
def _lifecycle_switched_off(template: Json, store: str) -> bool:
    for rule in _lifecycle(template, store):
        rule["Status"] = "Disabled"
    return bool(_lifecycle(template, store))


@_mutation("HF004")
def _old_versions_gone_at_once(template: Json, store: str) -> bool:
    for rule in _lifecycle(template, store):
        rule["NoncurrentVersionExpiration"] = {"NoncurrentDays": 1}
    return bool(_lifecycle(template, store))


@_mutation("HF010")
def _owner_changed(template: Json, store: str) -> bool:
    tags = _of(template, store).get("Tags")
    if isinstance(tags, dict):
        tags.update(dict.fromkeys(OWNERS & tags.keys(), "nobody"))
    for tag in tags if isinstance(tags, list) else []:
        if tag["Key"] in OWNERS:
            tag["Value"] = "nobody"
    return bool(tags)


@_mutation("HF310")
def _schema_applied_by_nobody(template: Json, store: str) -> bool:
    return _is_database(template, store) and _without(template, "Custom::Trigger")


def _is_database(template: Json, store: str) -> bool:
    return str(template["Resources"][store]["Type"]).startswith("AWS::RDS")


@_mutation("HF310")
def _jobs_switched_off(template: Json, store: str) -> bool:
    if not _is_database(template, store):
        return False
    return _all(template, "AWS::Scheduler::Schedule", lambda r: r["Properties"].update(State="DISABLED"))


@_mutation("HF310")
def _jobs_removed(template: Json, store: str) -> bool:
    return _is_database(template, store) and _without(template, "AWS::Scheduler::Schedule")


def _proxy(change: Callable[[Json], None], kind: str) -> Mutation:
    def mutate(template: Json, store: str) -> bool:
        found = _resources(template, kind)
        if not found or not _is_database(template, store):
            return False
        change(_of(template, found[0]))
        return True

    return mutate


TARGETS = "AWS::RDS::DBProxyTargetGroup"
MUTATIONS |= {
    "pool without TLS": ("HF310", _proxy(lambda p: p.update(RequireTLS=False), "AWS::RDS::DBProxy")),
    "pool with passwords": ("HF310", _proxy(lambda p: p.update(DefaultAuthScheme="NONE"), "AWS::RDS::DBProxy")),
    "pool of everything": (
        "HF310",
        _proxy(lambda p: p["ConnectionPoolConfigurationInfo"].update(MaxConnectionsPercent=100), TARGETS),
    ),
    "pool without idle limit": (
        "HF310",
        _proxy(lambda p: p["ConnectionPoolConfigurationInfo"].pop("MaxIdleConnectionsPercent"), TARGETS),
    ),
}


@_mutation("HF310")
def _service_unregistered(template: Json, store: str) -> bool:
    services = _resources(template, "AWS::ServiceDiscovery::Service")
    if template["Resources"][store]["Type"] != "AWS::ServiceDiscovery::PrivateDnsNamespace":
        return False
    del template["Resources"][services[0]]
    return True


@_mutation("HF205")
def _alarms_removed(template: Json, store: str) -> bool:
    alarms = _resources(template, "AWS::CloudWatch::Alarm")
    for i in alarms:
        del template["Resources"][i]
    return bool(alarms)


@_mutation("HF205")
def _alarms_silenced(template: Json, store: str) -> bool:
    alarms = _resources(template, "AWS::CloudWatch::Alarm")
    for i in alarms:
        _of(template, i)["AlarmActions"] = []
    return bool(alarms)


@_mutation("HF205")
def _thresholds_raised(template: Json, store: str) -> bool:
    alarms = _resources(template, "AWS::CloudWatch::Alarm")
    for i in alarms:
        _of(template, i)["Threshold"] = 10**9
    return bool(alarms)


def _members(template: Json, store: str) -> list[Json]:
    """The instances of a cluster."""
    return [
        r
        for r in template["Resources"].values()
        if r["Type"] in (INSTANCE, "AWS::DocDB::DBInstance")
        and r["Properties"].get("DBClusterIdentifier") == {"Ref": store}
    ]


@_mutation("HF516")
def _a_member_is_public(template: Json, store: str) -> bool:
    aurora = [m for m in _members(template, store) if m["Type"] == INSTANCE]
    for member in aurora[-1:]:
        member["Properties"]["PubliclyAccessible"] = True
    return bool(aurora)


@_mutation("HF521")
def _a_member_misses_fixes(template: Json, store: str) -> bool:
    for member in _members(template, store)[-1:]:
        member["Properties"]["AutoMinorVersionUpgrade"] = False
    return bool(_members(template, store))


@_mutation("HF002")
def _members_go_with_the_stack(template: Json, store: str) -> bool:
    for member in _members(template, store):
        member["DeletionPolicy"] = "Delete"
    return bool(_members(template, store))


@_mutation("HF703")
def _a_member_has_parameters_of_its_own(template: Json, store: str) -> bool:
    aurora = [m for m in _members(template, store) if m["Type"] == INSTANCE]
    for member in aurora:
        member["Properties"]["DBParameterGroupName"] = "open"
    return bool(aurora)


def _selected(change: Callable[[Json, str], None]) -> Mutation:
    """A change to the backup selection of a store."""

    def mutate(template: Json, store: str) -> bool:
        selection = _selection(template, store)
        if selection:
            change(_of(template, selection)["BackupSelection"], store)
        return selection is not None

    return mutate


def _plan_rule(**settings: Any) -> Mutation:
    def mutate(template: Json, store: str) -> bool:
        for rule in _rules_of(template, store):
            rule.update(settings)
        return bool(_rules_of(template, store))

    return mutate


def _vault(**settings: Any) -> Mutation:
    def mutate(template: Json, store: str) -> bool:
        if _selection(template, store) is None:
            return False
        return _all(template, "AWS::Backup::BackupVault", lambda r: r["Properties"].update(settings))

    return mutate


MUTATIONS |= {
    "selected and then excluded": ("HF513", _selected(lambda s, _: s.update(NotResources=["*"]))),
    "selected by a tag that nothing has": ("HF513", _selected(lambda s, _: s.update(Conditions={"StringEquals": []}))),
    "selected by a role from elsewhere": (
        "HF513",
        _selected(lambda s, _: s.update(IamRoleArn="arn:aws:iam::111122223333:role/x")),
    ),
    "another store selected, with its name inside": (
        "HF513",
        _selected(lambda s, i: s.update(Resources=[{"Fn::Sub": f"arn:aws:rds:us-east-1:1:db:other-${{{i}}}"}])),
    ),
    "backups given up after an hour": ("HF513", _plan_rule(CompletionWindowMinutes=60)),
    "vault open to others": ("HF513", _vault(AccessPolicy={"Statement": []})),
    "vault renamed": ("HF513", _vault(BackupVaultName="other")),
    "vault refuses what is kept": ("HF513", _vault(LockConfiguration={"MinRetentionDays": 90, "MaxRetentionDays": 30})),
}


def _statements(change: Callable[[list[Json]], Any]) -> Mutation:
    """A change to the policy of a bucket."""

    def mutate(template: Json, store: str) -> bool:
        policy = _policy(template, store)
        if policy is not None:
            change(policy["Properties"]["PolicyDocument"]["Statement"])
        return policy is not None

    return mutate


def _each(**settings: Any) -> Callable[[list[Json]], Any]:
    return lambda statements: [s.update(settings) for s in statements]


STRANGER = {"AWS": "arn:aws:iam::111122223333:root"}
MUTATIONS |= {
    "bucket opened to another account": (
        "HF515",
        _statements(lambda s: s.append({"Effect": "Allow", "Principal": STRANGER, "Action": "s3:*", "Resource": "*"})),
    ),
    "bucket opened behind a function": (
        "HF515",
        _statements(
            lambda s: s.append({"Effect": {"Fn::Sub": "Allow"}, "Principal": "*", "Action": "s3:*", "Resource": "*"})
        ),
    ),
    "TLS demanded of one principal": ("HF515", _statements(_each(Principal=STRANGER))),
    "TLS demanded for one action": ("HF515", _statements(_each(Action="s3:GetBucketTagging"))),
    "TLS demanded for one object": ("HF515", _statements(_each(Resource="arn:aws:s3:::other/*"))),
    "old TLS taken": ("HF515", _statements(lambda s: s.pop(1))),
}


@_mutation("HF515")
def _bucket_with_a_second_policy(template: Json, store: str) -> bool:
    if template["Resources"][store]["Type"] != BUCKET:
        return False
    statement = {"Effect": "Allow", "Principal": "*", "Action": "s3:*", "Resource": "*"}
    template["Resources"]["Second"] = {
        "Type": "AWS::S3::BucketPolicy",
        "Properties": {"Bucket": _of(template, store).get("BucketName"), "PolicyDocument": {"Statement": [statement]}},
    }
    return True


def _log_bucket(change: Callable[[Json], None]) -> Mutation:
    def mutate(template: Json, store: str) -> bool:
        if template["Resources"][store]["Type"] != BUCKET:
            return False
        change(template["Resources"][_target(_of(template, store)["LoggingConfiguration"]["DestinationBucketName"])])
        return True

    return mutate


MUTATIONS |= {
    "access logs public": ("HF529", _log_bucket(lambda r: r["Properties"].pop("PublicAccessBlockConfiguration"))),
    "access logs unencrypted": ("HF529", _log_bucket(lambda r: r["Properties"].pop("BucketEncryption"))),
    "access logs gone after a day": (
        "HF529",
        _log_bucket(
            lambda r: r["Properties"].update(
                LifecycleConfiguration={"Rules": [{"Status": "Enabled", "ExpirationInDays": 1}]}
            )
        ),
    ),
}


def _fate(**settings: Any) -> Mutation:
    """One more lifecycle rule for a declared folder."""

    def mutate(template: Json, store: str) -> bool:
        rules = _lifecycle(template, store)
        folders = [r["Prefix"] for r in rules if "Prefix" in r]
        if folders:
            rules.insert(0, {"Id": "more", "Status": "Enabled", "Prefix": folders[0], **settings})
        return bool(folders)

    return mutate


MUTATIONS |= {
    "folder deleted on a date": ("HF006", _fate(ExpirationDate="2026-12-01T00:00:00Z")),
    "folder moved at once, in the old way": (
        "HF006",
        _fate(Transition={"StorageClass": "DEEP_ARCHIVE", "TransitionInDays": 0}),
    ),
    "folder moved sooner by an earlier rule": (
        "HF006",
        _fate(Transitions=[{"StorageClass": "DEEP_ARCHIVE", "TransitionInDays": 1}]),
    ),
}


@_mutation("HF006")
def _lifecycle_for_tagged_objects_only(template: Json, store: str) -> bool:
    for rule in _lifecycle(template, store):
        rule["TagFilters"] = [{"Key": "never", "Value": "x"}]
    return bool(_lifecycle(template, store))


@_mutation("HF530")
def _default_user_off_and_on(template: Json, store: str) -> bool:
    for user in _users(template, store):
        if user["UserName"] == "default":
            user["AccessString"] = "off on allkeys allcommands nopass"
    return bool(_users(template, store))


@_mutation("HF530")
def _user_with_a_password_beside_iam(template: Json, store: str) -> bool:
    for user in _users(template, store):
        user["Passwords"] = ["correct horse battery staple"]
    return bool(_users(template, store))


def _ingress(group: Json, condition: str | None = None) -> Mutation:
    """A rule of its own for the group of a store, written so that it is not seen at once."""

    def mutate(template: Json, store: str) -> bool:
        for name in _groups(template, store):
            rule = {"CidrIp": "0.0.0.0/0", "IpProtocol": "tcp", "FromPort": 1, "ToPort": 65535}
            target = json.loads(json.dumps(group).replace("GROUP", name))
            template["Resources"]["Wide"] = {
                "Type": "AWS::EC2::SecurityGroupIngress",
                "Properties": rule | {"GroupId": target},
            }
            if condition:
                template["Parameters"] = {"P": {"Type": "String"}}
                template["Conditions"] = {condition: {"Fn::Equals": [{"Ref": "P"}, "yes"]}}
                template["Resources"]["Wide"]["Condition"] = condition
        return bool(_groups(template, store))

    return mutate


MUTATIONS |= {
    "range let in by Fn::Sub": ("HF520", _ingress({"Fn::Sub": "${GROUP.GroupId}"})),
    "range let in by Fn::Join": ("HF520", _ingress({"Fn::Join": ["", [{"Fn::GetAtt": ["GROUP", "GroupId"]}]]})),
    "range let in on a condition": ("HF520", _ingress({"Fn::GetAtt": ["GROUP", "GroupId"]}, "Maybe")),
}


@_mutation("HF520")
def _nobody_let_in(template: Json, store: str) -> bool:
    groups = _groups(template, store)
    for i in _resources(template, "AWS::EC2::SecurityGroupIngress"):
        if _target(_of(template, i)["GroupId"]) in groups:
            del template["Resources"][i]
    return bool(groups)


def _job(kind: str, word: str, change: Callable[[Json], None]) -> Mutation:
    """A change to a function of a database, or to what calls it."""

    def mutate(template: Json, store: str) -> bool:
        found = [i for i in _resources(template, kind) if word in json.dumps(_of(template, i))]
        if not _is_database(template, store) or not found:
            return False
        change(_of(template, found[0]))
        return True

    return mutate


FUNCTION, SCHEDULE = "AWS::Lambda::Function", "AWS::Scheduler::Schedule"
MUTATIONS |= {
    "schema applied without waiting": (
        "HF310",
        _job("Custom::Trigger", "HandlerArn", lambda p: p.update(InvocationType="Event")),
    ),
    "schema applied by something else": (
        "HF310",
        _job("Custom::Trigger", "HandlerArn", lambda p: p.update(HandlerArn="arn:aws:lambda:us-east-1:1:function:x")),
    ),
    "job of another handler": ("HF310", _job(FUNCTION, "handler.drift", lambda p: p.update(Handler="handler.migrate"))),
    "job that may not run": (
        "HF310",
        _job(FUNCTION, "handler.drift", lambda p: p.update(ReservedConcurrentExecutions=0)),
    ),
    "job at another host": (
        "HF310",
        _job(FUNCTION, "handler.drift", lambda p: p["Environment"]["Variables"].update(HOST="elsewhere")),
    ),
    "job outside of the network": ("HF310", _job(FUNCTION, "handler.drift", lambda p: p.pop("VpcConfig"))),
    "job archives elsewhere": (
        "HF310",
        _job(FUNCTION, "handler.retain", lambda p: p["Environment"]["Variables"].update(ARCHIVE="s3://elsewhere/x")),
    ),
    "schedule calls something else": (
        "HF310",
        _job(SCHEDULE, "drift", lambda p: p["Target"].update(Arn="arn:aws:lambda:us-east-1:1:function:x")),
    ),
    "schedule ended": ("HF310", _job(SCHEDULE, "drift", lambda p: p.update(EndDate="2020-01-01T00:00:00Z"))),
    "schedule by another clock": (
        "HF310",
        _job(SCHEDULE, "drift", lambda p: p.update(ScheduleExpressionTimezone="Asia/Tokyo")),
    ),
    "failed jobs forgotten": (
        "HF310",
        _job("AWS::SQS::Queue", "failed-jobs", lambda p: p.update(MessageRetentionPeriod=60)),
    ),
    "log kept for a day": (
        "HF529",
        _job("AWS::Logs::LogGroup", "/postgresql", lambda p: p.update(RetentionInDays=1)),
    ),
    "log renamed": ("HF529", _job("AWS::Logs::LogGroup", "/postgresql", lambda p: p.update(LogGroupName="/x"))),
    "figures of the pool wrong": (
        "HF310",
        _job("AWS::SSM::Parameter", "max_open_conns", lambda p: p.update(Value="9")),
    ),
}


@_mutation("HF310")
def _a_second_pool(template: Json, store: str) -> bool:
    found = _resources(template, TARGETS)
    if not found or not _is_database(template, store):
        return False
    template["Resources"]["Second"] = template["Resources"][found[0]]
    return True


@_mutation("HF205")
def _two_alarms_of_one_name(template: Json, store: str) -> bool:
    alarms = _resources(template, "AWS::CloudWatch::Alarm")
    for i in alarms:
        template["Resources"] = {f"Second{i}": template["Resources"][i], **template["Resources"]}
    return bool(alarms)


@_mutation("HF310")
def _services_in_another_namespace(template: Json, store: str) -> bool:
    if template["Resources"][store]["Type"] != "AWS::ServiceDiscovery::PrivateDnsNamespace":
        return False
    for i in _resources(template, "AWS::ServiceDiscovery::Service"):
        _of(template, i)["NamespaceId"] = "ns-other"
    return True


@_mutation("HF201")
def _a_macro_rewrites_everything(template: Json, store: str) -> bool:
    template["Transform"] = "Macro"
    return True


@_mutation("HF201")
def _there_on_a_condition(template: Json, store: str) -> bool:
    template["Parameters"] = {"P": {"Type": "String"}}
    template["Conditions"] = {"Maybe": {"Fn::Equals": [{"Ref": "P"}, "yes"]}}
    template["Resources"][store]["Condition"] = "Maybe"
    return True


# {name: (the rule that has to hear of it, the change to the stack)}: what stands beside the stores
BESIDE: dict[str, tuple[str, Callable[[Json], bool]]] = {}


def _beside(rule: str) -> Callable[[Callable[[Json], bool]], Callable[[Json], bool]]:
    def register(function: Callable[[Json], bool]) -> Callable[[Json], bool]:
        BESIDE[function.__name__.strip("_")] = (rule, function)
        return function

    return register


def stack_mutants(template: Json) -> Iterator[tuple[str, str, Json]]:
    """(name, rule, mutated copy) of every mutation that applies to what stands beside the stores."""
    packed = pickle.dumps(template)
    for name, (rule, mutate) in BESIDE.items():
        mutant = pickle.loads(packed)
        if mutate(mutant):
            yield name, rule, mutant


def _rogue(rule: str, kind: str, **properties: Any) -> None:
    def add(template: Json) -> bool:
        template["Resources"]["Rogue"] = {"Type": kind, "Properties": properties}
        return True

    BESIDE[f"{kind} added"] = (rule, add)


for _kind in [
    "EC2::InternetGateway",
    "EC2::Route",
    "EC2::VPCPeeringConnection",
    "EC2::EIP",
    "Lambda::Url",
    "Lambda::Permission",
    "KMS::ReplicaKey",
    "SecretsManager::ResourcePolicy",
    "IAM::User",
]:
    _rogue("HF505", f"AWS::{_kind}")
for _kind in [
    "ElastiCache::ServerlessCache",
    "ElastiCache::CacheCluster",
    "MSK::ServerlessCluster",
    "MSK::ClusterPolicy",
    "MSK::BatchScramSecret",
    "MemoryDB::Cluster",
    "S3Express::DirectoryBucket",
    "S3::AccessPoint",
    "EFS::FileSystem",
    "RDS::GlobalCluster",
    "RDS::DBProxyEndpoint",
    "ServiceDiscovery::PublicDnsNamespace",
]:
    _rogue("HF202", f"AWS::{_kind}")
_rogue("HF503", "AWS::EC2::SecurityGroupIngress", CidrIp="0.0.0.0/0", IpProtocol="-1", GroupId="sg-0123")
_rogue("HF506", "AWS::EC2::SecurityGroupEgress", CidrIp="0.0.0.0/0", IpProtocol="-1", GroupId="sg-0123")


@_beside("HF002")
def _key_goes_with_the_stack(template: Json) -> bool:
    return _all(template, "AWS::KMS::Key", lambda r: r.update(DeletionPolicy="Delete"))


@_beside("HF703")
def _alias_of_another_key(template: Json) -> bool:
    return _all(template, "AWS::KMS::Alias", lambda r: r["Properties"].update(TargetKeyId=STRANGE_KEY))


@_beside("HF506")
def _traffic_logged_by_nobody(template: Json) -> bool:
    return _without(template, "AWS::EC2::FlowLog")


@_beside("HF506")
def _traffic_logged_where_it_is_refused(template: Json) -> bool:
    return _all(template, "AWS::EC2::FlowLog", lambda r: r["Properties"].update(TrafficType="REJECT"))


@_beside("HF506")
def _default_group_open(template: Json) -> bool:
    return _without(template, "Custom::VpcRestrictDefaultSG")


@_beside("HF506")
def _public_addresses_given_out(template: Json) -> bool:
    return _all(template, "AWS::EC2::Subnet", lambda r: r["Properties"].update(MapPublicIpOnLaunch=True))


@_beside("HF506")
def _end_points_removed(template: Json) -> bool:
    return _without(template, "AWS::EC2::VPCEndpoint")


@_beside("HF507")
def _anybody_takes_a_role(template: Json) -> bool:
    def change(role: Json) -> None:
        role["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]["Principal"] = {"AWS": "*"}

    return _all(template, "AWS::IAM::Role", change)


@_beside("HF507")
def _an_administrator_among_the_roles(template: Json) -> bool:
    arn = "arn:aws:iam::aws:policy/AdministratorAccess"
    return _all(template, "AWS::IAM::Role", lambda r: r["Properties"].update(ManagedPolicyArns=[arn]))


def _allowed(action: str, resource: str) -> Callable[[Json], None]:
    statement = {"Effect": "Allow", "Action": action, "Resource": resource}
    return lambda policy: policy["Properties"]["PolicyDocument"]["Statement"].append(statement)


@_beside("HF507")
def _the_lock_of_the_archive_bypassed(template: Json) -> bool:
    return _all(template, "AWS::IAM::ManagedPolicy", _allowed("s3:BypassGovernanceRetention", "arn:aws:s3:::x/*"))


@_beside("HF507")
def _every_secret_read(template: Json) -> bool:
    return _all(template, "AWS::IAM::ManagedPolicy", _allowed("secretsmanager:GetSecretValue", "*"))


@_beside("HF703")
def _applications_read_one_more_bucket(template: Json) -> bool:
    return _all(template, "AWS::IAM::ManagedPolicy", _allowed("s3:GetObject", "arn:aws:s3:::other/*"))
