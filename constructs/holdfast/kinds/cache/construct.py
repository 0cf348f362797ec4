"""One declared cache as a Valkey replication group."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_elasticache as elasticache
from constructs import Construct

from holdfast.kinds.cache.declaration import Cache
from holdfast.kinds.settings import CACHE_LOGS, CACHE_PARAMETERS, CACHE_VERSION, NOBODY, SNAPSHOT_DAYS
from holdfast.model.environment import Tier
from holdfast.shared.construct.acknowledge import AWS_SOLUTIONS, HIPAA, NIST, acknowledge
from holdfast.shared.construct.context import StoreContext
from holdfast.shared.construct.tags import tag
from holdfast.shared.logs.construct import log_group

FAMILY = "valkey8"


class GuardedCache(Construct):
    """Nobody comes in with a password: there is none. Applications are IAM's, the user called default is off."""

    def __init__(self, scope: Construct, store: Cache, context: StoreContext) -> None:
        super().__init__(scope, store.id)
        placed, network = context.placed, context.network
        name = placed.fill(store.name)
        prod = placed.env.tier is Tier.PROD
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
                "Properties": CACHE_PARAMETERS,
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
        nobody = self._resource(
            "DefaultUser",
            "User",
            {
                "Engine": "redis",
                "UserId": f"{name}-default",
                "UserName": "default",
                "AccessString": NOBODY,
                "AuthenticationMode": {"Type": "no-password-required"},
            },
        )
        users = self._resource(
            "Users",
            "UserGroup",
            {"Engine": "redis", "UserGroupId": name, "UserIds": [nobody.ref, user.ref]},
        )
        self.cache = elasticache.CfnReplicationGroup(
            self,
            "Cache",
            replication_group_id=name,
            replication_group_description=store.purpose,
            engine="valkey",
            engine_version=CACHE_VERSION,
            cache_node_type=placed.size("cache"),
            num_cache_clusters=2 if prod else 1,
            automatic_failover_enabled=prod,
            multi_az_enabled=prod,
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
            snapshot_retention_limit=SNAPSHOT_DAYS if prod else 0,
            snapshot_window="06:00-07:00" if prod else None,
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
                for word in CACHE_LOGS
            ],
        )
        self.cache.apply_removal_policy(cdk.RemovalPolicy.DESTROY)
        tag(self, store, placed)
        acknowledge(
            self.cache,
            "users of a user group come in with IAM; the rule only knows a shared token",
            f"{AWS_SOLUTIONS}-AEC6",
        )
        if not prod:
            acknowledge(
                self.cache,
                context.rebuilt,
                f"{AWS_SOLUTIONS}-AEC4",
                f"{NIST}-ElastiCacheRedisClusterAutomaticBackup",
                f"{HIPAA}-ElastiCacheRedisClusterAutomaticBackup",
            )

    def _resource(self, name: str, kind: str, properties: dict[str, object]) -> cdk.CfnResource:
        """What holds no data needs no typed resource, which takes three times as long."""
        return cdk.CfnResource(self, name, type=f"AWS::ElastiCache::{kind}", properties=properties)
