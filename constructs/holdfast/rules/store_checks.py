"""How each guard of a database, cache, broker or bucket is read from its resources. Texts stand in stores.py."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.catalog import Placed
from holdfast.intrinsics import Reference, Resolver, Unknown
from holdfast.keys import ACCOUNT
from holdfast.model import NONE, Guard, Tier
from holdfast.policy import REQUIRED_TAGS
from holdfast.rules.base import EXEMPT, PASS, Verdict, fail, unknown
from holdfast.rules.estate import alike, changes
from holdfast.rules.resources import closed_and_tls_only
from holdfast.store_alarms import store_alarms
from holdfast.stores import DRIFT_SCHEDULE, Backups, Broker, Bucket, Cache, Database, Documents, Registry, Store, Topic
from holdfast.template import StackSeen, heard

INSTANCE, CLUSTER, DOCUMENTS = "AWS::RDS::DBInstance", "AWS::RDS::DBCluster", "AWS::DocDB::DBCluster"
CACHE, BROKER, BUCKET = "AWS::ElastiCache::ReplicationGroup", "AWS::MSK::Cluster", "AWS::S3::Bucket"
NAMESPACE, GROUP, KEY = "AWS::ServiceDiscovery::PrivateDnsNamespace", "AWS::EC2::SecurityGroup", "AWS::KMS::Key"
VAULT = "AWS::Backup::BackupVault"
# The resource that is the store itself, and the property that names it.
IDENTITY: Mapping[type[Store], Mapping[str, str]] = {
    Database: {INSTANCE: "DBInstanceIdentifier", CLUSTER: "DBClusterIdentifier"},
    Documents: {DOCUMENTS: "DBClusterIdentifier"},
    Cache: {CACHE: "ReplicationGroupId"},
    Broker: {BROKER: "ClusterName"},
    Bucket: {BUCKET: "BucketName"},
    Registry: {NAMESPACE: "Name"},
}


@dataclass(frozen=True, slots=True)
class StoreSubject:
    """One declared store, and the resource of a stack that is it."""

    placed: Placed
    store: Store
    required: Guard
    stack: StackSeen
    logical_id: str

    @property
    def resource(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.stack.template["Resources"][self.logical_id]
        return found

    @property
    def type(self) -> str:
        return str(self.resource["Type"])

    def get(self, *path: str, default: Any = None) -> Any:
        return dig(self.stack, self.resource, "Properties", *path, default=default)


def dig(stack: StackSeen, found: Any, *path: str, default: Any = None) -> Any:
    """A property of a property …, resolved; @ goes on in the resource that a property refers to, / is a dot."""
    for name in path:
        hop, plain = name.startswith("@"), name.removeprefix("@").replace("/", ".")
        if name == path[-1] or hop or not isinstance(found, dict) or _decided_later(found.get(plain)):
            found = stack.resolver.get(found, plain, default if name == path[-1] else {})
        else:
            found = found.get(plain, {})
        if hop:
            found = found[0] if isinstance(found, list) and len(found) == 1 else found
            if not isinstance(found, Reference):
                return Unknown(f"{plain} is no resource of this template")
            found = stack.template["Resources"][found.logical_id].get("Properties", {})
    return found


def _decided_later(raw: Any) -> bool:
    return isinstance(raw, dict) and any(k == "Ref" or str(k).startswith("Fn::") for k in raw)


def identified(stack: StackSeen, logical_id: str) -> str | Unknown:
    """The name of a store's resource; the account's number, which no template knows, is left out of it."""
    resource = stack.template["Resources"][logical_id]
    kind = str(resource["Type"])
    attribute = next(names[kind] for names in IDENTITY.values() if kind in names)
    raw = resource.get("Properties", {}).get(attribute)
    if raw is None:
        return Unknown("CloudFormation chooses its name")
    found = Resolver(stack.template, stack.region).text(_without_account(raw))
    return found if isinstance(found, str | Unknown) else Unknown(f"{found!r} is no name")


def declared_name(placed: Placed, store: Store) -> str:
    match store:
        case Bucket():
            return f"{placed.fill(store.name)}--{placed.region}"
        case Registry():
            return store.domain
        case _:
            return placed.fill(store.name)


def _without_account(raw: Any) -> Any:
    if raw == ACCOUNT:
        return ""
    if isinstance(raw, str):
        return raw.replace("${AWS::AccountId}", "")
    if isinstance(raw, dict):
        return {k: _without_account(v) for k, v in raw.items()}
    return [_without_account(v) for v in raw] if isinstance(raw, list) else raw


def find(stack: StackSeen, placed: Placed, store: Store) -> str | Unknown | None:
    """The logical id of a declared store, None where it is absent."""
    nameless: Unknown | None = None
    for kind in IDENTITY[type(store)]:
        for logical_id, _ in stack.resources(kind):
            name = identified(stack, logical_id)
            if name == declared_name(placed, store):
                return logical_id
            if isinstance(name, Unknown) and not _member(stack, logical_id):
                nameless = Unknown(f"it may be {stack.at(logical_id)}, whose name cannot be read: {name.reason}")
    return nameless


def strangers(stack: StackSeen, matched: set[str]) -> Iterator[str]:
    """Stores that are declared nowhere: neither matched, nor a part of something that is."""
    logs = {
        dig(
            stack, stack.template["Resources"][i].get("Properties", {}), "LoggingConfiguration", "DestinationBucketName"
        )
        for i in matched
    }
    for kinds in IDENTITY.values():
        for kind in kinds:
            for logical_id, _ in stack.resources(kind):
                if logical_id in matched or Reference(logical_id) in logs or _member(stack, logical_id):
                    continue
                yield logical_id


def _member(stack: StackSeen, logical_id: str) -> bool:
    """An instance of a cluster of the same stack."""
    resource = stack.template["Resources"][logical_id]
    return resource["Type"] == INSTANCE and stack.is_a(
        dig(stack, resource.get("Properties", {}), "DBClusterIdentifier"), CLUSTER
    )


# Which property names the security groups of each type.
GROUPS_OF = {
    INSTANCE: ("VPCSecurityGroups",),
    CLUSTER: ("VpcSecurityGroupIds",),
    DOCUMENTS: ("VpcSecurityGroupIds",),
    CACHE: ("SecurityGroupIds",),
    BROKER: ("BrokerNodeGroupInfo", "SecurityGroups"),
}
Good = Callable[["StoreSubject", Any], bool]
Check = Callable[["StoreSubject"], Verdict]


@dataclass(frozen=True, slots=True)
class Need:
    """A property that has to be good, and what it means when it is not."""

    problem: str
    path: str  # with dots; @ goes on in the resource that a property refers to
    good: Good
    default: Any = None


def on(_: StoreSubject, value: Any) -> bool:
    return alike(value, True)


def off(_: StoreSubject, value: Any) -> bool:
    return value is None or alike(value, False)


def own_key(s: StoreSubject, value: Any) -> bool:
    return s.stack.is_a(value, KEY)


def at_least(count: int) -> Good:
    return lambda _, value: str(value).isdigit() and int(value) >= count


def exactly(*wanted: Any) -> Good:
    return lambda _, value: any(alike(value, w) for w in wanted)


def names(*wanted: str) -> Good:
    return lambda _, value: isinstance(value, list) and set(wanted) <= {str(v) for v in value}


def met(s: StoreSubject, needs: Iterable[Need]) -> Verdict:
    """Whether every need is met; unknown where one cannot be read and none is unmet."""
    values = [(n, dig(s.stack, s.resource.get("Properties", {}), *n.path.split("."), default=n.default)) for n in needs]
    if bad := [n.problem for n, value in values if not isinstance(value, Unknown) and not n.good(s, value)]:
        return fail("; ".join(bad))
    unread = [f"{n.path.replace('@', '')} cannot be read: {v.reason}" for n, v in values if isinstance(v, Unknown)]
    return unknown(unread[0]) if unread else PASS


def needs(by_type: Mapping[str, tuple[Need, ...]], *, guard: Guard = NONE, prod: bool = False) -> Check:
    """The common check: what a store of each type needs, where the policy requires ``guard``."""

    def check(s: StoreSubject) -> Verdict:
        exempt = guard not in s.required or (prod and s.placed.env.tier is not Tier.PROD) or s.type not in by_type
        return EXEMPT if exempt else met(s, by_type[s.type])

    return check


def retained(s: StoreSubject) -> Verdict:
    if Guard.RETAIN not in s.required:
        return EXEMPT
    return kept(s.stack, s.resource)


def kept(stack: StackSeen, resource: Mapping[str, Any]) -> Verdict:
    for name in ("DeletionPolicy", "UpdateReplacePolicy"):
        policy = stack.resolver.get(resource, name)
        if isinstance(policy, Unknown):
            return unknown(f"{name} cannot be read: {policy.reason}")
        if policy != "Retain":
            return fail(f"{name} is {policy or 'missing'}, required is Retain")
    return PASS


OLD_VERSIONS = 30


def old_versions(s: StoreSubject, rules: Any) -> bool:
    """Whether what was overwritten or deleted can be had back for a while; declared waste may go sooner."""
    assert isinstance(s.store, Bucket)
    short_lived = {p.folder for p in s.store.prefixes if p.expire and p.expire.days < OLD_VERSIONS}
    ends = [
        dig(s.stack, r, "NoncurrentVersionExpiration", "NoncurrentDays", default=OLD_VERSIONS)
        for r in _list(rules)
        if not (isinstance(r, dict) and r.get("Prefix") in short_lived)
    ]
    return all(at_least(OLD_VERSIONS)(s, days) for days in ends)


def recoverable(s: StoreSubject) -> Verdict:
    if Guard.PITR not in s.required:
        return EXEMPT
    if isinstance(s.store, Bucket):
        return met(
            s,
            [
                Need("old versions are not kept", "VersioningConfiguration.Status", exactly("Enabled")),
                Need(
                    f"old versions are gone before {OLD_VERSIONS} days",
                    "LifecycleConfiguration.Rules",
                    old_versions,
                    [],
                ),
            ],
        )
    assert isinstance(s.store, Database | Documents)
    days = s.store.recovery.days
    wanted = [Need(f"recovery does not reach back {days} days", "BackupRetentionPeriod", at_least(days), 1)]
    if s.type == INSTANCE:
        wanted.append(Need("its backups are deleted with it", "DeleteAutomatedBackups", exactly(False), True))
    return met(s, wanted)


def backed_up(s: StoreSubject) -> Verdict:
    backups: Backups | None = getattr(s.store, "backups", None)
    if backups is None or Guard.PITR not in s.required:
        return EXEMPT
    plans = _plans_of(s)
    if not plans:
        return fail("no backup plan of the stack selects it")
    problems = []
    for name, schedule in backups.schedules.items():
        own = [r for plan in plans for r in plan if r.get("ScheduleExpression") == schedule]
        if not own:
            problems.append(f"no rule of its plan runs at {schedule} ({name})")
        for rule in own:
            days = dig(s.stack, rule, "Lifecycle", "DeleteAfterDays", default=10**6)  # kept for ever, unless it says
            if not at_least(backups.keep.days)(s, days):
                problems.append(f"{name} is not kept {backups.keep.days} days")
            if rule.get("ScheduleExpressionTimezone", "Etc/UTC") not in ("Etc/UTC", "UTC"):
                problems.append(f"{name} does not run by UTC")
            if not s.stack.is_a(rule.get("TargetBackupVault"), VAULT):
                problems.append(f"{name} goes to no vault of the stack")
    return fail("; ".join(problems)) if problems else _vault(s, backups)


def _plans_of(s: StoreSubject) -> list[list[dict[str, Any]]]:
    """The rules of every backup plan that selects the store."""
    found = []
    for _, selection in s.stack.resources("AWS::Backup::BackupSelection"):
        raw = selection.get("Properties", {}).get("BackupSelection", {}).get("Resources", [])
        if s.logical_id in mentioned(raw):
            rules = dig(s.stack, selection, "Properties", "@BackupPlanId", "BackupPlan", "BackupPlanRule", default=[])
            found.append([r for r in rules if isinstance(r, dict)] if isinstance(rules, list) else [])
    return found


def mentioned(raw: Any) -> set[str]:
    """Every resource that a raw value refers to."""
    if isinstance(raw, dict):
        if isinstance(name := raw.get("Ref"), str):
            return {name}
        if "Fn::GetAtt" in raw:
            parts = raw["Fn::GetAtt"]
            return {parts.split(".")[0] if isinstance(parts, str) else str(parts[0])}
        return {i for v in raw.values() for i in mentioned(v)}
    return {i for v in raw for i in mentioned(v)} if isinstance(raw, list) else set()


def _vault(s: StoreSubject, backups: Backups) -> Verdict:
    """Vaults are encrypted with the stack's key, locked for as long as the backups are kept, and stay."""
    for logical_id, resource in s.stack.resources(VAULT):
        days = backups.keep.days
        of_vault = StoreSubject(s.placed, s.store, s.required, s.stack, logical_id)
        wanted = [
            Need("the vault has no key of its own", "EncryptionKeyArn", own_key),
            Need(
                f"the vault lets go of backups before {days} days", "LockConfiguration.MinRetentionDays", at_least(days)
            ),
        ]
        for verdict in (met(of_vault, wanted), kept(s.stack, resource)):
            if verdict != PASS:
                return verdict
    return PASS


