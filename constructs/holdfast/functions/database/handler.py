"""The jobs of one database, as Lambda calls them. What they do is in holdfast.postgres; here is only where.

Whatever goes wrong is raised: CloudFormation then stops the deploy, and Lambda puts the daily call into the queue.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.live.secrets import secret
from holdfast.postgres import migrations, retention
from holdfast.postgres.archive import open_store
from holdfast.postgres.connection import connect
from holdfast.postgres.drift import inspect
from holdfast.text import printable

HERE = Path(__file__).resolve().parent
AUTHORITIES = "/opt/rds-ca.pem"  # from the layer


def dsn() -> str:
    """TLS with the server's name and authority checked, or no connection at all."""
    known = secret(os.environ["SECRET"])
    parts = {
        "host": os.environ["HOST"],
        "port": os.environ["PORT"],
        "dbname": os.environ["SCHEMA"],
        "user": known["username"],
        "password": known["password"],
        "sslmode": "verify-full",
        "sslrootcert": AUTHORITIES,
    }
    return " ".join(f"{name}={_quoted(value)}" for name, value in parts.items())


def migrate(event: Any, context: Any, *, where: Callable[[], str] = dsn, home: Path = HERE) -> dict[str, Any]:
    """At a deploy: apply what is pending. An older package that meets a newer database does nothing."""
    with connect(where()) as db:
        plan = migrations.migrate(db, migrations.load(_schema(home)))
    applied = [] if plan.ahead else [m.file for m in plan.pending]
    return _told({"job": "migrate", "applied": applied, "ahead": list(plan.ahead)})


def _clock() -> datetime:
    return datetime.now(UTC)


def retain(
    event: Any,
    context: Any,
    *,
    where: Callable[[], str] = dsn,
    now: datetime | None = None,
    clock: Callable[[], datetime] = _clock,
) -> dict[str, Any]:
    """Daily: partitions ahead, archive, purge, and the figures for the alarms. Time that runs out is no failure."""
    with connect(where()) as db:
        outcome = retention.run(
            db,
            open_store(os.environ["ARCHIVE"]),
            now=now or retention.server_time(db, clock()),
            time_left=lambda: context.get_remaining_time_in_millis() / 1000,
        )
    told = _told(
        {
            "job": "retain",
            "steps": [str(step) for step in outcome.steps],
            "unfinished": outcome.unfinished,
            "busy": outcome.busy,
        }
    )
    for line in retention.metrics(outcome.health, namespace=_namespace(), database=_database(), at=clock()):
        print(line)
    return told


def drift(event: Any, context: Any, *, where: Callable[[], str] = dsn, home: Path = HERE) -> dict[str, Any]:
    """Daily: everything that is not as declared, a line each, and how much of it. What cannot be read counts, too."""
    with connect(where()) as db:
        differences, unseen = inspect(db, _schema(home))
    found = [*map(str, differences), *unseen]
    for line in found:
        print(printable(line))
    told = _told({"job": "drift", "found": found})
    directive = {"Namespace": _namespace(), "Dimensions": [["Database"]], "Metrics": [{"Name": "Drift"}]}
    about = {"Timestamp": int(datetime.now(UTC).timestamp() * 1000), "CloudWatchMetrics": [directive]}
    print(json.dumps({"_aws": about, "Database": _database(), "Drift": len(found)}))
    return told


def _schema(home: Path) -> Path:
    return home / "schemas" / os.environ["SCHEMA"]


def _namespace() -> str:
    return os.environ["NAMESPACE"]


def _database() -> str:
    return os.environ["DATABASE"]


def _told(what: dict[str, Any]) -> dict[str, Any]:
    print(json.dumps(what))
    return what


def _quoted(value: str) -> str:
    escaped = value.replace("\\", r"\\").replace("'", r"\'")
    return f"'{escaped}'"
