"""What the database itself does and refuses, on every PostgreSQL of this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from lifecycle_database import NOW, USER, column, database, events, fill_months, live, value
from postgres import MAJORS
from psycopg import errors
from support import ROOT

from holdfast.postgres.connection import Connection, connect


@pytest.fixture(scope="module", params=sorted(MAJORS, reverse=True))
def own(request: pytest.FixtureRequest) -> Iterator[Connection]:
    with database(request.param) as dsn, connect(dsn) as connection:
        yield connection


@pytest.fixture
def db(own: Connection) -> Iterator[Connection]:
    """What a test does is undone after it."""
    with own.transaction(force_rollback=True):
        yield own


@contextmanager
def refused(db: Connection, error: type[psycopg.Error], words: str = ".") -> Iterator[None]:
    with pytest.raises(error, match=words), db.transaction():
        yield


def create_missing(db: Connection, now: datetime, since: str | None = None) -> None:
    for parent, lower in db.execute("SELECT * FROM ops.missing_partitions(%s, %s)", (now, since)).fetchall():
        db.execute("SELECT ops.create_partition(%s, %s)", (parent, lower))


def detach(db: Connection, *names: str, now: datetime = NOW) -> None:
    for name in names:
        cold = value(db, "SELECT ops.detach_partition(%s, %s)", name, now)
        while not value(db, "SELECT ops.freeze_partition(%s, %s)", cold, now):
            pass


def test_the_policy_is_the_documents(db: Connection) -> None:
    partitions = db.execute("SELECT parent, key_column, step, retention, archive FROM ops.partition_policy ORDER BY 1")
    assert partitions.fetchall() == [
        ("lifecycle_events", "created_at", timedelta(days=30), timedelta(days=730), True),
        ("metrics_daily", "metric_date", timedelta(days=365), timedelta(days=1095), False),
        ("trigger_executions", "executed_at", timedelta(days=30), timedelta(days=90), False),
    ]  # psycopg reads a month as 30 days and a year as 365
    rows = db.execute("SELECT table_name, retention FROM ops.row_policy ORDER BY 1").fetchall()
    assert rows == [("user_lifecycle_history", None), ("workflow_executions", timedelta(days=365))]


def test_partitions_are_there_before_they_are_needed_and_have_the_documented_names(db: Connection) -> None:
    create_missing(db, NOW)
    assert column(db, "SELECT partition FROM ops.partitions() ORDER BY parent, lower_bound") == [
        *(f"lifecycle_events_{m}" for m in ("2026_11", "2026_12", "2027_01", "2027_02")),
        *("metrics_daily_2026", "metrics_daily_2027"),
        *(f"trigger_executions_{m}" for m in ("2026_11", "2026_12", "2027_01", "2027_02")),
    ]
    assert db.execute("SELECT * FROM ops.missing_partitions(%s)", (NOW,)).fetchall() == []
    (late,) = db.execute("SELECT * FROM ops.missing_partitions('2026-12-01 00:00Z') WHERE parent LIKE 'l%'").fetchall()
    assert late == ("lifecycle_events", datetime(2027, 3, 1, tzinfo=UTC))


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/Los_Angeles"])
def test_bounds_are_utc_whatever_the_session_speaks(db: Connection, zone: str) -> None:
    db.execute("SELECT set_config('timezone', %s, false)", (zone,))
    create_missing(db, datetime(2024, 12, 31, 20, tzinfo=UTC))  # 2025 in Shanghai
    bounds = db.execute("SELECT partition, lower_bound, upper_bound FROM ops.partitions() WHERE partition ~ '2024'")
    expected = {
        "lifecycle_events_2024_12": (datetime(2024, 12, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)),
        "trigger_executions_2024_12": (datetime(2024, 12, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)),
        "metrics_daily_2024": (datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)),
    }
    assert {name: (lower, upper) for name, lower, upper in bounds} == expected
    db.execute("INSERT INTO lifecycle_events (event_type, created_at) VALUES ('last', '2024-12-31 23:59:59.999999Z')")
    db.execute("INSERT INTO lifecycle_events (event_type, created_at) VALUES ('first', '2025-01-01 00:00Z')")
    db.execute(
        "INSERT INTO metrics_daily (metric_date, lifecycle_stage, metric_name, metric_value) "
        "VALUES ('2024-12-31', 'Revenue', 'x', 1), ('2025-01-01', 'Revenue', 'x', 1)"
    )
    rows = db.execute(
        "SELECT tableoid::regclass::text, event_type FROM lifecycle_events ORDER BY created_at"
    ).fetchall()
    assert rows == [("lifecycle_events_2024_12", "last"), ("lifecycle_events_2025_01", "first")]
    homes = column(db, "SELECT tableoid::regclass::text FROM metrics_daily ORDER BY metric_date")
    assert homes == ["metrics_daily_2024", "metrics_daily_2025"]

    end = datetime(2026, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)  # two years after the last moment of December 2024
    expired = "SELECT partition FROM ops.expired_partitions(%s) WHERE parent = 'lifecycle_events'"
    assert column(db, expired, end) == []
    assert column(db, expired, end + timedelta(microseconds=1)) == ["lifecycle_events_2024_12"]


def test_ninety_days_in_monthly_partitions_are_90_to_121_days(db: Connection) -> None:
    fill_months(db, "trigger_executions", "2024-01-01", "2024-12-01")
    ages = set()
    for name, lower, upper in db.execute("SELECT partition, lower_bound, upper_bound FROM ops.partitions()").fetchall():
        due = upper + timedelta(days=90)
        expired = "SELECT %s IN (SELECT partition FROM ops.expired_partitions(%s))"
        assert value(db, expired, name, due)
        assert not value(db, expired, name, due - timedelta(microseconds=1))
        ages.add((due - lower).days)
    assert ages == {119, 120, 121}  # February 2024 has 29 days


def test_s2_226_to_230_the_page_says_how_long_a_row_lives_in_each_table(db: Connection) -> None:
    """The longest life is that of a period's first row: its partition is detached when the last one has its age."""
    days = "SELECT at, at + step AS upper FROM generate_series('2024-01-01Z', '2031-12-31Z', step) at"
    partitioned = db.execute(
        "SELECT parent, retention::text, trim(step::text, '1 '), "
        f"(SELECT min((upper + retention)::date - upper::date) || ' to ' || max((upper + retention)::date - at::date) "
        f" FROM ({days}) AS periods), CASE WHEN archive THEN 'archived' ELSE 'dropped' END "
        "FROM ops.partition_policy ORDER BY 1"
    ).fetchall()
    plain = db.execute(
        "SELECT table_name, coalesce(retention::text, 'for ever'), 'none', coalesce("
        f"(SELECT min((at + retention)::date - at::date) || ' to ' || max((at + retention)::date - at::date) "
        f" FROM (SELECT interval '1 day' AS step) AS one, LATERAL ({days}) AS days), 'for ever'), "
        "CASE WHEN retention IS NULL THEN 'kept' ELSE 'deleted' END FROM ops.row_policy ORDER BY 1 DESC"
    ).fetchall()
    page = (ROOT / "docs" / "databases.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", page, re.M)
    assert [(name, kept, step.replace("month", "mon"), *rest) for name, kept, step, *rest in rows] == [
        *partitioned,
        *plain,
    ]
    for parent, *_ in partitioned:
        db.execute("SELECT ops.create_partition(%s, '2024-01-01Z')", (parent,))
    due = db.execute(
        "SELECT partition, upper_bound + retention FROM ops.partitions() JOIN ops.partition_policy USING (parent)"
    ).fetchall()
    assert len(due) == 3
    for partition, at in due:
        expired = "SELECT partition FROM ops.expired_partitions(%s)"
        assert partition in column(db, expired, at)
        assert partition not in column(db, expired, at - timedelta(microseconds=1))


