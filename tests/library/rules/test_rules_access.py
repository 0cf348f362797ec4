"""Who a resource policy admits: which conditions confine an open principal, and which only seem to."""

from __future__ import annotations

from typing import Any

import pytest
from declare import estate, table
from declare import stack as declared

from holdfast.cfn.template import StackSeen
from holdfast.rules.access import admits_own_only, judge_policy, open_statements
from holdfast.rules.subjects import Resource
from holdfast.verdict import Outcome

OWN, OTHER = "111111111111", "222222222222"
CONFINED: dict[str, dict[str, Any]] = {
    "its account": {"StringEquals": {"aws:SourceAccount": OWN}},
    "its account among others that are its own": {
        "StringLike": {"aws:PrincipalAccount": [OWN, f"arn:aws:iam::{OWN}:root"]}
    },
    "its organization": {"StringEquals": {"aws:PrincipalOrgID": "o-1234567890"}},
    "a caller of KMS": {"StringEquals": {"kms:CallerAccount": OWN}},
}
OPEN: dict[str, dict[str, Any]] = {
    "without a condition": {},
    "every account but one": {"StringNotEquals": {"aws:SourceAccount": OWN}},
    "every organization but one": {"StringNotLike": {"aws:PrincipalOrgID": "o-1234567890"}},
    "its account, if one is said": {"StringEqualsIfExists": {"aws:SourceAccount": OWN}},
    "its organization, if one is said": {"StringEqualsIfExists": {"aws:PrincipalOrgID": "o-1234567890"}},
    "all of no values": {"ForAllValues:StringEquals": {"aws:PrincipalOrgID": ["o-1234567890"]}},
    "that there is none": {"Null": {"aws:PrincipalOrgID": "true"}},
    "every organization": {"StringLike": {"aws:PrincipalOrgID": "*"}},
    "every account": {"StringLike": {"aws:SourceAccount": ["*"]}},
    "something else": {"StringEquals": {"aws:RequestedRegion": "eu-west-1"}},
    "not a condition": {"StringEquals": "aws:SourceAccount"},
}
MIXED = {"Service": "sns.amazonaws.com", "AWS": "*"}
PRINCIPALS: tuple[Any, ...] = ("*", {"AWS": "*"}, MIXED, {"AWS": [f"arn:aws:iam::{OWN}:root", "*"]})


def policy(principal: Any, condition: Any, effect: str = "Allow", action: str = "sns:Publish") -> dict[str, Any]:
    statement = {"Sid": "It", "Effect": effect, "Principal": principal, "Action": action, "Resource": "*"}
    return {"Statement": [statement | ({"Condition": condition} if condition else {})]}


@pytest.mark.parametrize("condition", CONFINED.values(), ids=CONFINED)
@pytest.mark.parametrize("principal", PRINCIPALS, ids=str)
def test_an_open_principal_that_a_condition_confines(principal: Any, condition: Any) -> None:
    found = policy(principal, condition)
    assert list(open_statements(found)) == []
    assert judge_policy(found, None, OWN).outcome is Outcome.PASS


@pytest.mark.parametrize("condition", OPEN.values(), ids=OPEN)
@pytest.mark.parametrize("principal", PRINCIPALS, ids=str)
def test_an_open_principal_that_no_condition_confines(principal: Any, condition: Any) -> None:
    found = policy(principal, condition)
    assert list(open_statements(found)) == ["It"]
    assert judge_policy(found, None, OWN).detail == "the policy admits every principal: It"
    assert list(open_statements(policy(principal, condition, effect="Deny"))) == []
    assert judge_policy(policy(principal, condition, effect="Deny"), None, OWN).outcome is Outcome.PASS


def test_another_account_is_admitted_by_no_condition_on_accounts() -> None:
    for condition in CONFINED.values():
        assert judge_policy(policy({"AWS": OTHER}, condition), None, OWN).outcome is Outcome.FAIL
    elsewhere = policy("*", {"StringEquals": {"aws:SourceAccount": [OWN, OTHER]}})
    assert judge_policy(elsewhere, None, OWN).outcome is Outcome.FAIL


def test_a_statement_of_everybody_but_some() -> None:
    statement = {"Effect": "Allow", "NotPrincipal": {"AWS": OWN}, "Action": "kms:Decrypt", "Resource": "*"}
    assert list(open_statements({"Statement": statement})) == ['"kms:Decrypt"']
    assert judge_policy({"Statement": statement}, None, OWN).outcome is Outcome.FAIL


VIA = "kms:ViaService"


