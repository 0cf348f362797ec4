"""The one customer-managed key of a stack, as CloudFormation resources."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from constructs import Construct

from holdfast.estate.placement import KEY_ID, Placed
from holdfast.shared.key.policy import keeps_key, key_policy


def stack_key(scope: Construct, placed: Placed) -> kms.IKey:
    if placed.external_key:
        return kms.Key.from_key_arn(scope, KEY_ID, placed.external_key)
    if placed.key_holder:
        return kms.Key.from_key_arn(scope, KEY_ID, cdk.Fn.import_value(placed.key_holder.key_export))
    key = kms.CfnKey(
        scope,
        KEY_ID,
        description=f"Personal data and alarms of {placed.name}",
        enable_key_rotation=True,
        key_policy=key_policy(placed),
    )
    key.apply_removal_policy(cdk.RemovalPolicy.RETAIN if keeps_key(placed) else cdk.RemovalPolicy.DESTROY)
    kms.CfnAlias(scope, "KeyAlias", alias_name=f"alias/holdfast/{placed.id}", target_key_id=key.attr_arn)
    if placed.key_users:
        cdk.CfnOutput(scope, "SharedKey", value=key.attr_arn, export_name=placed.key_export)
    return kms.Key.from_cfn_key(key)
