"""How a live bucket is read, and what S3 answers in CloudFormation's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.cfn import bounded
from holdfast.cfn.dig import ACCOUNT
from holdfast.cfn.types import KEY, ROLE
from holdfast.kinds.bucket import types
from holdfast.kinds.bucket.declaration import Bucket
from holdfast.kinds.live import Found, ReadContext, Reading
from holdfast.shared.account import Aspect
from holdfast.shared.calls import Call
from holdfast.shared.live import Answer, Resource, StackResources, shaped, tags
from holdfast.threads import Pool
from holdfast.unknown import Unknown

BUCKETS = "arn:aws:s3:::*"


def _call(
    operation: str, action: str, reads: str, member: str = "", absent: str = "", needs: tuple[str, ...] = ()
) -> Call:
    return Call(
        service="s3",
        operation=operation,
        action=f"s3:{action}",
        reads=reads,
        member=member,
        needs=needs,
        resource=BUCKETS,
        absent=(absent,) if absent else (),
    )


LOCATION = _call("GetBucketLocation", "GetBucketLocation", "the bucket")
ENCRYPTION = _call(
    "GetBucketEncryption",
    "GetEncryptionConfiguration",
    "encryption",
    "ServerSideEncryptionConfiguration",
    "ServerSideEncryptionConfigurationNotFoundError",
    (
        "ServerSideEncryptionConfiguration.Rules",
        "ServerSideEncryptionConfiguration.Rules.ApplyServerSideEncryptionByDefault",
    ),
)
VERSIONS = _call("GetBucketVersioning", "GetBucketVersioning", "versioning")
POLICY = _call("GetBucketPolicy", "GetBucketPolicy", "the bucket policy", "Policy", "NoSuchBucketPolicy")
PUBLIC = _call(
    "GetPublicAccessBlock",
    "GetBucketPublicAccessBlock",
    "the block on public access",
    "PublicAccessBlockConfiguration",
    "NoSuchPublicAccessBlockConfiguration",
    tuple(
        f"PublicAccessBlockConfiguration.{name}"
        for name in ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")
    ),
)
OWNERSHIP = _call(
    "GetBucketOwnershipControls",
    "GetBucketOwnershipControls",
    "who owns objects",
    "OwnershipControls",
    "OwnershipControlsNotFoundError",
    ("OwnershipControls.Rules", "OwnershipControls.Rules.ObjectOwnership"),
)
LIFECYCLE = _call(
    "GetBucketLifecycleConfiguration",
    "GetLifecycleConfiguration",
    "lifecycle rules",
    "Rules",
    "NoSuchLifecycleConfiguration",
    ("Rules.Status",),
)
LOGGING = _call("GetBucketLogging", "GetBucketLogging", "access logs", needs=("LoggingEnabled.TargetBucket",))
TAGS = _call(
    "GetBucketTagging",
    "GetBucketTagging",
    "tags of the bucket",
    "TagSet",
    "NoSuchTagSet",
    ("TagSet.Key", "TagSet.Value"),
)
LOCK = _call(
    "GetObjectLockConfiguration",
    "GetBucketObjectLockConfiguration",
    "Object Lock",
    "ObjectLockConfiguration",
    "ObjectLockConfigurationNotFoundError",
    ("ObjectLockConfiguration.ObjectLockEnabled",),
)
ASPECTS = {
    ENCRYPTION: Aspect.ENCRYPTION,
    VERSIONS: Aspect.VERSIONS,
    POLICY: Aspect.POLICY,
    PUBLIC: Aspect.PUBLIC,
    OWNERSHIP: Aspect.PUBLIC,
    LIFECYCLE: Aspect.LIFECYCLE,
    LOGGING: Aspect.LOGGING,
    TAGS: Aspect.TAGS,
    LOCK: Aspect.LOCK,
}


def read(c: ReadContext, store: Bucket, name: str) -> Found | Unknown | None:
    full = store.identifier(name, c.placed.region, c.account)
    there = c.ask(LOCATION, full, Bucket=full)
    if there is None or isinstance(there, Unknown):
        return there
    with Pool(len(ASPECTS)) as pool:
        answers = dict(zip(ASPECTS, pool.map(lambda call: c.ask(call, full, Bucket=full), ASPECTS), strict=True))
    found = Found(arn=f"arn:{c.partition}:s3:::{full}", logical_id=c.id(types.BUCKET, full))
    known: dict[str, Answer] = {}
    for call, answer in answers.items():
        if isinstance(answer, Unknown):
            found.unread[ASPECTS[call]] = answer
        known[call.operation] = {} if answer is None or isinstance(answer, Unknown) else answer
    c.add(types.BUCKET, full, bucket(full, known, c.own))
    if policy := known[POLICY.operation].get("Policy"):
        try:
            resource = bucket_policy(found.arn, found.logical_id, policy, c.own, c.account)
        except ValueError:
            found.unread[Aspect.POLICY] = Unknown("the bucket policy cannot be understood")
        else:
            c.resources[f"{found.logical_id}Policy"] = resource
    return found


READING = Reading(read=read, listings=(), calls=(LOCATION, *ASPECTS), tagged=("s3",))


def bucket(name: str, known: Mapping[str, Answer], own: StackResources) -> Resource:
    """``known`` are the answers by operation, empty where there was none."""
    lock = known["GetObjectLockConfiguration"].get("ObjectLockConfiguration")
    logs = known["GetBucketLogging"].get("LoggingEnabled")
    rules = known["GetBucketLifecycleConfiguration"].get("Rules")
    rest = known["GetBucketEncryption"].get("ServerSideEncryptionConfiguration")
    return shaped(
        types.BUCKET,
        {
            "BucketName": name,
            "BucketEncryption": _encryption(rest, own) if rest else None,
            "VersioningConfiguration": {"Status": known["GetBucketVersioning"].get("Status", "Suspended")},
            "PublicAccessBlockConfiguration": known["GetPublicAccessBlock"].get("PublicAccessBlockConfiguration"),
            "OwnershipControls": known["GetBucketOwnershipControls"].get("OwnershipControls"),
            "LifecycleConfiguration": {"Rules": [_rule(r) for r in rules]} if rules else None,
            "LoggingConfiguration": _logging(logs, own) if logs else None,
            "ObjectLockEnabled": bool(lock and lock.get("ObjectLockEnabled") == "Enabled"),
            "ObjectLockConfiguration": lock,
            "Tags": tags(known["GetBucketTagging"].get("TagSet", ())),
        },
    )


def _encryption(rest: Answer, own: StackResources) -> dict[str, Any]:
    rules = []
    for rule in rest.get("Rules", ()):
        default = dict(rule.get("ApplyServerSideEncryptionByDefault", {}))
        if key := default.get("KMSMasterKeyID"):
            default["KMSMasterKeyID"] = own.arn(KEY, key)
        rules.append(
            {"ServerSideEncryptionByDefault": default, "BucketKeyEnabled": rule.get("BucketKeyEnabled", False)}
        )
    return {"ServerSideEncryptionConfiguration": rules}


def _logging(logs: Answer, own: StackResources) -> dict[str, Any]:
    found = {"DestinationBucketName": own.ref(types.BUCKET, logs["TargetBucket"])}
    return {**found, "LogFilePrefix": logs["TargetPrefix"]} if logs.get("TargetPrefix") else found


def _rule(rule: Answer) -> dict[str, Any]:
    where = rule.get("Filter", {})
    both = where.get("And", {})
    prefix = where.get("Prefix") or both.get("Prefix") or rule.get("Prefix")
    moves = [
        {("TransitionInDays" if k == "Days" else "TransitionDate" if k == "Date" else k): v for k, v in move.items()}
        for move in rule.get("Transitions", ())
    ]
    end = rule.get("Expiration", {})
    tagged = [where["Tag"]] if "Tag" in where else both.get("Tags")
    found = {
        "Id": rule.get("ID"),
        "Status": rule.get("Status"),
        "Prefix": prefix or None,
        "TagFilters": tagged,
        "ObjectSizeGreaterThan": where.get("ObjectSizeGreaterThan", both.get("ObjectSizeGreaterThan")),
        "ObjectSizeLessThan": where.get("ObjectSizeLessThan", both.get("ObjectSizeLessThan")),
        "Transitions": moves or None,
        "ExpirationInDays": end.get("Days"),
        "ExpirationDate": end.get("Date"),
        "ExpiredObjectDeleteMarker": end.get("ExpiredObjectDeleteMarker"),
        "NoncurrentVersionExpiration": rule.get("NoncurrentVersionExpiration"),
        "NoncurrentVersionTransitions": rule.get("NoncurrentVersionTransitions"),
        "AbortIncompleteMultipartUpload": rule.get("AbortIncompleteMultipartUpload"),
    }
    return {k: v for k, v in found.items() if v is not None}


def bucket_policy(arn: str, bucket: str, text: str, own: StackResources, account: str) -> Resource:
    """The policy with the bucket, the stack's roles and the account's number as a template writes them."""
    ref = {"Fn::GetAtt": [bucket, "Arn"]}

    def written(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: written(v) for k, v in value.items()}
        if isinstance(value, list):
            return [written(v) for v in value]
        if value == account:
            return ACCOUNT
        if not isinstance(value, str) or not value.startswith("arn:"):
            return value
        if value == arn:
            return ref
        if value.startswith(f"{arn}/"):
            return {"Fn::Join": ["", [ref, value.removeprefix(arn)]]}
        return own.arn(ROLE, value) if ":role/" in value else value

    return shaped(types.POLICY, {"Bucket": {"Ref": bucket}, "PolicyDocument": written(bounded.tree(text))})
