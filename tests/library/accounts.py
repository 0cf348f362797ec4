"""Accounts made by hand: the shop as if it had just been deployed, with whatever is changed about it."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

from shop import ESTATE
from shop_synth import synthesized

from holdfast import Encryption, Tier
from holdfast.cfn.template import Source, StackSeen
from holdfast.cfn.types import ALARM, KEY
from holdfast.estate.placement import Placed
from holdfast.kinds.table.declaration import Index, Key
from holdfast.kinds.table.live import KEPT, observed
from holdfast.kinds.table.observed import Observed
from holdfast.kinds.table.template import observe
from holdfast.shared.account import Account, IndexUse, StackLive, StoreSeen, Units
from holdfast.shared.key.observed import ObservedKey
from holdfast.unknown import Unknown

NOW = datetime(2026, 4, 23, 12, tzinfo=UTC)
CREATED = datetime(2025, 6, 1, tzinfo=UTC)
UPDATED = datetime(2026, 2, 4, 12, tzinfo=UTC)
ID = "000000000000"
USUAL = {"KeySpec": "SYMMETRIC_DEFAULT", "Origin": "AWS_KMS"}  # settings of a key that do no harm, and are undeclared
# Where a template says what is observed, and it says it alike.
PROPERTIES = {
    "deletion_protection": "DeletionProtectionEnabled",
    "billing": "BillingMode",
    "capacity": "ProvisionedThroughput",
    "key": "KeySchema",
    "indexes": "GlobalSecondaryIndexes",
    "local_indexes": "LocalSecondaryIndexes",
    "ttl": "TimeToLiveSpecification",
    "tags": "Tags",
    "stream": "StreamSpecification",
    "encryption": "SSESpecification",
    "extras": "TableClass",
}
EVERY = tuple(s.id for s in ESTATE.stacks)


@cache
def template(stack: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((synthesized() / f"{stack}.template.json").read_text(encoding="utf-8"))
    return found


def deployed(placed: Placed, resources: Mapping[str, Any] | None = None) -> StackLive:
    """A stack that was deployed as it is synthesized, or with these resources instead."""
    document = template(placed.id)
    seen = StackSeen(
        id=placed.name,
        name=placed.name,
        where=placed.name,
        template=document if resources is None else document | {"Resources": resources},
        region=placed.region,
        protected=placed.env.tier is Tier.PROD,
        source=Source.DEPLOYED,
    )
    return StackLive(seen=seen, status="UPDATE_COMPLETE", created=CREATED, updated=UPDATED)


def live(stack: StackSeen, region: str) -> dict[str, StoreSeen]:
    """The live tables that a deployed template gives, by name."""
    resources = copy.deepcopy(dict(stack.template["Resources"]))
    arns = {}
    for logical_id, resource in resources.items():
        if isinstance(resource, dict) and resource.get("Type") == KEY:
            resource.update(KEPT)
            arns[logical_id] = f"arn:aws:kms:{region}:{ID}:key/{stack.id}"
            resource["Properties"]["KeyPolicy"] = _deployed(resource["Properties"].get("KeyPolicy"))
    there = {o.where.rpartition("#")[2]: o for o in observe(stack)}
    for logical_id, o in there.items():
        resources[logical_id].update(KEPT)
        arns[logical_id] = f"arn:aws:dynamodb:{region}:{ID}:table/{o.name}"
    template = {**stack.template, "Resources": resources}
    seen = replace(stack, source=Source.LIVE, template=template, arns=arns)
    return {
        str(o.name): StoreSeen(
            arn=arns[logical_id],
            stack=seen,
            logical_id=logical_id,
            status="ACTIVE",
            owner=o.stack,
            created=CREATED,
            items=0,
            size=0,
            restorable=CREATED if o.recovery is True else None,
            reads=Units(),
            writes=Units(),
            indexes={i: IndexUse(items=0, size=0, reads=Units()) for i in o.indexes},  # type: ignore[union-attr]
        )
        for logical_id, o in there.items()
    }


def changed(seen: StoreSeen, **observed: Any) -> StoreSeen:
    """A live table with other values of what is observed of it; of alarms, ``topics`` may be unread by themselves."""
    resources = copy.deepcopy(dict(seen.stack.template["Resources"]))
    resource, arns, unread = resources[seen.logical_id], dict(seen.stack.arns), dict(seen.stack.unread)
    p = resource["Properties"]
    alarms = [r["Properties"] for r in resources.values() if r["Type"] == ALARM]
    for field, value in observed.items():
        match field, value:
            case "name", _:
                arns[seen.logical_id] = seen.arn.replace(p["TableName"], value)
                p["TableName"] = value
            case "deletion_policy", _:
                resource["DeletionPolicy"] = value
            case "update_replace_policy", _:
                resource["UpdateReplacePolicy"] = value
            case "recovery", _:
                _in(p, "PointInTimeRecoverySpecification", PointInTimeRecoveryEnabled=value)
            case "recovery_days", _:
                _in(p, "PointInTimeRecoverySpecification", RecoveryPeriodInDays=value)
            case "ttl", str() | None:
                p["TimeToLiveSpecification"] = {"Enabled": bool(value), "AttributeName": value}
            case "tags", dict():
                p["Tags"] = [{"Key": k, "Value": v} for k, v in value.items()]
            case "key", Key():
                p["KeySchema"] = _schema(p, value)
            case "indexes", dict():
                p["GlobalSecondaryIndexes"] = [_index(p, i) for i in value.values()]
            case "encryption", Encryption():
                p["SSESpecification"] = {"SSEEnabled": value is not Encryption.AWS_OWNED}
            case "encryption", ObservedKey():
                (id_, _) = p["SSESpecification"]["KMSMasterKeyId"]["Fn::GetAtt"]
                more = {e: USUAL.get(e, True) for e in value.extras}
                key = {"EnableKeyRotation": value.rotation, "KeyPolicy": value.policy}
                resources[id_]["Properties"] = key | more
                arns[id_] = value.where
            case "watched", frozenset():
                resources = {i: r for i, r in resources.items() if r["Type"] != ALARM}
            case "watched" | "alarms", Unknown():
                unread[ALARM] = value
            case "alarms", dict():
                for alarm in alarms:
                    alarm["ActionsEnabled"] = value.get(alarm["AlarmName"], {}).get("notifies", True)
            case "topics", _:
                for alarm in alarms:
                    alarm["AlarmActions"] = value
            case _:
                p[PROPERTIES[field]] = value
    template = {**seen.stack.template, "Resources": resources}
    stack = replace(seen.stack, template=template, arns=arns, unread=unread)
    return replace(seen, stack=stack, arn=arns[seen.logical_id])


def _in(properties: dict[str, Any], name: str, **changes: Any) -> None:
    both = properties.get(name, {}) | changes
    properties[name] = {k: v for k, v in both.items() if v is not None}


def _schema(properties: dict[str, Any], key: Key) -> list[dict[str, str]]:
    types = {d["AttributeName"]: d["AttributeType"] for d in properties["AttributeDefinitions"]}
    types |= {a.name: a.kind.value for a in key.attributes}
    properties["AttributeDefinitions"] = [{"AttributeName": k, "AttributeType": v} for k, v in types.items()]
    return [
        {"AttributeName": a.name, "KeyType": role} for a, role in zip(key.attributes, ("HASH", "RANGE"), strict=False)
    ]


def _index(properties: dict[str, Any], index: Index) -> dict[str, Any]:
    projection = {"ProjectionType": index.projection.value}
    return {"IndexName": index.name, "KeySchema": _schema(properties, index.key), "Projection": projection}


def _deployed(part: Any) -> Any:
    """A value of a template as CloudFormation deploys it to the account."""
    if isinstance(part, list):
        return [_deployed(p) for p in part]
    if not isinstance(part, dict):
        return part
    if "Fn::Join" in part:
        separator, words = part["Fn::Join"]
        return separator.join(map(_deployed, words))
    return ID if part == {"Ref": "AWS::AccountId"} else {k: _deployed(v) for k, v in part.items()}


def account(region: str, ids: tuple[str, ...] = EVERY, **changes: Any) -> Account:
    """Everything that these stacks declare for a region, deployed and live."""
    return replace(_account(region, ids), **changes)


@cache
def _account(region: str, ids: tuple[str, ...]) -> Account:
    there = [p for p in ESTATE.placements() if p.stack.id in ids and p.region == region]
    stacks = {p.name: deployed(p) for p in there}
    tables: dict[str, StoreSeen] = {}
    for stack in stacks.values():
        assert isinstance(stack.seen, StackSeen)
        tables |= live(stack.seen, region)
    return Account(id=ID, region=region, tables=tables, stacks=stacks)


def with_table(account: Account, name: str, *, observed: Mapping[str, Any] | None = None, **changes: Any) -> Account:
    """``account`` with one live table changed."""
    assert isinstance(account.tables, Mapping)
    table = replace(changed(account.tables[name], **(observed or {})), **changes)
    return replace(account, tables=dict(account.tables) | {name: table})


def seen_of(account: Account, name: str) -> Observed:
    """What is observed of a live table."""
    assert isinstance(account.tables, Mapping)
    return observed(account.tables[name])


def without(account: Account, *names: str) -> Account:
    """``account`` without these live tables."""
    assert isinstance(account.tables, Mapping)
    return replace(account, tables={n: t for n, t in account.tables.items() if n not in names})
