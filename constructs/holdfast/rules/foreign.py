"""Tables of other teams, judged by what their tags, or their team, say about the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from holdfast.cfn.template import StackSeen
from holdfast.estate.placement import Placed
from holdfast.estate.stack import Stack
from holdfast.kinds.table.declaration import Attribute, Key, Table
from holdfast.kinds.table.observed import GLOBAL_TABLE, Observed
from holdfast.kinds.table.template import observe
from holdfast.model.declaration import checked
from holdfast.model.environment import Environment, Tier
from holdfast.model.facts import Data, Durable, StackKey, Transient
from holdfast.policy.required import DEFAULT, Policy, TagSource
from holdfast.rules import estate, protection
from holdfast.rules.base import Check, Finding, Rule
from holdfast.rules.engine import verdict
from holdfast.rules.subjects import TableSubject
from holdfast.shared.key.observed import NamedKey
from holdfast.unknown import Unknown
from holdfast.verdict import Verdict, fail, unknown

# Words for environments in which data may be lost; whatever else a tag says is treated like production.
HARMLESS = frozenset({"test", "dev", "development", "sandbox", "staging", "qa", "ci", "local"})
NOWHERE = "us-east-1"  # an environment has a region, and no rule here asks for it
# Through which services another team uses its key is not known: that it is not open to every principal is what counts.
OPEN = Check(TableSubject, protection.with_key(lambda key, _: protection.open_policy(key)))
# What a foreign table can be asked for: its shape, tags' values and alarms are its own team's affair.
RULES: tuple[Rule, ...] = (
    protection.DELETION_PROTECTED,
    protection.RETAINED,
    protection.RECOVERABLE,
    protection.EXPIRING,
    protection.ENCRYPTED,
    protection.ROTATED,
    replace(protection.CLOSED, checks=(OPEN,)),
)


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the protection of a table follows from."""

    lifetime: Durable | Transient
    data: Data
    tier: Tier = Tier.PROD


def judge_foreign(stack: StackSeen, declared: Mapping[str, Facts], policy: Policy = DEFAULT) -> Iterator[Finding]:
    """Findings about every table of a stack that Holdfast does not declare."""
    for seen in observe(stack):
        name = seen.name if isinstance(seen.name, str) else seen.where.rpartition("#")[2]
        for rule, said in _verdicts(seen, declared.get(name), policy):
            yield Finding(
                rule=rule,
                outcome=said.outcome,
                detail=said.detail,
                table=name,
                stack=stack.id,
                environment=None,
                source=stack.source,
                where=seen.where,
                fix=rule.remediation.format(
                    table=name,
                    stack=stack.id,
                    region=stack.region or "<region>",
                    ttl="<attribute>",
                    days=policy.recovery_days,
                ),
            )


def _verdicts(seen: Observed, facts: Facts | None, policy: Policy) -> Iterator[tuple[Rule, Verdict]]:
    if seen.type == GLOBAL_TABLE:
        yield estate.GLOBAL, fail("a GlobalTable keeps its protection per replica, where no rule looks: use Table")
        return
    if isinstance(seen.encryption, NamedKey):  # a central key may be as good as one of its own
        seen = replace(seen, encryption=Unknown(f"key {seen.encryption.name} is not in this template"))
    said = facts or _from_tags(seen, policy)
    if isinstance(said, Verdict):
        yield protection.TAGGED, said
        return
    table = Table(name="foreign", purpose="", key=Key(Attribute("id")), lifetime=said.lifetime, data=said.data)
    placed = Placed(
        Stack(id=seen.stack, system="", owner="", tables=(table,), key=StackKey()),
        Environment(said.tier.value, said.tier, NOWHERE),
        policy=policy,
    )
    subject = TableSubject(placed, table, placed.required(table), seen)
    for rule in RULES:
        yield rule, verdict(rule, subject)


def _from_tags(seen: Observed, policy: Policy) -> Facts | Verdict:
    """What the tags say, or why nothing can be said."""
    if isinstance(seen.tags, Unknown):
        return unknown(f"tags cannot be read: {seen.tags.reason}")
    names = [str(policy.tag(s)) for s in (TagSource.LIFETIME, TagSource.DATA_CLASS, TagSource.ENVIRONMENT)]
    lifetime, data, environment = (seen.tags.get(name) for name in names)
    for name, value, words in (
        (names[0], lifetime, ("durable", "transient")),
        (names[1], data, [d.value for d in Data]),
    ):
        if isinstance(value, Unknown):
            return unknown(f"tag {name} is decided at deploy time")
        if value not in words:
            return fail(f"tag {name} is {value!r}: say {' or '.join(words)}")
    return Facts(
        # Any attribute will do for a table whose team alone knows it; that there is one is what counts.
        lifetime=Durable(ttl=seen.ttl if isinstance(seen.ttl, str) else None)
        if lifetime == "durable"
        else Transient(ttl=seen.ttl if isinstance(seen.ttl, str) else "ttl"),
        data=Data(data),
        tier=Tier.TEST if isinstance(environment, str) and environment.lower() in HARMLESS else Tier.PROD,
    )
