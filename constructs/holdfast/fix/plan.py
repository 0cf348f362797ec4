"""Findings as calls that turn on what is required and off. Pure: it never weakens, never deletes, never overwrites."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.cfn.template import Source
from holdfast.estate.estate import Estate
from holdfast.estate.placement import Placed
from holdfast.kinds.table.declaration import Table
from holdfast.kinds.table.live import manager, observed
from holdfast.model.environment import Environment
from holdfast.model.facts import Durable, Encryption, Guard
from holdfast.model.provenance import Fact
from holdfast.rules import GUARDING
from holdfast.rules.base import ORDER, Finding
from holdfast.shared.account import Account, StackLive, StoreSeen
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome

SEE_AUDIT = "`holdfast audit` says what it takes"
# What a call can repair on a live table.
REPAIRED = (Guard.DELETION_PROTECTION, Guard.PITR, Guard.TTL, Guard.CUSTOMER_KEY, Guard.TAGS)
FIXABLE = frozenset(GUARDING[guard].id for guard in REPAIRED)
REKEYING = GUARDING[Guard.CUSTOMER_KEY].id
REPAIRABLE = frozenset({"ACTIVE", "UPDATING"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One call on one declared table, what it is for, and what is there before it."""

    rule: str
    table: str
    arn: str
    region: str
    account: str
    says: str
    operation: str
    parameters: Mapping[str, Any]
    before: Mapping[str, Any]

    @property
    def key(self) -> str | None:
        """The alias or ARN of the key that the table is to get, where the call changes its key."""
        alias = self.parameters.get("SSESpecification", {}).get("KMSMasterKeyId")
        return None if alias is None else str(alias)

    def command(self, *, profile: str | None = None, endpoint_url: str | None = None) -> str:
        """The call as a line for the AWS CLI, to the account and the endpoint that were looked at."""
        words = ["aws", "dynamodb", *_words(self.operation, self.parameters), "--region", self.region]
        words += ["--profile", profile] if profile else []
        words += ["--endpoint-url", endpoint_url] if endpoint_url else []
        return shlex.join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A failure that no call may repair, and who has to do what."""

    rule: str
    table: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Calls, worst first; those that change a key apart, because they cut off what may not use the new one."""

    changes: list[Change]
    left: list[Skipped]
    keys: list[Change]


def plan(
    findings: Iterable[Finding],
    estate: Estate,
    accounts: Sequence[Account],
    environments: Iterable[Environment],
    *,
    only: Collection[str] | None = None,
) -> Plan:
    """The calls for what failed on live tables that the code declares; no other table is ever named.

    ``only`` are rules that were named: what loses items takes that, and all others are left out.
    """
    declared = {(p.env.label, p.fill(t.name)): (p, t) for p in estate.placements(environments) for t in p.tables}
    live_by_arn = {t.arn: (a, t) for a in accounts if not isinstance(a.tables, Unknown) for t in a.tables.values()}
    changes: dict[tuple[str, str, str], Change] = {}
    left: list[Skipped] = []
    for f in sorted(findings, key=lambda f: ORDER[f.rule.severity]):
        if (
            f.outcome is not Outcome.FAIL
            or f.source is not Source.LIVE
            or not f.table
            or f.rule.id not in (only or FIXABLE)
        ):
            continue
        found = declared.get((f.environment or "", f.table))
        live = live_by_arn.get(f.where)
        if found is None or live is None:
            continue
        step = _step(f, *found, *live, named=only is not None)
        if isinstance(step, Skipped):
            left.append(step)
        else:
            changes.setdefault((step.arn, step.operation, ",".join(step.parameters)), step)
    every = list(changes.values())
    return Plan(changes=[c for c in every if not c.key], left=left, keys=[c for c in every if c.key])


