"""The alarm of a bucket with a quota."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.estate.placement import Placed
from holdfast.kinds.bucket.declaration import Bucket
from holdfast.shared.alarms.alarm import Alarm, Metric

DAY = 86_400  # S3 counts once a day
# What S3 calls the bytes of each storage class; those of Intelligent-Tiering that are read at once are three.
CLASSES = (
    "StandardStorage",
    "StandardIAStorage",
    "GlacierInstantRetrievalStorage",
    "IntelligentTieringFAStorage",
    "IntelligentTieringIAStorage",
    "IntelligentTieringAIAStorage",
)


def alarms(placed: Placed, store: Bucket, bucket: str | None = None) -> Iterator[Alarm]:
    """``bucket`` is its whole name as a template refers to it: the number of the account is known at a deploy only."""
    if store.quota_gib is None:
        return
    name = placed.fill(store.name)
    called = bucket or store.identifier(name, placed.region, "${AWS::AccountId}")
    metrics = tuple(
        Metric(
            id=f"bytes{number}",
            name="BucketSizeBytes",
            stat="Average",
            dimensions={"BucketName": called, "StorageType": kind},
            namespace="AWS/S3",
        )
        for number, kind in enumerate(CLASSES, 1)
    )
    # The first one is not filled: a day that S3 has not counted yet is no empty bucket.
    first, *others = (m.id for m in metrics)
    yield Alarm(
        id="Quota",
        name=f"{name}/quota",
        description=f"{name} holds more than its quota of {store.quota_gib:,} GiB, old versions included",
        metrics=metrics,
        expression=" + ".join((first, *(f"FILL({other}, 0)" for other in others))),
        threshold=store.quota_gib * 2**30,
        period=DAY,
    )
