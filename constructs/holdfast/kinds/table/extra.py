"""Settings of a table that no field of a declaration has a word for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.model.declaration import DeclarationError, checked

# The properties of a table that follow from the fields of its declaration, and the field to use instead.
DECLARED: Mapping[str, str] = {
    "AttributeDefinitions": "key=",
    "BillingMode": "billing=",
    "DeletionProtectionEnabled": "the policy",
    "GlobalSecondaryIndexes": "indexes=",
    "KeySchema": "key=",
    "LocalSecondaryIndexes": "local_indexes=",
    "PointInTimeRecoverySpecification": "the policy and recovery_days=",
    "ProvisionedThroughput": "billing=",
    "SSESpecification": "data= and key= of the stack",
    "StreamSpecification": "stream=",
    "TableName": "name=",
    "Tags": "tags= of the table",
    "TimeToLiveSpecification": "lifetime=",
}


@checked
@dataclass(frozen=True, slots=True)
class Extra:
    """CloudFormation properties of a table, as they are, and why it has them.

    ``Extra({"TableClass": "STANDARD_INFREQUENT_ACCESS"}, reason="read once a year")``
    """

    properties: Mapping[str, Any] = field(hash=False)
    reason: str

    def __post_init__(self) -> None:
        if not self.properties or not self.reason:
            raise DeclarationError(f"extra={dict(self.properties)} needs properties and a reason")
        for name in self.properties:
            if name in DECLARED:
                raise DeclarationError(f"extra= names {name}, which Holdfast sets itself: use {DECLARED[name]}")
