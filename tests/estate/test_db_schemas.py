"""The schemas on real servers: what the sources say, and where ours depart from them."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from typing import Any

import psycopg
import pytest
from postgres import MAJORS, SCHEMAS, database
from support import ROOT

from holdfast.postgres import catalog, drift, migrations
from holdfast.postgres.catalog import Catalog, Live
from holdfast.postgres.connection import connect

DOCUMENT = (ROOT / "tests" / "fixtures" / "lifecycle_document.sql").read_bytes()


@cache
def catalog_of(schema: str, version: int = max(MAJORS)) -> Catalog:
    with database(schema, version) as dsn, connect(dsn) as connection:
        return catalog.read(connection).catalog


def documented(version: int) -> Catalog:
    with database(version=version) as dsn, connect(dsn) as connection:
        connection.execute(DOCUMENT)
        return catalog.read(connection).catalog


def public(seen: Catalog) -> Catalog:
    found = {
        section: {name: facts for name, facts in seen[section].items() if name.startswith("public.")}
        for section in ("relations", "functions", "types")
    }
    return {"schemas": {"public": {"kind": "schema"}}, **found}


def tables(seen: Catalog) -> dict[str, Any]:
    return {
        name.removeprefix("public."): facts
        for name, facts in seen["relations"].items()
        if name.startswith("public.") and "table" in facts["kind"] and "partition of" not in facts
    }


@pytest.mark.parametrize("version", sorted(MAJORS))
@pytest.mark.parametrize("schema", ["lifecycle", "meeting"])
def test_the_declared_catalog_is_what_the_migrations_make_on_every_version(schema: str, version: int) -> None:
    assert catalog.dump(catalog_of(schema, version)) == (SCHEMAS / schema / "catalog.json").read_text(), (
        "run `make catalogs`, and review the difference"
    )


@pytest.mark.parametrize("version", sorted(MAJORS))
def test_the_lifecycle_schema_departs_from_its_document_exactly_as_listed(version: int) -> None:
    document, ours = documented(version), catalog_of("lifecycle", version)
    found = catalog.compare(public(document), Live(catalog=public(ours), partitions=(), unread=()))
    listed = tomllib.loads((SCHEMAS / "lifecycle" / "deviations.toml").read_text())["deviation"]
    assert [d["id"] for d in listed] == [f"D{n}" for n in range(1, 11)]
    assert all(d["what"] and d["why"] and d["objects"] for d in listed)
    assert Counter(f"{d.object} {d.aspect}".strip() for d in found) == Counter(o for d in listed for o in d["objects"])


def test_the_document_has_ten_tables_27_constraints_and_35_indexes() -> None:
    seen = tables(documented(max(MAJORS)))
    assert len(seen) == 10
    assert sum(len(t.get("constraints", ())) for t in seen.values()) == 27
    assert sum(len(t["indexes"]) for t in seen.values()) == 35
    assert seen.keys() == tables(catalog_of("lifecycle")).keys()


def test_the_documents_own_partition_example_fails_on_its_own_tables() -> None:
    """Why D6 is there."""
    with database() as dsn, connect(dsn) as connection:
        connection.execute(DOCUMENT)
        with pytest.raises(psycopg.errors.InvalidObjectDefinition, match="is not partitioned"):
            connection.execute(
                "CREATE TABLE lifecycle_events_2024_01 PARTITION OF lifecycle_events "
                "FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')"
            )


@pytest.mark.parametrize("version", sorted(MAJORS))
def test_s2_251_the_documents_partitions_can_be_made_by_its_own_statement(version: int) -> None:
    with database("lifecycle", version) as dsn, connect(dsn) as db:
        for month, first, end in (("2024_01", "2024-01-01", "2024-02-01"), ("2024_02", "2024-02-01", "2024-03-01")):
            statement = (
                f"CREATE TABLE lifecycle_events_{month} PARTITION OF lifecycle_events "
                f"FOR VALUES FROM ('{first}') TO ('{end}')"
            )
            db.execute(statement.encode())
        assert drift.inspect(db, SCHEMAS / "lifecycle") == ([], [])
        db.execute("INSERT INTO lifecycle_events (event_type, created_at) VALUES ('x', '2024-01-31 23:59:59Z')")
        assert db.execute("SELECT tableoid::regclass::text FROM lifecycle_events").fetchall() == [
            ("lifecycle_events_2024_01",)
        ]


@pytest.mark.parametrize("version", sorted(MAJORS))
def test_a_database_in_use_is_brought_to_the_rules_of_today(version: int) -> None:
    """Q1, Q8 and guards for what was made by V001 to V004: months attached, and one on its way to the archive."""
    files = migrations.load(SCHEMAS / "lifecycle")
    with database(version=version) as dsn, connect(dsn) as db:
        migrations.migrate(db, files[:4])
        db.execute("""
            SELECT ops.create_partition('lifecycle_events', m) FROM unnest('{2024-08-01, 2024-09-01}'::timestamptz[]) m;
            INSERT INTO users (email, current_lifecycle_stage) VALUES ('a@example.com', 'Revenue');
            INSERT INTO user_lifecycle_history (user_id, to_stage) SELECT id, 'Revenue' FROM users;
            INSERT INTO workflows (name, bpmn_xml) VALUES ('w', '<x/>');
            INSERT INTO workflow_executions (workflow_id, user_id, status, started_at)
              SELECT w.id, u.id, 'failed', '2024-08-01' FROM workflows w, users u;
            INSERT INTO lifecycle_events (event_type, workflow_execution_id, created_at)
              SELECT 'x', id, at FROM workflow_executions, unnest('{2024-08-02, 2024-09-02}'::timestamptz[]) at;
            SELECT ops.detach_partition('lifecycle_events_2024_08', '2026-11-16Z')""")
        migrations.migrate(db, files)
        assert drift.inspect(db, SCHEMAS / "lifecycle") == ([], [])
        assert db.execute("SELECT ops.purge_rows('workflow_executions', '2026-11-16Z', 9)").fetchall() == [(1,)]
        kept = "SELECT count(workflow_execution_id) FROM lifecycle_events_2024_09 UNION ALL " + (
            "SELECT count(workflow_execution_id) FROM cold.lifecycle_events_2024_08"
        )
        assert db.execute(kept).fetchall() == [(1,), (1,)]
        with pytest.raises(psycopg.errors.ForeignKeyViolation, match="user_lifecycle_history"):
            db.execute("DELETE FROM users")
        db.execute("DROP VIEW cold.archive_first_lifecycle_events_2024_09")
        (lost,), _ = drift.inspect(db, SCHEMAS / "lifecycle")
        assert lost.object == "cold.archive_first_lifecycle_events_2024_09"


# What the meeting system's source names, typed out by hand: columns, unique keys and indexes.
MEETING: dict[str, tuple[str, str, str]] = {
    "users": ("username email role status", "username email", "role status"),
    "meetings": ("creator_id status start_time", "", "creator_id status start_time"),
    "meeting_participants": ("meeting_id user_id status role", "meeting_id,user_id", "status role"),
    "meeting_rooms": ("room_id status meeting_id", "room_id", "status meeting_id"),
    "media_streams": ("room_id user_id stream_type", "", "room_id user_id stream_type"),
    "meeting_recordings": ("meeting_id status", "", "meeting_id status"),
    "signaling_sessions": ("session_id meeting_id status", "session_id", "meeting_id status"),
    "signaling_messages": ("message_id meeting_id from_user_id", "message_id", "meeting_id from_user_id"),
    "ai_tasks": ("task_id task_type status priority", "task_id", "task_type status priority"),
    "system_configs": ("config_key", "config_key", ""),
    "operation_logs": ("user_id", "", "user_id resource_type,resource_id created_at"),
}


def test_the_meeting_schema_has_every_table_unique_key_and_index_of_its_source() -> None:
    seen = tables(catalog_of("meeting"))
    assert seen.keys() == MEETING.keys()
    for table, (_, unique, plain) in MEETING.items():
        for kind, wanted in (("UNIQUE INDEX", unique), ("INDEX", plain)):
            for columns in wanted.split():
                start = f"ON public.{table} USING btree ({columns.replace(',', ', ')})"
                hits = [i for i in seen[table]["indexes"].values() if i.startswith(f"CREATE {kind} ") and start in i]
                assert len(hits) == 1, (table, kind, columns)
                assert " WHERE " not in hits[0], hits


def test_every_column_of_the_meeting_schema_is_named_by_its_source_or_marked_as_assumed() -> None:
    assumed = tomllib.loads((SCHEMAS / "meeting" / "assumed.toml").read_text())
    assert all(assumed["general"].values())
    view = catalog_of("meeting")["relations"]["public.active_meetings_stats"]
    for table, facts in {**tables(catalog_of("meeting")), "active_meetings_stats": view}.items():
        named = {*MEETING[table][0].split(), "created_at", "updated_at"} if table in MEETING else set()
        marked = assumed["columns"].pop(table)
        assert all(marked.values())
        assert facts["columns"].keys() == named | marked.keys(), table
        assert not named & marked.keys(), table
    assert assumed["columns"] == {}


def test_every_table_of_the_meeting_schema_keeps_its_times() -> None:
    for table, facts in tables(catalog_of("meeting")).items():
        assert list(facts["triggers"]) == [f"touch_{table}"]
    with database("meeting") as dsn, connect(dsn) as db:
        db.execute("INSERT INTO system_configs (config_key, config_value, created_at) VALUES ('a', '1', '2020-01-01Z')")
        db.execute("UPDATE system_configs SET config_value = '2', created_at = now(), updated_at = '2019-01-01Z'")
        row = db.execute("SELECT created_at::date::text, now() - updated_at FROM system_configs").fetchone()
        assert row
        assert row[0] == "2020-01-01"
        assert row[1] < timedelta(minutes=1)


# Of every documented unique key: its table, its columns, and values for a row of it beside them.
UNIQUE_KEYS = [
    ("users", "username", "email, password_hash", "gen_random_uuid(), 'x'"),
    ("users", "email", "username, password_hash", "gen_random_uuid(), 'x'"),
    ("meeting_participants", "meeting_id, user_id", "role", "'host'"),
    ("system_configs", "config_key", "config_value", "'1'"),
    ("meeting_rooms", "room_id", "meeting_id", "1"),
    ("signaling_sessions", "session_id", "meeting_id", "1"),
    ("signaling_messages", "message_id", "meeting_id, from_user_id, message_type", "1, 100, 'chat'"),
    ("ai_tasks", "task_id", "task_type", "'summary'"),
]


@pytest.mark.parametrize(
    ("table", "unique", "others", "values"), UNIQUE_KEYS, ids=[f"{t}-{u}" for t, u, *_ in UNIQUE_KEYS]
)
def test_s3_18_20_on_conflict_can_rest_on_every_documented_unique_key(
    table: str, unique: str, others: str, values: str
) -> None:
    """Also where the row that is there is marked deleted."""
    key = "1, 100" if "," in unique else "'same'"
    insert = f"INSERT INTO {table} ({unique}, {others}) VALUES ({key}, {values}) ON CONFLICT ({unique}) DO UPDATE SET "
    with database("meeting") as dsn, connect(dsn) as db:
        db.execute("""
            INSERT INTO users (id, username, email, password_hash) VALUES (100, 'first', 'first@x', '');
            INSERT INTO meetings (id, title, creator_id, start_time) VALUES (1, 'on', 100, now())""")
        db.execute(f"{insert} created_at = now()".encode())
        if "deleted_at" in tables(catalog_of("meeting"))[table]["columns"]:
            db.execute(f"UPDATE {table} SET deleted_at = now()".encode())
            db.execute(f"{insert} deleted_at = NULL".encode())
        else:
            db.execute(f"{insert} created_at = now()".encode())
        count = db.execute(f"SELECT count(*) FROM {table} WHERE ({unique}) = ({key})".encode()).fetchone()
        assert count == (1,)


def test_s3_18_20_rows_that_are_marked_deleted_give_up_the_keys_that_other_rows_have() -> None:
    """The migration meets data of the schema before it, in which a closed account's name was used again."""
    files = migrations.load(SCHEMAS / "meeting")
    with database() as dsn, connect(dsn) as db:
        migrations.migrate(db, files[:2])
        db.execute("""
            INSERT INTO users (id, username, email, password_hash, deleted_at) VALUES
              (1, 'ann', 'ann@x', '', now()), (2, 'ann', 'ann@x', '', now()), (3, 'ann', 'ann@x', '', NULL),
              (4, 'bob', 'bob@x', '', now()), (5, 'cat', 'cat@x', '', NULL);
            INSERT INTO meetings (id, title, creator_id, start_time) VALUES (1, 'on', 3, now()), (2, 'off', 3, now());
            INSERT INTO meeting_participants (id, meeting_id, user_id, deleted_at) VALUES
              (1, 1, 3, NULL), (2, 1, 3, now()), (3, 2, 3, now()), (4, 2, 3, now()), (5, 2, 5, now());
            INSERT INTO system_configs (id, config_key, config_value, deleted_at) VALUES
              (1, 'limit', '1', now()), (2, 'limit', '2', NULL)""")
        migrations.migrate(db, files)
        names = db.execute("SELECT id, username, email FROM users ORDER BY id").fetchall()
        assert names == [
            (1, "ann~1", "ann@x~1"),
            (2, "ann~2", "ann@x~2"),
            (3, "ann", "ann@x"),
            (4, "bob", "bob@x"),
            (5, "cat", "cat@x"),
        ]
        assert db.execute("SELECT id FROM meeting_participants ORDER BY id").fetchall() == [(1,), (4,), (5,)]
        settings = db.execute("SELECT config_key, config_value FROM system_configs ORDER BY id").fetchall()
        assert settings == [("limit~1", 1), ("limit", 2)]


