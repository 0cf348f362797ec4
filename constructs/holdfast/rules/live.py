"""Live tables: they are in their stack as its template says, hold what they should, and are alike in every environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from holdfast.days import day, days
from holdfast.kinds.table.declaration import Governance, Index, Key, Usage
from holdfast.kinds.table.live import observed
from holdfast.model.environment import Aspect
from holdfast.model.facts import Guard
from holdfast.policy.required import MAX_RECOVERY_DAYS
from holdfast.rules.assumed import key_line
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.subjects import LiveIndex, LiveTable, Twins
from holdfast.rules.use import RETIRED, number, used
from holdfast.shared.account import Account, StoreSeen, Units
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Outcome, Verdict, fail, unknown

LISTED_DAYS = 90  # after its deletion a stack is listed for so long
WINDOW_DAYS = 30  # over which reads of an index are counted
IMPORT = "bringing it under code needs an import together with its key"


def behind(s: LiveTable) -> Verdict:
    """Whether the template lags behind a table that is as intended."""
    if s.then is None:
        return EXEMPT
    if isinstance(s.then, Unknown):
        return unknown(f"what is deployed cannot be read: {s.then.reason}")
    said = {outcome: [v.detail for v in s.then if v.outcome is outcome] for outcome in Outcome}
    if said[Outcome.FAIL]:
        return fail(f"live as intended, but in the deployed template {'; '.join(said[Outcome.FAIL])}")
    return unknown("; ".join(said[Outcome.UNKNOWN])) if said[Outcome.UNKNOWN] else PASS


def in_its_stack(s: LiveTable) -> Verdict:
    return fail(s.outside) if s.then is None else PASS


def reaches_back(s: LiveTable) -> Verdict:
    """Whether recovery reaches back as far as it is asked to, or to the day on which the table was made."""
    since, made = s.live.restorable, s.live.created
    if Guard.PITR not in s.placed.required(s.table) or since is None:
        return EXEMPT  # that recovery is off is another rule's finding
    for part in (since, made):
        if isinstance(part, Unknown):
            return unknown(f"how far recovery reaches back cannot be read: {part.reason}")
    assert isinstance(since, datetime)
    assert isinstance(made, datetime)
    period = observed(s.live).recovery_days  # that this is too short is another rule's finding, too
    wanted = min(s.placed.recovery_days(s.table), period if isinstance(period, int) else MAX_RECOVERY_DAYS)
    if (there := days(since, s.now)) + 1 >= min(wanted, days(made, s.now)):  # the day on which it is on counts
        return PASS
    when = f"{since.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return fail(
        f"recovery is on, and reaches back {there} of {wanted} days, to {when}: it was off before that, though the table "
        f"is there since {day(made)}. It reaches back {wanted} days from {day(since) + timedelta(days=wanted)} on"
    )


def retiring(s: LiveTable) -> Verdict:
    state = s.table.state
    if state.usage not in RETIRED:
        return PASS
    parts = [f"{state.usage.value}, holds {holds(s.live)}", used(s.live)]
    parts += [f"replaced by {s.placed.fill(state.replaced_by)}"] if state.replaced_by else []
    parts += [f"archive phase {state.archive_phase}"] if state.archive_phase else []
    return fail(", ".join(parts))


def superseded(s: LiveTable) -> Verdict:
    state, successor = s.table.state, s.successor
    if state.replaced_by is None or state.usage is not Usage.DUPLICATE:
        return EXEMPT
    new = s.placed.fill(state.replaced_by)
    if successor is None:
        return fail(f"its successor {new} is not live, and it holds {holds(s.live)}")
    counts = [s.live.items, successor.items if isinstance(successor, StoreSeen) else successor]
    for count in counts:
        if isinstance(count, Unknown):
            return unknown(f"items of it or of {new} cannot be counted: {count.reason}")
    old_items, new_items = counts
    if old_items > new_items:  # type: ignore[operator]  # neither is Unknown here
        return fail(f"it holds {_count(old_items, 'item')}, its successor {new} holds {new_items}")
    return PASS


def worth(s: LiveIndex) -> Verdict:
    """What one index of a table is worth: an empty one, or one that is not read, fails."""
    use, live = s.use, s.live
    if isinstance(use, Unknown):
        return unknown(f"indexes cannot be read: {use.reason}")
    indexes, of = observed(live).indexes, s.of
    seen = None if isinstance(indexes, Unknown) else indexes.get(s.name)
    projection = seen.projection.value if isinstance(seen, Index) else "an unknown projection"
    says = f"{s.name}: {_count(use.items, 'item')}, {size(use.size)}, {_reads(use.reads)}, projects {projection}"
    cost = f"a new item is written up to {1 + of} times with {_count(of, 'index', 'indexes')}"
    if isinstance(use.items, Unknown) or isinstance(live.items, Unknown):
        return unknown(f"{says}: it cannot be counted")
    if use.status != "ACTIVE":
        return Verdict(Outcome.EXEMPT, f"{says}: it is {use.status}, so neither is final")
    if live.items == 0:
        return Verdict(Outcome.EXEMPT, f"{says}: the table is empty")
    if use.items == 0:
        return fail(f"{says}; empty, so no query on it finds anything. Deleting it saves no writes; {cost}")
    if isinstance(use.reads, Unknown):
        return unknown(f"{says}: {use.reads.reason}")
    if use.reads.month > 0:
        return Verdict(Outcome.PASS, says)
    if s.days_old is None or s.days_old < WINDOW_DAYS:
        return Verdict(Outcome.EXEMPT, f"{says}; the table is too young to say that it is not read")
    saved = f"Deleting it saves {size(use.size)} and up to one write in {1 + of}"
    return fail(f"{says}; it is not read. {saved}; {cost}")


def twins(s: Twins) -> Verdict:
    """Whether two environments' copies of a table are alike in what may not differ."""
    one, other, labels, allowed = s.one, s.other, s.labels, s.allowed
    parts, unread = [], []
    for what, a, b in (
        (Aspect.KEY, one.key, other.key),
        (Aspect.BILLING, one.billing, other.billing),
        (Aspect.EXPIRY, one.ttl, other.ttl),
        (Aspect.STREAM, one.stream, other.stream),
    ):
        if what in allowed:
            continue
        if isinstance(a, Unknown) or isinstance(b, Unknown):
            unread.append(what.value)
        elif a != b:
            parts.append(f"{what.value} is {_show(a)} in {labels[0]} and {_show(b)} in {labels[1]}")
    if Aspect.INDEXES in allowed:
        pass
    else:
        for here, there in ((one.indexes, other.indexes), (one.local_indexes, other.local_indexes)):
            if isinstance(here, Unknown) or isinstance(there, Unknown):
                unread.append(Aspect.INDEXES.value)
            else:
                parts += _indexes_differ(here, there, labels)
    if parts:
        return fail("; ".join(parts))
    return unknown(f"{', '.join(dict.fromkeys(unread))} cannot be compared") if unread else PASS


