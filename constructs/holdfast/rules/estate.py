"""Estate: what is declared exists, once, where it is declared; what exists is declared; what matters is watched."""

from __future__ import annotations

from holdfast.intrinsics import Unknown
from holdfast.model import Guard, Tier
from holdfast.monitoring import PUBLISHED, table_alarms
from holdfast.observed import wanted
from holdfast.rules.base import EXEMPT, PASS, Rule, Severity, Subject, Verdict, fail, unknown
from holdfast.template import AlarmMetric

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
    fix="Use aws_dynamodb.Table for {table}; to move on purpose, orphan the table first and import it again.",
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
    mute = [
        n for n, p in s.seen.alarms.items() if not p.get("AlarmActions") or p.get("ActionsEnabled", True) is not True
    ]
    return fail(f"nobody hears {', '.join(sorted(mute))}") if mute else PASS


def as_declared(s: Subject) -> Verdict:
    if Guard.ALARMS not in s.required:
        return EXEMPT
    if isinstance(s.seen.alarms, Unknown):
        return unknown(f"alarms cannot be read: {s.seen.alarms.reason}")
    changed = []
    for alarm in table_alarms(s.table, s.placed.fill(s.table.name)):
        want = alarm.properties("", {})
        seen = s.seen.alarms.get(alarm.name, want)  # a missing alarm is another rule's finding
        changed += [f"{name} of {alarm.name}" for name in JUDGED if seen.get(name) != want[name]]
    return fail(f"not as declared: {', '.join(changed)}") if changed else PASS


# What decides whether an alarm goes off.
JUDGED = ("ComparisonOperator", "EvaluationPeriods", "Metrics", "Threshold", "TreatMissingData")
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


def terminable(tier: Tier, protected: bool | None) -> Verdict:
    if tier is not Tier.PROD or protected is None:
        return EXEMPT
    return PASS if protected else fail("termination protection is off")


RULES = (TERMINATION, ABSENT, UNDECLARED, GLOBAL, TWICE, ALARMS, DEAF, NAMELESS, SOUNDING, THRESHOLDS)
