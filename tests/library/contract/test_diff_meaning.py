"""What a difference between two contracts is called, and how it is told: contracts edited in memory."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shop import ESTATE, LIVE, ORDERS
from shop_synth import Contracts
from strategies import ENVIRONMENTS, legal_tables
from support import Json

from holdfast import Environment, Guard, Table
from holdfast.cfn import normal
from holdfast.contract import guards, text
from holdfast.contract.diff import SERIOUS, Change, Kind, diff
from holdfast.contract.groups import blocks
from holdfast.policy.required import lifetime, required
from holdfast.report.changes import as_json

CONTRACTS = Contracts()
SALES, STORES, NEWS = "Orders-production", "Stores-live", "Newsletter-live"
TABLE = "orders-production"
ALARMS = 1 + len(ORDERS.tables[0].indexes) + 2  # throttles of it and of its indexes, latency, system errors
Edit = Callable[[Json], None]


def edited(*edits: tuple[str, Edit]) -> dict[str, Json]:
    """The contracts of the shop with edits of single stacks."""
    found = dict(CONTRACTS)
    for stack, edit in edits:
        found[stack] = copy.deepcopy(found[stack])
        edit(found[stack])
    return found


def resources(contract: Json) -> Json:
    found: Json = contract["template"]["Resources"]
    return found


def of_type(contract: Json, kind: str) -> list[Json]:
    return [r for r in resources(contract).values() if r["Type"] == kind]


def logical_id(contract: Json, name: str) -> str:
    return next(k for k, r in resources(contract).items() if r["Properties"].get("TableName") == name)


def alarm_id(contract: Json, kind: str) -> str:
    alarms = (k for k, r in resources(contract).items() if r["Properties"].get("AlarmName") == f"{TABLE}/{kind}")
    return next(alarms)


def told(stack: str, edit: Edit) -> list[Change]:
    return diff(CONTRACTS, edited((stack, edit)))


def serious(changes: list[Change]) -> list[tuple[str, str | None, str]]:
    return [(c.kind.value, c.store, c.says) for c in changes if c.kind in SERIOUS]


# Guards of other kinds of store


@pytest.mark.parametrize(
    ("stack", "kind", "path", "value", "says"),
    [
        (STORES, "AWS::RDS::DBInstance", "BackupRetentionPeriod", 7, "recovery period is lowered"),
        (STORES, "AWS::RDS::DBInstance", "PubliclyAccessible", True, "private access is lost"),
        (STORES, "AWS::RDS::DBInstance", "EnableCloudwatchLogsExports", ["upgrade"], "1 of 2 exported logs are lost"),
        (STORES, "AWS::RDS::DBParameterGroup", "Parameters/rds.force_ssl", "0", "encryption in transit is lost"),
        (STORES, "AWS::DocDB::DBCluster", "DeletionProtection", False, "deletion protection is lost"),
        (STORES, "AWS::ElastiCache::ReplicationGroup", "SnapshotRetentionLimit", 1, "recovery period is lowered"),
        (STORES, "AWS::MSK::Cluster", "ClientAuthentication/Unauthenticated/Enabled", True, "log-in is lost"),
        (STORES, "AWS::S3::Bucket", "VersioningConfiguration/Status", "Suspended", "versions is lost"),
        (STORES, "AWS::S3::Bucket", "PublicAccessBlockConfiguration/BlockPublicAcls", False, "private access is lost"),
        (STORES, "AWS::Backup::BackupVault", "LockConfiguration/MinRetentionDays", 1, "vault lock is lowered"),
        (STORES, "AWS::Logs::LogGroup", "RetentionInDays", 1, "log retention is lowered"),
        (STORES, "AWS::SQS::Queue", "MessageRetentionPeriod", 60, "message retention is lowered"),
        (STORES, "AWS::KMS::Key", "EnableKeyRotation", False, "key rotation is lost"),
        (STORES, "AWS::KMS::Key", "PendingWindowInDays", 7, "waiting period before a key is deleted is lowered"),
        (STORES, "AWS::SNS::Topic", "KmsMasterKeyId", "alias/aws/sns", "customer-managed key is lost"),
        (STORES, "AWS::CloudWatch::Alarm", "AlarmActions", [], "alarm action is lost"),
        (STORES, "AWS::CloudWatch::Alarm", "ActionsEnabled", False, "alarm action is lost"),
        (STORES, "AWS::Backup::BackupSelection", "BackupSelection/Resources", [], "backup is lost"),
        (SALES, "AWS::Lambda::EventSourceMapping", "DestinationConfig", {}, "queue for failed records is lost"),
        (SALES, "AWS::DynamoDB::Table", "Tags/shop:stage", "dev", "production environment is lost"),
    ],
)  # fmt: skip
def test_a_lost_guard_of_any_resource_is_weakened(stack: str, kind: str, path: str, value: Any, says: str) -> None:
    def edit(contract: Json) -> None:
        *steps, last = path.split("/")
        place = next(r for r in of_type(contract, kind) if steps == [] or steps[0] in r["Properties"])["Properties"]
        for step in steps:
            place = place[step]
        place[last] = value

    assert says in [c.says for c in told(stack, edit) if c.kind is Kind.WEAKENED]


def test_backups_and_objects_that_are_deleted_sooner_are_weakened() -> None:
    def sooner(contract: Json) -> None:
        plan = of_type(contract, "AWS::Backup::BackupPlan")[0]["Properties"]["BackupPlan"]
        plan["BackupPlanRule"][0]["Lifecycle"]["DeleteAfterDays"] = 2
        for bucket in of_type(contract, "AWS::S3::Bucket"):
            rule = {"ExpirationInDays": 3, "Prefix": "uploads/", "Id": "new", "Status": "Enabled"}
            bucket["Properties"]["LifecycleConfiguration"]["Rules"].append(rule)

    says = {c.says for c in told(STORES, sooner) if c.kind is Kind.WEAKENED}
    assert "backups of rule daily are kept for 2 days" in says
    assert "objects in uploads/ are deleted after 3 days" in says

    def later(contract: Json) -> None:
        plan = of_type(contract, "AWS::Backup::BackupPlan")[0]["Properties"]["BackupPlan"]
        plan["BackupPlanRule"][0]["Lifecycle"]["DeleteAfterDays"] = 350
        bucket = of_type(contract, "AWS::S3::Bucket")[0]
        bucket["Properties"]["LifecycleConfiguration"]["Rules"][0]["ExpirationInDays"] = 5000

    assert not [c for c in told(STORES, later) if c.kind is Kind.WEAKENED]


ON = {"Status": "Enabled"}
ALL = {"ExpirationInDays": 90, **ON}
CHOSEN = {"Fn::If": ["C", {"ExpirationInDays": 1, **ON}, {"Ref": "AWS::NoValue"}]}


@pytest.mark.parametrize(
    ("before", "after", "weaker"),
    [
        ([], [{"NoncurrentVersionExpirationInDays": 1, **ON}], True),
        ([], [{"NoncurrentVersionExpiration": {"Ref": "P"}, **ON}], True),
        ([], [{"ExpirationDate": "2020-01-01", **ON}], True),
        ([ALL], [ALL, CHOSEN], True),
        ([ALL], {"Fn::If": ["C", [ALL], [{"ExpirationInDays": 1, **ON}]]}, True),
        ([ALL, CHOSEN], [CHOSEN], False),
        ([ALL], [{"ExpirationInDays": {"Ref": "P"}, **ON}], True),
        ([{"ExpirationInDays": {"Ref": "P"}, **ON}], [{"ExpirationInDays": 1, **ON}], True),
        ([{"ExpirationInDays": 9, "Status": {"Ref": "P"}}], [{"ExpirationInDays": 9, **ON}], True),
        ([{"NoncurrentVersionExpirationInDays": 9, **ON}], [{"NoncurrentVersionExpirationInDays": 10, **ON}], False),
    ],
)
def test_a_rule_that_may_delete_objects_sooner_is_weakened(before: Any, after: Any, weaker: bool) -> None:
    found = alone(
        "AWS::S3::Bucket", {"LifecycleConfiguration": {"Rules": before}}, {"LifecycleConfiguration": {"Rules": after}}
    )
    assert [c.kind is Kind.WEAKENED for c in found] == [weaker]


OPEN, INSIDE = {"CidrIp": "0.0.0.0/0", "IpProtocol": "-1"}, {"CidrIp": "10.0.0.0/8", "IpProtocol": "-1"}
PLAN = {"RuleName": "r", "ScheduleExpression": "cron(0 1 * * ? *)", "TargetBackupVault": "v"}
METRIC = {"Threshold": 5, "ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1}


@pytest.mark.parametrize(
    ("kind", "before", "after", "says"),
    [
        ("AWS::CloudWatch::Alarm", METRIC, {**METRIC, "Threshold": 6}, "alarm is changed: Threshold"),
        ("AWS::CloudWatch::Alarm", METRIC, {**METRIC, "Threshold": 4}, None),
        ("AWS::CloudWatch::Alarm", METRIC, {**METRIC, "Threshold": {"Ref": "P"}}, "alarm is changed: Threshold"),
        ("AWS::CloudWatch::Alarm", METRIC, {**METRIC, "EvaluationPeriods": 9}, "alarm is changed: EvaluationPeriods"),
        ("AWS::CloudWatch::Alarm", METRIC, {**METRIC, "Unit": "Count"}, "alarm is changed: Unit"),
        ("AWS::SNS::TopicPolicy", {"Topics": ["a"]}, {"Topics": ["b"]}, "the policy is no longer on every topic"),
        ("AWS::S3::BucketPolicy", {"Bucket": "a"}, {"Bucket": "b"}, "the policy is no longer on its bucket"),
        (
            "AWS::Backup::BackupPlan",
            {"BackupPlan": {"BackupPlanRule": [PLAN]}},
            {"BackupPlan": {"BackupPlanRule": [{**PLAN, "ScheduleExpression": "cron(0 1 1 1 ? *)"}]}},
            "backups of rule r are changed: ScheduleExpression",
        ),
        (
            "AWS::Backup::BackupSelection",
            {"BackupSelection": {"Resources": ["*"]}},
            {"BackupSelection": {"Resources": ["*"], "NotResources": ["t"]}},
            "the selection of backups is changed",
        ),
        ("AWS::RDS::DBProxy", {"RequireTLS": True}, {"RequireTLS": False}, "encryption in transit is lost"),
        (
            "AWS::EC2::SecurityGroup",
            {"SecurityGroupIngress": [INSIDE]},
            {"SecurityGroupIngress": [INSIDE, OPEN]},
            "the network is opened to 0.0.0.0/0",
        ),
        ("AWS::EC2::SecurityGroup", {"SecurityGroupIngress": [INSIDE, OPEN]}, {"SecurityGroupIngress": [INSIDE]}, None),
        ("AWS::EC2::SecurityGroupIngress", INSIDE, OPEN, "the network is opened to another group or address"),
        ("AWS::IAM::ManagedPolicy", {"Roles": ["a"]}, {"Roles": ["a", "b"]}, "the policy is given to b"),
        ("AWS::S3::Bucket", {"Tags": {}}, {"AccessControl": "PublicRead"}, "private access is lost"),
        (
            "AWS::S3::Bucket",
            {"BucketName": "b"},
            {"BucketName": "b", "OwnershipControls": {"Rules": [{"ObjectOwnership": "ObjectWriter"}]}},
            "ownership of objects by the bucket's owner is lost",
        ),
        (
            "AWS::DynamoDB::Table",
            {"SSESpecification": {"SSEEnabled": True, "KMSMasterKeyId": {"Fn::GetAtt": ["K", "Arn"]}}},
            {"SSESpecification": {"SSEEnabled": True, "KMSMasterKeyId": "arn:aws:kms:us-east-1:666:key/x"}},
            "customer-managed key is replaced",
        ),
        (
            "AWS::RDS::DBInstance",
            {"DBParameterGroupName": {"Ref": "G"}},
            {"DBParameterGroupName": "default.postgres16"},
            "parameter group is replaced",
        ),
    ],
)  # fmt: skip
def test_another_value_of_what_protects_as_it_is_is_weakened(kind: str, before: Json, after: Json, says: str) -> None:
    found = alone(kind, before, after)
    assert found
    assert [c.says for c in found if c.kind is Kind.WEAKENED] == ([says] if says else [])


@pytest.mark.parametrize(
    "kind", ["AWS::DynamoDB::Table", "AWS::KMS::Key", "AWS::CloudWatch::Alarm", "AWS::SNS::TopicPolicy"]
)
def test_what_may_be_left_out_at_deploy_time_is_weakened(kind: str) -> None:
    properties = {"PolicyDocument": {"Statement": [deny()]}} if kind.endswith("Policy") else {"Name": "x"}
    (found,) = alone(kind, properties, properties, Condition="C")
    assert (found.kind, found.path) == (Kind.WEAKENED, ("Condition",))
    assert not serious(alone("AWS::Lambda::Function", {"Name": "x"}, {"Name": "x"}, Condition="C"))


IS_PROD = {"Fn::Equals": [{"Ref": "Stage"}, "prod"]}
IS_NOT = {"Fn::Equals": [{"Ref": "Stage"}, "never"]}


def decided(edit: Callable[[Json], Any], **sections: Any) -> list[Change]:
    """A stack in which a condition decides something, whose definition changes."""

    def stack(condition: Json, parameter: Json) -> dict[str, Json]:
        made = copy.deepcopy(CONTRACTS[SALES])
        edit(made)
        made["template"] |= {"Conditions": {"C": condition} | sections, "Parameters": {"Stage": parameter}}
        return {SALES: made | {"template": normal.template(made["template"])}}

    text_, other = {"Type": "String"}, {"Type": "String", "Default": "test"}
    found = diff(stack(IS_PROD, text_), stack(IS_NOT, text_))
    by_parameter = diff(stack(IS_PROD, text_), stack(IS_PROD, other))
    alike = [[(c.kind, c.resource, c.says) for c in of if c.resource] for of in (found, by_parameter)]
    assert alike[0] == alike[1]
    assert not diff(stack(IS_PROD, text_), stack(IS_PROD, text_))
    return found


def table_of(contract: Json) -> Json:
    found: Json = resources(contract)[logical_id(contract, TABLE)]
    return found


def test_a_store_that_a_changed_condition_may_leave_out_is_weakened() -> None:
    found = decided(lambda c: table_of(c).update(Condition="C"))
    (weaker,) = [c for c in found if c.kind in SERIOUS]
    assert (weaker.kind, weaker.store) == (Kind.WEAKENED, TABLE)
    assert weaker.says == "the condition C decides whether it is there"
    assert weaker.path == ("template", "Conditions", "C")
    assert [c.path for c in found if not c.resource] == [("template", "Conditions", "C", "Fn::Equals", "1")]


def test_a_guard_that_a_changed_condition_decides_is_weakened() -> None:
    def edit(name: str, *values: Any) -> Callable[[Json], None]:
        return lambda c: table_of(c)["Properties"].update({name: {"Fn::If": ["C", *values]}})

    (weaker,) = [c for c in decided(edit("DeletionProtectionEnabled", True, False)) if c.kind in SERIOUS]
    assert (weaker.guard, weaker.store, weaker.approvable) == ("DP", TABLE, False)
    assert weaker.says == "the condition C decides whether deletion protection is lost"
    recovery = {"PointInTimeRecoveryEnabled": True}
    found = decided(edit("PointInTimeRecoverySpecification", {"Ref": "AWS::NoValue"}, recovery))
    assert [(c.guard, c.approvable) for c in found if c.kind in SERIOUS] == [("PITR", True)]
    ttl = {"AttributeName": "ttl", "Enabled": True}
    found = decided(edit("TimeToLiveSpecification", ttl, {"Ref": "AWS::NoValue"}))
    assert {c.guard for c in found if c.kind in SERIOUS} == {"TTL"}


def test_a_condition_behind_another_one_and_an_alarm_are_found() -> None:
    def edit(contract: Json) -> None:
        alarms = of_type(contract, "AWS::CloudWatch::Alarm")
        next(a for a in alarms if a["Properties"]["AlarmName"].startswith(TABLE))["Condition"] = "Both"

    found = decided(edit, Both={"Fn::Or": [{"Condition": "C"}, {"Fn::Equals": [{"Ref": "AWS::Region"}, "x"]}]})
    (weaker,) = [c for c in found if c.kind in SERIOUS]
    assert (weaker.type, weaker.guard, bool(weaker.store)) == ("AWS::CloudWatch::Alarm", "alarm", True)
    assert weaker.says == "the condition Both decides whether it is there"


def test_what_else_a_changed_condition_decides_is_changed_and_named() -> None:
    def edit(contract: Json) -> None:
        table_of(contract)["Properties"]["TableClass"] = {"Fn::If": ["C", "STANDARD", "STANDARD_INFREQUENT_ACCESS"]}
        contract["template"]["Resources"]["F"] = {"Type": "AWS::Lambda::Function", "Condition": "C", "Properties": {}}

    found = [c for c in decided(edit) if c.resource]
    assert {(c.kind, c.store, c.says) for c in found} == {
        (Kind.CHANGED, TABLE, "the condition C decides a part of it"),
        (Kind.CHANGED, None, "the condition C decides whether it is there"),
    }


def test_too_many_conditions_to_look_at_weaken_in_doubt() -> None:
    """Each alone would be a copy of the resource: what nobody can review is not proven either."""
    names = [f"C{n}" for n in range(21)]

    def edit(contract: Json) -> None:
        chosen = {name: {"Fn::If": [name, "a", "b"]} for name in names}
        table_of(contract)["Properties"]["Tags"] |= chosen

    found = decided(edit, **{name: {"Fn::Not": [{"Condition": "C"}]} for name in names})
    assert [(c.kind, c.store) for c in found if c.resource] == [(Kind.WEAKENED, TABLE)] * len(names)


@pytest.mark.parametrize("edit", ["policies", "gone", "renamed"])
def test_the_key_of_personal_durable_data_is_not_given_up(edit: str) -> None:
    def given_up(contract: Json) -> None:
        key = resources(contract).pop("Key")
        if edit != "gone":
            made = {**key, "DeletionPolicy": "Delete", "UpdateReplacePolicy": "Delete"}
            resources(contract)["Key" if edit == "policies" else "Key2"] = made

    def not_retained(contract: Json) -> None:
        resources(contract)["Key"] |= {"DeletionPolicy": "Delete", "UpdateReplacePolicy": "Delete"}

    base = CONTRACTS if edit == "policies" else edited((SALES, not_retained))
    found = diff(base, edited((SALES, given_up)))
    assert False in {c.approvable for c in found if c.type == "AWS::KMS::Key" and c.kind in SERIOUS}


def alone(kind: str, before: Json, after: Json, **resource: Any) -> list[Change]:
    """What is told of one resource alone, by its properties before and after."""

    def contract(properties: Json, **more: Any) -> dict[str, Json]:
        made = normal.template({"Resources": {"R": {"Type": kind, "Properties": properties, **more}}})
        return {"S": {"version": 1, "stack": {}, "template": made}}

    return diff(contract(before), contract(after, **resource))


def test_a_global_table_has_its_guards_in_each_region() -> None:
    def table(**replica: Any) -> dict[str, Json]:
        here = {"Region": "us-east-1", "DeletionProtectionEnabled": True}
        properties = {"TableName": "t", "Replicas": [here, {"Region": "us-west-2", **replica}] if replica else [here]}
        made = {"T": {"Type": "AWS::DynamoDB::GlobalTable", "Properties": properties}}
        return {"S": {"version": 1, "stack": {}, "template": normal.template({"Resources": made})}}

    found = diff(table(DeletionProtectionEnabled=True), table(DeletionProtectionEnabled=False))
    assert serious(found) == [("weakened", "t", "deletion protection is lost in us-west-2")]
    assert serious(diff(table(SSESpecification={}), table())) == [("weakened", "t", "the replica in us-west-2 is gone")]


def test_a_nested_stack_is_compared_as_a_stack() -> None:
    stack = NEWS
    contract = CONTRACTS[stack]
    base = {"S": {**contract, "template": {}, "nested": {"Inner": {"template": contract["template"], "code": {}}}}}
    head = copy.deepcopy(base)
    of_type(head["S"]["nested"]["Inner"], "AWS::DynamoDB::Table")[0]["Properties"]["DeletionProtectionEnabled"] = False
    (change,) = diff(base, head)
    assert (change.kind, change.stack, change.environment) == (Kind.WEAKENED, "S/Inner", "live")
    assert (change.store, change.approvable) == ("newsletter-eu-west-1", False)
    assert diff(base, copy.deepcopy(base)) == []


@pytest.mark.parametrize("odd", [[], 7, "x", None])
def test_a_contract_without_resources_says_that_all_are_gone(odd: Any) -> None:
    broken = edited((SALES, lambda contract: contract["template"].update(Resources=odd)))
    assert TABLE in {c.store for c in diff(CONTRACTS, broken) if c.kind is Kind.REMOVED and c.gone}
    assert TABLE in {c.store for c in diff(broken, CONTRACTS) if c.kind is Kind.ADDED}


# Policies


def allow(**parts: Any) -> Json:
    given = {"Effect": "Allow", "Principal": {"AWS": ["a"]}, "Action": ["dynamodb:GetItem"], "Resource": ["t"]}
    return given | parts


def deny(**parts: Any) -> Json:
    return allow(Effect="Deny") | parts


IN = {"StringEquals": {"aws:SourceAccount": ["1", "2"]}}
NONE = {"Ref": "AWS::NoValue"}
JOIN = {"Fn::Join": ["", [{"Fn::GetAtt": ["T", "Arn"]}, "/index/*"]]}

MAYBE = {"Fn::If": ["C", allow(Action=["*"]), NONE]}


@pytest.mark.parametrize(
    ("before", "after", "weaker"),
    [
        ([allow(Action=["dynamodb:*"])], [allow(Action=["dynamodb:DeleteTable", "dynamodb:GetItem"])], False),
        ([allow()], [allow(Action=["dynamodb:*"])], True),
        ([allow(Action=["DynamoDB:getitem"])], [allow()], False),
        ([allow()], [allow(Action=["*"])], True),
        ([allow(Action=["a:X"]), allow(Action=["a:Y"])], [allow(Action=["a:X", "a:Y"])], False),
        ([allow(Action=["a:X", "a:Y"])], [allow(Action=["a:X"]), allow(Action=["a:Y"])], False),
        ([allow(Resource=["x/*"])], [allow(Resource=["x/y"])], False),
        ([allow(Resource=["x/?"])], [allow(Resource=["x/*"])], True),
        ([allow(Resource=[JOIN])], [allow(Resource=[JOIN, {"Ref": "T"}])], True),
        ([allow(Resource=["*"])], [allow(Resource=[JOIN])], False),
        ([allow(Principal="*")], [allow(Principal={"AWS": ["b"]})], False),
        ([allow(Principal={"Service": ["s"]})], [allow(Principal={"AWS": ["s"]})], True),
        ([allow(Condition=IN)], [allow(Condition={"StringEquals": {"aws:SourceAccount": ["1"]}})], False),
        ([allow(Condition=IN)], [allow(Condition={"StringEquals": {"aws:SourceAccount": ["1", "3"]}})], True),
        ([allow(Condition=IN)], [allow(Condition={"StringLike": {"aws:SourceAccount": ["1"]}})], True),
        ([allow(NotAction=["a:X"], Action=None)], [allow(NotAction=["a:X", "a:Y"], Action=None)], False),
        ([allow(NotAction=["a:X", "a:Y"], Action=None)], [allow(NotAction=["a:X"], Action=None)], True),
        ([allow(Action=["*"])], [allow(NotAction=["a:X"], Action=None)], False),
        ([allow(NotAction=["a:X"], Action=None)], [allow(Action=["a:X"])], True),
        ([deny(Action=["a:*"])], [deny(Action=["a:X"])], True),
        ([deny(Action=["a:X"])], [deny(Action=["a:*"])], False),
        ([deny()], [deny(Condition=IN)], True),
        ([], [allow()], True),
        ([allow()], [], False),
        ([allow()], [{"Fn::If": ["C", allow(Action=["*"]), allow()]}], True),
        ([allow()], [allow(), {"Fn::If": ["C", allow(Action=["b:Y"]), NONE]}], True),
        ([allow()], [{"Fn::If": ["C", allow(), NONE]}], False),
        ([deny()], [{"Fn::If": ["C", deny(), NONE]}], True),
        ([MAYBE, allow()], [MAYBE], False),
        ([allow()], [allow(), {"Ref": "P"}], True),
        ([allow()], [allow(), allow(Effect={"Ref": "P"}, Action=["b:Y"])], True),
        ([deny(), allow()], [allow(Effect={"Ref": "P"}), allow()], True),
        ([allow()], [allow(Action={"Ref": "P"})], True),
        ([allow()], [allow(Principal={"Ref": "P"})], True),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "kind", ["AWS::DynamoDB::Table ResourcePolicy", "AWS::IAM::Role Policies", "AWS::KMS::Key KeyPolicy"]
)
def test_a_policy_that_lets_more_in_is_weakened(kind: str, before: list[Json], after: list[Json], weaker: bool) -> None:
    type_, name = kind.split()

    def contract(statements: list[Json]) -> dict[str, Json]:
        kept = [{k: v for k, v in s.items() if v is not None} for s in statements]
        document: Any = {"Statement": kept, "Version": "2012-10-17"}
        document = {"PolicyDocument": document} if name == "ResourcePolicy" else document
        document = [{"PolicyName": "p", "PolicyDocument": document}] if name == "Policies" else document
        properties = {"Description": "d", **({name: document} if statements else {})}
        made = {"R": {"Type": type_, "Properties": properties}}
        return {"S": {"version": 1, "stack": {}, "template": normal.template({"Resources": made})}}

    found = diff(contract(before), contract(after))
    assert any(c.kind is Kind.WEAKENED and "policy" in c.says for c in found) == weaker
    assert found or before == after


def test_a_role_that_gains_a_managed_policy_or_loses_its_boundary_is_weakened() -> None:
    def role(**properties: Any) -> dict[str, Json]:
        made = {"R": {"Type": "AWS::IAM::Role", "Properties": properties}}
        return {"S": {"version": 1, "stack": {}, "template": normal.template({"Resources": made})}}

    (gained,) = diff(role(ManagedPolicyArns=["a"]), role(ManagedPolicyArns=["a", "arn:aws:iam::aws:policy/Admin"]))
    assert (gained.kind, "policy/Admin" in gained.says) == (Kind.WEAKENED, True)
    assert [c.kind for c in diff(role(PermissionsBoundary="b"), role())] == [Kind.WEAKENED]
    assert not serious(diff(role(ManagedPolicyArns=["a", "b"]), role(ManagedPolicyArns=["b"])))


def test_a_pattern_that_would_take_for_ever_ends() -> None:
    stars = {"Effect": "Allow", "Action": ["a:" + "*a" * 2000 + "b"], "Resource": ["*"]}
    letters = {"Effect": "Allow", "Action": ["a:" + "a" * 2000], "Resource": ["*"]}

    def role(statement: Json) -> dict[str, Json]:
        document = {"PolicyDocument": {"Statement": [statement], "Version": "2012-10-17"}}
        made = {"R": {"Type": "AWS::IAM::ManagedPolicy", "Properties": document}}
        return {"S": {"version": 1, "stack": {}, "template": normal.template({"Resources": made})}}

    assert [c.kind for c in diff(role(stars), role(letters))] == [Kind.WEAKENED]


@pytest.mark.parametrize(("days", "fine"), [(14, True), (7, False)])
def test_a_class_of_personal_data_is_lowered_only_where_every_guard_stays(days: int, fine: bool) -> None:
    def edit(contract: Json) -> None:
        properties = resources(contract)[logical_id(contract, TABLE)]["Properties"]
        properties["Tags"]["shop:data"] = "operational"
        properties["PointInTimeRecoverySpecification"]["RecoveryPeriodInDays"] = days

    assert [c.approvable for c in told(SALES, edit) if c.guard == "data class"] == [fine]


# Removed, renamed, moved, replaced


def remove(name: str) -> Edit:
    def edit(contract: Json) -> None:
        del resources(contract)[logical_id(contract, name)]

    return edit


def test_a_table_that_leaves_takes_its_alarms_along() -> None:
    def edit(contract: Json) -> None:
        remove(TABLE)(contract)
        for key in [k for k, r in resources(contract).items() if k.startswith("Orders")]:
            del resources(contract)[key]

    found = told(SALES, edit)
    says = "AWS::DynamoDB::Table is gone: its data stays behind, in no stack"
    assert serious(found) == [("removed", TABLE, says)]
    assert sum(c.says.endswith("is gone, with its store") for c in found) == ALARMS
    assert next(c for c in found if c.kind is Kind.REMOVED).approvable


def test_alarms_go_with_an_index_and_not_without() -> None:
    def alarm(contract: Json) -> None:
        del resources(contract)[alarm_id(contract, "status-placedAt-index/throttles")]

    def index(contract: Json) -> None:
        alarm(contract)
        properties = resources(contract)[logical_id(contract, TABLE)]["Properties"]
        kept = [i for i in properties["GlobalSecondaryIndexes"] if i["IndexName"] != "status-placedAt-index"]
        properties["GlobalSecondaryIndexes"] = kept

    assert serious(told(SALES, alarm)) == [("weakened", TABLE, "AWS::CloudWatch::Alarm is gone")]
    assert not serious(told(SALES, index))


def test_an_alarm_that_watches_another_table_is_weakened() -> None:
    def edit(contract: Json) -> None:
        key = alarm_id(contract, "latency")
        other = json.dumps(resources(contract)[key]).replace(TABLE, "prices-production")
        resources(contract)[key] = json.loads(other)

    assert ("weakened", TABLE, f"the alarm no longer watches {TABLE}") in serious(told(SALES, edit))


def renaming(**also: Any) -> Edit:
    def edit(contract: Json) -> None:
        made = json.loads(json.dumps(resources(contract)).replace(TABLE, "orders-v2"))
        made["OrdersV2"] = made.pop(logical_id(contract, TABLE))
        made["OrdersV2"]["Properties"] |= also
        contract["template"]["Resources"] = made

    return edit


def test_a_renamed_table_is_one_thing_and_keeps_its_guards_or_loses_them() -> None:
    found = told(SALES, renaming())
    says = "it becomes orders-v2, which has the same key and indexes and is empty: its data stays behind, in no stack"
    assert serious(found) == [("removed", TABLE, says)]
    assert not [c for c in found if c.kind is Kind.ADDED]
    weak = [c for c in told(SALES, renaming(DeletionProtectionEnabled=False)) if c.guard == "DP"]
    assert [(c.kind, c.store, c.approvable) for c in weak] == [(Kind.WEAKENED, "orders-v2", False)]


@pytest.mark.parametrize("protected", [True, False])
def test_a_table_that_moves_to_another_stack_is_one_thing(protected: bool) -> None:
    stack = NEWS
    table = copy.deepcopy(resources(CONTRACTS[SALES])[logical_id(CONTRACTS[SALES], TABLE)])
    table["Properties"]["DeletionProtectionEnabled"] = protected
    head = edited((SALES, remove(TABLE)), (stack, lambda c: resources(c).update({"Moved": table})))
    found = diff(CONTRACTS, head)
    (removed,) = [c for c in found if c.kind is Kind.REMOVED]
    assert (removed.store, removed.stack) == (TABLE, SALES)
    assert removed.says == f"it moves to {stack}: its data stays, and that stack has to import it"
    assert not [c for c in found if c.kind is Kind.ADDED and c.store == TABLE and not c.reaches]
    lost = {c.says for c in found if c.kind is Kind.WEAKENED and c.stack == stack}
    assert lost == {f"{ALARMS} of {ALARMS} alarms are lost on its way"} | (
        set() if protected else {"deletion protection is lost"}
    )
    assert all(not c.approvable for c in found if c.guard == "DP")


def test_what_is_lost_on_the_way_to_a_new_stack_is_told() -> None:
    made = copy.deepcopy(CONTRACTS[SALES])
    resources(made)[logical_id(made, TABLE)]["Properties"]["DeletionProtectionEnabled"] = False
    found = diff(CONTRACTS, {**{k: v for k, v in CONTRACTS.items() if k != SALES}, "NewStack": made})
    lost = [(c.stack, c.store, c.says, c.approvable) for c in found if c.kind is Kind.WEAKENED]
    assert lost == [("NewStack", TABLE, "deletion protection is lost", False)]


def test_the_same_name_in_another_environment_is_another_table() -> None:
    stack = NEWS
    table = copy.deepcopy(of_type(CONTRACTS[stack], "AWS::DynamoDB::Table")[0])
    name = table["Properties"]["TableName"]
    head = edited((stack, remove(name)), ("Orders-dev", lambda c: resources(c).update({"Elsewhere": table})))
    found = diff(CONTRACTS, head)
    assert "its data stays behind, in no stack" in next(c.says for c in found if c.kind is Kind.REMOVED)
    assert [c.stack for c in found if c.kind is Kind.ADDED] == ["Orders-dev"]


def unguarded(kind: str) -> Json:
    """A table of people without one guard, and without a tag that says what it holds."""
    table = copy.deepcopy(resources(CONTRACTS[SALES])[logical_id(CONTRACTS[SALES], TABLE)])
    properties = {k: table["Properties"][k] for k in ("TableName", "KeySchema", "AttributeDefinitions")}
    return {"Type": kind, "Properties": properties | {"Tags": {"Environment": "test"}}, "DeletionPolicy": "Delete"}


def escaped(how: str, made: Json) -> dict[str, Json]:
    """The contracts with a table of people declared elsewhere instead."""
    head = edited((SALES, remove(TABLE)))
    region = CONTRACTS[SALES]["stack"]["environment"].rpartition("/")[2]
    places = {
        "another tag": {"environment": f"aws://unknown-account/{region}", "tags": {"Environment": "sandbox"}},
        "one account": {"environment": f"aws://123456789012/{region}"},
        "agnostic": {"environment": "aws://unknown-account/unknown-region"},
        "another region": {"environment": "aws://unknown-account/eu-south-2"},
    }
    template = {"Resources": {"Elsewhere": made}}
    if how == "same stack":
        resources(head[SALES])["Elsewhere"] = made
    elif how == "nested":
        head[SALES]["nested"] = {"Inner": {"template": template, "code": {}}}
    else:
        head["Elsewhere"] = {"version": 1, "stack": places[how], "template": template, "code": {}}
    return head


@pytest.mark.parametrize("kind", ["AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable"])
@pytest.mark.parametrize("how", ["another tag", "one account", "agnostic", "nested", "same stack", "another region"])
def test_a_table_of_people_does_not_leave_its_guards_behind_by_a_move(how: str, kind: str) -> None:
    found = diff(CONTRACTS, escaped(how, unguarded(kind)))
    lost = {c.guard for c in found if c.kind is Kind.WEAKENED and c.store == TABLE and not c.approvable}
    new = [c for c in found if c.kind is Kind.ADDED and c.store == TABLE]
    if how == "another region":
        assert (lost, len(new)) == (set(), 1)
    else:
        assert (lost >= {"DP", "RETAIN", "CMK"}, new) == (True, [])


def test_a_table_of_people_does_not_leave_its_guards_behind_by_a_swap_of_names() -> None:
    def edit(contract: Json) -> None:
        resources(contract)["Other"] = unguarded("AWS::DynamoDB::Table")
        resources(contract)[logical_id(CONTRACTS[SALES], TABLE)]["Properties"]["TableName"] = "empty"

    def other(contract: Json) -> None:
        resources(contract)["Other"] = {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "other"}}

    for base in (CONTRACTS, edited((SALES, other))):
        found = diff(base, edited((SALES, edit)))
        assert {c.guard for c in found if c.store == TABLE and not c.approvable} >= {"DP", "RETAIN", "CMK"}


def test_a_bucket_that_a_deploy_names_is_called_by_its_tag_and_moves_with_its_guards() -> None:
    (key,) = [
        k
        for k, r in resources(CONTRACTS[STORES]).items()
        if "shop-files-live" in str(r["Properties"].get("BucketName"))
    ]
    bucket = copy.deepcopy(resources(CONTRACTS[STORES])[key]) | {"DeletionPolicy": "Delete"}
    head = edited((STORES, lambda c: resources(c).pop(key)))
    place = {"environment": "aws://unknown-account/unknown-region"}
    bucket["Properties"]["VersioningConfiguration"] = {"Status": "Suspended"}
    head["New"] = {
        "version": 1,
        "stack": place,
        "template": {**CONTRACTS[STORES]["template"], "Resources": {"B": bucket}},
        "code": {},
    }
    found = [c for c in diff(CONTRACTS, head) if c.stack == "New" and c.kind is Kind.WEAKENED]
    assert {(c.store, c.guard, c.approvable) for c in found} == {
        ("shop-files-live", "RETAIN", False),
        ("shop-files-live", "versions", True),
    }


def test_a_second_table_of_the_name_does_not_hide_the_one_without_guards() -> None:
    head = escaped("agnostic", unguarded("AWS::DynamoDB::Table"))
    kept = resources(CONTRACTS[SALES])[logical_id(CONTRACTS[SALES], TABLE)]
    head["Kept"] = {**CONTRACTS[SALES], "template": {**CONTRACTS[SALES]["template"], "Resources": {"Kept": kept}}}
    lost = {(c.stack, c.guard) for c in diff(CONTRACTS, head) if not c.approvable}
    assert {stack for stack, _ in lost} == {"Elsewhere"}


@pytest.mark.parametrize("regions", [("us-west-2",), ("us-west-2", "us-east-1")])
def test_a_table_that_becomes_a_global_table_keeps_what_every_replica_has(regions: tuple[str, ...]) -> None:
    table = copy.deepcopy(resources(CONTRACTS[SALES])[logical_id(CONTRACTS[SALES], TABLE)])
    of_replica = ("DeletionProtectionEnabled", "PointInTimeRecoverySpecification", "Tags")
    shared = {k: table["Properties"].pop(k) for k in of_replica}
    key = {"SSESpecification": {"KMSMasterKeyId": table["Properties"]["SSESpecification"].pop("KMSMasterKeyId")}}
    table["Properties"]["Replicas"] = [{"Region": r, **shared, **key} for r in regions]
    table["Type"] = "AWS::DynamoDB::GlobalTable"
    made = normal.template({"Resources": {"T": table}})["Resources"]["T"]
    kept = diff(CONTRACTS, escaped("same stack", made))
    assert not [c for c in kept if c.kind is Kind.WEAKENED and c.type.startswith("AWS::DynamoDB")]
    made["Properties"]["Replicas"][-1] = {"Region": regions[-1]}
    lost = [c for c in diff(CONTRACTS, escaped("same stack", made)) if not c.approvable]
    assert {c.guard for c in lost} >= {"DP", "CMK"}


def test_renamed_logical_ids_of_every_key_topic_alias_and_policy_are_told_once_each() -> None:
    """As a new version of a construct may do, which shows as a thousand lines of contracts."""
    new = {"Key": "Key961B73FD", "KeyAlias": "KeyAlias11", "Alarms": "Alarms04B5A0BF", "AlarmsPolicy": "Policy7"}
    names = {id_ for id_, c in CONTRACTS.items() if not of_type(c, "AWS::RDS::DBInstance")}

    def contract(id_: str) -> Json:
        if id_ not in names:
            return CONTRACTS[id_]
        text_ = json.dumps(CONTRACTS[id_])
        for old, made in new.items():
            text_ = text_.replace(f'"{old}"', f'"{made}"')
        found: Json = json.loads(text_)
        return {**found, "template": normal.template(found["template"])}

    found = diff(CONTRACTS, {id_: contract(id_) for id_ in CONTRACTS})
    kinds = [(c.kind, c.type) for c in found]
    here = [CONTRACTS[id_] for id_ in names]
    keys, topics = (sum(len(of_type(c, t)) for c in here) for t in ("AWS::KMS::Key", "AWS::SNS::Topic"))
    assert kinds.count((Kind.REPLACED, "AWS::KMS::Key")) == keys >= 5
    assert kinds.count((Kind.REPLACED, "AWS::SNS::Topic")) == topics >= 5
    assert all("logical id changes" in c.says for c in found)
    told_ = text.text(found, "x").splitlines()
    assert len(told_) < 20
    assert any(line.startswith(f"REPLACED  {topics} in {topics} stacks") for line in told_)


@pytest.mark.parametrize(
    ("path", "value"),
    [("KeySchema", [{"AttributeName": "other", "KeyType": "HASH"}]), ("LocalSecondaryIndexes", [{"IndexName": "x"}])],
)
def test_a_key_cannot_be_changed_in_place(path: str, value: Any) -> None:
    def edit(contract: Json) -> None:
        resources(contract)[logical_id(contract, TABLE)]["Properties"][path] = value

    assert {c.kind for c in told(SALES, edit)} == {Kind.REPLACED}


def test_what_holds_no_data_is_changed_when_it_is_made_anew_or_goes() -> None:
    def edit(contract: Json) -> None:
        resources(contract)["Dashboard"]["Properties"]["DashboardName"] = "another"
        del resources(contract)["KeyAlias"]

    assert {c.kind for c in told(SALES, edit)} == {Kind.CHANGED}


# Added


@pytest.mark.parametrize(
    ("kind", "properties", "says"),
    [
        ("Custom::Anything", {}, "runs code during a deploy"),
        (
            "AWS::Lambda::EventSourceMapping",
            {"EventSourceArn": {"Fn::GetAtt": ["T", "StreamArn"]}},
            "hands every change to a function",
        ),
        (
            "AWS::IAM::Role",
            {"AssumeRolePolicyDocument": {"Statement": [allow(Principal="*")]}},
            "allows * to take it",
        ),
        ("AWS::IAM::ManagedPolicy", {"PolicyDocument": {"Statement": [allow(Action=["*"])]}}, "allows *"),
        ("AWS::New::Exporter", {"Source": {"Ref": "T"}}, f"refers to {TABLE}"),
        (
            "AWS::New::Exporter",
            {"Source": f"arn:aws:dynamodb:us-east-1:1:table/{TABLE}"},
            f"refers to {TABLE}",
        ),
    ],
)
def test_what_can_reach_a_store_is_listed_first_with_what_it_can_do(kind: str, properties: Json, says: str) -> None:
    id_ = logical_id(CONTRACTS[SALES], TABLE)
    made = {"Type": kind, "Properties": json.loads(json.dumps(properties).replace('"T"', f'"{id_}"'))}

    def edit(contract: Json) -> None:
        resources(contract)["AAA"] = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "q"}}
        resources(contract)["Intruder"] = normal.template({"Resources": {"I": made}})["Resources"]["I"]

    first, second = told(SALES, edit)
    assert (first.kind, first.resource, first.reaches) == (Kind.ADDED, "Intruder", True)
    assert first.says == f"new {kind}: {says}"
    assert second.resource == "AAA"


def test_a_store_that_is_copied_elsewhere_says_so() -> None:
    def edit(contract: Json) -> None:
        table = resources(contract)[logical_id(contract, TABLE)]
        table["Properties"]["KinesisStreamSpecification"] = {"StreamArn": "arn:aws:kinesis:us-east-1:666:stream/x"}

    (change,) = told(SALES, edit)
    assert (change.reaches, change.says) == (True, "every change is copied into a stream of Kinesis")


# What touches many is told once


def in_live(edit: Callable[[Json], None]) -> dict[str, Json]:
    stacks = [id_ for id_, c in CONTRACTS.items() if guards.environment(c) == "live"]
    return edited(*((id_, edit) for id_ in stacks))


def test_a_recovery_period_lowered_by_the_policy_is_told_once() -> None:
    def edit(contract: Json) -> None:
        for table in of_type(contract, "AWS::DynamoDB::Table"):
            if "RecoveryPeriodInDays" in table["Properties"].get("PointInTimeRecoverySpecification", {}):
                table["Properties"]["PointInTimeRecoverySpecification"]["RecoveryPeriodInDays"] = 7

    found = diff(CONTRACTS, in_live(edit))
    tables = [p.id for p in ESTATE.placements([LIVE]) for t in p.tables if Guard.PITR in p.required(t)]
    assert len(found) == len(tables) > 5
    (block,) = blocks(found)
    assert block.lines == [
        "recovery period is lowered: Properties/PointInTimeRecoverySpecification/RecoveryPeriodInDays 14 → 7"
    ]
    heading = text.text(found, "x").splitlines()[1]
    assert heading.startswith(f"WEAKENED  {len(found)} in {len(set(tables))} stacks: ")
    assert heading.endswith(f" and {len(found) - 3} more")
    assert len(json.loads(as_json(found, "x"))["findings"]) == len(found)


def test_a_tier_that_is_lowered_is_told_by_its_effects_once_each() -> None:
    """Production becomes a test environment: every durable table loses what its environment demanded."""

    def edit(contract: Json) -> None:
        contract["stack"].pop("terminationProtection")
        for key, resource in list(resources(contract).items()):
            if resource["Type"] == "AWS::CloudWatch::Alarm":
                del resources(contract)[key]
            if resource["Type"] == "AWS::DynamoDB::Table":
                resource |= {"DeletionPolicy": "Delete", "UpdateReplacePolicy": "Delete"}
                resource["Properties"]["DeletionProtectionEnabled"] = False
                resource["Properties"]["PointInTimeRecoverySpecification"] = {"PointInTimeRecoveryEnabled": False}

    found = diff(CONTRACTS, in_live(edit))
    assert len([c for c in found if c.kind is Kind.WEAKENED]) > 40
    lines = [line for b in blocks(found) for line in b.lines if b.kind is Kind.WEAKENED]
    assert sum("deletion protection is lost" in line for line in lines) == 1
    assert sum("termination protection is lost" in line for line in lines) == 1
    assert len(text.text([c for c in found if c.kind is Kind.WEAKENED], "x").splitlines()) < 60


# Random estates


@st.composite
def estates(draw: st.DrawFn) -> tuple[dict[str, Table], dict[str, Table]]:
    """The same tables with other facts."""
    names = [f"table-{n}" for n in range(draw(st.integers(1, 3)))]
    one, other = ({n: Table(**draw(legal_tables) | {"name": n}) for n in names} for _ in range(2))  # type: ignore[arg-type]
    return one, {n: draw(st.sampled_from([one[n], other[n]])) for n in names}


def made(tables: dict[str, Table], env: Environment) -> dict[str, Json]:
    """A template as the policy demands it, without CDK."""
    found: Json = {}
    for name, table in tables.items():
        guards = required(table, env)
        tags = {"DataClass": table.data.value, "Lifetime": lifetime(table), "Environment": env.label}
        keys = [(table.key.partition.name, "HASH"), *([(table.key.sort.name, "RANGE")] if table.key.sort else [])]
        properties: Json = {
            "TableName": name,
            "KeySchema": [{"AttributeName": a, "KeyType": k} for a, k in keys],
            "Tags": [{"Key": k, "Value": v} for k, v in tags.items()],
            "DeletionProtectionEnabled": Guard.DELETION_PROTECTION in guards,
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": Guard.PITR in guards},
            "GlobalSecondaryIndexes": [
                {"IndexName": i.name, "Projection": {"ProjectionType": i.projection.value}} for i in table.indexes
            ],
        }
        if Guard.TTL in guards and table.lifetime.ttl:
            properties["TimeToLiveSpecification"] = {"AttributeName": table.lifetime.ttl, "Enabled": True}
        if Guard.CUSTOMER_KEY in guards:
            properties["SSESpecification"] = {"SSEEnabled": True, "KMSMasterKeyId": "alias/own"}
        kept = "Retain" if Guard.RETAIN in guards else "Delete"
        id_ = name.replace("-", "")
        found[id_] = {"Type": "AWS::DynamoDB::Table", "Properties": properties}
        found[id_] |= {"DeletionPolicy": kept, "UpdateReplacePolicy": kept}
        if Guard.ALARMS in guards:
            watched = {"Dimensions": [{"Name": "TableName", "Value": name}], "AlarmActions": ["topic"]}
            found[f"{id_}Alarm"] = {"Type": "AWS::CloudWatch::Alarm", "Properties": watched}
    stack = {"environment": "aws://1/us-east-1", "tags": {"Environment": env.label}}
    return {"S": {"version": 1, "stack": stack, "template": normal.template({"Resources": found})}}


def witness(contract: Json, id_: str) -> tuple[set[str], Any]:
    """Guards, facts and TTL of a table, read by hand: nothing of this is the library's."""
    table = contract["template"]["Resources"][id_]
    properties = table["Properties"]
    read = {
        "deletion protection": properties["DeletionProtectionEnabled"] is True,
        "recovery": properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True,
        "key": "KMSMasterKeyId" in properties.get("SSESpecification", {}),
        "deletion": table["DeletionPolicy"] == "Retain",
        "replacement": table["UpdateReplacePolicy"] == "Retain",
        "alarm": f"{id_}Alarm" in contract["template"]["Resources"],
        "durable": properties["Tags"]["Lifetime"] == "durable",
        "personal": properties["Tags"]["DataClass"] == "personal",
    }
    return {k for k, on in read.items() if on}, properties.get("TimeToLiveSpecification", {}).get("AttributeName")


