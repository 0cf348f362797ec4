"""What the rules ask of a bucket: its policy, what becomes of its objects, their lock, and its access logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.cfn.alike import alike
from holdfast.cfn.dig import dig, mentioned, without_account
from holdfast.cfn.intrinsics import Reference
from holdfast.cfn.places import at
from holdfast.cfn.template import StackSeen
from holdfast.cfn.types import ROLE
from holdfast.kinds.base import Asked, Needs, StoreSubject
from holdfast.kinds.bucket.declaration import Bucket
from holdfast.kinds.bucket.settings import bucket_policy, emptied_by, log_delivery
from holdfast.kinds.bucket.types import BUCKET, IDENTITY, POLICY
from holdfast.kinds.find import identified
from holdfast.kinds.need import Need, about, absent, at_least, exactly, kept, met, needs, on, own_key, read_by, worst
from holdfast.model.facts import Guard
from holdfast.shared.access_policy import same_policy
from holdfast.shared.logs.groups import log_days
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Verdict, fail, unknown

Subject = StoreSubject[Bucket]
EMPTIER = "CustomS3AutoDeleteObjects"  # how CDK calls the role of its own function
CLOSED = (
    *(
        Need(f"{name} is off", f"PublicAccessBlockConfiguration.{name}", on, False)
        for name in ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    ),
    Need(
        "the writer of an object owns it, and may open it to others",
        "OwnershipControls.Rules",
        exactly([{"ObjectOwnership": "BucketOwnerEnforced"}]),
    ),
)
COPIES = (
    *absent(
        "its objects, or lists of them, are copied elsewhere",
        "AnalyticsConfigurations",
        "InventoryConfigurations",
        "MetadataConfiguration",
        "MetadataTableConfiguration",
        "ReplicationConfiguration",
    ),
    *absent("it is a web site", "WebsiteConfiguration"),
    Need("it is open by its ACL", "AccessControl", exactly(None, "Private", "LogDeliveryWrite")),
)


def recoverable(s: Subject) -> Verdict:
    if Guard.PITR not in s.required:
        return EXEMPT
    days = s.placed.policy.recovery_days
    return met(
        s,
        [
            Need("old versions are not kept", "VersioningConfiguration.Status", exactly("Enabled")),
            Need(f"old versions are gone before {days} days", "LifecycleConfiguration.Rules", old_versions, []),
        ],
    )


def old_versions(s: StoreSubject[Any], rules: Any) -> bool:
    """Whether what was overwritten or deleted can be had back for a while; declared waste may go sooner."""
    wanted = s.placed.policy.recovery_days
    short_lived = {p.folder for p in s.store.prefixes if p.expire and p.expire.days < wanted}
    ends = [
        dig(s.stack, r, "NoncurrentVersionExpiration", "NoncurrentDays", default=wanted)
        for r in (rules if isinstance(rules, list) else [rules])
        if not (isinstance(r, dict) and r.get("Prefix") in short_lived)
    ]
    return all(at_least(wanted)(s, days) for days in ends)


def declared_policy(stack: StackSeen, logical_id: str, *more: Mapping[str, Any], lasting: bool) -> Verdict:
    """Whether a bucket has one policy, and that is the declared one; unless ``lasting``, CDK may empty it."""
    name = identified(stack, logical_id, IDENTITY)
    found = []
    for _, policy in stack.possible(POLICY):
        raw = policy.get("Properties", {}).get("Bucket")
        target = without_account(stack, raw)
        if logical_id in mentioned(raw) or (not mentioned(raw) and (isinstance(target, Unknown) or target == name)):
            found.append(policy)
    if len(found) != 1:
        return fail(f"it has {len(found) or 'no'} policies, declared is one that refuses plain HTTP")
    if stack.present(found[0]) is not True:
        return unknown("whether it has a policy is decided at deploy time")
    arn = {"Fn::GetAtt": [logical_id, "Arn"]}
    seen = found[0].get("Properties", {}).get("PolicyDocument", {})
    if not isinstance(seen, Mapping) or not isinstance(statements := seen.get("Statement"), list):
        return unknown("the bucket policy is decided at deploy time, or no policy")
    declared = bucket_policy(arn, *more)["Statement"]
    if not lasting:
        declared += [
            emptied_by({"Fn::GetAtt": [i, "Arn"]}, arn) for i, _ in stack.resources(ROLE) if i.startswith(EMPTIER)
        ]
    return same_policy(_plain(statements), _plain(declared), "the bucket policy")


def _plain(statements: list[Any]) -> dict[str, Any]:
    """Everybody, and a single resource, can each be written in two ways."""
    found = []
    for t in statements:
        if isinstance(t, dict):
            resources, principal = t.get("Resource"), t.get("Principal")
            t = t | {"Resource": resources if isinstance(resources, list) else [resources]}
            t |= {"Principal": {"AWS": "*"}} if principal == "*" else {}
        found.append(t)
    return {"Statement": found}


def another_bucket(s: StoreSubject[Any], value: Any) -> bool:
    return s.stack.is_a(value, BUCKET) and value != Reference(s.logical_id)


def access_logs_kept(s: Subject) -> Verdict:
    """The bucket that takes the access logs is as closed as this one, and keeps them long enough."""
    target = s.get("LoggingConfiguration", "DestinationBucketName")
    if not isinstance(target, Reference) or not another_bucket(s, target):
        return EXEMPT  # another rule's finding
    logs = s.part(target.logical_id)
    days = log_days(s.placed)
    wanted = (
        *CLOSED,
        Need("it is not encrypted", "BucketEncryption.ServerSideEncryptionConfiguration", encrypted),
        Need(f"access is forgotten before {days} days", "LifecycleConfiguration.Rules", _kept_for(days), []),
    )
    delivery = log_delivery({"Fn::GetAtt": [logs.logical_id, "Arn"]})
    verdicts = [met(logs, wanted), declared_policy(s.stack, logs.logical_id, delivery, lasting=s.placed.keeps_logs)]
    if s.placed.keeps_logs:
        verdicts.append(kept(s.stack, logs.resource))
    return about(logs, worst(verdicts))


def _kept_for(days: int) -> Any:
    def good(s: StoreSubject[Any], rules: Any) -> bool:
        ends = [r.get("ExpirationInDays", days) if isinstance(r, dict) else 0 for r in rules]
        return all(at_least(days)(s, end) for end in ends)

    return good


def encrypted(s: StoreSubject[Any], rules: Any) -> bool:
    return isinstance(rules, list) and any(_default(s, r).get("SSEAlgorithm") for r in rules)


def bucket_key(s: StoreSubject[Any], value: Any) -> bool:
    rules = dig(s.stack, {"E": value}, "E", "ServerSideEncryptionConfiguration", default=[])
    defaults = [_default(s, r) for r in rules] if isinstance(rules, list) else []
    return bool(defaults) and all(
        d.get("SSEAlgorithm") in ("aws:kms", "aws:kms:dsse") and own_key(s, d.get("KMSMasterKeyID")) for d in defaults
    )


def _default(s: StoreSubject[Any], rule: Any) -> dict[str, Any]:
    found = dig(s.stack, rule, "ServerSideEncryptionByDefault", default={})
    return found if isinstance(found, dict) else {}


def expiry(s: Subject) -> Verdict:
    """What the bucket does with old objects is what is declared, and nothing else is deleted."""
    rules = s.get("LifecycleConfiguration", "Rules", default=[])
    if isinstance(rules, Unknown):
        return unknown(f"its lifecycle cannot be read: {rules.reason}")
    if not isinstance(rules, list) or not all(isinstance(r, dict) for r in rules):
        return unknown("a lifecycle rule is decided at deploy time, or none")
    problems = []
    seen: dict[str, dict[str, float]] = {}  # folder: {storage class, or the end: days}
    for rule in rules:
        if rule.get("Status") == "Disabled":
            continue
        if strange := sorted(rule.keys() - RULE):
            problems.append(
                f"{rule.get('Prefix') or 'everything'} is treated by {', '.join(strange)}, which is not declared"
            )
        fate = seen.setdefault(str(rule.get("Prefix", "")), {})
        moves = rule.get("Transitions", [])
        steps = (
            [(str(t.get("StorageClass")), t.get("TransitionInDays", 0)) for t in moves]
            if _objects(moves)
            else [("", None)]
        )
        for what, days in [*steps, ("the end", rule.get("ExpirationInDays"))]:
            if what == "the end" and days is None:
                continue
            try:
                fate[what] = min(float(days), fate.get(what, float("inf")))  # the earliest counts
            except (TypeError, ValueError):
                return unknown(f"when {rule.get('Prefix') or 'everything'} is moved or deleted cannot be read")
    for prefix in s.store.prefixes:
        want = {k: v.days for k, v in prefix.tiers.items()} | ({"the end": prefix.expire.days} if prefix.expire else {})
        if not alike(seen.pop(prefix.folder, {}), want):
            problems.append(f"{prefix.folder} is not treated as declared")
    problems += [f"{f or 'everything'} is moved or deleted, which is not declared" for f, fate in seen.items() if fate]
    return fail("; ".join(problems)) if problems else PASS


RULE = frozenset(
    {
        "AbortIncompleteMultipartUpload",
        "ExpirationInDays",
        "Id",
        "NoncurrentVersionExpiration",
        "Prefix",
        "Status",
        "Transitions",
    }
)


def _objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, dict) for v in value)


def locked(s: Subject) -> Verdict:
    if not isinstance(s.store, Bucket) or s.store.locked is None or Guard.RETAIN not in s.required:
        return EXEMPT
    days = s.store.locked.days
    retention = "ObjectLockConfiguration.Rule.DefaultRetention"

    def long_enough(s: Subject, value: Any) -> bool:
        held = value if isinstance(value, dict) else {}
        return at_least(days)(s, held.get("Days", 0)) or at_least(-(-days // 365))(s, held.get("Years", 0))

    return met(
        s,
        [
            Need("objects can be deleted: Object Lock is off", "ObjectLockEnabled", on),
            Need("Object Lock has no rule", "ObjectLockConfiguration.ObjectLockEnabled", exactly("Enabled")),
            Need(f"objects can be deleted before {days} days", retention, long_enough, {}),
            Need("the lock has no mode", f"{retention}.Mode", exactly("GOVERNANCE", "COMPLIANCE")),
        ],
    )


NEEDS: Needs[Bucket] = Needs(
    deletion_protection=None,
    recovery=Asked(recoverable, at(BUCKET, "VersioningConfiguration", "LifecycleConfiguration")),
    expiry=Asked(expiry, at(BUCKET, "LifecycleConfiguration")),
    customer_key=Asked(
        needs(
            {BUCKET: (Need("objects are not under the stack's key", "BucketEncryption", bucket_key),)},
            guard=Guard.CUSTOMER_KEY,
        ),
        at(BUCKET, "BucketEncryption"),
    ),
    tls=Asked(
        lambda s: declared_policy(s.stack, s.logical_id, lasting=Guard.RETAIN in s.required),
        at(POLICY, "Type", "Bucket", "PolicyDocument"),
    ),
    private=Asked(
        needs({BUCKET: (*CLOSED, *COPIES)}),
        at(BUCKET, "OwnershipControls", "PublicAccessBlockConfiguration") + read_by(BUCKET, COPIES),
    ),
    clients=None,  # S3 knows IAM only
    zones=None,  # S3 stands in three
    logs=Asked(
        needs({BUCKET: (Need("access is not logged", "LoggingConfiguration.DestinationBucketName", another_bucket),)}),
        at(BUCKET, "LoggingConfiguration"),
    ),
    logs_kept=Asked(access_logs_kept, ()),
    port=None,
    fixes=None,
    passwords=None,
    settings=None,
    jobs=None,
)
