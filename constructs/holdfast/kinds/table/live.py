"""What DynamoDB, KMS and CloudWatch answer, in CloudFormation's words. Pure: answers in, resources out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from holdfast.cfn import bounded
from holdfast.cfn.template import Source, StackSeen
from holdfast.cfn.types import ALARM, KEY, TOPIC
from holdfast.kinds.table import template
from holdfast.kinds.table.observed import TABLE, Observed
from holdfast.model.facts import Encryption
from holdfast.shared.account import ONLY_IN_TEMPLATES, IndexUse, StoreSeen
from holdfast.shared.key.observed import ObservedKey, observe_key
from holdfast.shared.live import Answer, Resource, shaped
from holdfast.unknown import Unknown

Key = Resource | Encryption | Unknown  # a customer's, AWS's, or one that cannot be read
KEPT = {"DeletionPolicy": ONLY_IN_TEMPLATES, "UpdateReplacePolicy": ONLY_IN_TEMPLATES}
USUAL = {"KeyState": "Enabled", "MultiRegion": False, "Origin": "AWS_KMS"}
ROTATION_DAYS = 365  # what KMS does unless told otherwise
UNITS = ("ReadCapacityUnits", "WriteCapacityUnits")
OF_INDEX = ("IndexName", "KeySchema", "Projection")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What was answered about one table; ``policy`` is None where there is none."""

    arn: str
    table: Answer | Unknown
    backups: Answer | Unknown
    ttl: Answer | Unknown
    policy: Answer | Unknown | None
    tags: Mapping[str, str] | Unknown
    owner: str | Unknown | None = None  # the stack that made it


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What stands around the tables of an account: keys, alarms, topics, and how often indexes were read."""

    keys: Mapping[str, Key]
    alarms: Collection[Answer] | Unknown
    topics: Collection[str] | Unknown
    reads: Mapping[tuple[str, str], float] | Unknown


def seen(found: Mapping[str, Answers], around: Surroundings, region: str | None = None) -> dict[str, StoreSeen]:
    """Every live table, by name; what was not answered is Unknown, and so is an answer that cannot be understood."""
    arns = {f"Table/{name}": answers.arn for name, answers in found.items()}
    keys = {arn: f"Key{n}" for n, (arn, key) in enumerate(around.keys.items()) if isinstance(key, dict)}
    stack = StackSeen(
        id="",
        where=region or "",
        template={"Resources": dict(_resources(found, around, keys))},
        region=region,
        source=Source.LIVE,
        arns=arns | {logical_id: arn for arn, logical_id in keys.items()},
        unread={ALARM: around.alarms} if isinstance(around.alarms, Unknown) else {},
    )
    return {name: _seen(name, answers, around, stack) for name, answers in found.items()}


def observed(live: StoreSeen) -> Observed:
    """A live table as rules see it."""
    return template.observed(live.stack, live.logical_id)


def _resources(
    found: Mapping[str, Answers], around: Surroundings, keys: Mapping[str, str]
) -> Iterator[tuple[str, Resource]]:
    encrypting = {**around.keys, **{arn: {"Ref": logical_id} for arn, logical_id in keys.items()}}
    for name, answers in found.items():
        yield f"Table/{name}", _table(name, answers, encrypting)
    for arn, logical_id in keys.items():
        key = around.keys[arn]
        assert isinstance(key, dict)
        yield logical_id, key
    topics = {} if isinstance(around.topics, Unknown) else {arn: f"Topic{n}" for n, arn in enumerate(around.topics)}
    for logical_id in topics.values():
        yield logical_id, {"Type": TOPIC}
    for n, alarm in enumerate(() if isinstance(around.alarms, Unknown) else around.alarms):
        told = alarm.get("AlarmActions", ())
        actions: Any = [{"Ref": topics[a]} if a in topics else a for a in told]
        if isinstance(around.topics, Unknown) and alarm.get("ActionsEnabled", True) and any(":sns:" in a for a in told):
            actions = around.topics
        yield f"Alarm{n}", {"Type": ALARM, "Properties": {**alarm, "AlarmActions": actions}}


def _seen(name: str, found: Answers, around: Surroundings, stack: StackSeen) -> StoreSeen:
    t = found.table
    return StoreSeen(
        arn=found.arn,
        stack=stack,
        logical_id=f"Table/{name}",
        status=_try(lambda: str(t["TableStatus"]), t),  # type: ignore[index]
        owner=found.owner,
        created=t if isinstance(t, Unknown) else _time(t.get("CreationDateTime")),
        items=_count(t, "ItemCount"),
        size=_count(t, "TableSizeBytes"),
        indexes=_try(lambda: dict(_uses(name, _indexes(t, "Global"), around.reads)), t),
    )


def _table(name: str, found: Answers, keys: Mapping[str, Any]) -> Resource:
    """One table as a template writes it."""
    t = found.table

    def of(name: str, *default: Any) -> Any:
        """A member of DescribeTable's answer, as it is."""
        return _try(lambda: t.get(name, *default), t)  # type: ignore[union-attr]

    return shaped(
        TABLE,
        {
            "TableName": name,
            "AttributeDefinitions": of("AttributeDefinitions"),
            "KeySchema": of("KeySchema"),
            "GlobalSecondaryIndexes": _try(lambda: [_index(i) for i in _indexes(t, "Global")], t),
            "LocalSecondaryIndexes": _try(lambda: [_index(i) for i in _indexes(t, "Local")], t),
            "BillingMode": _try(lambda: of("BillingModeSummary", {}).get("BillingMode"), t),
            "ProvisionedThroughput": _try(lambda: _units(of("ProvisionedThroughput")), t),
            "DeletionProtectionEnabled": _try(lambda: of("DeletionProtectionEnabled") is True, t),
            "PointInTimeRecoverySpecification": _try(lambda: _recovery(found.backups), found.backups),
            "TimeToLiveSpecification": _try(lambda: _expiry(found.ttl["TimeToLiveDescription"]), found.ttl),  # type: ignore[index]
            "SSESpecification": _try(lambda: _encryption(t, keys), t),
            "StreamSpecification": _try(lambda: _stream(of("StreamSpecification", {})), t),
            "Tags": _try(lambda: _tags(found.tags), found.tags),
            # Settings that no field of a declaration asks for.
            "Replicas": _try(lambda: of("Replicas") or None, t),
            "TableClass": _try(lambda: _class(of("TableClassSummary", {})), t),
            "OnDemandThroughput": _try(lambda: _limits(of("OnDemandThroughput", {})), t),
            "ResourcePolicy": _try(lambda: _policy(found.policy), found.policy),
        },
        **KEPT,
    )


