"""Databases, caches, brokers, buckets: the guards of the tables, in the words of each engine."""

from __future__ import annotations

from holdfast.cfn.template import Source
from holdfast.kinds.table.observed import GLOBAL_TABLE, TABLE
from holdfast.model.facts import Guard
from holdfast.rules import store_backups as backups
from holdfast.rules import store_buckets as buckets
from holdfast.rules import store_checks as checks
from holdfast.rules import store_jobs as jobs
from holdfast.rules import store_network as network
from holdfast.rules.base import Check, Rule, Severity, at
from holdfast.rules.estate import HOLDERS
from holdfast.rules.resources import SUBSCRIPTION, alarmed, consumed, ends, there, tls_only
from holdfast.rules.store_subject import (
    BROKER,
    BUCKET,
    CACHE,
    CLUSTER,
    DOCUMENTS,
    DOCUMENTS_INSTANCE,
    GROUP,
    INSTANCE,
    STORES,
    Need,
    StoreSubject,
    dig,
    exactly,
    names,
    needs,
    off,
    on,
    some,
)
from holdfast.rules.store_types import HOLDING, MADE
from holdfast.rules.subjects import Consumer, Resource, StackSubject, TableSubject
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Verdict, fail, unknown

PARAMETER_GROUPS = (
    "AWS::RDS::DBParameterGroup",
    "AWS::RDS::DBClusterParameterGroup",
    "AWS::DocDB::DBClusterParameterGroup",
)
FUNCTION_SETTINGS = (
    "Code",
    "DeadLetterConfig",
    "Environment",
    "FunctionName",
    "Handler",
    "KmsKeyArn",
    "LoggingConfig",
    "ReservedConcurrentExecutions",
    "Role",
    "Timeout",
    "VpcConfig",
)


# What the constructs make beside the stores themselves.
OF_TABLES = frozenset(
    {
        TABLE,
        "AWS::CDK::Metadata",
        "AWS::CloudWatch::Alarm",
        "AWS::CloudWatch::Dashboard",
        "AWS::IAM::ManagedPolicy",
        "AWS::IAM::Role",
        "AWS::KMS::Alias",
        "AWS::KMS::Key",
        "AWS::Lambda::EventSourceMapping",
        "AWS::Lambda::Function",
        "AWS::Logs::LogGroup",
        "AWS::SNS::Topic",
        "AWS::SNS::TopicPolicy",
        "AWS::SQS::Queue",
        "AWS::SQS::QueuePolicy",
    }
)
OF_STORES = (
    OF_TABLES
    | MADE
    | {
        "AWS::SSM::Parameter",
        "Custom::S3AutoDeleteObjects",
        "Custom::Trigger",
        "Custom::VpcRestrictDefaultSG",
    }
)


def known_type(r: Resource) -> Verdict:
    """Whether a construct makes such a thing, or the stack says why it is there."""
    made = OF_STORES if r.placed.stores else OF_TABLES
    told = r.type == SUBSCRIPTION and bool(r.placed.tell)
    if told or r.type in made or r.type in r.placed.stack.extras or r.type in HOLDERS or holds_data(r.type):
        return PASS
    return fail(f"no construct makes an {r.type}, and the stack does not say why it is there")


def holds_data(kind: str) -> bool:
    """Whether it is a store, which is told by its name where nobody declared it."""
    service = kind.split("::")[1] if kind.startswith("AWS::") else ""
    return kind in (*STORES, TABLE, GLOBAL_TABLE) or (service in HOLDING and kind not in MADE)


