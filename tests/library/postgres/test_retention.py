"""The retention job: what it does, what it survives, and that writers never notice."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import postgres
import psycopg
import pytest
from lifecycle_database import (
    EXPIRED,
    NOW,
    USER,
    archived,
    column,
    database,
    events,
    fill_months,
    live,
    quarantined,
    value,
)

from holdfast.errors import InputError
from holdfast.postgres import drift, retention
from holdfast.postgres.archive import ArchiveError, Folder, check
from holdfast.postgres.connection import Connection, connect
from holdfast.postgres.retention import Health, Outcome, metrics, plan, run


@pytest.fixture
def db() -> Iterator[Connection]:
    with database() as dsn, connect(dsn) as connection:
        yield connection


@pytest.fixture
def store(tmp_path: Path) -> Folder:
    return Folder(path=tmp_path / "archive")


def done(outcome: Outcome, action: str) -> list[str]:
    return [s.name for s in outcome.steps if s.action == action]


def sound(store: Folder, db: Connection) -> None:
    """The archive reads back as it was written."""
    assert [c.wrong for c in check(store.where, lambda: db, lambda _: None) if c.wrong] == []


def test_expired_months_are_archived_row_by_row_and_dropped_and_the_rest_stays(db: Connection, store: Folder) -> None:
    fill_months(db, until="2024-11-01")
    events(db, "2024-08-01", 300, over="91 days")
    events(db, "2024-11-01 00:00Z", 20)
    old, kept = live(db, "created_at < '2024-11-01Z'"), live(db, "created_at >= '2024-11-01Z'")
    planned = plan(db, NOW)
    outcome = run(db, store, now=NOW, chunk_rows=50)
    assert [(s.action, s.name) for s in sorted(outcome.steps, key=lambda s: (s.action, s.name))] == [
        (s.action, s.name) for s in sorted(planned, key=lambda s: (s.action, s.name))
    ]
    assert done(outcome, "archive") == done(outcome, "drop") == [f"lifecycle_events_{m}" for m in EXPIRED]
    assert archived(store) == old
    assert live(db) == kept
    assert value(db, "SELECT count(*) FROM pg_class WHERE relnamespace = 'cold'::regnamespace") == 6  # guards only
    assert {h.metric: h.value for h in outcome.health if h.table == "lifecycle_events"} == {
        "PartitionsAhead": 3,
        "RowsInDefault": 0,
        "ExpiredAttached": 0,
        "DetachedWaiting": 0,
        "RowsInQuarantine": 0,
    }
    sound(store, db)
    again = run(db, store, now=NOW)
    assert (again.steps, again.unfinished, again.busy) == ((), None, False)


def test_q1_an_archived_event_keeps_its_execution(db: Connection, store: Folder) -> None:
    fill_months(db, until="2024-08-01")
    workflow = value(db, "INSERT INTO workflows (name, bpmn_xml) VALUES ('w', '<x/>') RETURNING id")
    execution = value(
        db,
        "INSERT INTO workflow_executions (workflow_id, user_id, status, started_at, completed_at) "
        "VALUES (%s, %s, 'completed', '2024-08-05', '2024-08-06') RETURNING id::text",
        workflow,
        USER,
    )
    db.execute(
        "INSERT INTO lifecycle_events (event_type, workflow_execution_id, created_at) VALUES ('x', %s, '2024-08-06')",
        (execution,),
    )
    assert done(run(db, store, now=datetime(2025, 8, 7, tzinfo=UTC)), "purge") == ["workflow_executions"]
    assert done(run(db, store, now=NOW), "archive") == ["lifecycle_events_2024_08"]
    assert [row[3] for row in archived(store)] == [execution]
    sound(store, db)


def test_a_partition_that_was_made_by_hand_is_guarded_by_the_next_run(db: Connection, store: Folder) -> None:
    for month, following in (("2024-10", "2024-11"), ("2024-11", "2024-12")):  # expired at NOW, and not
        db.execute(
            f"CREATE TABLE lifecycle_events_{month.replace('-', '_')} PARTITION OF lifecycle_events "
            f"FOR VALUES FROM ('{month}-01') TO ('{following}-01')".encode()
        )
    assert [s.name for s in plan(db, NOW) if s.action == "guard"] == ["lifecycle_events_2024_11"]
    assert done(run(db, store, now=NOW), "guard") == ["lifecycle_events_2024_11"]
    with pytest.raises(psycopg.errors.DependentObjectsStillExist, match="archive_first_lifecycle_events_2024_11"):
        db.execute("DROP TABLE lifecycle_events_2024_11")
    assert drift.inspect(db, postgres.SCHEMAS / "lifecycle") == ([], [])
    db.execute("DROP VIEW cold.archive_first_lifecycle_events_2024_11")
    (lost,), _ = drift.inspect(db, postgres.SCHEMAS / "lifecycle")
    assert str(lost) == "missing cold.archive_first_lifecycle_events_2024_11: view"


def test_a_plan_changes_nothing(db: Connection, store: Folder) -> None:
    fill_months(db)
    events(db, "2024-08-01", 10)
    before = column(db, "SELECT oid::regclass::text FROM pg_class ORDER BY oid")
    with db.transaction():
        db.execute("SET TRANSACTION READ ONLY")
        assert plan(db, NOW) == plan(db, NOW)
    assert column(db, "SELECT oid::regclass::text FROM pg_class ORDER BY oid") == before


def test_months_pass_and_no_row_is_lost_early_or_late(db: Connection, store: Folder) -> None:
    """Every quarter for four years: each row is in the table or in the archive, as its age demands."""
    now, written = datetime(2023, 1, 20, 12, tzinfo=UTC), 0
    for turn in range(16):
        outcome = run(db, store, now=now)
        assert outcome.unfinished is None
        assert [h for h in outcome.health if h.metric != "PartitionsAhead" and h.value] == []
        assert all(h.value >= 1 for h in outcome.health if h.metric == "PartitionsAhead")
        db.execute(
            "INSERT INTO lifecycle_events (event_type, created_at) "
            "SELECT 'e', %s::timestamptz + g * interval '9 days' FROM generate_series(0, 9) g",
            (now,),
        )
        written += 10
        now += timedelta(days=91)
        if turn % 5 == 0:
            gone, there = archived(store) if store.path.exists() else [], live(db)
            assert sorted([*gone, *there], key=lambda r: int(r[0])) == sorted({*gone, *there}, key=lambda r: int(r[0]))
            assert len(gone) + len(there) == written
            border = border_at(now - timedelta(days=91))
            assert all(datetime.fromisoformat(r[6]) < border for r in gone)
            assert all(datetime.fromisoformat(r[6]) >= border for r in there)
    assert len(archived(store)) > 50
    sound(store, db)


def border_at(now: datetime) -> datetime:
    """What is older than this is expired, in whole months."""
    return now.replace(year=now.year - 2, day=1, hour=0)


def test_late_rows_of_an_archived_month_become_a_further_part_of_its_archive(db: Connection, store: Folder) -> None:
    fill_months(db)
    events(db, "2024-08-01", 30)
    rows = live(db)
    run(db, store, now=NOW)
    for part in (2, 3):
        events(db, "2024-08-10", 15, over="9 days")
        rows += live(db)
        outcome = run(db, store, now=NOW)
        assert [(s.action, s.name, s.rows) for s in outcome.steps] == [
            ("drain", "lifecycle_events_2024_08", 15),
            ("archive", f"lifecycle_events_2024_08_part{part}", 15),
            ("drop", f"lifecycle_events_2024_08_part{part}", None),
        ]
        assert live(db) == []
        assert archived(store) == rows
    homes = {Path(n).parent.as_posix() for n in store.names() if "2024_08" in n}
    assert homes == {f"lifecycle_events/lifecycle_events_2024_08/part-00{n}" for n in (1, 2, 3)}
    sound(store, db)


def test_rows_older_than_any_partition_are_archived_too(db: Connection, store: Folder) -> None:
    events(db, "2021-03-01", 4)
    rows = live(db)
    assert done(run(db, store, now=NOW), "archive") == ["lifecycle_events_2021_03"]
    assert archived(store) == rows


def test_tables_without_an_archive_lose_their_expired_rows(db: Connection, store: Folder) -> None:
    fill_months(db, "trigger_executions", "2026-06-01", "2026-08-01")
    trigger = value(db, "INSERT INTO triggers (name, event_type, conditions) VALUES ('t', 'e', '{}') RETURNING id")
    insert = "INSERT INTO trigger_executions (trigger_id, condition_met, executed_at) VALUES (%s, true, %s)"
    for at in ("2026-06-30", "2026-07-31", "2026-08-01"):
        db.execute(insert, (trigger, at))
    outcome = run(db, store, now=NOW)
    assert done(outcome, "drop") == ["trigger_executions_2026_06", "trigger_executions_2026_07"]
    assert not store.path.exists()
    assert value(db, "SELECT count(*) FROM trigger_executions") == 1


IMPOSSIBLE = ("-infinity", "0044-03-15 BC", "1970-01-01", "2031-01-01", "infinity")


def test_rows_with_an_impossible_time_neither_stop_the_job_nor_vanish(db: Connection, store: Folder) -> None:
    fill_months(db)
    events(db, "2024-08-01", 30)
    for at in IMPOSSIBLE:
        db.execute("INSERT INTO lifecycle_events (event_type, created_at) VALUES (%s, %s)", (at, at))
    events(db, "2026-10-01", 10)  # nobody made October, and it is kept
    planned = [s for s in plan(db, NOW) if s.action == "quarantine"]
    outcome = run(db, store, now=NOW)
    assert [s for s in outcome.steps if s.action == "quarantine"] == planned
    assert [str(s) for s in planned] == [
        "quarantine lifecycle_events (1 row) in ops.quarantine: further ahead than partitions are made",
        "quarantine lifecycle_events (2 rows) in ops.quarantine: older than anything that this table can have",
        "quarantine lifecycle_events (2 rows) in ops.quarantine: the time is infinite",
    ]
    assert sorted(column(db, "SELECT contents ->> 'event_type' FROM ops.quarantine")) == sorted(IMPOSSIBLE)
    assert len(archived(store)) == 30
    assert len(live(db)) == value(db, "SELECT count(*) FROM lifecycle_events_2026_10") == 10
    assert [(h.table, h.metric, h.value) for h in outcome.health if h.worrying] == [
        ("lifecycle_events", "RowsInQuarantine", 5)
    ]
    again = run(db, store, now=NOW)
    assert again.steps == ()
    assert again.health == outcome.health  # until somebody has looked
    assert drift.inspect(db, postgres.SCHEMAS / "lifecycle") == ([], [])


def test_a_database_that_lacks_the_quarantine_is_sent_to_migrate(db: Connection, store: Folder) -> None:
    db.execute("ALTER TABLE ops.quarantine RENAME TO elsewhere")
    with pytest.raises(InputError, match=r"has no ops\.quarantine: run `holdfast db migrate` first"):
        run(db, store, now=NOW)


def test_the_servers_clock_decides_and_five_minutes_are_the_limit(db: Connection) -> None:
    before = value(db, "SELECT clock_timestamp()")
    for minutes in (-4, 0, 4):
        now = retention.server_time(db, before + timedelta(minutes=minutes))
        assert before <= now <= value(db, "SELECT clock_timestamp()")  # whatever this machine believes
    for apart in (timedelta(minutes=7), timedelta(days=1500), timedelta(minutes=-7), timedelta(days=-1500)):
        local = before + apart
        with pytest.raises(InputError) as refused:
            retention.server_time(db, local)
        assert re.fullmatch(
            rf"it is {local:%Y-%m-%dT%H:%M:%SZ} on this machine and {before:%Y}-\S+Z on the server: nothing is done .*",
            str(refused.value),
        )


def test_chunks_have_the_asked_size_also_when_numbers_share_an_id(db: Connection, store: Folder) -> None:
    """The key is (id, created_at): the same id twice may stand on both sides of a page's end."""
    fill_months(db)
    db.execute(
        "INSERT INTO lifecycle_events (id, event_type, created_at) "
        "SELECT g / 4, 'e', timestamptz '2024-08-01Z' + g * interval '1 hour' FROM generate_series(0, 99) g"
    )
    run(db, store, now=NOW, chunk_rows=15)
    manifest = json.loads(store.get("lifecycle_events/lifecycle_events_2024_08/part-001/manifest.json") or b"")
    assert [c["rows"] for c in manifest["chunks"]] == [15] * 6 + [10]
    assert len(set(archived(store))) == 100


