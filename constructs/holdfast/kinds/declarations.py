"""The stores that are not DynamoDB tables, as facts in the words of the tables. Nothing here knows CDK or an engine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import ClassVar

from holdfast.model.declaration import LATER, DeclarationError, Located, checked
from holdfast.model.facts import NONE, Data, Durable, Guard, Transient, Waiver, construct_id, fill, unknown_placeholders
from holdfast.text import span

__all__ = [
    "Backups",
    "Broker",
    "Bucket",
    "Cache",
    "Database",
    "Documents",
    "Engine",
    "KeyFamily",
    "Pool",
    "Prefix",
    "Registry",
    "Service",
    "Topic",
    "Upkeep",
]

DRIFT_SCHEDULE = "cron(30 5 * * ? *)"  # after the upkeep, whose partitions are no drift
LEGAL_NAME = re.compile(r"[a-z](-?[a-z0-9])+")  # of RDS, ElastiCache, MSK and S3 alike
LONGEST_NAME = 40  # of a cache; RDS and MSK take more
LONGEST = {
    "cache": LONGEST_NAME - len("-default"),  # the name of the user that is off
}
LEGAL_GROUP = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # CloudWatch has no lag of a group with other characters
UNSAFE_IN_KEYS = re.compile(r"[\s:*?\[\]{}\\]")
SAFE_IN_PATHS = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")  # no slash, and nothing that starts with a dot
HOST_NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
MAX_INSTANCE = 64  # characters, in Cloud Map
FIELDS = re.compile(r"\{(\w+)\}")


def _segment(value: str, where: str) -> str:
    """A value that may stand between two slashes; one that would climb out of its folder is refused."""
    if not SAFE_IN_PATHS.fullmatch(value):
        raise ValueError(
            f"{value!r} cannot stand in {where}: 1 to 128 of A-Z, a-z, 0-9, '.', '_' and '-', no dot in front"
        )
    return value


def _check_name(kind: str, name: str) -> None:
    if wrong := unknown_placeholders(name):
        raise DeclarationError(f"{kind} {name}: {wrong}")
    filled = fill(name, {"env": "prod", "Env": "Prod", "region": "ap-northeast-1", "account": "123456789012"})
    if wrong := illegal_store_name(kind, filled, "ap-northeast-1"):
        raise DeclarationError(f"{kind} {name}: its name {wrong}")


def illegal_store_name(kind: str, name: str, region: str) -> str | None:
    """What is wrong with the name of a store in a region, or None."""
    longest = 63 - len(f"-123456789012-{region}") if kind == "bucket" else LONGEST.get(kind, LONGEST_NAME)
    if LEGAL_NAME.fullmatch(name) and 3 <= len(name) <= longest:
        return None
    return (
        f"{name!r} needs 3 to {longest} characters of a-z, 0-9 and single '-', and has to start with a letter "
        "and not to end with '-'"
    )


def _check_unique(kind: str, owner: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DeclarationError(f"{owner}: two {kind} are called {name}; rename or drop one")
        seen.add(name)


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Backups:
    """Snapshots in a vault, beside the recovery to any second that the engine itself offers. Schedules are UTC."""

    schedules: Mapping[str, str] = field(hash=False)
    keep: timedelta


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """How applications share the connections of a database."""

    max_open: int
    max_idle: int
    max_lifetime: timedelta
    max_connections: int = 200  # of the server itself

    def __post_init__(self) -> None:
        if not 0 < self.max_idle <= self.max_open <= self.max_connections:
            raise DeclarationError(
                f"pool: {self.max_idle} idle, {self.max_open} open and {self.max_connections} in all do not nest"
            )

    @property
    def settings(self) -> dict[str, str]:
        """The figures by the names that applications know them by; a lifetime is in seconds."""
        return {
            "max_idle_conns": str(self.max_idle),
            "max_open_conns": str(self.max_open),
            "conn_max_lifetime": str(int(self.max_lifetime.total_seconds())),
        }


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """The daily job that keeps partitions ahead, archives what is expired and purges rows."""

    partitioned: tuple[str, ...]
    archive: str  # the bucket of the same stack that takes the archive
    schedule: str = "cron(0 5 * * ? *)"


class Engine(Enum):
    """What runs a database. Another one is another database: nothing moves the data."""

    INSTANCE = "instance"
    AURORA = "aurora"


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Database(Located):
    """A PostgreSQL database whose schema is the numbered SQL in ``schemas/<schema>``."""

    offers: ClassVar[Guard] = (
        Guard.DELETION_PROTECTION | Guard.RETAIN | Guard.PITR | Guard.CUSTOMER_KEY | Guard.TAGS | Guard.ALARMS
    )
    name: str
    purpose: str
    schema: str
    data: Data
    backups: Backups
    engine: Engine = Engine.INSTANCE
    recovery: timedelta = timedelta(days=30)
    port: int = 5433  # never the default one
    pool: Pool | None = None
    upkeep: Upkeep | None = None
    lifetime: ClassVar[Durable] = Durable()
    floor: Guard = NONE
    waivers: tuple[Waiver, ...] = ()
    assumed: Mapping[str, str] = field(default_factory=dict, hash=False)  # what: why

    def __post_init__(self) -> None:
        _check_name("database", self.name)
        if not timedelta(days=1) <= self.recovery <= timedelta(days=35):
            raise DeclarationError(f"database {self.name}: RDS keeps 1 to 35 days for recovery, not {self.recovery}")

    @property
    def id(self) -> str:
        return construct_id(self.name)

    @property
    def role(self) -> str:
        """Whom applications log in as; the schema's own migrations make it."""
        return f"{self.schema}_app"


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFamily:
    """Keys of one shape in a cache. Every one expires: there is no family without a time to live."""

    pattern: str  # such as session:{id}
    ttl: timedelta
    purpose: str
    assumed: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z]+(:[a-z]+)*:\{\w+\}", self.pattern):
            raise DeclarationError(
                f"key family {self.pattern}: write it as words and one field, such as session:{{id}}"
            )
        if self.ttl < timedelta(seconds=1):
            raise DeclarationError(f"key family {self.pattern}: a time to live of {self.ttl} never holds a key")

    @property
    def prefix(self) -> str:
        return self.pattern.partition("{")[0]

    @property
    def seconds(self) -> int:
        """What EX wants."""
        return int(self.ttl.total_seconds())

    def key(self, value: str) -> str:
        """The key of one member; values that would leave the family, or match others, are refused."""
        if not value or not value.isprintable() or UNSAFE_IN_KEYS.search(value):
            raise ValueError(f"{value!r} cannot stand in {self.pattern}: no space, colon, bracket or wildcard")
        return self.prefix + value