def bucket_policy(s: StoreSubject) -> Verdict:
    """The bucket's policy refuses plain HTTP and strangers."""
    for _, policy in s.stack.resources("AWS::S3::BucketPolicy"):
        if dig(s.stack, policy, "Properties", "Bucket") == Reference(s.logical_id):
            return closed_and_tls_only(s.stack, policy)
    return fail("it has no policy, so it does not refuse plain HTTP")


def encrypted_on_the_way(s: StoreSubject) -> Verdict:
    return bucket_policy(s) if isinstance(s.store, Bucket) else needs(ON_THE_WAY)(s)


ON_THE_WAY = {
    INSTANCE: (
        Need("connections without TLS are taken", "@DBParameterGroupName.Parameters.rds/force_ssl", exactly(1)),
    ),
    CLUSTER: (
        Need("connections without TLS are taken", "@DBClusterParameterGroupName.Parameters.rds/force_ssl", exactly(1)),
    ),
    DOCUMENTS: (
        Need("connections without TLS are taken", "@DBClusterParameterGroupName.Parameters.tls", exactly("enabled")),
    ),
    CACHE: (
        Need("traffic is not encrypted", "TransitEncryptionEnabled", on, False),
        Need("connections without TLS are taken", "TransitEncryptionMode", exactly("required"), "required"),
    ),
    BROKER: (
        Need(
            "clients may connect without TLS", "EncryptionInfo.EncryptionInTransit.ClientBroker", exactly("TLS"), "TLS"
        ),
        Need("brokers talk without TLS", "EncryptionInfo.EncryptionInTransit.InCluster", on, True),
    ),
}


