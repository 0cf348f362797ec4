"""S3 buckets keep everything that a store needs when CloudFormation makes them; ministack drops most of it."""

from __future__ import annotations

from collections.abc import Callable
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
        ("Tags", tagging, api._put_bucket_tagging, api._delete_bucket_tagging),
        ("LoggingConfiguration", logging, api._put_bucket_logging, _forget(api._bucket_logging_config)),
        ("ObjectLockConfiguration", lock, api._put_object_lock_configuration, _forget(api._bucket_object_lock)),
    )


def _forget(kept: Any) -> Callable[[str], None]:
    return lambda bucket: kept.pop(bucket, None)


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


def tagging(declared: list[Json]) -> bytes:
    root = Element("Tagging")
    tags = SubElement(root, "TagSet")
    for pair in declared:
        tag = SubElement(tags, "Tag")
        _text(tag, "Key", pair["Key"])
        _text(tag, "Value", pair["Value"])
    return tostring(root)


def logging(declared: Json) -> bytes:
    root = Element("BucketLoggingStatus")
    if target := declared.get("DestinationBucketName"):
        node = SubElement(root, "LoggingEnabled")
        _text(node, "TargetBucket", target)
        _text(node, "TargetPrefix", declared.get("LogFilePrefix", ""))
    return tostring(root)


def lock(declared: Json) -> bytes:
    root = Element("ObjectLockConfiguration")
    _text(root, "ObjectLockEnabled", declared.get("ObjectLockEnabled", "Enabled"))
    if retention := declared.get("Rule", {}).get("DefaultRetention"):
        node = SubElement(SubElement(root, "Rule"), "DefaultRetention")
        for name, value in retention.items():
            _text(node, name, value)
    return tostring(root)


def _text(parent: Element, tag: str, value: object) -> None:
    SubElement(parent, tag).text = str(value)
