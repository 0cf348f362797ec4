"""How each guard of a database, cache, broker or registry is read from its resources. Texts stand in stores.py."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.cfn.intrinsics import Reference
from holdfast.cfn.template import TOPIC, heard
from holdfast.kinds.alarms import store_alarms
from holdfast.kinds.broker.alarms import LagAlarm
from holdfast.kinds.broker.declaration import Broker
from holdfast.kinds.bucket.declaration import Bucket
from holdfast.kinds.cache.declaration import Cache
from holdfast.kinds.database.declaration import Database, Engine, Pool
from holdfast.kinds.documents.declaration import DocumentDatabase
from holdfast.kinds.registry.declaration import Registry
from holdfast.kinds.settings import (
    BACKUP_WINDOW,
    CACHE_LOGS,
    CACHE_PARAMETERS,
    CACHE_VERSION,
    DNS,
    DOCUMENT_PARAMETERS,
    NOBODY,
    POSTGRES_MAJOR,
    SNAPSHOT_DAYS,
    database_parameters,
    log_days,
    pool_percent,
    server_properties,
    written_logs,
)
from holdfast.model.facts import Guard
from holdfast.rules.same import alike, changes
from holdfast.rules.store_backups import kept
from holdfast.rules.store_buckets import access_logs_kept, bucket_key, declared_policy
from holdfast.rules.store_network import SUBNET, VPC
from holdfast.rules.store_subject import (
    BROKER,
    BUCKET,
    CACHE,
    CLUSTER,
    DOCUMENTS,
    DOCUMENTS_INSTANCE,
    GROUP,
    INSTANCE,
    LOG_GROUP,
    Need,
    StoreSubject,
    about,
    all_own,
    at_least,
    dig,
    exactly,
    mentioned,
    met,
    needs,
    on,
    own,
    own_key,
    starting,
    worst,
)
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Verdict, fail, unknown

protected = needs(
    {
        kind: (Need("it can be deleted: DeletionProtection is off", "DeletionProtection", on, False),)
        for kind in (INSTANCE, CLUSTER, DOCUMENTS)
    },
    guard=Guard.DELETION_PROTECTION,
)
INSIGHTS = Need("statements that are watched are not under the stack's key", "PerformanceInsightsKMSKeyId", own_key)
STORAGE = (
    Need("storage is not encrypted", "StorageEncrypted", on, False),
    Need("storage is not under the stack's key", "KmsKeyId", own_key),
)
under_own_key = needs(
    {
        INSTANCE: (*STORAGE, INSIGHTS),
        CLUSTER: STORAGE,
        DOCUMENTS: STORAGE,
        CACHE: (
            Need("the cache is not encrypted at rest", "AtRestEncryptionEnabled", on, False),
            Need("the cache is not under the stack's key", "KmsKeyId", own_key),
        ),
        BROKER: (
            Need(
                "the logs are not under the stack's key", "EncryptionInfo.EncryptionAtRest.DataVolumeKMSKeyId", own_key
            ),
        ),
        BUCKET: (Need("objects are not under the stack's key", "BucketEncryption", bucket_key),),
    },
    members={INSTANCE: (INSIGHTS,)},
    guard=Guard.CUSTOMER_KEY,
)


def encrypted_on_the_way(s: StoreSubject) -> Verdict:
    return _policy(s) if isinstance(s.store, Bucket) else needs(ON_THE_WAY)(s)


def _policy(s: StoreSubject) -> Verdict:
    return declared_policy(s.stack, s.logical_id, lasting=Guard.RETAIN in s.required)


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


def configured(s: StoreSubject) -> Verdict:
    """The engine, its version and its own settings are the declared ones, and nothing is added to them."""
    watched = [Need("nobody watches its machine", "MonitoringInterval", at_least(1), 0)] if s.prod else []
    match s.store:
        case Database():
            aurora = s.store.engine is Engine.AURORA
            group = "@DBClusterParameterGroupName" if s.type == CLUSTER else "@DBParameterGroupName"
            parameters = _settings_in(s, (group, "Parameters"), database_parameters(s.store))
            wanted = [
                Need("it runs another engine", "Engine", exactly("aurora-postgresql" if aurora else "postgres")),
                Need(f"it is not PostgreSQL {POSTGRES_MAJOR}", "EngineVersion", starting(f"{POSTGRES_MAJOR}.")),
                Need("its own backup runs into those of the vault", "PreferredBackupWindow", exactly(BACKUP_WINDOW)),
                *([] if s.type == CLUSTER else watched),
            ]
        case DocumentDatabase():
            parameters = _settings_in(s, ("@DBClusterParameterGroupName", "Parameters"), DOCUMENT_PARAMETERS)
            wanted = [Need("its version gets no fixes", "EngineVersion", starting("5."))]
        case Cache():
            parameters = _settings_in(s, ("@CacheParameterGroupName", "Properties"), CACHE_PARAMETERS)
            wanted = [
                Need("it runs another engine", "Engine", exactly("valkey")),
                Need("its version gets no fixes", "EngineVersion", at_least(int(float(CACHE_VERSION)))),
                *([Need("snapshots are off", "SnapshotRetentionLimit", at_least(SNAPSHOT_DAYS), 0)] if s.prod else []),
            ]
        case Broker():
            declared = server_properties(s.store, keeps_topics=Guard.RETAIN in s.required)
            parameters = _settings_in(s, ("ConfigurationInfo", "@Arn", "ServerProperties"), _lines(declared))
            levels = Need(
                "its topics are not counted, so alarms are blind", "EnhancedMonitoring", starting("PER_TOPIC_")
            )
            wanted = [levels] if Guard.ALARMS in s.required else []
        case _:
            return EXEMPT
    of_members = [about(m, met(m, watched)) for m in s.members if m.type == INSTANCE]
    return worst([parameters, met(s, wanted), *of_members])


def _settings_in(s: StoreSubject, path: tuple[str, ...], wanted: Mapping[str, str]) -> Verdict:
    """Whether a group of parameters holds what is declared, and nothing else."""
    seen = s.get(*path, default={})
    if isinstance(seen, Unknown):
        return unknown(f"its parameters cannot be read: {seen.reason}")
    seen = seen if isinstance(seen, dict) else _lines(seen)
    wrong = sorted(name for name in seen.keys() | wanted.keys() if not alike(seen.get(name), wanted.get(name)))
    return fail(f"parameters are not as declared: {', '.join(wrong)}") if wrong else PASS


def _lines(text: Any) -> dict[str, str]:
    """The settings of a file of properties."""
    pairs = (line.partition("=") for line in str(text).splitlines() if line.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}


TAKEN = {
    BROKER: (
        Need(
            "broker logs go to no group of the stack", "LoggingInfo.BrokerLogs.CloudWatchLogs.LogGroup", own(LOG_GROUP)
        ),
    ),
    CACHE: (
        Need(
            "its logs do not go to groups of the stack",
            "LogDeliveryConfigurations",
            lambda s, value: isinstance(value, list) and set(_delivered(s, value)) == {f"{w}-log" for w in CACHE_LOGS},
        ),
    ),
}


def _delivered(s: StoreSubject, configurations: list[Any]) -> Iterator[str]:
    for c in configurations:
        group = dig(s.stack, c, "DestinationDetails", "CloudWatchLogsDetails", "LogGroup")
        yield str(c.get("LogType")) if s.stack.is_a(group, LOG_GROUP) else "elsewhere"


def logs_kept(s: StoreSubject) -> Verdict:
    """What takes the logs of a store is there, in the stack, keeps them and stays."""
    if isinstance(s.store, Bucket):
        return access_logs_kept(s)
    groups = {str(dig(s.stack, r, "Properties", "LogGroupName")): (i, r) for i, r in s.stack.resources(LOG_GROUP)}
    verdicts = [needs(TAKEN)(s)]
    days = log_days(s.placed)
    for name in written_logs(s.placed, s.store):
        if name not in groups:
            verdicts.append(fail(f"the log group {name} is not in the stack"))
            continue
        logical_id, resource = groups[name]
        forgotten = Need(f"{name} is not kept {days} days", "RetentionInDays", at_least(days), 10**6)
        verdicts.append(met(s.part(logical_id), [forgotten]))
        if s.prod and (verdict := kept(s.stack, resource)) != PASS:
            verdicts.append(fail(f"{name}: {verdict.detail}"))
    return EXEMPT if verdicts == [EXEMPT] else worst(verdicts)


def in_zones(s: StoreSubject) -> Verdict:
    if not s.prod or not isinstance(s.store, Database | DocumentDatabase | Cache | Broker):
        return EXEMPT
    if s.type in (CLUSTER, DOCUMENTS):
        kind = INSTANCE if s.type == CLUSTER else DOCUMENTS_INSTANCE
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


def watched(s: StoreSubject) -> Verdict:
    """The declared alarms of a store are there, as declared, and a topic of the stack hears them."""
    if Guard.ALARMS not in s.required:
        return EXEMPT
    seen: dict[str, list[Mapping[str, Any]]] = {}
    for p in s.stack.alarms.values():
        if isinstance(p, dict) and isinstance(p.get("AlarmName"), str):
            seen.setdefault(p["AlarmName"], []).append(p)
    for alarm in store_alarms(s.placed, s.store):
        found = seen.get(alarm.name, [])
        if len(found) > 1:
            return fail(f"{len(found)} alarms are called {alarm.name}, and nobody knows which one is made")
        if changed := changes(alarm, _usual(found[0]) if found else None):
            return fail(f"not as declared: {', '.join(changed)}")
        if heard(s.stack, found[0]) is not True:
            return fail(f"no topic of the stack hears {alarm.name}")
        silent = found[0].get("InsufficientDataActions", [])
        if isinstance(alarm, LagAlarm) and not all_own(TOPIC)(s, silent):
            return fail(f"no topic of the stack hears when {alarm.name} sees nothing")
    return PASS


def _usual(alarm: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without what CloudWatch takes anyway: as many points as periods."""
    points = alarm.get("DatapointsToAlarm")
    if points is None or not alike(points, alarm.get("EvaluationPeriods")):
        return alarm
    return {k: v for k, v in alarm.items() if k != "DatapointsToAlarm"}


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
    if len(seen) < len(users) or not seen or not all(isinstance(u, dict) for u in seen):
        return fail("it has users that are not in the stack, or none")
    for user in seen:
        name, access = user.get("UserName"), str(user.get("AccessString"))
        if user.keys() & {"NoPasswordRequired", "Passwords"}:
            return fail(f"{name} has a password, or needs none")
        if name == "default":
            if "off" not in access.split() or not set(access.split()) <= {
                *NOBODY.split(),
                "resetkeys",
                "resetchannels",
            }:
                return fail("the default user can log in")
        elif access != s.store.access:
            return fail(f"{name} may do {access!r}, declared is {s.store.access!r}")
        elif dig(s.stack, user, "AuthenticationMode", "Type") != "iam":
            return fail(f"{name} does not log in with IAM")
    if not any(u.get("UserName") == "default" for u in seen):
        return fail("the group has no default user of its own, so ElastiCache's open one is in it")
    return PASS


