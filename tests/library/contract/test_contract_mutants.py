"""Whatever is changed in a contract is told, and with the store that it concerns; whatever is the same is silent."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pytest
from contract_mutants import Mutant, concerned, mutants, nodes, put, stores
from hypothesis import given, settings
from hypothesis import strategies as st
from respelled import respelled
from shop_synth import Contracts
from support import Json

from holdfast.cfn import facts, normal
from holdfast.cfn.compare import ABSENT
from holdfast.contract import files, make
from holdfast.contract.diff import Change, Kind, diff
from holdfast.errors import InputError

CONTRACTS = Contracts()
TYPES = (*sorted(facts._file()), "Custom::Anything", "Somebody::Private::Type", "Team::Tables::Store::MODULE")

MOST = 200  # mutants of one resource: a dashboard has thousands of leaves that are alike


def resources(stack: str) -> Json:
    found: Json = CONTRACTS[stack]["template"]["Resources"]
    return found


def told(stack: str, before: Json, after: Json, beside: Json | None = None) -> list[Change]:
    """What ``diff`` says of a stack of these resources alone; what comes after goes through the normal form."""
    made = normal.template({"Resources": after}).get("Resources", {})
    base, head = ({**CONTRACTS[stack], "template": {"Resources": {**(beside or {}), **r}}} for r in (before, made))
    return diff({stack: base}, {stack: head})


def survivors(stack: str, logical_id: str, of: Iterator[Mutant], beside: Json) -> list[tuple[str, Mutant]]:
    """Mutants of a resource that nothing tells, or that are not told with the store that it concerns."""
    resource = resources(stack)[logical_id]
    store = concerned(resource, stores(resources(stack)))
    found = []
    for mutant in of:
        changed = put(resource, mutant.path, mutant.value)
        changes = told(stack, {logical_id: resource}, {logical_id: changed}, beside)
        if not changes:
            found.append((f"{stack} {logical_id}: untold", mutant))
        elif store and store not in {c.store for c in changes}:
            found.append((f"{stack} {logical_id}: not told of {store}", mutant))
    return found


def shapes() -> Iterator[tuple[str, str]]:
    """One resource of each type and set of properties: its mutants are like those of the others."""
    seen = set()
    for stack in CONTRACTS:
        for logical_id, resource in resources(stack).items():
            places = {tuple("*" if isinstance(step, int) else step for step in path) for path, _ in nodes(resource)}
            shape = (resource["Type"], frozenset(places))
            if shape not in seen:
                seen.add(shape)
                yield stack, logical_id


def test_each_property_of_each_shape_of_resource() -> None:
    found = []
    for stack, logical_id in shapes():
        about = stores(resources(stack))
        store = concerned(resources(stack)[logical_id], about)
        beside = {k: resources(stack)[k] for k, name in about.items() if name == store}
        all_of_it = list(mutants(resources(stack)[logical_id]))
        found += survivors(
            stack, logical_id, iter(random.Random(1).sample(all_of_it, min(len(all_of_it), MOST))), beside
        )
    assert found == []


@pytest.mark.parametrize("stack", CONTRACTS)
def test_one_of_each_kind_of_every_resource_and_the_resource_itself(stack: str) -> None:
    beside = {k: resources(stack)[k] for k in stores(resources(stack))}
    chosen = random.Random(stack)
    for logical_id, resource in resources(stack).items():
        by_kind = groupby(sorted(mutants(resource), key=lambda m: m.kind), key=lambda m: m.kind)
        one_each = [chosen.choice(list(group)) for _, group in by_kind]
        assert not survivors(stack, logical_id, iter(one_each), beside)
        gone = told(stack, {logical_id: resource}, {}, {k: r for k, r in beside.items() if k != logical_id})
        assert logical_id in {c.resource for c in gone}
        if store := concerned(resource, stores(resources(stack))):
            assert store in {c.store for c in gone}


@pytest.mark.parametrize("stack", ["Newsletter-live", "Stores-live", "Orders-production"])
def test_a_resource_of_each_type_that_is_added(stack: str) -> None:
    """To tables, to other stores, and to a stack with a function: whatever it is, and whatever it says."""
    for kind in TYPES:
        found = told(stack, {}, {"Intruder": {"Type": kind}})
        assert [(c.kind, c.resource) for c in found] == [(Kind.ADDED, "Intruder")], kind
    loop = {"Fn::ForEach::Copies": ["Name", ["a"], {"${Name}": {"Type": "AWS::DynamoDB::Table"}}]}
    assert told(stack, {}, loop)


@pytest.mark.parametrize("stack", CONTRACTS)
def test_what_stands_beside_the_template(stack: str) -> None:
    contract = {**CONTRACTS[stack], "template": {}}
    for section in ("stack", "code", "acknowledged"):
        places = list(nodes(contract[section]))
        for path, value in places:
            for changed in (ABSENT, {"another": "value"} if isinstance(value, dict) else "another"):
                head = {**contract, section: put(contract[section], path, changed)}
                assert diff({stack: contract}, {stack: head}), (section, path, changed)
    more = {**contract, "stack": {**contract["stack"], "notificationArns": ["arn:aws:sns:eu-west-1:1:elsewhere"]}}
    assert diff({stack: contract}, {stack: more})


# Silence


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_other_spellings_reordering_and_bookkeeping_are_silent(seed: int) -> None:
    chosen = random.Random(seed)
    stack = chosen.choice(list(CONTRACTS))
    template = CONTRACTS[stack]["template"]
    again = normal.template(respelled(template, chosen))
    assert files.text(make.brought_up({**CONTRACTS[stack], "template": again})) == files.text(CONTRACTS[stack])


FUNCTIONS = st.sampled_from(
    [
        "Fn::Sub",
        "Fn::Join",
        "Fn::If",
        "Fn::GetAtt",
        "Fn::Select",
        "Fn::FindInMap",
        "Fn::And",
        "Fn::Equals",
        "Fn::Not",
        "Ref",
        "Condition",
        "Fn::ToJsonString",
        "Fn::Transform",
        "Fn::ForEach::X",
        "Fn::GetAZs",
        "Fn::Base64",
    ]
)
WORDS = st.sampled_from(
    [
        "A",
        "B",
        "M",
        "AWS::NoValue",
        "AWS::AccountId",
        "",
        "0",
        "1",
        "true",
        "a.b",
        "${A}",
        "${!B}",
        "x${A.Arn}",
        "${",
        '{"a":1}',
        '{"Ref":"A"}',
        '["{\\"b\\": 2}"]',
        '{"Statement":[{"Effect":"Allow"}]}',
        "123456789012",
        "\ud800",
        "arn:aws:iam::123456789012:root",
        "{{resolve:ssm:x}}",
        "\ue0000\ue001",
        '{"\ue0000\ue001":',
    ]
)
NAMES = st.sampled_from(
    [
        "Properties",
        "Type",
        "Condition",
        "Statement",
        "Effect",
        "Action",
        "Principal",
        "AWS",
        "Tags",
        "Key",
        "Value",
        "Version",
        "Sid",
        "Metadata",
        "aws:cdk:path",
        "DependsOn",
        "TableName",
        "PolicyDocument",
        "Resource",
        "a",
    ]
)
LEAVES = WORDS | st.booleans() | st.integers(-2, 40) | st.none() | st.floats(allow_nan=False, allow_infinity=False)
TREES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(NAMES, inner, max_size=4)
        | st.builds(lambda name, argument: {name: argument}, FUNCTIONS, inner | st.lists(inner, max_size=3))
        | st.builds(lambda text, given: {"Fn::Sub": [text, given]}, WORDS, st.dictionaries(WORDS, inner, max_size=2))
        | st.builds(lambda between, parts: {"Fn::Join": [between, parts]}, WORDS, st.lists(inner, max_size=4))
        | st.builds(lambda *parts: {"Fn::If": list(parts)}, WORDS, inner, inner)
        | st.lists(st.builds(lambda k, v: {"Key": k, "Value": v}, WORDS, inner), max_size=3)
    ),
    max_leaves=15,
)
KINDS = st.sampled_from(
    ["AWS::DynamoDB::Table", "AWS::IAM::Role", "AWS::S3::BucketPolicy", "AWS::SQS::Queue", "Custom::X", "X::Y::Z"]
)
TEMPLATES = st.fixed_dictionaries(
    {"Resources": st.dictionaries(WORDS, st.builds(lambda k, p: {"Type": k, "Properties": p}, KINDS, TREES))},
    optional={
        section: st.dictionaries(WORDS, TREES, max_size=3)
        for section in ("Conditions", "Mappings", "Parameters", "Outputs", "Metadata", "Rules", "Transform")
    },
)


@settings(max_examples=150)
@given(TEMPLATES)
def test_the_normal_form_of_a_normal_form_is_itself(raw: Json) -> None:
    """Whatever stands in a template, hostile or not: a contract is brought up to date without a change."""
    try:
        once = normal.template(raw)
    except InputError:
        return
    assert files.text(normal.template(once)) == files.text(once)
