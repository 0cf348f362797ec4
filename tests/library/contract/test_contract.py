"""The contract: one spelling for what is the same, every difference told, and what it means for the data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from contract_mutants import put
from hypothesis import given
from hypothesis import strategies as st
from shop_synth import Contracts, accepted_texts
from support import Json

from holdfast.cfn import normal
from holdfast.cfn.compare import ABSENT, differences
from holdfast.contract import files, make, text
from holdfast.contract.assets import digest
from holdfast.contract.diff import SERIOUS, Change, Kind, diff
from holdfast.contract.guards import store_name
from holdfast.contract.refused import unacceptable
from holdfast.report.changes import as_json

CONTRACTS = Contracts()
ORDERS, ORDERS_TABLE = "Orders-production", "orders-production"


def changed(stack: str, path: tuple[Any, ...], value: Any) -> list[Change]:
    return diff(CONTRACTS, {**CONTRACTS, stack: put(CONTRACTS[stack], path, value)})


def find(stack: str, name: str) -> tuple[str, ...]:
    """The path of a store's resource."""
    resources = CONTRACTS[stack]["template"]["Resources"]
    (logical_id,) = [k for k, r in resources.items() if store_name(r) == name]
    return ("template", "Resources", logical_id)


# Normal form


@pytest.mark.parametrize("stack", CONTRACTS)
def test_a_contract_is_in_normal_form_and_written_as_it_is_read(stack: str) -> None:
    assert make.brought_up(CONTRACTS[stack]) == CONTRACTS[stack]
    assert files.text(CONTRACTS[stack]) == accepted_texts()[stack]
    assert diff(CONTRACTS, dict(reversed(list(CONTRACTS.items())))) == []


def trusting(principal: Any) -> Json:
    return {"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": principal}}]}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"Fn::GetAtt": "Key.Arn"}, {"Fn::GetAtt": ["Key", "Arn"]}),
        ({"Fn::Sub": "${Key.Arn}"}, {"Fn::GetAtt": ["Key", "Arn"]}),
        ({"Fn::Sub": "plain"}, "plain"),
        ({"Fn::Sub": "a-${AWS::Region}"}, {"Fn::Join": ["", ["a-", {"Ref": "AWS::Region"}]]}),
        ({"Fn::Sub": ["a-${X}", {"X": "b"}]}, "a-b"),
        ({"Fn::Sub": "${!Literal}"}, "${Literal}"),
        ({"Fn::Join": ["-", ["a", {"Ref": "B"}]]}, {"Fn::Join": ["", ["a-", {"Ref": "B"}]]}),
        ({"Fn::Join": ["", ["a", {"Fn::Join": ["", ["b", {"Ref": "C"}]]}]]}, {"Fn::Sub": "ab${C}"}),
        ({"A": {"Ref": "AWS::NoValue"}, "B": 1}, {"B": 1}),
        (
            [{"Key": "b", "Value": "2"}, {"Key": "a", "Value": "1"}],
            [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}],
        ),
        ('{"a": [1,  2]}', '{"a":[1,2]}'),
        (
            {"Fn::Join": ["", ['{"region":"', {"Ref": "AWS::Region"}, '","n":1}']]},
            {"Fn::Sub": '{"n": 1, "region": "${AWS::Region}"}'},
        ),
        (
            {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"}},
            {"Statement": [{"Resource": ["*"], "Action": ["s3:Get*"], "Effect": "Allow"}], "Version": "2012-10-17"},
        ),
        (trusting("123456789012"), trusting("arn:aws:iam::123456789012:root")),
        (trusting({"Ref": "AWS::AccountId"}), trusting({"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:root"})),
        (
            trusting({"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:root"}),
            trusting({"Fn::Join": ["", ["arn:aws:iam::", {"Ref": "AWS::AccountId"}, ":root"]]}),
        ),
        ({"Fn::Join": ["", ['{"a":', "1}"]]}, '{"a": 1}'),
        ({"Fn::Select": ["1", ["a", "b"]]}, "b"),
        ({"Fn::Select": ["0", {"Fn::GetAZs": {"Ref": "AWS::Region"}}]}, {"Fn::Select": [0, {"Fn::GetAZs": ""}]}),
    ],
    ids=lambda v: json.dumps(v)[:40],
)
def test_other_spellings_of_the_same_are_the_same(one: Any, other: Any) -> None:
    assert normal.value(one) == normal.value(other)