def test_a_run_whose_time_is_over_ends_in_order_and_the_next_one_goes_on(db: Connection, store: Folder) -> None:
    fill_months(db)
    events(db, "2024-08-01", 200, over="91 days")
    rows = live(db)
    for _ in range(30):
        ticks = iter([100.0, 100.0, 100.0])
        outcome = run(db, store, now=NOW, time_left=lambda ticks=ticks: next(ticks, 5.0), chunk_rows=20)  # type: ignore[misc]
        if outcome.unfinished is None:
            break
        assert outcome.health
    assert outcome.unfinished is None
    assert archived(store) == rows
    sound(store, db)


def test_a_chunk_that_was_stored_and_not_recorded_is_recognised(db: Connection, store: Folder) -> None:
    fill_months(db)
    events(db, "2024-08-01", 100)
    rows = live(db)
    stored: list[str] = []

    class Failing(Folder):
        def put(self, name: str, body: bytes) -> None:
            Folder.put(self, name, body)
            stored.append(name)
            if len(stored) == 3:
                raise ConnectionError("the network is gone")

    with pytest.raises(ConnectionError):
        run(db, Failing(path=store.path), now=NOW, chunk_rows=10)
    assert value(db, "SELECT count(*) FROM ops.archive_chunk") == 2
    run(db, store, now=NOW, chunk_rows=10)
    assert archived(store) == rows
    assert len([n for n in store.names() if "2024_08" in n]) == 10 + 1  # no chunk twice
    sound(store, db)