RANGES = Rule(
    id="HF503",
    forbids=True,
    title="Security groups admit groups, not addresses",
    why="An address range admits whatever stands behind it tomorrow; a group admits what wears it.",
    remediation="Name a security group of {stack} as the source, as Network.allow does.",
    severity=Severity.HIGH,
    paths=at("AWS::EC2::SecurityGroup", "SecurityGroupIngress")
    + at(
        "AWS::EC2::SecurityGroupIngress",
        "CidrIp",
        "CidrIpv6",
        "SourcePrefixListId",
        "SourceSecurityGroupId",
        "SourceSecurityGroupName",
        "Type",
    ),
    controls=("SecurityHub EC2.18", "SecurityHub EC2.19"),
    checks=(Check(Resource, network.no_ranges, (GROUP, network.INGRESS)),),
)
WAYS = Rule(
    id="HF505",
    forbids=True,
    title="Stacks hold only resource types that the constructs make",
    why="A custom resource, a gateway, a pipe, a schedule, an access key or a snapshot beside the data reaches, copies or deletes "
    "it past everything that guards it, and a list of what is dangerous never ends.",
    remediation="Remove it from {stack}; where it is meant, declare its type with the reason in extras= of the stack.",
    severity=Severity.CRITICAL,
    paths=("* Type",),
    checks=(Check(Resource, known_type),),
)
NETWORK = Rule(
    id="HF506",
    title="The network of the stores is closed and watched",
    why="Data leaves by the way that nobody looked at: an open group, a subnet with public addresses, traffic that no log has. A store "
    "in other subnets has their routes and their neighbours, and in one zone it fails with that zone.",
    remediation="Restore the network of {stack}; the construct makes its flow log, its end points and groups that allow nothing more.",
    severity=Severity.HIGH,
    paths=at("AWS::EC2::FlowLog", "Type", "LogDestination", "ResourceId", "TrafficType")
    + at("AWS::EC2::SecurityGroup", "SecurityGroupEgress")
    + at(
        "AWS::EC2::SecurityGroupEgress",
        "Type",
        "CidrIp",
        "CidrIpv6",
        "DestinationPrefixListId",
        "DestinationSecurityGroupId",
    )
    + at("AWS::EC2::Subnet", "MapPublicIpOnLaunch")
    + at("AWS::EC2::VPCEndpoint", "Type", "SecurityGroupIds", "ServiceName")
    + at("Custom::VpcRestrictDefaultSG", "Type"),
    explains=at((INSTANCE, CLUSTER, DOCUMENTS), "DBSubnetGroupName")
    + at(("AWS::RDS::DBSubnetGroup", "AWS::DocDB::DBSubnetGroup", "AWS::ElastiCache::SubnetGroup"), "SubnetIds")
    + at(CACHE, "CacheSubnetGroupName")
    + at(BROKER, "BrokerNodeGroupInfo/ClientSubnets"),
    controls=("SecurityHub EC2.2", "SecurityHub EC2.6", "SecurityHub EC2.15", "PCI 1.4.4"),
    checks=(Check(StackSubject, network.isolated),),
)
ROLES = Rule(
    id="HF507",
    title="Roles belong to a service of AWS, and delete nothing",
    why="Whoever can take a role, or change a function that has it, can do all that its policies allow. The policy for applications is "
    "attached to every service of a system: one action or one path more in it is given to all of them.",
    remediation="Restore the roles and policies of {stack}; each allows what its one job needs.",
    severity=Severity.HIGH,
    paths=at("AWS::IAM::Role", "AssumeRolePolicyDocument", "ManagedPolicyArns", "Policies")
    + at("AWS::IAM::ManagedPolicy", "Type", "ManagedPolicyName", "PolicyDocument"),
    controls=("SecurityHub IAM.1", "SecurityHub IAM.21", "NIST AC-6"),
    checks=(
        Check(Resource, jobs.modest_role, ("AWS::IAM::Role",)),
        Check(Resource, jobs.modest_policy, ("AWS::IAM::ManagedPolicy",)),
    ),
)
BACKED_UP = Rule(
    id="HF513",
    title="Backups run as declared, into a vault that keeps them",
    why="Recovery to a point in time ends with the instance. Backups in a locked vault outlive a deleted database and a stolen "
    "administrator.",
    remediation="Restore the backup plan, its selection and the locked vault for {table} in {stack}; the construct makes all three.",
    severity=Severity.HIGH,
    guard=Guard.PITR,
    paths=at("AWS::Backup::BackupPlan", "Type", "BackupPlan")
    + at("AWS::Backup::BackupSelection", "Type", "BackupPlanId", "BackupSelection")
    + at(
        "AWS::Backup::BackupVault",
        "Type",
        "AccessPolicy",
        "BackupVaultName",
        "DeletionPolicy",
        "EncryptionKeyArn",
        "LockConfiguration",
        "UpdateReplacePolicy",
    ),
    controls=("SecurityHub RDS.26", "SecurityHub Backup.1", "NIST CP-9", "PCI 10.3.3", "HIPAA 164.308(a)(7)(ii)(A)"),
    checks=(Check(StoreSubject, backups.backed_up),),
)
ON_THE_WAY = Rule(
    id="HF515",
    title="Stores, topics and queues refuse connections without TLS",
    why="A client that may connect in the clear sooner or later does, with its password, and messages travel unencrypted.",
    remediation="Restore forced TLS: rds.force_ssl, transit encryption, TLS between brokers, or the statement in the policy of the "
    "bucket, topic or queue of {stack} that denies it where aws:SecureTransport is false.",
    severity=Severity.HIGH,
    paths=at("AWS::RDS::DBParameterGroup", "Parameters/rds.force_ssl")
    + at("AWS::RDS::DBClusterParameterGroup", "Parameters/rds.force_ssl")
    + at("AWS::DocDB::DBClusterParameterGroup", "Parameters/tls")
    + at(INSTANCE, "DBParameterGroupName")
    + at((CLUSTER, DOCUMENTS), "DBClusterParameterGroupName")
    + at(CACHE, "TransitEncryptionEnabled", "TransitEncryptionMode")
    + at(BROKER, "EncryptionInfo/EncryptionInTransit")
    + at("AWS::S3::BucketPolicy", "Type", "Bucket", "PolicyDocument")
    + at("AWS::SNS::TopicPolicy", "Type", "PolicyDocument", "Topics")
    + at("AWS::SQS::QueuePolicy", "Type", "PolicyDocument"),
    controls=(
        "SecurityHub RDS.38",
        "SecurityHub ElastiCache.5",
        "SecurityHub MSK.1",
        "SecurityHub S3.5",
        "SecurityHub DocumentDB.6",
    ),
    checks=(
        Check(StoreSubject, checks.encrypted_on_the_way),
        Check(Resource, tls_only, ("AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy")),
        Check(StackSubject, there("AWS::SNS::TopicPolicy", alarmed)),  # a topic without a policy takes plain HTTP
    ),
)
CLOSED = Need("it has a public address", "PubliclyAccessible", exactly(False))


