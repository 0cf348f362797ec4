"""The policies of a bucket: what its construct sets and the rules demand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.cfn.dig import ACCOUNT


def bucket_policy(arn: Any, *more: Mapping[str, Any]) -> dict[str, Any]:
    """A bucket refuses plain HTTP and old TLS; ``more`` are statements of its own."""
    deny = {
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": "s3:*",
        "Resource": [arn, {"Fn::Join": ["", [arn, "/*"]]}],
    }
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Sid": "OverTlsOnly", **deny, "Condition": {"Bool": {"aws:SecureTransport": "false"}}},
            {"Sid": "OverNewTlsOnly", **deny, "Condition": {"NumericLessThan": {"s3:TlsVersion": "1.2"}}},
            *more,
        ],
    }


def log_delivery(arn: Any) -> dict[str, Any]:
    """S3 may deliver access logs of this account to the bucket that keeps them."""
    return {
        "Sid": "DeliveryOfAccessLogs",
        "Effect": "Allow",
        "Principal": {"Service": "logging.s3.amazonaws.com"},
        "Action": "s3:PutObject",
        "Resource": {"Fn::Join": ["", [arn, "/*"]]},
        "Condition": {"StringEquals": {"aws:SourceAccount": ACCOUNT}},
    }


def emptied_by(role: Any, arn: Any) -> dict[str, Any]:
    """CDK's own function may empty a bucket that goes with its stack."""
    return {
        "Effect": "Allow",
        "Principal": {"AWS": role},
        "Action": ["s3:PutBucketPolicy", "s3:GetBucket*", "s3:List*", "s3:DeleteObject*"],
        "Resource": [arn, {"Fn::Join": ["", [arn, "/*"]]}],
    }
