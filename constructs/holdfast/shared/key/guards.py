"""How the guards of KMS keys are read from a template in normal form."""

from __future__ import annotations

from holdfast.cfn.strength import not_off, number_or, on
from holdfast.cfn.types import KEY
from holdfast.shared.readings import Protection, at

PROTECTIONS = (
    Protection(
        type=KEY,
        holds=True,
        readings=(
            at("EnableKeyRotation", on, "key rotation"),
            at("Enabled", not_off, "key"),
            at("PendingWindowInDays", number_or(30.0), "waiting period before a key is deleted"),
        ),
    ),
)
