"""The daily upkeep of the meeting system's database on a real server: what ends, what follows, and what is told."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from postgres import database

from holdfast.kinds.database.alarms import MAX_BLOAT, MAX_DEAD_ROWS, MAX_QUOTA
from holdfast.postgres import upkeep
from holdfast.postgres.connection import Connection, connect

NOW = datetime(2026, 11, 16, 5, tzinfo=UTC)
DAY = timedelta(days=1)
PEOPLE = """
INSERT INTO users (id, username, email, password_hash) VALUES (1, 'ann', 'ann@x', '');
INSERT INTO meetings (id, title, creator_id, start_time) VALUES (1, 'on', 1, now())"""


@pytest.fixture
def dsn() -> Iterator[str]:
    with database("meeting") as found:
        yield found


@pytest.fixture
def db(dsn: str) -> Iterator[Connection]:
    with connect(dsn) as connected:
        connected.execute(PEOPLE)
        yield connected


def log(db: Connection, *ages: timedelta) -> None:
    for age in ages:
        query = "INSERT INTO operation_logs (operation, resource_type, created_at) VALUES (%s, 'user', %s)"
        db.execute(query, (f"{age.days} days", NOW - age))


def recording(db: Connection, name: str, age: timedelta, size: int = 1, status: str = "ready") -> None:
    db.execute(
        "INSERT INTO meeting_recordings (meeting_id, object_path, format, size_bytes, status, created_at) "
        "VALUES (1, %s, 'mp4', %s, %s, %s)",
        (f"recordings/1/{name}", size, status, NOW - age),
    )


def states(db: Connection) -> dict[str, str]:
    """The state of each recording that is not marked deleted, by its file."""
    query = "SELECT split_part(object_path, '/', 3), status FROM meeting_recordings WHERE deleted_at IS NULL"
    return dict(db.execute(query).fetchall())


def test_s3_74_logs_and_messages_end_at_their_age_and_no_other_row_goes(db: Connection) -> None:
    log(db, 364 * DAY, 366 * DAY, timedelta(days=20_000))  # the last of 1972: a wrong time, and no old row
    for age in (89, 91):
        db.execute(
            "INSERT INTO signaling_messages (message_id, meeting_id, from_user_id, message_type, created_at) "
            "VALUES (%s, 1, 1, 'chat', %s)",
            (str(age), NOW - age * DAY),
        )
    recording(db, "gone.mp4", 10 * DAY)
    recording(db, "going.mp4", 10 * DAY)
    for name, age in (("gone", 36), ("going", 34)):
        query = "UPDATE meeting_recordings SET deleted_at = %s WHERE object_path LIKE %s"
        db.execute(query, (NOW - age * DAY, f"%{name}.mp4"))
    wanted = [f"purge {name} (1 row)" for name in ("meeting_recordings", "operation_logs", "signaling_messages")]
    assert [str(s) for s in upkeep.plan(db, NOW)] == wanted
    outcome = upkeep.run(db, (), now=NOW)
    assert [str(s) for s in outcome.steps] == wanted
    assert upkeep.plan(db, NOW) == []
    logs = db.execute("SELECT operation FROM operation_logs ORDER BY 1").fetchall()
    assert logs == [("20000 days",), ("364 days",)]
    assert db.execute("SELECT message_id FROM signaling_messages").fetchall() == [("89",)]
    assert db.execute("SELECT object_path FROM meeting_recordings").fetchall() == [("recordings/1/going.mp4",)]
    assert db.execute("SELECT count(*) FROM users").fetchone() == (1,)


def test_s3_74_many_rows_go_in_batches_and_a_run_without_time_is_finished_by_the_next(db: Connection) -> None:
    db.execute(
        "INSERT INTO operation_logs (operation, resource_type, created_at) "
        "SELECT 'old', 'user', %s FROM generate_series(1, 2500)",
        (NOW - 400 * DAY,),
    )
    left = iter([900.0, 900.0, 900.0, 10.0])
    cut = upkeep.run(db, (), now=NOW, time_left=lambda: next(left))
    assert (cut.unfinished, [s.rows for s in cut.steps]) == ("operation_logs", [1000])
    assert cut.worst["ExpiredRows"] == 1500
    done = upkeep.run(db, (), now=NOW)
    assert (done.unfinished, [s.rows for s in done.steps]) == (None, [1500])


def test_s3_55_a_recording_is_archived_when_its_object_is_and_ends_before_it(db: Connection) -> None:
    archived, expires = 180 * DAY, 365 * DAY
    for name, age in {
        "new": 1 * DAY,
        "nearly": archived - DAY,
        "old": archived + DAY,
        "last": expires - 3 * DAY,
        "over": expires - DAY,
    }.items():
        recording(db, name, age)
    recording(db, "broken", archived + DAY, status="failed")
    assert [str(s) for s in upkeep.run(db, (), now=NOW).steps] == [
        "expire recordings (1 row)",
        "archive recordings (2 rows)",
    ]
    assert states(db) == {
        "new": "ready",
        "nearly": "ready",
        "old": "archived",
        "last": "archived",
        "broken": "failed",
    }
    assert upkeep.run(db, (), now=NOW).steps == ()


def test_s3_74_the_oldest_recordings_make_room_when_newer_ones_fill_the_quota(db: Connection) -> None:
    tib = 2**40
    for name, age in (("first", 100), ("second", 90), ("third", 80), ("fresh", 1)):
        recording(db, name, age * DAY, size=tib)
    outcome = upkeep.run(db, (), now=NOW)
    assert [str(s) for s in outcome.steps] == ["make room recordings (2 rows)"]
    assert states(db) == {"third": "ready", "fresh": "ready"}
    assert outcome.figures["QuotaPercent"]["recordings"] == 100


def test_s3_74_no_recording_of_the_last_month_is_given_up_and_the_quota_is_told(db: Connection) -> None:
    for number in range(4):
        recording(db, str(number), (number + 1) * DAY, size=2**40)
    outcome = upkeep.run(db, (), now=NOW)
    assert outcome.steps == ()
    assert outcome.figures["QuotaPercent"]["recordings"] == 200 > MAX_QUOTA


def test_s3_79_dead_rows_and_bloat_are_measured_and_vacuum_runs(dsn: str, db: Connection) -> None:
    fill = (
        "INSERT INTO signaling_sessions (session_id, meeting_id, room_state) "
        "SELECT n, 1, to_jsonb(repeat('x', 900)) FROM generate_series(%s::int, %s::int) n"
    )
    db.execute("ALTER TABLE signaling_sessions SET (autovacuum_enabled = off)")
    db.execute("SET session_replication_role = replica")  # no trigger and no foreign key: it is about pages
    db.execute(fill, (1, 12_000))
    db.execute("DELETE FROM signaling_sessions WHERE session_id::int % 10 > 0")
    tables = ("signaling_sessions", "users")
    db.execute("SELECT pg_stat_force_next_flush()")  # else it is counted when the session has been idle for a while
    db.execute("SELECT")
    with connect(dsn) as other:
        outcome = upkeep.run(other, tables, now=NOW)
        assert outcome.figures["DeadRowsPercent"] == {"signaling_sessions": pytest.approx(90, abs=1)}
        assert outcome.worst["DeadRowsPercent"] > MAX_DEAD_ROWS
        # Nine tenths of each page are empty, and VACUUM moves nothing that is left.
        assert outcome.figures["BloatPercent"] == {"signaling_sessions": pytest.approx(90, abs=6)}
        assert outcome.worst["BloatPercent"] > MAX_BLOAT
        assert other.execute(
            "SELECT vacuum_count > 0 FROM pg_stat_user_tables WHERE relname = 'ai_tasks'"
        ).fetchone() == (True,)
        db.execute(fill, (20_001, 32_000))  # the room is used again
        assert upkeep.run(other, tables, now=NOW).worst["BloatPercent"] < MAX_BLOAT
