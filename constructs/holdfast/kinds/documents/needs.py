"""What the rules ask of a document database, and where each answer is read."""

from __future__ import annotations

from holdfast.cfn.places import at
from holdfast.kinds.base import Asked, Needs, StoreSubject
from holdfast.kinds.database.needs import (
    COPIED,
    FIXES,
    PROTECTED,
    STORAGE,
    generated,
    instances_in_zones,
    recovery_days,
)
from holdfast.kinds.documents.declaration import DocumentDatabase
from holdfast.kinds.documents.settings import PARAMETERS as SETTINGS
from holdfast.kinds.documents.settings import VERSION
from holdfast.kinds.documents.types import DOCUMENTS, DOCUMENTS_INSTANCE, PARAMETERS
from holdfast.kinds.need import (
    Need,
    absent,
    admits,
    exactly,
    logs_stay,
    met,
    names,
    needs,
    read_by,
    settings_in,
    several,
    starting,
    worst,
)
from holdfast.model.facts import Guard
from holdfast.verdict import EXEMPT, Verdict

Subject = StoreSubject[DocumentDatabase]
COPIES = absent(COPIED, "GlobalClusterIdentifier", "SnapshotIdentifier", "SourceDBClusterIdentifier")
TLS = Need("connections without TLS are taken", "@DBClusterParameterGroupName.Parameters.tls", exactly("enabled"))
EXPORTED = Need("the audit log is not exported", "EnableCloudwatchLogsExports", names("audit"))
MAINTAINED = Need("its version gets no fixes", "EngineVersion", starting(f"{VERSION.partition('.')[0]}."))


def recoverable(s: Subject) -> Verdict:
    return met(s, [recovery_days(s.store.recovery.days)]) if Guard.PITR in s.required else EXEMPT


def configured(s: Subject) -> Verdict:
    return worst([settings_in(s, ("@DBClusterParameterGroupName", "Parameters"), SETTINGS), met(s, [MAINTAINED])])


NEEDS: Needs[DocumentDatabase] = Needs(
    deletion_protection=Asked(
        needs({DOCUMENTS: (PROTECTED,)}, guard=Guard.DELETION_PROTECTION), at(DOCUMENTS, "DeletionProtection")
    ),
    recovery=Asked(recoverable, at(DOCUMENTS, "BackupRetentionPeriod")),
    expiry=None,
    customer_key=Asked(
        needs({DOCUMENTS: STORAGE}, guard=Guard.CUSTOMER_KEY), at(DOCUMENTS, "KmsKeyId", "StorageEncrypted")
    ),
    tls=Asked(
        needs({DOCUMENTS: (TLS,)}), at(PARAMETERS, "Parameters/tls") + at(DOCUMENTS, "DBClusterParameterGroupName")
    ),
    private=Asked(needs({DOCUMENTS: COPIES}), read_by(DOCUMENTS, COPIES)),
    clients=None,  # DocumentDB's users have passwords, which it generates itself
    zones=Asked(several(instances_in_zones), at(DOCUMENTS_INSTANCE, "Type", "DBClusterIdentifier")),
    logs=Asked(needs({DOCUMENTS: (EXPORTED,)}), at(DOCUMENTS, "EnableCloudwatchLogsExports")),
    logs_kept=Asked(logs_stay(), ()),
    port=Asked(admits("VpcSecurityGroupIds"), at(DOCUMENTS, "Port", "VpcSecurityGroupIds")),
    fixes=Asked(needs({}, members={DOCUMENTS_INSTANCE: (FIXES,)}), at(DOCUMENTS_INSTANCE, "AutoMinorVersionUpgrade")),
    passwords=Asked(
        lambda s: met(s, generated("MasterUserSecretKmsKeyId")),
        at(DOCUMENTS, "ManageMasterUserPassword", "MasterUserPassword", "MasterUserSecretKmsKeyId"),
    ),
    settings=Asked(configured, at(DOCUMENTS, "EngineVersion") + at(PARAMETERS, "Parameters")),
    jobs=None,
)