INDEXES = [{"IndexName": n, "KeySchema": [{"AttributeName": n, "KeyType": "HASH"}]} for n in ("a", "b")]
POLICY: Json = {"Statement": {"Effect": "Allow", "Principal": "*", "Action": "*"}, "Version": "2012-10-17"}
SCHEMA = [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}]


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ({"DeletionProtectionEnabled": "true"}, {"DeletionProtectionEnabled": True}, True),
        ({"DeletionProtectionEnabled": "true"}, {"DeletionProtectionEnabled": False}, False),
        (
            {"PointInTimeRecoverySpecification": {"RecoveryPeriodInDays": "35"}},
            {"PointInTimeRecoverySpecification": {"RecoveryPeriodInDays": 35}},
            True,
        ),
        ({"TableName": 7}, {"TableName": "7"}, True),
        ({"GlobalSecondaryIndexes": INDEXES}, {"GlobalSecondaryIndexes": INDEXES[::-1]}, True),
        ({"GlobalSecondaryIndexes": INDEXES}, {"GlobalSecondaryIndexes": INDEXES[:1]}, False),
        ({"KeySchema": SCHEMA}, {"KeySchema": SCHEMA[::-1]}, False),
        ({"DeletionProtectionEnabled": {"Fn::Sub": "true"}}, {"DeletionProtectionEnabled": True}, True),
        (
            {"DeletionProtectionEnabled": {"Fn::If": ["C", "true", "false"]}},
            {"DeletionProtectionEnabled": {"Fn::If": ["C", True, False]}},
            True,
        ),
        (
            {"ResourcePolicy": {"PolicyDocument": POLICY}},
            {"ResourcePolicy": {"PolicyDocument": json.dumps(POLICY, indent=2)}},
            True,
        ),
        ({"ResourcePolicy": {"PolicyDocument": {"a": 1}}}, {"ResourcePolicy": {"PolicyDocument": {"a": "1"}}}, False),
    ],
)
def test_order_and_scalars_count_as_the_type_of_the_resource_says(one: Json, other: Json, alike: bool) -> None:
    kind = "AWS::DynamoDB::Table"
    assert (not list(differences(normal.value(one, kind), normal.value(other, kind)))) == alike


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": None}, {}),
        ({"a": 1}, {"a": True}),
        ({"a": "1"}, {"a": 1}),
        ([{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}], [{"Key": "a", "Value": "2"}]),
        ({"Fn::GetAtt": ["A", "Arn"]}, {"Ref": "A"}),
        ('{"a": 1, "a": 2}', '{"a": 2}'),
        ({"Statement": [{"Effect": "Allow"}]}, {"Statement": [{"Effect": "Deny"}]}),
        (trusting("123456789012"), trusting("arn:aws:iam::123456789012:role/root")),
        (trusting("123456789012"), trusting("arn:aws-cn:iam::123456789012:root")),
        ({"Fn::If": ["C", "a", {"Ref": "AWS::NoValue"}]}, {"Fn::If": ["C", {"Ref": "AWS::NoValue"}, "a"]}),
        ('{"a": {"Ref": "AWS::NoValue"}}', '{"a": {}}'),
        ('{"Fn::Sub": "x"}', {"Fn::ToJsonString": "x"}),
        ({"Fn::Join": ["", ['{"', {"Ref": "A"}, '": 1}']]}, {"Fn::Join": ["", ['{"', {"Ref": "B"}, '": 1}']]}),
        ({"a": [{"Key": "a", "Value": "1"}]}, {"a": {"a": "1"}}),
        ({"a": ["x", "y"]}, {"a": ["y", "x"]}),
        ({"Fn::FindInMap": ["M", "a", "b"]}, {"Fn::FindInMap": ["M", "a", "c"]}),
    ],
    ids=lambda v: json.dumps(v)[:40],
)
def test_what_is_not_the_same_is_told(one: Any, other: Any) -> None:
    assert list(differences(normal.value(one), normal.value(other)))


