"""The lifecycle platform as it would be deployed, beside what its sources ask for, typed out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from declare import PROD, TEST, estate, on_aurora
from support import CONTEXT, ROOT, Json

from holdfast import Database, DeclarationError, Environment, Stack, Upkeep
from holdfast.estate.placement import Placed
from holdfast.estate.provenance import every_fact
from holdfast.kinds.database.construct.functions import CARRIED
from holdfast.model import provenance
from stacks import environments, lifecycle

ENVIRONMENTS = ("prod", "test")
KEY = {"Fn::GetAtt": ["Key", "Arn"]}
TOPIC = {"Ref": "Alarms"}


class Seen:
    """One synth of the stack in both environments."""

    def __init__(self, folder: Path, stack: Stack = lifecycle.STACK, **changes: Any) -> None:
        from holdfast.cdk import app

        self.folder = folder
        app(estate(stack, **changes), CONTEXT | {"env": "all"}, str(folder)).synth()
        self.templates = {
            env: json.loads((folder / f"LifecyclePlatform-{env}.template.json").read_text())["Resources"]
            for env in ENVIRONMENTS
        }
        self.report: list[Json] = json.loads((folder / "validation-report.json").read_bytes())["pluginReports"]

    def all(self, env: str, kind: str) -> dict[str, Json]:
        return {i: r for i, r in self.templates[env].items() if r["Type"] == f"AWS::{kind}"}

    def one(self, env: str, kind: str, **properties: Any) -> Json:
        found = [
            r
            for r in self.all(env, kind).values()
            if all(r["Properties"].get(name) == value for name, value in properties.items())
        ]
        assert len(found) == 1, (kind, properties, len(found))
        return found[0]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return Seen(tmp_path_factory.mktemp("instance"))


@pytest.fixture(scope="module")
def aurora(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return Seen(tmp_path_factory.mktemp("aurora"), on_aurora(lifecycle.STACK))


def fate(resource: Json) -> tuple[str, str]:
    return resource["DeletionPolicy"], resource["UpdateReplacePolicy"]


# What the source does not give, typed out by hand.
ASSUMED = {
    ("LifecyclePlatform-prod", "stack name"),
    ("LifecyclePlatform-prod", "owner"),
    ("LifecyclePlatform-prod", "environment name"),
    ("LifecyclePlatform-prod", "region"),
    ("LifecyclePlatform-prod", "account"),
    ("lifecycle-prod", "name"),
    ("lifecycle-prod", "engine"),
    ("lifecycle-prod", "port"),
    ("lifecycle-prod", "size"),
    ("lifecycle-prod", "hour of the upkeep"),
    ("lifecycle-prod", "partitions ahead"),
    ("lifecycle-prod", "earliest row"),
    ("lifecycle-archive-prod", "name"),
    ("lifecycle-archive-prod", "archive/{table}/"),
    ("lifecycle-archive-prod", "locked"),
}
INFERRED = {
    ("LifecyclePlatform-prod", "system"),
    ("lifecycle-prod", "data class"),
    ("lifecycle-prod", "six-hourly backup"),
    ("lifecycle-archive-prod", "data class"),
}


def test_every_fact_names_its_lines_or_says_why_it_is_as_it_is() -> None:
    found: dict[str, set[tuple[str, str]]] = {}
    for stated in every_fact(Placed(lifecycle.STACK, environments.PROD)):
        origin = stated.origin
        found.setdefault(origin.kind, set()).add((stated.store or "LifecyclePlatform-prod", stated.fact))
        assert origin.reason or origin.kind == provenance.DOCUMENTED
        assert origin.document == "lifecycle-postgresql.md" if origin.lines else origin.kind == provenance.ASSUMED
    assert found.keys() == {provenance.DOCUMENTED, provenance.INFERRED, provenance.ASSUMED}
    assert (found[provenance.INFERRED], found[provenance.ASSUMED]) == (INFERRED, ASSUMED)


# env: deletion protection, days of recovery, backups die with it, two zones, fate
GUARDS = {
    "prod": (True, 30, False, True, ("Retain", "Retain")),
    "test": (False, 0, True, False, ("Delete", "Delete")),
}


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_the_database_is_protected_in_prod_and_disposable_in_test(seen: Seen, env: str) -> None:
    database = seen.one(env, "RDS::DBInstance")
    p = database["Properties"]
    guards = (
        p["DeletionProtection"],
        p["BackupRetentionPeriod"],
        p["DeleteAutomatedBackups"],
        p["MultiAZ"],
        fate(database),
    )
    assert guards == GUARDS[env]
    assert p["DBInstanceIdentifier"] == f"lifecycle-{env}"


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_the_database_is_encrypted_closed_and_without_a_password_of_ours_everywhere(seen: Seen, env: str) -> None:
    p = seen.one(env, "RDS::DBInstance")["Properties"]
    assert (p["StorageEncrypted"], p["KmsKeyId"], p["PerformanceInsightsKMSKeyId"]) == (True, KEY, KEY)
    assert (p["ManageMasterUserPassword"], p["MasterUserSecret"]) == (True, {"KmsKeyId": KEY})
    assert "MasterUserPassword" not in p
    assert p["EnableIAMDatabaseAuthentication"] is True
    assert p["PubliclyAccessible"] is False
    assert p["Port"] == "5433"
    assert p["CopyTagsToSnapshot"] is p["AutoMinorVersionUpgrade"] is True
    assert p["EnableCloudwatchLogsExports"] == ["postgresql", "upgrade"]
    parameters = seen.one(env, "RDS::DBParameterGroup")["Properties"]["Parameters"]
    assert parameters["rds.force_ssl"] == "1"
    assert parameters["timezone"] == "UTC"
    assert parameters["log_parameter_max_length"] == "0"


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_every_log_is_encrypted_ends_and_may_be_by_the_key(seen: Seen, env: str) -> None:
    names = {r["Properties"]["LogGroupName"]: r["Properties"] for r in seen.all(env, "Logs::LogGroup").values()}
    stack = f"/holdfast/LifecyclePlatform-{env}"
    database = f"/aws/rds/instance/lifecycle-{env}"
    assert set(names) == {
        f"{stack}/flow",
        f"{stack}/lifecycle-{env}-migrate",
        f"{stack}/lifecycle-{env}-retention",
        f"{stack}/lifecycle-{env}-drift",
        f"{database}/postgresql",
        f"{database}/upgrade",
    }
    assert all(p["KmsKeyId"] == KEY and p["RetentionInDays"] for p in names.values())
    policy = json.dumps(seen.one(env, "KMS::Key")["Properties"]["KeyPolicy"])
    assert f":log-group:{stack}/*" in policy
    assert f":log-group:/aws/rds/*/lifecycle-{env}/*" in policy


def test_s2_234_to_237_prod_is_backed_up_at_two_and_every_six_hours_kept_90_days_and_recovers_30(seen: Seen) -> None:
    plan = seen.one("prod", "Backup::BackupPlan")["Properties"]["BackupPlan"]
    rules = {r["RuleName"]: (r["ScheduleExpression"], r["Lifecycle"]) for r in plan["BackupPlanRule"]}
    assert rules == {
        "daily": ("cron(0 2 * * ? *)", {"DeleteAfterDays": 90}),
        "six-hourly": ("cron(0 8,14,20 * * ? *)", {"DeleteAfterDays": 90}),
    }
    assert {r["ScheduleExpressionTimezone"] for r in plan["BackupPlanRule"]} == {"Etc/UTC"}
    hours = sorted(int(h) for schedule, _ in rules.values() for h in schedule.split()[1].split(","))
    assert [(later - hour) % 24 for hour, later in zip(hours, [*hours[1:], hours[0]], strict=True)] == [6, 6, 6, 6]
    recovery = seen.one("prod", "RDS::DBInstance")["Properties"]
    assert (recovery["BackupRetentionPeriod"], recovery["DeleteAutomatedBackups"]) == (30, False)
    vault = seen.one("prod", "Backup::BackupVault")
    assert vault["Properties"]["EncryptionKeyArn"] == KEY
    assert vault["Properties"]["LockConfiguration"] == {"MinRetentionDays": 90, "MaxRetentionDays": 365}
    assert fate(vault) == ("Retain", "Retain")
    (database,) = seen.all("prod", "RDS::DBInstance")
    selection = seen.one("prod", "Backup::BackupSelection")["Properties"]["BackupSelection"]
    assert selection["Resources"] == [{"Fn::GetAtt": [database, "DBInstanceArn"]}]
    assert "ListOfTags" not in selection


def test_no_window_of_rds_and_no_daily_job_meets_the_hour_of_a_backup(seen: Seen) -> None:
    p = seen.one("prod", "RDS::DBInstance")["Properties"]
    taken = {hour + more for hour in (2, 8, 14, 20) for more in (0, 1)}  # a backup may start for an hour
    assert p["PreferredBackupWindow"] == "04:00-04:30"
    assert p["PreferredMaintenanceWindow"] == "sun:10:00-sun:10:30"
    jobs = {r["Properties"]["ScheduleExpression"] for r in seen.all("prod", "Scheduler::Schedule").values()}
    assert jobs == {"cron(0 5 * * ? *)", "cron(30 5 * * ? *)"}
    assert not taken & {4, 10, 5}


def test_the_test_environment_has_no_backup_no_alarm_and_nothing_that_is_retained(seen: Seen) -> None:
    resources = seen.templates["test"].values()
    assert [r["Type"] for r in resources if r["Type"].startswith(("AWS::Backup", "AWS::CloudWatch", "AWS::SNS"))] == []
    assert [r["Type"] for r in resources if "Retain" in (r.get("DeletionPolicy"), r.get("UpdateReplacePolicy"))] == []


def bucket(seen: Seen, env: str, name: str) -> tuple[str, Json]:
    """The archive, or the bucket of access logs, which has no name of its own."""
    found = [
        (i, r)
        for i, r in seen.all(env, "S3::Bucket").items()
        if (name in json.dumps(r["Properties"].get("BucketName", "logs")))
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_the_archive_is_versioned_locked_and_cold(seen: Seen, env: str) -> None:
    region = {"prod": "us-east-1", "test": "us-west-2"}[env]
    _, archive = bucket(seen, env, "archive")
    logs, _ = bucket(seen, env, "logs")
    p = archive["Properties"]
    assert p["BucketName"] == {"Fn::Join": ["-", [f"lifecycle-archive-{env}", {"Ref": "AWS::AccountId"}, region]]}
    (encryption,) = p["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["BucketKeyEnabled"] is True
    assert encryption["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": KEY}
    assert p["VersioningConfiguration"] == {"Status": "Enabled"}
    assert p["LoggingConfiguration"]["DestinationBucketName"] == {"Ref": logs}
    rules = {r["Id"]: r for r in p["LifecycleConfiguration"]["Rules"]}
    assert rules["archive"]["Prefix"] == "archive/"
    assert rules["archive"]["Transitions"] == [
        {"StorageClass": "GLACIER_IR", "TransitionInDays": 0},
        {"StorageClass": "DEEP_ARCHIVE", "TransitionInDays": 180},
    ]
    assert not any("ExpirationInDays" in r for r in rules.values())
    assert rules["leftovers"]["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 7}
    lock = p.get("ObjectLockConfiguration", {}).get("Rule")
    if env == "prod":
        assert lock == {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 365}}
        assert p["ObjectLockEnabled"] is True
        assert fate(archive) == ("Retain", "Retain")
    else:
        assert lock is None
        assert fate(archive) == ("Delete", "Delete")


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_no_bucket_is_public_or_answers_without_modern_tls(seen: Seen, env: str) -> None:
    for name in ("archive", "logs"):
        logical_id, resource = bucket(seen, env, name)
        assert set(resource["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
        policy = seen.one(env, "S3::BucketPolicy", Bucket={"Ref": logical_id})["Properties"]["PolicyDocument"]
        denied = [s["Condition"] for s in policy["Statement"] if s["Effect"] == "Deny" and s["Action"] == "s3:*"]
        assert denied == [
            {"Bool": {"aws:SecureTransport": "false"}},
            {"NumericLessThan": {"s3:TlsVersion": "1.2"}},
        ]


@pytest.mark.parametrize(("env", "zones"), [("prod", 3), ("test", 2)])
def test_the_network_has_no_way_out_but_two_end_points(seen: Seen, env: str, zones: int) -> None:
    kinds = {r["Type"] for r in seen.templates[env].values()}
    assert not kinds & {"AWS::EC2::InternetGateway", "AWS::EC2::NatGateway", "AWS::EC2::Route"}
    subnets = [r["Properties"] for r in seen.all(env, "EC2::Subnet").values()]
    assert [s["AvailabilityZone"] for s in subnets] == [{"Fn::Select": [n, {"Fn::GetAZs": ""}]} for n in range(zones)]
    assert not any(s["MapPublicIpOnLaunch"] for s in subnets)
    reached = {json.dumps(r["Properties"]["ServiceName"]) for r in seen.all(env, "EC2::VPCEndpoint").values()}
    assert len(reached) == 2
    assert sum("secretsmanager" in name for name in reached) == sum(".s3" in name for name in reached) == 1
    flow = seen.one(env, "EC2::FlowLog")["Properties"]
    assert (flow["TrafficType"], flow["ResourceType"]) == ("ALL", "VPC")


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_applications_reach_the_database_alone_and_functions_what_they_need(seen: Seen, env: str) -> None:
    groups = seen.all(env, "EC2::SecurityGroup")
    described = {i: r["Properties"]["GroupDescription"] for i, r in groups.items()}

    def name(reference: Any) -> str:
        return str(described[reference["Fn::GetAtt"][0]])

    assert not any("SecurityGroupIngress" in r["Properties"] for r in groups.values())
    services, database = f"Applications of LifecyclePlatform-{env}", f"PostgreSQL lifecycle-{env}"
    jobs = f"Functions of LifecyclePlatform-{env}"
    ends = "Interface end points of AWS services"
    entries = [r["Properties"] for r in seen.all(env, "EC2::SecurityGroupIngress").values()]
    assert {
        (name(p["SourceSecurityGroupId"]), name(p["GroupId"]), p["IpProtocol"], p["FromPort"], p["ToPort"])
        for p in entries
    } == {
        (services, database, "tcp", 5433, 5433),
        (jobs, database, "tcp", 5433, 5433),
        (jobs, ends, "tcp", 443, 443),
    }
    assert len(entries) == 3
    exits = [r["Properties"] for r in seen.all(env, "EC2::SecurityGroupEgress").values()]
    s3 = {"prod": "pl-63a5400a", "test": "pl-68a54001"}[env]
    assert {
        (
            name(p["GroupId"]),
            p.get("DestinationPrefixListId") or name(p["DestinationSecurityGroupId"]),
            p["FromPort"],
            p["ToPort"],
        )
        for p in exits
    } == {
        (services, database, 5433, 5433),
        (jobs, database, 5433, 5433),
        (jobs, ends, 443, 443),
        (jobs, s3, 443, 443),
    }
    assert not any("CidrIp" in p or "CidrIpv6" in p for p in (*entries, *exits))
    # A group without any rule outwards gets one to everywhere from EC2, so it has one to an address that nobody has.
    inline = {described[i]: r["Properties"].get("SecurityGroupEgress") for i, r in groups.items()}
    assert inline.pop(services) is inline.pop(jobs) is None
    worn = {name(g) for p in functions(seen, env).values() for g in p["VpcConfig"]["SecurityGroupIds"]}
    assert worn == {jobs}
    assert {tuple(e["CidrIp"] for e in rules) for rules in inline.values()} == {("255.255.255.255/32",)}


def functions(seen: Seen, env: str) -> dict[str, Json]:
    return {
        r["Properties"]["FunctionName"].removeprefix(f"lifecycle-{env}-"): r["Properties"]
        for r in seen.all(env, "Lambda::Function").values()
        if "FunctionName" in r["Properties"]
    }


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_functions_stand_beside_the_database_and_know_no_secret(seen: Seen, env: str) -> None:
    found = functions(seen, env)
    assert set(found) == {"migrate", "retention", "drift"}
    (database,) = seen.all(env, "RDS::DBInstance")
    for p in found.values():
        assert (p["Runtime"], p["Architectures"], p["ReservedConcurrentExecutions"]) == ("python3.14", ["arm64"], 1)
        assert len(p["VpcConfig"]["SubnetIds"]) == {"prod": 3, "test": 2}[env]
        assert "TargetArn" in p["DeadLetterConfig"]
        assert p["KmsKeyArn"] == KEY
        variables = p["Environment"]["Variables"]
        assert variables["HOST"] == {"Fn::GetAtt": [database, "Endpoint.Address"]}
        assert variables["SECRET"] == {"Fn::GetAtt": [database, "MasterUserSecret.SecretArn"]}
        assert set(variables) - {"ARCHIVE"} == {"DATABASE", "HOST", "PORT", "SCHEMA", "SECRET", "NAMESPACE"}
        assert ("ARCHIVE" in variables) is (p is found["retention"])


def statements(seen: Seen, env: str) -> list[tuple[str, list[str], Any]]:
    """(what it belongs to, actions, resources) of every statement that any identity here is given."""
    found = []
    for logical_id, r in seen.templates[env].items():
        documents = []
        if r["Type"] in ("AWS::IAM::ManagedPolicy", "AWS::IAM::Policy"):
            documents = [r["Properties"]["PolicyDocument"]]
        elif r["Type"] == "AWS::IAM::Role":
            documents = [p["PolicyDocument"] for p in r["Properties"].get("Policies", [])]
        for s in (s for d in documents for s in d["Statement"]):
            actions = s["Action"] if isinstance(s["Action"], list) else [s["Action"]]
            found.append((logical_id, actions, s["Resource"]))
    return found


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_nobody_may_do_everything_or_touch_everything(seen: Seen, env: str) -> None:
    given = statements(seen, env)
    assert len(given) > 20
    assert [a for _, actions, _ in given for a in actions if "*" in a] == []
    for _, actions, resources in given:
        if "*" in (resources if isinstance(resources, list) else [resources]):
            assert {a.split(":")[0] for a in actions} == {"ec2"}
            assert all("NetworkInterface" in a or "PrivateIpAddresses" in a or "Subnets" in a for a in actions)


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_the_archive_is_written_and_read_back_and_never_deleted_from(seen: Seen, env: str) -> None:
    used = [(i, a) for i, actions, _ in statements(seen, env) for a in actions if a.startswith("s3:")]
    assert {a for _, a in used} == {"s3:GetObject", "s3:PutObject", "s3:ListBucket"}
    assert {i for i, _ in used} == {i for i in seen.all(env, "IAM::ManagedPolicy") if "RetentionPolicy" in i}


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_the_schema_is_applied_after_the_database_and_the_way_to_it_are_there(seen: Seen, env: str) -> None:
    trigger = next(r for r in seen.templates[env].values() if r["Type"] == "Custom::Trigger")
    assert trigger["Properties"]["ExecuteOnHandlerChange"] is True
    assert trigger["Properties"]["InvocationType"] == "RequestResponse"
    # Each waits longer than whom it waits for: the function, its trigger, and CloudFormation's own function.
    assert functions(seen, env)["migrate"]["Timeout"] * 1000 < int(trigger["Properties"]["Timeout"]) < 900_000
    (database,) = seen.all(env, "RDS::DBInstance")
    rules = seen.all(env, "EC2::SecurityGroupIngress") | seen.all(env, "EC2::SecurityGroupEgress")
    way = {i for i, r in rules.items() if "NetworkFunctions" in json.dumps(r)}
    assert len(way) == 2 + 2 + 1  # to the database and to the end points, each out of one and into the other; to S3
    assert {database, *way} <= set(trigger["DependsOn"])
    version = trigger["Properties"]["HandlerArn"]["Ref"]
    function = seen.templates[env][version]["Properties"]["FunctionName"]["Ref"]
    assert seen.templates[env][function]["Properties"]["FunctionName"] == f"lifecycle-{env}-migrate"


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_daily_jobs_that_cannot_be_called_wait_in_a_queue(seen: Seen, env: str) -> None:
    (queue,) = seen.all(env, "SQS::Queue")
    assert seen.templates[env][queue]["Properties"]["QueueName"] == f"lifecycle-{env}-failed-jobs"
    for r in seen.all(env, "Scheduler::Schedule").values():
        p = r["Properties"]
        assert (p["State"], p["ScheduleExpressionTimezone"]) == ("ENABLED", "UTC")
        assert p["Target"]["DeadLetterConfig"] == {"Arn": {"Fn::GetAtt": [queue, "Arn"]}}


# name: goes off, treats silence as
ALARMS = {
    **{
        f"lifecycle-prod/{table}/{metric}": judged
        for table in ("lifecycle_events", "trigger_executions", "metrics_daily")
        for metric, judged in {
            "PartitionsAhead": ("LessThanThreshold", 1, "breaching"),
            "RowsInDefault": ("GreaterThanThreshold", 0, "notBreaching"),
            "RowsInQuarantine": ("GreaterThanThreshold", 0, "notBreaching"),
            "DetachedWaiting": ("GreaterThanThreshold", 2, "notBreaching"),
        }.items()
    },
    "lifecycle-prod/Drift": ("GreaterThanThreshold", 0, "breaching"),
    "lifecycle-prod-migrate/errors": ("GreaterThanThreshold", 0, "notBreaching"),
    "lifecycle-prod-retention/errors": ("GreaterThanThreshold", 0, "notBreaching"),
    "lifecycle-prod-drift/errors": ("GreaterThanThreshold", 0, "notBreaching"),
    "lifecycle-prod/failed-jobs": ("GreaterThanThreshold", 0, "notBreaching"),
    "lifecycle-prod/backups": ("GreaterThanThreshold", 0, "notBreaching"),
    "lifecycle-prod/cpu": ("GreaterThanThreshold", 80, "notBreaching"),
    "lifecycle-prod/connections": ("GreaterThanThreshold", 160, "notBreaching"),
    "lifecycle-prod/storage": ("LessThanThreshold", 10 * 1024**3, "notBreaching"),
}


def alarms(seen: Seen) -> dict[str, Json]:
    return {r["Properties"]["AlarmName"]: r["Properties"] for r in seen.all("prod", "CloudWatch::Alarm").values()}


def test_whatever_can_go_wrong_is_heard(seen: Seen) -> None:
    found = alarms(seen)
    assert {
        name: (p["ComparisonOperator"], p["Threshold"], p["TreatMissingData"]) for name, p in found.items()
    } == ALARMS
    assert all(p["AlarmActions"] == p["OKActions"] == [TOPIC] for p in found.values())


def test_alarms_look_at_what_is_there(seen: Seen) -> None:
    """A wrong name in a dimension is an alarm that never sees data."""
    there = {
        "FunctionName": {f"lifecycle-prod-{job}" for job in functions(seen, "prod")},
        "QueueName": {r["Properties"]["QueueName"] for r in seen.all("prod", "SQS::Queue").values()},
        "BackupVaultName": {
            r["Properties"]["BackupVaultName"] for r in seen.all("prod", "Backup::BackupVault").values()
        },
        "DBInstanceIdentifier": {"lifecycle-prod"},
        "Database": {functions(seen, "prod")["retention"]["Environment"]["Variables"]["DATABASE"]},
        "Table": {"lifecycle_events", "trigger_executions", "metrics_daily"},
    }
    named = [
        (d["Name"], d["Value"])
        for p in alarms(seen).values()
        for m in p["Metrics"]
        if "MetricStat" in m
        for d in m["MetricStat"]["Metric"]["Dimensions"]
    ]
    assert {name for name, _ in named} == set(there)
    assert [pair for pair in named if pair[1] not in there[pair[0]]] == []


def test_data_carries_every_tag(seen: Seen) -> None:
    for kind, name in (("RDS::DBInstance", "lifecycle-prod"), ("S3::Bucket", "lifecycle-archive-prod")):
        owned = [{t["Key"]: t["Value"] for t in r["Properties"]["Tags"]} for r in seen.all("prod", kind).values()]
        wanted = {
            "Project": "lifecycle",
            "System": "lifecycle",
            "Environment": "prod",
            "Owner": "lifecycle-platform",
            "ManagedBy": "cdk",
            "DataClass": "personal",
            "Lifetime": "durable",
            "Name": name,
        }
        assert wanted in owned


def test_aurora_has_the_same_guards(aurora: Seen) -> None:
    for env, (protected, days, *_, kept) in GUARDS.items():
        cluster = aurora.one(env, "RDS::DBCluster")
        p = cluster["Properties"]
        assert (p["DeletionProtection"], p["BackupRetentionPeriod"]) == (protected, days or 1)  # a day is its least
        assert p["DeleteAutomatedBackups"] is (env == "test")
        assert fate(cluster) == kept
        assert (p["StorageEncrypted"], p["KmsKeyId"], p["MasterUserSecret"]) == (True, KEY, {"KmsKeyId": KEY})
        assert (p["EnableIAMDatabaseAuthentication"], p["Port"]) == (True, 5433)
        assert aurora.one(env, "RDS::DBClusterParameterGroup")["Properties"]["Parameters"]["rds.force_ssl"] == "1"
        members = aurora.all(env, "RDS::DBInstance").values()
        assert len(members) == {"prod": 2, "test": 1}[env]
        assert {fate(m) for m in members} == {kept}
        assert not any(m["Properties"]["PubliclyAccessible"] for m in members)
    (cluster_id,) = aurora.all("prod", "RDS::DBCluster")
    selection = aurora.one("prod", "Backup::BackupSelection")["Properties"]["BackupSelection"]
    assert selection["Resources"] == [{"Fn::GetAtt": [cluster_id, "DBClusterArn"]}]
    assert set(ALARMS) - set(alarms(aurora)) == {"lifecycle-prod/storage"}  # which grows by itself


def test_another_engine_changes_the_type_of_no_resource_that_is_deployed(seen: Seen, aurora: Seen) -> None:
    """CloudFormation refuses a logical id that changes its type."""
    for env in ENVIRONMENTS:
        one, other = seen.templates[env], aurora.templates[env]
        assert [i for i in one.keys() & other.keys() if one[i]["Type"] != other[i]["Type"]] == []


@pytest.mark.parametrize("flavour", ["seen", "aurora"])
@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_applications_log_in_as_their_own_role_and_have_nothing_else(
    request: pytest.FixtureRequest, env: str, flavour: str
) -> None:
    found: Seen = request.getfixturevalue(flavour)
    kind, attribute = (
        ("RDS::DBInstance", "DbiResourceId") if flavour == "seen" else ("RDS::DBCluster", "DBClusterResourceId")
    )
    (database,) = found.all(env, kind)
    policy = found.one(env, "IAM::ManagedPolicy", ManagedPolicyName=f"lifecycle-applications-{env}")["Properties"]
    region = {"prod": "us-east-1", "test": "us-west-2"}[env]
    user = [
        f"arn:aws:rds-db:{region}:",
        {"Ref": "AWS::AccountId"},
        ":dbuser:",
        {"Fn::GetAtt": [database, attribute]},
        "/lifecycle_app",
    ]
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert statement == {
        "Sid": "LifecycleLogIn",
        "Effect": "Allow",
        "Action": ["rds-db:connect"],
        "Resource": [{"Fn::Join": ["", user]}],
    }


def test_buckets_of_a_test_are_emptied_before_they_are_deleted_and_those_of_prod_never(seen: Seen) -> None:
    made = [r for r in seen.templates["test"].values() if r["Type"] == "Custom::S3AutoDeleteObjects"]
    assert {r["Properties"]["BucketName"]["Ref"] for r in made} == set(seen.all("test", "S3::Bucket"))
    (emptier,) = {r["Properties"]["ServiceToken"]["Fn::GetAtt"][0] for r in made}
    role = seen.templates["test"][emptier]["Properties"]["Role"]["Fn::GetAtt"][0]
    for logical_id in seen.all("test", "S3::Bucket"):
        policy = seen.one("test", "S3::BucketPolicy", Bucket={"Ref": logical_id})["Properties"]["PolicyDocument"]
        (let_in,) = [s for s in policy["Statement"] if "AWS" in s["Principal"] and s["Effect"] == "Allow"]
        assert let_in["Principal"] == {"AWS": {"Fn::GetAtt": [role, "Arn"]}}
        assert {"s3:DeleteObject*", "s3:List*"} <= set(let_in["Action"])
    assert "AutoDelete" not in json.dumps(seen.templates["prod"])


def test_zones_are_chosen_by_their_letters_where_the_first_ones_lack_something(tmp_path: Path) -> None:
    def in_zones(*zones: str) -> tuple[Environment, ...]:
        return tuple(replace(env, zones=zones) for env in (PROD, TEST))

    chosen = Seen(tmp_path / "chosen", environments=in_zones("a", "b", "d"))
    for env, zones in (("prod", ["us-east-1a", "us-east-1b", "us-east-1d"]), ("test", ["us-west-2a", "us-west-2b"])):
        subnets = chosen.all(env, "EC2::Subnet").values()
        assert [r["Properties"]["AvailabilityZone"] for r in subnets] == zones
    for wrong in (("a", "b"), ("a", "a", "b"), ("a", "b", "c", "c"), ("us-east-1a", "b", "c"), ("",)):
        with pytest.raises(DeclarationError) as said:
            Seen(tmp_path, environments=in_zones(*wrong))
        assert str(said.value) == (
            f"environment prod: its zones are {', '.join(wrong)}, and LifecyclePlatform-prod needs 3: "
            "declare as many different letters of its region's zones"
        )


def refusal(tmp_path: Path, **changed: Any) -> str:
    """What a synth says of the stack with its database or the stack itself changed."""
    from holdfast.cdk import app

    database, archive = lifecycle.STACK.stores
    assert isinstance(database, Database)
    region = changed.pop("region", None)
    stack = replace(lifecycle.STACK, stores=(replace(database, **changed), archive), region=region)
    with pytest.raises(DeclarationError) as said:
        app(estate(stack), CONTEXT | {"env": "test"}, str(tmp_path))
    return str(said.value)


def test_what_cannot_be_deployed_is_refused_with_the_way_out(tmp_path: Path) -> None:
    elsewhere = Upkeep(partitioned=("lifecycle_events",), archive="somewhere-else")
    assert refusal(tmp_path, upkeep=elsewhere) == (
        "database lifecycle-{env}: its archive somewhere-else is not a bucket of the stack; declare it there"
    )
    assert refusal(tmp_path, schema="nowhere") == "schemas/nowhere is missing: the database's SQL belongs there"
    assert refusal(tmp_path, region="me-central-1") == (
        "S3's prefix list in me-central-1 is not known: declare it in s3_prefix_lists of the environment test "
        "(`aws ec2 describe-prefix-lists --region me-central-1` tells it)"
    )


REASONS = {
    "EC2 knows no narrower resource for the network interfaces that Lambda makes in a subnet",
    "it holds access logs only: S3 delivers them to no bucket with another key, and nobody logs the log",
    "old versions answer for recovery; no source asks for a copy in a second region",
    "test is a test environment: its stores may be rebuilt at any time",
    "the objects of one prefix of one bucket, whose names are those of partitions to come",
    "what AWS Backup documents for its role; a narrower one would miss what the service adds",
    "what AWS documents for enhanced monitoring, which takes no other policy",
}


def findings(seen: Seen) -> list[tuple[str, str]]:
    return [
        (v["ruleName"], c["constructPath"])
        for p in seen.report
        for v in p["violations"]
        for c in v["violatingConstructs"]
    ]


def acknowledged(seen: Seen) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for p in seen.report:
        for v in p.get("suppressedViolations", []):
            found.setdefault(v["reason"], set()).update(c["constructPath"] for c in v["violatingConstructs"])
    return found


def test_no_finding_is_unexplained_and_prod_is_never_excused_as_a_test(seen: Seen, aurora: Seen) -> None:
    assert findings(seen) == []
    assert {rule for rule, _ in findings(aurora)} == {"HF703"}  # it is not what was reviewed
    assert set(acknowledged(seen)) == REASONS
    members = "backups, their plan and deletion protection belong to the cluster"
    assert set(acknowledged(aurora)) == REASONS | {members}
    rebuilt = acknowledged(seen)["test is a test environment: its stores may be rebuilt at any time"]
    assert rebuilt
    assert not [path for path in rebuilt if "-prod" in path]


def test_a_synth_looks_nothing_up(seen: Seen) -> None:
    manifest = json.loads((seen.folder / "manifest.json").read_text())
    assert "missing" not in manifest
    assert "dummy" not in json.dumps(seen.templates)


def code(seen: Seen, env: str = "prod") -> Path:
    keys = {p["Code"]["S3Key"] for p in functions(seen, env).values()}
    assert len(keys) == 1
    return seen.folder / f"asset.{keys.pop().removesuffix('.zip')}"


def test_the_code_is_the_same_wherever_it_is_made_and_holds_nothing_else(seen: Seen, aurora: Seen) -> None:
    assert code(seen).name == code(seen, "test").name == code(aurora).name
    found = {p.relative_to(code(seen)).as_posix() for p in code(seen).rglob("*") if p.is_file()}
    assert found == {
        "handler.py",
        "holdfast/__init__.py",
        *(f"holdfast/{name}" for name in CARRIED),
        *(f"schemas/lifecycle/{p.name}" for p in (ROOT / "schemas" / "lifecycle").glob("*.sql")),
        "schemas/lifecycle/catalog.json",
    }


def test_handlers_that_are_named_are_there(seen: Seen) -> None:
    from holdfast.functions.database import handler

    named = {p["Handler"] for p in functions(seen, "prod").values()}
    assert named == {"handler.migrate", "handler.retain", "handler.drift"}
    assert all(callable(getattr(handler, name.removeprefix("handler."))) for name in named)