def test_rows_that_found_no_partition_move_into_theirs(db: Connection) -> None:
    events(db, "2026-10-05", 40)  # kept, and nobody made October
    events(db, "2026-11-02", 10)
    db.execute("INSERT INTO lifecycle_events (event_type, created_at) VALUES ('far ahead', '2031-01-01')")
    before = live(db)
    create_missing(db, NOW)
    assert live(db) == before
    homes: dict[str, int] = dict(
        db.execute("SELECT tableoid::regclass::text, count(*) FROM lifecycle_events GROUP BY 1").fetchall()
    )
    assert homes == {"lifecycle_events_2026_10": 40, "lifecycle_events_2026_11": 10, "lifecycle_events_default": 1}


def test_only_what_is_expired_can_be_detached(db: Connection) -> None:
    fill_months(db)
    with refused(db, errors.InvalidParameterValue, "lifecycle_events_2024_10 is not expired"):
        db.execute("SELECT ops.detach_partition('lifecycle_events_2024_10', '2026-10-31 23:59:59Z')")
    with refused(db, errors.InvalidParameterValue, "does not begin a partition"):
        db.execute("SELECT ops.create_partition('lifecycle_events', '2024-11-02')")


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE lifecycle_events_2024_09",  # still attached
        "DROP TABLE lifecycle_events_default",
        "DROP TABLE lifecycle_events",
        "DROP TABLE cold.lifecycle_events_2024_08",
    ],
)
def test_a_plain_drop_of_unarchived_events_is_refused_by_hand_too(db: Connection, statement: str) -> None:
    fill_months(db)
    detach(db, "lifecycle_events_2024_08")
    with refused(db, errors.DependentObjectsStillExist, "view cold.archive_first_lifecycle_events"):
        db.execute(statement)