def test_what_has_no_effect_is_left_out_and_what_refers_to_it_keeps_it() -> None:
    parameter = {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/cdk-bootstrap/hnb659fds/version"}
    outdated = {"Fn::Contains": [["1", "2", "3", "4", "5"], {"Ref": "BootstrapVersion"}]}
    rule = {"Assertions": [{"Assert": {"Fn::Not": [outdated]}, "AssertDescription": "CDK bootstrap stack …"}]}
    own: Json = {
        "Description": "words",
        "Parameters": {"BootstrapVersion": parameter, "Unused": {"Type": "String"}},
        "Rules": {"CheckBootstrapVersion": rule},
        "Conditions": {"Yes": {"Fn::Equals": ["a", "a"]}, "Later": {"Fn::Equals": [{"Ref": "P"}, "x"]}},
        "Mappings": {"M": {"a": {"b": "c"}}},
    }
    queue = {"Type": "AWS::SQS::Queue", "Condition": "Yes", "Metadata": {"aws:cdk:path": "x"}, "Properties": {}}
    other = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Fn::If": ["Yes", "yes", "no"]}}}
    assert normal.template({**own, "Resources": {"B": other, "A": queue}}) == {
        "Resources": {
            "A": {"Type": "AWS::SQS::Queue"},
            "B": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "yes"}},
        }
    }
    uses = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Ref": "BootstrapVersion"}}}
    assert "BootstrapVersion" in normal.template({**own, "Resources": {"A": uses}})["Parameters"]
    gone = {"Type": "AWS::SQS::Queue", "Condition": "No"}
    never = {"Conditions": {"No": {"Fn::Not": [{"Fn::Equals": [1, "1"]}]}}, "Resources": {"A": gone}}
    assert normal.template(never) == {}
    decided = {"Conditions": own["Conditions"], "Resources": {"A": {"Type": "AWS::SQS::Queue"}}}
    outputs: Json = {"Yes": {"Value": "x", "Condition": "Yes"}, "Later": {"Value": "y", "Condition": "Later"}}
    both = {"Both": {"Fn::And": [{"Condition": "Yes"}, {"Condition": "Later"}]}}
    made = normal.template({**decided, "Conditions": {**own["Conditions"], **both}, "Outputs": outputs})
    assert (made["Outputs"], list(made["Conditions"])) == (
        {"Yes": {"Value": "x"}, "Later": outputs["Later"]},
        ["Later"],
    )
    used = normal.template(
        {**decided, "Conditions": {**own["Conditions"], **both}, "Outputs": {"A": {"Condition": "Both"}}}
    )
    assert list(used["Conditions"]) == ["Both", "Later", "Yes"]  # whatever is named is kept, decided or not
    loop = {"Fn::ForEach::X": ["N", ["Unused"], {"${N}": {"Type": "T"}}]}
    assert "Unused" in normal.template({**own, "Resources": loop})["Parameters"]
    init = {"Type": "AWS::SQS::Queue", "Metadata": {"AWS::CloudFormation::Init": {"a": 1}, "aws:cdk:path": "x"}}
    assert normal.template({"Resources": {"A": init}})["Resources"]["A"]["Metadata"] == {
        "AWS::CloudFormation::Init": {"a": 1}
    }


# What a change means


