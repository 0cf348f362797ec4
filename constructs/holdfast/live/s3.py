"""An archive on S3: written once with a checksum, read back, never changed. Object Lock may forbid the rest."""

from __future__ import annotations

import base64
import errno
import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError, FlexibleChecksumError

from holdfast.errors import InputError
from holdfast.postgres.archive import ArchiveError, refuse_other

PLACE = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(/(?P<prefix>.*?))?/?")
GONE = ("NoSuchKey", "404")
THERE = ("PreconditionFailed", "412")
DENIED = ("AccessDenied", "403", "Forbidden")
COLD = "InvalidObjectState"


@dataclass(frozen=True, slots=True, kw_only=True)
class S3:
    """A prefix of a bucket."""

    bucket: str
    prefix: str
    client: Any

    @classmethod
    def open(cls, where: str) -> S3:
        if not (place := PLACE.fullmatch(where)):
            raise InputError(f"{where} is no place for an archive: write a folder or s3://bucket/prefix")
        with _clear("opening", where):
            client = boto3.session.Session().client("s3")
        return cls(bucket=place["bucket"], prefix=place["prefix"] or "", client=client)

    @property
    def where(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def put(self, name: str, body: bytes) -> None:
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        try:
            with _clear("s3:PutObject", self._url(name)):
                self.client.put_object(
                    Bucket=self.bucket, Key=self._key(name), Body=body, ChecksumSHA256=digest, IfNoneMatch="*"
                )
        except FileExistsError:  # a run that was cut off had stored it and not yet said so
            refuse_other(self._url(name), self.get(name), body)

    def get(self, name: str) -> bytes | None:
        try:
            with _clear("s3:GetObject", self._url(name)):
                answer = self.client.get_object(Bucket=self.bucket, Key=self._key(name), ChecksumMode="ENABLED")
                body: bytes = answer["Body"].read()
                return body
        except FileNotFoundError:
            return None

    def names(self) -> list[str]:
        start = self._key("")
        with _clear("s3:ListBucket", self.where):
            pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=start)
            return sorted(o["Key"].removeprefix(start) for page in pages for o in page.get("Contents", ()))

    def _key(self, name: str) -> str:
        return f"{self.prefix}/{name}" if self.prefix else name

    def _url(self, name: str) -> str:
        return f"s3://{self.bucket}/{self._key(name)}"


@contextmanager
def _clear(action: str, where: str) -> Iterator[None]:
    """Turns what S3 refuses into the errors of a file system, or into one line."""
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code in GONE:
            raise FileNotFoundError(errno.ENOENT, "not there", where) from None
        if code in THERE:
            raise FileExistsError(errno.EEXIST, "there already", where) from None
        if code in DENIED:
            raise PermissionError(errno.EACCES, f"access denied ({action} is needed)", where) from None
        if code == COLD:
            tier = error.response["Error"].get("StorageClass", "cold storage")
            said = f"it is in {tier}: call `aws s3api restore-object` for all beside it, and run again when it is back"
            raise PermissionError(errno.EACCES, said, where) from None
        raise InputError(f"{where}: {action} was refused ({code}): check bucket, region and credentials") from None
    except FlexibleChecksumError:
        raise ArchiveError(f"{where} is damaged: S3's own checksum does not fit") from None
    except BotoCoreError as error:
        said = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"{where}: {said}: check credentials, region and endpoint") from None