def test_the_log_refuses_to_say_that_unarchived_rows_are_dropped(db: Connection) -> None:
    fill_months(db)
    detach(db, "lifecycle_events_2024_08")
    with refused(db, errors.CheckViolation, "archived_before_dropped"):
        db.execute("SELECT ops.drop_detached('lifecycle_events_2024_08', %s)", (NOW,))
    with refused(db, errors.CheckViolation, "archived_as_it_was"):
        db.execute("UPDATE ops.archive_log SET archived_at = now()")
    assert value(db, "SELECT to_regclass('cold.lifecycle_events_2024_08') IS NOT NULL")


def test_what_was_archived_has_to_be_all_that_is_there(db: Connection) -> None:
    fill_months(db)
    events(db, "2024-08-01", 5)
    detach(db, "lifecycle_events_2024_08")
    with refused(db, errors.DataException, "holds 5 rows but 0 are archived"):
        db.execute("SELECT ops.mark_archived('lifecycle_events_2024_08', 'm', 0, %s)", (NOW,))


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO cold.lifecycle_events_2024_08 (id, event_type, created_at) VALUES (-1, 'x', '2024-08-02')",
        "UPDATE cold.lifecycle_events_2024_08 SET event_type = 'x'",
        "DELETE FROM cold.lifecycle_events_2024_08",
        "TRUNCATE cold.lifecycle_events_2024_08",
    ],
)
def test_frozen_rows_change_no_more(db: Connection, statement: str) -> None:
    fill_months(db)
    detach(db, "lifecycle_events_2024_08")
    with refused(db, errors.ObjectNotInPrerequisiteState, "lifecycle_events_2024_08 is frozen"):
        db.execute(statement)


