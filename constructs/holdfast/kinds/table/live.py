"""What DynamoDB and KMS answer, as observations. Pure: answers in, TableSeen out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from holdfast.cfn.template import Source
from holdfast.kinds.table.declaration import AttributeType, Index, Key
from holdfast.kinds.table.observed import TABLE, Observed, parse_capacity, parse_index, parse_key, parse_kinds
from holdfast.model.facts import Encryption
from holdfast.shared.account import ONLY_IN_TEMPLATES, IndexUse, TableSeen
from holdfast.shared.key.observed import ObservedKey
from holdfast.unknown import Unknown

Answer = Mapping[str, Any]
ROTATION_DAYS = 365  # what KMS does unless told otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What was answered about one table; ``policy`` is None where there is none."""

    table: Answer | Unknown
    backups: Answer | Unknown
    ttl: Answer | Unknown
    policy: Answer | Unknown | None
    tags: Mapping[str, str] | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What stands around the tables of an account: keys, alarms, and how often indexes were read."""

    keys: Mapping[str, ObservedKey | Encryption | Unknown]
    watched: Mapping[str, frozenset[tuple[str | None, str]]] | Unknown
    alarms: Mapping[str, Mapping[str, Mapping[str, Any]]] | Unknown
    reads: Mapping[tuple[str, str], float] | Unknown


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
    """The indexes of a table that can be asked about by name; one that is being deleted is no longer one."""
    indexes = table.get("GlobalSecondaryIndexes")
    found = [i for i in indexes if isinstance(i, Mapping)] if isinstance(indexes, list) else []
    return [i["IndexName"] for i in found if isinstance(i.get("IndexName"), str) and not _going(i)]


def _going(index: Answer) -> bool:
    return index.get("IndexStatus") == "DELETING"


def seen(name: str, arn: str, found: Answers, around: Surroundings, stack: str | Unknown | None) -> TableSeen:
    """One live table; what was not answered is Unknown, and so is an answer that cannot be understood."""
    t = found.table
    if not isinstance(t, Unknown):
        arn = str(t.get("TableArn", arn))
    return TableSeen(
        observed=observed(name, arn, found, around, stack if isinstance(stack, str) else ""),
        arn=arn,
        status=_try(lambda: str(_of(t, "TableStatus")), t),
        created=t if isinstance(t, Unknown) else _time(t.get("CreationDateTime")),
        items=_count(t, "ItemCount"),
        size=_count(t, "TableSizeBytes"),
        indexes=_try(lambda: dict(_uses(name, _of(t, "GlobalSecondaryIndexes", ()), around.reads)), t),
        stack=stack,
    )


def observed(name: str, arn: str, found: Answers, around: Surroundings, stack: str) -> Observed:
    t = found.table
    kinds = _try(lambda: parse_kinds(_of(t, "AttributeDefinitions")), t)
    recovery, days = _recovery(found.backups)
    return Observed(
        source=Source.LIVE,
        stack=stack,
        where=arn,
        type=TABLE,
        name=name,
        key=_try(lambda: _key(_of(t, "KeySchema"), kinds), t, kinds),
        indexes=_try(lambda: dict(_indexes(_of(t, "GlobalSecondaryIndexes", []), kinds)), t, kinds),
        billing=_try(lambda: _of(t, "BillingModeSummary", {}).get("BillingMode", "PROVISIONED"), t),
        deletion_protection=_try(lambda: _of(t, "DeletionProtectionEnabled", False) is True, t),
        deletion_policy=ONLY_IN_TEMPLATES,
        update_replace_policy=ONLY_IN_TEMPLATES,
        recovery=recovery,
        recovery_days=days,
        ttl=_try(lambda: _expiry(_of(found.ttl, "TimeToLiveDescription")), found.ttl),
        encryption=_try(lambda: _encryption(t, around.keys), t),
        tags=found.tags
        if isinstance(found.tags, Unknown)
        else {k: v for k, v in found.tags.items() if not k.startswith("aws:")},
        stream=_try(lambda: _stream(_of(t, "StreamSpecification", {})), t),
        watched=around.watched if isinstance(around.watched, Unknown) else around.watched.get(name, frozenset()),
        alarms=around.alarms if isinstance(around.alarms, Unknown) else around.alarms.get(name, {}),
        extras=_try(lambda: dict(_extras(t, found.policy)), t, found.policy),
        local_indexes=_try(lambda: dict(_indexes(_of(t, "LocalSecondaryIndexes", []), kinds)), t, kinds),
        capacity=_try(lambda: parse_capacity(_of(t, "ProvisionedThroughput", None)), t),
    )


def key(arn: str, described: Answer, rotation: Answer | Unknown, policy: Answer | Unknown) -> ObservedKey | Encryption:
    """A key as KMS shows it; AWS's own has no owner here."""
    data = described["KeyMetadata"]
    if data.get("KeyManager") == "AWS":
        return Encryption.AWS_MANAGED
    return ObservedKey(
        where=str(data.get("Arn", arn)),
        rotation=_try(lambda: _of(rotation, "KeyRotationEnabled") is True, rotation),
        policy=_try(lambda: json.loads(_of(policy, "Policy")), policy),
        deletion_policy=ONLY_IN_TEMPLATES,
        update_replace_policy=ONLY_IN_TEMPLATES,
        extras=frozenset(_key_extras(data, rotation)),
    )


