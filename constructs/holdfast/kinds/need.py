"""What a store needs, as data: a property, when it is good, and what it means when it is not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from holdfast.cfn.alike import alike
from holdfast.cfn.dig import dig
from holdfast.cfn.places import at
from holdfast.cfn.template import StackSeen
from holdfast.cfn.types import GROUP, LOG_GROUP, PARAMETER
from holdfast.kinds.base import StoreSubject
from holdfast.model.facts import NONE, Guard
from holdfast.shared.key.observed import encrypting_key
from holdfast.shared.logs.groups import log_days
from holdfast.shared.network.groups import ingress, source
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Outcome, Verdict, fail, unknown

Good = Callable[[StoreSubject[Any], Any], bool]
Check = Callable[[StoreSubject[Any]], Verdict]


@dataclass(frozen=True, slots=True)
class Need:
    """A property that has to be good, and what it means when it is not."""

    problem: str
    path: str  # with dots; @ goes on in the resource that a property refers to
    good: Good
    default: Any = None


def on(_: StoreSubject[Any], value: Any) -> bool:
    return alike(value, True)


def off(_: StoreSubject[Any], value: Any) -> bool:
    return value is None or alike(value, False)


def own(kind: str) -> Good:
    """A resource of the same stack."""
    return lambda s, value: s.stack.is_a(value, kind)


def own_key(s: StoreSubject[Any], value: Any) -> bool:
    return encrypting_key(s.placed, s.stack, value)


def all_own(kind: str) -> Good:
    """Resources of the same stack, and at least one."""
    return lambda s, value: isinstance(value, list) and bool(value) and all(s.stack.is_a(v, kind) for v in value)


def at_least(count: int) -> Good:
    def good(_: StoreSubject[Any], value: Any) -> bool:
        try:
            return float(value) >= count
        except (TypeError, ValueError):
            return False

    return good


def exactly(*wanted: Any) -> Good:
    return lambda _, value: any(alike(value, w) for w in wanted)


def starting(prefix: str) -> Good:
    return lambda _, value: str(value).startswith(prefix)


def names(*wanted: str) -> Good:
    return lambda _, value: isinstance(value, list) and set(wanted) <= {str(v) for v in value}


def some(_: StoreSubject[Any], value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def met(s: StoreSubject[Any], needs: Iterable[Need]) -> Verdict:
    """Whether every need is met; unknown where one cannot be read and none is unmet."""
    values = [(n, dig(s.stack, s.resource.get("Properties", {}), *n.path.split("."), default=n.default)) for n in needs]
    if bad := [n.problem for n, value in values if not isinstance(value, Unknown) and not n.good(s, value)]:
        return fail("; ".join(bad))
    unread = [f"{n.path.replace('@', '')} cannot be read: {v.reason}" for n, v in values if isinstance(v, Unknown)]
    return unknown(unread[0]) if unread else PASS


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The first that fails, else the first that does not know, else that all is well."""
    said = [v for v in verdicts if v not in (PASS, EXEMPT)]
    return next((v for v in said if v.outcome is Outcome.FAIL), said[0] if said else PASS)


def needs(
    by_type: Mapping[str, tuple[Need, ...]],
    *,
    members: Mapping[str, tuple[Need, ...]] = MappingProxyType({}),
    guard: Guard = NONE,
) -> Check:
    """The common check: what a store of each type needs, and its ``members``, where the policy requires ``guard``."""

    def check(s: StoreSubject[Any]) -> Verdict:
        asked = s.type in by_type or s.kind.members.get(s.type) in members
        if guard not in s.required or not asked:
            return EXEMPT
        of_members = [about(m, met(m, members.get(m.type, ()))) for m in s.members]
        return worst([met(s, by_type.get(s.type, ())), *of_members])

    return check


def about(member: StoreSubject[Any], verdict: Verdict) -> Verdict:
    return verdict if verdict in (PASS, EXEMPT) else replace(verdict, detail=f"{member.logical_id}: {verdict.detail}")


def kept(stack: StackSeen, resource: Mapping[str, Any]) -> Verdict:
    for name in ("DeletionPolicy", "UpdateReplacePolicy"):
        policy = stack.resolver.get(resource, name)
        if isinstance(policy, Unknown):
            return unknown(f"{name} cannot be read: {policy.reason}")
        if policy != "Retain":
            return fail(f"{name} is {policy or 'missing'}, required is Retain")
    return PASS


def of_kind(types: Collection[str], check: Check) -> Check:
    """A check of what one kind alone has."""
    return lambda s: check(s) if s.type in types else EXEMPT


