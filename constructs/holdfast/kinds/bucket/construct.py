"""One declared bucket as a CDK construct, and the bucket that keeps the access logs of a stack's others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from aws_cdk.aws_s3 import mixins
from constructs import Construct

from holdfast.kinds.bucket.alarms import alarms
from holdfast.kinds.bucket.declaration import Bucket, Prefix
from holdfast.kinds.bucket.settings import bucket_policy, log_delivery
from holdfast.kinds.bucket.uses import uses
from holdfast.kinds.database.declaration import Database
from holdfast.model.facts import Guard
from holdfast.shared.alarms.construct import add_alarms
from holdfast.shared.applications.statements import Use
from holdfast.shared.construct.acknowledge import AWS_SOLUTIONS, HIPAA, NIST, acknowledge
from holdfast.shared.construct.context import StoreContext
from holdfast.shared.construct.tags import tag
from holdfast.shared.logs.groups import log_days
from holdfast.shared.vault.settings import BUCKET_BACKUP_POLICY

CLOSED = s3.CfnBucket.PublicAccessBlockConfigurationProperty(
    block_public_acls=True, block_public_policy=True, ignore_public_acls=True, restrict_public_buckets=True
)
OWNED = s3.CfnBucket.OwnershipControlsProperty(
    rules=[s3.CfnBucket.OwnershipControlsRuleProperty(object_ownership="BucketOwnerEnforced")]
)
VERSIONED = s3.CfnBucket.VersioningConfigurationProperty(status="Enabled")
ABANDONED_DAYS = 7


def add_bucket(context: StoreContext, store: Bucket) -> Iterator[Use]:
    bucket = context.made[store.name] = GuardedBucket(context.scope, store, context)
    archives = {s.archive for s in context.placed.stores if isinstance(s, Database)}
    if store.name in archives:
        return iter(())  # its functions alone use it
    if context.networked:
        context.network.reach_s3(context.network.services)
    return iter(uses(context.placed, store, context.resolved(bucket.arn), context.resolved(context.key.key_arn)))


class GuardedBucket(Construct):
    """A bucket with exactly the guards that the policy asks for; closed, encrypted and versioned wherever it is."""

    def __init__(self, scope: Construct, store: Bucket, context: StoreContext) -> None:
        super().__init__(scope, store.id)
        placed = context.placed
        guards = placed.required(store)
        kept = Guard.RETAIN in guards
        self.declared = store
        locked = store.locked if kept else None
        bucket = s3.CfnBucket(
            self,
            "Bucket",
            bucket_name=cdk.Fn.join("-", [placed.fill(store.name), cdk.Aws.ACCOUNT_ID, placed.region]),
            bucket_encryption=_encryption("aws:kms", context.key.key_arn),
            versioning_configuration=VERSIONED,
            public_access_block_configuration=CLOSED,
            ownership_controls=OWNED,
            logging_configuration=s3.CfnBucket.LoggingConfigurationProperty(
                destination_bucket_name=access_logs(context), log_file_prefix=f"{placed.fill(store.name)}/"
            ),
            lifecycle_configuration=s3.CfnBucket.LifecycleConfigurationProperty(
                rules=[
                    _of_all(context.placed.policy.recovery_days if kept else 1),
                    *(_of(p) for p in store.prefixes if p.tiers or p.expire),
                ]
            ),
            object_lock_enabled=True if locked else None,
            object_lock_configuration=s3.CfnBucket.ObjectLockConfigurationProperty(
                object_lock_enabled="Enabled",
                rule=s3.CfnBucket.ObjectLockRuleProperty(
                    default_retention=s3.CfnBucket.DefaultRetentionProperty(mode="GOVERNANCE", days=locked.days)
                ),
            )
            if locked
            else None,
        )
        bucket.apply_removal_policy(cdk.RemovalPolicy.RETAIN if kept else cdk.RemovalPolicy.DESTROY)
        self.arn = bucket.attr_arn
        self.name = bucket.ref
        self.logical_id = cdk.Stack.of(self).get_logical_id(bucket)
        _guard(self, bucket, bucket_policy(bucket.attr_arn), emptied=not kept)
        tag(self, store, placed)
        if context.topic:
            add_alarms(self, alarms(placed, store, bucket.ref), placed, context.topic)
        if store.backups and Guard.PITR in guards:
            context.vault.keep(store.id, store.backups, self.arn, BUCKET_BACKUP_POLICY)
        acknowledge(
            bucket,
            "old versions answer for recovery; no source asks for a copy in a second region",
            f"{NIST}-S3BucketReplicationEnabled",
            f"{HIPAA}-S3BucketReplicationEnabled",
        )


def access_logs(context: StoreContext) -> str:
    """The name of the stack's log bucket, made when the first bucket asks for it."""
    if (found := context.scope.node.try_find_child("AccessLogs")) is not None:
        bucket = found.node.default_child
        assert isinstance(bucket, s3.CfnBucket)
        return bucket.ref
    folder = Construct(context.scope, "AccessLogs")
    kept = context.placed.keeps_logs
    bucket = s3.CfnBucket(
        folder,
        "Resource",
        bucket_encryption=_encryption("AES256"),
        versioning_configuration=VERSIONED,
        public_access_block_configuration=CLOSED,
        ownership_controls=OWNED,
        lifecycle_configuration=s3.CfnBucket.LifecycleConfigurationProperty(
            rules=[_of_all(1, expire=log_days(context.placed))]
        ),
    )
    bucket.apply_removal_policy(cdk.RemovalPolicy.RETAIN if kept else cdk.RemovalPolicy.DESTROY)
    policy = bucket_policy(bucket.attr_arn, log_delivery(bucket.attr_arn))
    _guard(folder, bucket, policy, emptied=not kept)
    acknowledge(
        bucket,
        "it holds access logs only: S3 delivers them to no bucket with another key, and nobody logs the log",
        f"{AWS_SOLUTIONS}-S1",
        *(
            f"{pack}-{rule}"
            for pack in (NIST, HIPAA)
            for rule in ("S3BucketLoggingEnabled", "S3BucketReplicationEnabled", "S3DefaultEncryptionKMS")
        ),
    )
    return bucket.ref


