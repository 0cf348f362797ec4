"""Archives: what restore-check finds, what no store ever does, and that S3 is no exception."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import pwd
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import boto3
import pytest
from botocore.stub import Stubber
from emulator import Aws, fresh_account
from lifecycle_database import NOW, archived, database, events, fill_months, live
from postgres import server
from support import Json

from holdfast import cli
from holdfast.errors import InputError
from holdfast.live.s3 import S3
from holdfast.postgres.archive import ArchiveError, Checked, Folder, Manifest, check, open_store
from holdfast.postgres.connection import Connection, connect
from holdfast.postgres.retention import run

HOME = "lifecycle_events/lifecycle_events_2024_08/part-001"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of one month in three chunks, and of two empty months."""
    folder = tmp_path_factory.mktemp("archive")
    with database() as dsn, connect(dsn) as db:
        fill_months(db)
        events(db, "2024-08-01", 120)
        run(db, Folder(path=folder), now=NOW, chunk_rows=50)
    return folder


@pytest.fixture
def copy(written: Path, tmp_path: Path) -> Path:
    """The same, to be spoiled."""
    return Path(shutil.copytree(written, tmp_path / "copy"))


@pytest.fixture(scope="module")
def scratch() -> Iterator[Connection]:
    with connect(server().dsn()) as db:
        yield db


def checked(where: Path | str, scratch: Connection) -> list[Checked]:
    return check(str(where), lambda: scratch, lambda _: None)


def chunks(folder: Path) -> list[Path]:
    return sorted((folder / HOME).glob("*.csv.gz"))


def test_a_sound_archive_is_found_as_a_whole_by_month_and_by_its_manifest(written: Path, scratch: Connection) -> None:
    for where, rows in ((written, [120, 0, 0]), (written / HOME, [120]), (written / HOME / "manifest.json", [120])):
        found = checked(where, scratch)
        assert [c.wrong or c.unread for c in found] == [""] * len(rows)
        assert [c.manifest.rows for c in found if c.manifest] == rows


def flip(path: Path) -> None:
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 1
    path.write_bytes(body)


def rewrite(path: Path, change: Callable[[Json], object], *, sign: bool = True) -> None:
    """A manifest changed by somebody who knows how it is signed."""
    document = json.loads(path.read_bytes())
    change(document)
    del document["sha256"]
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(document | {"sha256": digest if sign else "0" * 64}))


def recount(document: Json) -> None:
    document["rows"] += 1
    document["chunks"][0]["rows"] += 1


def forget_a_chunk(folder: Path) -> None:
    def forget(document: Json) -> None:
        document["rows"] -= document["chunks"].pop()["rows"]

    rewrite(folder / HOME / "manifest.json", forget)
    chunks(folder)[2].unlink()


def other_rows(folder: Path) -> None:
    """A chunk with one value changed, and a manifest that agrees with it in everything but the database's word."""
    path = chunks(folder)[0]
    text = gzip.decompress(path.read_bytes()).replace(b"say", b"sad", 1)
    body = gzip.compress(text, mtime=0)
    path.write_bytes(body)

    def agree(document: Json) -> None:
        document["chunks"][0] |= {"sha256": hashlib.sha256(body).hexdigest(), "bytes": len(body)}

    rewrite(folder / HOME / "manifest.json", agree)


SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a flipped byte": (lambda f: flip(chunks(f)[1]), "000002-[0-9a-f]{16}.csv.gz is damaged: its SHA-256 is"),
    "a cut off chunk": (lambda f: os.truncate(chunks(f)[0], 100), "000001-[0-9a-f]{16}.csv.gz is damaged"),
    "a missing chunk": (lambda f: chunks(f)[2].unlink(), "000003-[0-9a-f]{16}.csv.gz is missing"),
    "an extra chunk": (
        lambda f: (f / HOME / "000004-00.csv.gz").write_bytes(b"x"),
        "part-001/000004-00.csv.gz is in no manifest",
    ),
    "a missing manifest": (lambda f: (f / HOME / "manifest.json").unlink(), f"{HOME} holds chunks and no manifest"),
    "a cut off manifest": (
        lambda f: os.truncate(f / HOME / "manifest.json", 700),
        "part-001/manifest.json is no whole manifest",
    ),
    "an empty manifest": (lambda f: os.truncate(f / HOME / "manifest.json", 0), "manifest.json is no whole manifest"),
    "a manifest that is a list": (
        lambda f: (f / HOME / "manifest.json").write_text("[]"),
        "manifest.json is no whole manifest",
    ),
    "a changed manifest": (
        lambda f: rewrite(f / HOME / "manifest.json", recount, sign=False),
        "manifest.json was changed after it was written",
    ),
    "a wrong count of a chunk": (
        lambda f: rewrite(f / HOME / "manifest.json", recount),
        "000001-[0-9a-f]{16}.csv.gz has 50 rows, and the manifest says 51",
    ),
    "a wrong count of all": (
        lambda f: rewrite(f / HOME / "manifest.json", lambda d: d.update(rows=119)),
        "manifest.json says 119 rows, and its chunks have others",
    ),
    "a chunk that the manifest lost": (
        forget_a_chunk,
        "manifest.json: the rows read back are not those that were archived",
    ),
    "rows changed with all hashes": (other_rows, "the rows read back are not those that were archived"),
    "columns that are code": (
        lambda f: rewrite(f / HOME / "manifest.json", lambda d: d["columns"][0].update(type="int); DROP TABLE x; --(")),
        "which is not built in",
    ),
    "columns that do not exist": (
        lambda f: rewrite(f / HOME / "manifest.json", lambda d: d["columns"][0].update(type="mood")),
        "its columns make no table",
    ),
    "columns of another type": (
        lambda f: rewrite(f / HOME / "manifest.json", lambda d: d["columns"][1].update(type="integer")),
        "000001-[0-9a-f]{16}.csv.gz does not load: invalid input syntax",
    ),
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_spoiled_archive_is_found_and_the_object_named(how: str, copy: Path, scratch: Connection) -> None:
    spoil, words = SPOILED[how]
    spoil(copy)
    found = checked(copy, scratch)
    (bad,) = [c.wrong for c in found if c.wrong]
    assert "\n" not in bad
    with pytest.raises(ArchiveError, match=words):
        raise ArchiveError(bad)
    assert len([c for c in found if c.manifest]) == 2  # the other months are still checked
    assert scratch.execute("SELECT to_regclass('restored')").fetchone() == (None,)


def test_no_byte_of_a_manifest_changes_unnoticed(written: Path) -> None:
    text = (written / HOME / "manifest.json").read_bytes()
    whole = Manifest.from_json(text, "m")
    for n in range(len(text)):
        spoiled = bytearray(text)
        spoiled[n] ^= 1
        try:
            assert Manifest.from_json(bytes(spoiled), "m") == whole  # a space between two words, at most
            assert chr(text[n]).isspace()
        except (ArchiveError, InputError):
            pass


def test_the_same_content_again_is_no_change_and_other_content_is_refused(tmp_path: Path) -> None:
    store = Folder(path=tmp_path)
    store.put("a/b", b"one")
    store.put("a/b", b"one")
    with pytest.raises(ArchiveError, match="a/b is there already with other content"):
        store.put("a/b", b"two")
    assert store.get("a/b") == b"one"
    assert store.get("a/c") is None
    assert store.names() == ["a/b"]


def test_a_half_written_file_is_no_object(tmp_path: Path) -> None:
    (tmp_path / ".000001.csv.gz.partial").write_bytes(b"x")
    assert Folder(path=tmp_path).names() == []


@pytest.mark.parametrize("where", ["s3://", "s3://UPPER/x", "ftp://host/x", "s3://a"])
def test_a_place_that_is_none_is_said(where: str) -> None:
    with pytest.raises(InputError, match="is no place for an archive"):
        open_store(where)


def said(capsys: pytest.CaptureFixture[str]) -> tuple[list[str], list[str]]:
    out, err = capsys.readouterr()
    return out.splitlines(), err.splitlines()