def several(check: Check) -> Check:
    """A check of stores that the policy wants in several zones."""
    return lambda s: check(s) if instances(s) > 1 else EXEMPT


def instances(s: StoreSubject[Any]) -> int:
    """How many the policy asks for here, each in a zone of its own."""
    return s.placed.by_tier(s.placed.policy.instances)


def admits(*groups: str, listens: bool = True) -> Check:
    """Exactly the declared port, and only from security groups of the same stack; ``groups`` is the path to its own."""

    def check(s: StoreSubject[Any]) -> Verdict:
        port: int = s.store.port
        seen_port = s.get("Port", default=0) if listens else port
        if not alike(seen_port, port):
            return fail(f"it listens on {seen_port}, declared is {port}")
        own_groups = s.get(*groups, default=[])
        if isinstance(own_groups, Unknown):
            return unknown(f"its security groups cannot be read: {own_groups.reason}")
        ids = {g.logical_id for g in own_groups if s.stack.is_a(g, GROUP)}
        if len(ids) != 1 or not all(s.stack.is_a(g, GROUP) for g in own_groups):
            return fail("it has no security group of the stack for itself alone, or one from elsewhere")
        rules = list(ingress(s.stack, ids))
        for rule in rules:
            if not s.stack.is_a(rule.get("SourceSecurityGroupId"), GROUP):
                return fail(f"it admits {source(rule)}, not a group of the stack")
            seen = (rule.get("IpProtocol"), rule.get("FromPort"), rule.get("ToPort"))
            if not alike(list(seen), ["tcp", port, port]):
                said = "all ports" if alike(seen[0], -1) else f"{seen[0]} {seen[1]}-{seen[2]}"
                return fail(f"it admits {said}, declared is tcp {port}")
        return PASS if rules else fail("it admits no connection: the rule for its port is gone")

    return check


def logs_stay(*taken: Need) -> Check:
    """What takes the logs of a store is there, in the stack, keeps them and stays."""

    def check(s: StoreSubject[Any]) -> Verdict:
        groups = {str(dig(s.stack, r, "Properties", "LogGroupName")): (i, r) for i, r in s.stack.resources(LOG_GROUP)}
        verdicts = [met(s, taken)]
        days = log_days(s.placed)
        for name in s.kind.logs(s.placed, s.store):
            if name not in groups:
                verdicts.append(fail(f"the log group {name} is not in the stack"))
                continue
            logical_id, resource = groups[name]
            forgotten = Need(f"{name} is not kept {days} days", "RetentionInDays", at_least(days), 10**6)
            verdicts.append(met(s.part(logical_id), [forgotten]))
            if s.placed.keeps_logs and (verdict := kept(s.stack, resource)) != PASS:
                verdicts.append(fail(f"{name}: {verdict.detail}"))
        return worst(verdicts)

    return check


def settings_in(s: StoreSubject[Any], path: tuple[str, ...], wanted: Mapping[str, str]) -> Verdict:
    """Whether a group of parameters holds what is declared, and nothing else."""
    seen = s.get(*path, default={})
    if isinstance(seen, Unknown):
        return unknown(f"its parameters cannot be read: {seen.reason}")
    seen = seen if isinstance(seen, dict) else lines(seen)
    wrong = sorted(name for name in seen.keys() | wanted.keys() if not alike(seen.get(name), wanted.get(name)))
    return fail(f"parameters are not as declared: {', '.join(wrong)}") if wrong else PASS


def lines(text: Any) -> dict[str, str]:
    """The settings of a file of properties."""
    pairs = (line.partition("=") for line in str(text).splitlines() if line.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}


def parameters(s: StoreSubject[Any], wanted: Mapping[str, str]) -> Verdict:
    """Whether each parameter of Parameter Store is there once, with the declared value."""
    seen: dict[str, list[Any]] = {}
    for _, r in s.stack.possible(PARAMETER):
        value = dig(s.stack, r, "Properties", "Value")
        seen.setdefault(str(dig(s.stack, r, "Properties", "Name")), []).append(value)
    wrong = [f"{name} is not {value}" for name, value in wanted.items() if not alike(seen.get(name), [value])]
    return fail("; ".join(wrong)) if wrong else PASS


def absent(what: str, *properties: str) -> tuple[Need, ...]:
    """Settings that copy data elsewhere, or fill a store from there."""
    return tuple(Need(f"{what}: {name}", name, exactly(None, [])) for name in properties)


def read_by(kind: str, needs: Iterable[Need]) -> tuple[str, ...]:
    """The places of needs that a resource itself answers."""
    return at(kind, *(n.path for n in needs))