def bucket_key(s: StoreSubject, value: Any) -> bool:
    rules = dig(s.stack, {"E": value}, "E", "ServerSideEncryptionConfiguration", default=[])
    defaults = [dig(s.stack, r, "ServerSideEncryptionByDefault", default={}) for r in rules if isinstance(r, dict)]
    return bool(defaults) and all(
        isinstance(d, dict) and d.get("SSEAlgorithm") == "aws:kms" and own_key(s, d.get("KMSMasterKeyID"))
        for d in defaults
    )


def some(_: StoreSubject, value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def own_bucket(s: StoreSubject, value: Any) -> bool:
    return s.stack.is_a(value, BUCKET)


def in_zones(s: StoreSubject) -> Verdict:
    if s.placed.env.tier is not Tier.PROD or not isinstance(s.store, Database | Documents | Cache | Broker):
        return EXEMPT
    if s.type in (CLUSTER, DOCUMENTS):
        kind = INSTANCE if s.type == CLUSTER else "AWS::DocDB::DBInstance"
        cluster = [dig(s.stack, r, "Properties", "DBClusterIdentifier") for _, r in s.stack.resources(kind)]
        count = cluster.count(Reference(s.logical_id))
        return PASS if count >= 2 else fail(f"it has {count} instances, and needs two in different zones")
    return met(s, ZONES[s.type])


ZONES = {
    INSTANCE: (Need("it stands in one zone", "MultiAZ", on, False),),
    CACHE: (
        Need("it does not fail over", "AutomaticFailoverEnabled", on, False),
        Need("it stands in one zone", "MultiAZEnabled", on, False),
        Need("it has one node", "NumCacheClusters", at_least(2), 1),
    ),
    BROKER: (Need("it has fewer than three brokers", "NumberOfBrokerNodes", at_least(3), 0),),
}


def _prefix(s: StoreSubject) -> str | None:
    """What the topics of the stack begin with; another rule sees to it that they agree."""
    if not isinstance(s.store, Broker):
        return None
    for _, resource in s.stack.resources("AWS::MSK::Topic"):
        name = str(dig(s.stack, resource, "Properties", "TopicName"))
        if topic := _declared_topic(s.store, name):
            return name.removesuffix(f".{topic.name}")
    return None


def _declared_topic(broker: Broker, name: str) -> Topic | None:
    """The topic that a full name means: its longest declared ending."""
    own = [t for t in broker.topics if name.endswith(f".{t.name}")]
    return max(own, key=lambda t: len(t.name), default=None)


def watched(s: StoreSubject) -> Verdict:
    """The declared alarms of a store are there, as declared, and a topic of the stack hears them."""
    if Guard.ALARMS not in s.required:
        return EXEMPT
    seen = {p["AlarmName"]: p for p in s.stack.alarms.values() if isinstance(p, dict) and "AlarmName" in p}
    for alarm in store_alarms(s.placed, s.store, aurora=s.type == CLUSTER, prefix=_prefix(s)):
        found = seen.get(alarm.name)
        if changed := changes(alarm, found):
            return fail(f"not as declared: {', '.join(changed)}")
        if found and heard(s.stack, found) is not True:
            return fail(f"no topic of the stack hears {alarm.name}")
    return PASS


def admitted(s: StoreSubject) -> Verdict:
    """Exactly the declared port, and only from security groups of the same stack."""
    port = getattr(s.store, "port", None)
    if port is None:
        return EXEMPT
    listens = s.get("Port", default=0) if s.type != BROKER else port
    if not alike(listens, port):
        return fail(f"it listens on {listens}, declared is {port}")
    groups = s.get(*GROUPS_OF[s.type], default=[])
    if isinstance(groups, Unknown):
        return unknown(f"its security groups cannot be read: {groups.reason}")
    ids = {g.logical_id for g in groups if isinstance(g, Reference)}
    if not ids or len(ids) < len(groups) or not all(s.stack.is_a(g, GROUP) for g in groups):
        return fail("it has no security group of the stack, or one from elsewhere")
    for rule in ingress(s.stack, ids):
        source = rule.get("SourceSecurityGroupId")
        if not s.stack.is_a(source, GROUP):
            return fail(f"it admits {rule.get('CidrIp') or rule.get('CidrIpv6') or source}, not a group of the stack")
        seen = (rule.get("IpProtocol"), rule.get("FromPort"), rule.get("ToPort"))
        if not alike(list(seen), ["tcp", port, port]):
            return fail(f"it admits {seen[0]} {seen[1]}-{seen[2]}, declared is tcp {port}")
    return PASS


def ingress(stack: StackSeen, groups: set[str]) -> Iterator[Mapping[str, Any]]:
    """Every rule that lets something into these security groups, wherever it is written."""
    for logical_id in groups:
        rules = dig(stack, stack.template["Resources"][logical_id], "Properties", "SecurityGroupIngress", default=[])
        yield from (r if isinstance(r, dict) else {"CidrIp": "something undecided"} for r in _list(rules))
    for _, resource in stack.resources("AWS::EC2::SecurityGroupIngress"):
        rule = stack.resolver.value(resource.get("Properties", {}))
        target = rule.get("GroupId") if isinstance(rule, dict) else None
        if isinstance(target, Reference) and target.logical_id in groups:
            yield rule


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def no_ranges(stack: StackSeen, logical_id: str) -> Verdict:
    """Whether a security group, of a store or of anything else, admits addresses instead of groups."""
    ranges = [str(r.get("CidrIp") or r.get("CidrIpv6")) for r in ingress(stack, {logical_id}) if not _by_group(r)]
    return fail(f"it admits {', '.join(ranges)}") if ranges else PASS


def _by_group(rule: Mapping[str, Any]) -> bool:
    return isinstance(rule.get("SourceSecurityGroupId"), Reference)


def access_list(s: StoreSubject) -> Verdict:
    """The cache's users: applications with the declared access, a default user that can do nothing, and nobody else."""
    if not isinstance(s.store, Cache):
        return EXEMPT
    users = s.get("@UserGroupIds", "UserIds", default=[])
    if isinstance(users, Unknown):
        return unknown(f"its users cannot be read: {users.reason}")
    seen = [
        dig(s.stack, s.stack.template["Resources"].get(u.logical_id, {}), "Properties")
        for u in users
        if isinstance(u, Reference)
    ]
    if len(seen) < len(users) or not seen:
        return fail("it has users that are not in the stack, or none")
    for user in seen:
        name, access = user.get("UserName"), str(user.get("AccessString"))
        if name == "default":
            if access.split()[:1] != ["off"] or "+" in access:
                return fail("the default user can log in")
        elif access != s.store.access:
            return fail(f"{name} may do {access!r}, declared is {s.store.access!r}")
        elif dig(s.stack, user, "AuthenticationMode", "Type") != "iam":
            return fail(f"{name} does not log in with IAM")
    if not any(u.get("UserName") == "default" for u in seen):
        return fail("the group has no default user of its own, so ElastiCache's open one is in it")
    return PASS


def topics(s: StoreSubject) -> Verdict:
    """Every declared topic, as declared, under one prefix; and no other."""
    if not isinstance(s.store, Broker):
        return EXEMPT
    declared = [t.name for t in s.store.topics]
    prefixes, problems = set(), []
    found = []
    for _, resource in s.stack.resources("AWS::MSK::Topic"):
        p = s.stack.resolver.value(resource.get("Properties", {}))
        name = str(p.get("TopicName"))
        topic = _declared_topic(s.store, name)
        if topic is None:
            problems.append(f"{name} is declared nowhere")
            continue
        prefixes.add(name.removesuffix(f".{topic.name}"))
        found.append(topic.name)
        for what, seen, want in (
            ("partitions", p.get("PartitionCount"), topic.partitions),
            ("replicas", p.get("ReplicationFactor"), topic.replication),
            ("settings", _settings(p.get("Configs")), topic.settings),
        ):
            if not alike(seen, want):
                problems.append(f"{what} of {name}: {_say(seen)}, declared is {_say(want)}")
        if not (isinstance(p.get("ClusterArn"), Reference) and p["ClusterArn"].logical_id == s.logical_id):
            problems.append(f"{name} is in another cluster")
        if Guard.RETAIN in s.required and (verdict := kept(s.stack, resource)) != PASS:
            problems.append(f"{name}: {verdict.detail}")
    problems += [f"{name} is missing" for name in declared if found.count(name) == 0]
    problems += [f"{name} is there twice" for name in declared if found.count(name) > 1]
    if len(prefixes) > 1:
        problems.append(f"topics have different prefixes: {', '.join(sorted(prefixes))}")
    return fail("; ".join(problems)) if problems else PASS


def _settings(configs: Any) -> Any:
    try:
        return json.loads(base64.b64decode(str(configs)))
    except ValueError:
        return Unknown("Configs is no base64 of JSON")


def _say(value: Any) -> str:
    return json.dumps(value, default=str, sort_keys=True) if not isinstance(value, str) else value


def expiry(s: StoreSubject) -> Verdict:
    """What the bucket does with old objects is what is declared, and nothing else is deleted."""
    if not isinstance(s.store, Bucket):
        return EXEMPT
    rules = s.get("LifecycleConfiguration", "Rules", default=[])
    if isinstance(rules, Unknown):
        return unknown(f"its lifecycle cannot be read: {rules.reason}")
    problems = []
    declared = {p.folder: p for p in s.store.prefixes}
    seen: dict[str, tuple[dict[str, int], int | None]] = {}
    for rule in rules:
        folder, (tiers, end) = str(rule.get("Prefix", "")), seen.setdefault(str(rule.get("Prefix", "")), ({}, None))
        if rule.get("Status") != "Enabled":
            problems.append(f"a rule for {folder or 'everything'} is switched off")
            continue
        tiers |= {str(t.get("StorageClass")): int(t.get("TransitionInDays", 0)) for t in rule.get("Transitions", [])}
        seen[folder] = (tiers, rule.get("ExpirationInDays", end))
    for folder, prefix in declared.items():
        want = ({k: v.days for k, v in prefix.tiers.items()}, prefix.expire.days if prefix.expire else None)
        if not alike(list(seen.pop(folder, ({}, None))), list(want)):
            problems.append(f"{folder} is not treated as declared")
    problems += [
        f"{folder or 'everything'} is moved or deleted, which is not declared"
        for folder, w in seen.items()
        if w != ({}, None)
    ]
    return fail("; ".join(problems)) if problems else PASS


def locked(s: StoreSubject) -> Verdict:
    if not isinstance(s.store, Bucket) or s.store.locked is None or Guard.RETAIN not in s.required:
        return EXEMPT
    days = s.store.locked.days
    retention = "ObjectLockConfiguration.Rule.DefaultRetention"
    return met(
        s,
        [
            Need("objects can be deleted: Object Lock is off", "ObjectLockEnabled", on),
            Need(f"objects can be deleted before {days} days", f"{retention}.Days", at_least(days), 0),
            Need("the lock has no mode", f"{retention}.Mode", exactly("GOVERNANCE", "COMPLIANCE")),
        ],
    )


SECRET_KEY = {
    INSTANCE: "MasterUserSecret.KmsKeyId",
    CLUSTER: "MasterUserSecret.KmsKeyId",
    DOCUMENTS: "MasterUserSecretKmsKeyId",
}


def credentials(s: StoreSubject) -> Verdict:
    """Nobody ever typed the password, and it changes by itself."""
    if not isinstance(s.store, Database | Documents):
        return EXEMPT
    if "MasterUserPassword" in s.resource.get("Properties", {}):
        return _rotated(s)
    return met(
        s,
        [
            Need("its password is not managed", "ManageMasterUserPassword", on, False),
            Need("its secret is not under the stack's key", SECRET_KEY[s.type], own_key),
        ],
    )


def _rotated(s: StoreSubject) -> Verdict:
    password = s.resource["Properties"]["MasterUserPassword"]
    secrets = {i for i in mentioned(password) if s.stack.is_a(Reference(i), "AWS::SecretsManager::Secret")}
    if "resolve:secretsmanager" not in json.dumps(password) or not secrets:
        return fail("its password does not come from a secret of the stack")
    for _, rotation in s.stack.resources("AWS::SecretsManager::RotationSchedule"):
        secret = dig(s.stack, rotation, "Properties", "SecretId")
        attached = isinstance(secret, Reference) and mentioned(s.stack.template["Resources"][secret.logical_id])
        if isinstance(secret, Reference) and (secret.logical_id in secrets or secrets & (attached or set())):
            return PASS
    return fail("its password is never changed: no rotation for its secret")


def tagged(s: StoreSubject) -> Verdict:
    want = s.placed.tags | s.placed.table_tags(s.store)
    tags = s.get("Tags", default=[])
    if isinstance(tags, Unknown):
        return unknown(f"tags cannot be read: {tags.reason}")
    pairs = tags.items() if isinstance(tags, dict) else ((t.get("Key"), t.get("Value")) for t in tags)
    seen = {str(k): v for k, v in pairs}
    wrong = sorted(n for n in REQUIRED_TAGS if seen.get(n) != want[n])
    return fail(f"tags missing or wrong: {', '.join(wrong)}") if wrong else PASS


def pooled(s: StoreSubject) -> Verdict:
    """The declared pool stands before the database, over TLS, with the declared figures."""
    pool = s.store.pool if isinstance(s.store, Database) else None
    if pool is None:
        return EXEMPT
    targets = [
        (i, r)
        for i, r in s.stack.resources("AWS::RDS::DBProxyTargetGroup")
        if s.logical_id in mentioned(r.get("Properties", {}))
    ]
    if not targets:
        return fail("no pool stands before it")
    percent = {
        name: 100 * n // pool.max_connections for name, n in (("Max", pool.max_open), ("MaxIdle", pool.max_idle))
    }
    figures = "ConnectionPoolConfigurationInfo"
    wanted = [
        Need(
            f"open connections are not {pool.max_open} of {pool.max_connections}",
            f"{figures}.MaxConnectionsPercent",
            exactly(percent["Max"]),
        ),
        Need(
            f"idle connections are not {pool.max_idle}",
            f"{figures}.MaxIdleConnectionsPercent",
            exactly(percent["MaxIdle"]),
        ),
        Need("the pool takes connections without TLS", "@DBProxyName.RequireTLS", on, False),
        Need("the pool takes passwords", "@DBProxyName.Auth", _iam_only),
    ]
    return met(StoreSubject(s.placed, s.store, s.required, s.stack, targets[0][0]), wanted)


def _iam_only(_: StoreSubject, value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(a, dict) and a.get("IAMAuth") == "REQUIRED" for a in value)
    )