def topics(s: StoreSubject) -> Verdict:
    """Every declared topic, as declared; and no other."""
    if not isinstance(s.store, Broker):
        return EXEMPT
    declared = {s.placed.topic(s.store, t): t for t in s.store.topics}
    found, problems = [], []
    for _, resource in s.stack.resources("AWS::MSK::Topic"):
        p = s.stack.resolver.value(resource.get("Properties", {}))
        name = str(p.get("TopicName"))
        topic = declared.get(name)
        if topic is None:
            problems.append(f"{name} is declared nowhere")
            continue
        found.append(name)
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
    return fail("; ".join(problems)) if problems else PASS


def _settings(configs: Any) -> Any:
    try:
        return json.loads(base64.b64decode(str(configs)))
    except ValueError:
        return Unknown("Configs is no base64 of JSON")


def _say(value: Any) -> str:
    if isinstance(value, Unknown):
        return value.reason
    return json.dumps(value, default=str, sort_keys=True) if not isinstance(value, str) else value


SECRET_KEY = {
    INSTANCE: "MasterUserSecret.KmsKeyId",
    CLUSTER: "MasterUserSecret.KmsKeyId",
    DOCUMENTS: "MasterUserSecretKmsKeyId",
}


def credentials(s: StoreSubject) -> Verdict:
    """Nobody ever typed the password, and it changes by itself."""
    if not isinstance(s.store, Database | DocumentDatabase):
        return EXEMPT
    return met(
        s,
        [
            Need("its password is given to it, so it stands somewhere else, too", "MasterUserPassword", exactly(None)),
            Need("its password is not managed", "ManageMasterUserPassword", on, False),
            Need("its secret is not under the stack's key", SECRET_KEY[s.type], own_key),
        ],
    )


