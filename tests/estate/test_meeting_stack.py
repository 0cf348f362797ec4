"""The meeting system's stores per environment, typed out by hand from the sources and the issue."""

from __future__ import annotations

import fnmatch
import json
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from database_jobs import Context, emitted
from declare import PROD, TEST, on_aurora
from meeting_synth import STACKS, declared, only, resources, synthesized, template
from postgres import database
from support import Json

from holdfast import Bucket, Database, Guard, Registry
from holdfast.cfn.facts import FILE as SCHEMAS
from holdfast.estate.placement import Placed
from holdfast.functions.database import upkeep
from holdfast.kinds.database.alarms import JOBS
from holdfast.kinds.kinds import alarms as store_alarms
from holdfast.postgres.connection import connect
from stacks import ESTATE, meeting
from stacks import meeting_conventions as names

ENVS = ("prod", "test")
KEY = {"Fn::GetAtt": ["Key", "Arn"]}


def properties(env: str, kind: str) -> Json:
    return dict(only(template(env), kind)["Properties"])


def policies(env: str, kind: str) -> tuple[str, str]:
    resource = only(template(env), kind)
    return resource["DeletionPolicy"], resource["UpdateReplacePolicy"]


def test_the_policy_asks_for_these_guards() -> None:
    g = Guard
    kept = g.RETAIN | g.CUSTOMER_KEY | g.TAGS | g.ALARMS
    wanted = {
        "prod": {
            "Database": kept | g.DELETION_PROTECTION | g.PITR,
            "Cache": g.TTL | g.CUSTOMER_KEY | g.TAGS,
            "Broker": kept | g.TTL,
            "Bucket": g.RETAIN | g.CUSTOMER_KEY | g.TAGS | g.PITR,
            "DocumentDatabase": kept | g.DELETION_PROTECTION | g.PITR,
            "Registry": g.TAGS,
        },
        "test": {
            "Database": g.CUSTOMER_KEY | g.TAGS,
            "Cache": g.TTL | g.CUSTOMER_KEY | g.TAGS,
            "Broker": g.TTL | g.CUSTOMER_KEY | g.TAGS,
            "Bucket": g.CUSTOMER_KEY | g.TAGS,
            "DocumentDatabase": g.CUSTOMER_KEY | g.TAGS,
            "Registry": g.TAGS,
        },
    }
    for env in ESTATE.environments:
        placed = Placed(meeting.STACK, env)
        assert {type(s).__name__: placed.required(s) for s in placed.stores} == wanted[env.label]


@pytest.mark.parametrize("env", ENVS)
def test_nothing_is_looked_up_and_no_macro_is_needed(env: str) -> None:
    assert "missing" not in declared()["manifest.json"]
    assert "Transform" not in template(env)


def test_the_cache_in_prod_and_in_test() -> None:
    prod, test = (properties(e, "ElastiCache::ReplicationGroup") for e in ENVS)
    for found in (prod, test):
        assert found["Engine"] == "valkey"
        assert found["AtRestEncryptionEnabled"] is True
        assert found["KmsKeyId"] == KEY
        assert (found["TransitEncryptionEnabled"], found["TransitEncryptionMode"]) == (True, "required")
        assert "AuthToken" not in found
        assert len(found["UserGroupIds"]) == 1
        assert {c["LogType"] for c in found["LogDeliveryConfigurations"]} == {"slow-log", "engine-log"}
    two = ("AutomaticFailoverEnabled", "MultiAZEnabled", "NumCacheClusters", "SnapshotRetentionLimit")
    assert [prod[p] for p in two] == [True, True, 2, 15]
    assert [test[p] for p in two] == [False, False, 1, 0]
    assert policies("prod", "ElastiCache::ReplicationGroup") == ("Delete", "Delete")  # transient data
    assert properties("prod", "ElastiCache::ParameterGroup")["Properties"] == {"maxmemory-policy": "volatile-ttl"}


@pytest.mark.parametrize("env", ENVS)
def test_the_users_of_the_cache_are_in_its_group(env: str) -> None:
    ids = {i for i, _ in resources(template(env), "ElastiCache::User")}
    assert {u["Ref"] for u in properties(env, "ElastiCache::UserGroup")["UserIds"]} == ids
    assert len(ids) == 2