def _key_extras(data: Answer, rotation: Answer | Unknown) -> Iterator[str]:
    if data.get("KeyState", "Enabled") != "Enabled":
        yield f"KeyState {data['KeyState']}"
    if data.get("MultiRegion"):
        yield "MultiRegion"
    if data.get("Origin", "AWS_KMS") != "AWS_KMS":
        yield "Origin"
    if not isinstance(rotation, Unknown) and rotation.get("RotationPeriodInDays", ROTATION_DAYS) != ROTATION_DAYS:
        yield "RotationPeriodInDays"


def _encryption(t: Answer | Unknown, keys: Mapping[str, ObservedKey | Encryption | Unknown]) -> Any:
    arn = key_arn(t)
    if arn:
        return keys.get(arn, Unknown(f"key {arn} was not read"))
    sse = _of(t, "SSEDescription", {})
    if sse.get("Status") in ("ENABLED", "ENABLING", "UPDATING"):
        return Unknown("it is encrypted with a key that DynamoDB does not name")
    return Encryption.AWS_OWNED


def _recovery(backups: Answer | Unknown) -> tuple[bool | Unknown, int | Unknown | None]:
    pitr = _try(lambda: _of(backups, "ContinuousBackupsDescription").get("PointInTimeRecoveryDescription", {}), backups)
    status = _try(lambda: pitr.get("PointInTimeRecoveryStatus", "DISABLED"), pitr)
    if isinstance(status, Unknown):
        return status, status
    return status == "ENABLED", pitr.get("RecoveryPeriodInDays")


def _expiry(ttl: Answer) -> str | Unknown | None:
    # What is being switched off no longer protects; what is being switched on is on within the hour.
    if ttl.get("TimeToLiveStatus") not in ("ENABLED", "ENABLING"):
        return None
    attribute = ttl.get("AttributeName")
    return str(attribute) if attribute else Unknown("DynamoDB does not name the attribute")


def _stream(stream: Answer) -> str | None:
    return str(stream["StreamViewType"]) if stream.get("StreamEnabled") else None


def _key(schema: Sequence[Mapping[str, str]], kinds: Mapping[str, AttributeType]) -> Key:
    if len({part["KeyType"] for part in schema}) < len(schema):
        raise ValueError("several attributes make up one part of the key, which no declaration can ask for")
    return parse_key(schema, kinds)


def _indexes(indexes: Sequence[Answer], kinds: Mapping[str, AttributeType]) -> Iterator[tuple[str, Index | Unknown]]:
    for index in (i for i in indexes if not _going(i)):
        yield (
            index["IndexName"],
            _try(lambda index=index: _key(index["KeySchema"], kinds) and parse_index(index, kinds)),
        )


def _uses(
    name: str, indexes: Sequence[Answer], reads: Mapping[tuple[str, str], float] | Unknown
) -> Iterator[tuple[str, IndexUse]]:
    for index in (i for i in indexes if not _going(i)):
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


def _extras(t: Answer | Unknown, policy: Answer | Unknown | None) -> Iterator[tuple[str, Any]]:
    """Settings that no field of a declaration asks for, named and shaped as CloudFormation has them."""
    if replicas := _of(t, "Replicas", []):
        yield "Replicas", replicas
    if (kind := _of(t, "TableClassSummary", {}).get("TableClass", "STANDARD")) != "STANDARD":
        yield "TableClass", kind
    if limits := _limits(_of(t, "OnDemandThroughput", {})):
        yield "OnDemandThroughput", limits
    of_indexes = [_limits(i.get("OnDemandThroughput", {})) for i in _of(t, "GlobalSecondaryIndexes", [])]
    if any(of_indexes):
        yield "GlobalSecondaryIndexes.OnDemandThroughput", of_indexes
    if policy is not None and (text := _of(policy, "Policy", None)):
        yield "ResourcePolicy", {"PolicyDocument": json.loads(text)}


def _limits(throughput: Answer) -> dict[str, Any]:
    return {k: v for k, v in throughput.items() if v not in (None, -1)}  # -1 takes a limit away


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


def _of(answer: Any, name: str, *default: Any) -> Any:
    """A member of an answer that is there; ``_try`` has looked at the Unknowns before."""
    return answer.get(name, *default) if default else answer[name]


def _try(parse: Any, *sources: Any) -> Any:
    """What ``parse`` makes of it; Unknown where a source is, or where the answer has another shape."""
    unknown = next((s for s in sources if isinstance(s, Unknown)), None)
    if unknown is not None:
        return unknown
    try:
        return parse()
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return Unknown(f"the answer cannot be understood ({type(error).__name__}: {error})")
