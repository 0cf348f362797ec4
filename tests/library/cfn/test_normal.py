"""One spelling for what CloudFormation takes as the same, and another for whatever it does not."""

from __future__ import annotations

from typing import Any

import pytest
from support import Json

from holdfast.cfn import normal
from holdfast.cfn.conditions import decide
from holdfast.unknown import Unknown

TABLE = "AWS::DynamoDB::Table"


def resources(*conditions: tuple[str, Any], **found: Json) -> Json:
    made: Json = normal.template({"Conditions": dict(conditions), "Resources": found})
    return dict(made.get("Resources", {}))


def test_what_a_resource_depends_on_is_a_set_of_names() -> None:
    spellings = (["B", "A"], ["A", "B", "A"])
    assert [resources(X={"Type": "T", "DependsOn": on}) for on in spellings] == [
        {"X": {"Type": "T", "DependsOn": ["A", "B"]}}
    ] * 2
    assert resources(X={"Type": "T", "DependsOn": "A"}) == {"X": {"Type": "T", "DependsOn": ["A"]}}


def test_a_condition_that_is_decided_keeps_or_leaves_out() -> None:
    on, off = ("On", {"Fn::Equals": ["a", "a"]}), ("Off", {"Fn::Equals": ["a", "b"]})
    open_ = ("Open", {"Fn::Equals": [{"Ref": "P"}, "b"]})
    found = {name: {"Type": "T", "Condition": name} for name, _ in (on, off, open_)}
    assert resources(on, off, open_, **found) == {"On": {"Type": "T"}, "Open": found["Open"]}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"Fn::Equals": ["true", True]}, True),
        ({"Fn::Equals": [1, "1"]}, True),
        ({"Fn::Equals": ["a", {"Ref": "P"}]}, None),
        ({"Fn::Equals": ["a"]}, None),
        ({"Fn::Not": [{"Condition": "Yes"}]}, False),
        ({"Fn::Not": [{"Condition": "Open"}]}, None),
        ({"Fn::Not": [{"Condition": "Yes"}, {"Condition": "Yes"}]}, None),
        ({"Fn::And": [{"Condition": "Yes"}, {"Condition": "Yes"}]}, True),
        ({"Fn::And": [{"Condition": "Open"}, {"Fn::Not": [{"Condition": "Yes"}]}]}, False),
        ({"Fn::And": [{"Condition": "Open"}, {"Condition": "Yes"}]}, None),
        ({"Fn::Or": [{"Condition": "Open"}, {"Condition": "Yes"}]}, True),
        ({"Fn::Or": [{"Condition": "Open"}, {"Fn::Not": [{"Condition": "Yes"}]}]}, None),
        ({"Fn::Or": []}, None),
        ({"Condition": "X"}, None),
        ({"Condition": "Nowhere"}, None),
        ({"Fn::Contains": [["a"], "a"]}, None),
        ("Yes", None),
    ],
)
def test_a_condition_holds_as_far_as_it_is_decided(condition: Any, holds: bool | None) -> None:
    known: dict[str, bool | Unknown] = {}
    declared = {"X": condition, "Yes": {"Fn::Equals": ["a", "a"]}, "Open": {"Fn::Equals": ["a", {"Ref": "P"}]}}
    decide(declared, lambda value: value, known)
    found = known.get("X", Unknown("it refers to itself"))
    assert isinstance(found, Unknown) if holds is None else found is holds


def test_only_the_analytics_that_nothing_needs_are_left_out() -> None:
    analytics = {"Type": "AWS::CDK::Metadata"}
    assert resources(A=analytics, X={"Type": "T"}) == {"X": {"Type": "T"}}
    assert resources(A=analytics | {"DependsOn": "X"}, X={"Type": "T"}).keys() == {"A", "X"}
    assert resources(A=analytics, X={"Type": "T", "Properties": {"Of": {"Ref": "A"}}}).keys() == {"A", "X"}


def test_only_the_rule_that_cdk_writes_is_left_out() -> None:
    rule = {"Assertions": [{"Assert": {"Fn::Not": [{"Fn::Contains": [["1"], {"Ref": "BootstrapVersion"}]}]}}]}
    parameter = {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/cdk-bootstrap/x/version"}
    template = {"Parameters": {"BootstrapVersion": parameter}, "Rules": {"CheckBootstrapVersion": rule}}
    assert normal.template(template) == {}
    own = rule | {"RuleCondition": {"Fn::Equals": ["a", "b"]}}
    assert normal.template(template | {"Rules": {"CheckBootstrapVersion": own}}).keys() == {"Parameters", "Rules"}


def test_a_join_puts_its_text_between_its_parts() -> None:
    assert normal.value({"Fn::Join": [",", ["a", "b"]]}) == "a,b"
    assert normal.value({"Fn::Join": [",", [{"Ref": "X"}, "b"]]}) == {"Fn::Join": ["", [{"Ref": "X"}, ",b"]]}
    assert normal.value({"Fn::Join": [",", [{"Ref": "AWS::NoValue"}, "b"]]}) == "b"


def test_tags_are_a_map_where_no_key_stands_twice() -> None:
    one, other = {"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}
    assert normal.value({"Tags": [one]}, TABLE) == {"Tags": {"a": "1"}}
    assert normal.value({"Tags": [other, one]}, TABLE) == {"Tags": [one, other]}


@pytest.mark.parametrize(("index", "found"), [(0, "a"), ("1", "b"), (2, None), (-1, None), (True, None)])
def test_select_takes_what_is_there(index: Any, found: str | None) -> None:
    made = normal.value({"Fn::Select": [index, ["a", "b"]]})
    assert made == (found if found is not None else {"Fn::Select": [index, ["a", "b"]]})