def _step(
    f: Finding, placed: Placed, table: Table, account: Account, live: StoreSeen, *, named: bool
) -> Change | Skipped:
    name, seen = placed.fill(table.name), observed(live)

    def leave(why: str) -> Skipped:
        return Skipped(rule=f.rule.id, table=name, why=why)

    def change(says: str, operation: str, before: Mapping[str, Any], **parameters: Any) -> Change:
        target = {"ResourceArn": live.arn} if operation == "TagResource" else {"TableName": name}
        return Change(
            rule=f.rule.id,
            table=name,
            arn=live.arn,
            region=account.region,
            account=account.id,
            says=says,
            operation=operation,
            parameters=target | parameters,
            before=before,
        )

    wanted: dict[str, Any]
    before: dict[str, Any]
    if isinstance(live.status, Unknown):
        return leave(f"its status could not be read ({live.status.reason})")
    if live.status not in REPAIRABLE:
        return leave(f"the table is {live.status}: run again when it is ACTIVE")
    match f.rule.guard:
        case Guard.DELETION_PROTECTION:
            before = {"DeletionProtectionEnabled": False}
            return change("deletion protection on", "UpdateTable", before, DeletionProtectionEnabled=True)
        case Guard.PITR:
            days_wanted = placed.recovery_days(table)
            wanted = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": days_wanted}
            days = None if isinstance(seen.recovery_days, Unknown) else seen.recovery_days
            before = {"PointInTimeRecoveryEnabled": seen.recovery is True, "RecoveryPeriodInDays": days}
            return change(
                f"point-in-time recovery on, {days_wanted} days",
                "UpdateContinuousBackups",
                before,
                PointInTimeRecoverySpecification=wanted,
            )
        case Guard.TTL:
            if seen.ttl is not None or table.lifetime.ttl is None:
                return leave(f"{f.detail}: a TTL that differs is never changed automatically; decide which is right")
            if any(a.fact is Fact.TTL for a in table.assumed):
                return leave("its TTL is assumed, and items would be deleted by it: confirm the attribute first")
            if isinstance(table.lifetime, Durable) and not named:
                return leave(f"a TTL deletes items of a durable table: `--only {f.rule.id}` turns it on")
            wanted = {"Enabled": True, "AttributeName": table.lifetime.ttl}
            says = f"TTL by {table.lifetime.ttl} on"
            return change(says, "UpdateTimeToLive", {"Enabled": False}, TimeToLiveSpecification=wanted)
        case Guard.CUSTOMER_KEY:
            if isinstance(seen.encryption, Unknown):
                return leave(f"{f.detail}: the key could not be read")
            if not isinstance(seen.encryption, Encryption):
                return leave(f"{f.detail}: a customer's key is never replaced automatically; decide which is right")
            holder = placed.key_holder or placed
            alias = placed.external_key or f"alias/holdfast/{holder.id}"
            if not placed.external_key and alias not in _aliases(account, holder):
                return leave(f"the key {alias} is not deployed: {SEE_AUDIT}")
            wanted = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": alias}
            before = {"encryption": seen.encryption.value}
            return change(f"encryption with {alias}", "UpdateTable", before, SSESpecification=wanted)
        case Guard.TAGS:
            assert not isinstance(seen.tags, Unknown)
            missing = {k: v for k, v in (placed.tags | placed.table_tags(table)).items() if k not in seen.tags}
            differs = f"{f.detail}: a tag that differs is never overwritten automatically; decide which is right"
            if why := _unmanaged(account, live) or ("" if missing else differs):
                return leave(why)
            tags = [{"Key": k, "Value": v} for k, v in missing.items()]
            return change(f"tags {', '.join(missing)}", "TagResource", dict.fromkeys(missing), Tags=tags)
        case _:
            return leave(f"{f.detail}: {SEE_AUDIT}")


def _unmanaged(account: Account, live: StoreSeen) -> str:
    """Why a table is not tagged as one of its stack: no stack is known to manage it."""
    match manager(account, live):
        case Unknown(reason=reason):
            return f"which stack manages it could not be read ({reason})"
        case None:
            return f"no stack manages it, and its tags would say that one does: import it first, {SEE_AUDIT}"
        case _:
            return ""


def _aliases(account: Account, placed: Placed) -> set[str]:
    """The key aliases that the deployed template of a stack has."""
    stack = None if isinstance(account.stacks, Unknown) else account.stacks.get(placed.name)
    if not isinstance(stack, StackLive) or isinstance(stack.seen, Unknown):
        return set()
    return {str(r.get("Properties", {}).get("AliasName")) for _, r in stack.seen.resources("AWS::KMS::Alias")}


def _words(operation: str, parameters: Mapping[str, Any]) -> Iterator[str]:
    yield _dashed(operation)
    for name, value in parameters.items():
        yield f"--{_dashed(name)}"
        if value is True:
            continue  # a flag
        if isinstance(value, Mapping):
            yield _short(value)
        elif isinstance(value, list):
            yield from map(_short, value)
        else:
            yield str(value)


def _short(value: Mapping[str, Any]) -> str:
    """The CLI's shorthand for a structure."""
    return ",".join(f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in value.items())


def _dashed(name: str) -> str:
    """UpdateTable as update-table, SSESpecification as sse-specification."""
    text = name.replace("SSE", "Sse")
    return "".join(f"-{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(text))
