"""Databases, caches, brokers, buckets: the guards of the tables, in the words of each engine."""

from __future__ import annotations

from holdfast.cfn.dig import dig
from holdfast.cfn.places import at
from holdfast.cfn.template import Source
from holdfast.cfn.types import GROUP, INGRESS
from holdfast.kinds.base import StoreSubject
from holdfast.kinds.broker import needs as broker
from holdfast.kinds.broker import types as broker_types
from holdfast.kinds.broker.types import BROKER
from holdfast.kinds.bucket import needs as bucket
from holdfast.kinds.bucket import types as bucket_types
from holdfast.kinds.bucket.types import BUCKET
from holdfast.kinds.cache import needs as cache
from holdfast.kinds.cache import types as cache_types
from holdfast.kinds.cache.types import CACHE
from holdfast.kinds.database.types import CLUSTER, INSTANCE
from holdfast.kinds.documents.types import DOCUMENTS
from holdfast.kinds.kinds import asked, read
from holdfast.kinds.need import needs, of_kind
from holdfast.kinds.table.observed import TABLE
from holdfast.model.facts import Guard
from holdfast.rules import every_store, network, roles
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.resources import alarmed, consumed, ends, there, tls_only
from holdfast.rules.subjects import Consumer, Resource, StackSubject, TableSubject
from holdfast.rules.types import known_type
from holdfast.shared.account import Aspect
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Verdict, fail, unknown

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
    checks=(Check(Resource, network.no_ranges, (GROUP, INGRESS)),),
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
    title="Networks of stores are closed, and log their traffic",
    why="Data leaves by the way that was not looked at: an open group, a subnet with public addresses, traffic that no log has. A store "
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
    title="Roles trust AWS services only, and cannot delete data",
    why="Who can take a role, or change a function that has it, can do all that its policies allow. The policy for applications is "
    "attached to every service of a system: one action or one path more in it is given to all of them.",
    remediation="Restore the roles and policies of {stack}; each allows what its one job needs.",
    severity=Severity.HIGH,
    paths=at("AWS::IAM::Role", "AssumeRolePolicyDocument", "ManagedPolicyArns", "Policies")
    + at("AWS::IAM::ManagedPolicy", "Type", "ManagedPolicyName", "PolicyDocument"),
    controls=("SecurityHub IAM.1", "SecurityHub IAM.21", "NIST AC-6"),
    checks=(
        Check(Resource, roles.modest_role, ("AWS::IAM::Role",)),
        Check(Resource, roles.modest_policy, ("AWS::IAM::ManagedPolicy",)),
    ),
)
BACKED_UP = Rule(
    id="HF513",
    title="Backups run as declared, into a locked vault",
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
    aspects=frozenset({Aspect.OWN, Aspect.BACKUPS}),
    checks=(Check(StoreSubject, every_store.backed_up),),
)
ON_THE_WAY = Rule(
    id="HF515",
    title="Stores, topics and queues refuse connections without TLS",
    why="A client that may connect in the clear sooner or later does, with its password, and messages travel unencrypted.",
    remediation="Restore forced TLS: rds.force_ssl, transit encryption, TLS between brokers, or the statement in the policy of the "
    "bucket, topic or queue of {stack} that denies it where aws:SecureTransport is false.",
    severity=Severity.HIGH,
    paths=read(lambda n: n.tls)
    + at("AWS::SNS::TopicPolicy", "Type", "PolicyDocument", "Topics")
    + at("AWS::SQS::QueuePolicy", "Type", "PolicyDocument"),
    controls=(
        "SecurityHub RDS.38",
        "SecurityHub ElastiCache.5",
        "SecurityHub MSK.1",
        "SecurityHub S3.5",
        "SecurityHub DocumentDB.6",
    ),
    aspects=frozenset({Aspect.OWN, Aspect.PARAMETERS, Aspect.POLICY}),
    checks=(
        Check(StoreSubject, asked(lambda n: n.tls)),
        Check(Resource, tls_only, ("AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy")),
        Check(StackSubject, there("AWS::SNS::TopicPolicy", alarmed)),  # a topic without a policy takes plain HTTP
    ),
)


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
    title="Tables and stores are not public, and not copied",
    why="A store with a public address is one forgotten password away from the Internet. A replica, a copy of backups, an inventory or a "
    "Kinesis stream puts the same data where nothing of what protects it holds.",
    remediation="Remove the copy or the public address of {table}; the construct sets the block on public access and copies "
    "nothing.",
    severity=Severity.CRITICAL,
    paths=read(lambda n: n.private) + at(TABLE, *sorted(COPYING)) + at("AWS::Backup::BackupPlan", "BackupPlan"),
    controls=("SecurityHub RDS.2", "SecurityHub S3.8", "SecurityHub MSK.4", "PCI 1.4.4"),
    aspects=frozenset({Aspect.PUBLIC}),
    checks=(
        Check(StoreSubject, asked(lambda n: n.private)),
        Check(TableSubject, not_copied),
        Check(Resource, backups_stay, ("AWS::Backup::BackupPlan",)),
    ),
    waivable=False,
)
WHO = Rule(
    id="HF517",
    title="Clients authenticate with IAM",
    why="A shared password cannot be taken back from one person, and does not tell who used it.",
    remediation="Restore IAM authentication on {table}, and nothing beside it.",
    severity=Severity.HIGH,
    paths=read(lambda n: n.clients),
    controls=("SecurityHub RDS.10", "SecurityHub RDS.12", "SecurityHub MSK.6", "PCI 8.3.4"),
    checks=(Check(StoreSubject, asked(lambda n: n.clients)),),
)
ZONES = Rule(
    id="HF518",
    title="Production stores run in several Availability Zones",
    why="A zone fails a few times a year somewhere; a store in one zone fails with it.",
    remediation="Restore the second and third zone of {table}: Multi-AZ, automatic failover, three brokers.",
    severity=Severity.HIGH,
    paths=read(lambda n: n.zones),
    controls=("SecurityHub RDS.5", "SecurityHub RDS.15", "SecurityHub ElastiCache.3", "NIST CP-10"),
    aspects=frozenset({Aspect.NODES}),
    checks=(Check(StoreSubject, asked(lambda n: n.zones)),),
)
LOGGED = Rule(
    id="HF519",
    title="Stores write their logs",
    why="What was asked of a database, and who was refused, is only known afterwards if it was written elsewhere.",
    remediation="Restore the exported logs of {table}; the construct names the groups.",
    severity=Severity.MEDIUM,
    paths=read(lambda n: n.logs),
    controls=("SecurityHub RDS.36", "SecurityHub RDS.37", "SecurityHub DocumentDB.4", "SecurityHub S3.9", "PCI 10.2.1"),
    aspects=frozenset({Aspect.OWN, Aspect.LOGGING}),
    checks=(Check(StoreSubject, asked(lambda n: n.logs)),),
)
ADMITTED = Rule(
    id="HF520",
    title="Stores accept connections on their port, from the stack's security groups only",
    why="Every further port and every further source is a way in that is not watched.",
    remediation="Restore the one ingress rule of {table}; Network.allow makes it.",
    severity=Severity.HIGH,
    aspects=frozenset({Aspect.OWN, Aspect.GROUPS}),
    paths=read(lambda n: n.port) + at("AWS::EC2::SecurityGroupIngress", "FromPort", "GroupId", "IpProtocol", "ToPort"),
    checks=(Check(StoreSubject, asked(lambda n: n.port)),),
)
CURRENT = Rule(
    id="HF521",
    title="Engines take security fixes, and snapshots keep their tags",
    why="A database that misses minor versions misses fixes that are public; a snapshot without tags has no owner.",
    remediation="Restore AutoMinorVersionUpgrade and CopyTagsToSnapshot of {table}.",
    severity=Severity.MEDIUM,
    paths=read(lambda n: n.fixes),
    controls=(
        "SecurityHub RDS.13",
        "SecurityHub RDS.16",
        "SecurityHub RDS.17",
        "SecurityHub ElastiCache.2",
        "PCI 6.3.3",
    ),
    checks=(Check(StoreSubject, asked(lambda n: n.fixes)),),
)
CREDENTIALS = Rule(
    id="HF522",
    title="Database passwords are generated and rotated",
    why="A password that a person chose is written down elsewhere, too; one that never changes is known to all who ever left.",
    remediation="Let {table} manage its master password, under the key of {stack}; the construct does.",
    severity=Severity.HIGH,
    paths=read(lambda n: n.passwords),
    controls=("SecurityHub SecretsManager.1",),
    aspects=frozenset({Aspect.OWN}),
    checks=(Check(StoreSubject, asked(lambda n: n.passwords)),),
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
    + read(lambda n: n.jobs),
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
    # What became of a schema, `holdfast db check` says; what goes past a pool is refused by groups, which are judged.
    only_deployed="a deploy applies the schema, a pool is not a store, and services register themselves while they run",
    checks=(Check(Consumer, consumed), Check(StoreSubject, asked(lambda n: n.jobs))),
)
CONFIGURED = Rule(
    id="HF527",
    title="Engine versions and settings match the declaration",
    why="One parameter decides whether personal values are logged, topics appear by being named, or alarms see anything.",
    remediation="Restore the engine, its version and its parameters of {table}; its settings.py in holdfast/kinds has what is declared.",
    severity=Severity.HIGH,
    paths=read(lambda n: n.settings),
    controls=("SecurityHub RDS.6", "PCI 2.2.1", "PCI 6.3.3"),
    aspects=frozenset({Aspect.PARAMETERS, Aspect.NODES}),
    checks=(Check(StoreSubject, asked(lambda n: n.settings)),),
)
LOGS_KEPT = Rule(
    id="HF529",
    title="Log groups have a retention period",
    why="A log that goes elsewhere, or is gone after a day, answers no question about the day before. A log group without a retention "
    "period keeps personal data for ever, and is paid for for ever.",
    remediation="Restore the log groups of {stack}, their RetentionInDays, and the bucket for access logs; the constructs make them.",
    severity=Severity.MEDIUM,
    paths=at("AWS::Logs::LogGroup", "Type", "DeletionPolicy", "LogGroupName", "RetentionInDays", "UpdateReplacePolicy"),
    controls=("SecurityHub CloudWatch.16", "PCI 10.5.1"),
    only_deployed="log groups are not read: whether logs are written at all is judged live",
    checks=(Check(StoreSubject, asked(lambda n: n.logs_kept)), Check(Resource, ends, ("AWS::Logs::LogGroup",))),
)
ACCESS = Rule(
    id="HF530",
    title="Cache users have access to their declared keys only",
    why="One service with all keys and all commands can flush the sessions of all others.",
    remediation="Restore the users of {table}: the declared access string by IAM, and a default user that is off.",
    severity=Severity.HIGH,
    paths=at(CACHE, "UserGroupIds")
    + at("AWS::ElastiCache::UserGroup", "UserIds")
    + at("AWS::ElastiCache::User", "AccessString", "AuthenticationMode", "NoPasswordRequired", "Passwords", "UserName"),
    controls=("SecurityHub ElastiCache.6",),
    aspects=frozenset({Aspect.USERS}),
    checks=(Check(StoreSubject, of_kind(cache_types.IDENTITY, cache.access_list)),),
)
EVICTED = Rule(
    id="HF531",
    title="Caches evict what expires first",
    why="With another policy a full cache refuses writes, or drops keys that have to stay, such as locks.",
    remediation="Restore maxmemory-policy: volatile-ttl in the parameter group of {table}.",
    severity=Severity.MEDIUM,
    audited=True,
    paths=at("AWS::ElastiCache::ParameterGroup", "Properties/maxmemory-policy"),
    aspects=frozenset({Aspect.PARAMETERS}),
    checks=(Check(StoreSubject, needs({cache_types.CACHE: (cache.EVICTED,)})),),
)
TOPICS = Rule(
    id="HF532",
    title="Kafka topics match the declaration",
    why="Fewer replicas lose messages with a broker; a shorter retention loses what a slow consumer has not read yet.",
    remediation="Restore the topics of {table}: partitions, replicas, retention and in-sync replicas as declared.",
    severity=Severity.HIGH,
    paths=at("AWS::MSK::Topic", "Type", "ClusterArn", "Configs", "PartitionCount", "ReplicationFactor", "TopicName"),
    aspects=frozenset({Aspect.TOPICS}),
    checks=(Check(StoreSubject, of_kind(broker_types.IDENTITY, broker.topics)),),
)
LOCKED = Rule(
    id="HF534",
    title="Archives are locked against deletion",
    why="An archive is the only copy of what was dropped from the database.",
    remediation="Restore Object Lock and its retention on {table}; it can be switched on for an existing bucket.",
    severity=Severity.CRITICAL,
    guard=Guard.RETAIN,
    paths=at(BUCKET, "ObjectLockConfiguration", "ObjectLockEnabled"),
    controls=("SecurityHub S3.15",),
    aspects=frozenset({Aspect.LOCK}),
    checks=(Check(StoreSubject, of_kind(bucket_types.IDENTITY, bucket.locked)),),
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