def absent(what: str, *names: str) -> tuple[Need, ...]:
    """Settings that copy data elsewhere, or fill a store from there."""
    return tuple(Need(f"{what}: {name}", name, exactly(None, [])) for name in names)


COPIED = {
    INSTANCE: absent(
        "it is copied from or to elsewhere",
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
            "it is copied from or to elsewhere",
            "AssociatedRoles",
            "GlobalClusterIdentifier",
            "ReplicationSourceIdentifier",
            "SnapshotIdentifier",
            "SourceDBClusterIdentifier",
        ),
        Need("it answers HTTP", "EnableHttpEndpoint", off),
        Need("it has a public address", "PubliclyAccessible", off),
    ),
    DOCUMENTS: absent(
        "it is copied from or to elsewhere",
        "GlobalClusterIdentifier",
        "SnapshotIdentifier",
        "SourceDBClusterIdentifier",
    ),
    CACHE: absent("it is copied from or to elsewhere", "GlobalReplicationGroupId", "SnapshotArns", "SnapshotName"),
    BROKER: absent("others are let in", "BrokerNodeGroupInfo.ConnectivityInfo.VpcConnectivity"),
    BUCKET: (
        *absent(
            "its objects, or lists of them, are copied elsewhere",
            "AnalyticsConfigurations",
            "InventoryConfigurations",
            "MetadataConfiguration",
            "MetadataTableConfiguration",
            "ReplicationConfiguration",
        ),
        *absent("it is a web site", "WebsiteConfiguration"),
        Need("it is open by its ACL", "AccessControl", exactly(None, "Private", "LogDeliveryWrite")),
    ),
}
# What copies the items of a table, or fills it from elsewhere.
COPYING = frozenset({"ImportSourceSpecification", "KinesisStreamSpecification"})


