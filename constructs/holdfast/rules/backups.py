"""Backups in a vault, beside the recovery that an engine itself offers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from holdfast.cfn.dig import dig, flat
from holdfast.cfn.places import at
from holdfast.cfn.template import Source
from holdfast.cfn.types import ROLE, SELECTION, VAULT
from holdfast.kinds.base import StoreSubject
from holdfast.kinds.bucket import needs as bucket
from holdfast.kinds.bucket import types as bucket_types
from holdfast.kinds.bucket.types import BUCKET
from holdfast.kinds.need import Need, at_least, exactly, kept, met, of_kind, own_key, worst
from holdfast.model.facts import Guard
from holdfast.model.regions import partition
from holdfast.model.store import Backups
from holdfast.rules.base import Check, Rule, Severity
from holdfast.shared.account import Aspect
from holdfast.shared.vault.settings import BACKUP_MINUTES, BACKUP_POLICY, vault_name
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, Verdict, fail


def backed_up(s: StoreSubject[Any]) -> Verdict:
    backups: Backups | None = getattr(s.store, "backups", None)
    if backups is None or Guard.PITR not in s.required:
        return EXEMPT
    plans = list(_plans_of(s))
    if not plans:
        return fail("no backup plan of the stack selects it, and it alone, with a role that may back it up")
    problems = []
    for name, schedule in backups.schedules.items():
        own = [r for plan in plans for r in plan if r.get("ScheduleExpression") == schedule]
        if not own:
            problems.append(f"no rule of its plan runs at {schedule} ({name})")
        for rule in own:
            days = dig(s.stack, rule, "Lifecycle", "DeleteAfterDays", default=10**6)  # kept for ever, unless it says
            if not at_least(backups.keep.days)(s, days):
                problems.append(f"{name} is not kept {backups.keep.days} days")
            if rule.get("ScheduleExpressionTimezone", "Etc/UTC") not in ("Etc/UTC", "UTC"):
                problems.append(f"{name} does not run by UTC")
            if not s.stack.is_a(rule.get("TargetBackupVault"), VAULT):
                problems.append(f"{name} goes to no vault of the stack")
            if not at_least(BACKUP_MINUTES)(s, rule.get("CompletionWindowMinutes", BACKUP_MINUTES)):
                problems.append(f"{name} is given up after less than {BACKUP_MINUTES} minutes")
    return fail("; ".join(problems)) if problems else _vaults(s, backups)


def _arn(s: StoreSubject[Any]) -> str:
    """How a template writes the ARN of a store, as Fn::Sub would."""
    if s.type in s.kind.arns:
        return f"${{{s.logical_id}.{s.kind.arns[s.type]}}}"
    # DocumentDB has no such attribute.
    region = s.placed.region
    return f"arn:{partition(region)}:rds:{region}:${{AWS::AccountId}}:cluster:${{{s.logical_id}}}"


def _plans_of(s: StoreSubject[Any]) -> Iterator[list[dict[str, Any]]]:
    """The rules of every backup plan that selects the store, whatever its tags, and may do so."""
    arn = _anywhere(_arn(s))
    for _, selection in s.stack.resources(SELECTION):
        raw = selection.get("Properties", {}).get("BackupSelection", {})
        chosen = raw.get("Resources") if isinstance(raw, dict) else None
        if not isinstance(chosen, list) or arn not in [_anywhere(flat(s.stack, r)) for r in chosen]:
            continue
        narrowed = raw.keys() - {"SelectionName", "IamRoleArn", "Resources"}
        if narrowed or not _may_back_up(s, dig(s.stack, raw, "IamRoleArn")):
            continue
        rules = dig(s.stack, selection, "Properties", "@BackupPlanId", "BackupPlan", "BackupPlanRule", default=[])
        yield [r for r in rules if isinstance(r, dict)] if isinstance(rules, list) else []


def _anywhere(arn: str | Unknown) -> str | Unknown:
    """An ARN without its account, which a template does not know."""
    return arn if isinstance(arn, Unknown) else re.sub(r":(\d{12}|\$\{AWS::AccountId\}):", "::", arn)


def _may_back_up(s: StoreSubject[Any], role: Any) -> bool:
    """Whether a role of the stack has what AWS Backup needs for this kind of store."""
    if not s.stack.is_a(role, ROLE):
        return False
    if s.stack.source is Source.LIVE:
        return True  # what a role may do, the deployed template says
    raw = s.part(role.logical_id).resource.get("Properties", {}).get("ManagedPolicyArns", [])
    held = {str(flat(s.stack, arn)).partition(":policy/")[2] for arn in raw} if isinstance(raw, list) else set()
    return {BACKUP_POLICY, *s.kind.backup_policies} <= held


def _vaults(s: StoreSubject[Any], backups: Backups) -> Verdict:
    """Every vault is the stack's own, under its key, locked, and stays.

    The lock holds for all that is in a vault, so it can only be as long as the shortest of the declared times.
    """
    declared = [b for t in s.placed.stores if (b := getattr(t, "backups", None)) and Guard.PITR in s.placed.required(t)]
    shortest = min(b.keep.days for b in declared)
    lock = "LockConfiguration"
    wanted = [
        Need("the vault has another name than its alarm reads", "BackupVaultName", exactly(vault_name(s.placed))),
        Need("the vault has no key of its own", "EncryptionKeyArn", own_key),
        Need(f"the vault lets go of backups before {shortest} days", f"{lock}.MinRetentionDays", at_least(shortest)),
        Need(
            f"the vault refuses backups that are kept {backups.keep.days} days",
            f"{lock}.MaxRetentionDays",
            at_least(backups.keep.days),
            backups.keep.days,
        ),
        Need("others are let into the vault", "AccessPolicy", exactly(None)),
    ]
    vaults = [s.part(i) for i, _ in s.stack.possible(VAULT)]
    return worst(verdict for v in vaults for verdict in (met(v, wanted), kept(s.stack, v.resource)))


BACKED_UP = Rule(
    id="HF513",
    title="Backups run as declared, into a locked vault",
    why="Recovery to a point in time ends with the instance. Backups in a locked vault outlive a deleted database and a stolen "
    "administrator.",
    remediation="Restore the backup plan, its selection and the locked vault for {table} in {stack}; the construct makes all three.",
    severity=Severity.HIGH,
    guard=Guard.PITR,
    paths=at("AWS::Backup::BackupPlan", "Type", "BackupPlan")
    + at("AWS::Backup::BackupSelection", "Type", "BackupPlanId", "BackupSelection")
    + at(
        "AWS::Backup::BackupVault",
        "Type",
        "AccessPolicy",
        "BackupVaultName",
        "DeletionPolicy",
        "EncryptionKeyArn",
        "LockConfiguration",
        "UpdateReplacePolicy",
    ),
    controls=("SecurityHub RDS.26", "SecurityHub Backup.1", "NIST CP-9", "PCI 10.3.3", "HIPAA 164.308(a)(7)(ii)(A)"),
    aspects=frozenset({Aspect.OWN, Aspect.BACKUPS}),
    checks=(Check(StoreSubject, backed_up),),
)
LOCKED = Rule(
    id="HF534",
    title="Archives are locked against deletion",
    why="An archive is the only copy of what was dropped from the database.",
    remediation="Restore Object Lock and its retention on {table}; it can be switched on for an existing bucket.",
    severity=Severity.CRITICAL,
    guard=Guard.RETAIN,
    paths=at(BUCKET, "ObjectLockConfiguration", "ObjectLockEnabled"),
    controls=("SecurityHub S3.15",),
    aspects=frozenset({Aspect.LOCK}),
    checks=(Check(StoreSubject, of_kind(bucket_types.IDENTITY, bucket.locked)),),
)
RULES = (BACKED_UP, LOCKED)