def test_an_account_keeps_its_name_whether_it_is_closed_or_not() -> None:
    insert = "INSERT INTO users (username, email, password_hash) VALUES ('ann', %s, 'x')"
    with database("meeting") as dsn, connect(dsn) as db:
        db.execute(insert, ("ann@example.com",))
        for closed in ("NULL", "now()"):
            db.execute(f"UPDATE users SET deleted_at = {closed}".encode())
            with pytest.raises(psycopg.errors.UniqueViolation, match="uq_users_username"):
                db.execute(insert, ("other@example.com",))


def test_active_meetings_are_counted_once_however_many_streams_they_have() -> None:
    with database("meeting") as dsn, connect(dsn) as db:
        db.execute("""
            INSERT INTO users (id, username, email, password_hash) VALUES (1, 'a', 'a@x', ''), (2, 'b', 'b@x', '');
            INSERT INTO meetings (id, title, creator_id, status, start_time)
              VALUES (1, 'on', 1, 'ongoing', now()), (2, 'off', 1, 'ended', now());
            INSERT INTO meeting_participants (meeting_id, user_id, status) VALUES (1, 1, 'joined'), (1, 2, 'joined');
            INSERT INTO meeting_rooms (room_id, meeting_id) VALUES ('r', 1);
            INSERT INTO media_streams (room_id, user_id, stream_type)
              VALUES ('r', 1, 'audio'), ('r', 1, 'video'), ('r', 2, 'audio')""")
        rows = db.execute(
            "SELECT meeting_id, participants, open_rooms, active_streams FROM active_meetings_stats"
        ).fetchall()
    assert rows == [(1, 2, 1, 3)]


