"""DynamoDB tables as CloudFormation and the API keep them on AWS, where ministack drops or forgets a property."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from holdfast.local import private

Json = dict[str, Any]
Response = tuple[int, Any, Any]

MAX_DAYS = 35
MANAGED = "alias/aws/dynamodb"
CREATED = (
    "KeySchema",
    "AttributeDefinitions",
    "ProvisionedThroughput",
    "LocalSecondaryIndexes",
    "TableClass",
    "OnDemandThroughput",
)
INDEX = ("IndexName", "KeySchema", "Projection", "ProvisionedThroughput", "OnDemandThroughput")
SAME_INDEX = (
    "Cannot update GSI's properties other than Provisioned Throughput and Contributor Insights Specification. "
    "You can create a new GSI with a different name."
)
ONE_INDEX = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
PER_REPLICA = ("PointInTimeRecoverySpecification", "Tags", "DeletionProtectionEnabled", "TableClass")


def complete() -> None:
    """Put the missing properties into ministack's API and into its CloudFormation engine."""
    api = private.module("ministack.services.dynamodb")
    engine = private.module("ministack.services.cloudformation.provisioners")
    drift = private.module("ministack.services.cloudformation.drift")
    region = private.module("ministack.core.responses").get_region
    _complete_api(api)
    _complete_keys(api, private.module("ministack.services.kms"))

    def create(logical_id: str, props: Json, stack: str) -> tuple[str, Json]:
        name = props.get("TableName") or engine._physical_name(stack, logical_id, max_len=255)
        call(api._create_table, _create_request(name, props, engine._tag_map(props.get("Tags"))))
        _settle(api, name, props, {})
        return name, engine._ddb_attrs(api._tables[name])

    update_rest = engine._ddb_update
    delete_now = engine._ddb_delete

    def update(physical: str, old: Json, new: Json, stack: str, logical_id: str | None = None) -> tuple[str, Json]:
        if physical not in api._tables:
            raise ValueError(f"Requested resource not found: Table: {physical} not found")
        _refuse_index_changes(_indexes(old), _indexes(new))
        name, attributes = update_rest(physical, _without_sse(old), _without_sse(new), stack, logical_id)
        _settle(api, name, new, old)
        return name, attributes

    def delete(physical: str, props: Json) -> None:
        if (api._tables.get(physical) or {}).get("DeletionProtectionEnabled"):
            raise ValueError(f"Resource cannot be deleted as it is protected against deletion: table {physical}")
        delete_now(physical, props)

    def flat(props: Json) -> Json:
        """A global table's properties in a table's shape: this region's replica folded in."""
        replicas = props.get("Replicas") or [{}]
        replica = next((r for r in replicas if r.get("Region") == region()), replicas[0])
        sse = props.get("SSESpecification")
        provisioned = props.get("BillingMode") != "PAY_PER_REQUEST"
        return {
            **props,
            **({"ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}} if provisioned else {}),
            **{key: replica[key] for key in PER_REPLICA if key in replica},
            **({"SSESpecification": {**sse, **(replica.get("SSESpecification") or {})}} if sse else {}),
        }

    # A replacement of a table goes through these two names.
    engine._ddb_create, engine._ddb_delete = create, delete
    handlers = engine._RESOURCE_HANDLERS
    handlers["AWS::DynamoDB::Table"].update(create=create, update=update, delete=delete)
    handlers["AWS::DynamoDB::GlobalTable"] = {
        "create": lambda logical_id, props, stack: create(logical_id, flat(props), stack),
        "update": lambda physical, old, new, stack: update(physical, flat(old), flat(new), stack),
        "delete": delete,
    }
    read, covered = drift._DRIFT_READERS["AWS::DynamoDB::Table"]

    def seen(physical: str, props: Json) -> Json | None:
        found: Json | None = read(physical, props)
        return None if found is None else {**found, **_live(api, physical, props)}

    drift._DRIFT_READERS["AWS::DynamoDB::Table"] = (
        seen,
        covered
        | {
            "PointInTimeRecoverySpecification",
            "TimeToLiveSpecification",
            "SSESpecification",
            "GlobalSecondaryIndexes",
        },
    )


def _refuse_index_changes(old: Json, new: Json) -> None:
    """An index never changes its key or what it projects, and one at a time is made or deleted."""
    for name in old.keys() & new.keys():
        if any(old[name].get(part) != new[name].get(part) for part in ("KeySchema", "Projection")):
            raise ValueError(SAME_INDEX)
    if len(old.keys() ^ new.keys()) > 1:
        raise ValueError("Cannot perform more than one GSI creation or deletion in a single update")


def call(operation: Any, *arguments: Any) -> Json:
    """An operation of the emulated API; its refusal becomes the reason that the stack fails with."""
    status, _, text = operation(*arguments)
    body = json.loads(text) if text else {}
    if status >= 400:
        raise ValueError(body.get("message") or body.get("Message") or str(body))
    return dict(body)


def truth(value: object) -> bool:
    """A template's boolean, which may be written as text."""
    return str(value).lower() == "true"


def _complete_api(api: Any) -> None:
    """Days of recovery, one attribute for expiry, one index at a time, and what an index holds."""
    update_table = api._update_table
    update_backups, describe_backups = api._update_continuous_backups, api._describe_continuous_backups
    update_expiry, describe = api._update_ttl, api._table_description

    def refused(why: str, kind: str = "ValidationException") -> Response:
        response: Response = api.error_response_json(kind, why, 400)
        return response

    def set_backups(data: Json) -> Response:
        wanted = data.get("PointInTimeRecoverySpecification", {})
        days = int(wanted.get("RecoveryPeriodInDays") or MAX_DAYS)
        if not 1 <= days <= MAX_DAYS:
            return refused(f"RecoveryPeriodInDays must be between 1 and {MAX_DAYS}, not {days}")
        response: Response = update_backups(data)
        name = api._normalize_table_name(data.get("TableName"))
        if response[0] < 400 and api._pitr_settings.get(name):
            api._pitr_settings[name] = days  # ministack keeps true: a number is as true, and saved with the rest
        return _with_days(api, response if response[0] >= 400 else describe_backups(data), name)

    def set_expiry(data: Json) -> Response:
        name, wanted = api._normalize_table_name(data.get("TableName")), data.get("TimeToLiveSpecification", {})
        now = api._ttl_settings.get(name, {})
        active = now.get("TimeToLiveStatus") == "ENABLED"
        if active and now.get("AttributeName") != wanted.get("AttributeName"):
            return refused(f"TimeToLive is active on a different AttributeName: {now['AttributeName']}")
        response: Response = update_expiry(data)
        return response

    def set_table(data: Json) -> Response:
        steps = [s for s in data.get("GlobalSecondaryIndexUpdates") or () if "Create" in s or "Delete" in s]
        if len(steps) > 1:
            return refused(ONE_INDEX, "LimitExceededException")
        response: Response = update_table(data)
        return response

    def description(name: str) -> Json:
        table, shown = api._tables[name], describe(name)
        if shown.get("GlobalSecondaryIndexes"):
            items = [item for by_sort in table["items"].values() for item in by_sort.values()]
            shown["GlobalSecondaryIndexes"] = [
                _index_description(index, table["TableArn"], items) for index in shown["GlobalSecondaryIndexes"]
            ]
        return dict(shown)

    api._update_continuous_backups = set_backups
    api._describe_continuous_backups = lambda data: _with_days(
        api, describe_backups(data), api._normalize_table_name(data.get("TableName"))
    )
    api._update_ttl = set_expiry
    api._update_table = set_table
    api._table_description = description


def _with_days(api: Any, response: Response, name: str) -> Response:
    if response[0] >= 400:
        return response
    body = json.loads(response[2])
    recovery = body["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    if recovery["PointInTimeRecoveryStatus"] == "ENABLED":
        days, now = int(api._pitr_settings[name]), recovery["LatestRestorableDateTime"]
        since = api._tables[name].setdefault("RecoverableSince", now)  # beside what ministack shows of a table
        recovery |= {"RecoveryPeriodInDays": days, "EarliestRestorableDateTime": max(since, now - days * 86_400)}
    else:
        api._tables[name].pop("RecoverableSince", None)
    answer: Response = api.json_response(body)
    return answer


def _complete_keys(api: Any, kms: Any) -> None:
    """The account's AWS-managed key for DynamoDB: made when a table first asks for it, and known to KMS."""
    describe, metadata = api._sse_description_from_spec, kms._key_metadata

    def managed() -> str:
        if not kms._resolve_key(MANAGED):
            made = call(kms._create_key, {"Description": "DynamoDB tables that name no key of their own"})
            key = made["KeyMetadata"]["KeyId"]
            call(kms._create_alias, {"AliasName": MANAGED, "TargetKeyId": key})
            call(kms._enable_key_rotation, {"KeyId": key})
            kms._resolve_key(MANAGED)["by_aws"] = True
        return str(kms._resolve_key(MANAGED)["Arn"])

    def described(spec: Json | None) -> Json | None:
        found: Json | None = describe(spec)
        if not found or found["Status"] != "ENABLED" or "KMSMasterKeyArn" not in found:
            return found
        if found["KMSMasterKeyArn"].endswith(MANAGED):
            return {**found, "KMSMasterKeyArn": managed()}
        key = kms._resolve_key(found["KMSMasterKeyArn"])  # an id or an alias was given; a table shows the key
        return {**found, **({"KMSMasterKeyArn": key["Arn"]} if key else {})}

    def with_manager(record: Json, *rest: Any, **named: Any) -> Json:
        manager = {"KeyManager": "AWS"} if record.get("by_aws") else {}
        return {**metadata(record, *rest, **named), **manager}

    api._sse_description_from_spec = described
    kms._key_metadata = with_manager


def _index_description(index: Json, table_arn: str, items: list[Json]) -> Json:
    keys = [k["AttributeName"] for k in index["KeySchema"]]
    inside = [item for item in items if all(key in item for key in keys)]
    return {
        **index,
        "IndexStatus": index.get("IndexStatus", "ACTIVE"),
        "IndexArn": f"{table_arn}/index/{index['IndexName']}",
        "ItemCount": len(inside),
        "IndexSizeBytes": sum(len(json.dumps(item)) for item in inside),
    }


def _create_request(name: str, props: Json, tags: Mapping[str, str]) -> Json:
    request = {"TableName": name, "BillingMode": props.get("BillingMode", "PROVISIONED")}
    request |= {key: props[key] for key in CREATED if key in props}
    request["DeletionProtectionEnabled"] = truth(props.get("DeletionProtectionEnabled"))
    if props.get("GlobalSecondaryIndexes"):
        request["GlobalSecondaryIndexes"] = [
            {key: index[key] for key in INDEX if key in index} for index in props["GlobalSecondaryIndexes"]
        ]
    if view := (props.get("StreamSpecification") or {}).get("StreamViewType"):
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
    if props.get("SSESpecification"):
        request["SSESpecification"] = _encryption(props)
    if tags:
        request["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
    return request


def _encryption(props: Json) -> Json:
    declared = props.get("SSESpecification") or {}
    if not truth(declared.get("SSEEnabled")):
        return {"Enabled": False}
    key = declared.get("KMSMasterKeyId")
    return {"Enabled": True, "SSEType": declared.get("SSEType", "KMS"), **({"KMSMasterKeyId": key} if key else {})}


def _settle(api: Any, name: str, props: Json, old: Json) -> None:
    """What CloudFormation sets by calls of their own, once the table is there."""

    def changed(key: str) -> bool:
        return bool(props.get(key) != old.get(key))

    if changed("PointInTimeRecoverySpecification"):
        wanted = props.get("PointInTimeRecoverySpecification") or {}
        days = wanted.get("RecoveryPeriodInDays")
        request = {
            "PointInTimeRecoveryEnabled": truth(wanted.get("PointInTimeRecoveryEnabled")),
            **({"RecoveryPeriodInDays": days} if days else {}),
        }
        call(api._update_continuous_backups, {"TableName": name, "PointInTimeRecoverySpecification": request})
    if changed("TimeToLiveSpecification"):
        wanted = props.get("TimeToLiveSpecification") or {**old["TimeToLiveSpecification"], "Enabled": False}
        request = {"Enabled": truth(wanted.get("Enabled")), "AttributeName": wanted.get("AttributeName", "")}
        call(api._update_ttl, {"TableName": name, "TimeToLiveSpecification": request})
    if old and changed("SSESpecification"):
        call(api._update_table, {"TableName": name, "SSESpecification": _encryption(props)})


def _live(api: Any, name: str, props: Json) -> Json:
    """The live table's properties in a template's shape, as far as the template declares them."""
    backups = call(api._describe_continuous_backups, {"TableName": name})["ContinuousBackupsDescription"]
    recovery = backups["PointInTimeRecoveryDescription"]
    expiry = api._ttl_settings.get(name, {})
    key = api._tables[name].get("SSEDescription") or {}
    declared = props.get("SSESpecification") or {}
    return {
        "PointInTimeRecoverySpecification": _declared(
            props.get("PointInTimeRecoverySpecification"),
            PointInTimeRecoveryEnabled=recovery["PointInTimeRecoveryStatus"] == "ENABLED",
            RecoveryPeriodInDays=recovery.get("RecoveryPeriodInDays"),
        ),
        "TimeToLiveSpecification": _declared(
            props.get("TimeToLiveSpecification"),
            Enabled=expiry.get("TimeToLiveStatus") == "ENABLED",
            AttributeName=expiry.get("AttributeName"),
        ),
        "SSESpecification": _declared(
            declared,
            SSEEnabled=key.get("Status") == "ENABLED",
            KMSMasterKeyId=key.get("KMSMasterKeyArn"),
            SSEType=key.get("SSEType"),
        ),
        "GlobalSecondaryIndexes": [
            {part: index[part] for part in ("IndexName", "KeySchema", "Projection") if part in index}
            for index in api._tables[name].get("GlobalSecondaryIndexes") or []
        ],
    }


def _declared(template: Json | None, **live: object) -> Json:
    return {key: value for key, value in live.items() if key in (template or {}) and value is not None}


def _indexes(props: Json) -> Json:
    return {index["IndexName"]: index for index in props.get("GlobalSecondaryIndexes") or []}


def _without_sse(props: Json) -> Json:
    return {key: value for key, value in props.items() if key != "SSESpecification"}