def cut_off(db: Connection, store: Folder) -> list[str]:
    """An archive of which two chunks are there and recorded."""
    fill_months(db)
    events(db, "2024-08-01", 100)
    ticks = iter([100.0] * 2)
    outcome = run(db, store, now=NOW, time_left=lambda: next(ticks, 5.0), chunk_rows=10)
    assert outcome.unfinished == "lifecycle_events_2024_08"
    return store.names()


def test_a_recorded_chunk_that_vanished_is_written_again(db: Connection, store: Folder) -> None:
    first, _ = cut_off(db, store)
    (store.path / first).unlink()
    run(db, store, now=NOW, chunk_rows=10)
    assert first in store.names()
    sound(store, db)


def test_nothing_is_dropped_while_a_chunk_reads_back_wrong(db: Connection, store: Folder) -> None:
    first, _ = cut_off(db, store)
    body = bytearray((store.path / first).read_bytes())
    body[20] ^= 1
    (store.path / first).write_bytes(body)
    with pytest.raises(ArchiveError, match=f"{Path(first).name} is damaged"):
        run(db, store, now=NOW, chunk_rows=10)
    assert value(db, "SELECT count(*) FROM cold.lifecycle_events_2024_08") == 100


def test_an_archive_is_finished_where_it_was_begun(db: Connection, store: Folder, tmp_path: Path) -> None:
    cut_off(db, store)
    with pytest.raises(InputError, match=f"finish it with --archive {store.where}"):
        run(db, Folder(path=tmp_path / "elsewhere"), now=NOW)