def test_s3_29_no_step_of_the_statistics_makes_pairs_of_participants_and_streams() -> None:
    """By the rows that each step of the plan really had; a product would have 50 * 20 * 30 = 30,000."""
    meetings, participants, streams = 50, 20, 30
    with database("meeting") as dsn, connect(dsn) as db:
        db.execute(
            f"""
            INSERT INTO users (id, username, email, password_hash)
              SELECT n, n, n || '@x', '' FROM generate_series(1, {participants}) n;
            INSERT INTO meetings (id, title, creator_id, status, start_time)
              SELECT n, 'on', 1, 'ongoing', now() FROM generate_series(1, {meetings}) n;
            INSERT INTO meeting_participants (meeting_id, user_id, status)
              SELECT m, u, 'joined' FROM generate_series(1, {meetings}) m, generate_series(1, {participants}) u;
            INSERT INTO meeting_rooms (room_id, meeting_id) SELECT m, m FROM generate_series(1, {meetings}) m;
            INSERT INTO media_streams (room_id, user_id, stream_type)
              SELECT m, 1, 'audio' FROM generate_series(1, {meetings}) m, generate_series(1, {streams});
            ANALYZE""".encode()
        )
        counted = db.execute("SELECT participants, open_rooms, active_streams FROM active_meetings_stats").fetchall()
        explained = db.execute("EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM active_meetings_stats").fetchone()
    assert counted == [(participants, 1, streams)] * meetings
    assert explained
    assert max(_rows(explained[0][0]["Plan"])) <= meetings * (participants + streams)


def _rows(plan: dict[str, Any]) -> Iterator[float]:
    """How many rows each step of a plan had, in all of its rounds."""
    yield plan["Actual Rows"] * plan["Actual Loops"]
    for step in plan.get("Plans", ()):
        yield from _rows(step)