@pytest.mark.parametrize(
    ("inside", "value", "says"),
    [
        (("Properties", "DeletionProtectionEnabled"), False, "deletion protection is lost"),
        (("Properties", "DeletionProtectionEnabled"), ABSENT, "deletion protection is lost"),
        (("Properties", "DeletionProtectionEnabled"), {"Ref": "P"}, "deletion protection is lost"),
        (("DeletionPolicy",), "Delete", "retained (DeletionPolicy) is lost"),
        (("UpdateReplacePolicy",), ABSENT, "retained (UpdateReplacePolicy) is lost"),
        (("Properties", "PointInTimeRecoverySpecification"), ABSENT, "point-in-time recovery is lost"),
        (
            ("Properties", "PointInTimeRecoverySpecification", "RecoveryPeriodInDays"),
            7,
            "recovery period is lowered",
        ),
        (("Properties", "SSESpecification"), ABSENT, "customer-managed key is lost"),
        (("Properties", "SSESpecification", "KMSMasterKeyId"), ABSENT, "customer-managed key is lost"),
        (
            ("Properties", "TimeToLiveSpecification"),
            {"AttributeName": "createdAt", "Enabled": True},
            "TTL is added: items are deleted by createdAt",
        ),
        (("Properties", "Tags", "shop:lifetime"), "transient", "lifetime is lowered"),
        (("Properties", "Tags", "shop:data"), "operational", "data class is lowered"),
    ],
)
def test_a_lost_guard_of_a_table_is_weakened(inside: tuple[str, ...], value: Any, says: str) -> None:
    found = changed(ORDERS, (*find(ORDERS, ORDERS_TABLE), *inside), value)
    weakened = [c for c in found if c.kind is Kind.WEAKENED]
    assert says in [c.says for c in weakened]
    assert {c.store for c in weakened} == {ORDERS_TABLE}


def test_a_guard_that_comes_back_is_not_weakened() -> None:
    path = (*find(ORDERS, ORDERS_TABLE), "Properties", "DeletionProtectionEnabled")
    off = {**CONTRACTS, ORDERS: put(CONTRACTS[ORDERS], path, False)}
    assert [c.kind for c in diff(off, CONTRACTS)] == [Kind.CHANGED]
    assert not SERIOUS & {c.kind for c in diff(off, CONTRACTS)}


def test_termination_protection_removal_rename_and_replacement() -> None:
    (lost,) = changed(ORDERS, ("stack", "terminationProtection"), ABSENT)
    assert (lost.kind, lost.says) == (Kind.WEAKENED, "termination protection is lost")
    path = find(ORDERS, ORDERS_TABLE)
    gone = next(c for c in changed(ORDERS, path, ABSENT) if c.resource == path[2])
    assert (gone.kind, gone.store) == (Kind.REMOVED, ORDERS_TABLE)
    assert gone.says.endswith("its data stays behind, in no stack")
    stack, *stores = diff(CONTRACTS, {k: v for k, v in CONTRACTS.items() if k != ORDERS})
    assert (stack.kind, ORDERS_TABLE in stack.says) == (Kind.REMOVED, True)
    assert ORDERS_TABLE in {c.store for c in stores if c.kind is Kind.REMOVED}
    moved = json.loads(json.dumps(CONTRACTS[ORDERS]).replace('"Key"', '"Key2"'))
    found = diff(CONTRACTS, {**CONTRACTS, ORDERS: moved})
    assert [(c.kind, c.resource, c.before) for c in found] == [(Kind.REPLACED, "Key2", "Key")]


@pytest.mark.parametrize(
    ("stack", "kind", "name"),
    [
        ("Stores-live", "AWS::RDS::DBInstance", "DBName"),
        ("Stores-live", "AWS::RDS::DBInstance", "MasterUsername"),
        ("Newsletter-live", "AWS::DynamoDB::Table", "TableName"),
        ("Stores-live", "AWS::S3::Bucket", "BucketName"),
    ],
)
def test_what_cannot_be_changed_in_place_is_replaced(stack: str, kind: str, name: str) -> None:
    resources = CONTRACTS[stack]["template"]["Resources"]
    logical_id = next(k for k, r in resources.items() if r["Type"] == kind)
    found = changed(stack, ("template", "Resources", logical_id, "Properties", name), "another")
    assert (Kind.REPLACED, logical_id) in {(c.kind, c.resource) for c in found}


STATEMENT = {"Effect": "Allow", "Principal": {"AWS": ["a"]}, "Action": ["s3:Get"], "Resource": ["x"], "Sid": "S"}
DENY = {"Effect": "Deny", "Principal": "*", "Action": ["s3:*"], "Resource": ["x"]}


def policy(*statements: Json) -> Json:
    document = {"Version": "2012-10-17", "Statement": list(statements)}
    resource = {"Type": "AWS::S3::BucketPolicy", "Properties": {"PolicyDocument": document}}
    return {"S": {"version": 1, "stack": {}, "template": normal.template({"Resources": {"P": resource}})}}