def _guard(scope: Construct, bucket: s3.CfnBucket, policy: dict[str, Any], *, emptied: bool) -> None:
    """The bucket's policy. S3 deletes no bucket that holds anything: CDK's own function, let in here, empties it."""
    for statement in policy["Statement"] if emptied else ():
        # CDK reads the document again to add to it, and only knows resources that are text.
        resources = [statement["Resource"]] if isinstance(statement["Resource"], dict) else statement["Resource"]
        statement["Resource"] = [cdk.Token.as_string(r) if isinstance(r, dict) else r for r in resources]
    s3.CfnBucketPolicy(scope, "Policy", bucket=bucket.ref, policy_document=policy)
    if emptied:
        mixins.BucketAutoDeleteObjects().apply_to(bucket)


def _encryption(algorithm: str, key: str | None = None) -> s3.CfnBucket.BucketEncryptionProperty:
    return s3.CfnBucket.BucketEncryptionProperty(
        server_side_encryption_configuration=[
            s3.CfnBucket.ServerSideEncryptionRuleProperty(
                bucket_key_enabled=True if key else None,
                server_side_encryption_by_default=s3.CfnBucket.ServerSideEncryptionByDefaultProperty(
                    sse_algorithm=algorithm, kms_master_key_id=key
                ),
            )
        ]
    )


def _of_all(old_versions: int, expire: int | None = None) -> s3.CfnBucket.RuleProperty:
    """What holds in the whole bucket: unfinished uploads go, and so do versions that were replaced."""
    return s3.CfnBucket.RuleProperty(
        id="leftovers",
        status="Enabled",
        abort_incomplete_multipart_upload=s3.CfnBucket.AbortIncompleteMultipartUploadProperty(
            days_after_initiation=ABANDONED_DAYS
        ),
        noncurrent_version_expiration=s3.CfnBucket.NoncurrentVersionExpirationProperty(noncurrent_days=old_versions),
        expiration_in_days=expire,
    )


def _of(prefix: Prefix) -> s3.CfnBucket.RuleProperty:
    return s3.CfnBucket.RuleProperty(
        id=prefix.folder.strip("/").replace("/", "-"),
        status="Enabled",
        prefix=prefix.folder,
        transitions=[
            s3.CfnBucket.TransitionProperty(storage_class=tier, transition_in_days=age.days)
            for tier, age in prefix.tiers.items()
        ]
        or None,
        expiration_in_days=prefix.expire.days if prefix.expire else None,
    )
