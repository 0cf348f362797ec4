"""What the constructs of stores set and the rules demand: written once, so that both mean the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.estate.placement import Placed
from holdfast.kinds.alarms import function_names, max_connections
from holdfast.kinds.broker.declaration import Broker
from holdfast.kinds.cache.declaration import Cache
from holdfast.kinds.database.declaration import Database, Engine, Pool
from holdfast.kinds.documents.declaration import DocumentDatabase
from holdfast.model.store import Store
from holdfast.shared.key.policy import ACCOUNT, log_groups

POSTGRES_MAJOR = "17"
POSTGRES_VERSION = "17.9"  # the newest that both RDS and Aurora offer here
DOCUMENTS_VERSION = "5.0.0"
CACHE_VERSION = "8.1"
# AWS Backup starts at 02:00, 08:00, 14:00 and 20:00 and refuses to run into this.
BACKUP_WINDOW = "04:00-04:30"
BACKUP_MINUTES = 240  # what a backup may take
BACKUP_POLICY = "service-role/AWSBackupServiceRolePolicyForBackup"
BUCKET_BACKUP_POLICY = "AWSBackupServiceRolePolicyForS3Backup"
MONITORING_POLICY = "service-role/AmazonRDSEnhancedMonitoringRole"
DOCUMENT_PARAMETERS = {"tls": "enabled", "audit_logs": "enabled", "profiler": "enabled"}
DOCUMENT_LOGS = ("audit", "profiler")
CACHE_PARAMETERS = {"maxmemory-policy": "volatile-ttl"}  # when memory runs out, what would expire soonest goes first
CACHE_LOGS = ("slow", "engine")
SNAPSHOT_DAYS = 15
NOBODY = "off -@all"  # what the user called default may do
DNS_SECONDS = 10  # how long a name that is gone is still believed
DNS = {"RoutingPolicy": "MULTIVALUE", "DnsRecords": [{"Type": "A", "TTL": DNS_SECONDS}]}


def database_parameters(store: Database) -> dict[str, str]:
    """TLS or nothing, bounds of partitions in UTC, and logs without the values of parameters: they may be personal."""
    return {
        "rds.force_ssl": "1",
        "timezone": "UTC",
        "log_connections": "1",
        "log_disconnections": "1",
        "log_lock_waits": "1",
        "log_min_duration_statement": "1000",
        "log_parameter_max_length": "0",
        "log_statement": "ddl",
        "max_connections": str(max_connections(store)),
    }


def database_logs(store: Database) -> tuple[str, ...]:
    return ("postgresql",) if store.engine is Engine.AURORA else ("postgresql", "upgrade")


def server_properties(store: Broker, *, keeps_topics: bool) -> str:
    """The brokers' own settings: nothing appears by being named, and where topics are kept, nobody deletes one."""
    settings = {
        "auto.create.topics.enable": "false",
        "default.replication.factor": str(store.brokers),
        "delete.topic.enable": str(not keeps_topics).lower(),
        "min.insync.replicas": str(max(t.min_in_sync for t in store.topics)),
        "unclean.leader.election.enable": "false",
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def pool_percent(connections: int, pool: Pool) -> int:
    """A proxy counts in percent of what the server takes."""
    return max(1, round(100 * connections / pool.max_connections))


def bucket_policy(arn: Any, *more: Mapping[str, Any]) -> dict[str, Any]:
    """Nobody reaches a bucket over plain HTTP or old TLS; ``more`` are statements of its own."""
    deny = {
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": "s3:*",
        "Resource": [arn, {"Fn::Join": ["", [arn, "/*"]]}],
    }
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Sid": "OverTlsOnly", **deny, "Condition": {"Bool": {"aws:SecureTransport": "false"}}},
            {"Sid": "OverNewTlsOnly", **deny, "Condition": {"NumericLessThan": {"s3:TlsVersion": "1.2"}}},
            *more,
        ],
    }


def log_delivery(arn: Any) -> dict[str, Any]:
    """S3 may deliver access logs of this account to the bucket that keeps them."""
    return {
        "Sid": "DeliveryOfAccessLogs",
        "Effect": "Allow",
        "Principal": {"Service": "logging.s3.amazonaws.com"},
        "Action": "s3:PutObject",
        "Resource": {"Fn::Join": ["", [arn, "/*"]]},
        "Condition": {"StringEquals": {"aws:SourceAccount": ACCOUNT}},
    }


def emptied_by(role: Any, arn: Any) -> dict[str, Any]:
    """CDK's own function may empty a bucket that goes with its stack."""
    return {
        "Effect": "Allow",
        "Principal": {"AWS": role},
        "Action": ["s3:PutBucketPolicy", "s3:GetBucket*", "s3:List*", "s3:DeleteObject*"],
        "Resource": [arn, {"Fn::Join": ["", [arn, "/*"]]}],
    }


def log_days(placed: Placed) -> int:
    """How long logs are kept, those of access to buckets as well."""
    return placed.policy.log_days[placed.env.tier]


def written_logs(placed: Placed, store: Store) -> Iterator[str]:
    """The log groups that a store, its pool and its functions write to."""
    name, own = placed.fill(store.name), log_groups(placed)
    match store:
        case Database():
            kind = "cluster" if store.engine is Engine.AURORA else "instance"
            yield from (f"/aws/rds/{kind}/{name}/{word}" for word in database_logs(store))
            yield from (f"{own}/{function}" for function in function_names(name, store).values())
            if store.pool:
                yield f"/aws/rds/proxy/{name}"
        case DocumentDatabase():
            yield from (f"/aws/docdb/{name}/{word}" for word in DOCUMENT_LOGS)
        case Broker():
            yield f"{own}/broker"
        case Cache():
            yield from (f"{own}/cache/{word}" for word in CACHE_LOGS)
        case _:
            return
