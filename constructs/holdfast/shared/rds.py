"""What the databases of RDS and the clusters of DocumentDB have in common."""

from __future__ import annotations

from holdfast.cfn.strength import number, off, on
from holdfast.shared.readings import BACKUPS, at, customer_key, deletion_protection

READINGS = (
    deletion_protection("DeletionProtection"),
    at("BackupRetentionPeriod", number, BACKUPS, "backups"),
    at("StorageEncrypted", on, "encryption"),
    customer_key("KmsKeyId"),
    at("PubliclyAccessible", off, "private access"),
    at("EnableIAMDatabaseAuthentication", on, "IAM log-in"),
    at("ManageMasterUserPassword", on, "password in Secrets Manager"),
    at("DeleteAutomatedBackups", lambda v: float(v is False), "automated backups kept after a deletion"),
)
MEMBERS = (("EnableCloudwatchLogsExports", "exported log"),)
