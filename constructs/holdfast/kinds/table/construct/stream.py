"""A function that reads a table's stream, and the policy with which applications use a table."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from holdfast.estate.placement import Placed
from holdfast.estate.stack import Access, Processor
from holdfast.kinds.table.alarms import failure_queue, processor_alarms
from holdfast.kinds.table.construct.table import GuardedTable
from holdfast.model.declaration import DeclarationError
from holdfast.model.facts import construct_id
from holdfast.shared.alarms.construct import add_alarms
from holdfast.shared.construct.acknowledge import AWS_SOLUTIONS, HIPAA, NIST, acknowledge
from holdfast.shared.logs.groups import log_days

BATCH_SIZE = 100
MAX_RETRIES = 100
MAX_AGE = cdk.Duration.hours(6)  # well inside the day that a stream keeps
KEY_USE = ["kms:Decrypt", "kms:GenerateDataKey"]


class StreamProcessor(Construct):
    """The consumer of one stream: its own least-privilege role, bounded retries, and a queue for what stays bad."""

    def __init__(
        self,
        scope: Construct,
        processor: Processor,
        placed: Placed,
        root: Path,
        table: dynamodb.Table,
        *,
        key: kms.IKey,
        topic: str,
    ) -> None:
        super().__init__(scope, construct_id(processor.name))
        self._name, self._placed, self._key = placed.fill(processor.name), placed, key
        failures = self._failures()
        log = self._log()
        policy = self._policy(table, failures, log)
        self.function = self._function(processor, root, policy, log, failures)
        self._mapping(table, failures).node.add_dependency(policy)
        add_alarms(self, processor_alarms(self._name, failure_queue(self._name)), placed, topic)

    @property
    def _removal(self) -> cdk.RemovalPolicy:
        return cdk.RemovalPolicy.RETAIN if self._placed.keeps_logs else cdk.RemovalPolicy.DESTROY

    def _failures(self) -> sqs.Queue:
        queue = sqs.Queue(
            self,
            "Failures",
            queue_name=failure_queue(self._name),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=cdk.Duration.days(14),
            removal_policy=self._removal,
        )
        acknowledge(queue, "it is the failure queue itself", f"{AWS_SOLUTIONS}-SQS3")
        return queue

    def _log(self) -> logs.LogGroup:
        group = logs.LogGroup(
            self,
            "Log",
            log_group_name=f"/aws/lambda/{self._name}",
            encryption_key=self._key,
            removal_policy=self._removal,
        )
        resource = group.node.default_child
        assert isinstance(resource, logs.CfnLogGroup)
        resource.retention_in_days = log_days(self._placed)
        return group

    def _policy(self, table: dynamodb.Table, failures: sqs.Queue, log: logs.LogGroup) -> iam.ManagedPolicy:
        policy = iam.ManagedPolicy(
            self,
            "Policy",
            description=f"What {self._name} may do: read its stream, write its log, report failures",
            statements=[
                iam.PolicyStatement(
                    actions=["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"],
                    resources=[str(table.table_stream_arn)],
                ),
                iam.PolicyStatement(actions=["dynamodb:ListStreams"], resources=["*"]),
                iam.PolicyStatement(actions=["kms:Decrypt"], resources=[self._key.key_arn]),
                iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[failures.queue_arn]),
                iam.PolicyStatement(
                    actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[log.log_group_arn]
                ),
            ],
        )
        acknowledge(
            policy,
            "ListStreams knows no resource, and log streams are named by Lambda",
            f"{AWS_SOLUTIONS}-IAM5[Resource::*]",
        )
        return policy

    def _function(
        self, processor: Processor, root: Path, policy: iam.ManagedPolicy, log: logs.LogGroup, failures: sqs.Queue
    ) -> lambda_.Function:
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"Runs {self._name}",
            managed_policies=[policy],
        ).without_policy_updates()
        named = {"ENVIRONMENT": self._placed.environment_name, "FAILURES": failures.queue_url}
        function = lambda_.Function(
            self,
            "Function",
            function_name=self._name,
            description=f"Validates and routes the changes of {self._placed.fill(processor.table)}",
            runtime=lambda_.Runtime.PYTHON_3_14,
            architecture=lambda_.Architecture.ARM_64,
            handler="handler.handler",
            code=lambda_.Code.from_asset(str(_code(root, processor)), exclude=["__pycache__"]),
            role=role,
            log_group=log,
            memory_size=256,
            timeout=cdk.Duration.seconds(30),
            reserved_concurrent_executions=10,
            environment={**named, **processor.variables},
        )
        for reason, rule in (
            ("called by the stream alone, whose failures go to the mapping's own queue", "LambdaDLQ"),
            ("reaches nothing but AWS services, and no resource inside a VPC", "LambdaInsideVPC"),
        ):
            acknowledge(function, reason, f"{NIST}-{rule}", f"{HIPAA}-{rule}")
        return function

    def _mapping(self, table: dynamodb.Table, failures: sqs.Queue) -> lambda_.CfnEventSourceMapping:
        return lambda_.CfnEventSourceMapping(
            self,
            "Stream",
            function_name=self.function.function_name,
            event_source_arn=table.table_stream_arn,
            starting_position="LATEST",
            batch_size=BATCH_SIZE,
            bisect_batch_on_function_error=True,
            maximum_retry_attempts=MAX_RETRIES,  # of outages: a bad record is not retried, it goes to the queue
            maximum_record_age_in_seconds=int(MAX_AGE.to_seconds()),
            function_response_types=["ReportBatchItemFailures"],
            destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(destination=failures.queue_arn)
            ),
        )


def _code(root: Path, processor: Processor) -> Path:
    """Where the code of a processor is: one that is not there would be told by jsii, in forty lines."""
    folder = root / processor.code
    if not (folder / "handler.py").is_file():
        raise DeclarationError(f"processor {processor.name}: there is no {processor.code}/handler.py in {root}")
    return folder


def application_policy(scope: Construct, access: Access, placed: Placed, table: GuardedTable) -> None:
    """The managed policy that applications attach: named actions on one table, its indexes and its key."""
    arn = table.table.table_arn
    statements = [
        iam.PolicyStatement(
            sid="UseTheTable",
            actions=[f"dynamodb:{action}" for action in access.actions],
            resources=[arn, *(f"{arn}/index/{i.name}" for i in table.declared.every_index)],
        )
    ]
    if table.key:
        statements.append(iam.PolicyStatement(sid="UseItsKey", actions=KEY_USE, resources=[table.key.key_arn]))
    iam.ManagedPolicy(
        scope,
        construct_id(access.name),
        managed_policy_name=placed.fill(access.name),
        description=f"Use of {placed.fill(access.table)}",
        statements=statements,
    )
