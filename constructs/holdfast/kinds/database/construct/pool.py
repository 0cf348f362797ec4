"""The pool in front of a database: an RDS Proxy, and the figures that applications set themselves."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_rds as rds
from constructs import Construct

from holdfast.kinds.database.construct.database import GuardedDatabase
from holdfast.kinds.database.declaration import Pool
from holdfast.kinds.database.settings import pool_percent
from holdfast.kinds.database.uses import database_user
from holdfast.shared.construct.parameter import parameter
from holdfast.shared.logs.construct import log_group

PORT = 5432  # a proxy of PostgreSQL listens there, wherever its database does
BORROW_SECONDS = 30


class DatabasePool(Construct):
    """Clients come with TLS and IAM; behind it, no more connections than declared."""

    def __init__(self, database: GuardedDatabase, pool: Pool) -> None:
        super().__init__(database, "Pool")
        context, name = database.context, database.name
        placed, network = context.placed, context.network
        group = network.group(f"{database.declared.id}PoolGroup", f"Pool of {name}")
        network.allow(network.services, group, PORT, f"Services use the pool of {name}")
        network.allow(group, database.group, database.declared.port, f"The pool of {name}")
        log = log_group(self, "Log", f"/aws/rds/proxy/{name}", placed, context.key)
        proxy = rds.CfnDBProxy(
            self,
            "Proxy",
            db_proxy_name=name,
            engine_family="POSTGRESQL",
            role_arn=self._role(database),
            default_auth_scheme="IAM_AUTH",  # on both sides of it: there is no password in between
            require_tls=True,
            debug_logging=False,  # it would write statements, and with them personal data
            # A proxy ends no connection by its age, so the nearest thing is how long a client may be idle.
            idle_client_timeout=int(pool.max_lifetime.total_seconds()),
            vpc_security_group_ids=[group.security_group_id],
            vpc_subnet_ids=network.subnet_ids,
        )
        proxy.add_resource_dependency(log)  # else the proxy makes one of its own, without key and without end
        clusters = [c for c in database.node.children if isinstance(c, rds.CfnDBCluster)]
        instances = [c for c in database.node.children if isinstance(c, rds.CfnDBInstance)]
        targets = rds.CfnDBProxyTargetGroup(
            self,
            "Targets",
            db_proxy_name=proxy.ref,
            target_group_name="default",
            db_cluster_identifiers=[c.ref for c in clusters] or None,
            db_instance_identifiers=None if clusters else [i.ref for i in instances],
            connection_pool_configuration_info=rds.CfnDBProxyTargetGroup.ConnectionPoolConfigurationInfoFormatProperty(
                max_connections_percent=pool_percent(pool.max_open, pool),
                max_idle_connections_percent=pool_percent(pool.max_idle, pool),
                connection_borrow_timeout=BORROW_SECONDS,
            ),
        )
        if clusters:
            targets.node.add_dependency(*instances)  # a cluster without an instance takes no connection
        tags = placed.tags | placed.table_tags(database.declared)
        for setting, value in pool.settings.items():
            parameter(self, f"/{name}/pool/{setting}", value, f"For applications that connect to {name}", tags)
        # An ARN ends with the proxy's id, by which IAM knows it: arn:aws:rds:<region>:<account>:db-proxy:<id>
        self.resource_id = cdk.Fn.select(6, cdk.Fn.split(":", proxy.attr_db_proxy_arn))

    def _role(self, database: GuardedDatabase) -> str:
        user = database_user(database.context.placed, database.declared, database.resource_id)
        policy = iam.ManagedPolicy(
            self,
            "Policy",
            description=f"Connects to {database.name} as its applications do",
            statements=[
                iam.PolicyStatement(
                    actions=["rds-db:connect"],
                    resources=[cdk.Token.as_string(user)],
                ),
            ],
        )
        return iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("rds.amazonaws.com"),
            description=f"Connects the pool to {database.name}",
            managed_policies=[policy],
        ).role_arn
