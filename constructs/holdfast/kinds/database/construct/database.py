"""One declared PostgreSQL database as a CDK construct."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_rds as rds
from constructs import Construct

from holdfast.kinds.bucket.construct import GuardedBucket
from holdfast.kinds.database.alarms import alarms
from holdfast.kinds.database.declaration import Database, Engine
from holdfast.kinds.database.settings import (
    MONITORING_POLICY,
    POSTGRES_MAJOR,
    POSTGRES_VERSION,
    database_logs,
    database_parameters,
)
from holdfast.kinds.database.uses import uses
from holdfast.model.declaration import DeclarationError
from holdfast.model.facts import Guard
from holdfast.shared.alarms.construct import add_alarms
from holdfast.shared.applications.statements import Use
from holdfast.shared.construct.acknowledge import AWS_SOLUTIONS, HIPAA, NIST, acknowledge
from holdfast.shared.construct.context import StoreContext
from holdfast.shared.construct.tags import tag
from holdfast.shared.logs.construct import log_group
from holdfast.shared.vault.settings import BACKUP_WINDOW

AUTHORITY = "rds-ca-rsa2048-g1"
UPKEEP_WINDOW = "sun:10:00-sun:10:30"  # no hour of AWS Backup either
INSIGHTS_DAYS = 7


def add_database(context: StoreContext, store: Database) -> Iterator[Use]:
    from holdfast.kinds.database.construct.functions import DatabaseFunctions  # takes a database
    from holdfast.kinds.database.construct.pool import DatabasePool

    database = GuardedDatabase(context.scope, store, context)
    DatabaseFunctions(database, _archive(context, store))
    endpoint = DatabasePool(database, store.pool) if store.pool else database
    yield from uses(context.placed, store, context.resolved(endpoint.resource_id))


def _archive(context: StoreContext, store: Database) -> GuardedBucket | None:
    if store.archive is None:
        return None
    bucket = context.made.get(store.archive)
    if not isinstance(bucket, GuardedBucket):
        raise DeclarationError(
            f"database {store.name}: its archive {store.archive} is not a bucket of the stack; declare it there"
        )
    return bucket


class GuardedDatabase(Construct):
    """A database with exactly the guards that the policy asks for; encrypted and behind TLS wherever it is.

    RDS itself generates the administrator's secret and rotates it every seven days: no function, no macro.
    """

    def __init__(self, scope: Construct, store: Database, context: StoreContext) -> None:
        super().__init__(scope, store.id)
        self.declared = store
        self.context = context
        self.name = context.placed.fill(store.name)
        self.database = store.schema
        self.guards = context.placed.required(store)
        self._sizes, self._by_tier = context.placed.policy.sizes, context.placed.by_tier
        self._instances = self._by_tier(context.placed.policy.instances)
        self._monitoring_seconds = self._by_tier(context.placed.policy.monitoring_seconds)
        network = context.network
        self.group = network.group(f"{store.id}Group", f"PostgreSQL {self.name}")
        if not store.pool:  # where there is one, applications have no other way
            network.allow(network.services, self.group, store.port, f"PostgreSQL {self.name}")
        self._subnets = rds.CfnDBSubnetGroup(
            self,
            "Subnets",
            db_subnet_group_description=f"Isolated subnets of {self.name}",
            subnet_ids=network.subnet_ids,
        )
        self._monitoring = self._monitoring_role() if self._monitoring_seconds else None
        tag(self, store, context.placed)
        if store.engine is Engine.AURORA:
            self._cluster()
        else:
            self._instance()
        if Guard.PITR in self.guards:
            context.vault.keep(store.id, store.backups, self.arn)
        if context.topic and Guard.ALARMS in self.guards:
            add_alarms(self, alarms(context.placed, store), context.placed, context.topic)

    def _instance(self) -> None:
        store = self.declared
        parameters = rds.CfnDBParameterGroup(
            self,
            "Parameters",
            description=f"TLS, UTC and logs of {self.name}",
            family=f"postgres{POSTGRES_MAJOR}",
            parameters=database_parameters(store),
        )
        exported = database_logs(store)
        logs = self._logs("instance", exported)
        instance = rds.CfnDBInstance(
            self,
            "Instance",
            db_instance_identifier=self.name,
            engine="postgres",
            engine_version=POSTGRES_VERSION,
            db_instance_class=self.context.placed.by_tier(self.context.placed.policy.sizes.database),
            allocated_storage=str(self._by_tier(self._sizes.database_gib)),
            max_allocated_storage=self._by_tier(self._sizes.database_max_gib),
            storage_type="gp3",
            multi_az=self._instances > 1,
            db_name=self.database,
            port=str(store.port),
            db_parameter_group_name=parameters.ref,
            vpc_security_groups=[self.group.security_group_id],
            backup_retention_period=store.recovery.days if Guard.PITR in self.guards else 0,
            delete_automated_backups=Guard.PITR not in self.guards,
            enable_cloudwatch_logs_exports=list(exported),
            ca_certificate_identifier=AUTHORITY,
            **self._shared(),
            **self._per_instance(),
        )
        self._keep(instance, *logs)
        self.resources: list[cdk.CfnResource] = [instance]
        self.arn = instance.attr_db_instance_arn
        self.resource_id = instance.attr_dbi_resource_id
        self.host = instance.attr_endpoint_address
        self.secret_arn = instance.attr_master_user_secret_secret_arn
        self._acknowledge(instance)

    def _cluster(self) -> None:
        store = self.declared
        parameters = rds.CfnDBClusterParameterGroup(
            self,
            "ClusterParameters",  # not the instance's id: a deployed resource cannot change its type
            description=f"TLS, UTC and logs of {self.name}",
            family=f"aurora-postgresql{POSTGRES_MAJOR}",
            parameters=database_parameters(store),
        )
        exported = database_logs(store)
        logs = self._logs("cluster", exported)
        cluster = rds.CfnDBCluster(
            self,
            "Cluster",
            db_cluster_identifier=self.name,
            engine="aurora-postgresql",
            engine_version=POSTGRES_VERSION,
            database_name=self.database,
            port=store.port,
            db_cluster_parameter_group_name=parameters.ref,
            vpc_security_group_ids=[self.group.security_group_id],
            # Aurora knows no less than a day.
            backup_retention_period=store.recovery.days if Guard.PITR in self.guards else 1,
            delete_automated_backups=Guard.PITR not in self.guards,
            serverless_v2_scaling_configuration=rds.CfnDBCluster.ServerlessV2ScalingConfigurationProperty(
                min_capacity=0.5, max_capacity=self._by_tier(self._sizes.aurora_capacity)
            ),
            enable_cloudwatch_logs_exports=list(exported),
            **self._shared(),
        )
        self._keep(cluster, *logs)
        self.resources = [cluster]
        self._acknowledge(cluster)
        for number in range(self._instances):
            instance = rds.CfnDBInstance(
                self,
                f"Instance{number + 1}",
                db_instance_identifier=f"{self.name}-{number + 1}",
                engine="aurora-postgresql",
                db_instance_class="db.serverless",
                db_cluster_identifier=cluster.ref,
                ca_certificate_identifier=AUTHORITY,
                **self._per_instance(),
            )
            self._keep(instance)
            self.resources.append(instance)
            self._acknowledge(instance)
            acknowledge(
                instance,
                "backups, their plan and deletion protection belong to the cluster",
                f"{NIST}-RDSInBackupPlan",
                f"{HIPAA}-RDSInBackupPlan",
            )
        self.arn = cluster.attr_db_cluster_arn
        self.resource_id = cluster.attr_db_cluster_resource_id
        self.host = cluster.attr_endpoint_address
        self.secret_arn = cluster.attr_master_user_secret_secret_arn

    def _shared(self) -> dict[str, Any]:
        """What an instance and a cluster call by the same name."""
        key = self.context.key.key_arn
        return {
            "master_username": f"{self.database}_admin",
            "manage_master_user_password": True,
            "master_user_secret": {"kmsKeyId": key},
            "storage_encrypted": True,
            "kms_key_id": key,
            "db_subnet_group_name": self._subnets.ref,
            "deletion_protection": Guard.DELETION_PROTECTION in self.guards,
            "copy_tags_to_snapshot": True,
            "preferred_backup_window": BACKUP_WINDOW,
            "preferred_maintenance_window": UPKEEP_WINDOW,
            "enable_iam_database_authentication": True,
        }

    def _per_instance(self) -> dict[str, Any]:
        return {
            "publicly_accessible": False,
            "auto_minor_version_upgrade": True,
            "enable_performance_insights": True,
            "performance_insights_kms_key_id": self.context.key.key_arn,
            "performance_insights_retention_period": INSIGHTS_DAYS,
            "monitoring_interval": self._monitoring_seconds,
            "monitoring_role_arn": self._monitoring.role_arn if self._monitoring else None,
        }

    def _keep(self, resource: cdk.CfnResource, *first: cdk.CfnResource) -> None:
        kept = Guard.RETAIN in self.guards
        resource.apply_removal_policy(cdk.RemovalPolicy.RETAIN if kept else cdk.RemovalPolicy.DESTROY)
        for other in first:
            resource.add_resource_dependency(other)  # else RDS makes log groups of its own, without key and without end

    def _logs(self, kind: str, names: tuple[str, ...]) -> list[cdk.CfnResource]:
        placed, key = self.context.placed, self.context.key
        return [
            log_group(self, f"{name.title()}Log", f"/aws/rds/{kind}/{self.name}/{name}", placed, key) for name in names
        ]

    def _monitoring_role(self) -> iam.IRole:
        role = iam.Role(
            self,
            "Monitoring",
            assumed_by=iam.ServicePrincipal("monitoring.rds.amazonaws.com"),
            description=f"Enhanced monitoring of {self.name}",
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(MONITORING_POLICY)],
        )
        acknowledge(
            role,
            "what AWS documents for enhanced monitoring, which takes no other policy",
            f"{AWS_SOLUTIONS}-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{MONITORING_POLICY}]",
        )
        return role.without_policy_updates()

    def _acknowledge(self, resource: cdk.CfnResource) -> None:
        """What the policy does not ask for here, by what cdk-nag calls it."""
        unasked = (
            (Guard.PITR not in self.guards, ("RDS13",), ("RDSInBackupPlan", "RDSInstanceBackupEnabled")),
            (Guard.DELETION_PROTECTION not in self.guards, ("RDS10",), ("RDSInstanceDeletionProtectionEnabled",)),
            (self._instances == 1, ("RDS3",), ("RDSMultiAZSupport",)),
            (not self._monitoring_seconds, (), ("RDSEnhancedMonitoringEnabled",)),
        )
        for missing, solutions, others in unasked:
            if missing:
                rules = (f"{pack}-{rule}" for pack in (NIST, HIPAA) for rule in others)
                acknowledge(resource, self.context.rebuilt, *(f"{AWS_SOLUTIONS}-{rule}" for rule in solutions), *rules)
