"""The stores of a stack that are not tables, each turned into its construct."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from constructs import Construct

from holdfast import applications
from holdfast.cdk.applications import application_policy
from holdfast.cdk.broker import GuardedBroker
from holdfast.cdk.bucket import GuardedBucket
from holdfast.cdk.cache import GuardedCache
from holdfast.cdk.context import StoreContext
from holdfast.cdk.database import GuardedDatabase
from holdfast.cdk.documents import GuardedDocuments
from holdfast.cdk.functions import DatabaseFunctions
from holdfast.cdk.pool import DatabasePool
from holdfast.cdk.registry import ServiceRegistry
from holdfast.declaration import DeclarationError
from holdfast.placement import Placed
from holdfast.stores import Broker, Bucket, Cache, Database, Documents, Registry


def add_stores(scope: Construct, placed: Placed, root: Path, key: kms.IKey, topic: str | None) -> None:
    context = StoreContext(scope=scope, placed=placed, root=root, key=key, topic=topic)
    # Buckets first: the archive of a database is one of them.
    buckets = {s.name: GuardedBucket(scope, s, context) for s in placed.stores if isinstance(s, Bucket)}
    archives = {s.upkeep.archive for s in placed.stores if isinstance(s, Database) and s.upkeep}
    uses: list[applications.Use] = []
    raw = cdk.Stack.of(scope).resolve  # statements are data, which tokens are not
    for store in placed.stores:
        match store:
            case Bucket() if store.name in archives:
                pass  # the functions' own
            case Bucket():
                uses += applications.of_bucket(placed, store, raw(buckets[store.name].arn), raw(key.key_arn))
                if context.networked:
                    context.network.reach_s3(context.network.services)
            case Database():
                database = GuardedDatabase(scope, store, context)
                DatabaseFunctions(database, _archive(store, buckets))
                door = DatabasePool(database, store.pool) if store.pool else database
                uses += applications.of_database(placed, store, raw(door.resource_id))
            case Cache():
                GuardedCache(scope, store, context)
                uses += applications.of_cache(placed, store)
            case Broker():
                broker = GuardedBroker(scope, store, context)
                uses += applications.of_broker(placed, store, raw(broker.cluster.attr_arn))
            case Documents():
                GuardedDocuments(scope, store, context)
            case Registry():
                ServiceRegistry(scope, store, context)
                uses += applications.of_registry(placed, store)
    if uses:
        application_policy(scope, placed, uses)


def _archive(store: Database, buckets: dict[str, GuardedBucket]) -> GuardedBucket | None:
    if store.upkeep is None:
        return None
    if store.upkeep.archive not in buckets:
        raise DeclarationError(
            f"database {store.name}: its archive {store.upkeep.archive} is no bucket of the stack; declare it there"
        )
    return buckets[store.upkeep.archive]
