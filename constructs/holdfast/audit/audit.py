"""The audit: intent, deployed template and live table side by side, by the rules of the template side. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from holdfast.audit import advice
from holdfast.audit import stores as audit_stores
from holdfast.audit.ages import UNREAD, Ages
from holdfast.audit.stores import NEVER_DEPLOYED, NOT_APPLIED
from holdfast.cfn.template import Source, StackSeen
from holdfast.contract.deployed import Running
from holdfast.contract.history import History
from holdfast.days import day, days
from holdfast.estate.estate import Estate
from holdfast.estate.placement import Placed
from holdfast.estate.stack import Stack
from holdfast.kinds.table.declaration import Governance, Table
from holdfast.kinds.table.live import observed
from holdfast.kinds.table.template import observe
from holdfast.model.declaration import DeclarationError
from holdfast.model.environment import Environment
from holdfast.model.facts import Guard
from holdfast.model.located import Declaration
from holdfast.rules import GUARDING, TABLE_RULES, alarms, engine, excused, finding, live, standing, verdicts
from holdfast.rules import estate as estate_rules
from holdfast.rules.base import Finding, Rule
from holdfast.rules.subjects import TableSubject
from holdfast.shared.account import Account, Mention, StackLive, StoreSeen, stack_of
from holdfast.shared.key.observed import ObservedKey
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Outcome, Verdict, fail, unknown

UNSEEN = "-"  # no API shows it
SAME_ACCOUNT = "with the same account options (--local, --profile …)"  # a printed command knows none of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One declared table: per guard what the policy asks, what CloudFormation last deployed and what is live."""

    table: str
    stack: str
    environment: str
    region: str
    account: str | None  # where it was looked for
    state: str
    items: int | None
    size: int | None
    guards: Mapping[Guard, tuple[str, str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StackRow:
    """One deployed stack, and which contract it runs."""

    stack: str
    environment: str
    region: str
    account: str
    running: Running


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Every verdict, and the three columns of every declared table, as they were at one moment."""

    findings: list[Finding]
    rows: list[Row]
    at: datetime
    read: tuple[tuple[str, str], ...] = ()  # accounts and regions
    history: History | Unknown = UNREAD  # of the contracts that were compared with
    stacks: tuple[StackRow, ...] = ()


@dataclass(frozen=True)
class _Seen:
    """What the accounts show of one declared table."""

    placed: Placed
    table: Table
    account: Account | None  # where it is live, or would be
    live: StoreSeen | Unknown | None  # None: not there
    stack: StackLive | Unknown | None  # None: not deployed
    deployed: Mapping[str, Verdict] | Unknown | None  # by rule; None: not in its stack
    way: advice.Way

    @cached_property
    def name(self) -> str:
        return self.placed.fill(self.table.name)

    @cached_property
    def columns(self) -> Mapping[str, tuple[Verdict | str, Verdict | str]]:
        """What each rule says of the deployed template and of the live table."""
        return {rule.id: _columns(self, rule) for rule in TABLE_RULES}

    @property
    def outside(self) -> str:
        """Where it is when its own stack has not got it."""
        return f"in {self.way.elsewhere[self.name]}" if self.name in self.way.elsewhere else "in no stack"

    @property
    def where(self) -> str:
        return self.live.arn if isinstance(self.live, StoreSeen) else f"{self.placed.region}/{self.name}"


def audit(
    estate: Estate,
    accounts: Sequence[Account],
    environments: Iterable[Environment],
    *,
    now: datetime,
    declared: Mapping[str, Declaration] | None = None,
    mentions: Sequence[Mention] = (),
    history: History | Unknown = UNREAD,
) -> Audit:
    """Every verdict about ``environments`` in ``accounts``; ``mentions`` are lines of code that name tables."""
    declared, ages = declared or {}, Ages(now=now, history=history)
    accounts = [_settled(a) for a in accounts]
    read = {(a.id, a.region) for a in accounts}
    every = [p for p in estate.placements() if _was_read(p, read)]
    wanted = tuple(environments)
    asked = [p for p in every if p.env in wanted]
    places: list[Placed] = []
    seen: list[_Seen] = []
    findings: list[Finding] = []
    for home, there in _homes(asked, accounts):
        corrected = [_corrected(p, home) for p in there]
        found, declared_here = _home(corrected, home, accounts, estate, ages)
        places, findings, seen = [*places, *corrected], [*findings, *found], [*seen, *declared_here]
    findings += audit_stores.strangers(every, accounts)
    findings += _unlooked(estate, wanted, read)
    findings += _strangers(every, accounts)
    findings += _mentions(every, accounts, mentions, estate)
    findings += _twins(every, accounts) if len({p.env for p in places}) > 1 else []
    findings += _unreadable(accounts)
    findings = [*excused(findings, places, day(now)), *standing(asked, day(now))]
    at = {p.fill(t.name): declared[t.name].where for p in places for t in (*p.tables, *p.stores) if t.name in declared}
    findings = [replace(f, declared=at[f.table]) if f.table in at else f for f in findings]
    return Audit(
        findings=findings,
        rows=[_row(s) for s in seen],
        at=now,
        read=tuple(dict.fromkeys((a.id, a.region) for a in accounts)),
        history=history,
        stacks=() if isinstance(history, Unknown) else tuple(_running(asked, accounts, ages)),
    )


def _running(places: Sequence[Placed], accounts: Sequence[Account], ages: Ages) -> Iterator[StackRow]:
    """Every stack that an account has, and which contract it runs there."""
    for p in places:
        for a in accounts:
            if _here(a, p) and isinstance(found := stack_of(p.region, p.name, [a]), StackLive):
                runs = ages.running(p.id, found)
                yield StackRow(stack=p.name, environment=p.env.label, region=p.region, account=a.id, running=runs)


def _homes(places: Sequence[Placed], accounts: Sequence[Account]) -> Iterator[tuple[list[Account], list[Placed]]]:
    """Each account with what it has of the declared; what none has is looked for in all of them at once."""
    nowhere = [p for p in places if p.account is None and not any(_has(a, p) for a in accounts)]
    ids = list(dict.fromkeys(a.id for a in accounts))
    for id_ in ids:
        home = [a for a in accounts if a.id == id_]
        yield (
            home,
            [
                p
                for p in places
                if p.account == id_ or any(_has(a, p) for a in home) or (len(ids) == 1 and p in nowhere)
            ],
        )
    if len(ids) > 1 and nowhere:
        yield [a if isinstance(a.stacks, Unknown) else replace(a, stacks={}) for a in accounts], nowhere


def nothing_declared(places: Sequence[Placed], accounts: Sequence[Account]) -> list[str]:
    """The accounts whose tables could be listed and that have no stack and no store of ``places``."""
    unread = {a.id for a in accounts if isinstance(a.tables, Unknown)}
    with_some = {a.id for a in accounts if any(_has(a, p) for p in places)}
    return [id_ for id_ in dict.fromkeys(a.id for a in accounts) if id_ not in with_some | unread]


def _here(account: Account, placed: Placed) -> bool:
    """Whether a stack is declared for this account and region; one that names no account is for any."""
    return account.region == placed.region and placed.account in (None, account.id)


def _has(account: Account, placed: Placed) -> bool:
    """Whether an account has a stack, or anything that is declared in it; no other account than a declared one."""
    if not _here(account, placed):
        return False
    stores = account.stores.found if account.stores else {}
    return (
        (not isinstance(account.stacks, Unknown) and placed.name in account.stacks)
        or any(_holds(account, placed, t) for t in placed.tables)
        or any(isinstance(s, StoreSeen) for (stack, _, _), s in stores.items() if stack == placed.id)
    )


def _holds(account: Account, placed: Placed, table: Table) -> bool:
    tables = {} if isinstance(account.tables, Unknown) else account.tables
    return account.region == placed.region and placed.fill(table.name) in tables


def _home(
    places: Sequence[Placed],
    accounts: Sequence[Account],
    everywhere: Sequence[Account],
    estate: Estate,
    ages: Ages,
) -> tuple[list[Finding], list[_Seen]]:
    """What one account shows of the stacks that it has."""
    deployed = _deployed(places, accounts)
    judged: dict[tuple[str | None, str | None], dict[str, Verdict]] = {}
    tables = {o.where for _, t in _templates(accounts) for o in observe(t)}
    stores = {p.fill(store.name) for p in places for store in p.stores}
    for f in deployed:
        if _of_table(f, tables, stores):
            judged.setdefault((f.environment, f.table), {})[f.rule.id] = Verdict(f.outcome, f.detail)
    others = [a for a in everywhere if a.id not in {h.id for h in accounts}]
    # A table that strayed into an account does not mean that all of its stack should be there.
    strays = {
        p.name for p in places if stack_of(p.region, p.name, accounts) is None and any(_has(a, p) for a in others)
    }
    owners = {(a.region, str(o.name)): t.name or t.id for a, t in _templates(accounts) for o in observe(t)}
    ways = {p.id: _way(p, estate, accounts, owners, judged) for p in places}
    seen = [
        _see(p, t, accounts, judged.get((p.env.label, p.fill(t.name)), {}), ways[p.id])
        for p in places
        for t in p.tables
        if p.name not in strays or any(_holds(a, p, t) for a in accounts)
    ]
    by_name = {(s.placed.env, s.name): s for s in seen}
    findings = [f for s in seen for f in _table(s, by_name, ages)]
    findings += [f for p in places for f in _assumptions(p, estate, accounts)]
    where: dict[tuple[str, str | None], Placed] = {(p.name, p.env.label): p for p in places}
    rest = [
        _dated(_kept_elsewhere(f, ways), accounts, where, ages)
        for f in deployed
        if f.stack not in strays and not (f.rule.id in SAID_ELSEWHERE and _of_table(f, tables, stores))
    ]
    whole = [p for p in places if p.name not in strays]
    findings += audit_stores.judged(whole, rest, accounts, ages)
    findings += audit_stores.around(places, accounts)
    findings += [_stack(p, accounts, ways[p.id]) for p in places]
    return findings, seen


def _way(
    placed: Placed,
    estate: Estate,
    accounts: Sequence[Account],
    owners: Mapping[tuple[str, str], str],
    judged: Mapping[tuple[str | None, str | None], Mapping[str, Verdict]],
) -> advice.Way:
    """What a deploy of a stack would meet: it is made from the code, whatever was only assumed there."""
    code = replace(placed, stack=_original(placed, estate))
    stack = stack_of(placed.region, placed.name, accounts)
    here = [a for a in accounts if a.region == placed.region]
    names = [placed.fill(t.name) for t in placed.tables]
    verdicts_of = {name: judged.get((placed.env.label, name), {}) for name in names}
    return advice.way(
        code,
        stack.seen if isinstance(stack, StackLive) else stack,
        {name: _find(accounts, placed.region, name)[1] for name in names},
        {name: owner for (region, name), owner in owners.items() if region == placed.region and owner != placed.name},
        {n: [rule for rule, v in found.items() if v.outcome is Outcome.FAIL] for n, found in verdicts_of.items()},
        [
            name
            for a in here
            for (id_, _, name), seen in (a.stores.found if a.stores else {}).items()
            if id_ == placed.id and isinstance(seen, StoreSeen)
        ],
    )


# Where nobody looked


def _was_read(placed: Placed, read: Collection[tuple[str, str]]) -> bool:
    return any(placed.region == region and placed.account in (None, account) for account, region in read)


def _unlooked(estate: Estate, wanted: Sequence[Environment], read: Collection[tuple[str, str]]) -> Iterator[Finding]:
    """Declared stacks whose region or account was not read."""
    for placed in estate.placements(wanted):
        if not _was_read(placed, read):
            verdict = unknown(f"{placed.place} was not read, and {placed.name} is declared there")
            yield finding(live.UNREAD, verdict, placed, None, f"{placed.region}/{placed.name}", Source.LIVE)


# Findings of the template side that are said of the live table, or that an account shows better.
SAID_ELSEWHERE = frozenset({*(r.id for r in TABLE_RULES), estate_rules.ABSENT.id, estate_rules.UNDECLARED.id})


def _of_table(found: Finding, tables: Collection[str], stores: Collection[str]) -> bool:
    """Whether a finding is about a table itself, and not about a store or about what stands beside the table."""
    return (
        found.table is not None
        and found.table not in stores
        and (found.where in tables or found.rule.id == estate_rules.ABSENT.id)
    )


def _corrected(placed: Placed, accounts: Sequence[Account]) -> Placed:
    """``placed`` with what live tables say of facts that were only assumed; those have a rule of their own."""
    tables = []
    for table in placed.stack.tables:
        _, found = _find(accounts, placed.region, placed.fill(table.name))
        seen = found if isinstance(found, StoreSeen) and table in placed.tables else None
        tables.append(live.corrected(placed, table, observed(seen)) if seen else table)
    try:
        return replace(placed, stack=replace(placed.stack, tables=tuple(tables)))
    except DeclarationError:
        return placed  # an access pattern wants what was assumed: then every rule may say so


def _deployed(places: Sequence[Placed], accounts: Sequence[Account]) -> list[Finding]:
    """What the rules say of the templates that CloudFormation holds."""
    ids = {(p.region, p.name): p.id for p in places}
    templates = [replace(s, id=ids.get((a.region, s.name or s.id), s.id)) for a, s in _templates(accounts)]
    return verdicts(places, templates)


def _templates(accounts: Sequence[Account]) -> Iterator[tuple[Account, StackSeen]]:
    for account in accounts:
        if not isinstance(account.stacks, Unknown):
            for stack in account.stacks.values():
                if not isinstance(stack.seen, Unknown):
                    yield account, stack.seen


def _settled(account: Account) -> Account:
    """``account`` without the templates of stacks whose last change goes on or went wrong: they are not what runs."""
    if isinstance(account.stacks, Unknown):
        return account
    stacks = {
        name: stack if _state(stack.status) is PASS else replace(stack, seen=Unknown(f"the stack is {stack.status}"))
        for name, stack in account.stacks.items()
    }
    return replace(account, stacks=stacks)


def _state(status: str) -> Verdict:
    """What the state of a stack says of the template that CloudFormation holds."""
    if status.endswith("_FAILED") or status in ("ROLLBACK_COMPLETE", "DELETE_IN_PROGRESS"):
        return fail(f"the stack is {status}, so its template does not say what is there")
    if status.endswith("_IN_PROGRESS") and "CLEANUP" not in status:
        return unknown(f"the stack is {status}: look again when that is done")
    return PASS


def _stack(placed: Placed, accounts: Sequence[Account], way: advice.Way) -> Finding:
    """Whether a stack is there at all; where it has tables, these say so."""
    stack = stack_of(placed.region, placed.name, accounts)
    if isinstance(stack, Unknown):
        verdict = unknown(f"stacks of {placed.region} could not be read: {stack.reason}")
    elif stack is not None:
        verdict = _state(stack.status)
    elif placed.tables or placed.env in placed.stack.undeployed:
        verdict = EXEMPT
    else:
        verdict = fail("intended, never deployed: there is no such stack")
    found = finding(live.UNDEPLOYED, verdict, placed, None, f"{placed.region}/{placed.name}", Source.DEPLOYED)
    return _advised(found, _made(way, "")) if stack is None else found


def _dated(
    found: Finding, accounts: Sequence[Account], places: Mapping[tuple[str, str | None], Placed], ages: Ages
) -> Finding:
    """What the template of a stack lacks, with the time since the stack could have got it."""
    placed = places.get((found.stack, found.environment))
    there = {placed.region} if placed else {a.region for a in accounts}
    stacks = (stack_of(region, found.stack, accounts) for region in there)
    stack = next((s for s in stacks if isinstance(s, StackLive)), None)
    if found.outcome is not Outcome.FAIL or stack is None:
        return found
    says = "intended, not in the deployed stack"
    contract = placed.id if placed else found.stack
    return replace(
        found, gap=ages.gap(found.rule, contract, found.table, stack, says=says, deployed="off", live=UNSEEN)
    )


def _kept_elsewhere(found: Finding, ways: Mapping[str, advice.Way]) -> Finding:
    """A table that another stack has, and its own has not: nobody can keep it there and drop it from the other."""
    if found.rule is not estate_rules.TWICE:
        return found
    against = (w.against(found.table) for w in ways.values() if found.table and found.table in w.taken)
    return _advised(found, _first(next(against, found.fix)))


def _find(accounts: Sequence[Account], region: str, name: str) -> tuple[Account | None, StoreSeen | Unknown | None]:
    """A table by its name: where it is, or why nobody can say."""
    unread: tuple[Account | None, Unknown | None] = (None, None)
    for account in accounts:
        if account.region == region:
            if isinstance(account.tables, Unknown):
                unread = (account, account.tables)
            elif name in account.tables:
                return account, account.tables[name]
            elif unread[0] is None:
                unread = (account, None)
    return unread


def _see(
    placed: Placed, table: Table, accounts: Sequence[Account], judged: Mapping[str, Verdict], way: advice.Way
) -> _Seen:
    name = placed.fill(table.name)
    account, found = _find(accounts, placed.region, name)
    stack = stack_of(placed.region, placed.name, accounts)
    verdict: Mapping[str, Verdict] | Unknown | None
    if isinstance(stack, Unknown):
        verdict = stack
    elif stack is not None and isinstance(stack.seen, Unknown):
        verdict = stack.seen
    else:
        verdict = judged
        absent = verdict.get(estate_rules.ABSENT.id)
        if absent is not None and absent.outcome is not Outcome.PASS:
            verdict = Unknown(absent.detail) if absent.outcome is Outcome.UNKNOWN else None
    return _Seen(placed, table, account, found, stack, verdict, way)


# One table


def _table(s: _Seen, by_name: Mapping[tuple[Environment, str], _Seen], ages: Ages) -> Iterator[Finding]:
    yield _advised(_finding(s, live.ABSENT, _absent(s)), _restore(s))
    for rule in TABLE_RULES:
        yield _merged(s, rule, ages)
    if not isinstance(s.live, StoreSeen):
        return
    level = s.way.advised(f"{s.way.command} brings the template up to what the code says and the table already is")
    against = _first(s.way.against(s.name))
    yield _advised(_finding(s, live.BEHIND, _behind(s), source=Source.DEPLOYED), against or level)
    if not (Guard.RETAIN in s.placed.required(s.table) and s.deployed is None):
        yield _advised(_finding(s, live.STACKLESS, fail(_stackless(s)) if s.deployed is None else PASS), against)
    yield _finding(s, live.RETIRING, live.retiring(s.placed, s.table, s.live))
    new = by_name.get((s.placed.env, s.placed.fill(s.table.state.replaced_by or "")))
    yield _finding(s, live.SUPERSEDED, live.superseded(s.placed, s.table, s.live, new.live if new else None))
    age = None if isinstance(s.live.created, Unknown) else days(s.live.created, ages.now)
    if isinstance(s.live.indexes, Unknown):
        yield _finding(s, live.INDEX, unknown(f"indexes cannot be read: {s.live.indexes.reason}"))
        return
    for name, use in s.live.indexes.items():
        verdict = live.index_value(name, use, s.live, of=len(s.live.indexes), days_old=age)
        yield replace(_finding(s, live.INDEX, verdict), where=f"{s.live.arn}/index/{name}")


def _absent(s: _Seen) -> Verdict:
    if isinstance(s.live, Unknown):
        return unknown(f"tables of {s.placed.region} could not be read: {s.live.reason}")
    if isinstance(s.live, StoreSeen):
        return _usable(s.live.status)
    if s.placed.env in s.placed.stack.undeployed and s.stack is None:
        return Verdict(Outcome.EXEMPT, f"{s.placed.name} is declared as not deployed in {s.placed.env.label} yet")
    if s.placed.env in s.placed.stack.undeployed and isinstance(s.stack, Unknown):
        return unknown(f"whether {s.placed.name} is deployed cannot be read: {s.stack.reason}")
    if isinstance(s.deployed, Unknown):
        return fail(f"it is not live; what is deployed cannot be read: {s.deployed.reason}")
    if s.deployed is not None:
        return fail(f"intended and deployed in {s.placed.name}, but not live: somebody deleted it")
    if s.stack is None:
        return fail(f"intended, never deployed: there is no stack {s.placed.name}")
    return fail(f"intended, never deployed: {s.placed.name} was last updated without it")


def _usable(status: str | Unknown) -> Verdict:
    """Whether a table that is listed can be read; one that is being updated can."""
    match status:
        case "DELETING":
            return fail("it is being deleted")
        case "INACCESSIBLE_ENCRYPTION_CREDENTIALS":
            return fail("nobody can read it: DynamoDB may not use its key. After seven days it is archived")
        case "ARCHIVING" | "ARCHIVED":
            return fail(
                f"nobody can read it: it is {status}, because DynamoDB could not use its key. Restore its backup"
            )
        case "CREATING":
            return unknown("it is being made: look again when that is done")
        case _:
            return PASS


def _merged(s: _Seen, rule: Rule, ages: Ages) -> Finding:
    """One rule, one table, one finding: the live table decides, the deployed template says how it came about."""
    then, there = s.columns[rule.id]
    verdict, says = _merge(s, rule, then, there)
    source = Source.DEPLOYED if rule.only_deployed else Source.LIVE
    found = _finding(s, rule, verdict, source=source)
    if verdict.outcome is not Outcome.FAIL or not says:
        return found
    gap = ages.gap(
        rule,
        s.placed.id,
        s.name,
        s.stack,
        says=says,
        deployed=_word(then),
        live=_word(there),
        intent="on" if rule in GUARDING.values() else "as declared",
        by_hand=says == NOT_APPLIED,
    )
    return replace(found, gap=gap, fix=_remediation(s, rule, found.fix, says))


def _remediation(s: _Seen, rule: Rule, fix: str, says: str) -> str:
    """What to do about a gap: the call that closes it now, and whether a deploy keeps it closed."""
    call, against = _call(s, rule, fix), s.way.against(s.name)
    if s.name in s.way.taken or (against and says == NEVER_DEPLOYED):
        return _first("; ".join(filter(None, (call, against))))
    if says == NOT_APPLIED:
        return _first(call) or f"{fix} A deploy alone does not change it: the template says so already."
    if says != NEVER_DEPLOYED:
        return _first(call) or fix
    if call and not (rule.guard is Guard.CUSTOMER_KEY and call.startswith("`holdfast")):  # the deploy moves it, too
        return _first(s.way.advised(f"{call}; then {s.way.command}, so that the template says so, too"))
    return s.way.advised(f"Deploy: {s.way.command}")


def _call(s: _Seen, rule: Rule, fix: str) -> str:
    """The call that turns on what is off on a live table; empty where there is none that it would take."""
    match rule.guard:
        case Guard.CUSTOMER_KEY if isinstance(s.live, StoreSeen) and isinstance(
            observed(s.live).encryption, ObservedKey
        ):
            return "enable its key, and cancel the key's deletion if that is scheduled"
        case Guard.CUSTOMER_KEY if s.deployed is None:
            return "its key comes with its stack"
        case Guard.TAGS if not _untagged(s):
            return ""
        case Guard.CUSTOMER_KEY | Guard.TAGS:  # their calls need an ARN, a key or values, which `fix` fills in
            shows = "names whom the new key would cut off" if rule.guard is Guard.CUSTOMER_KEY else "shows the call"
            return f"`holdfast fix --env {s.placed.env.label} --only {rule.id}` {SAME_ACCOUNT} {shows}"
        case Guard.TTL if isinstance(s.live, StoreSeen) and observed(s.live).ttl is None:
            wanted = f"Enabled=true,AttributeName={s.table.lifetime.ttl}"
            call = f"aws dynamodb update-time-to-live --table-name {s.name} --time-to-live-specification {wanted}"
            return f"{call} --region {s.placed.region}"
        case _:
            return fix.partition(engine.LIVE)[2]


def _untagged(s: _Seen) -> bool:
    """Whether tags are missing; one that says something else is not overwritten."""
    seen = observed(s.live).tags if isinstance(s.live, StoreSeen) else {}
    return not isinstance(seen, Unknown) and any(t not in seen for t in s.placed.policy.tags)


def _restore(s: _Seen) -> str:
    """How a declared table that is not live, or that nobody can read, comes back or comes about."""
    if isinstance(s.live, StoreSeen) or isinstance(s.deployed, Unknown):
        return live.ABSENT.remediation.format(table=s.name)
    if s.deployed is not None:
        return live.RESTORE.format(table=s.name)
    return _made(s.way, s.name)


def _made(way: advice.Way, table: str) -> str:
    """How a stack that never was comes about, and its table."""
    return f"{_first(way.against(table) or way.advised(f'{way.command} makes it'))}. {live.NOT_YET}"


def _advised(found: Finding, fix: str) -> Finding:
    return replace(found, fix=fix) if found.outcome is Outcome.FAIL else found


def _first(sentence: str) -> str:
    """A clause as a sentence; a command keeps its spelling."""
    return sentence if sentence.startswith("aws ") else sentence[:1].upper() + sentence[1:]


def _columns(s: _Seen, rule: Rule) -> tuple[Verdict | str, Verdict | str]:
    """What a rule says of the deployed template and of the live table; a word where there is nothing to judge."""
    then: Verdict | str
    match s.deployed:
        case None:
            then = s.outside
        case Unknown(reason=reason):
            then = unknown(f"what is deployed cannot be read: {reason}")
        case found:
            then = found.get(rule.id, EXEMPT)
    if rule.only_deployed:
        return then, UNSEEN
    match s.live:
        case None:
            return then, "not live"
        case Unknown(reason=reason):
            return then, unknown(reason)
        case table:
            subject = TableSubject(s.placed, s.table, s.placed.required(s.table), observed(table))
            return then, engine.verdict(rule, subject)


def _merge(s: _Seen, rule: Rule, then: Verdict | str, there: Verdict | str) -> tuple[Verdict, str]:
    """The verdict, and where it is a failure, how intent, deployed and live part."""
    if s.live is None or (isinstance(s.live, Unknown) and isinstance(there, Verdict)):
        return EXEMPT, ""  # that it is not there, or cannot be read, is one finding and not twenty
    if isinstance(there, str):  # only templates say
        if isinstance(then, Verdict):
            return then, NEVER_DEPLOYED if then.outcome is Outcome.FAIL else ""
        if not _keeps(s, rule) or isinstance(s.live, Unknown):
            return EXEMPT, ""
        return fail(
            f"it is {then}, so the template of {s.placed.name} does not keep it: {_stackless(s)}"
        ), f"intended, {then}"
    if there.outcome is not Outcome.FAIL or (rule is alarms.THRESHOLDS and _unwatched(s)):
        return (there if there.outcome is not Outcome.FAIL else EXEMPT), ""
    if isinstance(then, str):
        return there, f"intended, {then}"
    match then.outcome:
        case Outcome.FAIL:
            return there, NEVER_DEPLOYED
        case Outcome.UNKNOWN:
            return there, "intended, not live; what is deployed cannot be read"
        case _:
            return there, NOT_APPLIED


def _unwatched(s: _Seen) -> bool:
    """Whether alarms are missing: that is one finding, and how the missing ones are set up is none."""
    if not isinstance(s.live, StoreSeen):
        return False
    subject = TableSubject(s.placed, s.table, s.placed.required(s.table), observed(s.live))
    return alarms.missing(subject).outcome is Outcome.FAIL


def _keeps(s: _Seen, rule: Rule) -> bool:
    """Whether this is the one finding that says that a table which must be kept is in no stack."""
    return s.deployed is None and rule.guard is Guard.RETAIN and Guard.RETAIN in s.placed.required(s.table)


def _stackless(s: _Seen) -> str:
    """Why a live table is not in its stack, as far as CloudFormation and the declaration know."""
    if s.name in s.way.elsewhere:
        return f"{s.way.elsewhere[s.name]} has it"
    made_by = s.live.owner if isinstance(s.live, StoreSeen) and isinstance(s.live.owner, str) else None
    deleted = s.account.deleted if s.account and not isinstance(s.account.deleted, Unknown) else {}
    if made_by and made_by in deleted:
        return f"{made_by} was deleted on {day(deleted[made_by])} and left it behind"
    if made_by and made_by != s.placed.name:
        return f"it says that {made_by} made it, which has not got it"
    return live.governed(s.table.state.governance)


def _behind(s: _Seen) -> Verdict:
    """Whether the template lags behind a table that is as intended."""
    if s.deployed is None:
        return EXEMPT
    if isinstance(s.deployed, Unknown):
        return unknown(f"what is deployed cannot be read: {s.deployed.reason}")
    lags, unread = [], []
    for rule in TABLE_RULES:
        then, there = s.columns[rule.id]
        if isinstance(then, str) or isinstance(there, str) or there.outcome in (Outcome.FAIL, Outcome.UNKNOWN):
            continue
        if then.outcome is Outcome.FAIL:
            lags.append(then.detail)
        elif then.outcome is Outcome.UNKNOWN:
            unread.append(then.detail)
    if lags:
        return fail(f"live as intended, but in the deployed template {'; '.join(lags)}")
    return unknown("; ".join(unread)) if unread else PASS


def _word(verdict: Verdict | str) -> str:
    if isinstance(verdict, str):
        return verdict
    return {Outcome.PASS: "on", Outcome.FAIL: "off", Outcome.UNKNOWN: "unknown", Outcome.EXEMPT: "-"}[verdict.outcome]


def _row(s: _Seen) -> Row:
    required = s.placed.required(s.table)
    waits = s.stack is None and s.live is None and s.placed.env in s.placed.stack.undeployed  # nothing is asked yet
    cells = {}
    for guard, rule in GUARDING.items():
        asked = guard in required and not waits
        columns = ("on", *map(_word, s.columns[rule.id])) if asked else ("-", "-", "-")
        cells[guard] = (columns[0], columns[1], columns[2])
    state = [s.table.state.usage.value]
    state += [s.table.state.governance.value] if s.table.state.governance is not Governance.STACK else []
    counts = [s.live.items, s.live.size] if isinstance(s.live, StoreSeen) else [None, None]
    items, bytes_ = (None if isinstance(c, Unknown) else c for c in counts)
    return Row(
        table=s.name,
        stack=s.placed.name,
        environment=s.placed.env.label,
        region=s.placed.region,
        account=s.account.id if s.account else None,
        state=", ".join(state),
        items=items,
        size=bytes_,
        guards=cells,
    )


def _finding(s: _Seen, rule: Rule, verdict: Verdict, source: Source = Source.LIVE) -> Finding:
    return finding(rule, verdict, s.placed, s.table, s.where, source)


# The estate


def _assumptions(placed: Placed, estate: Estate, accounts: Sequence[Account]) -> Iterator[Finding]:
    before = replace(placed, stack=_original(placed, estate))
    for table in before.tables:
        _, found = _find(accounts, placed.region, placed.fill(table.name))
        if isinstance(found, StoreSeen):
            for assumption, verdict in live.confirm(before, table, observed(found)):
                where = "/".join(filter(None, (found.arn, assumption.assumed.fact.value, assumption.index)))
                yield finding(live.ASSUMED, verdict, before, table, where, Source.LIVE)


def _original(placed: Placed, estate: Estate) -> Stack:
    """A stack as the code declares it, before live tables corrected what was assumed."""
    return next(s for s in estate.stacks if s.id == placed.stack.id and s.system == placed.stack.system)


def _strangers(every: Sequence[Placed], accounts: Sequence[Account]) -> Iterator[Finding]:
    """Tables that no declaration has: in a stack that still has them, or in none."""
    for account in accounts:
        known = {p.fill(t.name) for p in every if _here(account, p) for t in p.tables}
        tables = {} if isinstance(account.tables, Unknown) else account.tables
        in_template = {
            table.name: seen.name or seen.id
            for _, seen in _templates([account])
            for table in observe(seen)
            if isinstance(table.name, str)
        }
        for name, stack in in_template.items():
            if name not in known:
                detail = f"{stack} has it and the code has not{'' if name in tables else '; it is not live either'}"
                yield _stranger(live.UNCODED, detail, name, stack, account.region, f"{stack}/{name}", Source.DEPLOYED)
        for name, table_seen in tables.items():
            if name not in known and name not in in_template:
                detail, stack = _outlived(account, table_seen)
                yield _stranger(live.ORPHAN, detail, name, stack, account.region, table_seen.arn, Source.LIVE)


def _outlived(account: Account, table: StoreSeen) -> tuple[str, str]:
    """What is known of a table that nobody declares, and the stack that it came from."""
    what = f"live and undeclared, holds {live.holds(table)}"
    if isinstance(table.owner, str):
        deleted = {} if isinstance(account.deleted, Unknown) else account.deleted
        if table.owner in deleted:
            return (
                f"{what}; {table.owner} was deleted on {day(deleted[table.owner])} and left it behind",
                table.owner,
            )
        return f"{what}; it says that {table.owner} made it", table.owner
    return what, "no stack"


def _stranger(
    rule: Rule, detail: str, table: str | None, stack: str, region: str, where: str, source: Source
) -> Finding:
    return Finding(
        rule=rule,
        outcome=Outcome.FAIL,
        detail=detail,
        table=table,
        stack=stack,
        environment=None,
        source=source,
        where=where,
        fix=rule.remediation.format(table=table, stack=stack, region=region),
    )


def _twins(every: Sequence[Placed], accounts: Sequence[Account]) -> Iterator[Finding]:
    """Two environments' copies of one declaration, where both are live."""
    for stack in dict.fromkeys(p.stack.id for p in every):
        first, *others = [p for p in every if p.stack.id == stack]
        for other in others:
            for table in (t for t in first.tables if t in other.tables):
                one, two = (
                    _find([a for a in accounts if _here(a, p)], p.region, p.fill(table.name))[1] for p in (first, other)
                )
                if isinstance(one, StoreSeen) and isinstance(two, StoreSeen):
                    labels = _label(first, other), _label(other, first)
                    allowed = {*first.env.differs, *other.env.differs}
                    verdict = live.twins(observed(one), observed(two), labels, allowed)
                    yield finding(live.TWINS, verdict, first, table, one.arn, Source.LIVE)


def _label(placed: Placed, beside: Placed) -> str:
    return placed.env.label if placed.env != beside.env else f"{placed.env.label} ({placed.place})"


def _unreadable(accounts: Sequence[Account]) -> Iterator[Finding]:
    for account in accounts:
        for hole in account.unreadable:
            allow = f" (needs {hole.action})" if hole.action else ""
            found = _stranger(
                live.UNREAD,
                f"{hole.what}: {hole.reason}{allow}",
                None,
                f"account {account.id}",
                account.region,
                f"{account.id}/{account.region}/{hole.what}",
                Source.LIVE,
            )
            yield replace(found, outcome=Outcome.UNKNOWN)


# What names tables


@dataclass(frozen=True, slots=True)
class _Names:
    """Every table that is live or declared, by its name."""

    live: frozenset[str]
    unread: str | None  # a region whose tables could not be listed
    read: Mapping[tuple[str, str], frozenset[str] | Unknown]  # by account and region
    placed: Mapping[tuple[str, str], Placed]  # every declared table, by region and name, wherever it was read
    declared: Mapping[str, tuple[Placed, Table]]
    elsewhere: Mapping[str, str]  # what a table would be called in an environment that has not got it


def _mentions(
    every: Sequence[Placed], accounts: Sequence[Account], code: Sequence[Mention], estate: Estate
) -> Iterator[Finding]:
    names = _Names(
        live=frozenset(n for a in accounts if not isinstance(a.tables, Unknown) for n in a.tables),
        unread=next((a.region for a in accounts if isinstance(a.tables, Unknown)), None),
        read={(a.id, a.region): a.tables if isinstance(a.tables, Unknown) else frozenset(a.tables) for a in accounts},
        placed={(p.region, p.fill(t.name)): p for p in estate.placements() for t in p.tables},
        declared={p.fill(t.name): (p, t) for p in reversed(every) for t in p.tables},
        elsewhere={
            Placed(p.stack, env).fill(
                t.name
            ): f"{p.fill(t.name)} would be called so in {env.label}, which has not got it"
            for p in every
            for env in estate.environments
            for t in p.stack.tables
            if env != p.env
        },
    )
    for account in accounts:
        here = {p.env for p in every if _here(account, p)}
        # Where two environments share a region, nothing says which of them a function belongs to.
        env = next(iter(here)) if len(here) == 1 else None
        for mention in () if isinstance(account.mentions, Unknown) else account.mentions:
            yield _mention(mention, env, names, account)
    for mention in code:
        yield _mention(mention, None, names, None)


def _mention(mention: Mention, env: Environment | None, names: _Names, account: Account | None) -> Finding:
    """``env`` is where the thing runs; code runs in all of them."""
    placed, _ = names.declared.get(mention.table, (None, None))
    rule, verdict = _elsewhere(mention, env, names, account) or _judge_mention(mention, env, names)
    return Finding(
        rule=rule,
        outcome=verdict.outcome,
        detail=verdict.detail,
        table=mention.table,
        stack=placed.name if placed else "no stack",
        environment=env.label if env else placed.env.label if placed else None,
        source=Source.LIVE if account else Source.DECLARATION,
        where=f"{account.id}/{account.region}/{mention.where}" if account else mention.where,
        fix=rule.remediation.format(table=mention.table) if verdict.outcome in (Outcome.FAIL, Outcome.UNKNOWN) else "",
    )


def _elsewhere(
    mention: Mention, env: Environment | None, names: _Names, account: Account | None
) -> tuple[Rule, Verdict] | None:
    """An ARN that points out of where its mention was found: a name says nothing about it."""
    if account is None or mention.place in (None, (account.id, account.region)):
        return None
    assert mention.place
    owner, region = mention.place
    said = f"{mention.where} names {mention.table} of account {owner} in {region}"
    placed = names.placed.get((region, mention.table))
    if env and placed and placed.env != env and owner in {a for a, _ in names.read}:
        return live.ASTRAY, fail(f"{said}, which belongs to {placed.env.label}, but runs in {env.label}")
    match names.read.get(mention.place):
        case None:
            return live.PHANTOM, Verdict(Outcome.EXEMPT, f"{said}, which was not read")
        case Unknown(reason=reason):
            return live.PHANTOM, unknown(f"{said}; tables there could not be listed: {reason}")
        case there if mention.table in there:
            return live.PHANTOM, PASS
        case _:
            return live.PHANTOM, fail(f"{said}, and there is no such table")


def _judge_mention(mention: Mention, env: Environment | None, names: _Names) -> tuple[Rule, Verdict]:
    said = f"{mention.where} names {mention.table}"
    exists = mention.table in names.live
    if mention.table in names.declared:
        placed, table = names.declared[mention.table]
        state = table.state
        if env and placed.env != env:
            return live.ASTRAY, fail(f"{said}, which belongs to {placed.env.label}, but runs in {env.label}")
        if exists and (state.usage in live.RETIRED or state.governance is not Governance.STACK):
            instead = f"; {placed.fill(state.replaced_by)} replaces it" if state.replaced_by else ""
            kind = state.usage.value if state.usage in live.RETIRED else f"an {state.governance.value}"
            return live.LEGACY_USED, fail(f"{said}, which is {kind}{instead}")
    if not exists:
        if names.unread:
            return live.PHANTOM, unknown(f"{said}; tables of {names.unread} could not be listed")
        hint = names.elsewhere.get(mention.table)
        return live.PHANTOM, fail(f"{said}, and there is no such table{f' ({hint})' if hint else ''}")
    if mention.kind == "code":
        return live.HARD_CODED, fail(f"{said} in so many words")
    return live.PHANTOM, PASS