def test_the_broker_in_prod_and_in_test() -> None:
    prod, test = (properties(e, "MSK::Cluster") for e in ENVS)
    for found in (prod, test):
        assert found["EncryptionInfo"] == {
            "EncryptionAtRest": {"DataVolumeKMSKeyId": KEY},
            "EncryptionInTransit": {"ClientBroker": "TLS", "InCluster": True},
        }
        assert found["ClientAuthentication"] == {
            "Sasl": {"Iam": {"Enabled": True}, "Scram": {"Enabled": False}},
            "Unauthenticated": {"Enabled": False},
        }
        nodes = found["BrokerNodeGroupInfo"]
        assert nodes["ConnectivityInfo"] == {"PublicAccess": {"Type": "DISABLED"}}
        # MSK wants as many brokers in every zone, and replication needs three.
        assert found["NumberOfBrokerNodes"] >= 3
        assert found["NumberOfBrokerNodes"] % len(nodes["ClientSubnets"]) == 0
        assert found["LoggingInfo"]["BrokerLogs"]["CloudWatchLogs"]["Enabled"] is True
        assert found["ConfigurationInfo"]["Revision"]["Fn::GetAtt"][1] == "LatestRevision.Revision"
    assert prod["NumberOfBrokerNodes"] == 3
    assert (prod["EnhancedMonitoring"], test["EnhancedMonitoring"]) == ("PER_TOPIC_PER_BROKER", "DEFAULT")
    assert test["BrokerNodeGroupInfo"]["InstanceType"] == "kafka.t3.small"
    assert policies("prod", "MSK::Cluster") == ("Retain", "Retain")
    assert policies("test", "MSK::Cluster") == ("Delete", "Delete")


@pytest.mark.parametrize("env", ENVS)
def test_the_pool_has_the_documented_figures(env: str) -> None:
    proxy, targets = properties(env, "RDS::DBProxy"), properties(env, "RDS::DBProxyTargetGroup")
    assert proxy["RequireTLS"] is True
    assert proxy["IdleClientTimeout"] == 3600
    assert proxy["DefaultAuthScheme"] == "IAM_AUTH"
    assert "Auth" not in proxy  # no secret, so nobody comes through as the administrator
    ((database, _),) = resources(template(env), "RDS::DBInstance")
    assert targets["DBInstanceIdentifiers"] == [{"Ref": database}]
    figures = targets["ConnectionPoolConfigurationInfo"]
    assert (figures["MaxConnectionsPercent"], figures["MaxIdleConnectionsPercent"]) == (50, 5)  # 100 and 10 of 200
    assert properties(env, "RDS::DBParameterGroup")["Parameters"]["max_connections"] == "200"
    pool = {n: v for n, v in parameters(env).items() if "/pool/" in n}
    assert pool == {
        f"/meeting-{env}/pool/max_idle_conns": "10",
        f"/meeting-{env}/pool/max_open_conns": "100",
        f"/meeting-{env}/pool/conn_max_lifetime": "3600",
    }


def test_the_pool_may_log_in_as_the_applications_do_and_nothing_else() -> None:
    found = template("prod")["Resources"]
    (role,) = (r["Properties"] for i, r in found.items() if i.startswith("MeetingPoolRole"))
    ((name, policy),) = ((i, r["Properties"]) for i, r in found.items() if i.startswith("MeetingPoolPolicy"))
    assert role["ManagedPolicyArns"] == [{"Ref": name}]
    assert "Policies" not in role
    ((database, _),) = resources(template("prod"), "RDS::DBInstance")
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert statement["Action"] == "rds-db:connect"
    assert (
        flat(statement["Resource"])
        == f"arn:aws:rds-db:us-east-1:<account>:dbuser:<{database}.DbiResourceId>/meeting_app"
    )


def flat(value: Any) -> Any:
    """A resource as one text; whatever AWS fills in stands in angle brackets."""
    match value:
        case {"Fn::Join": [between, parts]}:
            return between.join(map(flat, parts))
        case {"Fn::Select": [n, {"Fn::Split": [between, {"Fn::GetAtt": [name, attribute]}]}]}:
            return f"<{n} of {name}.{attribute} by {between}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Ref": "AWS::AccountId"}:
            return "<account>"
        case _:
            return value


