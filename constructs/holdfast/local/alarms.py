"""Alarms on metric math are kept as declared, which ministack refuses. They are never evaluated: they stay silent."""

from __future__ import annotations

from typing import Any

from holdfast.local import private
from holdfast.local.tables import truth

SINGLE = ("MetricName", "Namespace", "Statistic", "ExtendedStatistic", "Period", "Dimensions", "Unit")


def complete() -> None:
    engine = private.module("ministack.services.cloudformation.provisioners")
    record = engine._cw_metric_alarm_record

    def with_math(name: str, props: dict[str, Any]) -> Any:
        if not props.get("Metrics"):
            return record(name, props)
        plain = {key: value for key, value in props.items() if key != "Metrics"}
        alarm = record(name, {**plain, "MetricName": "math", "Namespace": "math"})
        kept = {key: value for key, value in alarm.items() if key not in SINGLE}
        return {**kept, "Metrics": [_query(query) for query in props["Metrics"]]}

    engine._cw_metric_alarm_record = with_math


def _query(query: dict[str, Any]) -> dict[str, Any]:
    return {**query, **({"ReturnData": truth(query["ReturnData"])} if "ReturnData" in query else {})}
