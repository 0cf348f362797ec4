"""Every private name of ministack that is used, so that another version fails with one clear line."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.errors import InputError

Json = dict[str, Any]
VERSION = "1.5.33"
USED: Mapping[str, tuple[str, ...]] = {
    "ministack.app": ("app", "_build_persistence_save_dict", "_reset_all_state"),
    "ministack.core.iam_evaluator": ("_validate_session_token",),
    "ministack.core.persistence": ("save_all",),
    "ministack.core.responses": ("get_account_id", "get_region", "AccountRegionScopedDict"),
    "ministack.services.backup": ("_create_selection", "_delete_selection", "_vaults"),
    "ministack.services.cloudformation": ("_stacks", "load_persisted_state"),
    "ministack.services.cloudformation.changesets": ("_RESOURCE_HANDLERS", "_apply_transforms"),
    "ministack.services.cloudformation.drift": ("_DRIFT_READERS",),
    "ministack.services.cloudformation.engine": ("_intrinsic_references",),
    "ministack.services.cloudformation.handlers": ("_apply_transforms", "_page"),
    "ministack.services.cloudformation.provisioners": (
        "_RESOURCE_HANDLERS",
        "_S3_BUCKET_CONFIGURATIONS",
        "_cw_metric_alarm_record",
        "_ddb_attrs",
        "_ddb_create",
        "_ddb_delete",
        "_ddb_update",
        "_docdb_cluster_create",
        "_docdb_cluster_delete",
        "_docdb_cluster_update",
        "_ec2_sg_permissions",
        "_physical_name",
        "_rds_db_cluster_create",
        "_rds_db_cluster_delete",
        "_rds_db_cluster_update",
        "_rds_db_instance_create",
        "_rds_db_instance_delete",
        "_rds_db_instance_update",
        "_tag_map",
    ),
    "ministack.services.dynamodb": (
        "_create_table",
        "_describe_continuous_backups",
        "_normalize_table_name",
        "_pitr_settings",
        "_sse_description_from_spec",
        "_table_description",
        "_tables",
        "_tags",
        "_ttl_settings",
        "_update_continuous_backups",
        "_update_table",
        "_update_ttl",
        "error_response_json",
        "json_response",
    ),
    "ministack.services.documentdb": ("_cluster_xml", "_clusters", "_instance_xml"),
    "ministack.services.ec2": ("_security_groups",),
    "ministack.services.elasticache": ("_replication_groups", "_rg_xml", "_users"),
    "ministack.services.kms": (
        "_create_alias",
        "_create_key",
        "_enable_key_rotation",
        "_key_metadata",
        "_resolve_key",
    ),
    "ministack.services.msk": (
        "_camelize",
        "_clusters",
        "_create_cluster",
        "_create_configuration",
        "_delete_cluster",
        "_json",
        "_not_found",
        "handle_request",
    ),
    "ministack.services.rds": ("_cluster_xml", "_clusters", "_instance_xml", "_instances"),
    "ministack.services.s3": (
        "_bucket_logging_config",
        "_bucket_object_lock",
        "_delete_bucket_encryption",
        "_delete_bucket_lifecycle",
        "_delete_bucket_tagging",
        "_put_bucket_encryption",
        "_put_bucket_lifecycle",
        "_put_bucket_logging",
        "_put_bucket_tagging",
        "_put_object_lock_configuration",
    ),
    "ministack.services.secretsmanager": ("create_secret_in_process", "delete_secret_in_process"),
    "ministack.services.sts": ("_gen_session_token",),
    "ministack.services.tagging": ("_COLLECTORS",),
}


def module(name: str) -> Any:
    """One of ministack's modules, with every private name that is used there."""
    try:
        found = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "ministack":
            raise
        raise InputError(
            f"the emulator is not installed ({error.name} is missing): pip install 'holdfast[local]'"
        ) from None
    for used in USED[name]:
        if not hasattr(found, used):
            raise InputError(f"{name}.{used} is gone: Holdfast needs ministack {VERSION} exactly")
    return found


def settled(handler: Json, settle: Callable[[str, Json, Json], Json | None]) -> Json:
    """A handler that settles the rest after each create and update; ``settle`` may know more attributes."""
    create_rest, update_rest = handler["create"], handler["update"]

    def create(logical_id: str, props: Json, stack: str) -> tuple[str, Json]:
        name, attributes = create_rest(logical_id, props, stack)
        attributes |= settle(name, props, {}) or {}
        return name, attributes

    def update(physical: str, old: Json, new: Json, stack: str, logical_id: str | None = None) -> tuple[str, Json]:
        name, attributes = update_rest(physical, old, new, stack, logical_id)
        attributes |= settle(name, new, old) or {}
        return name, attributes

    return {"create": create, "update": update}
