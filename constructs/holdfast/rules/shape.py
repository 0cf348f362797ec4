"""Shape: keys, indexes, billing and stream are as declared; nothing missing, nothing more."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.cfn.alike import alike
from holdfast.cfn.places import at
from holdfast.cfn.template import Source
from holdfast.kinds.table.declaration import Index, Key, Projection, Provisioned
from holdfast.kinds.table.observed import TABLE
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.subjects import TableSubject
from holdfast.shared.access_policy import filled, same_policy
from holdfast.unknown import Unknown
from holdfast.verdict import PASS, Verdict, fail, unknown

AUTOSCALING = "AWS::ApplicationAutoScaling::ScalableTarget"
# What an account shows of the settings that extra= may name; the rest takes calls that the audit does not make.
SHOWN = frozenset({"OnDemandThroughput", "ResourcePolicy", "TableClass"})
FOR_GOOD = "a local index is made with its table and lasts as long: that takes a new table, and a copy of the items"


def name(s: TableSubject) -> Verdict:
    want = s.placed.fill(s.table.name)
    if isinstance(s.seen.name, Unknown):
        return unknown(f"its name cannot be read: {s.seen.name.reason}")
    return PASS if s.seen.name == want else fail(f"it is called {s.seen.name}, declared is {want}")


def key(s: TableSubject) -> Verdict:
    if isinstance(s.seen.key, Unknown):
        return unknown(f"the key cannot be read: {s.seen.key.reason}")
    same = s.seen.key == s.table.key
    return PASS if same else fail(f"the key is {_key(s.seen.key)}, declared is {_key(s.table.key)}")


def missing_indexes(s: TableSubject) -> Verdict:
    if isinstance(s.seen.indexes, Unknown):
        return unknown(f"indexes cannot be read: {s.seen.indexes.reason}")
    missing = [i.name for i in s.table.indexes if i.name not in s.seen.indexes]
    return fail(f"missing: {', '.join(missing)}") if missing else PASS


def local_indexes(s: TableSubject) -> Verdict:
    """Whether the local indexes are the declared ones: none can be added, changed or removed later."""
    if isinstance(s.seen.local_indexes, Unknown):
        return unknown(f"local indexes cannot be read: {s.seen.local_indexes.reason}")
    declared = {i.name: i for i in s.table.every_index[len(s.table.indexes) :]}
    wrong, unread = [], []
    for name in sorted(declared.keys() | s.seen.local_indexes.keys()):
        seen, want = s.seen.local_indexes.get(name), declared.get(name)
        if isinstance(seen, Unknown):
            unread.append(f"{name}: {seen.reason}")
        elif seen is None or want is None:
            wrong.append(f"{name} is {'missing' if seen is None else 'undeclared'}")
        elif difference := index_key(seen, want) or projection(seen, want):
            wrong.append(f"{name} {difference}")
    if wrong:
        return fail(f"local index {'; '.join(wrong)} ({FOR_GOOD})")
    return unknown("; ".join(unread)) if unread else PASS


def undeclared_indexes(s: TableSubject) -> Verdict:
    if isinstance(s.seen.indexes, Unknown):
        return unknown(f"indexes cannot be read: {s.seen.indexes.reason}")
    extra = sorted(set(s.seen.indexes) - {i.name for i in s.table.indexes})
    return fail(f"undeclared: {', '.join(extra)}") if extra else PASS


def each_index(differs: Callable[[Index, Index], str | None]) -> Callable[[TableSubject], Verdict]:
    """A check of every index that is both declared and seen; the others are other rules' findings."""

    def check(s: TableSubject) -> Verdict:
        if isinstance(s.seen.indexes, Unknown):
            return unknown(f"indexes cannot be read: {s.seen.indexes.reason}")
        wrong, unread = [], []
        for declared in s.table.indexes:
            seen = s.seen.indexes.get(declared.name, declared)
            if isinstance(seen, Unknown):
                unread.append(f"{declared.name}: {seen.reason}")
            elif difference := differs(seen, declared):
                wrong.append(f"{declared.name} {difference}")
        if wrong:
            return fail("; ".join(wrong))
        return unknown("; ".join(unread)) if unread else PASS

    return check


def index_key(seen: Index, declared: Index) -> str | None:
    return None if seen.key == declared.key else f"is keyed {_key(seen.key)}, declared is {_key(declared.key)}"


def projection(seen: Index, declared: Index) -> str | None:
    if (seen.projection, seen.include) == (declared.projection, declared.include):
        return None
    return f"projects {_projected(seen)}, declared is {_projected(declared)}"


def _projected(index: Index) -> str:
    included = f" {', '.join(index.include)}" if index.projection is Projection.INCLUDE else ""
    return f"{index.projection.value}{included}"


def billing(s: TableSubject) -> Verdict:
    if isinstance(s.seen.billing, Unknown):
        return unknown(f"billing cannot be read: {s.seen.billing.reason}")
    on_demand, declared = s.seen.billing == "PAY_PER_REQUEST", s.table.billing
    if on_demand == (declared is None):
        return PASS
    return fail(f"billing is {s.seen.billing}, declared is {_capacity(declared)}")


