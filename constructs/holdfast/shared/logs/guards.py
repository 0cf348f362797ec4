"""How the guards of logs are read from a template in normal form."""

from __future__ import annotations

from holdfast.cfn.strength import number_or, on, own_key, there
from holdfast.cfn.types import LOG_GROUP
from holdfast.shared.readings import CMK, DP, Protection, at

PROTECTIONS = (
    Protection(
        type=LOG_GROUP,
        holds=True,
        readings=(
            at("RetentionInDays", number_or(float("inf")), "log retention"),
            at("KmsKeyId", own_key, CMK),
            at("DeletionProtectionEnabled", on, DP),
            at("DataProtectionPolicy", there, "data protection policy"),
        ),
    ),
    Protection(type="AWS::CloudTrail::Trail", protects="trail"),
)