def of_aws(described: Answer) -> bool:
    """Whether a key is AWS's own, of which nothing more can be asked."""
    return bool(described["KeyMetadata"].get("KeyManager") == "AWS")


def key(described: Answer, rotation: Answer | Unknown, policy: Answer | Unknown) -> Resource:
    """A customer-managed key as KMS shows it."""
    data = described["KeyMetadata"]
    days = _try(lambda: rotation.get("RotationPeriodInDays"), rotation)  # type: ignore[union-attr]
    return shaped(
        KEY,
        {
            "EnableKeyRotation": _try(lambda: rotation["KeyRotationEnabled"] is True, rotation),  # type: ignore[index]
            "KeyPolicy": _try(lambda: bounded.tree(policy["Policy"]), policy),  # type: ignore[index]
            "RotationPeriodInDays": None if isinstance(days, Unknown) or days == ROTATION_DAYS else days,
            # Named with their values, because an external key may have others than a stack's own.
            **{f"{name} {data[name]}": True for name, usual in USUAL.items() if data.get(name, usual) != usual},
        },
        **KEPT,
    )


def observed_key(arn: str, found: Key) -> ObservedKey | Encryption | Unknown:
    """A key by itself, as rules see it."""
    if not isinstance(found, dict):
        return found
    alone = {"Resources": {"Key": found}}
    return observe_key(StackSeen(id="", where=arn, template=alone, source=Source.LIVE, arns={"Key": arn}), "Key")


def key_arn(table: Answer | Unknown) -> str | None:
    """The key that encrypts a table, where it is not DynamoDB's own."""
    if isinstance(table, Unknown):
        return None
    sse = table.get("SSEDescription")
    if not isinstance(sse, Mapping) or sse.get("Status") in ("DISABLED", "DISABLING"):
        return None
    arn = sse.get("KMSMasterKeyArn")
    return arn if isinstance(arn, str) else None


def described(answer: Any) -> Answer | None:
    """The table in an answer of DescribeTable; none where the answer holds none, whatever else it holds."""
    table = answer.get("Table") if isinstance(answer, Mapping) else None
    return table if isinstance(table, Mapping) and "TableName" in table and "TableStatus" in table else None


def index_names(table: Answer) -> list[str]:
    """The indexes of a table that can be asked about by name."""
    found = _try(lambda: [i.get("IndexName") for i in _indexes(table, "Global")])
    return [] if isinstance(found, Unknown) else [name for name in found if isinstance(name, str)]


def _indexes(t: Any, kind: str) -> list[Answer]:
    """One that is being deleted is no longer an index."""
    return [i for i in t.get(f"{kind}SecondaryIndexes", ()) if i.get("IndexStatus") != "DELETING"]


