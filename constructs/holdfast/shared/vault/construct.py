"""Backups in a vault of the stack, beside the recovery that each engine offers itself."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_backup as backup
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from holdfast.estate.placement import Placed
from holdfast.model.store import Backups
from holdfast.shared.construct.acknowledge import AWS_SOLUTIONS, acknowledge
from holdfast.shared.vault.settings import BACKUP_MINUTES, BACKUP_POLICY, vault_name

MAX_LOCK_DAYS = 365  # a vault that is locked for ever can never be emptied


class Vault(Construct):
    """The stack's one vault. Made only where the policy asks for recovery, so it is locked and stays."""

    def __init__(self, scope: Construct, placed: Placed, key: kms.IKey) -> None:
        super().__init__(scope, "Backups")
        self._placed = placed
        self._shortest: int | None = None
        self.name = vault_name(placed)
        self._vault = backup.CfnBackupVault(
            self, "Vault", backup_vault_name=self.name, encryption_key_arn=key.key_arn, backup_vault_tags=placed.tags
        )
        self._vault.apply_removal_policy(cdk.RemovalPolicy.RETAIN)
        self._role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("backup.amazonaws.com"),
            description=f"Backs up the stores of {placed.name}",
        )
        self._allow(BACKUP_POLICY)

    def keep(self, name: str, backups: Backups, arn: str, *policies: str) -> None:
        """Back up the store called ``name`` as it declares, and nothing else; ``policies`` are AWS's for its engine."""
        for policy in policies:
            self._allow(policy)
        days = backups.keep.days
        self._shortest = min(days, self._shortest or days)
        self._vault.lock_configuration = backup.CfnBackupVault.LockConfigurationTypeProperty(
            min_retention_days=self._shortest, max_retention_days=MAX_LOCK_DAYS
        )
        plan = backup.CfnBackupPlan(
            self,
            f"{name}Plan",
            backup_plan=backup.CfnBackupPlan.BackupPlanResourceTypeProperty(
                backup_plan_name=f"{self._placed.id}-{name}",
                backup_plan_rule=[
                    backup.CfnBackupPlan.BackupRuleResourceTypeProperty(
                        rule_name=rule,
                        target_backup_vault=self._vault.ref,
                        schedule_expression=schedule,
                        schedule_expression_timezone="Etc/UTC",
                        start_window_minutes=60,
                        completion_window_minutes=BACKUP_MINUTES,
                        lifecycle=backup.CfnBackupPlan.LifecycleResourceTypeProperty(delete_after_days=days),
                    )
                    for rule, schedule in backups.schedules.items()
                ],
            ),
            backup_plan_tags=self._placed.tags,
        )
        backup.CfnBackupSelection(
            self,
            f"{name}Selection",
            backup_plan_id=plan.ref,
            backup_selection=backup.CfnBackupSelection.BackupSelectionResourceTypeProperty(
                selection_name=name, iam_role_arn=self._role.role_arn, resources=[arn]
            ),
        )

    def _allow(self, policy: str) -> None:
        self._role.add_managed_policy(iam.ManagedPolicy.from_aws_managed_policy_name(policy))
        acknowledge(
            self._role,
            "what AWS Backup documents for its role; a narrower one would miss what the service adds",
            f"{AWS_SOLUTIONS}-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{policy}]",
        )