def tagged(s: StoreSubject) -> Verdict:
    want = s.placed.tags | s.placed.table_tags(s.store)
    tags = s.get("Tags", default=[])
    if isinstance(tags, Unknown):
        return unknown(f"tags cannot be read: {tags.reason}")
    listed = tags if isinstance(tags, list) else []
    pairs = tags.items() if isinstance(tags, dict) else ((t.get("Key"), t.get("Value")) for t in listed if _is(t))
    seen = {str(k): v for k, v in pairs}
    wrong = sorted(n for n in s.placed.policy.tags if seen.get(n) != want[n])
    return fail(f"tags missing or wrong: {', '.join(wrong)}") if wrong else PASS


def _is(value: Any) -> bool:
    return isinstance(value, dict)


def pools_of(s: StoreSubject) -> list[str]:
    """Whatever stands, or may stand, before a database."""
    kind = "AWS::RDS::DBProxyTargetGroup"
    return [i for i, r in s.stack.possible(kind) if s.logical_id in mentioned(r.get("Properties", {}))]


def pooled(s: StoreSubject) -> Verdict:
    """The declared pool stands before the database, over TLS, with the declared figures, and no other."""
    pool = s.store.pool if isinstance(s.store, Database) else None
    if pool is None:
        return EXEMPT
    targets = pools_of(s)
    if len(targets) != 1:
        return fail(f"{len(targets) or 'no'} pools stand before it, declared is one")
    of = "DBClusterIdentifiers" if s.type == CLUSTER else "DBInstanceIdentifiers"
    figures, proxy = "ConnectionPoolConfigurationInfo", "@DBProxyName"
    wanted = [
        Need("the pool is another database's", of, exactly([Reference(s.logical_id)])),
        Need(
            f"open connections are not {pool.max_open} of {pool.max_connections}",
            f"{figures}.MaxConnectionsPercent",
            exactly(pool_percent(pool.max_open, pool)),
        ),
        Need(
            f"idle connections are not {pool.max_idle}",
            f"{figures}.MaxIdleConnectionsPercent",
            exactly(pool_percent(pool.max_idle, pool)),
        ),
        Need("the pool takes connections without TLS", f"{proxy}.RequireTLS", on, False),
        Need("the pool takes passwords", f"{proxy}.DefaultAuthScheme", exactly("IAM_AUTH")),
        Need("the pool takes passwords", f"{proxy}.Auth", exactly(None)),
        Need("the pool writes statements to its log", f"{proxy}.DebugLogging", exactly(False), False),
        Need("the pool wears no groups of the stack", f"{proxy}.VpcSecurityGroupIds", all_own(GROUP)),
        Need("the pool stands in no subnets of the stack", f"{proxy}.VpcSubnetIds", all_own(SUBNET)),
        Need(
            "clients of the pool are cut off at another age",
            f"{proxy}.IdleClientTimeout",
            exactly(pool.max_lifetime.total_seconds()),
        ),
    ]
    return worst([met(s.part(targets[0]), wanted), _settings_of(s, pool)])


