"""How the guards of buckets are read from a template in normal form."""

from __future__ import annotations

from typing import Any

from holdfast.cfn.strength import number, on, one_of, own_key, there
from holdfast.cfn.tree import items, read
from holdfast.kinds.bucket.types import BUCKET, IDENTITY, POLICY
from holdfast.model.facts import Guard
from holdfast.shared.readings import Protection, at, guard

PUBLIC = ("AuthenticatedRead", "PublicRead", "PublicReadWrite")  # access for the public
RETENTION = "ObjectLockConfiguration/Rule/DefaultRetention"


def key(encryption: Any) -> float | None:
    rules = items(read(encryption, ("ServerSideEncryptionConfiguration",)))
    keys = [read(r, ("ServerSideEncryptionByDefault", "KMSMasterKeyID")) for r in rules]
    return max((own_key(k) or 0.0 for k in keys), default=0.0)


def _lock_days(retention: Any) -> float | None:
    if not isinstance(retention, dict):
        return 0.0
    days, years = number(retention.get("Days")), number(retention.get("Years"))
    return None if days is None or years is None else days + 365 * years


def _not_public(access: Any) -> float | None:
    return None if isinstance(access, dict) else float(access not in PUBLIC)


def _owner(rules: Any) -> float | None:
    """Without a rule, objects belong to the owner of the bucket."""
    if rules is None:
        return 1.0
    found = [read(r, ("ObjectOwnership",)) for r in rules] if isinstance(rules, list) else [None]
    return float(all(f in ("BucketOwnerEnforced", "BucketOwnerPreferred") for f in found))


PROTECTIONS = (
    Protection(
        type=BUCKET,
        name=IDENTITY[BUCKET],
        readings=(
            at("VersioningConfiguration/Status", one_of("Enabled"), "versions", "versions"),
            at("ObjectLockEnabled", on, "object lock", "lock"),
            at(RETENTION, _lock_days, "object lock"),
            at(f"{RETENTION}/Mode", one_of("GOVERNANCE", "COMPLIANCE"), "object lock mode"),
            guard("BucketEncryption", key, Guard.CUSTOMER_KEY),
            at("BucketEncryption", there, "encryption", within=Guard.CUSTOMER_KEY.label),
            at("LoggingConfiguration", there, "access log"),
            at("AccessControl", _not_public, "private access"),
            at("OwnershipControls/Rules", _owner, "ownership of objects by the bucket's owner"),
            *(
                at(f"PublicAccessBlockConfiguration/{name}", on, "private access")
                for name in ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
            ),
        ),
    ),
    Protection(type=POLICY, fixed=(("Bucket", "the policy is no longer on its bucket", ""),)),
)
