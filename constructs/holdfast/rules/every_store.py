"""What is asked of every store alike: that it is retained, tagged and watched by alarms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.cfn.alike import alike
from holdfast.cfn.template import notifies_topic
from holdfast.cfn.types import TOPIC
from holdfast.kinds.base import StoreSubject
from holdfast.kinds.need import about, all_own, kept, worst
from holdfast.model.facts import Guard
from holdfast.shared.alarms.alarm import Silence, changes
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Verdict, fail, unknown


def retained(s: StoreSubject[Any]) -> Verdict:
    if Guard.RETAIN not in s.required:
        return EXEMPT
    return worst([kept(s.stack, s.resource), *(about(m, kept(m.stack, m.resource)) for m in s.members)])


def tagged(s: StoreSubject[Any]) -> Verdict:
    want = s.placed.tags | s.placed.table_tags(s.store)
    tags = s.get("Tags", default=[])
    if isinstance(tags, Unknown):
        return unknown(f"tags cannot be read: {tags.reason}")
    listed = tags if isinstance(tags, list) else []
    pairs = (
        tags.items()
        if isinstance(tags, dict)
        else ((t.get("Key"), t.get("Value")) for t in listed if isinstance(t, dict))
    )
    seen = {str(k): v for k, v in pairs}
    wrong = sorted(n for n in s.placed.policy.tags if seen.get(n) != want[n])
    return fail(f"tags missing or wrong: {', '.join(wrong)}") if wrong else PASS


def watched(s: StoreSubject[Any]) -> Verdict:
    """The declared alarms of a store are there, as declared, and they publish to a topic of the stack."""
    if Guard.ALARMS not in s.required:
        return EXEMPT
    seen: dict[str, list[Mapping[str, Any]]] = {}
    for p in s.stack.alarms.values():
        if isinstance(p, dict) and isinstance(p.get("AlarmName"), str):
            seen.setdefault(p["AlarmName"], []).append(p)
    for alarm in s.kind.alarms(s.placed, s.store):
        found = seen.get(alarm.name, [])
        if len(found) > 1:
            return fail(f"{len(found)} alarms are called {alarm.name}, and only one of them is made")
        if changed := changes(alarm, _usual(found[0]) if found else None):
            return fail(f"not as declared: {', '.join(changed)}")
        if notifies_topic(s.stack, found[0]) is not True:
            return fail(f"{alarm.name} has no action that publishes to a topic of the stack")
        silent = found[0].get("InsufficientDataActions", [])
        if alarm.silence is Silence.TOLD and not all_own(TOPIC)(s, silent):
            return fail(f"{alarm.name} does not publish to a topic of the stack when it has no data")
    return PASS


def _usual(alarm: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without what CloudWatch takes anyway: as many points as periods."""
    points = alarm.get("DatapointsToAlarm")
    if points is None or not alike(points, alarm.get("EvaluationPeriods")):
        return alarm
    return {k: v for k, v in alarm.items() if k != "DatapointsToAlarm"}