@pytest.mark.parametrize(
    ("before", "after", "weaker"),
    [
        ((STATEMENT,), ({**STATEMENT, "Sid": "Other"},), False),
        ((STATEMENT,), ({**STATEMENT, "Action": ["s3:Get", "s3:Put"]},), True),
        (({**STATEMENT, "Action": ["s3:Get", "s3:Put"]},), (STATEMENT,), False),
        ((STATEMENT,), ({**STATEMENT, "Principal": {"AWS": ["a", "b"]}},), True),
        ((STATEMENT,), ({**STATEMENT, "Principal": "*"},), True),
        ((STATEMENT,), ({**STATEMENT, "Resource": ["x", "y"]},), True),
        ((STATEMENT,), ({**STATEMENT, "Condition": {"Bool": {"a": "true"}}},), False),
        (({**STATEMENT, "Condition": {"Bool": {"a": "true"}}},), (STATEMENT,), True),
        ((STATEMENT,), (STATEMENT, {**STATEMENT, "Action": ["s3:Delete"], "Sid": "T"}), True),
        ((STATEMENT, DENY), (STATEMENT,), True),
        ((STATEMENT,), (STATEMENT, DENY), False),
        ((STATEMENT, DENY), (STATEMENT, {**DENY, "Condition": {"Bool": {"a": "true"}}}), True),
        ((STATEMENT, DENY), (DENY, STATEMENT), None),
    ],
)
def test_a_policy_that_lets_more_in_is_weakened(before: Any, after: Any, weaker: bool | None) -> None:
    found = diff(policy(*before), policy(*after))
    assert (bool(found), any(c.kind is Kind.WEAKENED for c in found)) == (weaker is not None, bool(weaker))


ON = st.sampled_from([True, False, None, {"Ref": "P"}])
TABLES = st.fixed_dictionaries(
    {
        "DeletionProtectionEnabled": ON,
        "RecoveryPeriodInDays": st.sampled_from([None, 1, 7, 35]),
        "KMSMasterKeyId": st.sampled_from([None, "alias/x"]),
        "DeletionPolicy": st.sampled_from([None, "Delete", "Retain"]),
        "ttl": st.sampled_from([None, "ttl", "expires"]),
        "Lifetime": st.sampled_from(["durable", "transient"]),
        "DataClass": st.sampled_from(["personal", "operational"]),
    }
)


def table(facts: Json) -> dict[str, Json]:
    tags = {name: facts[name] for name in ("Lifetime", "DataClass")}
    properties: Json = {"TableName": "t", "Tags": [{"Key": k, "Value": v} for k, v in tags.items()]}
    if facts["DeletionProtectionEnabled"] is not None:
        properties["DeletionProtectionEnabled"] = facts["DeletionProtectionEnabled"]
    if days := facts["RecoveryPeriodInDays"]:
        recovery = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": days}
        properties["PointInTimeRecoverySpecification"] = recovery
    if key := facts["KMSMasterKeyId"]:
        properties["SSESpecification"] = {"SSEEnabled": True, "KMSMasterKeyId": key}
    if facts["ttl"]:
        properties["TimeToLiveSpecification"] = {"AttributeName": facts["ttl"], "Enabled": True}
    resource: Json = {"Type": "AWS::DynamoDB::Table", "Properties": properties}
    if facts["DeletionPolicy"]:
        resource["DeletionPolicy"] = facts["DeletionPolicy"]
    return {"S": {"version": 1, "stack": {}, "template": normal.template({"Resources": {"T": resource}})}}