@settings(max_examples=80)
@given(estates(), ENVIRONMENTS)
def test_a_guard_is_weakened_exactly_when_it_is_read_from_the_base_and_not_from_the_head(
    pair: tuple[dict[str, Table], dict[str, Table]], env: Environment
) -> None:
    base, head = (made(tables, env) for tables in pair)
    found = diff(base, head)
    for name in pair[0]:
        (before, ttl), (after, other) = (witness(c["S"], name.replace("-", "")) for c in (base, head))
        weakened = [c for c in found if c.kind is Kind.WEAKENED and c.store == name]
        assert bool(weakened) == bool(before - after or ttl != other), (before, after, ttl, other)
        assert len(weakened) == len(before - after) + (ttl != other)


@settings(max_examples=40)
@given(estates(), ENVIRONMENTS, st.integers(0, 1000))
def test_order_and_renamed_modules_are_silent(
    pair: tuple[dict[str, Table], dict[str, Table]], env: Environment, seed: int
) -> None:
    random = Random(seed)

    def shuffled(tree: Any, name: str = "") -> Any:
        if isinstance(tree, dict):
            return {k: shuffled(tree[k], k) for k in random.sample(list(tree), len(tree))}
        if isinstance(tree, list):
            found = [shuffled(v) for v in tree]
            return found if name == "KeySchema" else random.sample(found, len(found))
        return tree

    base = made(pair[0], env)
    tables = {n: pair[0][n] for n in random.sample(list(pair[0]), len(pair[0]))}  # another module, another order
    head = made(tables, env)
    template = normal.template(shuffled(head["S"]["template"]))
    assert diff(base, {"S": {**head["S"], "template": template}}) == []
