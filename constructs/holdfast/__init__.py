"""Declare data stores once; deploy, test and audit them from the same declaration.

What is exported here and by holdfast.cdk is public (docs/api.md); everything else is private.
"""

from holdfast.estate.estate import Estate
from holdfast.estate.stack import Access, Processor, Stack
from holdfast.kinds.broker.declaration import Broker, Topic
from holdfast.kinds.bucket.declaration import Bucket, Prefix
from holdfast.kinds.cache.declaration import Cache, KeyFamily
from holdfast.kinds.database.declaration import Database, Engine, Pool, RowUpkeep, Upkeep
from holdfast.kinds.documents.declaration import DocumentDatabase
from holdfast.kinds.registry.declaration import Registry, Service
from holdfast.kinds.table.access import Entity, Item, Match, Pattern, Relation, Transaction
from holdfast.kinds.table.declaration import (
    Attribute,
    AttributeType,
    Governance,
    Projection,
    Provisioned,
    Sighting,
    State,
    Stream,
    Table,
    Usage,
    View,
    gsi,
    key,
    lsi,
    number,
)
from holdfast.kinds.table.extra import Extra
from holdfast.model.declaration import DeclarationError
from holdfast.model.environment import Aspect, Environment, Place, Tier
from holdfast.model.facts import (
    Data,
    Durable,
    Encryption,
    ExternalKey,
    Guard,
    SharedKey,
    StackKey,
    Transient,
    Waiver,
)
from holdfast.model.owners import Owner
from holdfast.model.provenance import Assumed, Fact, Inferred
from holdfast.model.store import Backups
from holdfast.policy.required import DEMANDS, TAGS, Demand, Naming, Policy, Sizes, TagSource, Thresholds

__all__ = [
    "DEMANDS",
    "TAGS",
    "Access",
    "Aspect",
    "Assumed",
    "Attribute",
    "AttributeType",
    "Backups",
    "Broker",
    "Bucket",
    "Cache",
    "Data",
    "Database",
    "DeclarationError",
    "Demand",
    "DocumentDatabase",
    "Durable",
    "Encryption",
    "Engine",
    "Entity",
    "Environment",
    "Estate",
    "ExternalKey",
    "Extra",
    "Fact",
    "Governance",
    "Guard",
    "Inferred",
    "Item",
    "KeyFamily",
    "Match",
    "Naming",
    "Owner",
    "Pattern",
    "Place",
    "Policy",
    "Pool",
    "Prefix",
    "Processor",
    "Projection",
    "Provisioned",
    "Registry",
    "Relation",
    "RowUpkeep",
    "Service",
    "SharedKey",
    "Sighting",
    "Sizes",
    "Stack",
    "StackKey",
    "State",
    "Stream",
    "Table",
    "TagSource",
    "Thresholds",
    "Tier",
    "Topic",
    "Transaction",
    "Transient",
    "Upkeep",
    "Usage",
    "View",
    "Waiver",
    "gsi",
    "key",
    "lsi",
    "number",
]