def _index(i: Answer) -> dict[str, Any]:
    units, limits = _units(i.get("ProvisionedThroughput")), _limits(i.get("OnDemandThroughput", {}))
    more = {"ProvisionedThroughput": units, "OnDemandThroughput": limits}
    return {**{k: i[k] for k in OF_INDEX}, **{k: v for k, v in more.items() if v}}


def _units(throughput: Any) -> dict[str, Any] | None:
    return {k: throughput[k] for k in UNITS} if throughput and any(throughput[k] for k in UNITS) else None


def _recovery(backups: Any) -> dict[str, Any]:
    pitr = backups["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
    on = _is(pitr.get("PointInTimeRecoveryStatus", "DISABLED"), ("ENABLED",), ("DISABLED",))
    days = pitr.get("RecoveryPeriodInDays")
    return {"PointInTimeRecoveryEnabled": on} | ({} if days is None else {"RecoveryPeriodInDays": days})


def _expiry(ttl: Answer) -> dict[str, Any]:
    # What is being switched off no longer protects; what is being switched on is on within the hour.
    on = _is(ttl.get("TimeToLiveStatus"), ("ENABLED", "ENABLING"), ("DISABLED", "DISABLING"))
    attribute = ttl.get("AttributeName") or Unknown("DynamoDB does not name the attribute")
    return {"Enabled": True, "AttributeName": attribute} if on else {"Enabled": False}


def _encryption(t: Any, keys: Mapping[str, Any]) -> dict[str, Any] | Unknown | None:
    status = t.get("SSEDescription", {}).get("Status")
    on = _is(status, ("ENABLED", "ENABLING", "UPDATING"), ("DISABLED", "DISABLING", None))
    if arn := key_arn(t):
        key = keys.get(arn, Unknown(f"key {arn} was not read"))
        managed = key is Encryption.AWS_MANAGED
        return {"SSEEnabled": True, "SSEType": "KMS"} | ({} if managed else {"KMSMasterKeyId": key})
    if on:
        return Unknown("it is encrypted with a key that DynamoDB does not name")
    return None


def _is(status: Any, on: tuple[str, ...], off: tuple[str | None, ...]) -> bool:
    """Whether a status means on; one that was never heard of means neither."""
    if status not in (*on, *off):
        raise ValueError(f"the status {status!r} is not known")
    return status in on


def _stream(stream: Answer) -> dict[str, str] | None:
    return {"StreamViewType": str(stream["StreamViewType"])} if stream.get("StreamEnabled") else None


def _tags(tags: Any) -> list[dict[str, str]]:
    """Without CloudFormation's own."""
    return [{"Key": k, "Value": v} for k, v in tags.items() if not k.startswith("aws:")]


def _class(summary: Answer) -> str | None:
    kind = summary.get("TableClass", "STANDARD")
    return None if kind == "STANDARD" else str(kind)


def _limits(throughput: Answer) -> dict[str, Any] | None:
    return {k: v for k, v in throughput.items() if v not in (None, -1)} or None  # -1 takes a limit away


def _policy(policy: Any) -> dict[str, Any] | None:
    text = policy.get("Policy") if policy is not None else None
    return {"PolicyDocument": bounded.tree(text)} if text else None


def _uses(
    name: str, indexes: list[Answer], reads: Mapping[tuple[str, str], float] | Unknown
) -> Iterator[tuple[str, IndexUse]]:
    for index in indexes:
        own = index["IndexName"]
        known = reads if isinstance(reads, Unknown) else reads.get((name, own), Unknown("CloudWatch left it out"))
        yield (
            own,
            IndexUse(
                items=_count(index, "ItemCount"),
                size=_count(index, "IndexSizeBytes"),
                reads=known,
                status=str(index.get("IndexStatus", "ACTIVE")),
            ),
        )


def _count(answer: Answer | Unknown, name: str) -> int | Unknown:
    if isinstance(answer, Unknown):
        return answer
    found = answer.get(name)
    return found if isinstance(found, int) else Unknown(f"DynamoDB gives no {name}")


def _time(value: Any) -> datetime | Unknown:
    try:
        return datetime.fromtimestamp(value, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return Unknown("DynamoDB gives no time")


def _try(parse: Any, *sources: Any) -> Any:
    """What ``parse`` makes of it; Unknown where a source is, or where the answer has another shape."""
    unknown = next((s for s in sources if isinstance(s, Unknown)), None)
    if unknown is not None:
        return unknown
    try:
        return parse()
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return Unknown(f"the answer cannot be understood ({type(error).__name__}: {error})")
