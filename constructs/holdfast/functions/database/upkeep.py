"""The daily job of a database without partitions, as Lambda calls it. What it does is in holdfast.postgres.upkeep."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from holdfast.functions.database.handler import dsn
from holdfast.postgres import upkeep
from holdfast.postgres.connection import connect
from holdfast.postgres.retention import server_time


def _clock() -> datetime:
    return datetime.now(UTC)


def tend(
    event: Any,
    context: Any,
    *,
    where: Callable[[], str] = dsn,
    now: datetime | None = None,
    clock: Callable[[], datetime] = _clock,
) -> dict[str, Any]:
    """Daily: what is expired goes, tables are vacuumed, figures are told. Time that runs out is no failure."""
    with connect(where()) as db:
        outcome = upkeep.run(
            db,
            os.environ["TABLES"].split(","),
            now=now or server_time(db, clock()),
            time_left=lambda: context.get_remaining_time_in_millis() / 1000,
        )
    told = {
        "job": "upkeep",
        "steps": [str(step) for step in outcome.steps],
        "figures": outcome.figures,
        "unfinished": outcome.unfinished,
    }
    print(json.dumps(told))
    directive = {
        "Namespace": os.environ["NAMESPACE"],
        "Dimensions": [["Database"]],
        "Metrics": [{"Name": name} for name in outcome.worst],
    }
    about = {"Timestamp": int(clock().timestamp() * 1000), "CloudWatchMetrics": [directive]}
    print(json.dumps({"_aws": about, "Database": os.environ["DATABASE"], **outcome.worst}))
    return told