# Everything that reads or writes a named key. Scripts run, but the server's libraries of functions are out of reach
# (they count as writes). What looks over the whole keyspace names no key that a pattern could refuse, and PERSIST
# would make a key that never expires.
COMMANDS = (
    "-@all +@read +@write +@connection +@transaction -@dangerous "
    "-@scripting +eval +evalsha +script|load -scan -randomkey -dbsize -persist"
)


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Cache(Located):
    """A Valkey or Redis cache: sessions, rooms, limits and locks, all of which expire."""

    offers: ClassVar[Guard] = Guard.TTL | Guard.CUSTOMER_KEY | Guard.TAGS
    name: str
    purpose: str
    data: Data
    families: tuple[KeyFamily, ...]
    port: int = 6379
    lifetime: ClassVar[Transient] = Transient(ttl="EX")
    floor: Guard = NONE
    waivers: tuple[Waiver, ...] = ()

    def __post_init__(self) -> None:
        _check_name("cache", self.name)
        _check_unique("key families", f"cache {self.name}", (f.prefix for f in self.families))

    @property
    def id(self) -> str:
        return construct_id(self.name)

    @property
    def access(self) -> str:
        """The ACL of the applications: the declared families, no channel, no command that touches anything else."""
        keys = " ".join(f"~{f.prefix}*" for f in self.families)
        return f"on {keys} resetchannels {COMMANDS}"


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One Kafka topic; its full name has the broker's prefix before it."""

    name: str
    purpose: str
    partitions: int
    keep: timedelta
    groups: tuple[str, ...]  # who consumes it
    dead_letters: bool = False
    replication: int = 3
    min_in_sync: int = 2
    assumed: str | None = None

    def __post_init__(self) -> None:
        if not LEGAL_GROUP.fullmatch(self.name):
            raise DeclarationError(f"topic {self.name}: Kafka takes letters, digits, '.', '_' and '-'")
        if self.partitions < 1:
            raise DeclarationError(f"topic {self.name}: it needs a partition at least, not {self.partitions}")
        for group in self.groups:
            if not LEGAL_GROUP.fullmatch(group):
                raise DeclarationError(f"topic {self.name}: consumer group {group!r} has characters that hide its lag")
        if not 0 < self.min_in_sync < self.replication:
            raise DeclarationError(
                f"topic {self.name}: with {self.min_in_sync} of {self.replication} replicas in sync, "
                "no broker can be restarted; keep one less than there are"
            )

    @property
    def settings(self) -> dict[str, str]:
        return {
            "cleanup.policy": "delete",
            "min.insync.replicas": str(self.min_in_sync),
            "retention.ms": str(int(self.keep.total_seconds() * 1000)),
        }


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Broker(Located):
    """A Kafka cluster and its topics."""

    offers: ClassVar[Guard] = Guard.RETAIN | Guard.TTL | Guard.CUSTOMER_KEY | Guard.TAGS | Guard.ALARMS
    name: str
    purpose: str
    data: Data
    topics: tuple[Topic, ...]
    prefix: str  # of the names of its topics
    port: int = 9098  # IAM over TLS
    lifetime: ClassVar[Durable] = Durable(ttl="retention.ms")
    floor: Guard = NONE
    waivers: tuple[Waiver, ...] = ()

    def __post_init__(self) -> None:
        _check_name("broker", self.name)
        if not self.topics:
            raise DeclarationError(f"broker {self.name}: it has no topic, and none appears by itself; declare one")
        # Kafka's metrics write '.' and '_' alike: two topics that differ in nothing else would share their figures.
        _check_unique("topics", f"broker {self.name}", (t.name.replace(".", "_") for t in self.topics))

    @property
    def id(self) -> str:
        return construct_id(self.name)

    @property
    def brokers(self) -> int:
        """One for each replica."""
        return max(t.replication for t in self.topics)

    def topic(self, topic: Topic, prefix: str | None = None) -> str:
        """The full name of a topic of this broker."""
        name = f"{self.prefix if prefix is None else prefix}.{topic.name}"
        if not LEGAL_GROUP.fullmatch(name) or not name[0].isalnum():
            raise DeclarationError(
                f"topic {name!r}: a prefix starts with a letter or digit and has only those, '.', '_' and '-'; "
                "give another one"
            )
        return name


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """One folder of a bucket, and what becomes of its objects: storage classes by age, and their end."""

    path: str
    purpose: str
    tiers: Mapping[str, timedelta] = field(default_factory=dict, hash=False)
    expire: timedelta | None = None
    assumed: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"([a-z0-9_-]+/)+(\{\w+\}(/|[/.]\{\w+\}|\.[a-z0-9]+)?)?", self.path):
            raise DeclarationError(f"prefix {self.path}: write it as folders, such as recordings/{{meeting_id}}/")
        _check_unique("fields", f"prefix {self.path}", FIELDS.findall(self.path))

    @property
    def folder(self) -> str:
        return self.path.partition("{")[0]

    @property
    def fate(self) -> str:
        """What becomes of its objects, in words."""
        ages = [f"{name} after {span(age)}" for name, age in self.tiers.items()]
        return ", ".join([*ages, *([f"expires after {span(self.expire)}"] if self.expire else [])])

    def key(self, **fields: str) -> str:
        """The key of one object below this prefix; values that would leave their folder are refused."""
        wanted = FIELDS.findall(self.path)
        if sorted(wanted) != sorted(fields):
            raise ValueError(f"{self.path} has the fields {', '.join(wanted) or 'none'}, not {', '.join(fields)}")
        return FIELDS.sub(lambda field: _segment(fields[field[1]], self.path), self.path)


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket(Located):
    """An S3 bucket; account and region are added to its name, which has to be the only one in the world."""

    offers: ClassVar[Guard] = Guard.RETAIN | Guard.PITR | Guard.TTL | Guard.CUSTOMER_KEY | Guard.TAGS
    name: str
    purpose: str
    data: Data
    prefixes: tuple[Prefix, ...]
    locked: timedelta | None = None  # nothing written is deleted before that age
    backups: Backups | None = None
    lifetime: ClassVar[Durable] = Durable()
    floor: Guard = NONE
    waivers: tuple[Waiver, ...] = ()

    def __post_init__(self) -> None:
        _check_name("bucket", self.name)
        _check_unique("prefixes", f"bucket {self.name}", (p.folder for p in self.prefixes))

    @property
    def id(self) -> str:
        return construct_id(self.name)


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Documents(Located):
    """A DocumentDB cluster."""

    offers: ClassVar[Guard] = Database.offers
    name: str
    purpose: str
    data: Data
    backups: Backups
    recovery: timedelta = timedelta(days=30)
    port: int = 27018
    lifetime: ClassVar[Durable] = Durable()
    floor: Guard = NONE
    waivers: tuple[Waiver, ...] = ()
    assumed: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _check_name("documents", self.name)

    @property
    def id(self) -> str:
        return construct_id(self.name)


