"""Alarms: what matters is watched, by metrics that exist, and its alarms have an action."""

from __future__ import annotations

from holdfast.cfn.places import at
from holdfast.cfn.template import AlarmMetric, notifies_topic
from holdfast.cfn.types import ALARM
from holdfast.kinds.base import StoreSubject
from holdfast.kinds.table.alarms import PUBLISHED, failure_queue, processor_alarms, table_alarms
from holdfast.kinds.table.observed import wanted
from holdfast.model.facts import Guard
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.every_store import watched
from holdfast.rules.resources import SUBSCRIPTION, told
from holdfast.rules.subjects import Consumer, Resource, StackSubject, TableSubject
from holdfast.shared.account import Aspect
from holdfast.shared.alarms.alarm import JUDGED, changes
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Verdict, fail, unknown


def missing(s: TableSubject) -> Verdict:
    if Guard.ALARMS not in s.required:
        return EXEMPT
    if isinstance(s.seen.watched, Unknown):
        return unknown(f"alarms cannot be read: {s.seen.watched.reason}")
    unread = wanted([i.name for i in s.table.indexes]) - s.seen.watched
    said = sorted(f"{metric} of {index}" if index else metric for index, metric in unread)
    return fail(f"no alarm reads {', '.join(said)}") if said else PASS


def notifies(s: TableSubject) -> Verdict:
    if Guard.ALARMS not in s.required:
        return EXEMPT
    if isinstance(s.seen.alarms, Unknown):
        return unknown(f"alarms cannot be read: {s.seen.alarms.reason}")
    told = {name: p.get("notifies", False) for name, p in s.seen.alarms.items()}
    if mute := sorted(name for name, notified in told.items() if notified is False):
        return fail(f"{', '.join(mute)}: no action publishes to a topic of the stack")
    unsure = sorted(name for name, notified in told.items() if isinstance(notified, Unknown))
    return unknown(f"whom {', '.join(unsure)} notifies is decided at deploy time") if unsure else PASS


def as_declared(s: TableSubject) -> Verdict:
    if Guard.ALARMS not in s.required:
        return EXEMPT
    if isinstance(s.seen.alarms, Unknown):
        return unknown(f"alarms cannot be read: {s.seen.alarms.reason}")
    declared = table_alarms(s.table, s.placed.fill(s.table.name), s.placed.policy.thresholds)
    changed = [c for alarm in declared for c in changes(alarm, s.seen.alarms.get(alarm.name))]
    return fail(f"not as declared: {', '.join(changed)}") if changed else PASS


def unpublished_metric(metric: AlarmMetric) -> Verdict:
    """Whether an alarm reads a metric that is not published."""
    if isinstance(metric.metric, Unknown):
        return unknown(f"the metric cannot be read: {metric.metric.reason}")
    if metric.metric not in PUBLISHED:
        return fail(f"DynamoDB publishes no metric {metric.metric}")
    dimensions = set(metric.dimensions)
    if dimensions in PUBLISHED[metric.metric]:
        return PASS
    return fail(f"DynamoDB publishes no {metric.metric} by {', '.join(sorted(dimensions)) or 'no dimension'}")


def published(s: Resource) -> list[Verdict]:
    """Whether each metric that an alarm reads exists."""
    return [unpublished_metric(m) for m in s.stack.metrics_of(s.logical_id)]


def consumer(s: Consumer) -> Verdict:
    """Whether the alarms of a declared stream consumer are there, as declared, and have an action."""
    stack, placed, processor = s.stack, s.placed, s.processor
    seen = {p["AlarmName"]: p for p in stack.alarms.values() if isinstance(p, dict) and "AlarmName" in p}
    name = placed.fill(processor.name)
    for alarm in processor_alarms(name, failure_queue(name)):
        found = seen.get(alarm.name)
        if changed := changes(alarm, found):
            return fail(f"not as declared: {', '.join(changed)}")
        if found and notifies_topic(stack, found) is not True:
            return fail(f"{alarm.name}: no action publishes to a topic of the stack")
    return PASS


WATCHED = Rule(
    id="HF205",
    title="Durable production data has alarms, and alarms have an action",
    why="Throttling, slow answers, a job that stopped, a backup that failed or a consumer that falls behind are seen by customers "
    "first where no alarm reads them. An alarm without an action turns red in a console and tells no one, and one on a metric "
    "that is never published never fires: CloudWatch takes any metric and any dimensions.",
    remediation="Restore the alarms of {table} and their topic as the alarms.py of its kind in holdfast/kinds makes them; metrics and "
    "dimensions have to be among those that the service publishes.",
    severity=Severity.MEDIUM,
    guard=Guard.ALARMS,
    paths=at(
        ALARM,
        "Type",
        "ActionsEnabled",
        "AlarmActions",
        "AlarmName",
        "Dimensions",
        "InsufficientDataActions",
        "MetricName",
        "Namespace",
        *JUDGED,
    )
    + at(SUBSCRIPTION, "Type", "Endpoint", "FilterPolicy", "Protocol", "TopicArn"),
    aspects=frozenset({Aspect.OWN, Aspect.ALARMS}),
    checks=(
        Check(TableSubject, missing),
        Check(TableSubject, notifies),
        Check(StoreSubject, watched),
        Check(Consumer, consumer),
        Check(StackSubject, told),
        Check(Resource, published, (ALARM,)),
    ),
)
THRESHOLDS = Rule(
    id="HF209",
    title="Alarm thresholds match the declaration",
    why="A threshold that is raised, or a metric that is swapped, silences an alarm as surely as its removal, and looks better.",
    remediation="Restore the alarms of {table} as holdfast.kinds.table.alarms.table_alarms makes them; change them there if that is meant.",
    severity=Severity.MEDIUM,
    audited=True,
    guard=Guard.ALARMS,
    paths=at(ALARM, "AlarmName", *JUDGED),
    checks=(Check(TableSubject, as_declared),),
)


RULES = (WATCHED, THRESHOLDS)
