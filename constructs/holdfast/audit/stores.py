"""The other stores in an audit: intent, deployed template and live store side by side. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from holdfast.audit.ages import Ages
from holdfast.cfn.template import Source
from holdfast.estate.placement import Placed
from holdfast.kinds.bucket.declaration import Bucket
from holdfast.kinds.registry.declaration import Registry
from holdfast.model.facts import Guard
from holdfast.model.store import Store
from holdfast.policy.required import Policy, TagSource
from holdfast.rules import KEY_RULES, STORE_RULES, engine, estate, finding, live, stores
from holdfast.rules.base import Finding, Rule
from holdfast.rules.gap import Gap
from holdfast.rules.store_subject import CLUSTER, DOCUMENTS, INSTANCE, StoreSubject
from holdfast.rules.subjects import KeySubject, Resource
from holdfast.shared.account import Account, Aspect, StackLive, StoreSeen, stack_of
from holdfast.shared.key.observed import ObservedKey
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Outcome, Verdict, fail, unknown

# An import believes the template and applies nothing, and CloudFormation does not say afterwards that it was one.
NOT_APPLIED = "intended and deployed, not live: it was changed after the deploy, or imported and never applied"
LIVE = "live as intended, but not in the deployed template: the next deploy or rollback works from that"
NEVER_DEPLOYED = "intended, never deployed"
PROTECT = {
    INSTANCE: "rds modify-db-instance --db-instance-identifier",
    CLUSTER: "rds modify-db-cluster --db-cluster-identifier",
    DOCUMENTS: "docdb modify-db-cluster --db-cluster-identifier",
}
ALLOW = "Allow the audit to read it (`holdfast iam audit` prints the whole policy), or run again."
LOST = frozenset({"deleting", "failed", "incompatible-restore", "restore-error"})
WORDS = {Outcome.PASS: "on", Outcome.FAIL: "off", Outcome.UNKNOWN: "unknown", Outcome.EXEMPT: "-"}


def judged(
    places: Sequence[Placed], deployed: Sequence[Finding], accounts: Sequence[Account], ages: Ages
) -> Iterator[Finding]:
    """``deployed`` with what the live stores say: one finding for each rule and store, and the live store decides."""
    then: dict[tuple[str | None, str | None, str], dict[str, Finding]] = {}
    known = {(p.env.label, p.fill(s.name), p.name) for p in places for s in p.stores}
    for found in deployed:
        about = (found.environment, found.table, found.stack)
        if about in known and found.rule.id not in then.get(about, {}):  # the store itself comes first
            then.setdefault(about, {})[found.rule.id] = found
        else:
            yield found
    for placed in places:
        for store in placed.stores:
            template = then.get((placed.env.label, placed.fill(store.name), placed.name), {})
            yield from _store(_Seen(placed, store, template, *_find(placed, store, accounts), accounts, ages))


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the accounts show of one declared store."""

    placed: Placed
    store: Store
    then: Mapping[str, Finding]  # of the deployed template, by rule
    live: StoreSeen | Unknown | None  # None: not there
    asked: bool  # whether anybody looked
    accounts: Sequence[Account]
    ages: Ages

    @property
    def stack(self) -> StackLive | Unknown | None:
        return stack_of(self.placed.region, self.placed.name, self.accounts)

    @property
    def where(self) -> str:
        name = self.placed.fill(self.store.name)
        return self.live.arn if isinstance(self.live, StoreSeen) else f"{self.placed.region}/{name}"


def _store(s: _Seen) -> Iterator[Finding]:
    yield _present(s)
    rest = {rule: found for rule, found in s.then.items() if rule != estate.ABSENT.id}
    if isinstance(s.live, Unknown):
        yield from (_unread(found, s.live) for found in rest.values())
    elif not s.asked:
        yield from rest.values()
    elif s.live is not None:  # where it is not there, that is one finding and not twenty
        for rule in STORE_RULES:
            if not rule.only_deployed:
                yield _merge(s, rule, rest.pop(rule.id, None), judge(rule, s.placed, s.store, s.live))
        yield from rest.values()


