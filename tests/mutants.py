"""Every way in which a table has been seen to lose its protection or its shape, as changes to a template.

A mutation takes a template (its own copy) and the logical id of a table, and changes the one thing that it is named
after. It answers False where there is nothing to lose: a table without a sort key cannot lose it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

from holdfast import Data
from holdfast.cfn import normal
from holdfast.contract.diff import diff

Json = dict[str, Any]
Mutation = Callable[[Json, str], bool]

MUTATIONS: dict[str, Mutation] = {}
DATA_CLASSES = [data.value for data in Data]
# These change the stack's key, so they concern every table that is encrypted with it.
OF_THE_KEY: set[str] = set()


def _mutation(function: Mutation) -> Mutation:
    MUTATIONS[function.__name__] = function
    return function


def _of_the_key(function: Mutation) -> Mutation:
    OF_THE_KEY.add(function.__name__)
    return _mutation(function)


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


def _durable(template: Json, table: str) -> bool:
    return _properties(template, table)["DeletionProtectionEnabled"] is True


@_mutation
def deletion_protection_off(t: Json, i: str) -> bool:
    if _durable(t, i):
        _properties(t, i)["DeletionProtectionEnabled"] = False
        return True
    return False


@_mutation
def deletion_protection_removed(t: Json, i: str) -> bool:
    return _durable(t, i) and _properties(t, i).pop("DeletionProtectionEnabled")


def _policy(name: str, value: str | None) -> Mutation:
    def mutate(t: Json, i: str) -> bool:
        resource = t["Resources"][i]
        if resource[name] != "Retain":
            return False
        del resource[name]
        if value:
            resource[name] = value
        return True

    return mutate


MUTATIONS["deletion_policy_delete"] = _policy("DeletionPolicy", "Delete")
MUTATIONS["deletion_policy_removed"] = _policy("DeletionPolicy", None)
MUTATIONS["update_replace_policy_delete"] = _policy("UpdateReplacePolicy", "Delete")
MUTATIONS["update_replace_policy_removed"] = _policy("UpdateReplacePolicy", None)


def _recovered(t: Json, i: str) -> bool:
    return bool(_properties(t, i)["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"])


@_mutation
def recovery_off(t: Json, i: str) -> bool:
    if _recovered(t, i):
        _properties(t, i)["PointInTimeRecoverySpecification"] = {"PointInTimeRecoveryEnabled": False}
        return True
    return False


@_mutation
def recovery_removed(t: Json, i: str) -> bool:
    return _recovered(t, i) and bool(_properties(t, i).pop("PointInTimeRecoverySpecification"))


@_mutation
def recovery_shortened(t: Json, i: str) -> bool:
    if _recovered(t, i):
        _properties(t, i)["PointInTimeRecoverySpecification"]["RecoveryPeriodInDays"] = 7
        return True
    return False


@_mutation
def key_to_aws_managed(t: Json, i: str) -> bool:
    return key_of(t, i) is not None and bool(_properties(t, i)["SSESpecification"].pop("KMSMasterKeyId"))


@_mutation
def encryption_of_other_data_changed(t: Json, i: str) -> bool:
    if key_of(t, i) is not None:
        return False
    p = _properties(t, i)
    if p.pop("SSESpecification", None) is None:
        p["SSESpecification"] = {"SSEEnabled": True}
    return True


@_mutation
def encryption_removed(t: Json, i: str) -> bool:
    return key_of(t, i) is not None and bool(_properties(t, i).pop("SSESpecification"))


def _key(change: Callable[[Json], object]) -> Mutation:
    def mutate(t: Json, i: str) -> bool:
        key = key_of(t, i)
        if key is None:
            return False
        change(t["Resources"][key])
        return True

    return mutate


def _open(key: Json) -> None:
    statement = {"Effect": "Allow", "Principal": "*", "Action": "kms:*", "Resource": "*"}
    key["Properties"]["KeyPolicy"]["Statement"].append(statement)


def _unconfine(key: Json) -> None:
    for statement in key["Properties"]["KeyPolicy"]["Statement"]:
        statement.pop("Condition", None)


def _unretain(key: Json) -> None:
    key["DeletionPolicy"] = "Delete"


KEY_CHANGES: dict[str, Callable[[Json], object]] = {
    "key_disabled": lambda key: key["Properties"].update(Enabled=False),
    "key_of_another_kind": lambda key: key["Properties"].update(KeySpec="RSA_2048"),
    "key_policy_to_another_account": lambda key: key["Properties"]["KeyPolicy"]["Statement"][1].update(
        Principal={"AWS": "arn:aws:iam::999999999999:root"}
    ),
    "key_rotation_off": lambda key: key["Properties"].update(EnableKeyRotation=False),
    "key_rotation_removed": lambda key: key["Properties"].pop("EnableKeyRotation"),
    "key_policy_opened": _open,
    "key_policy_conditions_removed": _unconfine,
}
for _name, _change in KEY_CHANGES.items():
    MUTATIONS[_name] = _key(_change)
    OF_THE_KEY.add(_name)


@_of_the_key
def key_not_retained(t: Json, i: str) -> bool:
    key = key_of(t, i)
    if key is None or t["Resources"][key]["DeletionPolicy"] != "Retain":
        return False
    _unretain(t["Resources"][key])
    return True


@_mutation
def ttl_removed(t: Json, i: str) -> bool:
    return bool(_properties(t, i).pop("TimeToLiveSpecification", None))


@_mutation
def ttl_off(t: Json, i: str) -> bool:
    if ttl := _properties(t, i).get("TimeToLiveSpecification"):
        ttl["Enabled"] = False
        return True
    return False


@_mutation
def ttl_renamed(t: Json, i: str) -> bool:
    if ttl := _properties(t, i).get("TimeToLiveSpecification"):
        ttl["AttributeName"] = "expires"
        return True
    return False


@_mutation
def one_tag_removed(t: Json, i: str) -> bool:
    return bool(_properties(t, i)["Tags"].pop(3))


@_mutation
def all_tags_removed(t: Json, i: str) -> bool:
    return bool(_properties(t, i).pop("Tags"))


@_mutation
def tag_value_changed(t: Json, i: str) -> bool:
    (tag,) = [tag for tag in _properties(t, i)["Tags"] if tag["Value"] in DATA_CLASSES]  # whatever it is called
    tag["Value"] = "public"
    return True


def _indexes(t: Json, i: str) -> list[Json]:
    return list(_properties(t, i).get("GlobalSecondaryIndexes", []))


@_mutation
def index_dropped(t: Json, i: str) -> bool:
    if not _indexes(t, i):
        return False
    _properties(t, i)["GlobalSecondaryIndexes"].pop()
    return True


@_mutation
def index_renamed(t: Json, i: str) -> bool:
    for index in _indexes(t, i)[:1]:
        index["IndexName"] += "-v2"
        return True
    return False


@_mutation
def index_rekeyed(t: Json, i: str) -> bool:
    for index in _indexes(t, i)[:1]:
        _properties(t, i)["AttributeDefinitions"].append({"AttributeName": "other", "AttributeType": "S"})
        index["KeySchema"][0]["AttributeName"] = "other"
        return True
    return False


@_mutation
def index_reprojected(t: Json, i: str) -> bool:
    for index in _indexes(t, i)[:1]:
        index["Projection"] = {"ProjectionType": "KEYS_ONLY"}
        return True
    return False


@_mutation
def index_projection_narrowed(t: Json, i: str) -> bool:
    for index in _indexes(t, i)[:1]:
        index["Projection"] = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a"]}
        return True
    return False


@_mutation
def index_added(t: Json, i: str) -> bool:
    p = _properties(t, i)
    p["AttributeDefinitions"].append({"AttributeName": "other", "AttributeType": "S"})
    key = [{"AttributeName": "other", "KeyType": "HASH"}]
    p.setdefault("GlobalSecondaryIndexes", []).append(
        {"IndexName": "other-index", "KeySchema": key, "Projection": {"ProjectionType": "ALL"}}
    )
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
    _properties(t, i)["AttributeDefinitions"].append({"AttributeName": "other", "AttributeType": "S"})
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
    _properties(t, i)["BillingMode"] = "PROVISIONED"
    _properties(t, i)["ProvisionedThroughput"] = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
    return True


@_mutation
def billing_removed(t: Json, i: str) -> bool:
    return bool(_properties(t, i).pop("BillingMode"))


@_mutation
def stream_removed(t: Json, i: str) -> bool:
    return bool(_properties(t, i).pop("StreamSpecification", None))


@_mutation
def stream_added(t: Json, i: str) -> bool:
    if "StreamSpecification" in _properties(t, i):
        return False
    _properties(t, i)["StreamSpecification"] = {"StreamViewType": "KEYS_ONLY"}
    return True


@_mutation
def resource_policy_added(t: Json, i: str) -> bool:
    statement = {"Effect": "Allow", "Principal": "*", "Action": "dynamodb:*", "Resource": "*"}
    _properties(t, i)["ResourcePolicy"] = {"PolicyDocument": {"Statement": [statement]}}
    return True


@_mutation
def local_index_added(t: Json, i: str) -> bool:
    key = [_properties(t, i)["KeySchema"][0], {"AttributeName": "other", "KeyType": "RANGE"}]
    index = {"IndexName": "local", "KeySchema": key, "Projection": {"ProjectionType": "ALL"}}
    _properties(t, i)["AttributeDefinitions"].append({"AttributeName": "other", "AttributeType": "S"})
    _properties(t, i)["LocalSecondaryIndexes"] = [index]
    return True


@_mutation
def table_renamed(t: Json, i: str) -> bool:
    _properties(t, i)["TableName"] += "-v2"
    return True


@_mutation
def table_removed(t: Json, i: str) -> bool:
    return bool(t["Resources"].pop(i))


@_mutation
def turned_global(t: Json, i: str) -> bool:
    t["Resources"][i]["Type"] = "AWS::DynamoDB::GlobalTable"
    return True


def _alarm(t: Json, i: str, kind: str) -> str | None:
    name = f"{_properties(t, i)['TableName']}/{kind}"
    alarms = (k for k, r in t["Resources"].items() if r["Type"] == "AWS::CloudWatch::Alarm")
    return next((k for k in alarms if t["Resources"][k]["Properties"]["AlarmName"] == name), None)


def _no_alarm(kind: str) -> Mutation:
    def mutate(t: Json, i: str) -> bool:
        alarm = _alarm(t, i, kind)
        return alarm is not None and bool(t["Resources"].pop(alarm))

    return mutate


for _kind in ("throttles", "latency", "system-errors"):
    MUTATIONS[f"alarm_{_kind.replace('-', '_')}_removed"] = _no_alarm(_kind)


@_mutation
def alarm_of_an_index_removed(t: Json, i: str) -> bool:
    return any(_no_alarm(f"{index['IndexName']}/throttles")(t, i) for index in _indexes(t, i)[:1])


def _alarm_change(change: Callable[[Json], object]) -> Mutation:
    def mutate(t: Json, i: str) -> bool:
        alarm = _alarm(t, i, "system-errors")
        if alarm is None:
            return False
        change(t["Resources"][alarm]["Properties"])
        return True

    return mutate


ALARM_CHANGES: dict[str, Callable[[Json], object]] = {
    "alarm_without_actions": lambda p: p.pop("AlarmActions"),
    "alarm_actions_disabled": lambda p: p.update(ActionsEnabled=False),
    "alarm_to_another_topic": lambda p: p.update(AlarmActions=["arn:aws:sns:us-east-1:999999999999:other"]),
    "alarm_renamed_and_raised": lambda p: p.update(AlarmName="other", Threshold=10**9),
    "alarm_datapoints_raised": lambda p: p.update(EvaluationPeriods=5, DatapointsToAlarm=5),
    "alarm_threshold_raised": lambda p: p.update(Threshold=100),
    "alarm_expression_changed": lambda p: p["Metrics"][-1].update(Expression="0"),
}
MUTATIONS |= {name: _alarm_change(change) for name, change in ALARM_CHANGES.items()}


@_mutation
def alarm_on_a_metric_that_is_not_there(t: Json, i: str) -> bool:
    alarm = _alarm(t, i, "throttles")
    if alarm is None:
        return False
    for query in t["Resources"][alarm]["Properties"]["Metrics"]:
        if "MetricStat" in query:
            query["MetricStat"]["Metric"]["MetricName"] = "UserErrors"
    return True
