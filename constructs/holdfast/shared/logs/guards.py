"""How the guards of logs are read from a template in normal form."""

from __future__ import annotations

from holdfast.cfn.strength import number_or, on, own_key, there
from holdfast.cfn.types import LOG_GROUP
from holdfast.model.facts import Guard
from holdfast.shared.readings import Protection, at

PROTECTIONS = (
    Protection(
        type=LOG_GROUP,
        holds=True,
        readings=(
            at("RetentionInDays", number_or(float("inf")), "log retention"),
            at("KmsKeyId", own_key, Guard.CUSTOMER_KEY.label),
            at("DeletionProtectionEnabled", on, Guard.DELETION_PROTECTION.label),
            at("DataProtectionPolicy", there, "data protection policy"),
        ),
    ),
    Protection(type="AWS::CloudTrail::Trail", protects="trail"),
)
