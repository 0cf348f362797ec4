"""How applications of the meeting system name things: keys, topics, objects and parameters.

Source: meeting-storage.md. Needs nothing but the standard library and holdfast, so that a service can import it.
What the source leaves open is marked ``assumed``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from holdfast import Broker, Cache, Data, Fact, Inferred, KeyFamily, Pool, Prefix, Registry, Service, Topic

NO_TTL = "the source asks for a time to live and gives none"

SESSION = KeyFamily(
    pattern="session:{id}",
    ttl=timedelta(hours=12),
    purpose="One signed-in session: who takes part, and the last heartbeat.",
    assumed=f"{NO_TTL}: half a day outlives any meeting",
)
ROOM = KeyFamily(
    pattern="room:{meeting_id}",
    ttl=timedelta(days=1),
    purpose="The state of one meeting room.",
    assumed="the source says days and no number: one is the least that it can mean",
)
RATE = KeyFamily(
    pattern="rate:{user}",
    ttl=timedelta(minutes=1),
    purpose="How often a user called in the last minute.",
    assumed=f"{NO_TTL}: limits are mostly counted by the minute",
)
LOCK = KeyFamily(
    pattern="lock:{resource}",
    ttl=timedelta(seconds=30),
    purpose="Who holds a resource; its end frees what a dead holder left.",
    assumed=f"{NO_TTL}: longer than any one write takes",
)
CACHED_MEETING = KeyFamily(
    pattern="cache:meeting:{id}",
    ttl=timedelta(minutes=5),
    purpose="A meeting that is asked for often.",
    assumed="the source says short-lived and gives neither key nor number",
)
CACHED_USER = KeyFamily(
    pattern="cache:user:{id}",
    ttl=timedelta(minutes=5),
    purpose="A user who is asked for often.",
    assumed="the source says short-lived and gives neither key nor number",
)

# A key is only ever written with its time to live, so SETEX it is: the cache refuses SET, with EX or without, INCR and
# all else that could make a key without an end. What takes more than that is a script, which runs as one step.
COUNT = """
local count = tonumber(redis.call('get', KEYS[1]) or '0') + 1
local left = redis.call('pttl', KEYS[1])
redis.call('psetex', KEYS[1], left > 0 and left or ARGV[1], count)
return count
"""  # KEYS: the limit's key; ARGV: milliseconds of its window, which goes on however often it is counted
TAKE = """
if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('psetex', KEYS[1], ARGV[2], ARGV[1])
return 1
"""  # KEYS: the lock's key; ARGV: who takes it, and milliseconds
RELEASE = """
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('del', KEYS[1])
"""  # KEYS: the lock's key; ARGV: who took it

CACHE = Cache(
    name="meeting-cache-{env}",
    purpose="Sessions, rooms, limits, locks and what is read often; all of it can be made again.",
    data=Data.PERSONAL,
    families=(SESSION, ROOM, RATE, LOCK, CACHED_MEETING, CACHED_USER),
    source=(8, 37),
    sources={
        Fact.DATA: Inferred("copies of users, and who takes part", 35, 37),
        "session:{id}": (35, 80),
        "room:{meeting_id}": (35, 80),
        "rate:{user}": (36, 80),
        "lock:{resource}": (36, 80),
        "cache:meeting:{id}": 37,
        "cache:user:{id}": 37,
    },
)

NO_FIGURES = "the source names the topic and gives no figures or consumer groups"

TASKS = Topic(
    name="tasks",
    purpose="Work for the services to do.",
    partitions=12,
    keep=timedelta(days=7),
    groups=("task-dispatcher",),
    assumed=f"{NO_FIGURES}: twelve consumers at most, and a week to mend them",
)
DEAD_TASKS = Topic(
    name="tasks.dlq",
    purpose="Tasks that were given up, with the reason in their headers.",
    partitions=3,
    keep=timedelta(days=30),
    groups=("task-dead-letters",),
    dead_letters=True,
    assumed=f"{NO_FIGURES}: few messages, and a month to look at them",
)
SYSTEM_EVENTS = Topic(
    name="system_events",
    purpose="What happened, for whoever wants to know.",
    partitions=6,
    keep=timedelta(days=3),
    groups=("system-events",),
    assumed=f"{NO_FIGURES}: news, so three days",
)

BROKER = Broker(
    name="meeting-broker-{env}",
    purpose="The queue of tasks, its dead letters, and the bus of events.",
    data=Data.PERSONAL,
    topics=(TASKS, DEAD_TASKS, SYSTEM_EVENTS),
    prefix="meeting",
    source=9,
    sources={
        Fact.DATA: Inferred("a task is about a meeting and its people", 26, 41),
        "meeting.tasks": (41, 43, 81),
        "meeting.tasks.dlq": (41, 81),
        "meeting.system_events": (42, 81),
    },
)

# librdkafka's names. A task is written to two brokers before the producer is told so, once, and in order.
PRODUCER: Mapping[str, str | int | bool] = {
    "acks": "all",
    "enable.idempotence": True,
    "compression.type": "lz4",
    "delivery.timeout.ms": 120_000,
}
# An offset is committed when its task is done or dead, never because time has passed.
CONSUMER: Mapping[str, str | int | bool] = {
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
    "max.poll.interval.ms": 300_000,
}
# What every client of the deployed broker needs beside its address.
SECURITY: Mapping[str, str] = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
MAX_ATTEMPTS = 3  # assumed: the source leaves retries to the services

Headers = list[tuple[str, bytes]]


def dead_letter_headers(topic: str, partition: int, offset: int, *, reason: str, attempts: int) -> Headers:
    """What goes with a message to the dead letters: where it came from, and why it was given up."""
    return [
        ("dead-letter-topic", topic.encode()),
        ("dead-letter-partition", str(partition).encode()),
        ("dead-letter-offset", str(offset).encode()),
        ("dead-letter-reason", reason.encode()),
        ("dead-letter-attempts", str(attempts).encode()),
    ]


# A path that was handed out is read for as long as its object is there: each of these classes answers at once. The rows
# of the recordings follow these ages (ops.recording_policy of the database's schema).
RECORDINGS = Prefix(
    path="recordings/{meeting_id}/{file}",
    purpose="Recorded meetings: playlists, films and their logs.",
    tiers={"STANDARD_IA": timedelta(days=30), "GLACIER_IR": timedelta(days=180)},
    expire=timedelta(days=365),
    assumed="the source asks to archive or delete by quota and gives no ages: half a year, and a year",
)
UPLOADS = Prefix(
    path="media/uploads/{uuid}.{ext}",
    purpose="What users uploaded.",
    tiers={"INTELLIGENT_TIERING": timedelta(days=30)},
    expire=timedelta(days=365),
    assumed="the source asks that the bucket does not grow without end and gives no age: a year, as recordings",
)
AVATARS = Prefix(path="media/avatars/{user_id}.jpg", purpose="Pictures of users, kept as long as the user is.")
TEMP = Prefix(
    path="temp/{file}",
    purpose="What is being put together.",
    expire=timedelta(days=1),
    assumed="the source gives no age; nothing is put together for longer than a day",
)
PREFIXES = (RECORDINGS, UPLOADS, AVATARS, TEMP)

SERVICES = ("ai-service", "media-service", "meeting-service", "signaling-service", "user-service")
REGISTRY = Registry(
    name="meeting-registry-{env}",
    purpose="Where services find each other and their settings.",
    data=Data.OPERATIONAL,
    root="meeting-system",
    services=tuple(Service(name=name, port=8080, grpc_port=9090) for name in SERVICES),
    assumed={
        "services": "the source names media-service alone; the others are the groups of its tables",
        "ports": "the source names the settings and gives no values",
        "Cloud Map and Parameter Store": "the source allows another configuration centre than etcd in production",
        "snapshot": "in place of etcd's: settings are in the template, whose contract is in git; Parameter Store keeps "
        "what they were before, and a service registers itself again when it starts",
    },
    source=12,
    sources={
        Fact.DATA: Inferred("names, addresses and ports of services", 64, 65),
        **{name: Inferred("a service, and its address and ports", 55, 64) for name in SERVICES},
        "services": (12, 55, 64, 65),
        "ports": 64,
        "Cloud Map and Parameter Store": 68,
        "snapshot": 73,
    },
)

POOL = Pool(max_open=100, max_idle=10, max_lifetime=timedelta(seconds=3600))
