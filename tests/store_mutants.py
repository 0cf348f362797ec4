"""Ways to lose protection that no change of one value shows: written otherwise, added beside it, or on a condition.

What one changed place takes away is generated: see rule_mutants.py, and golden/rules.json for what is heard of. Here a
mutation takes a template (its own copy) and the logical id of a store, and changes what it is named after. It answers
False where there is nothing to lose, and then has changed nothing.
"""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Callable, Iterator
from typing import Any

from support import Json

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


CACHE, BROKER, BUCKET = "AWS::ElastiCache::ReplicationGroup", "AWS::MSK::Cluster", "AWS::S3::Bucket"
INSTANCE = "AWS::RDS::DBInstance"
_weaken("HF515", INSTANCE, "DBParameterGroupName", "default.postgres17", GONE)
_weaken("HF703", INSTANCE, "DBSubnetGroupName", "default")
_weaken("HF703", DATABASES, "@DBSubnetGroupName.SubnetIds", ["subnet-1", "subnet-2"])
_weaken("HF703", BROKER, "BrokerNodeGroupInfo.ClientSubnets", ["subnet-1", "subnet-2", "subnet-3"])
_weaken("HF529", BROKER, "LoggingInfo.BrokerLogs.CloudWatchLogs.LogGroup", "elsewhere")
_weaken("HF530", CACHE, "UserGroupIds", ["open-group"])


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


@_mutation("HF201")
def _removed(template: Json, store: str) -> bool:
    del template["Resources"][store]
    return True


def _selection(template: Json, store: str) -> str | None:
    found = (
        i for i in _resources(template, "AWS::Backup::BackupSelection") if f'"{store}"' in json.dumps(_of(template, i))
    )
    return next(found, None)


def _policy(template: Json, store: str) -> Json | None:
    for i in _resources(template, "AWS::S3::BucketPolicy"):
        if _target(_of(template, i)["Bucket"]) == store:
            found: Json = template["Resources"][i]
            return found
    return None


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


def _users(template: Json, store: str) -> list[Json]:
    if template["Resources"][store]["Type"] != CACHE:
        return []
    group = _of(template, store)["UserGroupIds"][0]
    return [_of(template, _target(u)) for u in _of(template, _target(group))["UserIds"]]


@_mutation("HF530")
def _users_of_the_cache_gone(template: Json, store: str) -> bool:
    return template["Resources"][store]["Type"] == CACHE and bool(_of(template, store).pop("UserGroupIds", None))


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
    "topic kept for an hour": ("HF532", _topic(_reconfigure("retention.ms", "3600000"))),
    "topic with one replica in sync": ("HF532", _topic(_reconfigure("min.insync.replicas", "1"))),
    "topic under another prefix": (
        "HF532",
        _topic(lambda p: p.update(TopicName="x." + p["TopicName"].partition(".")[2])),
    ),
}


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


def _selected(change: Callable[[Json, str], None]) -> Mutation:
    """A change to the backup selection of a store."""

    def mutate(template: Json, store: str) -> bool:
        selection = _selection(template, store)
        if selection:
            change(_of(template, selection)["BackupSelection"], store)
        return selection is not None

    return mutate


def _vault(**settings: Any) -> Mutation:
    def mutate(template: Json, store: str) -> bool:
        if _selection(template, store) is None:
            return False
        return _all(template, "AWS::Backup::BackupVault", lambda r: r["Properties"].update(settings))

    return mutate


MUTATIONS |= {
    "selected and then excluded": ("HF513", _selected(lambda s, _: s.update(NotResources=["*"]))),
    "another store selected, with its name inside": (
        "HF513",
        _selected(lambda s, i: s.update(Resources=[{"Fn::Sub": f"arn:aws:rds:us-east-1:1:db:other-${{{i}}}"}])),
    ),
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


MUTATIONS |= {
    "bucket opened behind a function": (
        "HF515",
        _statements(
            lambda s: s.append({"Effect": {"Fn::Sub": "Allow"}, "Principal": "*", "Action": "s3:*", "Resource": "*"})
        ),
    ),
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


@_mutation("HF530")
def _default_user_off_and_on(template: Json, store: str) -> bool:
    for user in _users(template, store):
        if user["UserName"] == "default":
            user["AccessString"] = "off on allkeys allcommands nopass"
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


def _allowed(action: str, resource: str) -> Callable[[Json], None]:
    statement = {"Effect": "Allow", "Action": action, "Resource": resource}
    return lambda policy: policy["Properties"]["PolicyDocument"]["Statement"].append(statement)


@_beside("HF507")
def _the_lock_of_the_archive_bypassed(template: Json) -> bool:
    return _all(template, "AWS::IAM::ManagedPolicy", _allowed("s3:BypassGovernanceRetention", "arn:aws:s3:::x/*"))


@_beside("HF507")
def _every_secret_read(template: Json) -> bool:
    return _all(template, "AWS::IAM::ManagedPolicy", _allowed("secretsmanager:GetSecretValue", "*"))