def executions(db: Connection, **by_status: str) -> dict[str, str]:
    """One execution of each status, begun that long ago; its id by its status."""
    workflow = value(db, "INSERT INTO workflows (name, bpmn_xml) VALUES ('w', '<x/>') RETURNING id")
    query = (
        "INSERT INTO workflow_executions (workflow_id, user_id, status, started_at) "
        "VALUES (%s, %s, %s, %s::timestamptz - %s::interval) RETURNING id"
    )
    return {status: value(db, query, workflow, USER, status, NOW, age) for status, age in by_status.items()}


def test_purging_never_takes_a_pending_or_running_execution(db: Connection) -> None:
    old = dict.fromkeys(["pending", "running", "completed", "failed", "cancelled"], "5 years")
    executions(db, **old)
    assert value(db, "SELECT ops.expired_rows('workflow_executions', %s)", NOW) == 3
    assert value(db, "SELECT ops.purge_rows('workflow_executions', %s, 2)", NOW) == 2
    assert value(db, "SELECT ops.purge_rows('workflow_executions', %s, 2)", NOW) == 1
    assert value(db, "SELECT ops.purge_rows('workflow_executions', %s, 2)", NOW) == 0
    assert column(db, "SELECT status FROM workflow_executions ORDER BY 1") == ["pending", "running"]


def test_an_execution_is_as_old_as_its_end_and_goes_after_a_year(db: Connection) -> None:
    ids = executions(db, completed="366 days", failed="364 days", cancelled="5 years")
    ended = "UPDATE workflow_executions SET completed_at = %s::timestamptz - '364 days'::interval WHERE id = %s"
    db.execute(ended, (NOW, ids["cancelled"]))
    assert value(db, "SELECT ops.purge_rows('workflow_executions', %s, 9)", NOW) == 1
    assert column(db, "SELECT status FROM workflow_executions ORDER BY 1") == ["cancelled", "failed"]


def test_q1_a_purged_execution_leaves_its_events_with_its_id_wherever_they_are(db: Connection) -> None:
    fill_months(db)
    create_missing(db, NOW)
    ids = executions(db, completed="2 years")
    insert = "INSERT INTO lifecycle_events (event_type, workflow_execution_id, created_at) VALUES ('x', %s, %s)"
    for at in ("2024-08-05", "2024-09-05", "2026-11-05", "2031-01-01"):
        db.execute(insert, (ids["completed"], at))
    detach(db, "lifecycle_events_2024_08")
    value(db, "SELECT ops.detach_partition('lifecycle_events_2024_09', %s)", NOW)  # and not frozen yet
    assert value(db, "SELECT ops.purge_rows('workflow_executions', %s, 9)", NOW) == 1
    assert column(db, "SELECT workflow_execution_id FROM lifecycle_events") == [ids["completed"]] * 2
    for month in ("2024_08", "2024_09"):
        assert column(db, f"SELECT workflow_execution_id FROM cold.lifecycle_events_{month}") == [ids["completed"]]


def test_q8_history_is_kept_for_ever_even_by_who_owns_the_tables(db: Connection) -> None:
    db.execute(
        "INSERT INTO user_lifecycle_history (user_id, to_stage, transitioned_at) VALUES (%s, 'Revenue', '1999-01-01')",
        (USER,),
    )
    assert value(db, "SELECT ops.expired_rows('user_lifecycle_history', %s)", NOW) == 0
    assert value(db, "SELECT ops.purge_rows('user_lifecycle_history', %s, 9)", NOW) == 0
    with refused(db, errors.ForeignKeyViolation, "user_lifecycle_history"):
        db.execute("DELETE FROM users")


