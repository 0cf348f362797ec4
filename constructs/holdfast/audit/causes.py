"""Findings by what brought them about: one deploy that never was, one change by hand, tables in no stack. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from holdfast.audit.advice import Way
from holdfast.audit.audit import Audit
from holdfast.audit.merge import LAGS
from holdfast.audit.remedy import first
from holdfast.audit.rows import Row
from holdfast.audit.seen import NOT_APPLIED
from holdfast.days import day
from holdfast.kinds.table.declaration import Governance
from holdfast.model.facts import Guard
from holdfast.rules import GUARDING, estate, live, mentions, presence, strangers, use
from holdfast.rules.base import ORDER, Finding, Rule, Severity
from holdfast.text import counted
from holdfast.verdict import Outcome

# What `holdfast fix` turns on and nothing suffers from; a key and an expiry are each asked for alone.
CALLED = frozenset(GUARDING[g] for g in (Guard.DELETION_PROTECTION, Guard.PITR, Guard.TAGS))
ALONE = frozenset(GUARDING[g] for g in (Guard.TTL, Guard.CUSTOMER_KEY))
# Without it one call, or one mistake, loses items for good.
LOSING = frozenset(GUARDING[g] for g in (Guard.DELETION_PROTECTION, Guard.PITR))
LATE = frozenset({presence.NEVER_DEPLOYED, LAGS, "intended, not in the deployed stack"})
GONE = frozenset({presence.ABSENT, presence.UNDEPLOYED, estate.ABSENT})
# How a rule's failures are called together.
PHRASES: Mapping[Rule, str] = {
    live.RETIRING: "retired, and not archived",
    use.USED: "retired, and still in use",
    live.REACHES_BACK: "not recoverable as far back as asked",
    live.SUPERSEDED: "replaced, and holds more than its successor",
    live.TWINS: "not alike in every environment",
    live.INDEX: "indexes empty or not read",
    mentions.PHANTOM: "named by what runs, and does not exist",
    mentions.LEGACY_USED: "retired, and still named by what runs",
    mentions.ASTRAY: "named by what runs in another environment",
    mentions.HARD_CODED: "hard-coded names",
    strangers.STRANGER: "tagged as ours, and not declared",
}


class Kind(Enum):
    """What can bring findings about."""

    BEHIND = "behind"  # a stack runs an older contract: a deploy brings what is missing
    KEY = "key"  # personal data waits for a key that was never deployed
    DRIFT = "drift"  # it was changed after the deploy
    STACKLESS = "stackless"  # live, and in no stack, or in that of others
    GONE = "gone"  # declared, and not there
    RULE = "rule"  # what one rule says of the design, of use or of what names tables
    FOREIGN = "foreign"  # tables that no declaration has
    UNVISITED = "unvisited"  # a region or an account was not read
    UNREAD = "unread"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why some findings are there, and what ends them all; ``command`` is empty where no single one does."""

    kind: Kind
    environment: str | None
    about: str  # a stack, a table, a region or a rule, by kind
    findings: tuple[Finding, ...]
    tables: tuple[str, ...]
    severity: Severity
    unknown: bool
    personal: bool  # of durable data in production
    items: int  # of its tables, as far as they were counted
    days: int | None  # since the oldest of it was asked for
    says: str
    parts: tuple[str, ...] = ()  # what is off, on what, and since when
    command: str = ""
    before: str = ""  # what has to be done before the command
    meanwhile: str = ""  # the command that protects what is live until then
    fix: str = ""  # in words

    @property
    def id(self) -> str:
        """The same in every audit that finds it."""
        return "/".join(filter(None, (self.kind.value, self.environment, self.about)))


_Key = tuple[Kind, str | None, str]


@dataclass(frozen=True, slots=True)
class _Shown:
    """What an audit knows beside its findings."""

    rows: Mapping[tuple[str | None, str | None], Row]
    ways: Mapping[tuple[str | None, str], Sequence[Way]]
    audit: Audit


def causes(findings: Iterable[Finding], audit: Audit) -> list[Cause]:
    """The causes of what failed or is unknown, ranked by what is at risk."""
    ways: dict[tuple[str | None, str], list[Way]] = {}
    for way in audit.ways:
        ways.setdefault((way.placed.env.label, way.placed.name), []).append(way)
    shown = _Shown({(r.environment, r.table): r for r in audit.rows}, ways, audit)
    groups: dict[_Key, list[Finding]] = {}
    for f in findings:
        if f.outcome in (Outcome.FAIL, Outcome.UNKNOWN):
            groups.setdefault(_key(f, {stack for _, stack in ways}), []).append(f)
    return sorted((_cause(key, of, shown) for key, of in groups.items()), key=lambda c: _rank(c, shown))