def capacity(s: TableSubject) -> Verdict:
    """Whether the provisioned capacity is the declared one; what scales by itself is so in the template only."""
    scaled = s.seen.source is Source.LIVE and AUTOSCALING in s.placed.stack.extras
    if s.table.billing is None or s.seen.billing == "PAY_PER_REQUEST" or scaled:
        return PASS  # another mode is a finding already
    if isinstance(s.seen.capacity, Unknown):
        return unknown(f"the capacity cannot be read: {s.seen.capacity.reason}")
    parts: list[tuple[str, Provisioned | None, Provisioned | None]] = [("", s.seen.capacity, s.table.capacity())]
    for index in s.table.indexes:
        seen = {} if isinstance(s.seen.indexes, Unknown) else s.seen.indexes
        if isinstance(found := seen.get(index.name), Index):  # what is missing or unread is another rule's finding
            parts.append((f"of {index.name} ", found.billing, s.table.capacity(index)))
    wrong = [
        f"the capacity {of}is {_capacity(have)}, declared is {_capacity(want)}"
        for of, have, want in parts
        if have != want
    ]
    return fail("; ".join(wrong)) if wrong else PASS


def _capacity(capacity: Provisioned | None) -> str:
    return f"{capacity.read} read and {capacity.write} write units" if capacity else "on demand"


def stream(s: TableSubject) -> Verdict:
    declared = s.table.stream
    want = declared.view.value if declared and not declared.pending else None
    if isinstance(s.seen.stream, Unknown):
        return unknown(f"the stream cannot be read: {s.seen.stream.reason}")
    return (
        PASS if s.seen.stream == want else fail(f"the stream is {s.seen.stream or 'off'}, declared is {want or 'off'}")
    )


def extras(s: TableSubject) -> Verdict:
    if isinstance(s.seen.extras, Unknown):
        return unknown(f"settings cannot be read: {s.seen.extras.reason}")
    declared = s.table.extra.properties if s.table.extra else {}
    problems = [f"undeclared: {', '.join(sorted(more))}"] if (more := s.seen.extras.keys() - declared.keys()) else []
    live = s.seen.source is Source.LIVE
    for name, value in declared.items():
        if name in s.seen.extras:
            same = _same(s, s.seen.extras[name], value)
            problems += [] if same else [f"{name} is not as declared in extra="]
        elif not live or name in SHOWN:
            problems.append(f"{name} is missing, and declared in extra=")
    return fail("; ".join(problems)) if problems else PASS


def _same(s: TableSubject, seen: object, declared: object) -> bool:
    """Whether a setting is as declared; a live one speaks of the account and the region where a template refers."""
    if s.seen.source is not Source.LIVE:
        return alike(seen, declared)
    match seen, filled(declared, s.seen.where.split(":")[4], s.placed.region):
        case {"PolicyDocument": dict() as have}, {"PolicyDocument": dict() as want}:
            return same_policy(have, want, "") == PASS
        case have, want:
            return alike(have, want)


def _key(key: Key) -> str:
    return " + ".join(f"{a.name}:{a.kind.value}" for a in key.attributes)


NAMED_AND_KEYED = Rule(
    id="HF102",
    title="The table name and the primary key match the declaration",
    why="Neither can be changed in place: another name, another key attribute, another type or a dropped sort key makes "
    "CloudFormation replace the table by a new, empty one, and everything that names the old one breaks.",
    remediation="Restore the name and the key of {table} as declared in stacks/; to change one on purpose, declare a new table "
    "and move the items.",
    severity=Severity.CRITICAL,
    paths=at(TABLE, "TableName", "KeySchema", "AttributeDefinitions"),
    checks=(Check(TableSubject, name), Check(TableSubject, key)),
)
SHAPED = Rule(
    id="HF103",
    title="Indexes, stream and billing mode match the declaration",
    why="A query that names an index that is gone fails at once, one with another key or a smaller projection answers less; to "
    "build it again takes as long as the table is large. An index that is not declared is paid for with every write. A local "
    "index can be neither added to a table nor removed from it. A consumer of a stream that is switched off, or carries another "
    "view, stops without an error. Without its billing mode a table has five units of provisioned capacity, and throttles; so does "
    "one whose declared capacity is lowered.",
    remediation="Restore the indexes, the stream and the billing of {table} as declared in stacks/. Keys and projections of an index "
    "cannot be changed in place: that takes a new index under a new name, and of local indexes a new table.",
    severity=Severity.HIGH,
    controls=("SecurityHub DynamoDB.1",),
    paths=at(
        TABLE,
        "BillingMode",
        "GlobalSecondaryIndexes",
        "LocalSecondaryIndexes",
        "ProvisionedThroughput",
        "StreamSpecification",
    ),
    checks=(
        Check(TableSubject, missing_indexes),
        Check(TableSubject, undeclared_indexes),
        Check(TableSubject, each_index(index_key)),
        Check(TableSubject, each_index(projection)),
        Check(TableSubject, local_indexes),
        Check(TableSubject, stream),
        Check(TableSubject, billing),
        Check(TableSubject, capacity),
    ),
)
SETTINGS = Rule(
    id="HF109",
    title="Tables have declared settings only",
    why="A resource policy can open a table to other accounts, a Kinesis stream copies every item elsewhere, another table class has "
    "other prices: what is not declared is not meant.",
    remediation="Remove the setting from {table}; if it is meant, declare it with its value and the reason in extra= of the table.",
    severity=Severity.HIGH,
    audited=True,
    paths=at(
        TABLE,
        "ContributorInsightsSpecification",
        "ImportSourceSpecification",
        "KinesisStreamSpecification",
        "OnDemandThroughput",
        "ResourcePolicy",
        "TableClass",
        "WarmThroughput",
    ),
    checks=(Check(TableSubject, extras),),
)
RULES = (NAMED_AND_KEYED, SHAPED, SETTINGS)