@pytest.mark.parametrize(
    ("condition", "outcome"),
    [
        ({"StringEquals": {VIA: "dynamodb.eu-west-1.amazonaws.com"}}, Outcome.PASS),
        ({"StringLike": {VIA: "dynamodb.*.amazonaws.com"}}, Outcome.PASS),
        ({"StringNotEquals": {VIA: "s3.eu-west-1.amazonaws.com"}}, Outcome.FAIL),
        ({"StringEqualsIfExists": {VIA: "dynamodb.eu-west-1.amazonaws.com"}}, Outcome.FAIL),
        ({"ForAllValues:StringEquals": {VIA: ["dynamodb.eu-west-1.amazonaws.com"]}}, Outcome.FAIL),
        ({"Null": {VIA: "true"}}, Outcome.FAIL),
        ({}, Outcome.FAIL),
    ],
)
def test_a_key_is_used_through_the_services_that_hold_the_data(condition: Any, outcome: Outcome) -> None:
    assert judge_policy(policy({"AWS": OWN}, condition, action="kms:Decrypt"), None, OWN).outcome is outcome
    assert judge_policy(policy({"AWS": OWN}, condition, action="kms:DescribeKey"), None, OWN).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("condition", "outcome"),
    [
        ({"StringEquals": {"aws:SourceAccount": OWN}}, Outcome.PASS),
        ({"StringEquals": {"kms:EncryptionContext:aws:logs:arn": "x"}}, Outcome.PASS),
        ({"StringEquals": {"aws:SourceAccount": OWN, "aws:RequestedRegion": "eu-west-1"}}, Outcome.PASS),
        ({"StringEquals": {"aws:RequestedRegion": "eu-west-1"}}, Outcome.FAIL),
        ({}, Outcome.FAIL),
    ],
)
def test_a_service_uses_a_key_for_what_a_condition_names(condition: Any, outcome: Outcome) -> None:
    service = policy({"Service": "logs.eu-west-1.amazonaws.com"}, condition, action="kms:Decrypt")
    assert judge_policy(service, None, OWN).outcome is outcome


def test_one_of_several_conditions_confines() -> None:
    both = {"StringEquals": {"aws:RequestedRegion": "eu-west-1", "aws:SourceAccount": OWN}}
    assert judge_policy(policy("*", both), None, OWN).outcome is Outcome.PASS
    assert list(open_statements(policy("*", both))) == []


RULE = {"Fn::Sub": "arn:aws:events:eu-west-1:${AWS::AccountId}:rule/x"}
EVENTS = "events.amazonaws.com"


@pytest.mark.parametrize(
    ("properties", "outcome"),
    [
        ({"Principal": EVENTS, "SourceArn": RULE}, Outcome.PASS),
        ({"Principal": EVENTS, "SourceAccount": {"Ref": "AWS::AccountId"}}, Outcome.PASS),
        ({"Principal": {"Ref": "AWS::AccountId"}}, Outcome.PASS),
        ({"Principal": EVENTS}, Outcome.FAIL),
        ({"Principal": EVENTS, "SourceArn": f"arn:aws:events:eu-west-1:{OTHER}:rule/x"}, Outcome.FAIL),
        ({"Principal": EVENTS, "SourceArn": RULE, "SourceAccount": OTHER}, Outcome.FAIL),
        ({"Principal": OTHER}, Outcome.FAIL),
        ({"Principal": "*"}, Outcome.FAIL),
        ({"Principal": {"Fn::ImportValue": "who"}}, Outcome.UNKNOWN),
        ({"Principal": {"Ref": "AWS::AccountId"}, "FunctionUrlAuthType": "NONE"}, Outcome.FAIL),
    ],
)
def test_who_may_call_a_function(properties: dict[str, Any], outcome: Outcome) -> None:
    template = {"Resources": {"P": {"Type": "AWS::Lambda::Permission", "Properties": properties}}}
    stack = StackSeen(id="S", where="S", template=template, name="S", region="eu-west-1")
    placed = estate(declared(table())).placements()[0]
    said = admits_own_only(Resource(placed, stack, "P"))
    assert said.outcome is outcome
    assert "the rule itself failed" not in said.detail


@pytest.mark.parametrize(
    "principal", [{"Ref": "P"}, {"Fn::If": ["C", "*", OWN]}, {"AWS": {"Fn::ImportValue": "role"}}, 7]
)
def test_a_principal_that_is_decided_at_deploy_time_is_unknown(principal: Any) -> None:
    assert judge_policy(policy(principal, {}), None, OWN).outcome is Outcome.UNKNOWN
    assert judge_policy({"Statement": ["later"]}, None, OWN).outcome is Outcome.UNKNOWN
