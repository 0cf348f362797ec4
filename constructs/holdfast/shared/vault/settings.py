"""What the construct of a vault sets and the rules demand."""

from __future__ import annotations

from holdfast.estate.placement import Placed

# AWS Backup starts at 02:00, 08:00, 14:00 and 20:00 and refuses to run into this.
BACKUP_WINDOW = "04:00-04:30"
BACKUP_MINUTES = 240  # what a backup may take
BACKUP_POLICY = "service-role/AWSBackupServiceRolePolicyForBackup"
BUCKET_BACKUP_POLICY = "AWSBackupServiceRolePolicyForS3Backup"


def vault_name(placed: Placed) -> str:
    return f"holdfast-{placed.id}"
