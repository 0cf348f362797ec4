"""The secret with which a function comes into its database. Read at every call, because RDS changes it every week."""

from __future__ import annotations

import json
from collections.abc import Mapping

import boto3
from botocore.config import Config

SECONDS = 10  # a missing way to the end point should not look like a slow one


def secret(arn: str) -> Mapping[str, str]:
    """Needs secretsmanager:GetSecretValue, and kms:Decrypt with the secret's key."""
    config = Config(connect_timeout=SECONDS, read_timeout=SECONDS, retries={"mode": "standard", "max_attempts": 3})
    answer = boto3.client("secretsmanager", config=config).get_secret_value(SecretId=arn)
    found: Mapping[str, str] = json.loads(answer["SecretString"])
    return found
