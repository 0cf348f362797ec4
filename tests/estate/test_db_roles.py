"""The roles that applications log in as, on real servers: rows of their tables, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest
from postgres import MAJORS, SCHEMAS, database

from holdfast import Database
from holdfast.postgres import catalog, migrations
from holdfast.postgres.connection import Connection, PrivilegeError, connect
from holdfast.postgres.server import Server, temporary
from stacks import lifecycle, meeting

ROLES = {"lifecycle": "lifecycle_app", "meeting": "meeting_app"}
# Typed out by hand: S(elect), I(nsert), U(pdate), D(elete) on a table, and U(sage) of a sequence.
RIGHTS = {
    "lifecycle": {
        "users": "SIUD",
        "workflows": "SIUD",
        "user_segments": "SIUD",
        "user_segment_memberships": "SIUD",
        "triggers": "SIUD",
        "workflow_executions": "SIU",
        "trigger_executions": "SIU",
        "metrics_daily": "SIU",
        "user_lifecycle_history": "SI",
        "lifecycle_events": "SI",
        "user_lifecycle_history_id_seq": "U",
        "lifecycle_events_id_seq": "U",
        "metrics_daily_id_seq": "U",
    },
    "meeting": {
        "users": "SIU",
        "meetings": "SIU",
        "meeting_participants": "SIU",
        "meeting_recordings": "SIU",
        "system_configs": "SIU",
        "meeting_rooms": "SIUD",
        "media_streams": "SIUD",
        "signaling_sessions": "SIUD",
        "signaling_messages": "SIUD",
        "ai_tasks": "SIUD",
        "operation_logs": "SI",
        "active_meetings_stats": "S",
    },
}
HELD = """
SELECT n.nspname || '.' || c.relname, string_agg(left(p, 1), '' ORDER BY k)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
  unnest(CASE WHEN c.relkind = 'S' THEN ARRAY['SELECT', 'USAGE', 'UPDATE']
    ELSE ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER'] END)
    WITH ORDINALITY AS x (p, k)
WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
  AND CASE WHEN c.relkind = 'S' THEN has_sequence_privilege(%(role)s, c.oid, p)
    ELSE has_table_privilege(%(role)s, c.oid, p) END
GROUP BY 1"""


def test_stacks_let_in_the_roles_that_the_migrations_make() -> None:
    stores = [s for stack in (lifecycle.STACK, meeting.STACK) for s in stack.stores if isinstance(s, Database)]
    assert {s.schema: s.role for s in stores} == ROLES


@pytest.mark.parametrize("version", sorted(MAJORS))
@pytest.mark.parametrize("schema", ROLES)
def test_an_application_has_these_rights_on_rows_and_none_beside_them(schema: str, version: int) -> None:
    with database(schema, version) as dsn, connect(dsn) as db:
        held: dict[str, str] = dict(db.execute(HELD, {"role": ROLES[schema]}).fetchall())
        assert held == {f"public.{name}": rights for name, rights in RIGHTS[schema].items()}
        (role,) = db.execute(
            "SELECT rolcanlogin, rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls "
            "FROM pg_roles WHERE rolname = %s",
            (ROLES[schema],),
        ).fetchall()
        assert role == (True, False)


@pytest.mark.parametrize("version", sorted(MAJORS))
def test_an_application_writes_through_its_tables_and_defines_nothing(version: int) -> None:
    with database("lifecycle", version) as dsn, connect(dsn) as admin:
        admin.execute("SELECT ops.create_partition('lifecycle_events', '2026-11-01Z')")
        with connect(f"{dsn} user=lifecycle_app") as app:
            (user,) = app.execute(
                "INSERT INTO users (email, current_lifecycle_stage) VALUES ('a@x', 'Revenue') RETURNING id"
            ).fetchone() or (None,)
            app.execute("INSERT INTO user_lifecycle_history (user_id, to_stage) VALUES (%s, 'Revenue')", (user,))
            for at in ("2026-11-16Z", "2031-01-01Z"):  # a month that is there, and one that is not
                app.execute(
                    "INSERT INTO lifecycle_events (event_type, created_at) VALUES ('seen', %s) RETURNING id", (at,)
                )
            assert app.execute("SELECT count(*) FROM lifecycle_events").fetchone() == (2,)
            app.execute("INSERT INTO users (email, current_lifecycle_stage) VALUES ('b@x', 'Acquisition')")
            app.execute("DELETE FROM users WHERE email = 'b@x'")  # of whom nothing is kept
            for refused in (
                "CREATE TABLE mine (a int)",
                "CREATE SCHEMA mine",
                "ALTER TABLE users ADD phone text",
                "DROP TABLE lifecycle_events",
                "TRUNCATE users",
                "DELETE FROM lifecycle_events",
                "UPDATE user_lifecycle_history SET to_stage = 'Referral'",
                "INSERT INTO lifecycle_events_2026_11 (event_type, created_at) VALUES ('seen', '2026-11-16Z')",
                "SELECT FROM ops.archive_log",
                "SELECT FROM ops.quarantine",
                "INSERT INTO ops.quarantine (parent) VALUES ('users')",
                "SELECT ops.floor_step(now(), interval '1 month')",
                "SELECT FROM holdfast.migrations",
                "CREATE ROLE mine",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    app.execute(refused)


@pytest.mark.parametrize("version", sorted(MAJORS))
def test_q8_an_application_can_delete_no_history_by_itself_or_with_its_user(version: int) -> None:
    with database("lifecycle", version) as dsn, connect(f"{dsn} user=lifecycle_app") as app:
        app.execute("INSERT INTO users (email, current_lifecycle_stage) VALUES ('a@x', 'Revenue')")
        app.execute("INSERT INTO user_lifecycle_history (user_id, to_stage) SELECT id, 'Revenue' FROM users")
        with pytest.raises(psycopg.errors.ForeignKeyViolation, match="user_lifecycle_history"):
            app.execute("DELETE FROM users")
        for refused in (
            "DELETE FROM user_lifecycle_history",
            "TRUNCATE user_lifecycle_history",
            "TRUNCATE users CASCADE",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                app.execute(refused.encode())
        assert app.execute("SELECT count(*) FROM user_lifecycle_history").fetchone() == (1,)


@pytest.mark.parametrize("schema", ROLES)
def test_the_file_that_makes_the_role_may_run_again(schema: str) -> None:
    with database(schema) as dsn, connect(dsn) as db:
        before = catalog.read(db)
        (file,) = [m for m in migrations.load(SCHEMAS / schema) if m.name == "applications"]
        db.execute(file.sql.encode())
        assert catalog.read(db) == before


@pytest.fixture(scope="module", params=sorted({min(MAJORS), max(MAJORS)}))
def rds(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server as RDS gives it: an administrator who is no superuser, and the role that IAM's users are members of."""
    with temporary(MAJORS[request.param]) as server:
        with connect(server.dsn()) as db:
            db.execute("CREATE ROLE rds_iam; CREATE ROLE admin LOGIN CREATEDB CREATEROLE; CREATE ROLE plain LOGIN")
            db.execute("GRANT rds_iam TO admin WITH ADMIN OPTION")
        yield server


@contextmanager
def owned(server: Server, name: str, owner: str = "admin") -> Iterator[Connection]:
    """A connection to a new database as its owner."""
    with connect(server.dsn()) as db:
        db.execute(f"CREATE DATABASE {name} OWNER {owner}".encode())
    with connect(f"{server.dsn(name)} user={owner}") as db:
        yield db


def test_only_who_may_make_roles_makes_the_first_one_and_then_any_owner_migrates(rds: Server) -> None:
    files = migrations.load(SCHEMAS / "meeting")
    with owned(rds, "alone", "plain") as db:
        with pytest.raises(PrivilegeError, match=r"applying V002.*: permission denied to create role"):
            migrations.migrate(db, files)
        with connect(f"{rds.dsn()} user=admin") as admin:
            admin.execute("CREATE ROLE meeting_app LOGIN; GRANT rds_iam TO meeting_app")
        assert [m.version for m in migrations.migrate(db, files).pending] == [m.version for m in files[1:]]


def test_iam_lets_the_application_in_wherever_its_role_is_made_and_two_databases_share_it(rds: Server) -> None:
    files = migrations.load(SCHEMAS / "lifecycle")
    with owned(rds, "one") as one, owned(rds, "two") as two, connect(rds.dsn()) as maker, ThreadPoolExecutor() as pool:
        with maker.transaction():  # somebody makes the same role at this very moment
            maker.execute("CREATE ROLE lifecycle_app LOGIN")
            migrated = pool.submit(migrations.migrate, one, files)
            waiting = "SELECT FROM pg_stat_activity WHERE datname = 'one' AND wait_event_type = 'Lock'"
            with connect(rds.dsn()) as onlooker:
                end = time.monotonic() + 60
                while not onlooker.execute(waiting).rowcount:
                    assert time.monotonic() < end, "nobody waits for the role"
                    assert not migrated.done()
        assert migrated.result().pending == migrations.migrate(two, files).pending == files
        for db in (one, two):
            assert db.execute("SELECT pg_has_role('lifecycle_app', 'rds_iam', 'MEMBER')").fetchone() == (True,)
