"""The jobs of a database as functions: its schema at every deploy, its partitions and its drift every day."""

from __future__ import annotations

import atexit
import hashlib
import shutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from aws_cdk import triggers
from constructs import Construct

from holdfast.cfn.dig import ACCOUNT
from holdfast.kinds.bucket.construct import GuardedBucket
from holdfast.kinds.database import layer
from holdfast.kinds.database.alarms import JOBS
from holdfast.kinds.database.construct.database import GuardedDatabase
from holdfast.kinds.database.declaration import DRIFT_SCHEDULE, RowUpkeep
from holdfast.kinds.database.settings import (
    FUNCTION_SECONDS,
    HANDLERS,
    QUEUE_DAYS,
    UPKEEP,
    failed_jobs,
    function_names,
)
from holdfast.model.declaration import DeclarationError
from holdfast.shared.construct.acknowledge import AWS_SOLUTIONS, acknowledge
from holdfast.shared.logs.construct import log_group

RUNTIME = lambda_.Runtime.PYTHON_3_14
TIMEOUT = cdk.Duration.minutes(15)
# The trigger has to wait longer than its function runs, or CloudFormation gets no answer for an hour.
MIGRATE_TIMEOUT, TRIGGER_TIMEOUT = cdk.Duration.seconds(FUNCTION_SECONDS), cdk.Duration.minutes(14)
ARCHIVE = "archive"
PACKAGE = Path(__file__).parents[3]
HANDLER = "functions/database/handler.py"
# All of Holdfast that the handler needs, and no more: an edit of any other module deploys no function anew.
CARRIED = (
    "errors.py",
    "files.py",
    "live/__init__.py",
    "live/s3.py",
    "live/secrets.py",
    "postgres/__init__.py",
    "postgres/archive.py",
    "postgres/catalog.py",
    "postgres/catalog_queries.py",
    "postgres/connection.py",
    "postgres/drift.py",
    "postgres/migrations.py",
    "postgres/retention.py",
    "text.py",
)
CARRIED_FOR_ROWS = (
    "functions/__init__.py",
    "functions/database/__init__.py",
    "functions/database/handler.py",
    "functions/database/upkeep.py",
    "postgres/upkeep.py",
)
# Calls that Lambda makes to stand in a subnet; EC2 knows no narrower resource for most of them.
IN_SUBNETS = [
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
]