def test_the_command_reads_an_archive_back(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["db", "restore-check", str(copy)]) == 0
    out, err = said(capsys)
    assert (len(out), err) == (3, [])
    assert out[0].startswith(f"ok {HOME}: 120 rows, 3 chunks, ")
    flip(chunks(copy)[0])
    assert cli.main(["db", "restore-check", str(copy)]) == 1
    out, err = said(capsys)
    assert [line.split()[0] for line in out] == ["fail", "ok", "ok"]


@pytest.mark.parametrize("where", ["nowhere", "empty", "empty/manifest.json", "s3://-/x"])
def test_input_that_is_no_archive_ends_with_2(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    assert cli.main(["db", "restore-check", where]) == 2
    out, err = said(capsys)
    assert (out, len(err)) == ([], 1)
    assert where in err[0]


@contextmanager
def nobody() -> Iterator[None]:
    """As a user without rights: for root no file is unreadable."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)


def test_what_may_not_be_read_is_unknown_and_ends_with_3(
    written: Path, scratch: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    with tempfile.TemporaryDirectory() as place:  # pytest's own folders are closed to others
        Path(place).chmod(0o755)
        folder = Path(shutil.copytree(written, Path(place, "copy")))
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)  # as no archive of ours is
        secret = chunks(folder)[0]
        secret.chmod(0)
        with nobody():
            found = checked(folder, scratch)
        assert [c.unread for c in found] == [f"{secret} cannot be read (Permission denied)", "", ""]
        assert [c.wrong for c in found] == [""] * 3
        (folder / "lifecycle_events").chmod(0)
        with nobody():
            assert cli.main(["db", "restore-check", str(folder)]) == 3
        assert said(capsys) == ([f"unknown {folder / 'lifecycle_events'} cannot be read (Permission denied)"], [])
        (folder / "lifecycle_events").chmod(0o755)


def test_what_is_archived_is_private_whatever_the_umask_and_what_was_there(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = Folder(path=tmp_path / "a" / "archive")
        store.put("table/month/chunk", b"rows")
        (store.path / "table" / "month").chmod(0o755)
        (store.path / "table" / "month" / "chunk").chmod(0o644)
        (store.path / "table" / "month" / ".next.partial").write_bytes(b"of a run that was cut off")
        for name in ("chunk", "next"):
            store.put(f"table/month/{name}", b"rows")
    finally:
        os.umask(before)
    modes = {p.relative_to(tmp_path).as_posix(): p.stat().st_mode & 0o777 for p in tmp_path.rglob("*")}
    files = {"a/archive/table/month/chunk": 0o600, "a/archive/table/month/next": 0o600}
    folders = ("a", "a/archive", "a/archive/table", "a/archive/table/month")
    assert modes == files | dict.fromkeys(folders, 0o700)


def test_a_folder_that_others_may_enter_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(InputError, match=r"is open to others \(mode 0755\) and rows are private: chmod 700 it, or "):
        Folder(path=tmp_path).put("chunk", b"rows")
    assert (tmp_path.stat().st_mode & 0o777, list(tmp_path.iterdir())) == (0o755, [])


# S3


@pytest.fixture
def aws() -> Aws:
    return fresh_account()


@pytest.fixture
def bucket(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> str:
    """A bucket that lets nobody delete or overwrite for a day."""
    for variable, value in aws.environment().items():
        monkeypatch.setenv(variable, value)
    client, name = aws.client("s3"), f"cold-{aws.account}"
    client.create_bucket(Bucket=name, ObjectLockEnabledForBucket=True)
    rule = {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 1}}
    client.put_object_lock_configuration(
        Bucket=name, ObjectLockConfiguration={"ObjectLockEnabled": "Enabled", "Rule": rule}
    )
    return name


def test_rows_go_to_a_locked_bucket_and_come_back(
    bucket: str, aws: Aws, scratch: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    store = open_store(f"s3://{bucket}/lifecycle/")
    with database() as dsn, connect(dsn) as db:
        fill_months(db)
        events(db, "2024-08-01", 120)
        rows = live(db)
        ticks = iter([100.0] * 2)
        cut = run(db, store, now=NOW, time_left=lambda: next(ticks, 5.0), chunk_rows=50)
        assert cut.unfinished == "lifecycle_events_2024_08"
        assert run(db, store, now=NOW, chunk_rows=50).unfinished is None
        assert db.execute("SELECT manifest FROM ops.archive_log ORDER BY 1").fetchone() == (
            f"s3://{bucket}/lifecycle/{HOME}/manifest.json",
        )
    assert archived(store) == rows
    client = aws.client("s3")
    versions = client.list_object_versions(Bucket=bucket)["Versions"]
    assert len(versions) == len({v["Key"] for v in versions}) == 3 + 3  # nothing was written twice
    first = client.get_object(Bucket=bucket, Key=versions[0]["Key"], ChecksumMode="ENABLED")
    assert first["ObjectLockMode"] == "GOVERNANCE"
    assert first["ChecksumSHA256"]
    for where, count in ((f"s3://{bucket}/lifecycle", 3), (f"s3://{bucket}/lifecycle/{HOME}/manifest.json", 1)):
        assert len([c for c in checked(where, scratch) if c.manifest]) == count
    spoiled = next(v["Key"] for v in versions if "000002" in v["Key"])
    client.put_object(Bucket=bucket, Key=spoiled, Body=b"another version")
    assert cli.main(["db", "restore-check", f"s3://{bucket}/lifecycle"]) == 1
    assert f"s3://{bucket}/{spoiled} is damaged" in capsys.readouterr().out


def test_s3_keeps_what_it_has(bucket: str) -> None:
    store = open_store(f"s3://{bucket}")
    store.put("a/b", b"one")
    store.put("a/b", b"one")
    with pytest.raises(ArchiveError, match=f"s3://{bucket}/a/b is there already with other content"):
        store.put("a/b", b"two")
    assert (store.get("a/b"), store.get("a"), store.names()) == (b"one", None, ["a/b"])


def test_a_bucket_that_is_not_there_is_said(bucket: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["db", "restore-check", "s3://another-bucket/x"]) == 2
    (line,) = said(capsys)[1]
    assert "s3:ListBucket was refused (NoSuchBucket)" in line


def test_missing_credentials_and_an_end_point_that_does_not_answer_are_said(
    bucket: str, aws: Aws, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(InputError, match=r"Could not connect .* check credentials, region and endpoint"):
        open_store(f"s3://{bucket}/x").names()
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.endpoint)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(InputError, match="Unable to locate credentials: check credentials"):
        open_store(f"s3://{bucket}/x").names()


def test_a_refused_action_is_named() -> None:
    """The emulator refuses nothing, so botocore's own stub does."""
    client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    with Stubber(client) as stub:
        stub.add_client_error("get_object", "AccessDenied", http_status_code=403)
        with pytest.raises(PermissionError, match="s3:GetObject is needed") as denied:
            S3(bucket="cold", prefix="p", client=client).get("n")
    assert denied.value.filename == "s3://cold/p/n"


class Glacier(BaseHTTPRequestHandler):
    """S3 with one archive in it that has gone to the coldest class. No emulator has one."""

    def do_GET(self) -> None:
        listing = "list-type=2" in self.path
        key = f"<Contents><Key>old/{HOME}/manifest.json</Key></Contents>"
        cold = "<Code>InvalidObjectState</Code><StorageClass>DEEP_ARCHIVE</StorageClass>"
        body = f"<ListBucketResult>{key}</ListBucketResult>" if listing else f"<Error>{cold}</Error>"
        self.send_response(200 if listing else 403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Nothing: what a test server hears is no output."""


def test_an_archive_in_the_coldest_class_is_unknown_until_it_is_restored(
    bucket: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Glacier) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        for where in (f"s3://{bucket}/old", f"s3://{bucket}/old/{HOME}/manifest.json"):
            assert cli.main(["db", "restore-check", where]) == 3
            assert said(capsys)[0] == [
                f"unknown s3://{bucket}/old/{HOME}/manifest.json cannot be read (it is in DEEP_ARCHIVE: "
                "call `aws s3api restore-object` for all beside it, and run again when it is back)"
            ]
        server.shutdown()
