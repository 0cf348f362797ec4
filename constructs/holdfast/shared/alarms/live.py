"""What CloudWatch answers of alarms, in CloudFormation's words."""

from __future__ import annotations

from holdfast.cfn.types import ALARM, TOPIC
from holdfast.shared.live import Answer, Resource, StackResources, shaped

ACTIONS = ("AlarmActions", "InsufficientDataActions", "OKActions")


def alarm(a: Answer, own: StackResources) -> Resource:
    tells = {name: [own.ref(TOPIC, t) for t in a[name]] for name in ACTIONS if a.get(name)}
    return shaped(ALARM, {**a, **tells})