def _indexes_differ(
    one: Mapping[str, Index | Unknown], other: Mapping[str, Index | Unknown], labels: tuple[str, str]
) -> Iterator[str]:
    for here, there, label in ((one, other, labels[0]), (other, one, labels[1])):
        if only := sorted(set(here) - set(there)):
            yield f"only {label} has {', '.join(only)}"
    for name in sorted(set(one) & set(other)):
        a, b = one[name], other[name]
        if not isinstance(a, Unknown) and not isinstance(b, Unknown) and a != b:
            yield f"{name} differs"


STACKLESS = Rule(
    id="HF604",
    title="Declared tables live in their stack",
    why="A table outside its stack gets none of what a deploy brings: no alarms, no tags, no corrected settings. A deploy of "
    "the stack would try to make the table anew and fail, because the name is taken.",
    remediation="A deploy of {stack} would try to create {table}, which exists, and fail; " + IMPORT + ".",
    severity=Severity.MEDIUM,
    checks=(Check(LiveTable, in_its_stack),),
)
RETIRING = Rule(
    id="HF605",
    title="Retired tables are archived",
    why="A table that was replaced, or is not needed, is still paid for, still holds data, and still can be read by "
    "mistake.",
    remediation="Follow the archive gates for {table}: find its readers, keep a restorable copy, deny reads for a while, then delete.",
    severity=Severity.LOW,
    checks=(Check(LiveTable, retiring),),
)
SUPERSEDED = Rule(
    id="HF606",
    title="A replaced table holds no more than its successor",
    why="The table that was replaced has more items than the one that replaces it: the data was never moved, and cleaning up "
    "the old table would lose it.",
    remediation="Move the items of {table} to its successor and compare the counts, before anything of {stack} is deployed or cleaned "
    "up.",
    severity=Severity.HIGH,
    checks=(Check(LiveTable, superseded),),
)
REACHES_BACK = Rule(
    id="HF619",
    title="Recovery reaches back as far as it is asked to",
    why="Recovery that is switched off loses every day before, and does not bring them back when it is on again. The setting then "
    "looks as it always did, and a restore to last week is refused.",
    remediation="No call brings the lost days back: make an on-demand backup of {table} now, and find out "
    "who switched recovery off: CloudTrail has UpdateContinuousBackups.",
    severity=Severity.MEDIUM,
    checks=(Check(LiveTable, reaches_back),),
)
TWINS = Rule(
    id="HF607",
    title="An environment mirrors its twin",
    why="What was tried in test says something about prod only where both are alike. Protection may differ, as the policy says; "
    "keys, indexes, billing, TTL and streams may not.",
    remediation="Bring the one that is behind up to the declaration of {table}; the other rules say of each difference what that takes.",
    severity=Severity.MEDIUM,
    checks=(Check(Twins, twins),),
)
INDEX = Rule(
    id="HF608",
    title="Indexes hold something and are read",
    why="An index that items enter costs a write for each write and a copy of what it projects, whether it is read or not. An "
    "empty one costs nothing, but shows that its key attributes are never written: queries on it find nothing.",
    remediation="Find out who queries the index; without a reader take it out of indexes=(…) of {table}. Deleting is one index per "
    "update, and building it again takes as long as the table is large.",
    severity=Severity.LOW,
    checks=(Check(LiveIndex, worth),),
)
BEHIND = Rule(
    id="HF615",
    title="The deployed template says what is live",
    why="The live table is as intended, but CloudFormation's template is not: the next rollback, import or replacement works "
    "from the template and takes the setting away again.",
    remediation="A deploy of {stack} brings the template up to what the code says and the table already is, unless something stands "
    "against that; the finding says which.",
    severity=Severity.MEDIUM,
    checks=(Check(LiveTable, behind),),
)
RULES = (STACKLESS, REACHES_BACK, RETIRING, SUPERSEDED, TWINS, INDEX, BEHIND)

