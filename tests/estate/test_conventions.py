"""Names that applications build: as documented, and no value can leave its family, folder or path."""

from __future__ import annotations

import fnmatch
import posixpath
import subprocess
import sys
from datetime import timedelta

import pytest
from declare import estate
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast import Broker, Bucket, Cache, Data, DeclarationError, KeyFamily, Prefix, Registry, Service, Topic
from stacks import meeting_conventions as names

FAMILIES = names.CACHE.families
anything = st.text(max_size=40) | st.text("abz09:*?[]{}\\ /.-_\n\0", max_size=12)


def test_names_are_as_the_source_writes_them() -> None:
    assert names.SESSION.key("abc") == "session:abc"
    assert names.ROOM.key("42") == "room:42"
    assert names.RATE.key("mia") == "rate:mia"
    assert names.LOCK.key("meeting-42") == "lock:meeting-42"
    assert names.BROKER.topic(names.TASKS) == "meeting.tasks"
    assert names.BROKER.topic(names.DEAD_TASKS) == "meeting.tasks.dlq"
    assert names.BROKER.topic(names.SYSTEM_EVENTS) == "meeting.system_events"
    assert names.RECORDINGS.key(meeting_id="42", file="part-1.m3u8") == "recordings/42/part-1.m3u8"
    assert names.UPLOADS.key(uuid="9f3c", ext="pdf") == "media/uploads/9f3c.pdf"
    assert names.AVATARS.key(user_id="7") == "media/avatars/7.jpg"
    assert names.TEMP.key(file="x") == "temp/x"
    assert names.REGISTRY.parameter("media-service", "grpc_port") == (
        "/meeting-system/config/services/media-service/grpc_port"
    )
    assert names.REGISTRY.instance("media-service", "3") == "/meeting-system/services/media-service/instance_3"


def test_every_family_expires_and_only_rooms_live_for_days() -> None:
    seconds = {f.pattern: f.seconds for f in FAMILIES}
    assert seconds == {
        "session:{id}": 43_200,
        "room:{meeting_id}": 86_400,
        "rate:{user}": 60,
        "lock:{resource}": 30,
        "cache:meeting:{id}": 300,
        "cache:user:{id}": 300,
    }


def test_the_pool_has_the_documented_figures() -> None:
    assert (names.POOL.max_idle, names.POOL.max_open, names.POOL.max_lifetime.total_seconds()) == (10, 100, 3600)


def test_whatever_the_source_does_not_give_is_marked_assumed() -> None:
    assert {what for what, _, _ in names.CACHE.assumptions()} == {f.pattern for f in FAMILIES}
    topics = {"meeting.tasks", "meeting.tasks.dlq", "meeting.system_events"}
    assert {what for what, _, _ in names.BROKER.assumptions()} == topics
    assert {what for what, _, _ in names.REGISTRY.assumptions()} == {
        "services",
        "ports",
        "Cloud Map and Parameter Store",
        "snapshot",
    }


def test_applications_import_the_conventions_without_cdk_boto3_or_psycopg() -> None:
    code = "import sys, stacks.meeting_conventions; print(*{'aws_cdk', 'boto3', 'psycopg', 'jsii'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@given(anything, st.sampled_from(FAMILIES))
def test_no_value_leaves_its_key_family(value: str, family: KeyFamily) -> None:
    try:
        key = family.key(value)
    except ValueError:
        return
    owners = [f for f in FAMILIES if fnmatch.fnmatchcase(key, f"{f.prefix}*")]
    assert owners == [family]
    assert key.count(":") == family.pattern.count(":")
    assert key.encode().decode() == key
    assert not set(key) & set("*?[]{}\\ \n\0")


@given(anything, anything, st.sampled_from(FAMILIES))
def test_two_members_never_share_a_key(one: str, other: str, family: KeyFamily) -> None:
    assume(one != other)
    try:
        assert family.key(one) != family.key(other)
    except ValueError:
        return


@given(anything, anything)
def test_no_value_leaves_its_folder(one: str, other: str) -> None:
    for prefix, fields in (
        (names.RECORDINGS, {"meeting_id": one, "file": other}),
        (names.UPLOADS, {"uuid": one, "ext": other}),
        (names.AVATARS, {"user_id": one}),
        (names.TEMP, {"file": one}),
    ):
        try:
            key = prefix.key(**fields)
        except ValueError:
            continue
        assert key.startswith(prefix.folder)
        assert posixpath.normpath(key) == key
        assert key.count("/") == prefix.path.count("/")
        assert [p for p in names.PREFIXES if key.startswith(p.folder)] == [prefix]


@given(anything)
def test_no_instance_leaves_its_service(value: str) -> None:
    try:
        path = names.REGISTRY.instance("ai-service", value)
    except ValueError:
        return
    assert posixpath.dirname(path) == "/meeting-system/services/ai-service"
    assert posixpath.normpath(path) == path
    assert len(posixpath.basename(path)) <= 64
    assert posixpath.basename(path) == f"instance_{value}"