def _unread(then: Finding, why: Unknown) -> Finding:
    """What a template says of a store that cannot be read: a template that passes does not make it pass."""
    if then.outcome is not Outcome.PASS or then.rule not in STORE_RULES or then.rule.only_deployed:
        return then
    return replace(then, outcome=Outcome.UNKNOWN, detail=f"the live store cannot be read: {why.reason}", fix=ALLOW)


def _present(s: _Seen) -> Finding:
    """Whether the store is there, in the template and in the account."""
    stack, absent = s.stack, s.then.get(estate.ABSENT.id)
    template = stack.seen if isinstance(stack, StackLive) else stack
    source, verdict = Source.DEPLOYED, PASS
    if stack is None and s.placed.env in s.placed.stack.undeployed and not isinstance(s.live, StoreSeen):
        verdict = EXEMPT
    elif isinstance(template, Unknown):
        verdict = unknown(f"what is deployed cannot be read: {template.reason}")
    elif absent is not None and absent.outcome is not Outcome.PASS:
        also = "it is live, and " if isinstance(s.live, StoreSeen) else ""
        verdict = Verdict(absent.outcome, f"{also}{absent.detail}")
    elif s.asked:
        source = Source.LIVE
        if isinstance(s.live, Unknown):
            verdict = unknown(f"whether it is live cannot be read: {s.live.reason}")
        elif s.live is None:
            verdict = fail(f"intended and deployed in {s.placed.name}, but not live: somebody deleted it")
        else:
            verdict = _usable(s.live.status)
    return finding(estate.ABSENT, verdict, s.placed, s.store, s.where, source)


def _usable(status: str | Unknown) -> Verdict:
    """Whether a database that is listed can be read, or will be when what happens to it is done."""
    if isinstance(status, Unknown):
        return PASS
    if status in LOST or status.startswith("inaccessible-encryption-credentials"):
        return fail(f"nobody can read it, now or soon: it is {status}")
    return unknown("it is being made: look again when that is done") if status == "creating" else PASS


def _merge(s: _Seen, rule: Rule, then: Finding | None, there: Verdict) -> Finding:
    """The worse of the two; where both are well, what is live."""
    if there.outcome is Outcome.FAIL:
        found = finding(rule, there, s.placed, s.store, s.where, Source.LIVE)
        return replace(found, gap=_gap(s, rule, then, there, _how(then)), fix=_call(s, rule) or found.fix)
    if then is not None and then.outcome is Outcome.FAIL:
        return replace(then, gap=_gap(s, rule, then, there, LIVE))
    if then is not None and then.outcome is Outcome.UNKNOWN and there.outcome is not Outcome.UNKNOWN:
        return then
    return finding(rule, there, s.placed, s.store, s.where, Source.LIVE)


def _call(s: _Seen, rule: Rule) -> str:
    """The call that turns on what is off on a live store, where one is enough."""
    if rule.guard is not Guard.DELETION_PROTECTION or not isinstance(s.live, StoreSeen):
        return ""
    kind = s.live.stack.template["Resources"][s.live.logical_id]["Type"]
    return f"aws {PROTECT[kind]} {_name(s.live.arn)} --deletion-protection --region {s.placed.region}"


def _how(then: Finding | None) -> str:
    """How it came about that something is not live."""
    match then.outcome if then else None:
        case None:
            return "intended, in no stack"
        case Outcome.FAIL:
            return NEVER_DEPLOYED
        case Outcome.UNKNOWN:
            return "intended, not live; what is deployed cannot be read"
        case _:
            return NOT_APPLIED


