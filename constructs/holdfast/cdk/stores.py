"""The stores of a stack that are not tables, each turned into its construct."""

from __future__ import annotations

from aws_cdk import aws_kms as kms
from constructs import Construct

from holdfast.catalog import Placed
from holdfast.cdk.bucket import GuardedBucket
from holdfast.cdk.context import Options, StoreContext
from holdfast.cdk.database import GuardedDatabase
from holdfast.stores import Bucket, Database


def add_stores(scope: Construct, placed: Placed, key: kms.IKey, topic: str | None) -> None:
    context = StoreContext(scope=scope, placed=placed, key=key, topic=topic, options=Options.of(scope))
    buckets = {s.name: GuardedBucket(scope, s, context) for s in placed.stores if isinstance(s, Bucket)}
    for store in placed.stores:
        match store:
            case Database():
                database = GuardedDatabase(scope, store, context)
                _ = (database, buckets)
            case _:
                pass
