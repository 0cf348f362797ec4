"""What only an account shows: which tables live, in which stack, what they hold, and what names them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from holdfast.estate.placement import Placed
from holdfast.kinds.table.declaration import (
    Governance,
    Index,
    Key,
    Table,
    Usage,
)
from holdfast.kinds.table.live import observed
from holdfast.kinds.table.observed import Observed
from holdfast.model.environment import Aspect
from holdfast.rules.assumed import key_line
from holdfast.rules.base import Rule, Severity
from holdfast.shared.account import IndexUse, StoreSeen
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Outcome, Verdict, fail, unknown

WINDOW_DAYS = 30  # over which reads of an index are counted
IMPORT = "bringing it under code needs an import together with its key"
# What the audit says instead of a rule's own words, where it knows more.
NOT_YET = "If the stack is not meant to run here yet, say undeployed=(…) in its declaration"
RESTORE = (
    "Restore {table} under its name from its last backup or recovery point: the template has it, so a deploy does not make it "
    "again"
)
RETIRED = frozenset({Usage.LEGACY, Usage.DEAD, Usage.DUPLICATE})

ABSENT = Rule(
    id="HF601",
    title="Declared tables are live",
    why="Code that names a table which is not there fails at its first call, and a table that is gone while "
    "its declaration stands was deleted by mistake.",
    remediation="If {table} was there before, restore it under its name from its last backup or recovery point; if DynamoDB may not use "
    "its key, enable the key. If it never was, a deploy makes it, unless something stands against that; the finding says which.",
    severity=Severity.CRITICAL,
)
ORPHAN = Rule(
    id="HF602",
    title="Live tables are declared",
    why="A table that is not declared has no owner, no data class and no required protection. Most of them outlived a stack "
    "that was deleted, and hold data that may be missed.",
    remediation="Declare {table} in stacks/, or archive it and then delete it. A declaration alone does not take it in: a deploy would try "
    f"to create it, which exists, and fail; {IMPORT}.",
    severity=Severity.HIGH,
)
UNCODED = Rule(
    id="HF603",
    title="Tables of a stack are in the code",
    why="The deployed template still has the table and the code has not: the next deploy of that stack deletes it, or leaves "
    "it behind without an owner.",
    remediation="Declare {table} in stacks/ again before {stack} is deployed; to retire it, archive it first.",
    severity=Severity.HIGH,
)
STACKLESS = Rule(
    id="HF604",
    title="Declared tables live in their stack",
    why="A table outside its stack gets none of what a deploy brings: no alarms, no tags, no corrected settings. A deploy of "
    "the stack would try to make the table anew and fail, because the name is taken.",
    remediation="A deploy of {stack} would try to create {table}, which exists, and fail; " + IMPORT + ".",
    severity=Severity.MEDIUM,
)
RETIRING = Rule(
    id="HF605",
    title="Retired tables are archived",
    why="A table that was replaced, or is not needed, is still paid for, still holds data, and still can be read by "
    "mistake.",
    remediation="Follow the archive gates for {table}: find its readers, keep a restorable copy, deny reads for a while, then delete.",
    severity=Severity.LOW,
)
SUPERSEDED = Rule(
    id="HF606",
    title="A replaced table holds no more than its successor",
    why="The table that was replaced has more items than the one that replaces it: the data was never moved, and cleaning up "
    "the old table would lose it.",
    remediation="Move the items of {table} to its successor and compare the counts, before anything of {stack} is deployed or cleaned "
    "up.",
    severity=Severity.HIGH,
)
TWINS = Rule(
    id="HF607",
    title="An environment mirrors its twin",
    why="What was tried in test says something about prod only where both are alike. Protection may differ, as the policy says; "
    "keys, indexes, billing, TTL and streams may not.",
    remediation="Bring the one that is behind up to the declaration of {table}; the other rules say of each difference what that takes.",
    severity=Severity.MEDIUM,
)
INDEX = Rule(
    id="HF608",
    title="Indexes hold something and are read",
    why="An index that items enter costs a write for each write and a copy of what it projects, whether it is read or not. An "
    "empty one costs nothing, but shows that its key attributes are never written: queries on it find nothing.",
    remediation="Find out who queries the index; without a reader take it out of indexes=(…) of {table}. Deleting is one index per "
    "update, and building it again takes as long as the table is large.",
    severity=Severity.LOW,
)
PHANTOM = Rule(
    id="HF609",
    title="What runs names tables that exist",
    why="A function, mapping or policy that names a table which does not exist fails when it gets there, or grants a right on the next table of that name.",
    remediation="Correct the name, or remove the reference if its feature is gone.",
    severity=Severity.MEDIUM,
)
ASTRAY = Rule(
    id="HF610",
    title="What runs stays in its environment",
    why="Production code that names a test table reads test data and writes customers' data where nothing protects it, and the "
    "other way round it is worse.",
    remediation="Take the table's name from the environment of the deployment instead of writing it down.",
    severity=Severity.HIGH,
)
LEGACY_USED = Rule(
    id="HF611",
    title="Nothing names a retired table",
    why="A table that was replaced cannot be archived while something names it, and what is read from it is out of date.",
    remediation="Point it to the table that replaces {table}, or retire what names it; then watch for reads.",
    severity=Severity.MEDIUM,
)
HARD_CODED = Rule(
    id="HF612",
    title="Code takes table names from its environment",
    why="A name or an ARN that is written down in code is right in one environment only, is found by no reference scan of "
    "the account, and keeps a table from being replaced.",
    remediation="Pass the name of {table} as a variable of the deployment.",
    severity=Severity.LOW,
)
ASSUMED = Rule(
    id="HF613",
    title="Assumed facts are true",
    why="No source gives these facts, so they were chosen. The live table shows what is true, and a deploy of a wrong guess at a "
    "key replaces the table.",
    remediation="Correct the declaration of {table} as shown, and delete assumed=.",
    severity=Severity.HIGH,
)
UNREAD = Rule(
    id="HF614",
    title="Everything could be read",
    why="What cannot be read can be neither fine nor wrong. A refused call hides whatever is behind it.",
    remediation="Allow the action that is named (`holdfast iam audit` prints the whole policy), or run again if it was a passing fault.",
    severity=Severity.MEDIUM,
)
BEHIND = Rule(
    id="HF615",
    title="The deployed template says what is live",
    why="The live table is as intended, but CloudFormation's template is not: the next rollback, import or replacement works "
    "from the template and takes the setting away again.",
    remediation="A deploy of {stack} brings the template up to what the code says and the table already is, unless something stands "
    "against that; the finding says which.",
    severity=Severity.MEDIUM,
)
UNDEPLOYED = Rule(
    id="HF616",
    title="Declared stacks are deployed",
    why="A stack that was declared and never deployed protects nothing, however right its template is.",
    remediation="A deploy makes {stack}, unless something stands against that; the finding says which. "
    + NOT_YET
    + ".",
    severity=Severity.HIGH,
)
STRANGER = Rule(
    id="HF617",
    title="Stores with our tags are declared",
    why="A database, cache, broker or bucket with the tags of our stacks was made by them or copied from them, and holds "
    "their data, but nothing requires its protection. Stores without our tags belong to others and are not looked at.",
    remediation="Declare {table}; if it was left behind, archive what it holds and remove it, or take the tags off what is not ours.",
    severity=Severity.LOW,
)

RULES = (
    ABSENT,
    ORPHAN,
    UNCODED,
    STACKLESS,
    RETIRING,
    SUPERSEDED,
    TWINS,
    INDEX,
    PHANTOM,
    ASTRAY,
    LEGACY_USED,
    HARD_CODED,
    ASSUMED,
    UNREAD,
    BEHIND,
    UNDEPLOYED,
    STRANGER,
)


def retiring(placed: Placed, table: Table, live: StoreSeen) -> Verdict:
    state = table.state
    if state.usage not in RETIRED:
        return PASS
    parts = [f"{state.usage.value}, holds {holds(live)}"]
    parts += [f"replaced by {placed.fill(state.replaced_by)}"] if state.replaced_by else []
    parts += [f"archive phase {state.archive_phase}"] if state.archive_phase else []
    return fail(", ".join(parts))


def superseded(placed: Placed, table: Table, live: StoreSeen, successor: StoreSeen | Unknown | None) -> Verdict:
    if table.state.replaced_by is None or table.state.usage is not Usage.DUPLICATE:
        return EXEMPT
    new = placed.fill(table.state.replaced_by)
    if successor is None:
        return fail(f"its successor {new} is not live, and it holds {holds(live)}")
    counts = [live.items, successor.items if isinstance(successor, StoreSeen) else successor]
    for count in counts:
        if isinstance(count, Unknown):
            return unknown(f"items of it or of {new} cannot be counted: {count.reason}")
    old_items, new_items = counts
    if old_items > new_items:  # type: ignore[operator]  # neither is Unknown here
        return fail(f"it holds {_count(old_items, 'item')}, its successor {new} holds {new_items}")
    return PASS


def index_value(index: str, use: IndexUse, live: StoreSeen, *, of: int, days_old: int | None) -> Verdict:
    """What one index ``of`` so many is worth: an empty one, or one that is not read, fails."""
    indexes = observed(live).indexes
    seen = None if isinstance(indexes, Unknown) else indexes.get(index)
    projection = seen.projection.value if isinstance(seen, Index) else "an unknown projection"
    says = f"{index}: {_count(use.items, 'item')}, {size(use.size)}, {_reads(use.reads)}, projects {projection}"
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
    if use.reads > 0:
        return Verdict(Outcome.PASS, says)
    if days_old is None or days_old < WINDOW_DAYS:
        return Verdict(Outcome.EXEMPT, f"{says}; the table is too young to say that it is not read")
    saved = f"Deleting it saves {size(use.size)} and up to one write in {1 + of}"
    return fail(f"{says}; it is not read. {saved}; {cost}")


def twins(
    one: Observed, other: Observed, labels: tuple[str, str], allowed: Collection[Aspect] = frozenset()
) -> Verdict:
    """Whether two environments' copies of a table are alike in what is not ``allowed`` to differ."""
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


def governed(governance: Governance) -> str:
    return {Governance.ORPHAN: "its stack was deleted", Governance.PRE_CDK: "it is older than any stack"}.get(
        governance, "no stack has it"
    )


def _count(number: int | float | Unknown, one: str, many: str | None = None) -> str:
    if isinstance(number, Unknown):
        return f"an unknown number of {many or one + 's'}"
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _reads(reads: float | Unknown) -> str:
    return "unknown reads" if isinstance(reads, Unknown) else f"{reads:,.0f} read units in {WINDOW_DAYS} days"


def _show(value: object) -> str:
    return key_line(value) if isinstance(value, Key) else str(value or "off")
