"""The erasure of a person from the lifecycle database, on real servers: what goes, what stays and who may."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from lifecycle_database import NOW, USER, column, database, value
from postgres import MAJORS, NEWEST
from support import ROOT

from holdfast.postgres.connection import Connection, connect

OTHER = "00000000-0000-0000-0000-000000000002"
CONTENTS = """
SELECT coalesce(string_agg(row, ' '), '') FROM (
  SELECT to_jsonb(t)::text FROM users t UNION ALL
  SELECT to_jsonb(t)::text FROM user_lifecycle_history t UNION ALL
  SELECT to_jsonb(t)::text FROM user_segment_memberships t UNION ALL
  SELECT to_jsonb(t)::text FROM workflows t UNION ALL
  SELECT to_jsonb(t)::text FROM workflow_executions t UNION ALL
  SELECT to_jsonb(t)::text FROM trigger_executions t UNION ALL
  SELECT to_jsonb(t)::text FROM lifecycle_events t UNION ALL
  SELECT to_jsonb(t)::text FROM cold.lifecycle_events_2024_09 t UNION ALL
  SELECT to_jsonb(t)::text FROM ops.quarantine t) AS everything (row)"""
ERASED = {
    "public.users": 1,
    "public.user_segment_memberships": 1,
    "public.user_lifecycle_history": 2,
    "public.workflows": 1,
    "public.workflow_executions": 1,
    "public.trigger_executions": 1,
    "public.lifecycle_events": 3,
    "cold.lifecycle_events_2024_09": 1,
    "ops.quarantine": 1,
}


@contextmanager
def people(version: int = NEWEST) -> Iterator[Connection]:
    """Two persons with rows in every table, of all ages."""
    with database(version) as dsn, connect(dsn) as db:
        db.execute("INSERT INTO users (id, email, current_lifecycle_stage) VALUES (%s, 'b@x', 'Referral')", (OTHER,))
        db.execute("UPDATE users SET attributes = jsonb_build_object('phone', '+1 555 ' || left(email, 1))")
        db.execute("""
            SELECT ops.create_partition('lifecycle_events', m)
            FROM unnest('{2024-08-01, 2024-09-01, 2026-10-01, 2026-11-01}'::timestamptz[]) m""")
        db.execute("""
            INSERT INTO user_segments (name, conditions) VALUES ('s', '{}');
            INSERT INTO user_segment_memberships SELECT u.id, s.id FROM users u, user_segments s;
            INSERT INTO user_lifecycle_history (user_id, to_stage, metadata)
              SELECT id, 'Revenue', jsonb_build_object('who', email) FROM users, generate_series(1, 2);
            INSERT INTO workflows (name, bpmn_xml, created_by) SELECT 'of ' || left(email, 1), '<x/>', id FROM users;
            INSERT INTO workflow_executions (workflow_id, user_id, variables, error_message)
              SELECT w.id, u.id, jsonb_build_object('to', email), 'no mail to ' || email
              FROM users u JOIN workflows w ON w.created_by = u.id;
            INSERT INTO triggers (name, event_type, conditions) VALUES ('t', 'e', '{}');
            INSERT INTO trigger_executions (trigger_id, user_id, event_data, condition_met)
              SELECT t.id, u.id, jsonb_build_object('who', email), true FROM triggers t, users u;
            INSERT INTO lifecycle_events (event_type, user_id, workflow_execution_id, event_data, created_at)
              SELECT 'seen', u.id, x.id, jsonb_build_object('who', email), at
              FROM users u JOIN workflow_executions x ON x.user_id = u.id, unnest(
                '{2024-08-02, 2024-09-02, 2026-10-02, 2026-11-02, 2031-01-01, 1970-01-01}'::timestamptz[]) at""")
        for month in ("2024_08", "2024_09"):  # one that waits to be archived and is frozen, one that is not yet
            db.execute("SELECT ops.detach_partition(%s, %s)", (f"lifecycle_events_{month}", NOW))
        while not value(db, "SELECT ops.freeze_partition('lifecycle_events_2024_08', %s)", NOW):
            pass
        impossible = "older than anything that this table can have"
        assert value(db, "SELECT ops.quarantine_rows('lifecycle_events', %s, %s, 9)", impossible, NOW) == 2
        yield db


@pytest.fixture
def db() -> Iterator[Connection]:
    with people() as db:
        yield db


def erase(db: Connection, user: str = USER) -> dict[str, int]:
    return dict(db.execute("SELECT place, rows FROM ops.erase_user(%s)", (user,)).fetchall())


@pytest.mark.parametrize("version", sorted(MAJORS))
def test_q8_what_tells_of_a_person_goes_and_what_is_kept_tells_of_none(version: int) -> None:
    with people(version) as db:
        execution = value(db, "SELECT id::text FROM workflow_executions WHERE user_id = %s", USER)
        frozen = column(db, "SELECT to_jsonb(e)::text FROM cold.lifecycle_events_2024_08 e ORDER BY id")
        rows = {place: value(db, f"SELECT count(*) FROM {place}") for place in ERASED}
        assert erase(db) == ERASED
        left = value(db, CONTENTS)
        assert USER not in left
        assert "a@example.com" not in left
        assert "+1 555 a" not in left
        gone = {"public.user_segment_memberships": 1}
        assert {p: value(db, f"SELECT count(*) FROM {p}") + gone.get(p, 0) for p in ERASED} == rows
        (nameless,) = db.execute("SELECT id, email, attributes FROM users WHERE id <> %s", (OTHER,)).fetchall()
        assert nameless[1:] == (f"{nameless[0]}@erased.invalid", {})
        kept = "SELECT to_stage, metadata FROM user_lifecycle_history WHERE user_id = %s"
        assert db.execute(kept, (nameless[0],)).fetchall() == [("Revenue", {})] * 2
        events = "SELECT workflow_execution_id::text, event_data FROM {} WHERE user_id = %s"
        for place, count in (("lifecycle_events", 3), ("cold.lifecycle_events_2024_09", 1)):
            assert db.execute(events.format(place).encode(), (nameless[0],)).fetchall() == [(execution, None)] * count
        # What is frozen for the archive is as it was, with an id that names no user any more.
        assert column(db, "SELECT to_jsonb(e)::text FROM cold.lifecycle_events_2024_08 e ORDER BY id") == frozen


def test_another_person_is_untouched_and_a_second_erasure_or_a_wrong_id_is_said(db: Connection) -> None:
    of_other = (
        "SELECT md5(string_agg(to_jsonb(e)::text, '' ORDER BY e.id)) FROM lifecycle_events e WHERE user_id = %s",
        "SELECT to_jsonb(u)::text FROM users u WHERE id = %s",
        "SELECT to_jsonb(x)::text FROM workflow_executions x WHERE user_id = %s",
        "SELECT to_jsonb(m)::text FROM user_segment_memberships m WHERE user_id = %s",
        "SELECT md5(string_agg(to_jsonb(h)::text, '' ORDER BY h.id)) FROM user_lifecycle_history h WHERE user_id = %s",
        "SELECT to_jsonb(q)::text FROM ops.quarantine q WHERE contents ->> 'user_id' = %s",
    )
    before = [value(db, query, OTHER) for query in of_other]
    assert all(before)
    erase(db)
    assert [value(db, query, OTHER) for query in of_other] == before
    with pytest.raises(psycopg.errors.NoDataFound, match=f"user {USER} is not known"):
        erase(db)


def test_only_members_of_its_role_may_erase_and_they_may_nothing_else(db: Connection) -> None:
    dsn = db.info.dsn
    call = f"SELECT ops.erase_user('{USER}')"
    db.execute("DROP ROLE IF EXISTS clerk; CREATE ROLE clerk LOGIN; GRANT lifecycle_erasure TO clerk")
    try:
        with connect(f"{dsn} user=lifecycle_app") as app, pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute(call.encode())
        db.execute("GRANT USAGE ON SCHEMA ops TO lifecycle_app")  # the function itself is closed, too
        closed = pytest.raises(psycopg.errors.InsufficientPrivilege, match="erase_user")
        with connect(f"{dsn} user=lifecycle_app") as app, closed:
            app.execute(call.encode())
        with connect(f"{dsn} user=clerk") as clerk:
            for refused in (
                "SELECT FROM users",
                "DELETE FROM user_lifecycle_history",
                "DELETE FROM lifecycle_events",
                "SELECT FROM ops.quarantine",
                "SELECT ops.quarantine_rows('lifecycle_events', 'x', '2026-11-16Z', 1)",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    clerk.execute(refused.encode())
            clerk.execute("CREATE TEMP TABLE users (id uuid)")  # and no table of the session takes another's place
            assert len(clerk.execute(call.encode()).fetchall()) == len(ERASED)
        assert column(db, "SELECT count(*) FROM users WHERE email = 'a@example.com'") == [0]
    finally:
        db.execute("DROP OWNED BY clerk; DROP ROLE clerk")


def test_what_is_written_about_a_person_meanwhile_is_refused_or_erased_and_never_left(db: Connection) -> None:
    with psycopg.connect(db.info.dsn) as writer, psycopg.connect(db.info.dsn, autocommit=True) as eraser:
        insert = "INSERT INTO lifecycle_events (event_type, user_id, created_at) VALUES ('late', %s, '2026-11-03')"
        writer.execute(insert, (USER,))
        eraser.execute("SET lock_timeout = '50ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):  # it waits for who writes
            eraser.execute("SELECT ops.erase_user(%s)", (USER,))
        writer.commit()
        eraser.execute("SELECT ops.erase_user(%s)", (USER,))
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            writer.execute(insert, (USER,))
    assert USER not in value(db, CONTENTS)


def test_the_documented_call_is_that_of_the_function(db: Connection) -> None:
    page = (ROOT / "docs" / "databases.md").read_text(encoding="utf-8")
    (call,) = re.findall(r"^```sql\n(SELECT \* FROM ops\.erase_user\('[0-9a-f-]{36}'\);)\n```$", page, re.M)
    assert dict(db.execute(re.sub("'.*'", f"'{USER}'", call).encode()).fetchall()) == ERASED