@pytest.mark.parametrize("env", ENVS)
def test_applications_may_use_the_stores_and_do_nothing_else(env: str) -> None:
    found = template(env)
    (policy,) = (
        r["Properties"]
        for _, r in resources(found, "IAM::ManagedPolicy")
        if r["Properties"].get("ManagedPolicyName") == f"meeting-applications-{env}"
    )
    region = {"prod": "us-east-1", "test": "us-west-2"}[env]
    ((proxy, _),), ((broker, _),) = resources(found, "RDS::DBProxy"), resources(found, "MSK::Cluster")
    (bucket,) = (i for i, _ in resources(found, "S3::Bucket") if not i.startswith("AccessLogs"))
    ((namespace, _),) = resources(found, "ServiceDiscovery::PrivateDnsNamespace")
    ((user, _),) = resources(found, "SecretsManager::Secret")
    ids, here = f"<2 of {broker}.Arn by />", f"{region}:<account>"
    kafka = f"arn:aws:kafka:{here}"
    folders = ("recordings/", "media/uploads/", "media/avatars/", "temp/")
    given = {
        s["Sid"]: (s["Action"], [flat(r) for r in s["Resource"]], s.get("Condition"))
        for s in policy["PolicyDocument"]["Statement"]
    }
    assert given == {
        "MeetingLogIn": (
            ["rds-db:connect"],
            [f"arn:aws:rds-db:{here}:dbuser:<6 of {proxy}.DBProxyArn by :>/meeting_app"],
            None,
        ),
        "MeetingFigures": (
            ["ssm:GetParameter", "ssm:GetParameters"],
            [
                f"arn:aws:ssm:{here}:parameter/meeting-{env}/pool/{name}"
                for name in ("max_idle_conns", "max_open_conns", "conn_max_lifetime")
            ],
            None,
        ),
        "MeetingCacheLogIn": (
            ["elasticache:Connect"],
            [f"arn:aws:elasticache:{here}:{kind}:meeting-cache-{env}" for kind in ("replicationgroup", "user")],
            None,
        ),
        "MeetingBrokerLogIn": (
            ["kafka-cluster:Connect", "kafka-cluster:WriteDataIdempotently"],
            [f"<{broker}.Arn>"],
            None,
        ),
        "MeetingBrokerTopics": (
            ["kafka-cluster:DescribeTopic", "kafka-cluster:ReadData", "kafka-cluster:WriteData"],
            [
                f"{kafka}:topic/meeting-broker-{env}/{ids}/{name}"
                for name in ("meeting.tasks", "meeting.tasks.dlq", "meeting.system_events")
            ],
            None,
        ),
        "MeetingBrokerGroups": (
            ["kafka-cluster:AlterGroup", "kafka-cluster:DescribeGroup"],
            [
                f"{kafka}:group/meeting-broker-{env}/{ids}/{name}"
                for name in ("task-dispatcher", "task-dead-letters", "system-events")
            ],
            None,
        ),
        "MeetingSystemObjects": (
            ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"],
            [f"<{bucket}.Arn>/{folder}*" for folder in folders],
            None,
        ),
        "MeetingSystemList": (
            ["s3:ListBucket"],
            [f"<{bucket}.Arn>"],
            {"StringLike": {"s3:prefix": [f"{folder}*" for folder in folders]}},
        ),
        "MeetingSystemKey": (
            ["kms:Decrypt", "kms:GenerateDataKey"],
            ["<Key.Arn>"],
            {"StringEquals": {"kms:ViaService": f"s3.{region}.amazonaws.com"}},
        ),
        "MeetingRegistrySettings": (
            ["ssm:GetParameter", "ssm:GetParameters", "ssm:GetParametersByPath"],
            [f"arn:aws:ssm:{here}:parameter/meeting-system/*"],
            None,
        ),
        "MeetingRegistryServices": (
            ["servicediscovery:DiscoverInstances"],
            ["*"],
            {"StringEquals": {"servicediscovery:NamespaceName": "meeting-system.internal"}},
        ),
        "MeetingRegistryRegister": (
            [
                "servicediscovery:DeregisterInstance",
                "servicediscovery:RegisterInstance",
                "servicediscovery:UpdateInstanceCustomHealthStatus",
            ],
            [f"<{i}.Arn>" for i, _ in resources(found, "ServiceDiscovery::Service")],
            None,
        ),
        "MeetingRegistryNames": (
            ["route53:ChangeResourceRecordSets", "route53:GetHostedZone"],
            [f"arn:aws:route53:::hostedzone/<{namespace}.HostedZoneId>"],
            None,
        ),
        "MeetingDocumentsUser": (["secretsmanager:GetSecretValue"], [{"Ref": user}], None),
        "MeetingDocumentsUserKey": (
            ["kms:Decrypt"],
            ["<Key.Arn>"],
            {"StringEquals": {"kms:ViaService": f"secretsmanager.{region}.amazonaws.com"}},
        ),
    }
    # IAM takes 6144 characters; what it fills in is at most as long as the names that stand here for it.
    assert len(json.dumps(policy["PolicyDocument"], separators=(",", ":"))) < 6144


def test_another_prefix_of_topics_is_another_in_the_policy_too() -> None:
    found = synthesized(environments=(replace(PROD, topic_prefix="blue"), TEST))[f"{STACKS['prod']}.template.json"]
    policies_of = [r for _, r in resources(found, "IAM::ManagedPolicy") if "kafka-cluster:ReadData" in json.dumps(r)]
    assert len(policies_of) == 1
    assert '"/blue.tasks.dlq"' in json.dumps(policies_of)
    assert "/meeting.tasks" not in json.dumps(policies_of)


def test_aurora_is_pooled_as_well() -> None:
    found = synthesized(on_aurora(meeting.STACK))[f"{STACKS['prod']}.template.json"]
    ((cluster, _),) = resources(found, "RDS::DBCluster")
    targets = only(found, "RDS::DBProxyTargetGroup")
    assert targets["Properties"]["DBClusterIdentifiers"] == [{"Ref": cluster}]
    assert "DBInstanceIdentifiers" not in targets["Properties"]
    assert {i for i, _ in resources(found, "RDS::DBInstance")} <= set(targets["DependsOn"])


