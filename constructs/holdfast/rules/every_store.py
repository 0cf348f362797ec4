"""What is asked of every store alike: that it is retained, tagged, watched by alarms, and backed up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.cfn.alike import alike
from holdfast.cfn.dig import dig, flat
from holdfast.cfn.template import Source, heard
from holdfast.cfn.types import ROLE, SELECTION, TOPIC, VAULT
from holdfast.kinds.base import StoreSubject
from holdfast.kinds.need import Need, about, all_own, at_least, exactly, kept, met, own_key, worst
from holdfast.model.facts import Guard
from holdfast.model.regions import partition
from holdfast.model.store import Backups
from holdfast.shared.alarms.alarm import Silence, changes
from holdfast.shared.vault.settings import BACKUP_MINUTES, BACKUP_POLICY, vault_name
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Verdict, fail, unknown


def retained(s: StoreSubject[Any]) -> Verdict:
    if Guard.RETAIN not in s.required:
        return EXEMPT
    return worst([kept(s.stack, s.resource), *(about(m, kept(m.stack, m.resource)) for m in s.members)])


def tagged(s: StoreSubject[Any]) -> Verdict:
    want = s.placed.tags | s.placed.table_tags(s.store)
    tags = s.get("Tags", default=[])
    if isinstance(tags, Unknown):
        return unknown(f"tags cannot be read: {tags.reason}")
    listed = tags if isinstance(tags, list) else []
    pairs = tags.items() if isinstance(tags, dict) else ((t.get("Key"), t.get("Value")) for t in listed if _is(t))
    seen = {str(k): v for k, v in pairs}
    wrong = sorted(n for n in s.placed.policy.tags if seen.get(n) != want[n])
    return fail(f"tags missing or wrong: {', '.join(wrong)}") if wrong else PASS


def _is(value: Any) -> bool:
    return isinstance(value, dict)


def watched(s: StoreSubject[Any]) -> Verdict:
    """The declared alarms of a store are there, as declared, and a topic of the stack hears them."""
    if Guard.ALARMS not in s.required:
        return EXEMPT
    seen: dict[str, list[Mapping[str, Any]]] = {}
    for p in s.stack.alarms.values():
        if isinstance(p, dict) and isinstance(p.get("AlarmName"), str):
            seen.setdefault(p["AlarmName"], []).append(p)
    for alarm in s.kind.alarms(s.placed, s.store):
        found = seen.get(alarm.name, [])
        if len(found) > 1:
            return fail(f"{len(found)} alarms are called {alarm.name}, and nobody knows which one is made")
        if changed := changes(alarm, _usual(found[0]) if found else None):
            return fail(f"not as declared: {', '.join(changed)}")
        if heard(s.stack, found[0]) is not True:
            return fail(f"no topic of the stack hears {alarm.name}")
        silent = found[0].get("InsufficientDataActions", [])
        if alarm.silence is Silence.TOLD and not all_own(TOPIC)(s, silent):
            return fail(f"no topic of the stack hears when {alarm.name} sees nothing")
    return PASS


def _usual(alarm: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without what CloudWatch takes anyway: as many points as periods."""
    points = alarm.get("DatapointsToAlarm")
    if points is None or not alike(points, alarm.get("EvaluationPeriods")):
        return alarm
    return {k: v for k, v in alarm.items() if k != "DatapointsToAlarm"}


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
