"""What the constructs of a database set and the rules demand: written once, so that both mean the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.estate.placement import Placed
from holdfast.kinds.database.declaration import Database, Engine, Pool, RowUpkeep, Upkeep
from holdfast.shared.logs.groups import log_groups

POSTGRES_MAJOR = "17"
POSTGRES_VERSION = "17.9"  # the newest that both RDS and Aurora offer here
MONITORING_POLICY = "service-role/AmazonRDSEnhancedMonitoringRole"
MAX_CONNECTIONS = 200  # of a server whose database declares no pool
FUNCTION_SECONDS = 780  # the shortest time that any of its functions is given
# The daily job of each kind of upkeep, and where Lambda finds each job.
UPKEEP: Mapping[type, tuple[str, ...]] = {Upkeep: ("retention",), RowUpkeep: ("upkeep",)}
HANDLERS = {
    "migrate": "handler.migrate",
    "drift": "handler.drift",
    "retention": "handler.retain",
    "upkeep": "holdfast.functions.database.upkeep.tend",
}
QUEUE_DAYS = 14  # how long its queue keeps what was given up: as long as a queue can


def function_names(database: str, store: Database) -> Mapping[str, str]:
    """The functions of a database by their job: its schema at a deploy, drift and its upkeep daily."""
    return {job: f"{database}-{job}" for job in ("migrate", "drift", *UPKEEP.get(type(store.upkeep), ()))}


def failed_jobs(database: str) -> str:
    """The queue of what the functions of a database gave up on."""
    return f"{database}-failed-jobs"


def max_connections(store: Database) -> int:
    return store.pool.max_connections if store.pool else MAX_CONNECTIONS


def database_parameters(store: Database) -> dict[str, str]:
    """TLS or nothing, bounds of partitions in UTC, and logs without the values of parameters: they may be personal."""
    return {
        "rds.force_ssl": "1",
        "timezone": "UTC",
        "log_connections": "1",
        "log_disconnections": "1",
        "log_lock_waits": "1",
        "log_min_duration_statement": "1000",
        "log_parameter_max_length": "0",
        "log_statement": "ddl",
        "max_connections": str(max_connections(store)),
    }


def database_logs(store: Database) -> tuple[str, ...]:
    return ("postgresql",) if store.engine is Engine.AURORA else ("postgresql", "upgrade")


def pool_percent(connections: int, pool: Pool) -> int:
    """A proxy counts in percent of what the server takes."""
    return max(1, round(100 * connections / pool.max_connections))


def written_logs(placed: Placed, store: Database) -> Iterator[str]:
    """The log groups that a database, its pool and its functions write to."""
    name = placed.fill(store.name)
    kind = "cluster" if store.engine is Engine.AURORA else "instance"
    yield from (f"/aws/rds/{kind}/{name}/{word}" for word in database_logs(store))
    yield from (f"{log_groups(placed)}/{function}" for function in function_names(name, store).values())
    if store.pool:
        yield f"/aws/rds/proxy/{name}"