def test_documents_have_two_instances_in_prod() -> None:
    assert len(list(resources(template("prod"), "DocDB::DBInstance"))) == 2
    assert len(list(resources(template("test"), "DocDB::DBInstance"))) == 1


def test_documents_are_guarded_like_a_database() -> None:
    prod, test = (properties(e, "DocDB::DBCluster") for e in ENVS)
    for found in (prod, test):
        assert (found["StorageEncrypted"], found["KmsKeyId"]) == (True, KEY)
        assert found["Port"] == 27018
        assert found["ManageMasterUserPassword"] is True
        assert found["MasterUserSecretKmsKeyId"] == KEY
        assert found["EnableCloudwatchLogsExports"] == ["audit", "profiler"]
    assert (prod["DeletionProtection"], prod["BackupRetentionPeriod"]) == (True, 30)
    assert (test["DeletionProtection"], test["BackupRetentionPeriod"]) == (False, 1)
    assert policies("prod", "DocDB::DBCluster") == ("Retain", "Retain")
    assert policies("test", "DocDB::DBCluster") == ("Delete", "Delete")
    assert properties("prod", "DocDB::DBClusterParameterGroup")["Parameters"] == {
        "tls": "enabled",
        "audit_logs": "enabled",
        "profiler": "enabled",
    }


def test_what_is_durable_is_backed_up_in_prod_and_only_there() -> None:
    selected = [
        json.dumps(s["Properties"]["BackupSelection"]["Resources"])
        for _, s in resources(template("prod"), "Backup::BackupSelection")
    ]
    for kind in ("RDS::DBInstance", "S3::Bucket", "DocDB::DBCluster"):
        stores = [i for i, _ in resources(template("prod"), kind) if not i.startswith("AccessLogs")]
        assert len(stores) == 1
        assert [s for s in selected if stores[0] in s], kind
    assert len(selected) == 3
    assert list(resources(template("test"), "Backup::BackupSelection")) == []


def test_the_bucket_moves_and_expires_by_prefix() -> None:
    (rules,) = (
        r["Properties"]["LifecycleConfiguration"]["Rules"]
        for i, r in resources(template("prod"), "S3::Bucket")
        if not i.startswith("AccessLogs")
    )
    seen = {
        r["Prefix"]: (
            {t["StorageClass"]: t["TransitionInDays"] for t in r.get("Transitions", ())},
            r.get("ExpirationInDays"),
        )
        for r in rules
        if "Prefix" in r
    }
    assert seen == {
        "recordings/": ({"STANDARD_IA": 30, "GLACIER_IR": 180}, 365),
        "media/uploads/": ({"INTELLIGENT_TIERING": 30}, 365),
        "temp/": ({}, 1),
    }


CLASSES_READ_AT_ONCE = {"STANDARD_IA", "INTELLIGENT_TIERING", "GLACIER_IR"}


@pytest.mark.parametrize("env", ENVS)
def test_s3_55_what_was_handed_out_is_read_at_its_path_without_a_restore(env: str) -> None:
    """Archives that are thawed first, also those that Intelligent-Tiering can be told to use, are never gone to."""
    for _, bucket in resources(template(env), "S3::Bucket"):
        rules = bucket["Properties"].get("LifecycleConfiguration", {}).get("Rules", ())
        assert {t["StorageClass"] for r in rules for t in r.get("Transitions", ())} <= CLASSES_READ_AT_ONCE
        assert "IntelligentTieringConfigurations" not in bucket["Properties"]


def test_s3_55_rows_of_recordings_follow_the_ages_of_the_bucket() -> None:
    archived, expires = names.RECORDINGS.tiers["GLACIER_IR"], names.RECORDINGS.expire
    assert expires is not None
    with database("meeting") as dsn, connect(dsn) as db:
        policy = db.execute("SELECT archive_after, delete_after, quota FROM ops.recording_policy").fetchone()
    (bucket,) = (s for s in meeting.STACK.stores if isinstance(s, Bucket))
    assert bucket.quota_gib is not None
    assert policy == (archived, expires - timedelta(days=2), 2 * 2**40)
    assert policy[2] < bucket.quota_gib * 2**30  # the rest is for uploads, pictures and old versions


def test_s3_74_a_bucket_beyond_its_quota_is_told_of() -> None:
    ((name, alarm),) = alarms("prod", "AWS/S3").items()
    (bucket,) = (i for i, _ in resources(template("prod"), "S3::Bucket") if not i.startswith("AccessLogs"))
    assert name == "meeting-system-prod/quota"
    read = [q["MetricStat"] for q in alarm["Metrics"] if "MetricStat" in q]
    dimensions = [{d["Name"]: d["Value"] for d in m["Metric"]["Dimensions"]} for m in read]
    assert {m["Metric"]["MetricName"] for m in read} == {"BucketSizeBytes"}
    assert {m["Period"] for m in read} == {86_400}
    assert {json.dumps(d["BucketName"]) for d in dimensions} == {json.dumps({"Ref": bucket})}
    # What each class that its objects can be in is called by CloudWatch.
    assert {d["StorageType"] for d in dimensions} == {
        "StandardStorage",
        "StandardIAStorage",
        "GlacierInstantRetrievalStorage",
        "IntelligentTieringFAStorage",
        "IntelligentTieringIAStorage",
        "IntelligentTieringAIAStorage",
    }
    assert alarm["Threshold"] == 3 * 2**40


