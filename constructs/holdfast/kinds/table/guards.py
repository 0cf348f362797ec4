"""How the guards of tables are read from a template in normal form."""

from __future__ import annotations

from typing import Any

from holdfast.cfn.strength import number_or, on, own_key, there
from holdfast.cfn.tree import mapping, read
from holdfast.kinds.table.observed import GLOBAL_TABLE, TABLE
from holdfast.model.facts import Guard
from holdfast.shared.readings import BACKUPS, GuardReading, Protection, at, deletion_protection, guard, properties

Json = dict[str, Any]
RECOVERY, ENCRYPTION = "PointInTimeRecoverySpecification", "SSESpecification"


def _recovery_days(recovery: Any) -> float | None:
    """DynamoDB keeps 35 days unless told otherwise."""
    asked = on(read(recovery, ("PointInTimeRecoveryEnabled",)))
    return number_or(35.0)(recovery.get("RecoveryPeriodInDays")) if asked else 0.0


def _key(encryption: Any) -> float | None:
    return own_key(encryption.get("KMSMasterKeyId")) if on(read(encryption, ("SSEEnabled",))) else 0.0


PROTECTIONS = (
    Protection(
        type=TABLE,
        name="TableName",
        readings=(
            deletion_protection("DeletionProtectionEnabled"),
            guard(f"{RECOVERY}/PointInTimeRecoveryEnabled", on, Guard.PITR),
            at(
                f"{RECOVERY}/RecoveryPeriodInDays",
                _recovery_days,
                BACKUPS,
                of=properties(RECOVERY),
                within=Guard.PITR.label,
            ),
            guard(f"{ENCRYPTION}/KMSMasterKeyId", _key, Guard.CUSTOMER_KEY, of=properties(ENCRYPTION)),
            at(f"{ENCRYPTION}/SSEEnabled", on, "encryption with a KMS key", within=Guard.CUSTOMER_KEY.label),
        ),
    ),
    Protection(type=GLOBAL_TABLE, name="TableName"),  # read as a table, and replica by replica
    Protection(
        type="AWS::DynamoDB::ResourcePolicy",
        fixed=(("ResourceArn", "the policy is no longer on its table", ""),),
    ),
    Protection(
        type="AWS::Kinesis::ResourcePolicy",
        fixed=(("ResourceArn", "the policy is no longer on its stream", ""),),
    ),
    Protection(
        type="AWS::Lambda::EventSourceMapping",
        readings=(at("DestinationConfig/OnFailure", there, "queue for failed records"),),
    ),
)
OF_REPLICA = tuple(
    GuardReading(of.label, path, strength, of.short)
    for of, path, strength in (
        (Guard.DELETION_PROTECTION, ("DeletionProtectionEnabled",), on),
        (Guard.PITR, (RECOVERY, "PointInTimeRecoveryEnabled"), on),
        (Guard.CUSTOMER_KEY, (ENCRYPTION, "KMSMasterKeyId"), own_key),
    )
)


def as_table(resource: Json) -> Json:
    """A global table as a table that has what each replica has; in doubt it has none of it."""
    replicas = read(resource, ("Properties", "Replicas"))
    if resource.get("Type") != GLOBAL_TABLE or not isinstance(replicas, list) or not replicas:
        return resource
    own = resource["Properties"]
    shared = {k: v for k, v in mapping(replicas[0]).items() if all(_has(r, k, v) for r in replicas)}
    encryption = {**mapping(own.get(ENCRYPTION)), **mapping(shared.pop(ENCRYPTION, None))}
    return {**resource, "Properties": {**own, **shared, **({ENCRYPTION: encryption} if encryption else {})}}


def _has(replica: Any, name: str, value: Any) -> bool:
    """A key is another one in each region."""
    found = read(replica, (name,))
    return found == value or (name == ENCRYPTION and bool(own_key(read(found, ("KMSMasterKeyId",)))))