def _rank(c: Cause, shown: _Shown) -> tuple[object, ...]:
    """Personal data in production that can be lost now, in use, the most items, the oldest."""
    losing = any(f.rule in LOSING and f.gap and f.gap.live == "off" for f in c.findings)
    rows = [shown.rows[c.environment, t] for t in c.tables if (c.environment, t) in shown.rows]
    used = any(r.state.partition(",")[0] not in {u.value for u in use.RETIRED} for r in rows)
    return (c.unknown, ORDER[c.severity], not c.personal, not losing, not used, -c.items, -(c.days or 0), c.id)


def _key(f: Finding, declared: Collection[str]) -> _Key:
    env, of_table = f.environment, f.table or f.stack
    if f.rule is strangers.UNREAD and env:
        return Kind.UNVISITED, env, f.where.partition("/")[0]
    if f.outcome is Outcome.UNKNOWN:
        return Kind.UNREAD, None, ""
    if f.rule in (strangers.ORPHAN, strangers.UNCODED):
        return Kind.FOREIGN, None, f.stack if f.rule is strangers.UNCODED and f.stack in declared else ""
    if f.rule in GONE:
        return Kind.GONE, env, f.stack
    if f.rule in (live.STACKLESS, estate.TWICE) or (f.gap and f.gap.says == f"intended, {f.gap.deployed}"):
        return Kind.STACKLESS, env, f.stack
    if f.gap and f.gap.says == NOT_APPLIED:
        return Kind.DRIFT, env, of_table
    if f.rule is live.BEHIND or (f.gap and f.gap.says in LATE):
        waits = f.gap and f.rule is GUARDING[Guard.CUSTOMER_KEY]
        return (Kind.KEY, env, "") if waits else (Kind.BEHIND, env, f.stack)
    return Kind.RULE, env, f"{f.rule.id}/{of_table}" if f.rule is live.INDEX else f.rule.id


def _cause(key: _Key, findings: Sequence[Finding], shown: _Shown) -> Cause:
    kind, env, about = key
    findings = sorted(findings, key=lambda f: (ORDER[f.rule.severity], f.rule.id))
    tables = tuple(dict.fromkeys(f.table for f in findings if f.table))
    rows = [shown.rows[env, t] for t in tables if (env, t) in shown.rows]
    ages = [f.gap.days_intended for f in findings if f.gap and f.gap.days_intended is not None]
    ways = _ways(env, findings, shown)
    deploys = kind in (Kind.BEHIND, Kind.KEY) or (kind is Kind.GONE and all(_never(f) for f in findings))
    against = next((first(w.against("")) for w in ways if deploys and w.against("")), "")
    rekeyed = [name for w in ways for name in w.rekeyed]
    command = _deploy(ways) if deploys and ways and not against else ""
    off = [f for f in findings if f.gap and f.gap.live == "off" and kind is not Kind.KEY]
    alone = len({f.rule for f in findings}) == 1
    calls = [f for f in off if f.rule in CALLED or (alone and f.rule in ALONE)]
    call = f"holdfast fix --env {env} --only {','.join(sorted({f.rule.id for f in calls}))}" if calls else ""
    whole = len(calls) == len(findings) and kind is Kind.DRIFT
    return Cause(
        kind=kind,
        environment=env,
        about=about,
        findings=tuple(findings),
        tables=tables,
        severity=findings[0].rule.severity,
        unknown=all(f.outcome is Outcome.UNKNOWN for f in findings),
        personal=any(f.untouchable for f in findings),
        items=sum(r.items or 0 for r in rows),
        days=max(ages, default=None),
        says=_says(key, findings, tables, rows, shown, command),
        parts=tuple(_parts(findings)),
        command=call if whole else command,
        before=_before(rekeyed) if command and rekeyed else "",
        meanwhile="" if whole else call,
        fix=against or _fix(kind, about, findings[0].fix, len(tables)),
    )


def _ways(env: str | None, findings: Sequence[Finding], shown: _Shown) -> list[Way]:
    """What deploys of the stacks would meet, in the regions that the findings are about."""
    ways = [w for stack in dict.fromkeys(f.stack for f in findings) for w in shown.ways.get((env, stack), ())]
    regions = {w.placed.region for w in ways if any(w.placed.region in re.split("[:/]", f.where) for f in findings)}
    return [w for w in ways if not regions or w.placed.region in regions]


