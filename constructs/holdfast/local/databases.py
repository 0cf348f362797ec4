"""Databases keep their managed password and their protection when CloudFormation makes them; ministack drops both."""

from __future__ import annotations

import json
import secrets
from typing import Any

from holdfast.local import private
from holdfast.local.tables import truth

Json = dict[str, Any]

# What drift compares: the template's name of a property, and the API's.
COMPARED = {
    "BackupRetentionPeriod": "BackupRetentionPeriod",
    "CopyTagsToSnapshot": "CopyTagsToSnapshot",
    "DeletionProtection": "DeletionProtection",
    "EnableIAMDatabaseAuthentication": "IAMDatabaseAuthenticationEnabled",
}


def complete() -> None:
    """For instances and clusters: a password that RDS manages, drift, and no deletion of what is protected."""
    api = private.module("ministack.services.rds")
    _complete_kind("instance", "AWS::RDS::DBInstance", api._instances)
    _complete_kind("cluster", "AWS::RDS::DBCluster", api._clusters)
    describe = api._instance_xml

    def with_secret(instance: Json) -> str:
        """Ministack shows a cluster's secret, but not an instance's."""
        secret = instance.get("MasterUserSecret")
        fields = "".join(f"<{key}>{value}</{key}>" for key, value in secret.items()) if secret else ""
        return f"{describe(instance)}{f'<MasterUserSecret>{fields}</MasterUserSecret>' if fields else ''}"

    api._instance_xml = with_secret


def _complete_kind(noun: str, kind: str, records: Any) -> None:
    engine = private.module("ministack.services.cloudformation.provisioners")
    keeper = private.module("ministack.services.secretsmanager")
    create_rest = getattr(engine, f"_rds_db_{noun}_create")
    update_rest = getattr(engine, f"_rds_db_{noun}_update")
    delete_now = getattr(engine, f"_rds_db_{noun}_delete")

    def manage(name: str, props: Json) -> None:
        record = records[name]
        if truth(props.get("ManageMasterUserPassword")) and not record.get("MasterUserSecret"):
            value = {"username": record["MasterUsername"], "password": secrets.token_urlsafe(24)}
            arn = keeper.create_secret_in_process(f"rds!{noun}-{secrets.token_hex(8)}", json.dumps(value))
            key = (props.get("MasterUserSecret") or {}).get("KmsKeyId")
            record["MasterUserSecret"] = {
                "SecretArn": arn,
                "SecretStatus": "active",
                **({"KmsKeyId": key} if key else {}),
            }

    def shown(name: str, attributes: Json) -> tuple[str, Json]:
        secret = records[name].get("MasterUserSecret")
        return name, {**attributes, **({"MasterUserSecret.SecretArn": secret["SecretArn"]} if secret else {})}

    def create(logical_id: str, props: Json, stack: str) -> tuple[str, Json]:
        name, attributes = create_rest(logical_id, props, stack)
        manage(name, props)
        return shown(name, attributes)

    def update(physical: str, old: Json, new: Json, stack: str, logical_id: str | None = None) -> tuple[str, Json]:
        name, attributes = update_rest(physical, old, new, stack, logical_id)
        manage(name, new)
        return shown(name, attributes)

    def delete(physical: str, props: Json) -> None:
        record = records.get(physical) or {}
        if record.get("DeletionProtection"):
            raise ValueError(
                f"Cannot delete protected DB {noun.title()}, please disable deletion protection: {physical}"
            )
        delete_now(physical, props)
        if secret := record.get("MasterUserSecret"):
            keeper.delete_secret_in_process(secret["SecretArn"])

    # A replacement goes through these two names.
    setattr(engine, f"_rds_db_{noun}_create", create)
    setattr(engine, f"_rds_db_{noun}_delete", delete)
    engine._RESOURCE_HANDLERS[kind].update(create=create, update=update, delete=delete)

    def seen(physical: str, props: Json) -> Json | None:
        record = records.get(physical)
        return record and {ours: record.get(theirs) for ours, theirs in COMPARED.items()}

    drift = private.module("ministack.services.cloudformation.drift")
    drift._DRIFT_READERS[kind] = (seen, frozenset(COMPARED))
