"""The CDK side: a declared table becomes exactly its guards, or is refused with a message."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from declare import TEST, estate
from hypothesis import HealthCheck, given, settings
from shop import DEV, ESTATE, LIVE, ORDERS, RETIRED, STORES, alone
from shop_synth import synth
from strategies import ENVIRONMENTS, GUARDS, legal_tables
from support import CONTEXT, Json

from holdfast import Data, DeclarationError, Durable, Environment, Guard, Stack, Table, gsi, key
from holdfast.audit.advice import logical_id
from holdfast.cfn.template import StackSeen
from holdfast.estate.placement import Placed
from holdfast.kinds.table.template import observe
from holdfast.policy.required import MAX_RECOVERY_DAYS, TAGS

PLAIN: dict[str, Any] = {"purpose": "", "key": key("id"), "lifetime": Durable(), "data": Data.OPERATIONAL}


def synthesized(stack: Stack, env: Environment, outdir: Path) -> Json:
    from holdfast.cdk import app

    placed = Placed(stack, env)
    app(estate(stack), CONTEXT | {"env": env.label}, str(outdir)).synth()
    template: Json = json.loads((outdir / f"{placed.id}.template.json").read_text())
    return template


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments=legal_tables, env=ENVIRONMENTS, floor=GUARDS)
def test_any_table_synthesizes_to_exactly_its_guards_or_is_refused(
    arguments: dict[str, object], env: Environment, floor: Guard, tmp_path: Path
) -> None:
    table = Table(**arguments)  # type: ignore[arg-type]
    stack = Stack(id="Any-{env}", system="any", owner="any", tables=(table,), floor=floor)
    guards = Placed(stack, env).required(table)
    if Guard.TTL in guards and table.lifetime.ttl is None:
        with pytest.raises(DeclarationError, match="has TTL in its floor and no attribute for it: declare ttl="):
            synthesized(stack, env, tmp_path)
        return
    (seen,) = observe(StackSeen(id="Any", where="Any", template=synthesized(stack, env, tmp_path)))
    assert seen.where == f"Any#{logical_id(table)}"  # which the audit has to know without CDK
    assert seen.guards(TAGS) == guards
    assert seen.name == table.name
    assert seen.key == table.key
    assert seen.indexes == {i.name: i for i in table.indexes}
    assert seen.local_indexes == {i.name: i for i in table.every_index[len(table.indexes) :]}
    assert seen.capacity == table.billing
    assert seen.ttl == table.lifetime.ttl
    assert seen.stream == (table.stream.view.value if table.stream and not table.stream.pending else None)
    assert seen.recovery_days == (MAX_RECOVERY_DAYS if Guard.PITR in guards else None)


def test_a_personal_table_without_a_key_cannot_be_built() -> None:
    import aws_cdk as cdk

    from holdfast.cdk import GuardedTable

    table = Table(name="people", **PLAIN | {"data": Data.PERSONAL})
    stack = Stack(id="People-{env}", system="s", owner="o", tables=(table,))
    with pytest.raises(DeclarationError, match="table people needs a customer-managed key: pass the stack's key"):
        GuardedTable(cdk.Stack(), table, Placed(stack, TEST))


def test_a_ttl_floor_without_an_attribute_is_refused(tmp_path: Path) -> None:
    stack = Stack(id="S-{env}", system="s", owner="o", tables=(Table(name="orders", **PLAIN, floor=Guard.TTL),))
    with pytest.raises(DeclarationError, match="table orders has TTL in its floor and no attribute for it"):
        synthesized(stack, TEST, tmp_path)


def test_logical_ids_do_not_depend_on_the_order_of_declarations(templates: dict[str, Json], tmp_path: Path) -> None:
    for stack in (ORDERS, RETIRED):
        id_ = Placed(stack, LIVE).id
        other = replace(stack, tables=tuple(reversed(stack.tables)), patterns=(), entities=())
        after = synth(alone(other), tmp_path, "live")[id_]["Resources"].keys()
        assert after == templates[id_]["Resources"].keys()


def test_a_new_table_leaves_the_others_alone(templates: dict[str, Json], tmp_path: Path) -> None:
    new = Table(name="rooms-{env}", **PLAIN, indexes=(gsi("shopId"),))
    made = synth(alone(replace(ORDERS, tables=(new, *ORDERS.tables))), tmp_path, "live")
    before, after = templates["Orders-production"]["Resources"], made["Orders-production"]["Resources"]
    added = after.keys() - before.keys()
    assert {after[i]["Type"] for i in added} == {"AWS::DynamoDB::Table", "AWS::CloudWatch::Alarm"}
    assert {i for i in before if after[i] != before[i]} == {"Dashboard"}


def test_an_index_in_one_stack_changes_no_other(templates: dict[str, Json], tmp_path: Path) -> None:
    changed, *tables = ORDERS.tables
    changed = replace(changed, indexes=(*changed.indexes, gsi("addedLater")))
    stacks = (replace(s, tables=(changed, *tables)) if s is ORDERS else s for s in ESTATE.stacks)
    after = synth(alone(*stacks), tmp_path, "live")
    assert after.keys() == {p.id for p in ESTATE.placements([LIVE])}
    assert [id_ for id_ in after if after[id_] != templates[id_]] == [Placed(ORDERS, LIVE).id]


def test_a_stack_of_tables_and_other_stores_has_one_dashboard_for_both(tmp_path: Path) -> None:
    mixed = replace(STORES, tables=(Table(name="orders", **PLAIN),))
    resources = synth(alone(mixed), tmp_path, "live")["Stores-live"]["Resources"]
    widgets = json.loads(resources["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"])["widgets"]
    shown = {arn.partition(":alarm:")[2] for w in widgets for arn in w["properties"].get("alarms", ())}
    alarms = (r["Properties"] for r in resources.values() if r["Type"] == "AWS::CloudWatch::Alarm")
    assert shown == {a["AlarmName"] for a in alarms}
    cells = [
        (w["x"] + column, w["y"] + row) for w in widgets for column in range(w["width"]) for row in range(w["height"])
    ]
    assert len(cells) == len(set(cells))  # none hides another


def keys(templates: dict[str, Json]) -> dict[str, Json]:
    found = {
        stack: [r for r in t["Resources"].values() if r["Type"] == "AWS::KMS::Key"] for stack, t in templates.items()
    }
    assert all(len(ks) <= 1 for ks in found.values())
    return {stack: ks[0] for stack, ks in found.items() if ks}


def test_one_key_per_stack_that_needs_one(templates: dict[str, Json]) -> None:
    """Personal data in either environment, or an alarm topic, which all stacks of live have and one of dev."""
    plain = {
        p.id
        for p in ESTATE.placements([DEV])
        if p.stack.id != "Newsletter" and all(s.data is Data.OPERATIONAL for s in (*p.tables, *p.stores))
    }
    assert "Sessions-dev" in plain
    assert set(templates) - set(keys(templates)) == plain


def test_keys_rotate_have_an_alias_and_stay_with_their_tables(templates: dict[str, Json]) -> None:
    retained = {stack for stack, k in keys(templates).items() if k["DeletionPolicy"] == "Retain"}
    for stack, k in keys(templates).items():
        assert k["Properties"]["EnableKeyRotation"] is True
        assert k["DeletionPolicy"] == k["UpdateReplacePolicy"]
        aliases = [r for r in templates[stack]["Resources"].values() if r["Type"] == "AWS::KMS::Alias"]
        assert [a["Properties"]["AliasName"] for a in aliases] == [f"alias/holdfast/{stack}"]
    assert retained == {"Orders-production", "Newsletter-live", "Retired-live", "Stores-live"}


def test_key_policies_are_not_open(templates: dict[str, Json]) -> None:
    """No stranger, no wildcard action, and data is read through the stack's services only."""
    reading = {"kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*", "kms:CreateGrant"}
    for k in keys(templates).values():
        for statement in k["Properties"]["KeyPolicy"]["Statement"]:
            assert statement["Effect"] == "Allow"
            assert statement["Principal"] not in ("*", {"AWS": "*"})
            if "AWS" in statement["Principal"]:
                assert statement["Principal"]["AWS"]["Fn::Join"][1][1:] == [{"Ref": "AWS::AccountId"}, ":root"]
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            assert "kms:*" not in actions
            assert not [a for a in actions if a.startswith("kms:Create") and a.endswith("*")]
            if reading & set(actions):
                assert statement["Condition"], statement["Sid"]


def test_alarm_topics_are_encrypted_and_open_to_cloudwatch_of_this_account_only(templates: dict[str, Json]) -> None:
    topics = 0
    for template in templates.values():
        resources = template["Resources"].values()
        for topic in (r for r in resources if r["Type"] == "AWS::SNS::Topic"):
            topics += 1
            assert topic["Properties"]["KmsMasterKeyId"]
        for policy in (r for r in resources if r["Type"] == "AWS::SNS::TopicPolicy"):
            allowed = [s for s in policy["Properties"]["PolicyDocument"]["Statement"] if s["Effect"] == "Allow"]
            assert [s["Principal"] for s in allowed] == [{"Service": "cloudwatch.amazonaws.com"}]
            assert [s["Condition"] for s in allowed] == [
                {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
            ]
    assert (
        topics == len(ESTATE.placements([LIVE])) + 2
    )  # every stack of live; of dev, one with watched tables, one with a consumer