# Words


def holds(live: StoreSeen) -> str:
    return f"{_count(live.items, 'item')}, {size(live.size)}"


def size(count: int | Unknown) -> str:
    if isinstance(count, Unknown):
        return "an unknown size"
    for unit, bytes_ in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= bytes_:
            return f"{count / bytes_:.1f} {unit}".replace(".0 ", " ")
    return f"{count} bytes"


def left_behind(owner: str, account: Account | None) -> str:
    """What can be known of a stack that a table's own tag names, and that does not have the table any longer."""
    if account is None:
        return f"its tag names {owner}"
    deleted, stacks = account.deleted, account.stacks
    if not isinstance(deleted, Unknown) and owner in deleted:
        return f"{owner} was deleted on {day(deleted[owner])} and left it behind"
    if isinstance(stacks, Unknown):
        return f"{owner} made it, as its tag says; whether that stack is there cannot be read: {stacks.reason}"
    if owner in stacks:
        seen = stacks[owner].seen
        unread = f"that template cannot be read: {seen.reason}" if isinstance(seen, Unknown) else ""
        return f"its tag names {owner}, {unread or f'but the template of {owner} does not contain it'}"
    if isinstance(deleted, Unknown):
        return f"{owner} made it, as its tag says, and was deleted; when cannot be read: {deleted.reason}"
    return (
        f"{owner} made it, as its tag says, and was deleted more than {LISTED_DAYS} days ago: when cannot be known, "
        "because CloudFormation lists a deleted stack no longer than that"
    )


def governed(governance: Governance) -> str:
    return {Governance.ORPHAN: "its stack was deleted", Governance.PRE_CDK: "it is older than any stack"}.get(
        governance, "no stack has it"
    )


def _count(number: int | float | Unknown, one: str, many: str | None = None) -> str:
    if isinstance(number, Unknown):
        return f"an unknown number of {many or one + 's'}"
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _reads(reads: Units | Unknown) -> str:
    return "unknown reads" if isinstance(reads, Unknown) else f"{number(reads.month)} read units in {WINDOW_DAYS} days"


def _show(value: object) -> str:
    return key_line(value) if isinstance(value, Key) else str(value or "off")
