"""How the guards of AWS Backup are read from a template in normal form."""

from __future__ import annotations

from holdfast.cfn.strength import number, there
from holdfast.cfn.types import PLAN, SELECTION, VAULT
from holdfast.shared.readings import Protection, at, customer_key

PROTECTIONS = (
    Protection(
        type=VAULT,
        name="BackupVaultName",
        readings=(
            at("LockConfiguration", there, "vault lock", "lock"),
            at("LockConfiguration/MinRetentionDays", number, "vault lock", within="vault lock"),
            customer_key("EncryptionKeyArn"),
        ),
    ),
    Protection(type=PLAN, protects="backup plan"),
    Protection(
        type=SELECTION,
        protects="backup selection",
        members=(("BackupSelection/Resources", "backup"), ("BackupSelection/ListOfTags", "selecting tag")),
        fixed=(
            ("BackupPlanId", "another plan backs up what is selected", "backups"),
            ("BackupSelection/Conditions", "the selection of backups is changed", "backups"),
            ("BackupSelection/NotResources", "the selection of backups is changed", "backups"),
        ),
    ),
)
