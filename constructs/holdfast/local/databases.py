"""Databases keep their managed password, protection, key, logs and tags when CloudFormation makes them.

Ministack drops some of these for instances, others for clusters, others for DocumentDB.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
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
# What a template calls it, and the record; tags of instances and the key of most are kept already.
SETTLED = {
    "DBClusterParameterGroupName": "DBClusterParameterGroup",
    "EnableCloudwatchLogsExports": "EnabledCloudwatchLogsExports",
    "KmsKeyId": "KmsKeyId",
    "PerformanceInsightsKMSKeyId": "PerformanceInsightsKMSKeyId",
    "Tags": "TagList",
}


def complete() -> None:
    """For instances and clusters: a password that RDS manages, drift, and no deletion of what is protected."""
    rds, documents = private.module("ministack.services.rds"), private.module("ministack.services.documentdb")
    _complete_kind("instance", "AWS::RDS::DBInstance", rds._instances)
    _complete_kind("cluster", "AWS::RDS::DBCluster", rds._clusters)
    _complete_kind("cluster", "AWS::DocDB::DBCluster", documents._clusters, engine_names="_docdb_cluster")
    rds._instance_xml = _whole(rds._instance_xml)
    rds._cluster_xml = _whole(rds._cluster_xml)
    documents._cluster_xml = _whole(documents._cluster_xml)
    documents._instance_xml = _whole(documents._instance_xml)
    private.module("ministack.services.tagging")._COLLECTORS["rds"] = lambda: (
        (record[arn], record.get("TagList", []))
        for arn, records in (("DBInstanceArn", rds._instances), ("DBClusterArn", rds._clusters))
        for record in records.values()
    )


def _whole(describe: Callable[[Json], str]) -> Callable[[Json], str]:
    """The record as the API shows it: with its secret and its exported logs."""

    def described(record: Json) -> str:
        shown = describe(record).replace("<EnabledCloudwatchLogsExports/>", "")
        shown = re.sub(r">\s+(\w+)\s+<", r">\1<", shown)  # clients take no truth with spaces around it
        shown = re.sub(r"<MasterUserSecret>.*?</MasterUserSecret>", "", shown, flags=re.DOTALL)
        secret = "".join(f"<{key}>{value}</{key}>" for key, value in (record.get("MasterUserSecret") or {}).items())
        logs = "".join(f"<member>{log}</member>" for log in record.get("EnabledCloudwatchLogsExports") or ())
        shown += f"<MasterUserSecret>{secret}</MasterUserSecret>" if secret else ""
        if insights := record.get("PerformanceInsightsKMSKeyId"):
            shown += f"<PerformanceInsightsKMSKeyId>{insights}</PerformanceInsightsKMSKeyId>"
        return f"{shown}<EnabledCloudwatchLogsExports>{logs}</EnabledCloudwatchLogsExports>"

    return described


def _complete_kind(noun: str, kind: str, records: Any, engine_names: str = "") -> None:
    names = engine_names or f"_rds_db_{noun}"
    engine = private.module("ministack.services.cloudformation.provisioners")
    keeper = private.module("ministack.services.secretsmanager")
    delete_now = getattr(engine, f"{names}_delete")

    def settle(name: str, new: Json, old: Json) -> Json:
        """What ministack leaves out, where the template changed it: what the API changed stays."""
        record = records[name]
        if truth(new.get("ManageMasterUserPassword")) and not record.get("MasterUserSecret"):
            record["MasterUserSecret"] = _secret(keeper, noun, record, new)
        for ours, theirs in SETTLED.items():
            if new.get(ours) != old.get(ours):
                record[theirs] = new.get(ours)
        secret = record.get("MasterUserSecret")
        return {"MasterUserSecret.SecretArn": secret["SecretArn"]} if secret else {}

    def delete(physical: str, props: Json) -> None:
        record = records.get(physical) or {}
        if record.get("DeletionProtection"):
            raise ValueError(
                f"Cannot delete protected DB {noun.title()}, please disable deletion protection: {physical}"
            )
        delete_now(physical, props)
        if secret := record.get("MasterUserSecret"):
            keeper.delete_secret_in_process(secret["SecretArn"])

    rest = {step: getattr(engine, f"{names}_{step}") for step in ("create", "update")}
    handler = {**private.settled(rest, settle), "delete": delete}
    # A replacement goes through these two names.
    setattr(engine, f"{names}_create", handler["create"])
    setattr(engine, f"{names}_delete", delete)
    engine._RESOURCE_HANDLERS[kind].update(handler)

    def seen(physical: str, props: Json) -> Json | None:
        record = records.get(physical)
        return record and {ours: record.get(theirs) for ours, theirs in COMPARED.items()}

    drift = private.module("ministack.services.cloudformation.drift")
    drift._DRIFT_READERS[kind] = (seen, frozenset(COMPARED))


def _secret(keeper: Any, noun: str, record: Json, props: Json) -> Json:
    """The password that RDS manages, in Secrets Manager."""
    value = {"username": record["MasterUsername"], "password": secrets.token_urlsafe(24)}
    arn = keeper.create_secret_in_process(f"rds!{noun}-{secrets.token_hex(8)}", json.dumps(value))
    key = (props.get("MasterUserSecret") or {}).get("KmsKeyId") or props.get("MasterUserSecretKmsKeyId")
    return {"SecretArn": arn, "SecretStatus": "active", **({"KmsKeyId": key} if key else {})}
