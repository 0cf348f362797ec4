"""What DynamoDB, KMS and CloudWatch answer, in CloudFormation's words. Pure: answers in, resources out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from holdfast.cfn import bounded
from holdfast.cfn.template import Source, StackSeen
from holdfast.cfn.types import ALARM, KEY, TOPIC
from holdfast.days import day
from holdfast.kinds.table import template
from holdfast.kinds.table.observed import TABLE, Observed
from holdfast.model.facts import Encryption
from holdfast.shared.account import ONLY_IN_TEMPLATES, Account, IndexUse, StoreSeen, Units
from holdfast.shared.key.observed import ObservedKey, observe_key
from holdfast.shared.live import Answer, Resource, shaped
from holdfast.unknown import Unknown

Key = Resource | Encryption | Unknown  # a customer's, AWS's, or one that cannot be read
KEPT = {"DeletionPolicy": ONLY_IN_TEMPLATES, "UpdateReplacePolicy": ONLY_IN_TEMPLATES}
USUAL = {"KeyState": "Enabled", "MultiRegion": False, "Origin": "AWS_KMS"}
ROTATION_DAYS = 365  # what KMS does unless told otherwise
DELETED = Unknown("the key is deleted")
DELETED_KEY = shaped(KEY, {"EnableKeyRotation": DELETED, "KeyPolicy": DELETED, "KeyState Deleted": True}, **KEPT)
UNITS = ("ReadCapacityUnits", "WriteCapacityUnits")
OF_INDEX = ("IndexName", "KeySchema", "Projection")
READS, WRITES = "ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"
NOT_COUNTED = Unknown("CloudWatch left it out, or was not asked")
WEEK, MONTH = 7, 30  # whole days that are counted, and what there is of today


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


@dataclass(frozen=True, slots=True)
class Metric:
    """What CloudWatch counts of a table; ``index`` is None for the table itself, which leaves its indexes out."""

    name: str
    table: str
    index: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What stands around the tables of an account: keys, alarms, topics, and how much they were read and written."""

    keys: Mapping[str, Key]
    alarms: Collection[Answer] | Unknown
    topics: Collection[str] | Unknown
    units: Mapping[Metric, Units | Unknown]


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


def manager(account: Account, live: StoreSeen) -> str | Unknown | None:
    """The stack that manages a live table; none where the one that made it is deleted, or has let it go."""
    owner, stacks = live.owner, account.stacks
    if not isinstance(owner, str):
        return owner
    if isinstance(stacks, Unknown):
        return stacks
    if owner not in stacks:
        return None
    seen = stacks[owner].seen
    names = None if isinstance(seen, Unknown) else [name for _, name in template.table_names(seen)]
    of_it = names is None or any(isinstance(n, Unknown) or n == live.arn.rpartition("/")[2] for n in names)
    return owner if of_it else None


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
        restorable=_try(lambda: _restorable(found.backups), found.backups),
        without_key=_try(lambda: _without_key(t), t),
        reads=around.units.get(Metric(READS, name), NOT_COUNTED),
        writes=around.units.get(Metric(WRITES, name), NOT_COUNTED),
        indexes=_try(lambda: dict(_uses(name, _indexes(t, "Global"), around.units)), t),
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


def metrics(name: str, table: Answer) -> list[Metric]:
    """What is asked of CloudWatch about a table and those of its indexes that can be asked about by name."""
    found = _try(lambda: [i.get("IndexName") for i in _indexes(table, "Global")])
    indexes = [] if isinstance(found, Unknown) else [Metric(READS, name, i) for i in found if isinstance(i, str)]
    return [Metric(READS, name), Metric(WRITES, name), *indexes]


def units(results: Sequence[Answer], today: date) -> Units | Unknown:
    """What CloudWatch answered of one metric, in as many pages; a day without units has no data point."""
    if not results or results[-1].get("StatusCode", "Complete") != "Complete":
        return NOT_COUNTED

    def counted() -> Units:
        days = [(day(on), float(n)) for r in results for on, n in zip(r["Timestamps"], r["Values"], strict=True)]
        week, month = (sum(n for on, n in days if (today - on).days <= many) for many in (WEEK, MONTH))
        return Units(week, month, max((on for on, n in days if n > 0), default=None))

    found: Units | Unknown = _try(counted)
    return found


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


def _restorable(backups: Any) -> datetime | Unknown | None:
    pitr = backups["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
    on = pitr.get("PointInTimeRecoveryStatus", "DISABLED") == "ENABLED"
    return _time(pitr.get("EarliestRestorableDateTime")) if on else None


def _without_key(t: Any) -> datetime | Unknown | None:
    since = t.get("SSEDescription", {}).get("InaccessibleEncryptionDateTime")
    return None if since is None else _time(since)


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


def _uses(name: str, indexes: list[Answer], units: Mapping[Metric, Units | Unknown]) -> Iterator[tuple[str, IndexUse]]:
    for index in indexes:
        own = index["IndexName"]
        yield (
            own,
            IndexUse(
                items=_count(index, "ItemCount"),
                size=_count(index, "IndexSizeBytes"),
                reads=units.get(Metric(READS, name, own), NOT_COUNTED),
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