SETTINGS = ("host", "port", "grpc_port")  # of every service, in Parameter Store


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One service of the registry, and where it listens."""

    name: str
    port: int
    grpc_port: int

    def __post_init__(self) -> None:
        if not HOST_NAME.fullmatch(self.name):
            raise DeclarationError(f"service {self.name!r}: its name is also its host name: a-z, 0-9 and '-' only")
        for port in (self.port, self.grpc_port):
            if not 0 < port < 65536:
                raise DeclarationError(f"service {self.name}: {port} is no port")


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Registry(Located):
    """Where services find each other and their configuration: Cloud Map and Parameter Store."""

    offers: ClassVar[Guard] = Guard.TAGS
    name: str
    purpose: str
    data: Data
    root: str  # the first word of every path, and of the domain
    services: tuple[Service, ...]
    lifetime: ClassVar[Durable] = Durable()
    floor: Guard = NONE
    waivers: tuple[Waiver, ...] = ()
    assumed: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _check_name("registry", self.name)
        _check_unique("services", f"registry {self.name}", (s.name for s in self.services))
        if not HOST_NAME.fullmatch(self.root):
            raise DeclarationError(f"registry {self.name}: root {self.root!r} is also a domain: a-z, 0-9 and '-' only")

    @property
    def id(self) -> str:
        return construct_id(self.name)

    @property
    def domain(self) -> str:
        """The private domain in which the services have their names."""
        return f"{self.root}.internal"

    def host(self, service: str) -> str:
        return f"{self._known(service)}.{self.domain}"

    def parameter(self, service: str, setting: str) -> str:
        """The name of the parameter that holds one setting of a service."""
        if setting not in SETTINGS:
            raise ValueError(f"{setting!r} is no setting of a service: {', '.join(SETTINGS)}")
        return f"/{self.root}/config/services/{self._known(service)}/{setting}"

    def parameters(self, service: Service) -> dict[str, str]:
        """The configuration of one service, by parameter name."""
        values = (self.host(service.name), str(service.port), str(service.grpc_port))
        return {self.parameter(service.name, s): value for s, value in zip(SETTINGS, values, strict=True)}

    def instance(self, service: str, number: str) -> str:
        """Where one running instance of a service stands; its last part is the instance's id in Cloud Map."""
        path, name = f"/{self.root}/services/{self._known(service)}", f"instance_{number}"
        if not number or len(name) > MAX_INSTANCE:
            raise ValueError(f"{number!r} cannot stand in {path}: Cloud Map takes {MAX_INSTANCE} characters in all")
        return f"{path}/{_segment(name, path)}"

    def _known(self, service: str) -> str:
        if service not in {s.name for s in self.services}:
            raise ValueError(f"{service!r} is no service of {self.root}: {', '.join(s.name for s in self.services)}")
        return service


Store = Database | Cache | Broker | Bucket | Documents | Registry
LATER["Store"] = Store  # of Stack.stores, whose module this one imports


def assumptions(store: Store) -> Iterator[tuple[str, str, str]]:
    """(what, value, why) of everything about a store that no source gives."""
    match store:
        case Database() | Documents() | Registry():
            yield from ((what, "as declared", why) for what, why in store.assumed.items())
        case Cache():
            yield from ((f.pattern, f"expires after {span(f.ttl)}", f.assumed) for f in store.families if f.assumed)
        case Broker():
            for t in store.topics:
                if t.assumed:
                    yield t.name, f"{t.partitions} partitions, kept {span(t.keep)}", t.assumed
        case Bucket():
            yield from ((p.path, p.fate, p.assumed) for p in store.prefixes if p.assumed)