def judge(rule: Rule, placed: Placed, store: Store, seen: StoreSeen) -> Verdict:
    """What a rule says of a live store; unknown where something that it needs could not be read."""
    subject = StoreSubject(placed, store, placed.required(store), seen.stack, seen.logical_id)
    verdict = engine.verdict(rule, subject)
    hole = next((seen.unread[a] for a in Aspect if a in rule.aspects and a in seen.unread), None)
    return verdict if hole is None or verdict.outcome is Outcome.EXEMPT else unknown(hole.reason)


def around(places: Sequence[Placed], accounts: Sequence[Account]) -> Iterator[Finding]:
    """What stands beside the live stores of a stack: its key, and its security groups."""
    for placed in places:
        for account in accounts:
            if account.stores is None or account.region != placed.region:
                continue
            key = account.stores.keys.get(placed.id)
            if isinstance(key, ObservedKey):
                subject = KeySubject(placed, key, account.id)
                for rule in (r for r in KEY_RULES if not r.only_deployed):
                    yield engine.of(rule, engine.verdict(rule, subject), subject, Source.LIVE)
            groups = account.stores.groups.get(placed.id)
            if groups is not None and not isinstance(groups, Unknown):
                for logical_id in groups.template["Resources"]:
                    group = Resource(placed, groups, logical_id)
                    yield engine.of(stores.RANGES, engine.verdict(stores.RANGES, group), group, Source.LIVE)


def strangers(every: Sequence[Placed], accounts: Sequence[Account]) -> Iterator[Finding]:
    """Stores with all of our tags that no declaration has. Those of other teams are none of our business."""
    for account in accounts:
        tagged = account.stores.tagged if account.stores else {}
        if isinstance(tagged, Unknown):
            continue  # that it could not be read is a finding of its own
        here = [p for p in every if p.region == account.region and p.account in (None, account.id)]
        known = {name for p in here for s in p.stores for name in _names(p, s, account)}
        for arn, tags in tagged.items():
            name = _name(arn)
            if name in known:
                continue
            yield Finding(
                rule=live.STRANGER,
                outcome=Outcome.FAIL,
                detail=f"it is tagged as {_whose(tags, every[0].policy)}, and declared nowhere",
                table=name,
                stack="no stack",
                environment=None,
                source=Source.LIVE,
                where=arn,
                fix=live.STRANGER.remediation.format(table=name),
            )


def _whose(tags: Mapping[str, str], policy: Policy) -> str:
    owner, system = (policy.tag(source) for source in (TagSource.OWNER, TagSource.SYSTEM))
    of_system = f"{tags[system]}'s, " if system else ""  # no policy needs to ask for it
    return f"{of_system}owned by {tags[owner or '']}"


def _name(arn: str) -> str:
    resource = arn.split(":", 5)[5]
    return resource.split("/")[1] if "/" in resource else resource.rpartition(":")[2]


def _names(placed: Placed, store: Store, account: Account) -> tuple[str, ...]:
    name = placed.fill(store.name)
    return (f"{name}-{account.id}-{placed.region}",) if isinstance(store, Bucket) else (name,)


def _find(placed: Placed, store: Store, accounts: Sequence[Account]) -> tuple[StoreSeen | Unknown | None, bool]:
    """A live store, and whether anybody looked for it."""
    asked, unread = False, None
    for account in accounts:
        if account.region == placed.region and account.stores is not None and not isinstance(store, Registry):
            asked = True
            found = account.stores.found.get((placed.id, type(store).__name__, placed.fill(store.name)))
            if isinstance(found, StoreSeen):
                return found, True
            unread = unread if found is None else found
    return unread, asked


def _gap(s: _Seen, rule: Rule, then: Finding | None, there: Verdict, says: str) -> Gap:
    return s.ages.gap(
        rule,
        s.placed.id,
        s.placed.fill(s.store.name),
        s.stack,
        says=says,
        deployed=WORDS[then.outcome] if then else "in no stack",
        live=WORDS[there.outcome],
        by_hand=says == NOT_APPLIED,
    )
