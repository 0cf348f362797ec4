"""Harm that no list of dangerous things had: judged in every declared stack, by what is allowed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from rule_mutants import seen
from shop import ESTATE, alone
from support import Json

from holdfast import DeclarationError, Stack
from holdfast.cfn.generate import schemas
from holdfast.estate.placement import Placed
from holdfast.rules import ACTIONABLE, judge
from holdfast.rules.base import Finding
from holdfast.rules.types import OF_STORES, OF_TABLES
from holdfast.verdict import Outcome

PLACES = {p.id: p for p in ESTATE.placements()}
TABLES, STORES = "Orders-production", "Stores-live"
ROOT = "arn:aws:iam::111122223333:root"
OWN = {"Ref": "AWS::AccountId"}
Change = Callable[[Json], Any]


def judged(placed: Placed, template: Json) -> list[Finding]:
    return judge(alone(placed.stack), [seen(placed, template)], [placed.env], today=date(2026, 11, 16))


def heard(placed: Placed, template: Json) -> set[str]:
    """The places of which somebody hears."""
    return {f.where for f in judged(placed, template) if f.outcome in ACTIONABLE}


def failed(placed: Placed, template: Json) -> set[tuple[str, str | None]]:
    return {(f.rule.id, f.table) for f in judged(placed, template) if f.outcome is Outcome.FAIL}


def of(template: Json, kind: str) -> Json:
    """The first resource of a type."""
    found: Json = next(r for r in template["Resources"].values() if r["Type"] == kind)
    return found


def put(kind: str, **properties: Any) -> Change:
    """Settings of the first resource of a type."""
    return lambda t: of(t, kind)["Properties"].update(properties)


def add(kind: str, **properties: Any) -> Change:
    return lambda t: t["Resources"].update(Rogue={"Type": kind, "Properties": properties})


def allow(kind: str, document: str, **statement: Any) -> Change:
    """One more statement in the policy of the first resource of a type."""
    allowed = {"Effect": "Allow", "Action": "*", "Resource": "*"} | statement
    return lambda t: of(t, kind)["Properties"][document]["Statement"].append(allowed)


def change_statements(change: Callable[[Json], Any]) -> Change:
    return lambda t: [change(s) for s in of(t, "AWS::KMS::Key")["Properties"]["KeyPolicy"]["Statement"]]


def trust(**principal: Any) -> Change:
    def change(template: Json) -> None:
        role = of(template, "AWS::IAM::Role")["Properties"]
        role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"] = principal

    return change


TABLE, KEY, TOPIC, QUEUE = "AWS::DynamoDB::Table", "AWS::KMS::Key", "AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy"
BUCKET, INSTANCE = "AWS::S3::Bucket", "AWS::RDS::DBInstance"
POLICY = {"Statement": [{"Effect": "Allow", "Principal": {"AWS": ROOT}, "Action": "*", "Resource": "*"}]}
INCLUDE = {"Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": "s3://elsewhere/x"}}}


def include(name: str) -> Change:
    return lambda t: of(t, TABLE)["Properties"][name].update(INCLUDE)


# {name: (stack, rule, change)}
WIDENED: dict[str, tuple[str, str, Change]] = {
    "key disabled": (TABLES, "HF007", put(KEY, Enabled=False)),
    "key of stores disabled": (STORES, "HF007", put(KEY, Enabled="false")),
    "key deleted within a week": (TABLES, "HF007", put(KEY, PendingWindowInDays=7)),
    "key signs": (TABLES, "HF007", put(KEY, KeyUsage="SIGN_VERIFY", KeySpec="RSA_2048")),
    "key of outside material": (TABLES, "HF007", put(KEY, Origin="EXTERNAL")),
    "key for all regions": (TABLES, "HF007", put(KEY, MultiRegion=True)),
    "key of another account": (
        TABLES,
        "HF007",
        put(TABLE, SSESpecification={"SSEEnabled": True, "KMSMasterKeyId": "arn:aws:kms:x:111122223333:key/y"}),
    ),
    "key given to another account": (TABLES, "HF009", allow(KEY, "KeyPolicy", Principal={"AWS": ROOT})),
    "key given to a number": (TABLES, "HF009", allow(KEY, "KeyPolicy", Principal={"AWS": "111122223333"})),
    "key used by the account without a service": (STORES, "HF009", change_statements(lambda s: s.pop("Condition", 0))),
    "key used without a service if none is named": (
        STORES,
        "HF009",
        change_statements(
            lambda s: s.update(
                Condition={f"{k}IfExists" if "String" in k else k: v for k, v in s.get("Condition", {}).items()}
            )
        ),
    ),
    "key granted by the account": (
        TABLES,
        "HF009",
        allow(
            KEY,
            "KeyPolicy",
            Action="kms:CreateGrant",
            Principal={"AWS": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:root"}},
        ),
    ),
    "key for everybody but one": (TABLES, "HF009", allow(KEY, "KeyPolicy", NotPrincipal={"AWS": ROOT})),
    "key for a federation": (TABLES, "HF009", allow(KEY, "KeyPolicy", Principal={"Federated": "accounts.google.com"})),
    "table for another account": (TABLES, "HF009", put(TABLE, ResourcePolicy={"PolicyDocument": POLICY})),
    "stream for another account": (
        TABLES,
        "HF009",
        put(
            TABLE,
            StreamSpecification={
                "StreamViewType": "NEW_AND_OLD_IMAGES",
                "ResourcePolicy": {"PolicyDocument": POLICY},
            },
        ),
    ),
    "topic for another account": (TABLES, "HF009", allow(TOPIC, "PolicyDocument", Principal={"AWS": ROOT})),
    "topic for an account that a condition names": (
        TABLES,
        "HF009",
        allow(
            TOPIC,
            "PolicyDocument",
            Principal="*",
            Condition={"StringEquals": {"aws:SourceAccount": "111122223333"}},
        ),
    ),
    "queue for another account": (TABLES, "HF009", allow(QUEUE, "PolicyDocument", Principal={"AWS": ROOT})),
    "bucket for another account": (
        STORES,
        "HF009",
        allow("AWS::S3::BucketPolicy", "PolicyDocument", Principal={"AWS": ROOT}),
    ),
    "vault for another account": (STORES, "HF009", put("AWS::Backup::BackupVault", AccessPolicy=POLICY)),
    "secret for another account": (
        STORES,
        "HF009",
        add("AWS::SecretsManager::ResourcePolicy", SecretId="x", ResourcePolicy=POLICY),
    ),
    "logs for another account": (
        TABLES,
        "HF009",
        add("AWS::Logs::ResourcePolicy", PolicyName="x", PolicyDocument=json.dumps(POLICY)),
    ),
    "function for everybody": (
        TABLES,
        "HF009",
        add("AWS::Lambda::Permission", Action="lambda:InvokeFunction", FunctionName="x", Principal="*"),
    ),
    "function for another account's rule": (
        TABLES,
        "HF009",
        add(
            "AWS::Lambda::Permission",
            Principal="events.amazonaws.com",
            SourceArn="arn:aws:events:us-east-1:111122223333:rule/x",
        ),
    ),
    "function for a service of anybody": (
        TABLES,
        "HF009",
        add("AWS::Lambda::Permission", Principal="s3.amazonaws.com"),
    ),
    "items to Kinesis": (TABLES, "HF516", put(TABLE, KinesisStreamSpecification={"StreamArn": "arn:x"})),
    "items from elsewhere": (TABLES, "HF516", put(TABLE, ImportSourceSpecification={"InputFormat": "CSV"})),
    "backups copied to another vault": (
        STORES,
        "HF516",
        lambda t: of(t, "AWS::Backup::BackupPlan")["Properties"]["BackupPlan"]["BackupPlanRule"][0].update(
            CopyActions=[{"DestinationBackupVaultArn": "arn:aws:backup:us-east-1:111122223333:backup-vault:x"}]
        ),
    ),
    **{
        f"bucket with {name}": (STORES, "HF516", put(BUCKET, **{name: value}))
        for name, value in {
            "ReplicationConfiguration": {"Role": "arn:x", "Rules": []},
            "InventoryConfigurations": [{"Id": "x"}],
            "AnalyticsConfigurations": [{"Id": "x"}],
            "WebsiteConfiguration": {"IndexDocument": "index.html"},
            "AccessControl": "PublicRead",
            "MetadataTableConfiguration": {"S3TablesDestination": {}},
        }.items()
    },
    **{
        f"database with {name}": (STORES, "HF516", put(INSTANCE, **{name: value}))
        for name, value in {
            "AutomaticBackupReplicationRegion": "eu-west-1",
            "SourceDBInstanceIdentifier": "other",
            "DBSnapshotIdentifier": "arn:aws:rds:us-east-1:111122223333:snapshot:x",
            "AssociatedRoles": [{"FeatureName": "s3Export", "RoleArn": "arn:x"}],
        }.items()
    },
    "cache in a global group": (
        STORES,
        "HF516",
        put("AWS::ElastiCache::ReplicationGroup", GlobalReplicationGroupId="x"),
    ),
    "admin role in a table stack": (
        TABLES,
        "HF507",
        put("AWS::IAM::Role", ManagedPolicyArns=["arn:aws:iam::aws:policy/AdministratorAccess"]),
    ),
    "role for a stranger": (TABLES, "HF507", trust(AWS=ROOT)),
    "role for everybody": (TABLES, "HF507", trust(AWS="*")),
    "role for another company's service": (TABLES, "HF507", trust(Service="evil.example.com")),
    "role that deletes tables": (
        TABLES,
        "HF507",
        put(
            "AWS::IAM::Role",
            Policies=[
                {
                    "PolicyName": "x",
                    "PolicyDocument": {
                        "Statement": [{"Effect": "Allow", "Action": "dynamodb:DeleteTable", "Resource": "arn:x"}]
                    },
                }
            ],
        ),
    ),
    "policy of everything": (TABLES, "HF507", allow("AWS::IAM::ManagedPolicy", "PolicyDocument")),
    "policy of a group": (TABLES, "HF507", put("AWS::IAM::ManagedPolicy", Groups=["developers"])),
    "policy of an existing role": (TABLES, "HF507", put("AWS::IAM::ManagedPolicy", Roles=["their-role"])),
    "nested stack": (TABLES, "HF211", add("AWS::CloudFormation::Stack", TemplateURL="https://x")),
    "module": (TABLES, "HF211", add("Acme::Tables::Store::MODULE")),
    "macro": (TABLES, "HF211", lambda t: t.update(Transform=["Acme"])),
    "loop over resources": (
        STORES,
        "HF211",
        lambda t: t["Resources"].update({"Fn::ForEach::More": ["I", ["a"], {"T${I}": {"Type": TABLE}}]}),
    ),
    "include beside Properties": (TABLES, "HF211", lambda t: of(t, TABLE).update(INCLUDE)),
    "include in the outputs": (TABLES, "HF211", lambda t: t.update(Outputs=INCLUDE)),
    **{
        f"include in {name}": (TABLES, "HF211", include(name))
        for name in ("PointInTimeRecoverySpecification", "SSESpecification", "StreamSpecification")
    },
    "include in the key policy": (TABLES, "HF211", lambda t: of(t, KEY)["Properties"]["KeyPolicy"].update(INCLUDE)),
}


@pytest.mark.parametrize("name", WIDENED)
def test_what_no_list_had_is_heard_of(name: str, templates: dict[str, Json]) -> None:
    stack, rule, change = WIDENED[name]
    template = copy.deepcopy(templates[stack])
    change(template)
    assert rule in {id_ for id_, _ in failed(PLACES[stack], template)}


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("key disabled", "orders-production"),
        ("key given to another account", "orders-production"),
        ("table for another account", "orders-production"),
        ("items to Kinesis", "orders-production"),
        ("include in SSESpecification", "orders-production"),
        ("database with AssociatedRoles", "shop-live"),
    ],
)
def test_it_is_said_of_the_table_or_store_that_it_concerns(name: str, table: str, templates: dict[str, Json]) -> None:
    stack, rule, change = WIDENED[name]
    template = copy.deepcopy(templates[stack])
    change(template)
    assert (rule, table) in failed(PLACES[stack], template)


@pytest.mark.parametrize("stack", [TABLES, STORES])
def test_a_resource_of_any_other_type_is_heard_of_in_every_stack(stack: str, templates: dict[str, Json]) -> None:
    """One of each type that can reach, copy or delete data, and a custom resource."""
    placed, template = PLACES[stack], templates[stack]
    kinds = [*schemas(), "Custom::Anything", "AWS::CloudFormation::CustomResource", "Acme::StackResources::Type"]
    rogues = {f"Rogue{n}": {"Type": kind, "Properties": {}} for n, kind in enumerate(kinds)}
    places = heard(placed, template | {"Resources": template["Resources"] | rogues})
    unheard = {rogue["Type"] for id_, rogue in rogues.items() if f"{placed.id}#{id_}" not in places}
    assert unheard <= (OF_STORES if placed.stores else OF_TABLES)


def test_a_type_that_is_declared_with_its_reason_is_no_finding(templates: dict[str, Json]) -> None:
    placed, template = PLACES[TABLES], copy.deepcopy(templates[TABLES])
    add("AWS::SSM::Document", Content={})(template)
    assert failed(placed, template) == {("HF505", None)}
    extras = {"AWS::SSM::Document": "the runbook of the table"}
    assert failed(Placed(replace(placed.stack, extras=extras), placed.env), template) == set()


@pytest.mark.parametrize("extras", [{"AWS::SSM::Document": ""}, {"Document": "because"}])
def test_an_extra_needs_a_type_and_a_reason(extras: dict[str, str]) -> None:
    with pytest.raises(DeclarationError, match="needs a resource type and a reason"):
        Stack(id="S", system="s", owner="o", extras=extras)


# Other words for the same are no finding
SAME: dict[str, Change] = {
    "account root by Fn::Sub": lambda t: of(t, KEY)["Properties"]["KeyPolicy"]["Statement"][0].update(
        Principal={"AWS": {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:root"}}
    ),
    "account by its reference": lambda t: of(t, KEY)["Properties"]["KeyPolicy"]["Statement"][0].update(
        Principal={"AWS": OWN}
    ),
    "everybody of this account": allow(
        TOPIC,
        "PolicyDocument",
        Action="sns:Publish",
        Principal="*",
        Condition={"StringEquals": {"aws:SourceAccount": OWN}},
    ),
    "language extensions": lambda t: t.update(Transform="AWS::LanguageExtensions"),
}


@pytest.mark.parametrize("name", SAME)
def test_other_words_let_no_stranger_in_and_hide_nothing(name: str, templates: dict[str, Json]) -> None:
    template = copy.deepcopy(templates[TABLES])
    SAME[name](template)
    assert {rule for rule, _ in failed(PLACES[TABLES], template)}.isdisjoint({"HF009", "HF211", "HF505"})
