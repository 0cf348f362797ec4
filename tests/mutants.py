"""Every way in which a table has been seen to lose its protection or its shape, as changes to a template.

A mutation takes a template (its own copy) and the logical id of a table, and changes the one thing that it is named
after. It answers False where there is nothing to lose: a table without a sort key cannot lose it.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

from support import Json

from holdfast import Data
from holdfast.cfn import normal
from holdfast.cfn.compare import ABSENT
from holdfast.contract.diff import diff

Mutation = Callable[[Json, str], bool]

CLASSES = {d.value for d in Data}


def mutants(template: Json, logical_id: str) -> Iterator[tuple[str, Json]]:
    """(name, mutated copy) of every mutation that applies to a table."""
    packed = pickle.dumps(template)  # several times as fast as deepcopy
    for name, mutate in MUTATIONS.items():
        mutant = pickle.loads(packed)
        if mutate(mutant, logical_id):
            yield name, mutant


def differing(base: Json, head: Json) -> set[str | None]:
    """The stores of which the comparison of two contracts speaks."""
    if id(base) not in _NORMAL:
        _NORMAL[id(base)] = (base, normal.template(base))
    sides = [{"S": {"version": 1, "stack": {}, "template": t}} for t in (_NORMAL[id(base)][1], normal.template(head))]
    return {change.store for change in diff(*sides)}


_NORMAL: dict[int, tuple[Json, Json]] = {}  # each base is compared with many mutants


def tables(template: Json) -> dict[str, str]:
    """{logical id: table name}"""
    resources = template["Resources"].items()
    return {i: r["Properties"]["TableName"] for i, r in resources if r["Type"] == "AWS::DynamoDB::Table"}


def key_of(template: Json, table: str) -> str | None:
    sse = template["Resources"][table]["Properties"].get("SSESpecification", {})
    return sse["KMSMasterKeyId"]["Fn::GetAtt"][0] if "KMSMasterKeyId" in sse else None


def _properties(template: Json, table: str) -> Json:
    properties: Json = template["Resources"][table]["Properties"]
    return properties


def _put(path: str, value: Any = ABSENT, *, was: Any = ABSENT) -> Mutation:
    """Replaces what is at a path of the table, or takes it away: where it is there, and where it ``was`` so."""
    *way, last = path.split("/")

    def mutate(t: Json, i: str) -> bool:
        here = t["Resources"][i]
        for step in way:
            here = here.get(step, {})
        if last not in here or was not in (ABSENT, here[last]):
            return False
        here[last] = copy.deepcopy(value)
        if value is ABSENT:
            del here[last]
        return True

    return mutate


def _of_resource(found: Callable[[Json, str], str | None], change: Callable[[Json], object]) -> Mutation:
    """A change of another resource, which a table may have."""

    def mutate(t: Json, i: str) -> bool:
        if (other := found(t, i)) is None:
            return False
        change(t["Resources"][other])
        return True

    return mutate


def _where(condition: Callable[[Json, str], object], mutation: Mutation) -> Mutation:
    return lambda t, i: bool(condition(t, i)) and mutation(t, i)


def _recovered(t: Json, i: str) -> bool:
    return bool(_properties(t, i)["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"])


RECOVERY = "Properties/PointInTimeRecoverySpecification"
TTL = "Properties/TimeToLiveSpecification"
OPEN = {"Effect": "Allow", "Principal": "*", "Resource": "*"}
MUTATIONS: dict[str, Mutation] = {
    "deletion_protection_off": _put("Properties/DeletionProtectionEnabled", False, was=True),
    "deletion_protection_removed": _put("Properties/DeletionProtectionEnabled", was=True),
    "deletion_policy_delete": _put("DeletionPolicy", "Delete", was="Retain"),
    "deletion_policy_removed": _put("DeletionPolicy", was="Retain"),
    "update_replace_policy_delete": _put("UpdateReplacePolicy", "Delete", was="Retain"),
    "update_replace_policy_removed": _put("UpdateReplacePolicy", was="Retain"),
    "recovery_off": _where(_recovered, _put(RECOVERY, {"PointInTimeRecoveryEnabled": False})),
    "recovery_removed": _where(_recovered, _put(RECOVERY)),
    "recovery_shortened": _where(_recovered, _put(f"{RECOVERY}/RecoveryPeriodInDays", 7)),
    "key_to_aws_managed": _where(key_of, _put("Properties/SSESpecification/KMSMasterKeyId")),
    "encryption_removed": _where(key_of, _put("Properties/SSESpecification")),
    "ttl_removed": _put(TTL),
    "ttl_off": _put(f"{TTL}/Enabled", False),
    "ttl_renamed": _put(f"{TTL}/AttributeName", "expires"),
    "all_tags_removed": _put("Properties/Tags"),
    "billing_removed": _put("Properties/BillingMode"),
    "stream_removed": _put("Properties/StreamSpecification"),
    "turned_global": _put("Type", "AWS::DynamoDB::GlobalTable"),
}


def _mutation(function: Mutation) -> Mutation:
    MUTATIONS[function.__name__] = function
    return function


@_mutation
def encryption_of_other_data_changed(t: Json, i: str) -> bool:
    if key_of(t, i) is not None:
        return False
    p = _properties(t, i)
    if p.pop("SSESpecification", None) is None:
        p["SSESpecification"] = {"SSEEnabled": True}
    return True


def _unconfine(key: Json) -> None:
    for statement in key["Properties"]["KeyPolicy"]["Statement"]:
        statement.pop("Condition", None)


def _retained_key(t: Json, i: str) -> str | None:
    key = key_of(t, i)
    return key if key and t["Resources"][key]["DeletionPolicy"] == "Retain" else None


OF_KEYS: dict[str, Mutation] = {
    name: _of_resource(key_of, change)
    for name, change in {
        "key_disabled": lambda key: key["Properties"].update(Enabled=False),
        "key_of_another_kind": lambda key: key["Properties"].update(KeySpec="RSA_2048"),
        "key_policy_to_another_account": lambda key: key["Properties"]["KeyPolicy"]["Statement"][1].update(
            Principal={"AWS": "arn:aws:iam::999999999999:root"}
        ),
        "key_rotation_off": lambda key: key["Properties"].update(EnableKeyRotation=False),
        "key_rotation_removed": lambda key: key["Properties"].pop("EnableKeyRotation"),
        "key_policy_opened": lambda key: key["Properties"]["KeyPolicy"]["Statement"].append(OPEN | {"Action": "kms:*"}),
        "key_policy_conditions_removed": _unconfine,
    }.items()
} | {"key_not_retained": _of_resource(_retained_key, lambda key: key.update(DeletionPolicy="Delete"))}
MUTATIONS |= OF_KEYS
OF_THE_KEY = set(OF_KEYS)  # they concern every table that is encrypted with the stack's key


@_mutation
def one_tag_removed(t: Json, i: str) -> bool:
    return bool(_properties(t, i)["Tags"].pop(3))


@_mutation
def tag_value_changed(t: Json, i: str) -> bool:
    (tag,) = [tag for tag in _properties(t, i)["Tags"] if tag["Value"] in CLASSES]
    tag["Value"] = "public"
    return True


def _indexes(t: Json, i: str) -> list[Json]:
    return list(_properties(t, i).get("GlobalSecondaryIndexes", []))


def _attribute(t: Json, i: str) -> None:
    """One more attribute that keys may have."""
    _properties(t, i)["AttributeDefinitions"].append({"AttributeName": "other", "AttributeType": "S"})


def _first_index(change: Callable[[Json], object]) -> Mutation:
    def mutate(t: Json, i: str) -> bool:
        for index in _indexes(t, i)[:1]:
            change(index)
            return True
        return False

    return mutate


MUTATIONS |= {
    "index_renamed": _first_index(lambda index: index.update(IndexName=f"{index['IndexName']}-v2")),
    "index_reprojected": _first_index(lambda index: index.update(Projection={"ProjectionType": "KEYS_ONLY"})),
    "index_projection_narrowed": _first_index(
        lambda index: index.update(Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a"]})
    ),
}


@_mutation
def index_dropped(t: Json, i: str) -> bool:
    return bool(_indexes(t, i)) and bool(_properties(t, i)["GlobalSecondaryIndexes"].pop())


@_mutation
def index_rekeyed(t: Json, i: str) -> bool:
    for index in _indexes(t, i)[:1]:
        _attribute(t, i)
        index["KeySchema"][0]["AttributeName"] = "other"
        return True
    return False


@_mutation
def index_added(t: Json, i: str) -> bool:
    _attribute(t, i)
    key = [{"AttributeName": "other", "KeyType": "HASH"}]
    _properties(t, i).setdefault("GlobalSecondaryIndexes", []).append(
        {"IndexName": "other-index", "KeySchema": key, "Projection": {"ProjectionType": "ALL"}}
    )
    return True


@_mutation
def local_index_added(t: Json, i: str) -> bool:
    _attribute(t, i)
    key = [_properties(t, i)["KeySchema"][0], {"AttributeName": "other", "KeyType": "RANGE"}]
    index = {"IndexName": "local", "KeySchema": key, "Projection": {"ProjectionType": "ALL"}}
    _properties(t, i)["LocalSecondaryIndexes"] = [index]
    return True


@_mutation
def sort_key_dropped(t: Json, i: str) -> bool:
    key = _properties(t, i)["KeySchema"]
    return len(key) > 1 and bool(key.pop())


@_mutation
def sort_key_added(t: Json, i: str) -> bool:
    key = _properties(t, i)["KeySchema"]
    if len(key) > 1:
        return False
    _attribute(t, i)
    key.append({"AttributeName": "other", "KeyType": "RANGE"})
    return True


@_mutation
def key_type_changed(t: Json, i: str) -> bool:
    name = _properties(t, i)["KeySchema"][0]["AttributeName"]
    for definition in _properties(t, i)["AttributeDefinitions"]:
        if definition["AttributeName"] == name:
            definition["AttributeType"] = "N"
    return True


@_mutation
def billing_provisioned(t: Json, i: str) -> bool:
    capacity = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
    _properties(t, i).update(BillingMode="PROVISIONED", ProvisionedThroughput=capacity)
    return True


@_mutation
def stream_added(t: Json, i: str) -> bool:
    if "StreamSpecification" in _properties(t, i):
        return False
    _properties(t, i)["StreamSpecification"] = {"StreamViewType": "KEYS_ONLY"}
    return True


@_mutation
def resource_policy_added(t: Json, i: str) -> bool:
    _properties(t, i)["ResourcePolicy"] = {"PolicyDocument": {"Statement": [OPEN | {"Action": "dynamodb:*"}]}}
    return True


@_mutation
def table_renamed(t: Json, i: str) -> bool:
    _properties(t, i)["TableName"] += "-v2"
    return True


@_mutation
def table_removed(t: Json, i: str) -> bool:
    return bool(t["Resources"].pop(i))


def _alarm(kind: str) -> Callable[[Json, str], str | None]:
    def find(t: Json, i: str) -> str | None:
        name = f"{_properties(t, i)['TableName']}/{kind}"
        alarms = (k for k, r in t["Resources"].items() if r["Type"] == "AWS::CloudWatch::Alarm")
        return next((k for k in alarms if t["Resources"][k]["Properties"]["AlarmName"] == name), None)

    return find


def _no_alarm(kind: str) -> Mutation:
    def mutate(t: Json, i: str) -> bool:
        alarm = _alarm(kind)(t, i)
        return alarm is not None and bool(t["Resources"].pop(alarm))

    return mutate


@_mutation
def alarm_of_an_index_removed(t: Json, i: str) -> bool:
    return any(_no_alarm(f"{index['IndexName']}/throttles")(t, i) for index in _indexes(t, i)[:1])


def _another_metric(alarm: Json) -> None:
    for query in alarm["Properties"]["Metrics"]:
        if "MetricStat" in query:
            query["MetricStat"]["Metric"]["MetricName"] = "UserErrors"


def _system_errors(change: Callable[[Json], object]) -> Mutation:
    return _of_resource(_alarm("system-errors"), lambda alarm: change(alarm["Properties"]))


MUTATIONS |= {
    **{f"alarm_{k.replace('-', '_')}_removed": _no_alarm(k) for k in ("throttles", "latency", "system-errors")},
    "alarm_without_actions": _system_errors(lambda p: p.pop("AlarmActions")),
    "alarm_actions_disabled": _system_errors(lambda p: p.update(ActionsEnabled=False)),
    "alarm_to_another_topic": _system_errors(
        lambda p: p.update(AlarmActions=["arn:aws:sns:us-east-1:999999999999:other"])
    ),
    "alarm_renamed_and_raised": _system_errors(lambda p: p.update(AlarmName="other", Threshold=10**9)),
    "alarm_datapoints_raised": _system_errors(lambda p: p.update(EvaluationPeriods=5, DatapointsToAlarm=5)),
    "alarm_threshold_raised": _system_errors(lambda p: p.update(Threshold=100)),
    "alarm_expression_changed": _system_errors(lambda p: p["Metrics"][-1].update(Expression="0")),
    "alarm_on_a_metric_that_is_not_there": _of_resource(_alarm("throttles"), _another_metric),
}