@given(anything)
def test_no_prefix_makes_a_topic_that_kafka_refuses(value: str) -> None:
    try:
        topic = names.BROKER.topic(names.TASKS, value)
    except DeclarationError:
        return
    assert topic == f"{value}.tasks"
    assert topic.isascii()
    assert not set(topic) & set(" :/*\n\0")
    assert value[0].isalnum()


@pytest.mark.parametrize(
    ("family", "value"),
    [(names.SESSION, v) for v in ("", "a:b", "*", "a b", "a\n", "\0", "\ud800", "{x}")] + [(names.CACHED_USER, "x:y")],
)
def test_a_value_that_would_match_other_keys_is_refused(family: KeyFamily, value: str) -> None:
    with pytest.raises(ValueError, match="cannot stand in"):
        family.key(value)


@pytest.mark.parametrize("value", ["", ".", "..", "../x", "a/b", ".hidden", "a\\b", "ä", "x" * 129])
def test_a_file_name_that_would_climb_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="cannot stand in"):
        names.RECORDINGS.key(meeting_id=value, file="a.mp4")


def test_a_missing_or_strange_field_is_named() -> None:
    with pytest.raises(ValueError, match=r"has the fields meeting_id, file, not meeting"):
        names.RECORDINGS.key(meeting="1")


def test_unknown_services_and_settings_are_named() -> None:
    with pytest.raises(ValueError, match="'pay-service' is not a service of meeting-system: ai-service, "):
        names.REGISTRY.parameter("pay-service", "host")
    with pytest.raises(ValueError, match="'password' is not a setting of a service: host, port, grpc_port"):
        names.REGISTRY.parameter("ai-service", "password")


def _broker(name: str, *topics: Topic) -> Broker:
    return Broker(name=name, purpose="", data=Data.OPERATIONAL, prefix="shop", topics=topics)


def _cache(name: str) -> Cache:
    return Cache(name=name, purpose="", data=Data.OPERATIONAL, families=())


def _bucket(name: str) -> Bucket:
    return Bucket(name=name, purpose="", data=Data.OPERATIONAL, prefixes=())


def test_the_longest_names_are_taken() -> None:
    assert len(_cache("c" * 27 + "-{env}").name.replace("{env}", "prod") + "-default") == 40
    assert len(_bucket("b" * 30 + "-{env}").name.replace("{env}", "prod") + "-123456789012-ap-northeast-1") == 63


def _topic(**changes: object) -> Topic:
    given: dict[str, object] = {"name": "t", "purpose": "", "partitions": 3, "keep": timedelta(days=1), "groups": ()}
    return Topic(**(given | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: _topic(groups=("a:b",)), "has characters that hide its lag"),
        (lambda: _topic(groups=("größe",)), "has characters that hide its lag"),
        (lambda: _topic(name="a b"), "Kafka takes letters"),
        (lambda: _topic(partitions=0), "a partition at least"),
        (lambda: _topic(min_in_sync=3), "no broker can be restarted"),
        (lambda: Service(name="Bad_Name", port=1, grpc_port=2), "also its host name"),
        (lambda: Service(name="a", port=0, grpc_port=2), "0 is not a port"),
        (lambda: Prefix(path="{x}/y", purpose=""), "write it as folders"),
        (lambda: Prefix(path="a/../b", purpose=""), "write it as folders"),
        (lambda: Prefix(path="a/{x}/{x}", purpose=""), "two fields are called x"),
        (lambda: KeyFamily(pattern="session", ttl=timedelta(1), purpose=""), "words and one field"),
        (lambda: KeyFamily(pattern="s:{id}", ttl=timedelta(0), purpose=""), "never holds a key"),
        (lambda: _cache("a--b"), "single '-'"),
        (lambda: _cache("a-b-"), "not to end with '-'"),
        (lambda: _cache("1ab"), "has to start with a letter"),
        (lambda: _cache("a"), "needs 3 to 32 characters"),
        (lambda: _cache("cache-{Env}"), "'cache-Prod' needs 3 to 32 characters"),
        (lambda: _cache("c" * 28 + "-{env}"), "needs 3 to 32 characters"),  # ElastiCache: 40 with -default
        (lambda: _bucket("b" * 31 + "-{env}"), "needs 3 to 35 characters"),  # S3: 63 with account and region
        (lambda: _broker("b" * 41, _topic()), "3 to 40 characters"),
        (
            lambda: _broker("abc", _topic(name="a.b"), _topic(name="a_b")),
            "two topics are called a_b",
        ),
        (
            lambda: Cache(name="abc", purpose="", data=Data.OPERATIONAL, families=(names.ROOM, names.ROOM)),
            "two key families are called room:",
        ),
        (
            lambda: Registry(name="abc", purpose="", data=Data.OPERATIONAL, root="a/b", services=()),
            "is also a domain",
        ),
    ],
)
def test_a_declaration_that_cannot_work_is_refused(build: object, message: str) -> None:
    assert callable(build)
    with pytest.raises(DeclarationError, match=message):
        build()


def test_a_store_has_one_stack() -> None:
    from dataclasses import replace

    from stacks import meeting

    twin = replace(meeting.STACK, id="Other-{env}")
    with pytest.raises(
        DeclarationError, match="database meeting-prod is declared by MeetingSystem-prod and by Other-prod"
    ):
        estate(meeting.STACK, twin)
