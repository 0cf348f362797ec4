"""How the backups of a stack are read, and what AWS Backup answers in CloudFormation's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.cfn.types import KEY, PLAN, ROLE, SELECTION, VAULT
from holdfast.shared.calls import Call
from holdfast.shared.live import KEPT, Answer, Resource, StackResources, shaped

ARNS = "arn:aws:backup:*:*:*"  # plans and vaults


def _call(
    operation: str, reads: str, member: str, page: tuple[str, str] | None = None, needs: tuple[str, ...] = ()
) -> Call:
    action = f"backup:{operation}"
    return Call(
        service="backup",
        operation=operation,
        action=action,
        reads=reads,
        member=member,
        needs=needs,
        page=page,
        resource=ARNS,
    )


GET_PLAN = _call(
    "GetBackupPlan",
    "the backup plan",
    "BackupPlan",
    needs=tuple(f"BackupPlan.{n}" for n in ("Rules", "Rules.TargetBackupVaultName", "Rules.ScheduleExpression")),
)
LIST_SELECTIONS = _call(
    "ListBackupSelections",
    "what the backup plan selects",
    "BackupSelectionsList",
    ("NextToken", "NextToken"),
    ("BackupSelectionsList.SelectionId",),
)
GET_SELECTION = _call(
    "GetBackupSelection", "the backup selection", "BackupSelection", needs=("BackupSelection.IamRoleArn",)
)
DESCRIBE_VAULT = _call(
    "DescribeBackupVault", "the backup vault", "BackupVaultName", needs=("EncryptionKeyArn", "Locked")
)


def plan(p: Answer, own: StackResources) -> Resource:
    rules = []
    for rule in p.get("Rules", ()):
        found = dict(rule)
        found["TargetBackupVault"] = own.ref(VAULT, found.pop("TargetBackupVaultName", None))
        rules.append(found)
    return shaped(PLAN, {"BackupPlan": {"BackupPlanName": p.get("BackupPlanName"), "BackupPlanRule": rules}})


def selection(s: Answer, plan: str, arns: Mapping[str, Any], own: StackResources) -> Resource:
    """``arns`` are the stores that were read: how a template refers to each ARN."""
    chosen = {k: v for k, v in s.items() if v}
    chosen["Resources"] = [arns.get(arn, arn) for arn in s.get("Resources", ())]
    if role := s.get("IamRoleArn"):
        chosen["IamRoleArn"] = own.arn(ROLE, role)
    return shaped(SELECTION, {"BackupPlanId": {"Ref": plan}, "BackupSelection": chosen})


def vault(v: Answer, own: StackResources) -> Resource:
    days = {k: v[k] for k in ("MinRetentionDays", "MaxRetentionDays") if v.get(k) is not None}
    return shaped(
        VAULT,
        {
            "BackupVaultName": v["BackupVaultName"],
            "EncryptionKeyArn": own.arn(KEY, v.get("EncryptionKeyArn")),
            "LockConfiguration": days if v.get("Locked") and days else None,
        },
        **KEPT,
    )
