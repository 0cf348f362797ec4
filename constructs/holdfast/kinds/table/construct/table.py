"""One declared table as a CDK construct."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct

from holdfast.estate.placement import Placed
from holdfast.kinds.table.declaration import Attribute, AttributeType, Table
from holdfast.model.declaration import DeclarationError
from holdfast.model.facts import Encryption, Guard
from holdfast.policy.required import why_unprotected
from holdfast.shared.construct.acknowledge import AWS_SOLUTIONS, HIPAA, NIST, acknowledge
from holdfast.shared.construct.tags import tag

KINDS = {
    AttributeType.STRING: dynamodb.AttributeType.STRING,
    AttributeType.NUMBER: dynamodb.AttributeType.NUMBER,
    AttributeType.BINARY: dynamodb.AttributeType.BINARY,
}


class GuardedTable(Construct):
    """A table with exactly the guards that the policy asks for: no more, no less."""

    def __init__(self, scope: Construct, table: Table, placed: Placed, key: kms.IKey | None = None) -> None:
        super().__init__(scope, table.id)
        guards = placed.required(table)
        self.declared = table
        self.key = key if Guard.CUSTOMER_KEY in guards else None
        if Guard.CUSTOMER_KEY in guards and key is None:
            raise DeclarationError(f"table {table.name} needs a customer-managed key: pass the stack's key")
        if Guard.TTL in guards and table.lifetime.ttl is None:
            raise DeclarationError(f"table {table.name} has TTL in its floor and no attribute for it: declare ttl=")
        recovered = Guard.PITR in guards
        stream = table.stream if table.stream and not table.stream.pending else None
        self.table = dynamodb.Table(
            self,
            "Table",
            table_name=placed.fill(table.name),
            partition_key=_attribute(table.key.partition),
            sort_key=_attribute(table.key.sort) if table.key.sort else None,
            billing_mode=dynamodb.BillingMode.PROVISIONED if table.billing else dynamodb.BillingMode.PAY_PER_REQUEST,
            read_capacity=table.billing.read if table.billing else None,
            write_capacity=table.billing.write if table.billing else None,
            deletion_protection=Guard.DELETION_PROTECTION in guards,
            removal_policy=cdk.RemovalPolicy.RETAIN if Guard.RETAIN in guards else cdk.RemovalPolicy.DESTROY,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=recovered,
                recovery_period_in_days=placed.recovery_days(table) if recovered else None,
            ),
            time_to_live_attribute=table.lifetime.ttl,
            stream=dynamodb.StreamViewType[stream.view.name] if stream else None,
            encryption=_encryption(placed.stack.encryption, self.key),
            encryption_key=self.key,
        )
        for index in table.indexes:
            capacity = table.capacity(index)
            self.table.add_global_secondary_index(
                index_name=index.name,
                partition_key=_attribute(index.key.partition),
                sort_key=_attribute(index.key.sort) if index.key.sort else None,
                projection_type=dynamodb.ProjectionType[index.projection.name],
                non_key_attributes=list(index.include) or None,
                read_capacity=capacity.read if capacity else None,
                write_capacity=capacity.write if capacity else None,
            )
        for local in table.local_indexes:
            self.table.add_local_secondary_index(
                index_name=local.name,
                sort_key=_attribute(local.sort),
                projection_type=dynamodb.ProjectionType[local.projection.name],
                non_key_attributes=list(local.include) or None,
            )
        _as_it_is(self.table, table)
        tag(self, table, placed)
        _acknowledge(self, table, placed, recovered=recovered)


def _as_it_is(made: dynamodb.Table, table: Table) -> None:
    """The name that an existing stack gave it, and the settings that are declared as CloudFormation has them."""
    resource = made.node.default_child
    assert isinstance(resource, dynamodb.CfnTable)
    if table.logical_id:
        resource.override_logical_id(table.logical_id)
    for name, value in (table.extra.properties if table.extra else {}).items():
        resource.add_property_override(name, value)


def _acknowledge(construct: Construct, table: Table, placed: Placed, *, recovered: bool) -> None:
    backup = (f"{NIST}-DynamoDBInBackupPlan", f"{HIPAA}-DynamoDBInBackupPlan")
    if table.billing:
        reason = f"its capacity is declared: {table.billing.read} read and {table.billing.write} write units"
        acknowledge(construct, reason, f"{NIST}-DynamoDBAutoScalingEnabled", f"{HIPAA}-DynamoDBAutoScalingEnabled")
    if recovered:
        reason = (
            f"recovered to any second of the last {placed.recovery_days(table)} days; "
            "the policy asks for no backup plan beside that"
        )
        acknowledge(construct, reason, *backup)
    else:
        pitr = (f"{AWS_SOLUTIONS}-DDB3", f"{NIST}-DynamoDBPITREnabled", f"{HIPAA}-DynamoDBPITREnabled")
        acknowledge(construct, why_unprotected(table, placed.env), *pitr, *backup)


def _encryption(encryption: Encryption, key: kms.IKey | None) -> dynamodb.TableEncryption | None:
    if key:
        return dynamodb.TableEncryption.CUSTOMER_MANAGED
    return dynamodb.TableEncryption.AWS_MANAGED if encryption is Encryption.AWS_MANAGED else None


def _attribute(attribute: Attribute) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=attribute.name, type=KINDS[attribute.kind])