def upkept(s: StoreSubject) -> Verdict:
    """The jobs of a database: its schema is applied at every deploy, and its partitions are kept every day."""
    if not isinstance(s.store, Database):
        return EXEMPT
    problems = []
    triggers = [r for _, r in s.stack.resources("Custom::Trigger")]
    if not triggers:
        problems.append("nothing applies its schema at a deploy")
    wanted = [DRIFT_SCHEDULE, *([s.store.upkeep.schedule] if s.store.upkeep else [])]
    schedules = [
        s.stack.resolver.value(r.get("Properties", {})) for _, r in s.stack.resources("AWS::Scheduler::Schedule")
    ]
    for expression in wanted:
        own = [p for p in schedules if isinstance(p, dict) and p.get("ScheduleExpression") == expression]
        if not own:
            problems.append(f"no job runs at {expression}")
        for p in own:
            if p.get("State", "ENABLED") != "ENABLED":
                problems.append(f"the job at {expression} is switched off")
            if not isinstance(dig(s.stack, p, "Target", "DeadLetterConfig", "Arn"), Reference):
                problems.append(f"the job at {expression} is lost when it fails: no queue")
    return fail("; ".join(problems)) if problems else PASS


def registered(s: StoreSubject) -> Verdict:
    """Every declared service can be found, with its configuration, and no other."""
    if not isinstance(s.store, Registry):
        return EXEMPT
    declared = {service.name for service in s.store.services}
    seen = {str(dig(s.stack, r, "Properties", "Name")) for _, r in s.stack.resources("AWS::ServiceDiscovery::Service")}
    wrong = [f"{name} is missing" for name in sorted(declared - seen)] + [
        f"{name} is declared nowhere" for name in sorted(seen - declared)
    ]
    values = {
        str(dig(s.stack, r, "Properties", "Name")): dig(s.stack, r, "Properties", "Value")
        for _, r in s.stack.resources("AWS::SSM::Parameter")
    }
    for service in s.store.services:
        wrong += [
            f"{name} is not {v}" for name, v in s.store.parameters(service).items() if not alike(values.get(name), v)
        ]
    return fail("; ".join(wrong)) if wrong else PASS