def test_late_rows_go_to_a_further_part_of_their_month_until_it_is_frozen(db: Connection) -> None:
    fill_months(db)
    detach(db, "lifecycle_events_2024_08")
    events(db, "2024-08-01", 25)
    late = db.execute("SELECT parent, lower_bound, rows, archive FROM ops.late_rows(%s)", (NOW,)).fetchall()
    assert late == [("lifecycle_events", datetime(2024, 8, 1, tzinfo=UTC), 25, True)]
    drain = "SELECT ops.drain_late('lifecycle_events', '2024-08-01', %s, 10)"
    assert [value(db, drain, NOW) for _ in range(4)] == [10, 10, 5, 0]
    assert value(db, "SELECT count(*) FROM cold.lifecycle_events_2024_08_part2") == 25
    assert value(db, "SELECT count(*) FROM lifecycle_events_default") == 0
    with refused(db, errors.DependentObjectsStillExist):
        db.execute("DROP TABLE cold.lifecycle_events_2024_08_part2")
    assert value(db, "SELECT ops.freeze_partition('lifecycle_events_2024_08_part2', %s)", NOW)
    events(db, "2024-08-01", 1)
    assert value(db, drain, NOW) == 1
    assert value(db, "SELECT count(*) FROM cold.lifecycle_events_2024_08_part3") == 1


# What a wrong clock, a zero and a careless client write; and why it cannot stay where it landed.
IMPOSSIBLE = {
    "-infinity": "the time is infinite",
    "infinity": "the time is infinite",
    "4713-11-24 BC": "older than anything that this table can have",  # the first day that the server knows
    "0044-03-15 BC": "older than anything that this table can have",
    "0001-01-01": "older than anything that this table can have",
    "1970-01-01": "older than anything that this table can have",
    "2019-12-31": "older than anything that this table can have",
    "2028-01-01": "further ahead than partitions are made",
    "9999-12-31": "further ahead than partitions are made",
    "294276-12-31": "further ahead than partitions are made",  # the last one
}
TIMES = {"lifecycle_events": "created_at", "trigger_executions": "executed_at", "metrics_daily": "metric_date"}


def insert_at(db: Connection, parent: str, at: str) -> None:
    """One row with this time."""
    if parent == "lifecycle_events":
        db.execute("INSERT INTO lifecycle_events (event_type, created_at) VALUES ('x', %s)", (at,))
    elif parent == "trigger_executions":
        db.execute(
            "WITH t AS (INSERT INTO triggers (name, event_type, conditions) VALUES ('t', 'e', '{}') RETURNING id) "
            "INSERT INTO trigger_executions (trigger_id, condition_met, executed_at) SELECT id, true, %s FROM t",
            (at,),
        )
    else:
        db.execute(
            "INSERT INTO metrics_daily (metric_date, lifecycle_stage, metric_name, metric_value) "
            "VALUES (%s, 'Revenue', 'x', 'NaN')",
            (at,),
        )


def quarantine(db: Connection, now: datetime = NOW) -> dict[tuple[str, str], int]:
    """Everything that has to go there, in batches of two."""
    moved = {}
    for parent, reason, rows in db.execute("SELECT * FROM ops.displaced_rows(%s)", (now,)).fetchall():
        counts = []
        while count := value(db, "SELECT ops.quarantine_rows(%s, %s, %s, 2)", parent, reason, now):
            counts.append(count)
        assert sum(counts) == rows
        assert max(counts) <= 2
        moved[parent, reason] = rows
    return moved


@pytest.mark.parametrize("parent", TIMES)
def test_rows_with_an_impossible_time_are_quarantined_whole_and_can_be_given_back(db: Connection, parent: str) -> None:
    later = {"2028-01-01": "2029-01-01"} if parent == "metrics_daily" else {}  # its partitions are years
    expected = {later.get(at, at): why for at, why in IMPOSSIBLE.items()}
    if parent == "metrics_daily":
        expected["5874897-12-31"] = "further ahead than partitions are made"  # a date that is no timestamp
    for at in expected:
        insert_at(db, parent, at)
    texts = f"SELECT t::text FROM {parent} t ORDER BY 1"
    before = column(db, texts)
    create_missing(db, NOW)
    assert db.execute("SELECT * FROM ops.late_rows(%s)", (NOW,)).fetchall() == []
    reasons = list(expected.values())
    assert quarantine(db) == {(parent, why): reasons.count(why) for why in set(reasons)}
    assert column(db, texts) == []
    held = db.execute("SELECT parent, contents ->> %s, reason FROM ops.quarantine", (TIMES[parent],)).fetchall()
    assert sorted(why for _, _, why in held) == sorted(reasons)
    assert {name for name, _, _ in held} == {parent}
    db.execute(
        f"WITH back AS (DELETE FROM ops.quarantine RETURNING contents) INSERT INTO {parent} "
        f"SELECT r.* FROM back, jsonb_populate_record(NULL::{parent}, contents) r"
    )
    assert column(db, texts) == before


