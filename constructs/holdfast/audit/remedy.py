"""What to do about what an audit found: calls that close a gap now, and deploys that keep it closed. Pure."""

from __future__ import annotations

from dataclasses import replace

from holdfast.audit.advice import Way
from holdfast.audit.seen import NOT_APPLIED, Seen
from holdfast.kinds.kinds import kind_of
from holdfast.kinds.table.declaration import Table
from holdfast.kinds.table.live import manager
from holdfast.model.facts import Guard
from holdfast.rules import engine, live, presence
from holdfast.rules.base import Finding, Rule
from holdfast.rules.presence import NEVER_DEPLOYED
from holdfast.shared.account import StoreSeen
from holdfast.shared.key.observed import ObservedKey
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome

SAME_ACCOUNT = "with the same account options (--local, --profile …)"  # a printed command knows none of them


def remediation(s: Seen, rule: Rule, fix: str, says: str) -> str:
    """What to do about a gap: the call that closes it now, and whether a deploy keeps it closed."""
    if not isinstance(s.what, Table):
        return _protect(s, rule) or fix
    call, against = _call(s, s.what, rule, fix), s.way.against(s.name)
    if s.name in s.way.taken or (against and says == NEVER_DEPLOYED):
        return first("; ".join(filter(None, (call, against))))
    if says == NOT_APPLIED:
        return first(call) or f"{fix} A deploy alone does not change it: the template says so already."
    if says != NEVER_DEPLOYED:
        return first(call) or fix
    if call and not (rule.guard is Guard.CUSTOMER_KEY and call.startswith("`holdfast")):  # the deploy moves it, too
        return first(s.way.advised(f"{call}; then {s.way.command}, so that the template says so, too"))
    return s.way.advised(f"Deploy: {s.way.command}")


def _protect(s: Seen, rule: Rule) -> str:
    """The call that protects a live store from deletion, where one is enough."""
    if rule.guard is not Guard.DELETION_PROTECTION or not isinstance(s.live, StoreSeen):
        return ""
    kind = s.live.stack.template["Resources"][s.live.logical_id]["Type"]
    return f"aws {kind_of(s.what).protect[kind]} {name_in(s.live.arn)} --deletion-protection --region {s.placed.region}"


def name_in(arn: str) -> str:
    """What a store is called, by its ARN."""
    resource = arn.split(":", 5)[5]
    return resource.split("/")[1] if "/" in resource else resource.rpartition(":")[2]


def _call(s: Seen, table: Table, rule: Rule, fix: str) -> str:
    """The call that turns on what is off on a live table; empty where DynamoDB would take none."""
    shown = s.observed
    match rule.guard:
        case Guard.CUSTOMER_KEY if shown and isinstance(shown.encryption, ObservedKey):
            return "enable its key, and cancel the key's deletion if that is scheduled"
        case Guard.CUSTOMER_KEY if s.deployed is None:
            return "its key comes with its stack"
        case Guard.TAGS if not _untagged(s):
            return ""
        case Guard.CUSTOMER_KEY | Guard.TAGS:  # their calls need an ARN, a key or values, which `fix` fills in
            shows = "names whom the new key would cut off" if rule.guard is Guard.CUSTOMER_KEY else "shows the call"
            return f"`holdfast fix --env {s.placed.env.label} --only {rule.id}` {SAME_ACCOUNT} {shows}"
        case Guard.TTL if shown and shown.ttl is None:
            wanted = f"Enabled=true,AttributeName={table.lifetime.ttl}"
            call = f"aws dynamodb update-time-to-live --table-name {s.name} --time-to-live-specification {wanted}"
            return f"{call} --region {s.placed.region}"
        case _:
            return fix.partition(engine.LIVE)[2]


def _untagged(s: Seen) -> bool:
    """Whether `fix` adds tags: it overwrites none, and tags no table that no stack manages."""
    account, seen = s.found.account, s.observed.tags if s.observed else {}
    if account is None or not isinstance(s.live, StoreSeen) or not isinstance(manager(account, s.live), str):
        return False
    return not isinstance(seen, Unknown) and any(t not in seen for t in s.placed.policy.tags)


def restore(s: Seen) -> str:
    """How a declared table that is not live, or that cannot be read, comes back or comes about."""
    if isinstance(s.live, StoreSeen) or isinstance(s.deployed, Unknown):
        return presence.ABSENT.remediation.format(table=s.name)
    if s.deployed is not None:
        return presence.RESTORE.format(table=s.name)
    return made(s.way, s.name)


def made(way: Way, table: str) -> str:
    """How a stack that never was comes about, and its table."""
    return f"{first(way.against(table) or way.advised(f'{way.command} makes it'))}. {presence.NOT_YET}"


def stackless(s: Seen) -> str:
    """Why a live table is not in its stack, as far as CloudFormation and the declaration know."""
    assert isinstance(s.what, Table)
    if s.name in s.way.elsewhere:
        return f"{s.way.elsewhere[s.name]} has it"
    made_by = s.live.owner if isinstance(s.live, StoreSeen) and isinstance(s.live.owner, str) else None
    if made_by and (made_by != s.placed.name or s.stack is None):
        return live.left_behind(made_by, s.found.account)
    return live.governed(s.what.state.governance)


def advised(found: Finding, fix: str) -> Finding:
    return replace(found, fix=fix) if found.outcome is Outcome.FAIL else found


def first(sentence: str) -> str:
    """A clause as a sentence; a command keeps its spelling."""
    return sentence if sentence.startswith("aws ") else sentence[:1].upper() + sentence[1:]