def _settings_of(s: StoreSubject, pool: Pool) -> Verdict:
    return _parameters(s, {f"/{s.name}/pool/{setting}": value for setting, value in pool.settings.items()})


def _parameters(s: StoreSubject, wanted: Mapping[str, str]) -> Verdict:
    """Whether each parameter is there once, with the declared value."""
    seen: dict[str, list[Any]] = {}
    for _, r in s.stack.possible("AWS::SSM::Parameter"):
        value = dig(s.stack, r, "Properties", "Value")
        seen.setdefault(str(dig(s.stack, r, "Properties", "Name")), []).append(value)
    wrong = [f"{name} is not {value}" for name, value in wanted.items() if not alike(seen.get(name), [value])]
    return fail("; ".join(wrong)) if wrong else PASS


def registered(s: StoreSubject) -> Verdict:
    """Every declared service can be found, with its configuration, and no other."""
    if not isinstance(s.store, Registry):
        return EXEMPT
    services = {service.name: service for service in s.store.services}
    seen: dict[str, str] = {}
    verdicts = [met(s, [Need("its names are known in another network", "Vpc", own(VPC))])]
    for logical_id, r in s.stack.possible("AWS::ServiceDiscovery::Service"):
        name = str(dig(s.stack, r, "Properties", "Name"))
        if name not in services or name in seen:
            verdicts.append(fail(f"{name} is declared nowhere, or twice"))
        seen[name] = logical_id
    for name, service in services.items():
        if name not in seen:
            verdicts.append(fail(f"{name} is missing"))
            continue
        wanted = [
            Need(f"{name} is in another namespace", "NamespaceId", exactly(Reference(s.logical_id))),
            Need(f"{name} is found in another way, or believed for too long", "DnsConfig", exactly(DNS)),
        ]
        verdicts += [met(s.part(seen[name]), wanted), _parameters(s, s.store.parameters(service))]
    return worst(verdicts)
