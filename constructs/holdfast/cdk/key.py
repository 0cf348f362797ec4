"""The one customer-managed key of a stack, as CloudFormation resources."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from constructs import Construct

from holdfast.keys import keeps_key, key_policy
from holdfast.placement import Placed


def stack_key(scope: Construct, placed: Placed) -> kms.IKey:
    if placed.external_key:
        return kms.Key.from_key_arn(scope, "Key", placed.external_key)
    key = kms.CfnKey(
        scope,
        "Key",
        description=f"Personal data and alarms of {placed.name}",
        enable_key_rotation=True,
        key_policy=key_policy(placed),
    )
    key.apply_removal_policy(cdk.RemovalPolicy.RETAIN if keeps_key(placed) else cdk.RemovalPolicy.DESTROY)
    kms.CfnAlias(scope, "KeyAlias", alias_name=f"alias/holdfast/{placed.id}", target_key_id=key.attr_arn)
    return kms.Key.from_cfn_key(key)
