"""How alarms are read from a template in normal form."""

from __future__ import annotations

from holdfast.cfn.strength import not_off
from holdfast.cfn.types import ALARM
from holdfast.shared.readings import Protection, at

WATCHED = (
    *("ComparisonOperator", "DatapointsToAlarm", "Dimensions", "EvaluateLowSampleCountPercentile"),
    *("EvaluationPeriods", "ExtendedStatistic", "MetricName", "Metrics", "Namespace", "Period", "Statistic"),
    *("Threshold", "ThresholdMetricId", "TreatMissingData", "Unit"),
)
PROTECTIONS = (
    Protection(
        type=ALARM,
        protects="alarm",
        readings=(at("ActionsEnabled", not_off, "alarm action"),),
        members=(("AlarmActions", "alarm action"),),
        fixed=tuple((name, f"alarm is changed: {name}", "alarm") for name in WATCHED),
    ),
    Protection(type="AWS::CloudWatch::CompositeAlarm", protects="alarm"),
)
