"""How the guards of caches are read from a template in normal form."""

from __future__ import annotations

from holdfast.cfn.strength import number, on, one_of
from holdfast.kinds.cache.types import CACHE, IDENTITY
from holdfast.shared.readings import BACKUPS, Protection, at, customer_key

PROTECTIONS = (
    Protection(
        type=CACHE,
        name=IDENTITY[CACHE],
        readings=(
            at("AtRestEncryptionEnabled", on, "encryption"),
            at("TransitEncryptionEnabled", on, "encryption in transit"),
            at("TransitEncryptionMode", one_of("preferred", "required"), "encryption in transit"),
            customer_key("KmsKeyId"),
            at("SnapshotRetentionLimit", number, BACKUPS, "backups"),
            at("MultiAZEnabled", on, "replica in another zone"),
            at("AutomaticFailoverEnabled", on, "automatic failover"),
        ),
        members=(("UserGroupIds", "user group"),),
    ),
)