def test_every_value_of_a_row_comes_back_from_quarantine(db: Connection) -> None:
    events(db, "1970-01-01", 30)
    before = live(db)
    quarantine(db)
    assert live(db) == []
    db.execute(
        "INSERT INTO lifecycle_events "
        "SELECT r.* FROM ops.quarantine, jsonb_populate_record(NULL::lifecycle_events, contents) r"
    )
    assert live(db) == before


def test_the_documented_statement_gives_rows_back_with_a_right_time(db: Connection) -> None:
    create_missing(db, NOW)
    events(db, "1970-01-01", 3)
    quarantine(db)
    page = (ROOT / "docs" / "databases.md").read_text(encoding="utf-8")
    (statement,) = re.findall(r"^```sql\n(WITH back AS .*?;)\n```$", page, re.M | re.S)
    db.execute(statement.encode())
    assert [row[6] for row in live(db)] == ["2026-11-16 05:00:00+00"] * 3
    assert value(db, "SELECT count(*) FROM ops.quarantine") == 0
    assert value(db, "SELECT count(*) FROM lifecycle_events_2026_11") == 3


def test_late_rows_of_a_table_without_archive_are_quarantined_and_kept_months_are_left_alone(db: Connection) -> None:
    for at in ("2026-07-31 23:59:59.999999Z", "2026-08-01 00:00Z", "2027-02-28 23:59:59Z", "2027-03-01 00:00Z"):
        insert_at(db, "trigger_executions", at)  # 90 days before NOW are 18 August; three months are made ahead
    with refused(db, errors.InvalidParameterValue, "trigger_executions has no archive"):
        db.execute("SELECT ops.drain_late('trigger_executions', '2026-07-01', %s, 10)", (NOW,))
    assert quarantine(db) == {
        ("trigger_executions", "late, and this table has no archive"): 1,
        ("trigger_executions", "further ahead than partitions are made"): 1,
    }
    left = column(db, "SELECT executed_at::text FROM trigger_executions ORDER BY 1")
    assert left == ["2026-08-01 00:00:00+00", "2027-02-28 23:59:59+00"]


def test_late_rows_of_a_kept_month_cannot_be_drained(db: Connection) -> None:
    with refused(db, errors.InvalidParameterValue, "is not expired"):
        db.execute("SELECT ops.drain_late('lifecycle_events', '2024-11-01', %s, 10)", (NOW,))


def test_what_is_kept_for_ever_gets_partitions_for_what_it_can_have_and_no_more(db: Connection) -> None:
    db.execute("UPDATE ops.partition_policy SET retention = NULL")
    for at in ("-infinity", "0044-03-15 BC", "2020-01-01", "2026-11-01"):
        insert_at(db, "metrics_daily", at)
    create_missing(db, NOW)
    years = column(db, "SELECT partition FROM ops.partitions() WHERE parent = 'metrics_daily' ORDER BY 1")
    assert years == ["metrics_daily_2020", "metrics_daily_2026", "metrics_daily_2027"]
    assert sum(quarantine(db).values()) == 2


