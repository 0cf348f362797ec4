"""Shape: keys, indexes, billing and stream are as declared; nothing missing, nothing more."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.intrinsics import Unknown
from holdfast.model import Index, Key
from holdfast.observed import TABLE
from holdfast.rules.base import PASS, Check, Rule, Severity, Verdict, at, fail, unknown
from holdfast.rules.subjects import TableSubject


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
    if seen.projection is declared.projection:
        return None
    return f"projects {seen.projection.value}, declared is {declared.projection.value}"


def billing(s: TableSubject) -> Verdict:
    if isinstance(s.seen.billing, Unknown):
        return unknown(f"billing cannot be read: {s.seen.billing.reason}")
    on_demand = s.seen.billing == "PAY_PER_REQUEST"
    return PASS if on_demand else fail(f"billing is {s.seen.billing}, declared is on demand")


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
    return fail(f"undeclared: {', '.join(sorted(s.seen.extras))}") if s.seen.extras else PASS


def _key(key: Key) -> str:
    return " + ".join(f"{a.name}:{a.kind.value}" for a in key.attributes)


RULES = (
    Rule(
        id="HF102",
        title="A table keeps its name and its primary key",
        why="Neither can be changed in place: another name, another key attribute, another type or a dropped sort key makes "
        "CloudFormation replace the table by a new, empty one, and everything that names the old one breaks.",
        remediation="Restore the name and the key of {table} as declared in stacks/; to change one on purpose, declare a new table "
        "and move the items.",
        severity=Severity.CRITICAL,
        paths=at(TABLE, "TableName", "KeySchema", "AttributeDefinitions"),
        checks=(Check(TableSubject, name), Check(TableSubject, key)),
    ),
    Rule(
        id="HF103",
        title="Indexes, stream and billing mode match the declaration",
        why="A query that names an index that is gone fails at once, one with another key or a smaller projection answers less; to "
        "build it again takes as long as the table is large. An index that is not declared is paid for with every write. A consumer "
        "of a stream that is switched off, or carries another view, stops without an error. Without its billing mode a table has "
        "five units of provisioned capacity, and throttles.",
        remediation="Restore the indexes, the stream and the billing mode of {table} as declared in stacks/. Keys and projections of an "
        "index cannot be changed in place: that takes a new index under a new name.",
        severity=Severity.HIGH,
        controls=("SecurityHub DynamoDB.1",),
        paths=at(TABLE, "BillingMode", "GlobalSecondaryIndexes", "ProvisionedThroughput", "StreamSpecification"),
        checks=(
            Check(TableSubject, missing_indexes),
            Check(TableSubject, undeclared_indexes),
            Check(TableSubject, each_index(index_key)),
            Check(TableSubject, each_index(projection)),
            Check(TableSubject, stream),
            Check(TableSubject, billing),
        ),
    ),
    Rule(
        id="HF109",
        title="No setting is undeclared",
        why="A resource policy can open a table to strangers, a local index can never be removed again, a Kinesis stream copies "
        "every item elsewhere: none of these can be declared, so none of them is meant.",
        remediation="Remove the setting from {table}; teach the declaration and the construct about it if it is meant.",
        severity=Severity.HIGH,
        audited=True,
        paths=at(
            TABLE,
            "ContributorInsightsSpecification",
            "ImportSourceSpecification",
            "KinesisStreamSpecification",
            "LocalSecondaryIndexes",
            "OnDemandThroughput",
            "ResourcePolicy",
            "TableClass",
            "WarmThroughput",
        ),
        checks=(Check(TableSubject, extras),),
    ),
)