def not_copied(s: TableSubject) -> Verdict:
    """Whether the items of a table stay in it; of a live one other rules speak."""
    if s.seen.source is Source.LIVE:
        return EXEMPT
    if isinstance(s.seen.extras, Unknown):
        return unknown(f"settings cannot be read: {s.seen.extras.reason}")
    copied = sorted(s.seen.extras.keys() & COPYING)
    return fail(f"its items are copied from or to elsewhere: {', '.join(copied)}") if copied else PASS


def backups_stay(r: Resource) -> Verdict:
    """Whether a backup plan copies nothing to another vault."""
    rules = dig(r.stack, r.body, "Properties", "BackupPlan", "BackupPlanRule", default=[])
    if isinstance(rules, Unknown):
        return unknown(f"the rules of the plan cannot be read: {rules.reason}")
    copied = [rule for rule in rules if isinstance(rule, dict) and rule.get("CopyActions")]
    return fail("its backups are copied to another vault") if copied else PASS


PRIVATE = Rule(
    id="HF516",
    title="Tables and stores are not public, and are copied nowhere",
    why="A store with a public address is one forgotten password away from everybody. A replica, a copy of backups, an inventory or a "
    "Kinesis stream puts the same data where nothing of what protects it holds.",
    remediation="Remove the copy or the public address of {table}; the construct sets the block on public access and copies "
    "nothing.",
    severity=Severity.CRITICAL,
    paths=at(INSTANCE, "PubliclyAccessible")
    + at(BROKER, "BrokerNodeGroupInfo/ConnectivityInfo")
    + at(BUCKET, "OwnershipControls", "PublicAccessBlockConfiguration")
    + tuple(p for kind, copies in COPIED.items() if kind != BROKER for p in at(kind, *(n.path for n in copies)))
    + at(TABLE, *sorted(COPYING))
    + at("AWS::Backup::BackupPlan", "BackupPlan"),
    controls=("SecurityHub RDS.2", "SecurityHub S3.8", "SecurityHub MSK.4", "PCI 1.4.4"),
    checks=(
        Check(
            StoreSubject,
            needs(
                {
                    INSTANCE: (CLOSED, *COPIED[INSTANCE]),
                    CLUSTER: COPIED[CLUSTER],
                    DOCUMENTS: COPIED[DOCUMENTS],
                    CACHE: COPIED[CACHE],
                    BROKER: (
                        Need(
                            "it has public addresses",
                            "BrokerNodeGroupInfo.ConnectivityInfo.PublicAccess.Type",
                            exactly(None, "DISABLED"),
                        ),
                        *COPIED[BROKER],
                    ),
                    BUCKET: (*buckets.CLOSED, *COPIED[BUCKET]),
                },
                members={INSTANCE: (CLOSED,)},
            ),
        ),
        Check(TableSubject, not_copied),
        Check(Resource, backups_stay, ("AWS::Backup::BackupPlan",)),
    ),
    waivable=False,
)
WHO = Rule(
    id="HF517",
    title="Clients authenticate with IAM",
    why="A shared password cannot be taken back from one person, and nobody can tell who used it.",
    remediation="Restore IAM authentication on {table}, and nothing beside it.",
    severity=Severity.HIGH,
    paths=at((INSTANCE, CLUSTER), "EnableIAMDatabaseAuthentication") + at(BROKER, "ClientAuthentication"),
    controls=("SecurityHub RDS.10", "SecurityHub RDS.12", "SecurityHub MSK.6", "PCI 8.3.4"),
    checks=(
        Check(
            StoreSubject,
            needs(
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
        ),
    ),
)
ZONES = Rule(
    id="HF518",
    title="Production stores survive the loss of a zone",
    why="A zone fails a few times a year somewhere; a store in one zone fails with it.",
    remediation="Restore the second and third zone of {table}: Multi-AZ, automatic failover, three brokers.",
    severity=Severity.HIGH,
    paths=at(INSTANCE, "MultiAZ")
    + at((INSTANCE, DOCUMENTS_INSTANCE), "Type", "DBClusterIdentifier")
    + at(CACHE, "AutomaticFailoverEnabled", "MultiAZEnabled", "NumCacheClusters")
    + at(BROKER, "NumberOfBrokerNodes"),
    controls=("SecurityHub RDS.5", "SecurityHub RDS.15", "SecurityHub ElastiCache.3", "NIST CP-10"),
    checks=(Check(StoreSubject, checks.in_zones),),
)
LOGGED = Rule(
    id="HF519",
    title="Stores write logs that stay",
    why="What was asked of a database, and who was refused, is only known afterwards if it was written elsewhere.",
    remediation="Restore the exported logs of {table}; the construct names the groups.",
    severity=Severity.MEDIUM,
    paths=at((INSTANCE, CLUSTER, DOCUMENTS), "EnableCloudwatchLogsExports")
    + at(BROKER, "LoggingInfo")
    + at(CACHE, "LogDeliveryConfigurations")
    + at(BUCKET, "LoggingConfiguration"),
    controls=("SecurityHub RDS.36", "SecurityHub RDS.37", "SecurityHub DocumentDB.4", "SecurityHub S3.9", "PCI 10.2.1"),
    checks=(
        Check(
            StoreSubject,
            needs(
                {
                    INSTANCE: (
                        Need("the postgresql log is not exported", "EnableCloudwatchLogsExports", names("postgresql")),
                    ),
                    CLUSTER: (
                        Need("the postgresql log is not exported", "EnableCloudwatchLogsExports", names("postgresql")),
                    ),
                    DOCUMENTS: (Need("the audit log is not exported", "EnableCloudwatchLogsExports", names("audit")),),
                    BROKER: (Need("broker logs are off", "LoggingInfo.BrokerLogs.CloudWatchLogs.Enabled", on, False),),
                    CACHE: (Need("the slow log goes nowhere", "LogDeliveryConfigurations", some),),
                    BUCKET: (
                        Need(
                            "access is not logged", "LoggingConfiguration.DestinationBucketName", buckets.another_bucket
                        ),
                    ),
                }
            ),
        ),
    ),
)
ADMITTED = Rule(
    id="HF520",
    title="Stores admit their own port, from the stack's groups only",
    why="Every further port and every further source is a way in that nobody watches.",
    remediation="Restore the one ingress rule of {table}; Network.allow makes it.",
    severity=Severity.HIGH,
    paths=at((INSTANCE, CLUSTER, DOCUMENTS, CACHE), "Port")
    + at(INSTANCE, "VPCSecurityGroups")
    + at((CLUSTER, DOCUMENTS), "VpcSecurityGroupIds")
    + at(CACHE, "SecurityGroupIds")
    + at(BROKER, "BrokerNodeGroupInfo/SecurityGroups")
    + at("AWS::EC2::SecurityGroupIngress", "FromPort", "GroupId", "IpProtocol", "ToPort"),
    checks=(Check(StoreSubject, network.admitted),),
)
FIXES = Need("minor versions are not taken", "AutoMinorVersionUpgrade", on, True)
CURRENT = Rule(
    id="HF521",
    title="Engines take security fixes, and snapshots keep their tags",
    why="A database that misses minor versions misses fixes that are public; a snapshot without tags has no owner.",
    remediation="Restore AutoMinorVersionUpgrade and CopyTagsToSnapshot of {table}.",
    severity=Severity.MEDIUM,
    paths=at(INSTANCE, "AutoMinorVersionUpgrade", "CopyTagsToSnapshot")
    + at(CLUSTER, "CopyTagsToSnapshot")
    + at((CACHE, DOCUMENTS_INSTANCE), "AutoMinorVersionUpgrade"),
    controls=(
        "SecurityHub RDS.13",
        "SecurityHub RDS.16",
        "SecurityHub RDS.17",
        "SecurityHub ElastiCache.2",
        "PCI 6.3.3",
    ),
    checks=(
        Check(
            StoreSubject,
            needs(
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
        ),
    ),
)
CREDENTIALS = Rule(
    id="HF522",
    title="Database passwords are generated, and change by themselves",
    why="A password that somebody chose is somewhere else, too; one that never changes is known to everybody who ever left.",
    remediation="Let {table} manage its master password, under the key of {stack}; the construct does.",
    severity=Severity.HIGH,
    paths=at((INSTANCE, CLUSTER), "ManageMasterUserPassword", "MasterUserPassword", "MasterUserSecret")
    + at(DOCUMENTS, "ManageMasterUserPassword", "MasterUserPassword", "MasterUserSecretKmsKeyId"),
    controls=("SecurityHub SecretsManager.1",),
    checks=(Check(StoreSubject, checks.credentials),),
)
DEPLOYED = Rule(
    id="HF310",
    title="Declared consumers, jobs, pools and services are deployed",
    why="A stream whose consumer is gone loses its changes after a day, without an error anywhere. Without its jobs a database lacks "
    "next month's partition, keeps what it must delete, and drifts from its declaration; without its pool every function opens "
    "connections until the server has none left. A service that drops out of the registry is unreachable, though it runs.",
    remediation="Restore what is declared for {table} in {stack}: its consumer and event source mapping, its trigger and schedules, its "
    "proxy, its services and parameters; the constructs make them.",
    severity=Severity.HIGH,
    paths=at(
        "AWS::Lambda::EventSourceMapping",
        "Type",
        "EventSourceArn",
        "FunctionName",
    )
    + at("AWS::Lambda::Function", "Type", *FUNCTION_SETTINGS)
    + at(
        "AWS::Scheduler::Schedule",
        "Type",
        "EndDate",
        "Name",
        "ScheduleExpression",
        "ScheduleExpressionTimezone",
        "State",
        "Target",
    )
    + at("Custom::Trigger", "Type", "HandlerArn", "InvocationType")
    + at("AWS::SQS::Queue", "Type", "MessageRetentionPeriod", "QueueName")
    + at(
        "AWS::RDS::DBProxy",
        "Auth",
        "DebugLogging",
        "DefaultAuthScheme",
        "IdleClientTimeout",
        "RequireTLS",
        "VpcSecurityGroupIds",
        "VpcSubnetIds",
    )
    + at(
        "AWS::RDS::DBProxyTargetGroup",
        "Type",
        "ConnectionPoolConfigurationInfo",
        "DBClusterIdentifiers",
        "DBInstanceIdentifiers",
        "DBProxyName",
    )
    + at("AWS::ServiceDiscovery::Service", "Type", "DnsConfig", "Name", "NamespaceId")
    + at("AWS::ServiceDiscovery::PrivateDnsNamespace", "Vpc")
    + at("AWS::SSM::Parameter", "Type", "Name", "Value"),
    explains=at(
        "AWS::Lambda::EventSourceMapping",
        "BisectBatchOnFunctionError",
        "DestinationConfig",
        "Enabled",
        "FilterCriteria",
        "FunctionResponseTypes",
        "MaximumRetryAttempts",
    ),
    controls=("SecurityHub RDS.43",),
    checks=(
        Check(Consumer, consumed),
        Check(StoreSubject, jobs.upkept),
        Check(StoreSubject, checks.pooled),
        Check(StoreSubject, checks.registered),
    ),
)
CONFIGURED = Rule(
    id="HF527",
    title="Engines run with the declared settings",
    why="One parameter decides whether personal values are logged, topics appear by being named, or alarms see anything.",
    remediation="Restore the engine, its version and its parameters of {table}; holdfast.kinds.settings has what is declared.",
    severity=Severity.HIGH,
    paths=at((INSTANCE, CLUSTER), "Engine", "EngineVersion", "PreferredBackupWindow")
    + at(INSTANCE, "MonitoringInterval")
    + at(DOCUMENTS, "EngineVersion")
    + at(CACHE, "CacheParameterGroupName", "Engine", "EngineVersion", "SnapshotRetentionLimit")
    + at(BROKER, "ConfigurationInfo", "EnhancedMonitoring")
    + at(PARAMETER_GROUPS, "Parameters")
    + at("AWS::ElastiCache::ParameterGroup", "Properties")
    + at("AWS::MSK::Configuration", "ServerProperties"),
    controls=("SecurityHub RDS.6", "PCI 2.2.1", "PCI 6.3.3"),
    checks=(Check(StoreSubject, checks.configured),),
)
LOGS_KEPT = Rule(
    id="HF529",
    title="Logs are kept in the stack, and not for ever",
    why="A log that goes elsewhere, or is gone after a day, answers no question about the day before. A log group without a retention "
    "period keeps personal data for ever, and is paid for for ever.",
    remediation="Restore the log groups of {stack}, their RetentionInDays, and the bucket for access logs; the constructs make them.",
    severity=Severity.MEDIUM,
    paths=at("AWS::Logs::LogGroup", "Type", "DeletionPolicy", "LogGroupName", "RetentionInDays", "UpdateReplacePolicy"),
    controls=("SecurityHub CloudWatch.16", "PCI 10.5.1"),
    checks=(Check(StoreSubject, checks.logs_kept), Check(Resource, ends, ("AWS::Logs::LogGroup",))),
)
ACCESS = Rule(
    id="HF530",
    title="Applications reach the declared key families of a cache, and nothing else",
    why="One service with all keys and all commands can flush the sessions of all others.",
    remediation="Restore the users of {table}: the declared access string by IAM, and a default user that is off.",
    severity=Severity.HIGH,
    paths=at(CACHE, "UserGroupIds")
    + at("AWS::ElastiCache::UserGroup", "UserIds")
    + at("AWS::ElastiCache::User", "AccessString", "AuthenticationMode", "NoPasswordRequired", "Passwords", "UserName"),
    controls=("SecurityHub ElastiCache.6",),
    checks=(Check(StoreSubject, checks.access_list),),
)
EVICTED = Rule(
    id="HF531",
    title="A full cache gives up what expires first",
    why="With another policy a full cache refuses writes, or drops keys that have to stay, such as locks.",
    remediation="Restore maxmemory-policy: volatile-ttl in the parameter group of {table}.",
    severity=Severity.MEDIUM,
    audited=True,
    paths=at("AWS::ElastiCache::ParameterGroup", "Properties/maxmemory-policy"),
    checks=(
        Check(
            StoreSubject,
            needs(
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
        ),
    ),
)
TOPICS = Rule(
    id="HF532",
    title="Topics are as declared",
    why="Fewer replicas lose messages with a broker; a shorter retention loses what a slow consumer has not read yet.",
    remediation="Restore the topics of {table}: partitions, replicas, retention and in-sync replicas as declared.",
    severity=Severity.HIGH,
    paths=at("AWS::MSK::Topic", "Type", "ClusterArn", "Configs", "PartitionCount", "ReplicationFactor", "TopicName"),
    checks=(Check(StoreSubject, checks.topics),),
)
LOCKED = Rule(
    id="HF534",
    title="Archives cannot be deleted",
    why="An archive is the only copy of what was dropped from the database.",
    remediation="Restore Object Lock and its retention on {table}; it can be switched on for an existing bucket.",
    severity=Severity.CRITICAL,
    guard=Guard.RETAIN,
    paths=at(BUCKET, "ObjectLockConfiguration", "ObjectLockEnabled"),
    controls=("SecurityHub S3.15",),
    checks=(Check(StoreSubject, buckets.locked),),
)
RULES = (
    RANGES,
    WAYS,
    NETWORK,
    ROLES,
    BACKED_UP,
    ON_THE_WAY,
    PRIVATE,
    WHO,
    ZONES,
    LOGGED,
    ADMITTED,
    CURRENT,
    CREDENTIALS,
    DEPLOYED,
    CONFIGURED,
    LOGS_KEPT,
    ACCESS,
    EVICTED,
    TOPICS,
    LOCKED,
)
