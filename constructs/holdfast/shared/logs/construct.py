"""Log groups beside the stores of a stack: below one name, so that one statement of the key's policy covers them."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from holdfast.estate.placement import Placed
from holdfast.shared.logs.groups import log_days, log_groups


def log_group(scope: Construct, id: str, name: str, placed: Placed, key: kms.IKey) -> logs.CfnLogGroup:  # noqa: A002
    """Encrypted with the stack's key; ``name`` stands below the stack's own folder unless it starts with a slash."""
    group = logs.CfnLogGroup(
        scope,
        id,
        log_group_name=name if name.startswith("/") else f"{log_groups(placed)}/{name}",
        kms_key_id=key.key_arn,
        retention_in_days=log_days(placed),
    )
    group.apply_removal_policy(cdk.RemovalPolicy.RETAIN if placed.keeps_logs else cdk.RemovalPolicy.DESTROY)
    return group
