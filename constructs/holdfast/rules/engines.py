"""How engines run: in several zones, with fixes, as declared, and with what has to run beside them."""

from __future__ import annotations

from holdfast.cfn.places import at
from holdfast.kinds.base import StoreSubject
from holdfast.kinds.broker import needs as broker
from holdfast.kinds.broker import types as broker_types
from holdfast.kinds.cache import needs as cache
from holdfast.kinds.cache import types as cache_types
from holdfast.kinds.kinds import asked, read
from holdfast.kinds.need import needs, of_kind
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.resources import consumed
from holdfast.rules.subjects import Consumer
from holdfast.shared.account import Aspect

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
    remediation="Restore the engine, its version and its parameters of {table} as they are declared; the construct sets them.",
    severity=Severity.HIGH,
    paths=read(lambda n: n.settings),
    controls=("SecurityHub RDS.6", "PCI 2.2.1", "PCI 6.3.3"),
    aspects=frozenset({Aspect.PARAMETERS, Aspect.NODES}),
    checks=(Check(StoreSubject, asked(lambda n: n.settings)),),
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
RULES = (
    ZONES,
    CURRENT,
    DEPLOYED,
    CONFIGURED,
    EVICTED,
    TOPICS,
)