class DatabaseFunctions(Construct):
    """Functions beside the database, in its subnets: each with a role of its own and a queue for what stays undone."""

    def __init__(self, database: GuardedDatabase, archive: GuardedBucket | None) -> None:
        super().__init__(database, "Functions")
        self._database = database
        self._context = database.context
        names = function_names(database.name, database.declared)
        network = self._context.network
        secrets = network.reach(network.functions, "SecretsManager", ec2.InterfaceVpcEndpointAwsService.SECRETS_MANAGER)
        network.allow(network.functions, database.group, database.declared.port, f"Functions of {database.name}")
        self._layer = lambda_.LayerVersion(
            self,
            "Layer",
            description="PostgreSQL's driver, and the authorities of RDS",
            code=_layer(self._context.root, self._context.placed.region),
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[lambda_.Architecture.ARM_64],
        )
        self._failed = sqs.Queue(
            self,
            "FailedJobs",
            queue_name=failed_jobs(database.name),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=cdk.Duration.days(QUEUE_DAYS),
        )
        migrate = self._function("Migrate", names["migrate"])
        triggers.Trigger(
            self,
            "MigrateAtDeploy",
            handler=migrate,
            timeout=TRIGGER_TIMEOUT,
            # The ways to the database and to its secret: rules that nothing of the function refers to.
            execute_after=[*database.resources, database.group, network.functions, network.end_points, secrets],
        )
        drift = self._function("Drift", names["drift"])
        jobs = {"Drift": (drift, DRIFT_SCHEDULE)}
        if upkeep := database.declared.upkeep:
            if archive:
                network.reach_s3(network.functions)
            for job in UPKEEP[type(upkeep)]:
                jobs[job.title()] = (self._function(job.title(), names[job], archive), upkeep.schedule)
        self._schedule(jobs)

    def _function(
        self,
        id: str,  # noqa: A002 (as constructs call it)
        name: str,
        archive: GuardedBucket | None = None,
    ) -> lambda_.Function:
        database, context = self._database, self._context
        upkeep, handler = database.declared.upkeep, HANDLERS[id.lower()]
        log = log_group(self, f"{id}Log", name, context.placed, context.key)
        policy = iam.ManagedPolicy(
            self,
            f"{id}Policy",
            description=f"What {name} may do",
            statements=[
                iam.PolicyStatement(actions=IN_SUBNETS, resources=["*"]),
                iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=[database.secret_arn]),
                iam.PolicyStatement(actions=["kms:Decrypt"], resources=[context.key.key_arn]),
                iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[self._failed.queue_arn]),
                iam.PolicyStatement(actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[log.attr_arn]),
                *(self._archiving(archive) if archive else ()),
            ],
        )
        role = iam.Role(
            self,
            f"{id}Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"Runs {name}",
            managed_policies=[policy],
        ).without_policy_updates()
        acknowledge(
            policy,
            "EC2 knows no narrower resource for the network interfaces that Lambda makes in a subnet",
            f"{AWS_SOLUTIONS}-IAM5[Resource::*]",
        )
        if archive:
            acknowledge(
                policy,
                "the objects of one prefix of one bucket, whose names are those of partitions to come",
                f"{AWS_SOLUTIONS}-IAM5[Resource::<{archive.logical_id}.Arn>/{ARCHIVE}/*]",
            )
        function = lambda_.Function(
            self,
            id,
            function_name=name,
            description=f"{handler.rpartition('.')[2]} {database.name}",
            runtime=RUNTIME,
            architecture=lambda_.Architecture.ARM_64,
            handler=handler,
            code=_code(context.root, database.declared.schema, rows=isinstance(upkeep, RowUpkeep)),
            layers=[self._layer],
            role=role,
            log_group=logs.LogGroup.from_log_group_name(self, f"{id}LogGroup", log.ref),
            memory_size=1024,
            timeout=MIGRATE_TIMEOUT if id == "Migrate" else TIMEOUT,
            reserved_concurrent_executions=1,
            vpc=context.network.vpc,
            vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
            security_groups=[context.network.functions],
            environment_encryption=context.key,
            environment={
                "DATABASE": database.name,
                "HOST": database.host,
                "PORT": str(database.declared.port),
                "SCHEMA": database.declared.schema,
                "SECRET": database.secret_arn,
                "NAMESPACE": JOBS,
                **({"ARCHIVE": f"s3://{archive.name}/{ARCHIVE}"} if archive else {}),
                **({"TABLES": ",".join(upkeep.tables)} if id == "Upkeep" and isinstance(upkeep, RowUpkeep) else {}),
            },
        )
        resource = function.node.default_child
        assert isinstance(resource, lambda_.CfnFunction)
        resource.dead_letter_config = lambda_.CfnFunction.DeadLetterConfigProperty(target_arn=self._failed.queue_arn)
        return function

    def _archiving(self, archive: GuardedBucket) -> list[iam.PolicyStatement]:
        """Write and read back: nothing in the archive is ever deleted by a function."""
        objects = cdk.Fn.join("", [archive.arn, f"/{ARCHIVE}/*"])
        return [
            iam.PolicyStatement(actions=["s3:GetObject", "s3:PutObject"], resources=[objects]),
            # Without it, S3 answers for an object that is not there yet as for one that is forbidden.
            iam.PolicyStatement(actions=["s3:ListBucket"], resources=[archive.arn]),
            iam.PolicyStatement(actions=["kms:GenerateDataKey"], resources=[self._context.key.key_arn]),
        ]

    def _schedule(self, jobs: Mapping[str, tuple[lambda_.Function, str]]) -> None:
        placed = self._context.placed
        policy = iam.ManagedPolicy(
            self,
            "SchedulePolicy",
            description=f"Calls the daily functions of {self._database.name}",
            statements=[
                iam.PolicyStatement(
                    actions=["lambda:InvokeFunction"], resources=[f.function_arn for f, _ in jobs.values()]
                ),
                iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[self._failed.queue_arn]),
            ],
        )
        role = iam.Role(
            self,
            "ScheduleRole",
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": ACCOUNT}}
            ),
            description=f"Calls the daily functions of {self._database.name}",
            managed_policies=[policy],
        ).without_policy_updates()
        for job, (function, expression) in jobs.items():
            cdk.CfnResource(
                self,
                f"{job}Daily",
                type="AWS::Scheduler::Schedule",
                properties={
                    "Name": function_names(self._database.name, self._database.declared)[job.lower()],
                    "Description": f"{job} of {self._database.name} in {placed.name}",
                    "ScheduleExpression": expression,
                    "ScheduleExpressionTimezone": "UTC",
                    "FlexibleTimeWindow": {"Mode": "OFF"},
                    "State": "ENABLED",
                    "Target": {
                        "Arn": function.function_arn,
                        "RoleArn": role.role_arn,
                        "DeadLetterConfig": {"Arn": self._failed.queue_arn},
                        "RetryPolicy": {"MaximumRetryAttempts": 2, "MaximumEventAgeInSeconds": 3600},
                    },
                },
            )


def contents(root: Path, schema: str, *, rows: bool = False) -> Iterator[tuple[str, bytes]]:
    """What the code of the functions consists of, and nothing else: (path in the asset, content).

    ``rows`` says that its upkeep is that of a database without partitions.
    """
    yield "handler.py", (PACKAGE / HANDLER).read_bytes()
    yield "holdfast/__init__.py", b""  # the package's own offers declarations, which no function needs
    for name in (*CARRIED, *(CARRIED_FOR_ROWS if rows else ())):
        yield f"holdfast/{name}", (PACKAGE / name).read_bytes()
    folder = root / "schemas" / schema
    if not folder.is_dir():
        raise DeclarationError(f"schemas/{schema} is missing: the database's SQL belongs there")
    for path in sorted(folder.iterdir()):
        if path.suffix in (".sql", ".json"):
            yield f"schemas/{schema}/{path.name}", path.read_bytes()


def digest(root: Path, schema: str, *, rows: bool = False) -> str:
    """The same files give the same hash on every machine."""
    found = hashlib.sha256()
    for name, content in contents(root, schema, rows=rows):
        found.update(f"{name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


@cache
def staged(root: Path, schema: str, *, rows: bool = False) -> Path:
    """A folder with the code."""
    folder = Path(mkdtemp(prefix="holdfast-functions-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, content in contents(root, schema, rows=rows):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return folder


def _code(root: Path, schema: str, *, rows: bool) -> lambda_.Code:
    return lambda_.Code.from_asset(
        str(staged(root, schema, rows=rows)),
        asset_hash=digest(root, schema, rows=rows),
        asset_hash_type=cdk.AssetHashType.CUSTOM,
    )


def _layer(root: Path, region: str) -> lambda_.Code:
    folder = layer.built(root, region)
    return lambda_.Code.from_asset(
        str(folder), asset_hash=layer.made_from(folder), asset_hash_type=cdk.AssetHashType.CUSTOM
    )