@given(TABLES, TABLES)
def test_a_guard_is_weakened_exactly_when_it_was_read_before_and_is_not_now(base: Json, head: Json) -> None:
    """An independent reading of the same facts, beside the one that diff uses."""
    lost = any(
        (
            base["DeletionProtectionEnabled"] is True and head["DeletionProtectionEnabled"] is not True,
            (base["RecoveryPeriodInDays"] or 0) > (head["RecoveryPeriodInDays"] or 0),
            base["KMSMasterKeyId"] is not None and head["KMSMasterKeyId"] is None,
            base["DeletionPolicy"] == "Retain" and head["DeletionPolicy"] != "Retain",
            base["ttl"] != head["ttl"],
            base["Lifetime"] == "durable" and head["Lifetime"] == "transient",
            base["DataClass"] == "personal" and head["DataClass"] == "operational",
        )
    )
    found = diff(table(base), table(head))
    assert any(c.kind is Kind.WEAKENED for c in found) == lost
    assert bool(found) == (base != head)


@pytest.mark.parametrize(
    "value", ["${Token[AWS.AccountId.0]}", "dummy-value-for-/x", "AKIAIOSFODNN7EXAMPLE", "-----BEGIN PRIVATE KEY-----"]
)
def test_what_is_undecided_or_secret_cannot_be_accepted(value: str) -> None:
    resource = {"Type": "AWS::SSM::Parameter", "Properties": {"Value": value}}
    assert list(unacceptable({"template": {"Resources": {"P": resource}}}))
    assert all(not list(unacceptable(c)) for c in CONTRACTS.values())


def test_secrets_and_long_values_are_not_shown() -> None:
    path = ("Properties", "Environment", "Variables", "TOKEN")
    secret = Change(kind=Kind.CHANGED, stack="S", resource="F", path=path, before="old-secret", after="new-secret")
    for shown in (text.text([secret], "x"), text.markdown([secret], "x"), as_json([secret], "x")):
        assert "secret" not in shown
    long = Change(kind=Kind.CHANGED, stack="S", resource="F", path=("a",), before="y" * 500, after="\x1b[2J\u202e")
    assert len(max(text.text([long], "x").splitlines(), key=len)) < 250
    assert not {"\x1b", "\u202e"} & set(text.text([long], "x") + text.markdown([long], "x"))


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("AWS::ECS::TaskDefinition", "Properties/ContainerDefinitions/0/Environment/0/Value", "hidden"),
        ("AWS::ECS::TaskDefinition", "Properties/ContainerDefinitions/0/Command", ["hidden"]),
        ("AWS::ECS::TaskDefinition", "Properties/ContainerDefinitions/0", {"Environment": [{"Value": "hidden"}]}),
        ("AWS::ECS::TaskDefinition", "Properties/ContainerDefinitions/0", {"Command": ["hidden"]}),
        ("AWS::SSM::Parameter", "Properties/Value", "hidden"),
        ("AWS::RDS::DBInstance", "Properties", {"MasterUserPassword": "hidden"}),
        ("AWS::IAM::User", "Properties/LoginProfile", {"Password": "hidden"}),
        ("", "template/Outputs/X/Value", "hidden"),
        ("", "template/Outputs/X", {"Value": "hidden"}),
        ("", "stack/parameters/X", "hidden"),
    ],
)
def test_what_may_be_secret_is_not_shown_in_any_shape(kind: str, path: str, value: Any) -> None:
    steps = tuple(path.split("/"))
    change = Change(kind=Kind.CHANGED, stack="S", resource="F", type=kind, path=steps, before=ABSENT, after=value)
    for told in (text.text([change], "x"), text.markdown([change], "x"), as_json([change], "x")):
        assert "hidden" not in told


@pytest.mark.parametrize("path", ["stack/tags/Environment", "Properties/Tags/Environment", "Properties/QueueName"])
def test_what_is_not_secret_is_shown(path: str) -> None:
    change = Change(kind=Kind.CHANGED, stack="S", type="AWS::SQS::Queue", path=tuple(path.split("/")), after="seen")
    assert "seen" in text.text([change], "x")


def test_code_is_what_the_files_hold(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    first = digest(tmp_path)
    (tmp_path / "a.py").chmod(0o755)
    runs = digest(tmp_path)
    (tmp_path / "b.py").symlink_to("a.py")
    linked = digest(tmp_path)
    assert len({first, runs, linked}) == 3
    (tmp_path / "p.dist-info").mkdir()
    (tmp_path / "p.dist-info" / "RECORD").write_text("how it was installed")
    assert digest(tmp_path) == linked
