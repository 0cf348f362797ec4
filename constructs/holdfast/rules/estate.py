"""Estate: what is declared exists, once, where it is declared; what exists is declared; what matters is watched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.catalog import Placed
from holdfast.intrinsics import Unknown
from holdfast.model import Guard, Tier
from holdfast.monitoring import PUBLISHED, Alarm, table_alarms
from holdfast.observed import wanted
from holdfast.rules.base import EXEMPT, PASS, Rule, Severity, Subject, Verdict, fail, unknown
from holdfast.template import AlarmMetric, StackSeen

ABSENT = Rule(
    id="HF201",
    title="Every declared table exists",
    why="A table that drops out of its stack is deleted by the next deploy, or silently left behind without an owner.",
    fix="Restore {table} in {stack}; to retire it on purpose, archive it and then drop its declaration.",
    severity=Severity.CRITICAL,
)
UNDECLARED = Rule(
    id="HF202",
    title="Every table is declared",
    why="A table that nobody declared has no owner, no data class and no required protection: nothing can be said about it.",
    fix="Declare {table} in stacks/, or remove it from {stack}.",
    severity=Severity.HIGH,
)
GLOBAL = Rule(
    id="HF203",
    title="Tables stay tables",
    why="A change from AWS::DynamoDB::Table to GlobalTable deletes the table and makes a new one, and most stock checks do not "
    "look at GlobalTable at all.",
    fix="Use aws_dynamodb.Table for {table}; CloudFormation does not change the type of a resource.",
    severity=Severity.CRITICAL,
)
TWICE = Rule(
    id="HF204",
    title="A table has one stack",
    why="Two stacks that claim one table undo each other's settings, and the deletion of either threatens the data of both.",
    fix="Keep {table} in {stack} and drop it from the other.",
    severity=Severity.HIGH,
)
NAMELESS = Rule(
    id="HF207",
    title="A table's name can be read",
    why="A table whose name is decided at deploy time cannot be matched with its declaration, so nothing about it is certain.",
    fix="Write TableName as plain text in {stack}; the construct does.",
    severity=Severity.HIGH,
)
TERMINATION = Rule(
    id="HF013",
    title="Production stacks refuse to be deleted",
    why="Termination protection makes DeleteStack fail: the last door before every unretained resource is gone.",
    fix="Set termination_protection=True on {stack}; live: aws cloudformation update-termination-protection "
    "--enable-termination-protection --stack-name {stack} --region {region}",
    severity=Severity.HIGH,
)


def alarms(s: Subject) -> Verdict:
    if Guard.ALARMS not in s.required:
        return EXEMPT
    if isinstance(s.seen.watched, Unknown):
        return unknown(f"alarms cannot be read: {s.seen.watched.reason}")
    missing = wanted([i.name for i in s.table.indexes]) - s.seen.watched
    said = sorted(f"{metric} of {index}" if index else metric for index, metric in missing)
    return fail(f"no alarm reads {', '.join(said)}") if said else PASS


ALARMS = Rule(
    id="HF205",
    title="Durable production tables are watched",
    why="Throttling of a table or an index, slow answers and DynamoDB's own errors are seen by customers first where no alarm "
    "reads them.",
    fix="Restore the alarms of {table}: throttles of the table and of each index, latency and system errors.",
    severity=Severity.MEDIUM,
    check=alarms,
)


def sounding(s: Subject) -> Verdict:
    if Guard.ALARMS not in s.required:
        return EXEMPT
    if isinstance(s.seen.alarms, Unknown):
        return unknown(f"alarms cannot be read: {s.seen.alarms.reason}")
    heard = {name: p.get("heard", False) for name, p in s.seen.alarms.items()}
    if mute := sorted(name for name, ears in heard.items() if ears is False):
        return fail(f"no topic of the stack hears {', '.join(mute)}")
    unsure = sorted(name for name, ears in heard.items() if isinstance(ears, Unknown))
    return unknown(f"who hears {', '.join(unsure)} is decided at deploy time") if unsure else PASS


def as_declared(s: Subject) -> Verdict:
    if Guard.ALARMS not in s.required:
        return EXEMPT
    if isinstance(s.seen.alarms, Unknown):
        return unknown(f"alarms cannot be read: {s.seen.alarms.reason}")
    declared = table_alarms(s.table, s.placed.fill(s.table.name))
    changed = [c for alarm in declared for c in changes(alarm, s.seen.alarms.get(alarm.name))]
    return fail(f"not as declared: {', '.join(changed)}") if changed else PASS


def changes(alarm: Alarm, seen: Mapping[str, Any] | None) -> list[str]:
    """What about a declared alarm is missing or different in whatever decides when it goes off."""
    if not seen:
        return [f"{alarm.name} itself"]
    want = alarm.properties("", {})
    return [f"{name} of {alarm.name}" for name in JUDGED if not alike(seen.get(name), want.get(name))]


def alike(a: Any, b: Any) -> bool:
    """Equal as CloudFormation reads it: numbers and booleans may be written as text, and text for text."""
    if a == b and type(a) is type(b):
        return True
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    try:
        return float(a) == float(b)
    except (TypeError, ValueError):
        return str(a).lower() == str(b).lower() if isinstance(a, bool) or isinstance(b, bool) else bool(a == b)


# What decides whether an alarm goes off.
JUDGED = (
    "ComparisonOperator",
    "DatapointsToAlarm",
    "EvaluationPeriods",
    "Metrics",
    "Threshold",
    "TreatMissingData",
)
SOUNDING = Rule(
    id="HF208",
    title="Alarms tell somebody",
    why="An alarm without actions, or with actions disabled, turns red in a console that nobody looks at.",
    fix="Restore AlarmActions of the alarms of {table}: the topic of {stack}.",
    severity=Severity.MEDIUM,
    check=sounding,
)
THRESHOLDS = Rule(
    id="HF209",
    title="Alarms go off when they should",
    why="A threshold that is raised, or a metric that is swapped, silences an alarm as surely as its removal, and looks better.",
    fix="Restore the alarms of {table} as holdfast.monitoring.table_alarms makes them; change them there if that is meant.",
    severity=Severity.MEDIUM,
    check=as_declared,
)
DEAF = Rule(
    id="HF206",
    title="Alarms read metrics that exist",
    why="CloudWatch takes an alarm on any metric and dimensions, and one that is never published never fires: UserErrors has no "
    "TableName, SystemErrors and latency exist per operation only.",
    fix="Use a metric under dimensions that DynamoDB publishes; holdfast.monitoring.PUBLISHED lists them.",
    severity=Severity.MEDIUM,
)


def deaf(metric: AlarmMetric) -> Verdict:
    """Whether an alarm listens to something that is never said."""
    if isinstance(metric.metric, Unknown):
        return unknown(f"the metric cannot be read: {metric.metric.reason}")
    if metric.metric not in PUBLISHED:
        return fail(f"DynamoDB publishes no metric {metric.metric}")
    dimensions = set(metric.dimensions)
    if dimensions in PUBLISHED[metric.metric]:
        return PASS
    return fail(f"DynamoDB publishes no {metric.metric} by {', '.join(sorted(dimensions)) or 'no dimension'}")


PLACE = Rule(
    id="HF210",
    title="Stacks keep their name and their region",
    why="A stack under another name or in another region is a new stack beside the old one: its tables are empty copies, and the "
    "old ones are watched by nobody.",
    fix="Restore the name {stack} and the region {region}; the construct takes both from the declaration.",
    severity=Severity.CRITICAL,
)


def in_place(placed: Placed, stack: StackSeen) -> Verdict:
    if stack.name is not None and stack.name != placed.name:
        return fail(f"it is called {stack.name}, declared is {placed.name}")
    if stack.region is None:
        return unknown("its region is decided at deploy time")
    return PASS if stack.region == placed.region else fail(f"it is in {stack.region}, declared is {placed.region}")


NESTED = Rule(
    id="HF211",
    title="Nothing hides in nested stacks",
    why="What stands in a nested stack is in another template, which was not read.",
    fix="Declare what the nested stack of {stack} holds as a stack of its own.",
    severity=Severity.HIGH,
)


def terminable(tier: Tier, protected: bool | None) -> Verdict:
    if tier is not Tier.PROD or protected is None:
        return EXEMPT
    return PASS if protected else fail("termination protection is off")


RULES = (TERMINATION, ABSENT, UNDECLARED, GLOBAL, TWICE, ALARMS, DEAF, NAMELESS, SOUNDING, THRESHOLDS, PLACE, NESTED)
