"""The page of a stack: its tables, below them its other stores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.estate.placement import Placed
from holdfast.kinds.kinds import made_alarms
from holdfast.kinds.table.alarms import table_widgets


def dashboard(placed: Placed) -> dict[str, Any] | None:
    """The widgets of the page; None where nothing is watched."""
    tables = list(table_widgets(placed))
    top = max((w["y"] + w["height"] for w in tables), default=0)
    widgets = [*tables, *_store_widgets(placed, top)]
    return {"widgets": widgets} if widgets else None


def _store_widgets(placed: Placed, top: int) -> Iterator[dict[str, Any]]:
    """All alarms of the stores, then the graph behind each. ``${…}`` stand where Fn::Sub fills in."""
    arn = f"arn:${{AWS::Partition}}:cloudwatch:{placed.region}:${{AWS::AccountId}}:alarm:"
    alarms = [arn + a.name for s in placed.stores for a in made_alarms(placed, s)]
    if alarms:
        status = {"title": f"Alarms of {placed.name}", "alarms": alarms}
        yield {"type": "alarm", "x": 0, "y": top, "width": 24, "height": 4, "properties": status}
    for number, alarm in enumerate(alarms):
        yield {
            "type": "metric",
            "x": number % 3 * 8,
            "y": top + 4 + number // 3 * 5,
            "width": 8,
            "height": 5,
            "properties": {
                "title": alarm.rpartition(":")[2],
                "region": placed.region,
                "annotations": {"alarms": [alarm]},
            },
        }