@pytest.mark.parametrize("at", IMPOSSIBLE)
@pytest.mark.parametrize("time", ["started_at", "completed_at"])
def test_an_execution_with_an_impossible_time_is_not_purged_and_is_counted(db: Connection, time: str, at: str) -> None:
    """Quarantine would take its number from its events, so it stays."""
    ids = executions(db, completed="5 years", running="5 years", failed="1 day")
    db.execute("UPDATE workflow_executions SET completed_at = started_at + '1 day'")
    db.execute(f"UPDATE workflow_executions SET {time} = %s WHERE id = %s".encode(), (at, ids["completed"]))
    assert value(db, "SELECT ops.expired_rows('workflow_executions', %s)", NOW) == 0
    assert value(db, "SELECT ops.purge_rows('workflow_executions', %s, 9)", NOW) == 0
    assert value(db, "SELECT value FROM ops.health(%s) WHERE metric = 'ImpossibleTimes'", NOW) == 1


def test_the_earliest_and_the_furthest_time_that_can_be_are_possible(db: Connection) -> None:
    ids = executions(db, completed="5 years", failed="5 years", cancelled="5 years")
    at = {"completed": "2020-01-01 00:00Z", "failed": "2027-12-31 23:59:59.999999Z", "cancelled": None}
    for status, end in at.items():
        times = ("2020-01-01 00:00Z", end, ids[status])
        db.execute("UPDATE workflow_executions SET started_at = %s, completed_at = %s WHERE id = %s", times)
    assert value(db, "SELECT value FROM ops.health(%s) WHERE metric = 'ImpossibleTimes'", NOW) == 0
    assert value(db, "SELECT ops.expired_rows('workflow_executions', %s)", NOW) == 2
    assert value(db, "SELECT ops.purge_rows('workflow_executions', %s, 9)", NOW) == 2
    assert column(db, "SELECT status FROM workflow_executions") == ["failed"]


def test_a_month_that_is_made_again_after_its_archive_becomes_its_next_part(db: Connection) -> None:
    """A longer retention, or a time set back, brings an archived month back."""
    fill_months(db, until="2024-08-01")
    detach(db, "lifecycle_events_2024_08")
    fill_months(db, until="2024-08-01")
    detach(db, "lifecycle_events_2024_08")
    names = column(db, "SELECT name FROM ops.archive_log ORDER BY part")
    assert names == ["lifecycle_events_2024_08", "lifecycle_events_2024_08_part2"]
    with refused(db, errors.DependentObjectsStillExist, "archive_first_lifecycle_events_2024_08_part2"):
        db.execute("DROP TABLE cold.lifecycle_events_2024_08_part2")


def test_no_function_trusts_the_sessions_search_path_or_reads_the_clock(db: Connection) -> None:
    functions = db.execute(
        "SELECT proname, proconfig, prosrc, pg_get_function_arguments(oid) FROM pg_proc "
        "WHERE pronamespace = 'ops'::regnamespace"
    ).fetchall()
    assert len(functions) >= 15
    for name, settings, source, arguments in functions:
        paths = [s for s in settings or () if s.startswith("search_path=")]
        assert [p for p in paths if p.endswith("pg_temp")], name
        assert "now()" not in source + arguments, name
        assert "current_timestamp" not in source.lower(), name
        if "timestamptz" in source or "p_lower" in arguments:
            assert "TimeZone=UTC" in settings, name


def test_a_table_of_the_session_cannot_take_the_place_of_the_policy(db: Connection) -> None:
    create_missing(db, NOW)
    db.execute("CREATE TEMP TABLE pg_inherits (inhparent oid, inhrelid oid); SET search_path = pg_temp, public")
    assert value(db, "SELECT count(*) FROM ops.partitions()") == 10


def test_a_lock_is_given_up_before_a_writer_could_be_chosen_as_the_victim(db: Connection) -> None:
    with psycopg.connect(db.info.dsn) as other:
        other.execute("SELECT FROM lifecycle_events_default")  # a reader in a transaction
        with refused(db, errors.LockNotAvailable):
            db.execute("SELECT ops.create_partition('lifecycle_events', '2026-11-01')")
