"""Migrations on a real server: each file once, whole or not at all, and never one that was changed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from postgres import database
from support import ROOT

from holdfast.errors import InputError
from holdfast.postgres.connection import Connection, PrivilegeError, connect
from holdfast.postgres.migrations import Migration, load, migrate, plan

FIRST = Migration(version=1, name="first", sql="CREATE TABLE one (a int);\n")
SECOND = Migration(version=2, name="second", sql="CREATE TABLE two (a int);\n")


def there(connection: Connection, table: str) -> bool:
    return connection.execute("SELECT to_regclass(%s) IS NOT NULL", (table,)).fetchone() == (True,)


def applied(connection: Connection) -> list[int]:
    return [row[0] for row in connection.execute("SELECT version FROM holdfast.migrations ORDER BY version")]


def test_each_file_is_applied_once_and_the_plan_says_so_before() -> None:
    with database() as dsn, connect(dsn) as connection:
        assert plan(connection, [FIRST, SECOND]).pending == (FIRST, SECOND)
        assert not there(connection, "holdfast.migrations")
        assert migrate(connection, [FIRST]).pending == (FIRST,)
        assert migrate(connection, [FIRST, SECOND]).pending == (SECOND,)
        assert migrate(connection, [FIRST, SECOND]).pending == ()
        assert applied(connection) == [1, 2]


def test_a_file_that_was_changed_is_refused_by_name_before_anything_is_applied() -> None:
    with database() as dsn, connect(dsn) as connection:
        migrate(connection, [FIRST])
        tampered = replace(FIRST, sql=FIRST.sql + "-- harmless?\n")
        for act in (plan, migrate):
            with pytest.raises(InputError, match=r"^V001__first.sql was changed after it was applied .* next number$"):
                act(connection, [tampered, SECOND])
        with pytest.raises(InputError, match=r"V001__renamed.sql was changed after it was applied as V001__first.sql"):
            migrate(connection, [replace(FIRST, name="renamed"), SECOND])
        assert not there(connection, "two")


def test_other_line_endings_are_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "V001__a.sql").write_bytes(b"SELECT 1;\r\nSELECT 2;\r\n")
    (one,) = load(tmp_path)
    (tmp_path / "V001__a.sql").write_bytes(b"SELECT 1;\nSELECT 2;\n")
    (two,) = load(tmp_path)
    assert one.sha256 == two.sha256


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({"V001__a.sql": "", "V003__c.sql": ""}, "V003__c.sql should be V002: files count from V001 without a gap"),
        ({"V001__a.sql": "", "V001__b.sql": ""}, "V001__b.sql should be V002: files count from V001 without a gap"),
        ({"V002__a.sql": ""}, "V002__a.sql should be V001: files count from V001 without a gap"),
        ({"V1__a.sql": ""}, "V1__a.sql has no number: call it V###__name.sql, in lower case"),
        ({"V001__A b.sql": ""}, "V001__A b.sql has no number: call it V###__name.sql, in lower case"),
        ({}, " holds no migrations: write V001__name.sql"),
        (
            {"V001__a.sql": "SELECT 'COMMIT;';\n-- x\n  commit;"},
            "V001__a.sql line 3: COMMIT has no place here: each file is one transaction",
        ),
        ({"V001__a.sql": b"\xff"}, "V001__a.sql is not UTF-8: save it as UTF-8"),
    ],
)
def test_bad_files_are_refused_in_one_line(files: dict[str, str | bytes], line: str, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as refused:
        load(tmp_path)
    assert str(refused.value).endswith(line)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("sql", "line"),
    [
        ("CREATE TABLE half (a int);\n\n-- ;\nSELECT ';' || $$;$$ /* ; */,\n  1/0;\nSELECT 1;", 4),
        ("CREATE TABLE half (a int);\nSELECT\n  nope;", 3),
        ("CREATE TABLE half (a int);\nDO $x$\nBEGIN\n  RAISE 'no';\nEND $x$;", 2),
        ("CREATE TABLE half (a int);\nCREATE TABLE half (a int);", 2),
        ("CREATE TABLE half (a int);\n\nINSERT INTO half VALUES (1), ('x');", 3),
    ],
)
def test_a_file_that_fails_leaves_nothing_and_names_its_line(sql: str, line: int) -> None:
    failing = Migration(version=2, name="failing", sql=sql)
    with database() as dsn, connect(dsn) as connection:
        with pytest.raises(InputError) as failed:
            migrate(connection, [FIRST, failing])
        assert str(failed.value).startswith(f"V002__failing.sql line {line}: ")
        assert str(failed.value).endswith("; nothing of this file was kept")
        assert not there(connection, "half")
        assert applied(connection) == [1]
        assert migrate(connection, [FIRST, SECOND]).pending == (SECOND,)


def test_a_file_that_waits_for_data_is_refused() -> None:
    with database() as dsn:
        with connect(dsn) as connection, pytest.raises(InputError, match="COPY from standard input has no place here"):
            migrate(connection, [replace(FIRST, sql=FIRST.sql + "COPY one FROM stdin;")])
        with connect(dsn) as connection:
            assert not there(connection, "one")


def test_an_older_package_leaves_a_newer_database_alone() -> None:
    """A deployment fails at V003 and is rolled back: the package before it runs again, and must not fail too."""
    failing = Migration(version=3, name="third", sql="SELECT 1/0")
    with database() as dsn, connect(dsn) as connection:
        migrate(connection, [FIRST])
        with pytest.raises(InputError, match=r"V003__third.sql line 1: division by zero"):
            migrate(connection, [FIRST, SECOND, failing])
        found = migrate(connection, [FIRST])
        assert found.ahead == ("V002__second.sql",)
        assert found.pending == ()
        assert applied(connection) == [1, 2]


def test_runners_at_once_apply_each_file_once() -> None:
    code = (
        "import sys; from pathlib import Path; from holdfast.postgres.connection import connect; "
        "from holdfast.postgres.migrations import load, migrate; "
        "print(len(migrate(connect(sys.argv[1]), load(Path(sys.argv[2]))).pending))"
    )
    folder = ROOT / "schemas" / "lifecycle"
    with database() as dsn:
        runners = [
            subprocess.Popen([sys.executable, "-c", code, dsn, str(folder)], stdout=subprocess.PIPE, text=True)
            for _ in range(3)
        ]
        said = sorted(int(runner.communicate(timeout=60)[0]) for runner in runners)
        assert [runner.returncode for runner in runners] == [0] * 3
        assert said == [0] * 2 + [len(load(folder))]
        with connect(dsn) as connection:
            assert applied(connection) == [m.version for m in load(folder)]


def test_what_a_role_has_set_does_not_change_what_a_file_means() -> None:
    bounds = Migration(
        version=1,
        name="bounds",
        sql="CREATE TABLE t (at timestamptz) PARTITION BY RANGE (at);\n"
        "CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('2024-02-01'); SET search_path = nowhere;",
    )
    with database() as dsn, connect(dsn) as connection:
        connection.execute("CREATE SCHEMA postgres; SET timezone = 'Asia/Shanghai'; SET statement_timeout = 1000")
        migrate(connection, [bounds, SECOND])
        connection.execute("SET timezone = 'UTC'")
        found = connection.execute(
            "SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE oid = 'public.t_1'::regclass"
        ).fetchone()
        assert found == ("FOR VALUES FROM ('2024-01-01 00:00:00+00') TO ('2024-02-01 00:00:00+00')",)
        assert there(connection, "public.two")


def test_a_role_that_may_not_create_and_a_server_that_takes_no_writes_say_so() -> None:
    with database() as dsn, connect(dsn) as admin:
        admin.execute("DROP ROLE IF EXISTS poor; CREATE ROLE poor LOGIN")
        name = admin.info.dbname
        with connect(f"{dsn} user=poor") as poor, pytest.raises(PrivilegeError) as refused:
            migrate(poor, [FIRST])
        assert str(refused.value) == (
            f"applying V001__first.sql: permission denied for database {name}: "
            "grant that, or connect as a role that has it"
        )
        admin.execute("DROP ROLE poor")
        read_only = f"{dsn} options='-c default_transaction_read_only=on'"
        with connect(read_only) as standby, pytest.raises(InputError, match=r"takes no writes .* to the primary$"):
            migrate(standby, [FIRST])


def test_a_connection_that_is_lost_in_the_middle_loses_nothing() -> None:
    cut = replace(SECOND, sql="CREATE TABLE two (a int); SELECT pg_terminate_backend(pg_backend_pid());")
    with database() as dsn:
        lost = r"V002__second.sql: the connection was lost .* run again$"
        with connect(dsn) as connection, pytest.raises(InputError, match=lost):
            migrate(connection, [FIRST, cut])
        with connect(dsn) as connection:
            assert not there(connection, "two")
            assert migrate(connection, [FIRST, SECOND]).pending == (SECOND,)


def test_the_lock_is_given_back_even_after_a_failure() -> None:
    with database() as dsn, connect(dsn) as one, connect(dsn) as two:
        with pytest.raises(InputError):
            migrate(one, [replace(FIRST, sql="SELECT 1/0")])
        two.execute("SET lock_timeout = '2s'")
        assert migrate(two, [FIRST]).pending == (FIRST,)
        with pytest.raises(psycopg.errors.DuplicateTable):
            two.execute("CREATE TABLE one ()")