@pytest.mark.parametrize("env", ENVS)
def test_s3_74_79_the_upkeep_runs_daily_on_the_tables_that_are_written_most(env: str) -> None:
    called = f"meeting-{env}-upkeep"
    function, schedule = (
        next(r["Properties"] for _, r in resources(template(env), kind) if r["Properties"].get(name) == called)
        for kind, name in (("Lambda::Function", "FunctionName"), ("Scheduler::Schedule", "Name"))
    )
    assert function["Handler"] == "holdfast.functions.database.upkeep.tend"
    assert function["Environment"]["Variables"]["TABLES"].split(",") == [
        "ai_tasks",
        "media_streams",
        "meeting_participants",
        "operation_logs",
        "signaling_messages",
        "signaling_sessions",
    ]
    assert "ARCHIVE" not in function["Environment"]["Variables"]
    assert (schedule["ScheduleExpression"], schedule["State"]) == ("cron(0 5 * * ? *)", "ENABLED")


def test_s3_79_vacuum_bloat_quotas_and_what_is_left_over_are_told_of() -> None:
    found = {
        name.removeprefix("meeting-prod/"): (a["Threshold"], a["TreatMissingData"])
        for space in ("Holdfast/Database", "AWS/RDS")
        for name, a in alarms("prod", space).items()
    }
    assert found == {
        "BloatPercent": (50, "notBreaching"),
        "DeadRowsPercent": (20, "notBreaching"),
        "Drift": (0, "breaching"),
        "ExpiredRows": (0, "breaching"),
        "QuotaPercent": (80, "notBreaching"),
        "connections": (160, "notBreaching"),
        "cpu": (80, "notBreaching"),
        "storage": (10 * 2**30, "notBreaching"),
        "transaction-ids": (10**9, "notBreaching"),
    }


def test_s3_79_the_daily_job_feeds_every_alarm_that_reads_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (declared,) = (s for s in meeting.STACK.stores if isinstance(s, Database))
    for variable, value in {"DATABASE": "meeting-test", "NAMESPACE": JOBS, "TABLES": "operation_logs,users"}.items():
        monkeypatch.setenv(variable, value)
    with database("meeting") as dsn:
        told = upkeep.tend({}, Context(), where=lambda: dsn, now=datetime(2026, 11, 16, 5, tzinfo=UTC))
    assert (told["steps"], told["unfinished"]) == ([], None)
    (line,) = emitted(capsys.readouterr().out)
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    fed = {(directive["Namespace"], m["Name"], line["Database"]) for m in directive["Metrics"]}
    watched = (m for a in store_alarms(Placed(meeting.STACK, TEST), declared) for m in a.metrics if m.namespace == JOBS)
    assert {(m.namespace, m.name, *m.dimensions.values()) for m in watched} == fed | {(JOBS, "Drift", "meeting-test")}
    assert {line[m["Name"]] for m in directive["Metrics"]} == {0}


def test_s3_73_backups_run_every_six_hours_and_are_kept_for_90_days() -> None:
    plans = [r["Properties"]["BackupPlan"] for _, r in resources(template("prod"), "Backup::BackupPlan")]
    assert len(plans) == 3  # of the database, the documents and the bucket
    for plan in plans:
        rules = {r["ScheduleExpression"]: r["Lifecycle"]["DeleteAfterDays"] for r in plan["BackupPlanRule"]}
        assert rules == {"cron(0 2 * * ? *)": 90, "cron(0 8,14,20 * * ? *)": 90}
    vault = only(template("prod"), "Backup::BackupVault")["Properties"]
    assert vault["LockConfiguration"]["MinRetentionDays"] == 90


def test_s3_73_all_that_a_snapshot_of_etcd_would_hold_is_in_the_template_or_said_again() -> None:
    (registry,) = (s for s in meeting.STACK.stores if isinstance(s, Registry))
    assert registry.assumed["snapshot"]
    kept = {n for n in parameters("prod") if n.startswith("/meeting-system/")}
    assert kept == {registry.parameter(s.name, n) for s in registry.services for n in ("host", "port", "grpc_port")}


