"""Presence: what is declared is there, and can be read."""

from __future__ import annotations

from datetime import timedelta

from holdfast.days import day
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.subjects import Deployed, Presence
from holdfast.shared.account import StackLive, StoreSeen
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Outcome, Verdict, fail, unknown

NEVER_DEPLOYED = "intended, never deployed"
ARCHIVED_AFTER = 7  # days without its key
# Every state that AWS documents of tables, databases, clusters, caches and brokers; what it may add later is unknown.
SOUND = frozenset(
    [
        "active",
        "available",
        "backing-up",
        "backtracking",
        "configuring-enhanced-monitoring",
        "configuring-iam-database-auth",
        "configuring-log-exports",
        "converting-to-vpc",
        "failing-over",
        "healing",
        "maintenance",
        "migrating",
        "modifying",
        "moving-to-vpc",
        "promoting",
        "rebooting",
        "rebooting-broker",
        "renaming",
        "resetting-master-credentials",
        "scaling-compute",
        "scaling-storage",
        "snapshotting",
        "storage-config-upgrade",
        "storage-initialization",
        "storage-optimization",
        "update-iam-db-auth",
        "updating",
        "upgrading",
    ]
)
UNDER_WAY = frozenset({"creating", "preparing-data-migration", "starting"})
GONE = frozenset(
    [
        "cloning-failed",
        "create-failed",
        "delete-precheck",
        "deleting",
        "failed",
        "incompatible-create",
        "incompatible-network",
        "incompatible-option-group",
        "incompatible-parameters",
        "incompatible-restore",
        "insufficient-capacity",
        "migration-failed",
        "replication-not-authorized",
        "restore-error",
        "stopped",
        "stopping",
        "storage-full",
    ]
)
NO_KEY = "inaccessible-encryption-credentials"
# What the audit says instead of a rule's own words, where it knows more.
NOT_YET = "If the stack is not meant to run here yet, say undeployed=(…) in its declaration"
RESTORE = (
    "Restore {table} under its name from its last backup or recovery point: the template has it, so a deploy does not make it "
    "again"
)


def table(s: Presence) -> Verdict:
    """Whether a declared table is live, and can be read."""
    placed = s.placed
    if isinstance(s.live, Unknown):
        return unknown(f"tables of {placed.region} could not be read: {s.live.reason}")
    if s.live is not None:
        return _with_key(s.live)
    if placed.waits and s.stack is None:
        return Verdict(Outcome.EXEMPT, f"{placed.name} is declared as not deployed in {placed.env.label} yet")
    if placed.waits and isinstance(s.stack, Unknown):
        return unknown(f"whether {placed.name} is deployed cannot be read: {s.stack.reason}")
    match s.deployed:
        case Unknown(reason=reason) | Verdict(outcome=Outcome.UNKNOWN, detail=reason):
            return fail(f"it is not live; what is deployed cannot be read: {reason}")
        case Verdict(outcome=Outcome.PASS):
            return _deleted(s)
        case _ if s.stack is None:
            return fail(f"{NEVER_DEPLOYED}: there is no stack {placed.name}")
        case _:
            return fail(f"{NEVER_DEPLOYED}: {placed.name} was last updated without it")


def store(s: Presence) -> Verdict:
    """Whether another declared store is in its stack; and live, where that was asked."""
    is_live = isinstance(s.live, StoreSeen)
    if s.stack is None and s.placed.waits and not is_live:
        return EXEMPT
    if isinstance(s.deployed, Unknown):
        return unknown(f"what is deployed cannot be read: {s.deployed.reason}")
    if s.deployed.outcome is not Outcome.PASS:
        return Verdict(s.deployed.outcome, f"{'it is live, and ' if is_live else ''}{s.deployed.detail}")
    if not s.asked:
        return PASS
    if isinstance(s.live, Unknown):
        return unknown(f"whether it is live cannot be read: {s.live.reason}")
    return _deleted(s) if s.live is None else usable(s.live.status)


def _deleted(s: Presence) -> Verdict:
    return fail(f"intended and deployed in {s.placed.name}, but not live: it was deleted outside of CloudFormation")


def _with_key(live: StoreSeen) -> Verdict:
    """Whether a table can be read: DynamoDB notes since when it cannot use its key, whatever the status still says."""
    said, since = usable(live.status), live.without_key
    if since is None or isinstance(live.status, Unknown) or live.status in ("ARCHIVING", "ARCHIVED"):
        return said
    if isinstance(since, Unknown):
        return fail(
            f"it cannot be read, now or soon: DynamoDB cannot use its key, since when cannot be read: {since.reason}"
        )
    archived = day(since) + timedelta(days=ARCHIVED_AFTER)
    return fail(
        f"it cannot be read, now or soon: DynamoDB cannot use its key since {since:%Y-%m-%d %H:%M} UTC, and archives the "
        f"table on {archived}; its status is {live.status}"
    )


def usable(status: str | Unknown) -> Verdict:
    """Whether what is listed can be read, or will be when what happens to it is done."""
    if isinstance(status, Unknown):
        return unknown(f"its state could not be read: {status.reason}")
    state = status.lower().replace("_", "-")
    if state in SOUND:
        return PASS
    if state in GONE:
        return fail(f"it cannot be used, now or soon: it is {status}")
    if state.startswith(NO_KEY):
        return fail(f"it cannot be read: it is {status}. A table is archived after seven days without its key")
    if state in ("archiving", "archived"):
        return fail(f"it cannot be read: it is {status}, because DynamoDB could not use its key. Restore its backup")
    if state in UNDER_WAY:
        return unknown(f"it is {status}: look again when that is done")
    return unknown(f"its state {status} is none that is known: the service's documentation says what it means")


def state(status: str) -> Verdict:
    """What the state of a stack says of the template that CloudFormation holds."""
    if status.endswith("_FAILED") or status in ("ROLLBACK_COMPLETE", "DELETE_IN_PROGRESS"):
        return fail(f"the stack is {status}, so its template does not say what is there")
    if status.endswith("_IN_PROGRESS") and "CLEANUP" not in status:
        return unknown(f"the stack is {status}: look again when that is done")
    return PASS


def deployed(s: Deployed) -> Verdict:
    """Whether a stack is there at all; where it has tables, these say so."""
    match s.stack:
        case Unknown(reason=reason):
            return unknown(f"stacks of {s.placed.region} could not be read: {reason}")
        case StackLive(status=status):
            return state(status)
        case None if s.placed.tables or s.placed.waits:
            return EXEMPT
        case None:
            return fail(f"{NEVER_DEPLOYED}: there is no such stack")


ABSENT = Rule(
    id="HF601",
    title="Declared tables are live",
    why="Code that names a table which is not there fails at its first call, and a table that is gone while "
    "its declaration stands was deleted by mistake.",
    remediation="If {table} was there before, restore it under its name from its last backup or recovery point; if DynamoDB may not use "
    "its key, enable the key. If it never was, a deploy makes it, unless something stands against that; the finding says which.",
    severity=Severity.CRITICAL,
    checks=(Check(Presence, table),),
)
UNDEPLOYED = Rule(
    id="HF616",
    title="Declared stacks are deployed",
    why="A stack that was declared and never deployed protects nothing, however right its template is.",
    remediation=f"A deploy makes {{stack}}, unless something stands against that; the finding says which. {NOT_YET}.",
    severity=Severity.HIGH,
    checks=(Check(Deployed, deployed),),
)
RULES = (ABSENT, UNDEPLOYED)
