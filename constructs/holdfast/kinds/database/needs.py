"""What the rules ask of a database, and where each answer is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.cfn.dig import dig, flat, mentioned
from holdfast.cfn.intrinsics import Reference
from holdfast.cfn.places import at
from holdfast.cfn.template import Source, StackSeen
from holdfast.cfn.types import FUNCTION, GROUP, LOG_GROUP, QUEUE, ROLE, SCHEDULE, SUBNET
from holdfast.kinds.base import Asked, Needs, StoreSubject
from holdfast.kinds.bucket import types as bucket_types
from holdfast.kinds.database.declaration import DRIFT_SCHEDULE, Database, Engine
from holdfast.kinds.database.settings import (
    FUNCTION_SECONDS,
    HANDLERS,
    POSTGRES_MAJOR,
    QUEUE_DAYS,
    UPKEEP,
    database_parameters,
    failed_jobs,
    function_names,
    pool_percent,
)
from holdfast.kinds.database.types import CLUSTER, CLUSTER_PARAMETERS, INSTANCE, PARAMETERS, PROXY, TARGETS
from holdfast.kinds.find import find
from holdfast.kinds.need import (
    Need,
    about,
    absent,
    admits,
    all_own,
    at_least,
    exactly,
    instances,
    logs_stay,
    met,
    names,
    needs,
    off,
    on,
    own,
    own_key,
    parameters,
    read_by,
    settings_in,
    several,
    starting,
    worst,
)
from holdfast.model.facts import Guard
from holdfast.shared.vault.settings import BACKUP_WINDOW
from holdfast.verdict import EXEMPT, PASS, Outcome, Verdict, fail

Subject = StoreSubject[Database]
BOTH = (INSTANCE, CLUSTER)
PROTECTED = Need("it can be deleted: DeletionProtection is off", "DeletionProtection", on, False)
STORAGE = (
    Need("storage is not encrypted", "StorageEncrypted", on, False),
    Need("storage is not under the stack's key", "KmsKeyId", own_key),
)
INSIGHTS = Need("statements that are watched are not under the stack's key", "PerformanceInsightsKMSKeyId", own_key)
CLOSED = Need("it has a public address", "PubliclyAccessible", exactly(False))
FIXES = Need("minor versions are not taken", "AutoMinorVersionUpgrade", on, True)
TAGGED = Need("snapshots lose their tags", "CopyTagsToSnapshot", on, False)
EXPORTED = Need("the postgresql log is not exported", "EnableCloudwatchLogsExports", names("postgresql"))
LOG_IN = Need("IAM authentication is off", "EnableIAMDatabaseAuthentication", on, False)
COPIED = "it is copied from or to elsewhere"
COPIES: Mapping[str, tuple[Need, ...]] = {
    INSTANCE: absent(
        COPIED,
        "AssociatedRoles",
        "AutomaticBackupReplicationRegion",
        "DBClusterSnapshotIdentifier",
        "DBSnapshotIdentifier",
        "SourceDBClusterIdentifier",
        "SourceDBInstanceIdentifier",
        "SourceDbiResourceId",
    ),
    CLUSTER: (
        *absent(
            COPIED,
            "AssociatedRoles",
            "GlobalClusterIdentifier",
            "ReplicationSourceIdentifier",
            "SnapshotIdentifier",
            "SourceDBClusterIdentifier",
        ),
        Need("it answers HTTP", "EnableHttpEndpoint", off),
        Need("it has a public address", "PubliclyAccessible", off),
    ),
}


def tls(group: str) -> Need:
    return Need("connections without TLS are taken", f"@{group}.Parameters.rds/force_ssl", exactly(1))


def recoverable(s: Subject) -> Verdict:
    if Guard.PITR not in s.required:
        return EXEMPT
    wanted = [recovery_days(s.store.recovery.days)]
    if s.stack.source is not Source.LIVE:  # no API shows it: it is said when the database is deleted
        wanted.append(Need("its backups are deleted with it", "DeleteAutomatedBackups", exactly(False), True))
    return met(s, wanted)


def recovery_days(days: int) -> Need:
    return Need(f"recovery does not reach back {days} days", "BackupRetentionPeriod", at_least(days), 1)


def configured(s: Subject) -> Verdict:
    """The engine, its version and its own settings are the declared ones, and nothing is added to them."""
    aurora = s.store.engine is Engine.AURORA
    group = "@DBClusterParameterGroupName" if s.type == CLUSTER else "@DBParameterGroupName"
    seconds = s.placed.by_tier(s.placed.policy.monitoring_seconds)
    watched = [Need("its machine is not monitored", "MonitoringInterval", at_least(1), 0)] if seconds else []
    wanted = [
        Need("it runs another engine", "Engine", exactly("aurora-postgresql" if aurora else "postgres")),
        Need(f"it is not PostgreSQL {POSTGRES_MAJOR}", "EngineVersion", starting(f"{POSTGRES_MAJOR}.")),
        Need("its own backup runs into those of the vault", "PreferredBackupWindow", exactly(BACKUP_WINDOW)),
        *([] if s.type == CLUSTER else watched),
    ]
    of_members = [about(m, met(m, watched)) for m in s.members]
    return worst([settings_in(s, (group, "Parameters"), database_parameters(s.store)), met(s, wanted), *of_members])


def instances_in_zones(s: StoreSubject[Any]) -> Verdict:
    """Whether a cluster has enough instances, which its engine puts into different zones."""
    clusters = [
        dig(s.stack, r, "Properties", "DBClusterIdentifier") for _, r in s.stack.resources(s.kind.members[s.type])
    ]
    count = clusters.count(Reference(s.logical_id))
    wanted = instances(s)
    return PASS if count >= wanted else fail(f"it has {count} instances, and needs {wanted} in different zones")


def in_zones(s: Subject) -> Verdict:
    if s.type == CLUSTER:
        return instances_in_zones(s)
    return met(s, [Need("it stands in one zone", "MultiAZ", on, False)])


def generated(secret_key: str) -> tuple[Need, ...]:
    """The password was never typed, and it changes by itself."""
    return (
        Need("its password is given to it, so it stands somewhere else, too", "MasterUserPassword", exactly(None)),
        Need("its password is not managed", "ManageMasterUserPassword", on, False),
        Need("its secret is not under the stack's key", secret_key, own_key),
    )


def pools_of(s: Subject) -> list[str]:
    """Whatever stands, or may stand, before a database."""
    return [i for i, r in s.stack.possible(TARGETS) if s.logical_id in mentioned(r.get("Properties", {}))]


def pooled(s: Subject) -> Verdict:
    """The declared pool stands before the database, over TLS, with the declared figures, and no other."""
    pool = s.store.pool
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
        Need(
            "the pool has security groups that are not the stack's, or none",
            f"{proxy}.VpcSecurityGroupIds",
            all_own(GROUP),
        ),
        Need("the pool stands in no subnets of the stack", f"{proxy}.VpcSubnetIds", all_own(SUBNET)),
        Need(
            "clients of the pool are cut off at another age",
            f"{proxy}.IdleClientTimeout",
            exactly(pool.max_lifetime.total_seconds()),
        ),
    ]
    return worst(
        [
            met(s.part(targets[0]), wanted),
            parameters(s, {f"/{s.name}/pool/{setting}": value for setting, value in pool.settings.items()}),
        ]
    )


# The jobs


def upkept(s: Subject) -> Verdict:
    """The jobs of a database: its schema is applied at every deploy, and its partitions are kept every day."""
    wanted = {"drift": DRIFT_SCHEDULE}
    if s.store.upkeep:
        wanted |= dict.fromkeys(UPKEEP[type(s.store.upkeep)], s.store.upkeep.schedule)
    verdicts = [_failures(s)]
    for job, name in function_names(s.name, s.store).items():
        function = _named(s.stack, FUNCTION, "FunctionName", name)
        if function is None:
            verdicts.append(fail(f"its function {name} is gone"))
            continue
        verdicts.append(_function(s, job, name, function))
        verdicts.append(_scheduled(s, name, wanted[job], function) if job in wanted else _triggered(s, function))
    bad = [v.detail for v in verdicts if v.outcome is Outcome.FAIL]
    if bad:
        return fail("; ".join(bad))
    return next((v for v in verdicts if v.outcome is Outcome.UNKNOWN), PASS)


def _named(stack: StackSeen, kind: str, attribute: str, name: str) -> str | None:
    """The one resource of a type with a name; two of one name are none."""
    found = [i for i, r in stack.resources(kind) if dig(stack, r, "Properties", attribute) == name]
    return found[0] if len(found) == 1 else None


def _function(s: Subject, job: str, name: str, function: str) -> Verdict:
    variables = "Environment.Variables"
    wanted = [
        Need(f"{name} runs something else", "Handler", exactly(HANDLERS[job])),
        Need(f"the code of {name} is not an asset", "Code.S3Key", lambda _, key: isinstance(key, str)),
        Need(f"{name} may not run", "ReservedConcurrentExecutions", at_least(1), 1),
        Need(f"{name} is stopped before {FUNCTION_SECONDS} seconds", "Timeout", at_least(FUNCTION_SECONDS), 3),
        Need(f"{name} stands in no subnets of the stack", "VpcConfig.SubnetIds", all_own(SUBNET), []),
        Need(
            f"{name} has security groups that are not the stack's, or none",
            "VpcConfig.SecurityGroupIds",
            all_own(GROUP),
            [],
        ),
        Need(f"the settings of {name} are not under the stack's key", "KmsKeyArn", own_key),
        Need(f"what {name} fails at is lost: no queue", "DeadLetterConfig.TargetArn", own(QUEUE)),
        Need(f"{name} has no role of the stack", "Role", own(ROLE)),
        Need(f"{name} logs to no group of the stack", "LoggingConfig.LogGroup", own(LOG_GROUP)),
        Need(f"{name} works on another database", f"{variables}.DATABASE", exactly(s.name)),
        Need(f"{name} connects elsewhere", f"{variables}.HOST", _of(s, "Endpoint.Address")),
        Need(f"{name} connects elsewhere", f"{variables}.PORT", exactly(s.store.port)),
        Need(f"{name} takes another schema", f"{variables}.SCHEMA", exactly(s.store.schema)),
        Need(f"{name} uses another secret", f"{variables}.SECRET", _of(s, "MasterUserSecret.SecretArn")),
    ]
    verdict = met(s.part(function), wanted)
    if verdict == PASS and job == "retention" and not _archives(s, function):
        return fail(f"{name} archives to another bucket")
    return verdict


def _of(s: Subject, attribute: str) -> Any:
    return lambda _, value: value == Reference(s.logical_id, attribute)


def _archives(s: Subject, function: str) -> bool:
    bucket = next(t for t in s.placed.stores if t.name == s.store.archive)
    found = find(s.stack, s.placed, bucket, bucket_types.IDENTITY)
    if not isinstance(found, str):
        return True  # another rule's finding
    raw = s.part(function).resource["Properties"]["Environment"]["Variables"].get("ARCHIVE")
    return flat(s.stack, raw) == f"s3://${{{found}}}/archive"


def _scheduled(s: Subject, name: str, expression: str, function: str) -> Verdict:
    schedule = _named(s.stack, SCHEDULE, "Name", name)
    if schedule is None:
        return fail(f"nothing calls {name} at {expression}")
    return met(
        s.part(schedule),
        [
            Need(f"{name} does not run at {expression}", "ScheduleExpression", exactly(expression)),
            Need(f"{name} does not run by UTC", "ScheduleExpressionTimezone", exactly("UTC", "Etc/UTC"), "UTC"),
            Need(f"the schedule of {name} is switched off", "State", exactly("ENABLED"), "ENABLED"),
            Need(f"the schedule of {name} ends", "EndDate", exactly(None)),
            Need(f"the schedule of {name} calls something else", "Target.Arn", exactly(Reference(function, "Arn"))),
            Need(f"the schedule of {name} has no role of the stack", "Target.RoleArn", own(ROLE)),
            Need(f"a call of {name} that fails is lost: no queue", "Target.DeadLetterConfig.Arn", own(QUEUE)),
        ],
    )


def _triggered(s: Subject, function: str) -> Verdict:
    """Whether a deploy runs the function, and waits for what it says."""
    for _, trigger in s.stack.resources("Custom::Trigger"):
        version = dig(s.stack, trigger, "Properties", "HandlerArn")
        if not s.stack.is_a(version, "AWS::Lambda::Version"):
            continue
        handler = dig(s.stack, s.stack.template["Resources"][version.logical_id], "Properties", "FunctionName")
        if handler == Reference(function):
            waits = dig(s.stack, trigger, "Properties", "InvocationType", default="RequestResponse")
            return PASS if waits == "RequestResponse" else fail("a deploy does not wait for its schema")
    return fail("nothing applies its schema at a deploy")


def _failures(s: Subject) -> Verdict:
    """The queue of what was given up: under the name that its alarm reads, kept, and closed to plain HTTP."""
    queue = _named(s.stack, QUEUE, "QueueName", failed_jobs(s.name))
    if queue is None:
        return fail(f"the queue {failed_jobs(s.name)} is gone")
    policies = [r for _, r in s.stack.resources("AWS::SQS::QueuePolicy")]
    if not any(queue in mentioned(r.get("Properties", {}).get("Queues")) for r in policies):
        return fail(f"the queue {failed_jobs(s.name)} has no policy")
    kept = Need(
        f"the queue {failed_jobs(s.name)} forgets", "MessageRetentionPeriod", at_least(QUEUE_DAYS * 86_400), 4 * 86_400
    )
    return met(s.part(queue), [kept])


def beside(s: Subject) -> Verdict:
    """Its jobs and, where it is declared, its pool."""
    return worst([upkept(s), pooled(s)])


NEEDS: Needs[Database] = Needs(
    deletion_protection=Asked(
        needs(dict.fromkeys(BOTH, (PROTECTED,)), guard=Guard.DELETION_PROTECTION), at(BOTH, "DeletionProtection")
    ),
    recovery=Asked(recoverable, at(BOTH, "BackupRetentionPeriod", "DeleteAutomatedBackups")),
    expiry=None,
    customer_key=Asked(
        needs(
            {INSTANCE: (*STORAGE, INSIGHTS), CLUSTER: STORAGE},
            members={INSTANCE: (INSIGHTS,)},
            guard=Guard.CUSTOMER_KEY,
        ),
        at(BOTH, "KmsKeyId", "StorageEncrypted") + at(INSTANCE, "PerformanceInsightsKMSKeyId"),
    ),
    tls=Asked(
        needs({INSTANCE: (tls("DBParameterGroupName"),), CLUSTER: (tls("DBClusterParameterGroupName"),)}),
        at((PARAMETERS, CLUSTER_PARAMETERS), "Parameters/rds.force_ssl")
        + at(INSTANCE, "DBParameterGroupName")
        + at(CLUSTER, "DBClusterParameterGroupName"),
    ),
    private=Asked(
        needs({INSTANCE: (CLOSED, *COPIES[INSTANCE]), CLUSTER: COPIES[CLUSTER]}, members={INSTANCE: (CLOSED,)}),
        at(INSTANCE, "PubliclyAccessible") + tuple(p for kind, found in COPIES.items() for p in read_by(kind, found)),
    ),
    clients=Asked(needs(dict.fromkeys(BOTH, (LOG_IN,))), at(BOTH, "EnableIAMDatabaseAuthentication")),
    zones=Asked(several(in_zones), at(INSTANCE, "MultiAZ", "Type", "DBClusterIdentifier")),
    logs=Asked(needs(dict.fromkeys(BOTH, (EXPORTED,))), at(BOTH, "EnableCloudwatchLogsExports")),
    logs_kept=Asked(logs_stay(), ()),
    port=Asked(
        lambda s: admits("VPCSecurityGroups" if s.type == INSTANCE else "VpcSecurityGroupIds")(s),
        at(BOTH, "Port") + at(INSTANCE, "VPCSecurityGroups") + at(CLUSTER, "VpcSecurityGroupIds"),
    ),
    fixes=Asked(
        needs({INSTANCE: (FIXES, TAGGED), CLUSTER: (TAGGED,)}, members={INSTANCE: (FIXES,)}),
        at(INSTANCE, "AutoMinorVersionUpgrade") + at(BOTH, "CopyTagsToSnapshot"),
    ),
    passwords=Asked(
        lambda s: met(s, generated("MasterUserSecret.KmsKeyId")),
        at(BOTH, "ManageMasterUserPassword", "MasterUserPassword", "MasterUserSecret"),
    ),
    settings=Asked(
        configured,
        at(BOTH, "Engine", "EngineVersion", "PreferredBackupWindow")
        + at(INSTANCE, "MonitoringInterval")
        + at((PARAMETERS, CLUSTER_PARAMETERS), "Parameters"),
    ),
    jobs=Asked(
        beside,
        at(SCHEDULE, "Type", "EndDate", "Name", "ScheduleExpression", "ScheduleExpressionTimezone", "State", "Target")
        + at("Custom::Trigger", "Type", "HandlerArn", "InvocationType")
        + at(QUEUE, "Type", "MessageRetentionPeriod", "QueueName")
        + at(
            PROXY,
            "Auth",
            "DebugLogging",
            "DefaultAuthScheme",
            "IdleClientTimeout",
            "RequireTLS",
            "VpcSecurityGroupIds",
            "VpcSubnetIds",
        )
        + at(
            TARGETS,
            "Type",
            "ConnectionPoolConfigurationInfo",
            "DBClusterIdentifiers",
            "DBInstanceIdentifiers",
            "DBProxyName",
        ),
    ),
)