@pytest.mark.parametrize("env", ENVS)
def test_s3_57_59_applications_have_a_user_of_the_documents_and_may_read_its_password(env: str) -> None:
    found, name = template(env), f"meeting-documents-{env}"
    secret = only(found, "SecretsManager::Secret")
    generated = secret["Properties"]["GenerateSecretString"]
    assert json.loads(generated["SecretStringTemplate"]) == {"username": "meeting_app"}
    assert (generated["GenerateStringKey"], generated["PasswordLength"]) == ("password", 40)
    assert secret["Properties"]["Name"] == f"{name}/applications"
    assert secret["Properties"]["KmsKeyId"] == KEY
    assert "SecretString" not in secret["Properties"]
    assert secret["DeletionPolicy"] == {"prod": "Retain", "test": "Delete"}[env]
    (said,) = (o["Value"] for i, o in found["Outputs"].items() if i.startswith("MeetingDocuments"))
    assert said == (
        'db.getSiblingDB("admin").createUser({user: "meeting_app", pwd: passwordPrompt(), '
        'roles: [{role: "readWrite", db: "meeting"}]})'
    )


@pytest.mark.parametrize("env", ENVS)
def test_s3_65_68_services_reach_what_they_register_with_and_what_finds_them(env: str) -> None:
    region = {"prod": "us-east-1", "test": "us-west-2"}[env]
    end_points = (r["Properties"] for _, r in resources(template(env), "EC2::VPCEndpoint"))
    there = {str(p["ServiceName"]): p for p in end_points}
    for service in ("servicediscovery", "data-servicediscovery", "secretsmanager", "ssm"):
        assert there[f"com.amazonaws.{region}.{service}"]["PrivateDnsEnabled"] is True


def test_s3_81_partitions_are_added_in_place_and_lag_says_when() -> None:
    """Consumers of a group share partitions: more partitions, more consumers. Fewer partitions Kafka does not know."""
    create_only = json.loads(SCHEMAS.read_text())["AWS::MSK::Topic"]["create_only"]
    assert "PartitionCount" not in create_only
    assert "TopicName" in create_only
    more = replace(names.TASKS, partitions=24)
    broker = replace(names.BROKER, topics=(more, *names.BROKER.topics[1:]))
    stores = tuple(broker if s is names.BROKER else s for s in meeting.STACK.stores)
    found = synthesized(replace(meeting.STACK, stores=stores))[f"{STACKS['prod']}.template.json"]
    before, after = (dict(resources(t, "MSK::Topic")) for t in (template("prod"), found))
    changed = {i for i in after if after[i] != before[i]}
    assert before.keys() == after.keys()
    assert [after[i]["Properties"]["PartitionCount"] for i in changed] == [24]


def parameters(env: str) -> dict[str, str]:
    found = {r["Properties"]["Name"]: r["Properties"] for _, r in resources(template(env), "SSM::Parameter")}
    assert {p["Type"] for p in found.values()} == {"String"}
    return {name: p["Value"] for name, p in found.items()}


@pytest.mark.parametrize("env", ENVS)
def test_the_registry_answers_for_every_service(env: str) -> None:
    services = ["ai-service", "media-service", "meeting-service", "signaling-service", "user-service"]
    settings = {n: v for n, v in parameters(env).items() if n.startswith("/meeting-system/")}
    assert settings == {
        f"/meeting-system/config/services/{service}/{name}": value
        for service in services
        for name, value in (
            ("host", f"{service}.meeting-system.internal"),
            ("port", "8080"),
            ("grpc_port", "9090"),
        )
    }
    assert properties(env, "ServiceDiscovery::PrivateDnsNamespace")["Name"] == "meeting-system.internal"
    registered = [r["Properties"] for _, r in resources(template(env), "ServiceDiscovery::Service")]
    assert sorted(p["Name"] for p in registered) == services
    assert {json.dumps(p["DnsConfig"]["DnsRecords"]) for p in registered} == {'[{"Type": "A", "TTL": 10}]'}


# --- the network: one group per store, one port, from the services alone ---


def ingress(found: Json) -> dict[str, list[tuple[int, str]]]:
    """(port, group of whoever may come), by logical id of the group that lets them in."""
    rules: dict[str, list[Json]] = defaultdict(list)
    for logical_id, group in resources(found, "EC2::SecurityGroup"):
        rules[logical_id] += group["Properties"].get("SecurityGroupIngress", [])
    for _, rule in resources(found, "EC2::SecurityGroupIngress"):
        rules[rule["Properties"]["GroupId"]["Fn::GetAtt"][0]].append(rule["Properties"])
    seen = {}
    for logical_id, own in rules.items():
        for rule in own:
            assert "CidrIp" not in rule
            assert "CidrIpv6" not in rule
            assert rule["IpProtocol"] == "tcp"
            assert rule["FromPort"] == rule["ToPort"]
        seen[logical_id] = sorted((r["FromPort"], r["SourceSecurityGroupId"]["Fn::GetAtt"][0]) for r in own)
    return seen