def test_nothing_that_is_stored_is_overwritten(db: Connection, store: Folder) -> None:
    fill_months(db)
    name = "lifecycle_events/lifecycle_events_2024_08/part-001/manifest.json"
    store.put(name, b"somebody else's")
    with pytest.raises(ArchiveError, match="is there already with other content"):
        run(db, store, now=NOW)
    assert store.get(name) == b"somebody else's"
    assert value(db, "SELECT to_regclass('cold.lifecycle_events_2024_08') IS NOT NULL")


def test_a_partition_that_was_dropped_by_force_is_missed(db: Connection, store: Folder) -> None:
    cut_off(db, store)
    db.execute("DROP TABLE cold.lifecycle_events_2024_08 CASCADE")
    with pytest.raises(InputError, match=r"cold\.lifecycle_events_2024_08 is gone and was not archived"):
        run(db, store, now=NOW)


def test_a_second_runner_does_nothing_and_says_so(db: Connection, store: Folder) -> None:
    fill_months(db)
    with psycopg.connect(db.info.dsn, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (retention.LOCK,))
        outcome = run(db, store, now=NOW)
        assert outcome.busy
        assert outcome.steps == ()
        other.execute("SELECT pg_advisory_unlock(%s)", (retention.LOCK,))
    assert run(db, store, now=NOW).steps


