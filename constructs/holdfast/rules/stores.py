"""Databases, caches, brokers, buckets: the guards of the tables, in the words of each engine."""

from __future__ import annotations

from holdfast.model import Guard
from holdfast.rules import store_backups as backups
from holdfast.rules import store_buckets as buckets
from holdfast.rules import store_checks as checks
from holdfast.rules import store_jobs as jobs
from holdfast.rules import store_network as network
from holdfast.rules.base import Rule, Severity
from holdfast.rules.store_subject import (
    BROKER,
    BUCKET,
    CACHE,
    CLUSTER,
    DOCUMENTS,
    DOCUMENTS_INSTANCE,
    INSTANCE,
    Need,
    exactly,
    names,
    needs,
    off,
    on,
    own_key,
    some,
)

ABSENT = Rule(
    id="HF501",
    title="Every declared store exists",
    why="A database or bucket that drops out of its stack is deleted by the next deploy, or left behind without an owner.",
    fix="Restore {table} in {stack}; to retire it on purpose, archive its data first and then drop its declaration.",
    severity=Severity.CRITICAL,
)
UNDECLARED = Rule(
    id="HF502",
    title="Every store is declared",
    why="A database, cache, broker or bucket that nobody declared has no owner, no data class and no required protection.",
    fix="Declare {table} in stacks/, or remove it from {stack}.",
    severity=Severity.HIGH,
)
RANGES = Rule(
    id="HF503",
    title="Security groups admit groups, not addresses",
    why="An address range admits whatever stands behind it tomorrow; a group admits what wears it.",
    fix="Name a security group of {stack} as the source, as Network.allow does.",
    severity=Severity.HIGH,
    controls=("SecurityHub EC2.18", "SecurityHub EC2.19"),
)
SETTINGS = Rule(
    id="HF504",
    title="Nothing is set that nobody declared",
    why="A replica, a second login, a copy to another account: each is one property that no check knows by name, and that "
    "follows from no declaration.",
    fix="Remove the settings from {stack}; where they are meant, the construct sets them and rules/store_shapes.py lists them.",
    severity=Severity.HIGH,
)
WAYS = Rule(
    id="HF505",
    title="Nothing opens a way around the stores",
    why="A gateway, a peering, a function's public address or a resource policy on a secret reaches the data past everything "
    "that guards it.",
    fix="Remove it from {stack}; the constructs make nothing of the kind.",
    severity=Severity.CRITICAL,
)
NETWORK = Rule(
    id="HF506",
    title="The network of the stores is closed and watched",
    why="Data leaves by the way that nobody looked at: an open group, a subnet with public addresses, traffic that no log has.",
    fix="Restore the network of {stack}; the construct makes its flow log, its end points and groups that allow nothing more.",
    severity=Severity.HIGH,
    controls=("SecurityHub EC2.2", "SecurityHub EC2.6", "SecurityHub EC2.15", "PCI 1.4.4"),
)
ROLES = Rule(
    id="HF507",
    title="Roles beside the stores belong to a service, and delete nothing",
    why="Whoever can take a role, or change a function that has it, can do all that its policies allow.",
    fix="Restore the roles and policies of {stack}; each allows what its one job needs.",
    severity=Severity.HIGH,
    controls=("SecurityHub IAM.1", "SecurityHub IAM.21", "NIST AC-6"),
)
USED = Rule(
    id="HF508",
    title="Applications may use the stores as declared, and nothing else",
    why="The policy is attached to every service of a system: one action or one path more in it is given to all of them.",
    fix="Restore the policy of {stack} for applications; holdfast.applications derives it from the declared stores.",
    severity=Severity.HIGH,
    controls=("SecurityHub IAM.21", "NIST AC-6"),
)
PROTECTED = Rule(
    id="HF510",
    title="Durable production databases refuse to be deleted",
    why="Deletion protection makes the delete call fail, whoever makes it: a person, a script, or a stack that replaces it.",
    fix="Leave deletion protection of {table} to the construct.",
    severity=Severity.CRITICAL,
    controls=("SecurityHub RDS.7", "SecurityHub RDS.8", "SecurityHub DocumentDB.5", "HIPAA 164.308(a)(7)(i)"),
    waivable=False,
    check=needs(
        {
            t: (Need("it can be deleted: DeletionProtection is off", "DeletionProtection", on, False),)
            for t in (INSTANCE, CLUSTER, DOCUMENTS)
        },
        guard=Guard.DELETION_PROTECTION,
    ),
)
RETAINED = Rule(
    id="HF511",
    title="Durable production stores outlive their stack",
    why="Without RETAIN, a deleted stack or a property that needs a replacement takes the data with it.",
    fix="Restore DeletionPolicy and UpdateReplacePolicy: Retain on {table}; the construct sets both.",
    severity=Severity.CRITICAL,
    waivable=False,
    check=backups.retained,
)
RECOVERABLE = Rule(
    id="HF512",
    title="Durable production stores can be recovered",
    why="A wrong DELETE is found after days. Recovery has to reach back that far, and old versions of objects have to be there.",
    fix="Restore BackupRetentionPeriod (databases) or versioning (buckets) of {table} as declared.",
    severity=Severity.HIGH,
    controls=("SecurityHub RDS.11", "SecurityHub DocumentDB.2", "SecurityHub S3.14", "NIST CP-9", "PCI 10.3.3"),
    check=backups.recoverable,
)
BACKED_UP = Rule(
    id="HF513",
    title="Backups run as declared, into a vault that keeps them",
    why="Recovery to a point in time ends with the instance. Backups in a locked vault outlive a deleted database and a stolen "
    "administrator.",
    fix="Restore the backup plan, its selection and the locked vault for {table} in {stack}; the construct makes all three.",
    severity=Severity.HIGH,
    controls=("SecurityHub RDS.26", "SecurityHub Backup.1", "NIST CP-9", "PCI 10.3.3", "HIPAA 164.308(a)(7)(ii)(A)"),
    check=backups.backed_up,
)
INSIGHTS = Need("statements that are watched are not under the stack's key", "PerformanceInsightsKMSKeyId", own_key)
OWN_KEY = Rule(
    id="HF514",
    title="Personal data is encrypted with the stack's key",
    why="A key of one's own says who may read, logs every use, and makes data unreadable when it is switched off. For most stores "
    "it can only be set when they are made.",
    fix="Set the key of {table} to the key of {stack}; a store that was made without needs a copy into a new one.",
    severity=Severity.CRITICAL,
    controls=(
        "SecurityHub RDS.3",
        "SecurityHub RDS.27",
        "SecurityHub ElastiCache.4",
        "SecurityHub S3.17",
        "SecurityHub DocumentDB.1",
    ),
    check=needs(
        {
            INSTANCE: (
                Need("storage is not encrypted", "StorageEncrypted", on, False),
                Need("storage is not under the stack's key", "KmsKeyId", own_key),
                INSIGHTS,
            ),
            CLUSTER: (
                Need("storage is not encrypted", "StorageEncrypted", on, False),
                Need("storage is not under the stack's key", "KmsKeyId", own_key),
            ),
            DOCUMENTS: (
                Need("storage is not encrypted", "StorageEncrypted", on, False),
                Need("storage is not under the stack's key", "KmsKeyId", own_key),
            ),
            CACHE: (
                Need("the cache is not encrypted at rest", "AtRestEncryptionEnabled", on, False),
                Need("the cache is not under the stack's key", "KmsKeyId", own_key),
            ),
            BROKER: (
                Need(
                    "the logs are not under the stack's key",
                    "EncryptionInfo.EncryptionAtRest.DataVolumeKMSKeyId",
                    own_key,
                ),
            ),
            BUCKET: (Need("objects are not under the stack's key", "BucketEncryption", buckets.bucket_key),),
        },
        members={INSTANCE: (INSIGHTS,)},
        guard=Guard.CUSTOMER_KEY,
    ),
    waivable=False,
)
ON_THE_WAY = Rule(
    id="HF515",
    title="Stores refuse connections without TLS",
    why="A client that may connect in the clear sooner or later does, with its password.",
    fix="Restore forced TLS on {table}: rds.force_ssl, transit encryption, TLS between brokers, or the bucket's policy.",
    severity=Severity.HIGH,
    controls=(
        "SecurityHub RDS.38",
        "SecurityHub ElastiCache.5",
        "SecurityHub MSK.1",
        "SecurityHub S3.5",
        "SecurityHub DocumentDB.6",
    ),
    check=checks.encrypted_on_the_way,
)
CLOSED = Need("it has a public address", "PubliclyAccessible", exactly(False))
PRIVATE = Rule(
    id="HF516",
    title="Stores are not public",
    why="A store with a public address is one forgotten password away from everybody.",
    fix="Restore the block on public access of {table}; the construct sets it.",
    severity=Severity.CRITICAL,
    controls=("SecurityHub RDS.2", "SecurityHub S3.8", "SecurityHub MSK.4", "PCI 1.4.4"),
    check=needs(
        {
            INSTANCE: (CLOSED,),
            BROKER: (
                Need(
                    "it has public addresses",
                    "BrokerNodeGroupInfo.ConnectivityInfo.PublicAccess.Type",
                    exactly(None, "DISABLED"),
                ),
            ),
            BUCKET: buckets.CLOSED,
        },
        members={INSTANCE: (CLOSED,)},
    ),
    waivable=False,
)
WHO = Rule(
    id="HF517",
    title="Whoever connects says who they are to IAM",
    why="A shared password cannot be taken back from one person, and nobody can tell who used it.",
    fix="Restore IAM authentication on {table}, and nothing beside it.",
    severity=Severity.HIGH,
    controls=("SecurityHub RDS.10", "SecurityHub RDS.12", "SecurityHub MSK.6", "PCI 8.3.4"),
    check=needs(
        {
            INSTANCE: (Need("IAM authentication is off", "EnableIAMDatabaseAuthentication", on, False),),
            CLUSTER: (Need("IAM authentication is off", "EnableIAMDatabaseAuthentication", on, False),),
            BROKER: (
                Need("IAM authentication is off", "ClientAuthentication.Sasl.Iam.Enabled", on, False),
                Need("anybody may connect", "ClientAuthentication.Unauthenticated.Enabled", off),
                Need("passwords are taken", "ClientAuthentication.Sasl.Scram.Enabled", off),
                Need("certificates are taken", "ClientAuthentication.Tls.Enabled", off),
            ),
        }
    ),
)
ZONES = Rule(
    id="HF518",
    title="Production stores survive the loss of a zone",
    why="A zone fails a few times a year somewhere; a store in one zone fails with it.",
    fix="Restore the second and third zone of {table}: Multi-AZ, automatic failover, three brokers.",
    severity=Severity.HIGH,
    controls=("SecurityHub RDS.5", "SecurityHub RDS.15", "SecurityHub ElastiCache.3", "NIST CP-10"),
    check=checks.in_zones,
)
LOGGED = Rule(
    id="HF519",
    title="Stores write logs that stay",
    why="What was asked of a database, and who was refused, is only known afterwards if it was written elsewhere.",
    fix="Restore the exported logs of {table}; the construct names the groups.",
    severity=Severity.MEDIUM,
    controls=("SecurityHub RDS.36", "SecurityHub RDS.37", "SecurityHub DocumentDB.4", "SecurityHub S3.9", "PCI 10.2.1"),
    check=needs(
        {
            INSTANCE: (Need("the postgresql log is not exported", "EnableCloudwatchLogsExports", names("postgresql")),),
            CLUSTER: (Need("the postgresql log is not exported", "EnableCloudwatchLogsExports", names("postgresql")),),
            DOCUMENTS: (Need("the audit log is not exported", "EnableCloudwatchLogsExports", names("audit")),),
            BROKER: (Need("broker logs are off", "LoggingInfo.BrokerLogs.CloudWatchLogs.Enabled", on, False),),
            CACHE: (Need("the slow log goes nowhere", "LogDeliveryConfigurations", some),),
            BUCKET: (
                Need("access is not logged", "LoggingConfiguration.DestinationBucketName", buckets.another_bucket),
            ),
        }
    ),
)
ADMITTED = Rule(
    id="HF520",
    title="Stores admit their own port, from the stack's groups only",
    why="Every further port and every further source is a way in that nobody watches.",
    fix="Restore the one ingress rule of {table}; Network.allow makes it.",
    severity=Severity.HIGH,
    check=network.admitted,
)
FIXES = Need("minor versions are not taken", "AutoMinorVersionUpgrade", on, True)
CURRENT = Rule(
    id="HF521",
    title="Engines take security fixes, and snapshots keep their tags",
    why="A database that misses minor versions misses fixes that are public; a snapshot without tags has no owner.",
    fix="Restore AutoMinorVersionUpgrade and CopyTagsToSnapshot of {table}.",
    severity=Severity.MEDIUM,
    controls=(
        "SecurityHub RDS.13",
        "SecurityHub RDS.16",
        "SecurityHub RDS.17",
        "SecurityHub ElastiCache.2",
        "PCI 6.3.3",
    ),
    check=needs(
        {
            INSTANCE: (
                FIXES,
                Need("snapshots lose their tags", "CopyTagsToSnapshot", on, False),
            ),
            CLUSTER: (Need("snapshots lose their tags", "CopyTagsToSnapshot", on, False),),
            CACHE: (FIXES,),
        },
        members={INSTANCE: (FIXES,), DOCUMENTS_INSTANCE: (FIXES,)},
    ),
)
CREDENTIALS = Rule(
    id="HF522",
    title="Database passwords are generated, and change by themselves",
    why="A password that somebody chose is somewhere else, too; one that never changes is known to everybody who ever left.",
    fix="Let {table} manage its master password, under the key of {stack}; the construct does.",
    severity=Severity.HIGH,
    controls=("SecurityHub SecretsManager.1",),
    check=checks.credentials,
)
TAGGED = Rule(
    id="HF523",
    title="Stores carry their tags",
    why="Tags say whose data it is, how sensitive, and who pays; policies and audits read them.",
    fix="Restore the tags of {table}; the stack and the construct set them.",
    severity=Severity.LOW,
    check=checks.tagged,
)
WATCHED = Rule(
    id="HF524",
    title="Durable production stores are watched",
    why="A job that stopped, a partition that is missing and a backup that failed are noticed when they are needed.",
    fix="Restore the alarms of {table} as holdfast.store_alarms makes them; change them there if that is meant.",
    severity=Severity.MEDIUM,
    check=checks.watched,
)
KEPT_UP = Rule(
    id="HF525",
    title="The schema is applied at every deploy, and upkeep runs every day",
    why="Without its jobs a database lacks next month's partition, keeps what it must delete, and drifts from its declaration.",
    fix="Restore the trigger and the schedules of {table} in {stack}; the construct makes them.",
    severity=Severity.HIGH,
    check=jobs.upkept,
)
POOLED = Rule(
    id="HF526",
    title="The declared pool stands before the database",
    why="Without a pool every function opens connections of its own until the server has none left.",
    fix="Restore the proxy of {table} and its figures; the construct takes them from the declaration.",
    severity=Severity.MEDIUM,
    controls=("SecurityHub RDS.43",),
    check=checks.pooled,
)
CONFIGURED = Rule(
    id="HF527",
    title="Engines run with the declared settings",
    why="One parameter decides whether personal values are logged, topics appear by being named, or alarms see anything.",
    fix="Restore the engine, its version and its parameters of {table}; holdfast.store_settings has what is declared.",
    severity=Severity.HIGH,
    controls=("SecurityHub RDS.6", "PCI 2.2.1", "PCI 6.3.3"),
    check=checks.configured,
)
PLACED = Rule(
    id="HF528",
    title="Stores stand in the isolated subnets of their stack",
    why="A store in somebody else's subnets has their routes and their neighbours, and in one zone it fails with that zone.",
    fix="Restore the subnets of {table}: all those of the network of {stack}.",
    severity=Severity.HIGH,
    controls=("SecurityHub RDS.18", "SecurityHub ElastiCache.7"),
    check=network.in_subnets,
)
LOGS_KEPT = Rule(
    id="HF529",
    title="Logs of stores are kept in the stack",
    why="A log that goes elsewhere, or is gone after a day, answers no question about the day before.",
    fix="Restore the log groups of {table}, and the bucket for access logs; the constructs make them before the store.",
    severity=Severity.MEDIUM,
    controls=("SecurityHub CloudWatch.16", "PCI 10.5.1"),
    check=checks.logs_kept,
)
ACCESS = Rule(
    id="HF530",
    title="Applications reach the declared key families of a cache, and nothing else",
    why="One service with all keys and all commands can flush the sessions of all others.",
    fix="Restore the users of {table}: the declared access string by IAM, and a default user that is off.",
    severity=Severity.HIGH,
    controls=("SecurityHub ElastiCache.6",),
    check=checks.access_list,
)
EVICTED = Rule(
    id="HF531",
    title="A full cache gives up what expires first",
    why="With another policy a full cache refuses writes, or drops keys that have to stay, such as locks.",
    fix="Restore maxmemory-policy: volatile-ttl in the parameter group of {table}.",
    severity=Severity.MEDIUM,
    check=needs(
        {
            CACHE: (
                Need(
                    "maxmemory-policy is not volatile-ttl",
                    "@CacheParameterGroupName.Properties.maxmemory-policy",
                    exactly("volatile-ttl"),
                ),
            )
        }
    ),
)
TOPICS = Rule(
    id="HF532",
    title="Topics are as declared",
    why="Fewer replicas lose messages with a broker; a shorter retention loses what a slow consumer has not read yet.",
    fix="Restore the topics of {table}: partitions, replicas, retention and in-sync replicas as declared.",
    severity=Severity.HIGH,
    check=checks.topics,
)
EXPIRY = Rule(
    id="HF533",
    title="Objects are kept, moved and deleted as declared",
    why="A lifecycle rule too many deletes recordings, one too few keeps temporary files for ever.",
    fix="Restore the lifecycle rules of {table}; they follow from its prefixes.",
    severity=Severity.HIGH,
    controls=("SecurityHub S3.13",),
    check=buckets.expiry,
)
LOCKED = Rule(
    id="HF534",
    title="Archives cannot be deleted",
    why="An archive is the only copy of what was dropped from the database.",
    fix="Restore Object Lock and its retention on {table}; it can be switched on for an existing bucket.",
    severity=Severity.CRITICAL,
    controls=("SecurityHub S3.15",),
    check=buckets.locked,
)
REGISTERED = Rule(
    id="HF535",
    title="Every declared service can be found, with its configuration",
    why="A service that drops out of the registry is unreachable for all others, though it runs.",
    fix="Restore the services and parameters of {table} as declared.",
    severity=Severity.MEDIUM,
    check=checks.registered,
)

STORE_RULES: tuple[Rule, ...] = (
    PROTECTED,
    RETAINED,
    RECOVERABLE,
    BACKED_UP,
    OWN_KEY,
    ON_THE_WAY,
    PRIVATE,
    WHO,
    ZONES,
    LOGGED,
    ADMITTED,
    CURRENT,
    CREDENTIALS,
    TAGGED,
    WATCHED,
    KEPT_UP,
    POOLED,
    CONFIGURED,
    PLACED,
    LOGS_KEPT,
    ACCESS,
    EVICTED,
    TOPICS,
    EXPIRY,
    LOCKED,
    REGISTERED,
)
RULES = (ABSENT, UNDECLARED, RANGES, SETTINGS, WAYS, NETWORK, ROLES, USED, *STORE_RULES)
