"""`holdfast db check` on real databases: every mutation is found and named, and what belongs there is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from postgres import MAJORS, SCHEMAS, database

from holdfast.postgres import catalog, drift
from holdfast.postgres.connection import Connection, connect

STAGES = "'Acquisition', 'Activation', 'Retention', 'Revenue', 'Referral'"
MONTH = "SELECT ops.create_partition('lifecycle_events', '2026-11-01Z'); "
TRIGGERED = "SELECT ops.create_partition('trigger_executions', '2026-11-01Z'); "

# schema, what somebody does, and the first line that the check has to say about it
MUTATIONS = {
    "table dropped": (
        "lifecycle",
        "DROP TABLE user_segment_memberships",
        "missing public.user_segment_memberships: table",
    ),
    "table added": ("lifecycle", "CREATE TABLE notes (a int)", "extra public.notes: table"),
    "column dropped": (
        "lifecycle",
        "ALTER TABLE users DROP COLUMN attributes",
        "missing public.users column attributes: jsonb DEFAULT '{}'::jsonb",
    ),
    "column added": ("lifecycle", "ALTER TABLE users ADD phone text", "extra public.users column phone: text"),
    "column type widened": (
        "lifecycle",
        "ALTER TABLE users ALTER email TYPE varchar(320)",
        "changed public.users column email: character varying(255) NOT NULL is character varying(320) NOT NULL",
    ),
    "default changed": (
        "lifecycle",
        "ALTER TABLE workflows ALTER version SET DEFAULT '2.0.0'",
        "changed public.workflows column version: ",
    ),
    "NOT NULL dropped": (
        "lifecycle",
        "ALTER TABLE workflows ALTER name DROP NOT NULL",
        "changed public.workflows column name: character varying(255) NOT NULL is character varying(255)",
    ),
    "column compressed otherwise": (
        "lifecycle",
        "ALTER TABLE workflows ALTER bpmn_xml SET STORAGE EXTERNAL",
        "changed public.workflows column bpmn_xml: text NOT NULL is text NOT NULL STORAGE e",
    ),
    "identity lost": (
        "meeting",
        "ALTER TABLE ai_tasks ALTER id DROP IDENTITY",
        "missing public.ai_tasks_id_seq: sequence",
    ),
    "sequence that cycles": (
        "lifecycle",
        "ALTER SEQUENCE lifecycle_events_id_seq CYCLE",
        "changed public.lifecycle_events_id_seq sequence values: ",
    ),
    "CHECK widened": (
        "lifecycle",
        "ALTER TABLE users DROP CONSTRAINT valid_lifecycle_stage, "
        f"ADD CONSTRAINT valid_lifecycle_stage CHECK (current_lifecycle_stage IN ({STAGES}, 'Churned'))",
        "changed public.users constraint valid_lifecycle_stage: ",
    ),
    "CHECK not valid": (
        "lifecycle",
        "ALTER TABLE users DROP CONSTRAINT valid_lifecycle_stage, "
        f"ADD CONSTRAINT valid_lifecycle_stage CHECK (current_lifecycle_stage IN ({STAGES})) NOT VALID",
        "changed public.users constraint valid_lifecycle_stage: ",
    ),
    "unique constraint dropped": (
        "lifecycle",
        "ALTER TABLE users DROP CONSTRAINT users_email_key",
        "missing public.users constraint users_email_key: UNIQUE (email)",
    ),
    "foreign key action changed": (
        "lifecycle",
        "ALTER TABLE user_lifecycle_history DROP CONSTRAINT user_lifecycle_history_user_id_fkey, "
        "ADD CONSTRAINT user_lifecycle_history_user_id_fkey FOREIGN KEY (user_id) REFERENCES users "
        "ON DELETE CASCADE",
        "changed public.user_lifecycle_history constraint user_lifecycle_history_user_id_fkey: ",
    ),
    "foreign keys not checked": (
        "lifecycle",
        "ALTER TABLE triggers DISABLE TRIGGER ALL",
        "changed public.triggers checks of foreign keys: none is off",
    ),
    "index dropped": (
        "lifecycle",
        "DROP INDEX idx_users_lifecycle_stage",
        "missing public.users index idx_users_lifecycle_stage: ",
    ),
    "partial index made full": (
        "lifecycle",
        "DROP INDEX idx_triggers_event_type; CREATE INDEX idx_triggers_event_type ON triggers (event_type)",
        "changed public.triggers index idx_triggers_event_type: ",
    ),
    "GIN made btree": (
        "lifecycle",
        "DROP INDEX idx_workflows_lifecycle; CREATE INDEX idx_workflows_lifecycle ON workflows (lifecycle_stages)",
        "changed public.workflows index idx_workflows_lifecycle: ",
    ),
    "index order lost": (
        "lifecycle",
        "DROP INDEX idx_executions_user; CREATE INDEX idx_executions_user ON workflow_executions (user_id, started_at)",
        "changed public.workflow_executions index idx_executions_user: ",
    ),
    "partial unique index made full": (
        "meeting",
        "DROP INDEX uq_meeting_recordings_object_path; "
        "CREATE UNIQUE INDEX uq_meeting_recordings_object_path ON meeting_recordings (object_path)",
        "changed public.meeting_recordings index uq_meeting_recordings_object_path: ",
    ),
    "index of a partitioned table dropped": (
        "lifecycle",
        "DROP INDEX idx_lifecycle_events_type",
        "missing public.lifecycle_events index idx_lifecycle_events_type: ",
    ),
    "default partition dropped": (
        "lifecycle",
        "DROP TABLE metrics_daily_default",
        "missing public.metrics_daily_default: table",
    ),
    "default partition detached": (
        "lifecycle",
        "ALTER TABLE metrics_daily DETACH PARTITION metrics_daily_default",
        "changed public.metrics_daily_default partition of: public.metrics_daily DEFAULT is none",
    ),
    "function body changed": (
        "lifecycle",
        "CREATE OR REPLACE FUNCTION ops.floor_step(p_at timestamptz, p_step interval) RETURNS timestamptz LANGUAGE sql "
        "STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS 'SELECT p_at'",
        "changed ops.floor_step(p_at timestamp with time zone, p_step interval) body: ",
    ),
    "function made security definer": (
        "lifecycle",
        "ALTER FUNCTION ops.column_list(regclass) SECURITY DEFINER",
        "changed ops.column_list(p_table regclass) security: invoker is definer",
    ),
    "function without its search_path": (
        "lifecycle",
        "ALTER FUNCTION ops.column_list(regclass) RESET search_path",
        "missing ops.column_list(p_table regclass) setting search_path: pg_catalog, pg_temp",
    ),
    "function dropped": (
        "lifecycle",
        "DROP FUNCTION ops.column_list(regclass)",
        "missing ops.column_list(p_table regclass): function",
    ),
    "trigger function added": (
        "lifecycle",
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "extra public.f(): function",
    ),
    "retention shortened": (
        "lifecycle",
        "UPDATE ops.partition_policy SET retention = '1 year' WHERE parent = 'lifecycle_events'",
        "changed ops.partition_policy row lifecycle_events retention: 2 years is 1 year",
    ),
    "archive turned off": (
        "lifecycle",
        "UPDATE ops.partition_policy SET archive = false WHERE parent = 'lifecycle_events'",
        "changed ops.partition_policy row lifecycle_events archive: true is false",
    ),
    "policy row deleted": (
        "lifecycle",
        "DELETE FROM ops.row_policy WHERE table_name = 'workflow_executions'",
        "missing ops.row_policy row workflow_executions: row",
    ),
    "grant to everybody": (
        "lifecycle",
        "GRANT SELECT ON users TO PUBLIC",
        "extra public.users grant to PUBLIC: SELECT",
    ),
    "grant on a column": (
        "lifecycle",
        "GRANT UPDATE (email) ON users TO PUBLIC",
        "extra public.users grant on email to PUBLIC: UPDATE",
    ),
    "grant on a schema": (
        "lifecycle",
        "GRANT CREATE ON SCHEMA ops TO PUBLIC",
        "extra ops grant to PUBLIC: CREATE",
    ),
    "tables of others in public": (
        "lifecycle",
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC; GRANT CREATE ON SCHEMA public TO pg_monitor",
        "extra public grant to pg_monitor: CREATE",
    ),
    "owner changed": (
        "lifecycle",
        "ALTER TABLE users OWNER TO pg_monitor",
        "changed public.users owner: none is pg_monitor",
    ),
    "default privileges": (
        "lifecycle",
        "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC",
        "extra default privileges of postgres on r: default privileges",
    ),
    "row security on": (
        "lifecycle",
        "ALTER TABLE users ENABLE ROW LEVEL SECURITY",
        "changed public.users row security: none is on",
    ),
    "row policy": (
        "lifecycle",
        "CREATE POLICY mine ON users USING (email = current_user)",
        "extra public.users policy mine: ",
    ),
    "rule that swallows writes": (
        "lifecycle",
        "CREATE RULE gone AS ON DELETE TO triggers DO INSTEAD NOTHING",
        "extra public.triggers rule gone: ",
    ),
    "storage option": (
        "lifecycle",
        "ALTER TABLE users SET (autovacuum_enabled = false)",
        "extra public.users option autovacuum_enabled: false",
    ),
    "extra schema": ("lifecycle", "CREATE SCHEMA scratch; CREATE TABLE scratch.a ()", "extra scratch: schema"),
    "type added": ("lifecycle", "CREATE TYPE mood AS ENUM ('ok')", "extra public.mood: enum"),
    "guard of the archive dropped": (
        "lifecycle",
        "DROP VIEW cold.archive_first_lifecycle_events_default",
        "missing cold.archive_first_lifecycle_events_default: view",
    ),
    "trigger disabled": (
        "meeting",
        "ALTER TABLE users DISABLE TRIGGER touch_users",
        "changed public.users trigger touch_users: ",
    ),
    "trigger dropped": (
        "meeting",
        "DROP TRIGGER touch_meetings ON meetings",
        "missing public.meetings trigger touch_meetings: ",
    ),
    "view changed": (
        "meeting",
        "CREATE OR REPLACE VIEW active_meetings_stats AS SELECT id AS meeting_id, title, creator_id, start_time, "
        "0::bigint AS participants, 0::bigint AS open_rooms, 0::bigint AS active_streams FROM meetings",
        "changed public.active_meetings_stats definition: ",
    ),
    "table unlogged": (
        "meeting",
        "ALTER TABLE operation_logs SET UNLOGGED",
        "changed public.operation_logs persistence: permanent is unlogged",
    ),
    "month with a wrong name": (
        "lifecycle",
        TRIGGERED + "ALTER TABLE trigger_executions_2026_11 RENAME TO trigger_executions_november",
        "changed public.trigger_executions_november name: public.trigger_executions_YYYY_MM is ",
    ),
    "month with another month's bounds": (
        "lifecycle",
        TRIGGERED + "ALTER TABLE trigger_executions_2026_11 RENAME TO trigger_executions_2026_12",
        "changed public.trigger_executions_2026_12 bounds: FOR VALUES FROM ('2026-12-01 00:00:00+00')",
    ),
    "month in a local time zone": (
        "lifecycle",
        "SET LOCAL timezone = 'Asia/Shanghai'; CREATE TABLE trigger_executions_2026_11 PARTITION OF trigger_executions "
        "FOR VALUES FROM ('2026-11-01') TO ('2026-12-01')",
        "changed public.trigger_executions_2026_11 bounds: ",
    ),
    "month detached and left lying": (
        "lifecycle",
        MONTH + "ALTER TABLE lifecycle_events DETACH PARTITION lifecycle_events_2026_11",
        "changed public.lifecycle_events_2026_11 attached: yes is no",
    ),
    "month without its guard": (
        "lifecycle",
        MONTH + "DROP VIEW cold.archive_first_lifecycle_events_2026_11",
        "missing cold.archive_first_lifecycle_events_2026_11: view",
    ),
    "month unlogged": (
        "lifecycle",
        MONTH + "ALTER TABLE lifecycle_events_2026_11 SET UNLOGGED",
        "changed public.lifecycle_events_2026_11 persistence: permanent is unlogged",
    ),
    "month with an index of its own": (
        "lifecycle",
        MONTH + "CREATE INDEX own ON lifecycle_events_2026_11 (event_data)",
        "extra public.lifecycle_events_2026_11 index own: ",
    ),
    "month with a grant of its own": (
        "lifecycle",
        MONTH + "GRANT SELECT ON lifecycle_events_2026_11 TO PUBLIC",
        "extra public.lifecycle_events_2026_11 grant to PUBLIC: SELECT",
    ),
    "month with another default": (
        "lifecycle",
        MONTH + "ALTER TABLE lifecycle_events_2026_11 ALTER created_at SET DEFAULT '2020-01-01Z'",
        "changed public.lifecycle_events_2026_11 column created_at: ",
    ),
}
HARMLESS = {
    "nothing": ("lifecycle", "SELECT 1"),
    "nothing in the meeting schema": ("meeting", "SELECT 1"),
    "the months and years ahead": (
        "lifecycle",
        "SELECT ops.create_partition(parent, lower_bound) FROM ops.missing_partitions('2026-12-16Z')",
    ),
    "a December": ("lifecycle", "SELECT ops.create_partition('trigger_executions', '2026-12-01Z')"),
    "a partition that waits to be archived": (
        "lifecycle",
        "SELECT ops.create_partition('lifecycle_events', '2020-01-01Z'); "
        "SELECT ops.detach_partition('lifecycle_events_2020_01', '2026-11-16Z')",
    ),
    "rows": ("lifecycle", "INSERT INTO users (email, current_lifecycle_stage) VALUES ('a@example.com', 'Revenue')"),
    "another time zone of the database": ("lifecycle", "SET LOCAL timezone = 'Asia/Shanghai'"),
}


@pytest.fixture(scope="module")
def living() -> Iterator[dict[str, Connection]]:
    with database("lifecycle") as one, database("meeting") as two, connect(one) as lifecycle, connect(two) as meeting:
        yield {"lifecycle": lifecycle, "meeting": meeting}


@contextmanager
def mutated(connection: Connection, statements: str) -> Iterator[Connection]:
    """A database in which something has happened, and afterwards has not."""
    with connection.transaction(force_rollback=True):
        connection.execute(statements.encode())
        yield connection


def check(connection: Connection, schema: str) -> list[str]:
    differences, unseen = drift.inspect(connection, SCHEMAS / schema)
    return [str(d) for d in differences] + unseen


@pytest.mark.parametrize("name", MUTATIONS)
def test_what_somebody_changed_is_found_and_named(name: str, living: dict[str, Connection]) -> None:
    schema, statements, line = MUTATIONS[name]
    with mutated(living[schema], statements) as connection:
        found = check(connection, schema)
    assert found
    assert found[0].startswith(line), found
    assert all("\n" not in text for text in found)


@pytest.mark.parametrize("name", HARMLESS)
def test_what_belongs_there_is_no_drift(name: str, living: dict[str, Connection]) -> None:
    schema, statements = HARMLESS[name]
    with mutated(living[schema], statements) as connection:
        assert check(connection, schema) == []


@pytest.mark.parametrize("version", sorted(MAJORS))
def test_months_made_by_the_job_are_no_drift_on_any_version(version: int) -> None:
    with database("lifecycle", version) as dsn, connect(dsn) as connection:
        made = connection.execute(
            "SELECT ops.create_partition(parent, lower_bound) FROM ops.missing_partitions('2026-11-16Z')"
        ).fetchall()
        assert len(made) == 4 + 4 + 2
        assert check(connection, "lifecycle") == []


def test_a_partition_that_is_half_detached_is_named() -> None:
    """A DETACH CONCURRENTLY that somebody cancelled; it needs a parent without DEFAULT."""
    with database("lifecycle") as dsn, connect(dsn) as connection, connect(dsn) as reader, connect(dsn) as admin:
        connection.execute("DROP TABLE trigger_executions_default")
        connection.execute("SELECT 1")
        connection.execute(
            "CREATE TABLE trigger_executions_2026_11 PARTITION OF trigger_executions "
            "FOR VALUES FROM ('2026-11-01Z') TO ('2026-12-01Z')"
        )
        with reader.transaction():
            reader.execute("SELECT FROM trigger_executions")
            connection.execute("SET lock_timeout = '50ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                connection.execute(
                    "ALTER TABLE trigger_executions DETACH PARTITION trigger_executions_2026_11 CONCURRENTLY"
                )
            found = check(admin, "lifecycle")
    assert "changed public.trigger_executions_2026_11 attached: yes is half detached" in found


def test_an_invalid_index_is_named() -> None:
    """A CREATE INDEX CONCURRENTLY that failed leaves one behind."""
    with database("meeting") as dsn, connect(dsn) as connection:
        connection.execute("INSERT INTO users (username, email, password_hash) VALUES ('a', 'a', ''), ('b', 'b', '')")
        connection.execute("DROP INDEX idx_users_role")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("CREATE UNIQUE INDEX CONCURRENTLY idx_users_role ON users (role)")
        assert check(connection, "meeting")[0].endswith(" INVALID")


@pytest.mark.parametrize("version", sorted(MAJORS))
def test_everybody_creating_in_public_is_drift_where_it_is_not_the_default(version: int) -> None:
    with database("meeting", version) as dsn, connect(dsn) as connection:
        connection.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
        line = "changed public grant to PUBLIC: USAGE is CREATE, USAGE"
        assert check(connection, "meeting") == ([line] if version >= 15 else [])


def test_the_worst_comes_first(living: dict[str, Connection]) -> None:
    changes = "CREATE TABLE a (); ALTER TABLE users ALTER email TYPE text; DROP INDEX idx_users_created_at"
    with mutated(living["lifecycle"], changes) as connection:
        found = check(connection, "lifecycle")
    assert [line.split()[0] for line in found] == ["missing", "changed", "extra"]


def test_the_catalog_is_read_by_a_role_without_any_right_and_the_policy_rows_are_unknown() -> None:
    with database("lifecycle") as dsn, connect(dsn) as admin:
        admin.execute("DROP ROLE IF EXISTS onlooker; CREATE ROLE onlooker LOGIN")
        with connect(f"{dsn} user=onlooker") as connection:
            assert check(connection, "lifecycle") == [
                "reading which migrations are applied: permission denied for schema holdfast: "
                "grant that, or connect as a role that has it"
            ]
            admin.execute("GRANT USAGE ON SCHEMA holdfast TO onlooker; GRANT SELECT ON holdfast.migrations TO onlooker")
            assert "ops.row_policy: role onlooker may not SELECT from it" in check(connection, "lifecycle")
            live = catalog.read(connection)
            assert live.unread == ("ops.partition_policy", "ops.row_policy")
            found = catalog.compare(catalog.load(SCHEMAS / "lifecycle" / "catalog.json"), live)
            assert {d.object for d in found} == {"holdfast", "holdfast.migrations"}  # the grants of just now
        admin.execute("DROP OWNED BY onlooker; DROP ROLE onlooker")
