"""The daily job of the lifecycle database as Lambda calls it: it archives, purges, and feeds every alarm."""

from __future__ import annotations

from datetime import UTC, datetime

import boto3
import pytest
from database_jobs import BUCKET, Context, Where, _aws, bucket, drift, emitted, environment, migrate, server
from support import ROOT

from holdfast.errors import InputError
from holdfast.estate.placement import Placed
from holdfast.functions.database import handler
from holdfast.kinds.database.alarms import JOBS
from holdfast.kinds.kinds import alarms as store_alarms
from holdfast.postgres.connection import connect
from holdfast.postgres.server import Server
from stacks import environments, lifecycle

__all__ = ["_aws", "server"]
NOW = datetime(2026, 11, 16, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def _archive(_aws: None) -> None:
    boto3.client("s3").create_bucket(**bucket())


@pytest.fixture
def where(server: Server, monkeypatch: pytest.MonkeyPatch) -> Where:
    return environment(server, monkeypatch, "lifecycle-test", "lifecycle")


def objects(bucket: str = BUCKET) -> list[str]:
    return [o["Key"] for o in boto3.client("s3").list_objects_v2(Bucket=bucket).get("Contents", [])]


@pytest.mark.usefixtures("_archive")
def test_the_daily_job_archives_what_is_expired_and_feeds_every_alarm(
    where: Where, capsys: pytest.CaptureFixture[str]
) -> None:
    migrate(where, ROOT)
    with connect(where()) as db:
        db.execute(
            "INSERT INTO lifecycle_events (event_type, created_at) VALUES ('old', '2024-03-05'), ('new', '2026-11-15')"
        )
    capsys.readouterr()
    told = handler.retain({}, Context(), where=where, now=NOW)
    assert (told["unfinished"], told["busy"]) == (None, False)
    with connect(where()) as db:
        left = [row[0] for row in db.execute("SELECT event_type FROM lifecycle_events").fetchall()]
    assert left == ["new"]
    assert [o for o in objects() if "lifecycle_events_2024_03" in o and o.endswith("manifest.json")]
    assert drift(where, ROOT) == []  # partitions that the job made are no drift
    lines = emitted(capsys.readouterr().out)
    fed = {
        (directive["Namespace"], metric["Name"], tuple((d, line[d]) for d in dimensions))
        for line in lines
        for directive in line["_aws"]["CloudWatchMetrics"]
        for dimensions in directive["Dimensions"]
        for metric in directive["Metrics"]
    }
    database = lifecycle.STACK.stores[0]
    watched = {
        (m.namespace, m.name, tuple(m.dimensions.items()))
        for alarm in store_alarms(Placed(lifecycle.STACK, environments.TEST), database)
        for m in alarm.metrics
        if m.namespace == JOBS
    }
    assert len(watched) == 13
    assert watched <= fed
    ahead = {line["Table"]: line["PartitionsAhead"] for line in lines if "PartitionsAhead" in line}
    assert all(count >= 1 for count in ahead.values())


@pytest.mark.usefixtures("_archive")
def test_the_daily_job_goes_by_the_servers_clock_and_not_at_all_where_its_own_is_wrong(
    where: Where, capsys: pytest.CaptureFixture[str]
) -> None:
    migrate(where, ROOT)
    with connect(where()) as db:
        db.execute(
            "INSERT INTO lifecycle_events (event_type, created_at) VALUES ('new', now()), ('zero', '1970-01-01')"
        )
    for wrong in (datetime(2131, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)):
        with pytest.raises(InputError, match=f"it is {wrong:%Y}-01-01T00:00:00Z on this machine and 2"):
            handler.retain({}, Context(), where=where, clock=lambda wrong=wrong: wrong)  # type: ignore[misc]
    told = handler.retain({}, Context(), where=where)
    impossible = "older than anything that this table can have"
    assert f"quarantine lifecycle_events (1 row) in ops.quarantine: {impossible}" in told["steps"]
    with connect(where()) as db:
        assert db.execute("SELECT event_type FROM lifecycle_events").fetchall() == [("new",)]
    lines = emitted(capsys.readouterr().out)
    assert [x["RowsInQuarantine"] for x in lines if x["Table"] == "lifecycle_events"] == [1]


@pytest.mark.usefixtures("_archive")
def test_an_archive_that_is_not_there_fails_the_job_before_anything_is_lost(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(where, ROOT)
    with connect(where()) as db:
        db.execute("INSERT INTO lifecycle_events (event_type, created_at) VALUES ('old', '2024-03-05')")
    monkeypatch.setenv("ARCHIVE", "s3://made-too-late/archive")
    with pytest.raises(InputError, match=r"s3://made-too-late/archive.*NoSuchBucket"):
        handler.retain({}, Context(), where=where, now=NOW)
    boto3.client("s3").create_bucket(**bucket("made-too-late"))
    handler.retain({}, Context(), where=where, now=NOW)
    assert [o for o in objects("made-too-late") if o.endswith("manifest.json")]
