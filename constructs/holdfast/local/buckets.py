"""S3 buckets keep their lifecycle and encryption when CloudFormation makes them; ministack drops both."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from holdfast.local import private
from holdfast.local.tables import truth

Json = dict[str, Any]


def complete() -> None:
    engine = private.module("ministack.services.cloudformation.provisioners")
    api = private.module("ministack.services.s3")

    def encrypt(bucket: str, body: bytes) -> None:
        if not bucket.startswith("cdk-"):  # the CDK CLI then uploads without a key id, which ministack refuses
            api._put_bucket_encryption(bucket, body)

    engine._S3_BUCKET_CONFIGURATIONS = (
        *engine._S3_BUCKET_CONFIGURATIONS,
        ("LifecycleConfiguration", lifecycle, api._put_bucket_lifecycle, api._delete_bucket_lifecycle),
        ("BucketEncryption", encryption, encrypt, api._delete_bucket_encryption),
    )


def lifecycle(declared: Json) -> bytes:
    root = Element("LifecycleConfiguration")
    for number, rule in enumerate(declared.get("Rules", []), start=1):
        node = SubElement(root, "Rule")
        _text(node, "ID", rule.get("Id", f"rule-{number}"))
        _text(SubElement(node, "Filter"), "Prefix", rule.get("Prefix", ""))
        _text(node, "Status", rule.get("Status", "Enabled"))
        for move in rule.get("Transitions", []):
            inner = SubElement(node, "Transition")
            _text(inner, "Days", move.get("TransitionInDays", 0))
            _text(inner, "StorageClass", move["StorageClass"])
        if days := rule.get("ExpirationInDays"):
            _text(SubElement(node, "Expiration"), "Days", days)
        if old := rule.get("NoncurrentVersionExpiration"):
            _text(SubElement(node, "NoncurrentVersionExpiration"), "NoncurrentDays", old["NoncurrentDays"])
        if abort := rule.get("AbortIncompleteMultipartUpload"):
            inner = SubElement(node, "AbortIncompleteMultipartUpload")
            _text(inner, "DaysAfterInitiation", abort["DaysAfterInitiation"])
    return tostring(root)


def encryption(declared: Json) -> bytes:
    rule = (declared.get("ServerSideEncryptionConfiguration") or [{}])[0]
    default = rule.get("ServerSideEncryptionByDefault", {})
    root = Element("ServerSideEncryptionConfiguration")
    node = SubElement(root, "Rule")
    inner = SubElement(node, "ApplyServerSideEncryptionByDefault")
    _text(inner, "SSEAlgorithm", default.get("SSEAlgorithm", "AES256"))
    if key := default.get("KMSMasterKeyID"):
        _text(inner, "KMSMasterKeyID", key)
    _text(node, "BucketKeyEnabled", "true" if truth(rule.get("BucketKeyEnabled")) else "false")
    return tostring(root)


def _text(parent: Element, tag: str, value: object) -> None:
    SubElement(parent, tag).text = str(value)