@pytest.mark.parametrize("env", ENVS)
def test_each_store_has_a_group_with_one_port_for_the_services(env: str) -> None:
    found = template(env)
    groups = ingress(found)
    (services,) = (i for i in groups if i.startswith("NetworkServices"))
    (pool,) = (i for i in groups if i.startswith("NetworkMeetingPoolGroup"))
    (functions,) = (i for i in groups if i.startswith("NetworkFunctions"))

    def of(*where: Any) -> list[tuple[int, str]]:
        ((group,),) = where
        return groups[group["Fn::GetAtt"][0]]

    assert of(properties(env, "ElastiCache::ReplicationGroup")["SecurityGroupIds"]) == [(6379, services)]
    assert of(properties(env, "MSK::Cluster")["BrokerNodeGroupInfo"]["SecurityGroups"]) == [(9098, services)]
    assert of(properties(env, "DocDB::DBCluster")["VpcSecurityGroupIds"]) == [(27018, services)]
    assert of(properties(env, "RDS::DBProxy")["VpcSecurityGroupIds"]) == [(5432, services)]
    # The pool for applications, and the functions, because a pool cannot carry migrations.
    assert of(properties(env, "RDS::DBInstance")["VPCSecurityGroups"]) == sorted([(5433, pool), (5433, functions)])
    assert groups[services] == groups[functions] == []


@pytest.mark.parametrize("env", ENVS)
def test_no_group_opens_a_way_out_to_any_address(env: str) -> None:
    found = template(env)
    out = [r["Properties"] for _, r in resources(found, "EC2::SecurityGroupEgress")]
    out += [
        rule
        for _, group in resources(found, "EC2::SecurityGroup")
        for rule in group["Properties"].get("SecurityGroupEgress", [])
        # CDK's way to say none at all: an address that nobody has.
        if rule.get("CidrIp") != "255.255.255.255/32"
    ]
    assert out
    assert [rule for rule in out if "CidrIp" in rule or "CidrIpv6" in rule] == []
    assert list(resources(found, "EC2::NatGateway")) == list(resources(found, "EC2::InternetGateway")) == []


# --- logs and alarms ---


@pytest.mark.parametrize("env", ENVS)
def test_the_key_lets_logs_in_for_every_log_group(env: str) -> None:
    """A log group that the key's policy does not name cannot be made: the deploy would fail."""
    statements = only(template(env), "KMS::Key")["Properties"]["KeyPolicy"]["Statement"]
    (logs,) = (s for s in statements if s["Sid"] == "LogsOfTheStores")
    patterns = [
        arn["Fn::Join"][1][-1].removeprefix(":log-group:")
        for arn in logs["Condition"]["ArnLike"]["kms:EncryptionContext:aws:logs:arn"]
    ]
    groups = {r["Properties"]["LogGroupName"]: r["Properties"] for _, r in resources(template(env), "Logs::LogGroup")}
    own = {f"/holdfast/MeetingSystem-{env}/{name}" for name in ("broker", "cache/slow", "cache/engine")}
    engines = {f"/aws/rds/proxy/meeting-{env}"} | {
        f"/aws/docdb/meeting-documents-{env}/{name}" for name in ("audit", "profiler")
    }
    assert own | engines <= set(groups)
    for name, group in groups.items():
        assert group["KmsKeyId"] == KEY
        assert any(fnmatch.fnmatchcase(name, p) for p in patterns), name


def alarms(env: str, namespace: str) -> dict[str, Json]:
    return {
        a["Properties"]["AlarmName"]: a["Properties"]
        for _, a in resources(template(env), "CloudWatch::Alarm")
        if f'"{namespace}"' in json.dumps(a)
    }


LAGGING = (
    ("meeting.tasks", "task-dispatcher"),
    ("meeting.tasks.dlq", "task-dead-letters"),
    ("meeting.system_events", "system-events"),
)


def test_every_group_is_watched_for_lag_and_silence_is_told() -> None:
    ((topic, _),) = resources(template("prod"), "SNS::Topic")
    found = alarms("prod", "AWS/Kafka")
    for name, group in LAGGING:
        for word, metric, limit in (("behind", "SumOffsetLag", 10_000), ("late", "EstimatedMaxTimeLag", 300)):
            alarm = found.pop(f"meeting-broker-prod/{name}/{group}/{word}")
            query, judged = alarm["Metrics"]
            assert query["MetricStat"]["Metric"] == {
                "Namespace": "AWS/Kafka",
                "MetricName": metric,
                "Dimensions": [
                    {"Name": "Cluster Name", "Value": "meeting-broker-prod"},
                    {"Name": "Consumer Group", "Value": group},
                    {"Name": "Topic", "Value": name},
                ],
            }
            assert judged["Expression"] == "lag"  # not filled: what is missing must stay missing
            assert (alarm["Threshold"], alarm["EvaluationPeriods"]) == (limit, 3)
            assert alarm["TreatMissingData"] == "missing"
            assert alarm["InsufficientDataActions"] == alarm["AlarmActions"] == [{"Ref": topic}]
    assert set(found) == {"meeting-broker-prod/disk", "meeting-broker-prod/meeting.tasks.dlq/dead-letters"}


