"""The stores of a stack that are not tables, each turned into its construct."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from constructs import Construct

from holdfast.estate.placement import Placed
from holdfast.kinds.broker.construct import GuardedBroker
from holdfast.kinds.broker.declaration import Broker
from holdfast.kinds.bucket.construct import GuardedBucket
from holdfast.kinds.bucket.declaration import Bucket
from holdfast.kinds.cache.construct import GuardedCache
from holdfast.kinds.cache.declaration import Cache
from holdfast.kinds.database.construct.database import GuardedDatabase
from holdfast.kinds.database.construct.functions import DatabaseFunctions
from holdfast.kinds.database.construct.pool import DatabasePool
from holdfast.kinds.database.declaration import Database
from holdfast.kinds.documents.construct import GuardedDocumentDatabase
from holdfast.kinds.documents.declaration import DocumentDatabase
from holdfast.kinds.registry.construct import ServiceRegistry
from holdfast.kinds.registry.declaration import Registry
from holdfast.model.declaration import DeclarationError
from holdfast.shared.applications import statements as applications
from holdfast.shared.applications.construct import application_policy
from holdfast.shared.construct.context import StoreContext


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
            case DocumentDatabase():
                GuardedDocumentDatabase(scope, store, context)
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
