"""What applications may do with a bucket."""

from __future__ import annotations

from typing import Any

from holdfast.estate.placement import Placed
from holdfast.kinds.bucket.declaration import Bucket
from holdfast.model.regions import via
from holdfast.shared.applications.statements import Use


def uses(placed: Placed, store: Bucket, arn: Any, key: Any) -> list[Use]:
    """Objects below the declared prefixes, through the stack's key."""
    below = [f"{p.folder}*" for p in store.prefixes]
    return [
        Use(
            sid=f"{store.id}Objects",
            actions=("s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"),
            resources=tuple({"Fn::Join": ["", [arn, f"/{name}"]]} for name in below),
            why="the objects of one declared prefix, whose names applications choose",
        ),
        Use(
            sid=f"{store.id}List",
            actions=("s3:ListBucket",),
            resources=(arn,),
            condition={"StringLike": {"s3:prefix": below}},
        ),
        Use(
            sid=f"{store.id}Key",
            actions=("kms:Decrypt", "kms:GenerateDataKey"),
            resources=(key,),
            condition={"StringEquals": {"kms:ViaService": via(placed.region, "s3")}},
        ),
    ]
