"""One declared document store as a DocumentDB cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator

import aws_cdk as cdk
from aws_cdk import aws_docdb as docdb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from holdfast.kinds.documents.alarms import alarms
from holdfast.kinds.documents.declaration import DocumentDatabase
from holdfast.kinds.documents.settings import LOGS, PARAMETERS, VERSION
from holdfast.model.facts import Guard
from holdfast.model.regions import via
from holdfast.shared.alarms.construct import add_alarms
from holdfast.shared.applications.statements import Use
from holdfast.shared.construct.acknowledge import AWS_SOLUTIONS, HIPAA, NIST, acknowledge
from holdfast.shared.construct.context import StoreContext
from holdfast.shared.construct.tags import tag
from holdfast.shared.logs.construct import log_group
from holdfast.shared.vault.settings import BACKUP_WINDOW

FAMILY = "docdb5.0"


def add_documents(context: StoreContext, store: DocumentDatabase) -> Iterator[Use]:
    documents = GuardedDocumentDatabase(context.scope, store, context)
    if documents.secret:
        services, secrets = context.network.services, ec2.InterfaceVpcEndpointAwsService.SECRETS_MANAGER
        context.network.reach(services, "SecretsManager", secrets)
        secret, key = context.resolved(documents.secret), context.resolved(context.key.key_arn)
        through = {"StringEquals": {"kms:ViaService": via(context.placed.region, "secretsmanager")}}
        yield Use(sid=f"{store.id}User", actions=("secretsmanager:GetSecretValue",), resources=(secret,))
        yield Use(sid=f"{store.id}UserKey", actions=("kms:Decrypt",), resources=(key,), condition=through)


class GuardedDocumentDatabase(Construct):
    """A cluster with exactly the guards that the policy asks for; TLS, audit and encryption it has always."""

    def __init__(self, scope: Construct, store: DocumentDatabase, context: StoreContext) -> None:
        super().__init__(scope, store.id)
        placed, network = context.placed, context.network
        name = placed.fill(store.name)
        guards = placed.required(store)
        removal = cdk.RemovalPolicy.RETAIN if Guard.RETAIN in guards else cdk.RemovalPolicy.DESTROY
        group = network.group(f"{store.id}Group", f"Documents {name}")
        network.allow(network.services, group, store.port, f"Services use documents {name}")
        subnets = docdb.CfnDBSubnetGroup(
            self, "Subnets", db_subnet_group_description=f"Where {name} stands", subnet_ids=network.subnet_ids
        )
        parameters = docdb.CfnDBClusterParameterGroup(
            self,
            "Parameters",
            description=f"How {name} is reached and watched",
            family=FAMILY,
            parameters=PARAMETERS,
        )
        self.cluster = docdb.CfnDBCluster(
            self,
            "Cluster",
            db_cluster_identifier=name,
            engine_version=VERSION,
            master_username="holdfast",
            manage_master_user_password=True,  # in Secrets Manager, which changes it every week
            master_user_secret_kms_key_id=context.key.key_arn,
            storage_encrypted=True,
            kms_key_id=context.key.key_arn,
            port=store.port,
            db_subnet_group_name=subnets.ref,
            db_cluster_parameter_group_name=parameters.ref,
            vpc_security_group_ids=[group.security_group_id],
            deletion_protection=Guard.DELETION_PROTECTION in guards,
            backup_retention_period=store.recovery.days if Guard.PITR in guards else 1,
            preferred_backup_window=BACKUP_WINDOW,
            preferred_maintenance_window="sun:10:00-sun:10:30",
            copy_tags_to_snapshot=True,
            enable_cloudwatch_logs_exports=list(LOGS),
        )
        self.cluster.apply_removal_policy(removal)
        for word in LOGS:
            # The engine writes to these names; made here, they have the stack's key and an end.
            group_of_log = log_group(self, f"{word.title()}Log", f"/aws/docdb/{name}/{word}", placed, context.key)
            self.cluster.add_resource_dependency(group_of_log)
        for number in range(1, placed.by_tier(placed.policy.instances) + 1):
            docdb.CfnDBInstance(
                self,
                f"Instance{number}",
                db_cluster_identifier=self.cluster.ref,
                db_instance_identifier=f"{name}-{number}",
                db_instance_class=placed.by_tier(placed.policy.sizes.documents),
                auto_minor_version_upgrade=True,
            ).apply_removal_policy(removal)
        self.secret = self._user(context, name, store.database, removal) if store.database else None
        tag(self, store, placed)
        if Guard.PITR in guards:
            arn = cdk.Stack.of(self).format_arn(
                service="rds",
                resource="cluster",
                resource_name=self.cluster.ref,
                arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
            )
            context.vault.keep(store.id, store.backups, arn)
        if context.topic and Guard.ALARMS in guards:
            add_alarms(self, alarms(placed, store), placed, context.topic)
        acknowledge(
            self.cluster,
            "DocumentDB makes the secret itself and changes it every week; the rule only knows a password by reference",
            f"{AWS_SOLUTIONS}-DOC3",
        )
        if Guard.PITR not in guards:
            acknowledge(self.cluster, context.rebuilt, f"{AWS_SOLUTIONS}-DOC4")
        acknowledge(
            self.cluster,
            "audit is exported; the rule looks for names of audited events, which are no kinds of log",
            *(f"{AWS_SOLUTIONS}-DOC5[LogExport::{e}]" for e in ("authenticate", "createIndex", "dropCollection")),
        )

    def _user(self, context: StoreContext, name: str, database: str, removal: cdk.RemovalPolicy) -> str:
        """The name and the password of the applications' user, as a secret; answers with its ARN.

        The cluster knows the user once its administrator has run what the stack puts out: CloudFormation knows no users
        of DocumentDB, and none of our functions speaks its language.
        """
        user = f"{database}_app"
        secret = secretsmanager.CfnSecret(
            self,
            "Secret",
            name=f"{name}/applications",
            description=f"The user of {name} that applications log in as",
            kms_key_id=context.key.key_arn,
            generate_secret_string=secretsmanager.CfnSecret.GenerateSecretStringProperty(
                secret_string_template=json.dumps({"username": user}),
                generate_string_key="password",
                password_length=40,
                exclude_punctuation=True,  # it stands in addresses
            ),
        )
        secret.apply_removal_policy(removal)
        acknowledge(
            secret,
            "no source asks for rotation: the administrator of the cluster changes the password there and here",
            f"{AWS_SOLUTIONS}-SMG4",
            f"{NIST}-SecretsManagerRotationEnabled",
            f"{HIPAA}-SecretsManagerRotationEnabled",
        )
        roles = f'roles: [{{role: "readWrite", db: "{database}"}}]'
        cdk.CfnOutput(
            self,
            "CreateUser",
            description=f"To be run once by the administrator of {name}, with the password of {name}/applications",
            value=f'db.getSiblingDB("admin").createUser({{user: "{user}", pwd: passwordPrompt(), {roles}}})',
        )
        return secret.ref
