"""What Holdfast knows of buckets, in one record."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from holdfast.cfn.dig import dig
from holdfast.cfn.intrinsics import Reference
from holdfast.cfn.template import StackSeen
from holdfast.kinds.base import Kind, none
from holdfast.kinds.bucket import types
from holdfast.kinds.bucket.alarms import alarms
from holdfast.kinds.bucket.declaration import Bucket
from holdfast.kinds.bucket.guards import PROTECTIONS
from holdfast.kinds.bucket.live import READING
from holdfast.kinds.bucket.needs import NEEDS
from holdfast.shared.vault.settings import BUCKET_BACKUP_POLICY

if TYPE_CHECKING:
    from holdfast.shared.applications.statements import Use
    from holdfast.shared.construct.context import StoreContext


def construct(context: StoreContext, store: Bucket) -> Iterator[Use]:
    from holdfast.kinds.bucket.construct import add_bucket

    return add_bucket(context, store)


def access_logs(stack: StackSeen, matched: Collection[str]) -> set[str]:
    """The buckets that take the access logs of these stores."""
    path = ("LoggingConfiguration", "DestinationBucketName")
    found = (dig(stack, stack.template["Resources"][i].get("Properties", {}), *path) for i in matched)
    return {name.logical_id for name in found if isinstance(name, Reference) and name.attribute is None}


BUCKET = Kind(
    declaration=Bucket,
    identity=types.IDENTITY,
    made=frozenset({types.BUCKET, types.POLICY, "Custom::S3AutoDeleteObjects"}),
    guards=PROTECTIONS,
    needs=NEEDS,
    alarms=none,
    notices=alarms,
    logs=none,
    construct=construct,
    live=READING,
    beside=access_logs,
    arns={types.BUCKET: "Arn"},
    end_points=("s3",),
    backup_policies=(BUCKET_BACKUP_POLICY,),
    harmless=("s3:DeleteObject",),  # the version stays, and where it is locked that cannot be shortened
)