def _never(f: Finding) -> bool:
    return f.detail.startswith(presence.NEVER_DEPLOYED)


def _deploy(ways: Sequence[Way]) -> str:
    return f"cdk deploy -c env={ways[0].placed.env.label} {' '.join(w.placed.id for w in ways)}"


def _before(rekeyed: Sequence[str]) -> str:
    return f"allow what uses {_few(rekeyed)} kms:Decrypt on the stack's key, to which the deploy moves"


def _fix(kind: Kind, about: str, fix: str, tables: int) -> str:
    """In words, of all tables together."""
    if kind is Kind.STACKLESS and tables > 1:
        return f"A deploy of {about} would try to create them, and fail; {live.IMPORT}."
    return f"for each table, such as: {fix}" if tables > 1 else fix


def _says(
    key: _Key, findings: Sequence[Finding], tables: Sequence[str], rows: Sequence[Row], shown: _Shown, command: str
) -> str:
    kind, env, about = key
    many = counted(len(findings), "finding")
    of_tables = f"{counted(len(tables), 'table')}, {many}" if tables else many
    match kind:
        case Kind.BEHIND:
            return f"{about} {_runs(about, env, shown.audit)}: {of_tables}, {_ends(command)}"
        case Kind.KEY:
            stacks = counted(len({f.stack for f in findings}), "stack")
            return f"keys of {stacks} in {env} were never deployed: {of_tables}"
        case Kind.DRIFT:
            return f"{about}: {_labels(findings)} not as deployed, {many}"
        case Kind.STACKLESS:
            words = {g.value for g in (Governance.ORPHAN, Governance.PRE_CDK)}
            state = sorted({w for r in rows for w in r.state.split(", ") if w in words})
            outside = sorted({f.gap.deployed for f in findings if f.gap} or {"not in their stack"})
            which = f" ({', '.join(state)})" if state else ""
            return f"{about}: {counted(len(tables), 'table')} {' or '.join(outside)}{which}, {many}"
        case Kind.GONE:
            never = " was never deployed" if all(_never(f) for f in findings) else ""
            return f"{about}{never}: {of_tables}, declared and not there"
        case Kind.FOREIGN:
            count = counted(len(tables), "table")
            return f"{about} has {count} that the code has not" if about else f"{count} that no declaration has"
        case Kind.UNVISITED:
            are = "is" if len(findings) == 1 else "are"
            return f"{about} was not read: {counted(len(findings), 'stack')} of {env} {are} declared there"
        case Kind.UNREAD:
            return f"{many} unknown, because something could not be read: {findings[0].detail}"
        case Kind.RULE:
            rule = findings[0].rule
            phrase = PHRASES.get(rule, f"{rule.id} fails ({rule.title})")
            return f"{tables[0]}: {phrase}, {many}" if len(tables) == 1 else f"{env or 'all'}: {phrase}: {of_tables}"


def _runs(stack: str, env: str | None, audit: Audit) -> str:
    """Which contract a stack runs, as far as that is known."""
    found = [s.running for s in audit.stacks if (s.stack, s.environment) == (stack, env)]
    if commits := [r.commit for r in found if r.commit]:
        return f"runs the contract of {day(min(c.when for c in commits))}"
    return "runs no reviewed contract" if any(r.nearest for r in found) else "is behind its contract"


def _ends(command: str) -> str:
    return "one deploy" if command else "and no deploy for now"


def _parts(findings: Sequence[Finding]) -> Iterator[str]:
    """What is off, on what and since when: findings of one age stand together, the oldest first."""
    ages: dict[tuple[int, str], list[Finding]] = {}
    for f in findings:
        if f.gap:
            ages.setdefault((-(f.gap.days_intended or 0), f"{f.gap.says}; {f.gap.age}"), []).append(f)
    for (_, age), of in sorted(ages.items(), key=lambda a: a[0]):
        tables = list(dict.fromkeys(f.table for f in of if f.table))
        yield f"{_labels(of)}{f' on {_few(tables)}' if tables else ''}: {age}"
    for f in findings:
        if not f.gap and f.detail:
            yield f"{f.table or f.where}: {f.detail}"


def _labels(findings: Iterable[Finding]) -> str:
    """What the findings are about, in words."""
    rules = dict.fromkeys(f.rule for f in findings)
    *others, last = [r.guard.label if r.guard else f"{r.id} ({r.title})" for r in rules]
    return f"{', '.join(others)}{' and ' if others else ''}{last}"


def _few(tables: Sequence[str]) -> str:
    return tables[0] if len(tables) == 1 else counted(len(tables), "table")