def test_a_database_without_policy_is_said_in_one_line(store: Folder) -> None:
    with connect(postgres.server().dsn()) as db, pytest.raises(InputError, match="postgres has no retention policy"):
        run(db, store, now=NOW)


def test_a_lock_that_somebody_holds_only_delays_the_run(db: Connection, store: Folder) -> None:
    fill_months(db)
    with psycopg.connect(db.info.dsn) as other:
        other.execute("UPDATE users SET attributes = '{}'")  # in the way of new partitions
        threading.Timer(0.7, other.rollback).start()
        assert len(done(run(db, store, now=NOW), "create")) == 10


@pytest.mark.parametrize("version", [18, 16])
def test_writers_see_no_error_while_everything_happens_around_them(version: int, tmp_path: Path) -> None:
    store = Folder(path=tmp_path / "archive")
    with database(version) as dsn, connect(dsn) as db:
        fill_months(db, until="2024-12-01")
        fill_months(db, "trigger_executions", "2026-06-01", "2026-08-01")
        events(db, "2024-08-01", 500, over="91 days")
        stop, ready = threading.Event(), threading.Barrier(4)
        written: list[int] = []
        wrong: list[Exception] = []
        writers = [threading.Thread(target=_write, args=(dsn, stop, ready, written, wrong)) for _ in range(3)]
        for writer in writers:
            writer.start()
        ready.wait(20)
        try:
            first = run(db, store, now=NOW, chunk_rows=40)
            second = run(db, store, now=NOW + timedelta(days=45), chunk_rows=40)
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        assert wrong == []
        assert done(first, "archive")
        assert done(second, "create")
        assert done(second, "archive")
        final = run(db, store, now=NOW + timedelta(days=45))  # what came late
        assert final.unfinished is None
        assert min(written) > 0
        assert value(db, "SELECT count(*) FROM ops.quarantine") >= len(written)
        everything = [row[0] for row in (*archived(store), *live(db), *quarantined(db))]
        assert len(everything) == len(set(everything)) == 500 + sum(written)
        sound(store, db)


def _write(
    dsn: str, stop: threading.Event, ready: threading.Barrier, written: list[int], wrong: list[Exception]
) -> None:
    """Events of now and of months that are being archived, in transactions that also read and update."""
    done, first = 0, True
    with psycopg.connect(dsn, autocommit=True) as db:
        while not stop.is_set() and not wrong:
            try:
                with db.transaction():
                    db.execute(
                        "INSERT INTO lifecycle_events (event_type, user_id, created_at) "
                        "SELECT 'w', %s, CASE g WHEN 4 THEN '-infinity' "
                        "  ELSE timestamptz '2026-11-16Z' - random() * interval '840 days' END "
                        "FROM generate_series(1, 4) g",
                        (USER,),
                    )
                    db.execute(
                        "UPDATE users SET attributes = jsonb_build_object('n', %s::int) WHERE id = %s", (done, USER)
                    )
                    db.execute("SELECT count(*) FROM lifecycle_events WHERE user_id = %s", (USER,))
                done += 4
            except psycopg.Error as error:
                wrong.append(error)
            if first:
                ready.wait(20)
                first = False
    written.append(done)


def test_health_becomes_lines_that_cloudwatch_reads_as_metrics() -> None:
    health = [Health(table="a", metric="PartitionsAhead", value=3), Health(table="b", metric="RowsInDefault", value=7)]
    lines = [json.loads(line) for line in metrics(health, namespace="N", database="d", at=NOW)]
    assert [(x["Database"], x["Table"]) for x in lines] == [("d", "a"), ("d", "b")]
    for line, name in zip(lines, ("PartitionsAhead", "RowsInDefault"), strict=True):
        (directive,) = line["_aws"]["CloudWatchMetrics"]
        assert directive["Namespace"] == "N"
        assert directive["Dimensions"] == [["Database", "Table"]]
        assert directive["Metrics"] == [{"Name": name, "Unit": "Count"}]
        assert isinstance(line[name], int)
        assert line["_aws"]["Timestamp"] == 1794805200000
