"""Whether a store can be had back: recovery by its engine, and backups in a vault that keeps them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.cfn.template import Source, StackSeen
from holdfast.kinds.alarms import vault_name
from holdfast.kinds.bucket.declaration import Bucket
from holdfast.kinds.database.declaration import Database
from holdfast.kinds.documents.declaration import DocumentDatabase
from holdfast.kinds.settings import BACKUP_MINUTES, BACKUP_POLICY, BUCKET_BACKUP_POLICY
from holdfast.model.facts import Guard
from holdfast.model.regions import partition
from holdfast.model.store import Backups
from holdfast.rules.store_subject import (
    CLUSTER,
    DOCUMENTS,
    INSTANCE,
    ROLE,
    Need,
    StoreSubject,
    about,
    at_least,
    dig,
    exactly,
    flat,
    met,
    own_key,
    worst,
)
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Verdict, fail, unknown

VAULT, SELECTION = "AWS::Backup::BackupVault", "AWS::Backup::BackupSelection"


def retained(s: StoreSubject) -> Verdict:
    if Guard.RETAIN not in s.required:
        return EXEMPT
    return worst([kept(s.stack, s.resource), *(about(m, kept(m.stack, m.resource)) for m in s.members)])


def kept(stack: StackSeen, resource: Mapping[str, Any]) -> Verdict:
    for name in ("DeletionPolicy", "UpdateReplacePolicy"):
        policy = stack.resolver.get(resource, name)
        if isinstance(policy, Unknown):
            return unknown(f"{name} cannot be read: {policy.reason}")
        if policy != "Retain":
            return fail(f"{name} is {policy or 'missing'}, required is Retain")
    return PASS


def recoverable(s: StoreSubject) -> Verdict:
    if Guard.PITR not in s.required:
        return EXEMPT
    if isinstance(s.store, Bucket):
        return met(
            s,
            [
                Need("old versions are not kept", "VersioningConfiguration.Status", exactly("Enabled")),
                Need(
                    f"old versions are gone before {s.placed.policy.recovery_days} days",
                    "LifecycleConfiguration.Rules",
                    old_versions,
                    [],
                ),
            ],
        )
    assert isinstance(s.store, Database | DocumentDatabase)
    days = s.store.recovery.days
    wanted = [Need(f"recovery does not reach back {days} days", "BackupRetentionPeriod", at_least(days), 1)]
    if s.type in (INSTANCE, CLUSTER) and s.stack.source is not Source.LIVE:  # no API shows it: whoever deletes says it
        wanted.append(Need("its backups are deleted with it", "DeleteAutomatedBackups", exactly(False), True))
    return met(s, wanted)


def old_versions(s: StoreSubject, rules: Any) -> bool:
    """Whether what was overwritten or deleted can be had back for a while; declared waste may go sooner."""
    assert isinstance(s.store, Bucket)
    wanted = s.placed.policy.recovery_days
    short_lived = {p.folder for p in s.store.prefixes if p.expire and p.expire.days < wanted}
    ends = [
        dig(s.stack, r, "NoncurrentVersionExpiration", "NoncurrentDays", default=wanted)
        for r in (rules if isinstance(rules, list) else [rules])
        if not (isinstance(r, dict) and r.get("Prefix") in short_lived)
    ]
    return all(at_least(wanted)(s, days) for days in ends)


def backed_up(s: StoreSubject) -> Verdict:
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


ARNS = {
    INSTANCE: "${{{0}.DBInstanceArn}}",
    CLUSTER: "${{{0}.DBClusterArn}}",
    DOCUMENTS: "arn:{2}:rds:{1}:${{AWS::AccountId}}:cluster:${{{0}}}",
}


def _plans_of(s: StoreSubject) -> Iterator[list[dict[str, Any]]]:
    """The rules of every backup plan that selects the store, whatever its tags, and may do so."""
    arn = _anywhere(ARNS.get(s.type, "${{{0}.Arn}}").format(s.logical_id, s.placed.region, partition(s.placed.region)))
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


def _may_back_up(s: StoreSubject, role: Any) -> bool:
    """Whether a role of the stack has what AWS Backup needs for this kind of store."""
    if not s.stack.is_a(role, ROLE):
        return False
    if s.stack.source is Source.LIVE:
        return True  # what a role may do, the deployed template says
    raw = s.part(role.logical_id).resource.get("Properties", {}).get("ManagedPolicyArns", [])
    held = {str(flat(s.stack, arn)).partition(":policy/")[2] for arn in raw} if isinstance(raw, list) else set()
    return {BACKUP_POLICY, *([BUCKET_BACKUP_POLICY] if isinstance(s.store, Bucket) else [])} <= held


def _vaults(s: StoreSubject, backups: Backups) -> Verdict:
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
