"""Alarms of a database: of its server, its daily jobs and its backups."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.estate.placement import Placed
from holdfast.kinds.database.declaration import Database, Engine, RowUpkeep, Upkeep
from holdfast.kinds.database.settings import failed_jobs, function_names, max_connections
from holdfast.policy.required import Thresholds
from holdfast.shared.alarms.alarm import Alarm, Metric, Silence, waiting
from holdfast.shared.vault.settings import vault_name

RDS = "AWS/RDS"
JOBS = "Holdfast/Database"  # the namespace of what the daily jobs write to their log as metrics
DAY = 86_400
CPU_PERIOD = 900
MAX_DEAD_ROWS, MAX_BLOAT, MAX_QUOTA = 20, 50, 80  # percent
MAX_TRANSACTION_IDS = 10**9  # of two thousand million
MAX_WAITING = 2  # partitions that were detached and are not archived yet


def alarms(placed: Placed, store: Database) -> Iterator[Alarm]:
    name = placed.fill(store.name)
    yield from _server(name, store, placed.policy.thresholds)
    if isinstance(store.upkeep, RowUpkeep):
        yield from _rows(name, store)
    yield from _jobs(name, store)
    yield _backups(name, vault_name(placed))


def _dimensions(name: str, store: Database) -> dict[str, str]:
    return {"DBClusterIdentifier" if store.engine is Engine.AURORA else "DBInstanceIdentifier": name}


def _server(name: str, store: Database, above: Thresholds) -> Iterator[Alarm]:
    cluster, of = store.engine is Engine.AURORA, _dimensions(name, store)
    yield Alarm(
        id="Cpu",
        name=f"{name}/cpu",
        description=f"{name} has been busier than {above.cpu_percent} % for a quarter of an hour",
        metrics=(Metric(id="cpu", name="CPUUtilization", stat="Average", dimensions=of, namespace=RDS),),
        expression="FILL(cpu, 0)",
        threshold=above.cpu_percent,
        period=CPU_PERIOD,
    )
    if not cluster:  # the storage of a cluster grows by itself
        yield Alarm(
            id="Storage",
            name=f"{name}/storage",
            description=f"{name} has less than {above.free_gib} GiB of storage left",
            metrics=(Metric(id="free", name="FreeStorageSpace", stat="Minimum", dimensions=of, namespace=RDS),),
            expression="free",
            threshold=above.free_gib * 2**30,
            below=True,
        )
    connections = max_connections(store)
    limit = connections * above.connections_percent // 100
    yield Alarm(
        id="Connections",
        name=f"{name}/connections",
        description=f"{name} has more than {limit} of its {connections} connections open",
        metrics=(Metric(id="open", name="DatabaseConnections", stat="Maximum", dimensions=of, namespace=RDS),),
        expression="FILL(open, 0)",
        threshold=limit,
    )


def _rows(name: str, store: Database) -> Iterator[Alarm]:
    """What the upkeep of rows measures, and how near the server is to where it takes no more transactions."""
    for metric, limit, said in (
        ("DeadRowsPercent", MAX_DEAD_ROWS, "of the rows of a table of {} are dead: VACUUM does not keep up"),
        ("BloatPercent", MAX_BLOAT, "of the pages of a table of {} are empty: it takes room that it does not need"),
        ("QuotaPercent", MAX_QUOTA, "of a quota of {} are used"),
    ):
        yield _daily(name, None, metric, limit, f"more than {limit} % {said.format(name)}")
    yield _daily(
        name,
        None,
        "ExpiredRows",
        0,
        f"rows of {name} are expired and still there, or the upkeep did not run today",
        silence=Silence.BREACHING,
    )
    of = _dimensions(name, store)
    used = Metric(id="used", name="MaximumUsedTransactionIDs", stat="Maximum", dimensions=of, namespace=RDS)
    yield Alarm(
        id="TransactionIds",
        name=f"{name}/transaction-ids",
        description=f"{name} has used half of its transaction ids: VACUUM FREEZE has to run before it stops",
        metrics=(used,),
        expression="FILL(used, 0)",
        threshold=MAX_TRANSACTION_IDS,
    )


def _jobs(name: str, store: Database) -> Iterator[Alarm]:
    for parent in store.upkeep.partitioned if isinstance(store.upkeep, Upkeep) else ():
        yield _daily(
            name,
            parent,
            "PartitionsAhead",
            1,
            f"no partition of {parent} in {name} is ready for what comes next, or nobody looked today",
            below=True,
            silence=Silence.BREACHING,
        )
        yield _daily(name, parent, "RowsInDefault", 0, f"rows of {parent} of {name} found no partition")
        yield _daily(
            name,
            parent,
            "RowsInQuarantine",
            0,
            f"rows of {parent} of {name} have a wrong time and wait in ops.quarantine",
        )
        yield _daily(
            name,
            parent,
            "DetachedWaiting",
            MAX_WAITING,
            f"more than {MAX_WAITING} partitions of {parent} of {name} wait for their archive",
        )
    yield _daily(
        name,
        None,
        "Drift",
        0,
        f"the schema of {name} is not as declared, or nobody looked today",
        silence=Silence.BREACHING,
    )
    for job, function in function_names(name, store).items():
        yield Alarm(
            id=f"{job.title()}Errors",
            name=f"{function}/errors",
            description=f"{function} failed",
            metrics=(
                Metric(
                    id="errors",
                    name="Errors",
                    stat="Sum",
                    dimensions={"FunctionName": function},
                    namespace="AWS/Lambda",
                ),
            ),
            expression="FILL(errors, 0)",
            threshold=0,
        )
    yield waiting("FailedJobs", f"{name}/failed-jobs", f"jobs of {name} were given up", failed_jobs(name))


def _daily(
    name: str,
    table: str | None,
    metric: str,
    threshold: int,
    description: str,
    *,
    below: bool = False,
    silence: Silence = Silence.FINE,
) -> Alarm:
    words = "".join(w.title() for w in (table or "").split("_"))
    seen = Metric(
        id="seen",
        name=metric,
        stat="Minimum" if below else "Maximum",
        dimensions={"Database": name} | ({"Table": table} if table else {}),
        namespace=JOBS,
    )
    return Alarm(
        id=f"{metric}{words}",
        name=f"{name}/{table}/{metric}" if table else f"{name}/{metric}",
        description=description[0].upper() + description[1:],
        metrics=(seen,),
        expression="seen" if silence is Silence.BREACHING else "FILL(seen, 0)",
        threshold=threshold,
        below=below,
        silence=silence,
        period=DAY,
    )


def _backups(name: str, vault: str) -> Alarm:
    counted = {"failed": "Failed", "expired": "Expired", "aborted": "Aborted"}
    return Alarm(
        id="Backups",
        name=f"{name}/backups",
        description=f"a backup into {vault} failed, came too late or was stopped".capitalize(),
        metrics=tuple(
            Metric(
                id=word,
                name=f"NumberOfBackupJobs{state}",
                stat="Sum",
                dimensions={"BackupVaultName": vault},
                namespace="AWS/Backup",
            )
            for word, state in counted.items()
        ),
        expression=" + ".join(f"FILL({word}, 0)" for word in counted),
        threshold=0,
    )
