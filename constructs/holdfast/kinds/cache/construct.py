"""One declared cache as a Valkey replication group."""

from __future__ import annotations

from collections.abc import Iterator

import aws_cdk as cdk
from aws_cdk import aws_elasticache as elasticache
from constructs import Construct

from holdfast.kinds.cache.alarms import alarms
from holdfast.kinds.cache.declaration import Cache
from holdfast.kinds.cache.settings import DEFAULT_USER, LOGS, PARAMETERS, VERSION
from holdfast.kinds.cache.uses import uses
from holdfast.shared.alarms.construct import add_alarms
from holdfast.shared.applications.statements import Use
from holdfast.shared.construct.acknowledge import AWS_SOLUTIONS, HIPAA, NIST, acknowledge
from holdfast.shared.construct.context import StoreContext
from holdfast.shared.construct.tags import tag
from holdfast.shared.logs.construct import log_group

FAMILY = "valkey8"
NAG_DAYS = 15  # fewer days of snapshots are a finding of cdk-nag


def add_cache(context: StoreContext, store: Cache) -> Iterator[Use]:
    GuardedCache(context.scope, store, context)
    yield from uses(context.placed, store)


class GuardedCache(Construct):
    """No password opens it: applications log in with IAM, and the user called default is off."""

    def __init__(self, scope: Construct, store: Cache, context: StoreContext) -> None:
        super().__init__(scope, store.id)
        placed, network = context.placed, context.network
        name = placed.fill(store.name)
        nodes = placed.by_tier(placed.policy.instances)
        snapshot_days = placed.by_tier(placed.policy.snapshot_days)
        group = network.group(f"{store.id}Group", f"Cache {name}")
        network.allow(network.services, group, store.port, f"Services use cache {name}")
        subnets = self._resource(
            "Subnets",
            "SubnetGroup",
            {"CacheSubnetGroupName": name, "Description": f"Where {name} stands", "SubnetIds": network.subnet_ids},
        )
        parameters = self._resource(
            "Parameters",
            "ParameterGroup",
            {
                "CacheParameterGroupFamily": FAMILY,
                "Description": f"How {name} makes room",
                "Properties": PARAMETERS,
            },
        )
        # An engine of valkey would take no user without a password or IAM, and so could not hold the one that is off;
        # Valkey accepts users and groups of this engine as its own.
        user = self._resource(
            "User",
            "User",
            {
                "Engine": "redis",
                "UserId": name,
                "UserName": name,  # IAM wants both to be the same
                "AccessString": store.access,
                "AuthenticationMode": {"Type": "iam"},
            },
        )
        default = self._resource(
            "DefaultUser",
            "User",
            {
                "Engine": "redis",
                "UserId": f"{name}-default",
                "UserName": "default",
                "AccessString": DEFAULT_USER,
                "AuthenticationMode": {"Type": "no-password-required"},
            },
        )
        users = self._resource(
            "Users",
            "UserGroup",
            {"Engine": "redis", "UserGroupId": name, "UserIds": [default.ref, user.ref]},
        )
        self.cache = elasticache.CfnReplicationGroup(
            self,
            "Cache",
            replication_group_id=name,
            replication_group_description=store.purpose,
            engine="valkey",
            engine_version=VERSION,
            cache_node_type=placed.by_tier(placed.policy.sizes.cache),
            num_cache_clusters=nodes,
            automatic_failover_enabled=nodes > 1,
            multi_az_enabled=nodes > 1,
            at_rest_encryption_enabled=True,
            kms_key_id=context.key.key_arn,
            transit_encryption_enabled=True,
            transit_encryption_mode="required",
            user_group_ids=[users.ref],
            cache_subnet_group_name=subnets.ref,
            cache_parameter_group_name=parameters.ref,
            security_group_ids=[group.security_group_id],
            port=store.port,
            auto_minor_version_upgrade=True,
            preferred_maintenance_window="sun:11:00-sun:12:00",
            snapshot_retention_limit=snapshot_days,
            snapshot_window="06:00-07:00" if snapshot_days else None,
            log_delivery_configurations=[
                elasticache.CfnReplicationGroup.LogDeliveryConfigurationRequestProperty(
                    destination_type="cloudwatch-logs",
                    destination_details=elasticache.CfnReplicationGroup.DestinationDetailsProperty(
                        cloud_watch_logs_details=elasticache.CfnReplicationGroup.CloudWatchLogsDestinationDetailsProperty(
                            log_group=log_group(self, f"{word.title()}Log", f"cache/{word}", placed, context.key).ref
                        )
                    ),
                    log_format="json",
                    log_type=f"{word}-log",
                )
                for word in LOGS
            ],
        )
        self.cache.apply_removal_policy(cdk.RemovalPolicy.DESTROY)
        tag(self, store, placed)
        if context.topic:
            add_alarms(self, alarms(placed, store), placed, context.topic)
        acknowledge(
            self.cache,
            "users of a user group come in with IAM; the rule only knows a shared token",
            f"{AWS_SOLUTIONS}-AEC6",
        )
        if nodes == 1:
            acknowledge(self.cache, context.rebuilt, f"{AWS_SOLUTIONS}-AEC4")
        if snapshot_days < NAG_DAYS:
            reason = f"the policy keeps snapshots for {snapshot_days} days" if snapshot_days else context.rebuilt
            rules = (f"{pack}-ElastiCacheRedisClusterAutomaticBackup" for pack in (NIST, HIPAA))
            acknowledge(self.cache, reason, *rules)

    def _resource(self, name: str, kind: str, properties: dict[str, object]) -> cdk.CfnResource:
        """What holds no data needs no typed resource, which takes three times as long."""
        return cdk.CfnResource(self, name, type=f"AWS::ElastiCache::{kind}", properties=properties)