def test_dead_letters_and_full_disks_are_told_of_on_every_broker() -> None:
    found = alarms("prod", "AWS/Kafka")
    letters = found["meeting-broker-prod/meeting.tasks.dlq/dead-letters"]
    disk = found["meeting-broker-prod/disk"]
    for alarm, metric, dimensions in (
        (letters, "MessagesInPerSec", {"Cluster Name", "Broker ID", "Topic"}),
        (disk, "KafkaDataLogsDiskUsed", {"Cluster Name", "Broker ID"}),
    ):
        read = [q["MetricStat"]["Metric"] for q in alarm["Metrics"] if "MetricStat" in q]
        assert {m["MetricName"] for m in read} == {metric}
        named = [{d["Name"]: d["Value"] for d in m["Dimensions"]} for m in read]
        assert all(set(d) == dimensions for d in named)
        assert [d["Broker ID"] for d in named] == ["1", "2", "3"]
        assert alarm["AlarmActions"] == alarm["OKActions"]
    assert (letters["Threshold"], disk["Threshold"]) == (0, 80)


def test_documents_are_watched_in_prod() -> None:
    assert set(alarms("prod", "AWS/DocDB")) == {"meeting-documents-prod/cpu", "meeting-documents-prod/memory"}
    assert list(resources(template("test"), "CloudWatch::Alarm")) == []


def test_s3_80_a_cache_that_fills_up_is_told_of() -> None:
    ((topic, _),) = resources(template("prod"), "SNS::Topic")
    ((name, alarm),) = alarms("prod", "AWS/ElastiCache").items()
    assert name == "meeting-cache-prod/memory"
    read = [q["MetricStat"]["Metric"] for q in alarm["Metrics"] if "MetricStat" in q]
    assert {m["MetricName"] for m in read} == {"DatabaseMemoryUsagePercentage"}
    nodes = [{"Name": "CacheClusterId", "Value": f"meeting-cache-prod-{n}"} for n in ("001", "002")]
    assert [m["Dimensions"] for m in read] == [[node] for node in nodes]
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (80, "GreaterThanThreshold")
    assert alarm["AlarmActions"] == [{"Ref": topic}]


# --- judged by others ---


@pytest.mark.parametrize("env", ENVS)
def test_every_store_carries_its_tags(env: str) -> None:
    for kind, data, lifetime, name in (
        ("ElastiCache::ReplicationGroup", "personal", "transient", f"meeting-cache-{env}"),
        ("MSK::Cluster", "personal", "durable", f"meeting-broker-{env}"),
        ("DocDB::DBCluster", "personal", "durable", f"meeting-documents-{env}"),
        ("ServiceDiscovery::PrivateDnsNamespace", "operational", "durable", f"meeting-registry-{env}"),
    ):
        tags = properties(env, kind)["Tags"]
        pairs = tags.items() if isinstance(tags, dict) else [(t["Key"], t["Value"]) for t in tags]
        assert dict(pairs) == {
            "Project": "meeting",
            "System": "meeting",
            "Environment": env,
            "Owner": "meeting-system",
            "ManagedBy": "cdk",
            "DataClass": data,
            "Lifetime": lifetime,
            "Name": name,
        }


def test_no_pack_has_a_violation_that_nobody_explained() -> None:
    reports = declared()["validation-report.json"]["pluginReports"]
    packs = {"AwsSolutions", "NIST.800.53.R5", "HIPAA.Security"}
    assert packs <= {r["pluginName"] for r in reports}
    left = [
        (v["ruleName"], c["constructPath"])
        for r in reports
        if r["pluginName"] in packs
        for v in r["violations"]
        for c in v["violatingConstructs"]
    ]
    assert left == []


def test_only_findings_that_cannot_be_satisfied_are_explained_in_prod() -> None:
    """A list by hand: an acknowledgement that is new in production is seen here."""
    reports = declared()["validation-report.json"]["pluginReports"]
    mine = ("MeetingCache", "MeetingBroker", "MeetingDocuments", "MeetingRegistry", "Applications")
    explained = {
        (c["constructPath"].split("/")[1], v["ruleName"].partition("[")[0])
        for r in reports
        for v in r.get("suppressedViolations", ())
        for c in v["violatingConstructs"]
        if c["constructPath"].startswith("MeetingSystem-prod/") and c["constructPath"].split("/")[1] in mine
    }
    assert explained == {
        ("Applications", "AwsSolutions-IAM5"),
        ("MeetingCache", "AwsSolutions-AEC6"),
        ("MeetingDocuments", "AwsSolutions-DOC3"),
        ("MeetingDocuments", "AwsSolutions-DOC5"),
        ("MeetingDocuments", "AwsSolutions-SMG4"),
        ("MeetingDocuments", "HIPAA.Security-SecretsManagerRotationEnabled"),
        ("MeetingDocuments", "NIST.800.53.R5-SecretsManagerRotationEnabled"),
    }
