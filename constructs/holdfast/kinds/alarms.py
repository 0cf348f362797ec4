"""Alarms of the stores that are no tables, as data: on AWS's own metrics, and on those that the daily jobs write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.estate.placement import Placed
from holdfast.kinds.broker.alarms import broker_alarms, documents_alarms
from holdfast.kinds.broker.declaration import Broker
from holdfast.kinds.database.declaration import Database, Engine
from holdfast.kinds.documents.declaration import DocumentDatabase
from holdfast.model.facts import Guard
from holdfast.model.store import Store
from holdfast.policy.required import Thresholds
from holdfast.shared.alarms.alarm import PERIOD, Alarm, Metric, table_widgets, waiting

RDS = "AWS/RDS"
JOBS = "Holdfast/Database"  # the namespace of what the daily jobs write to their log as metrics
DAY = 86_400
CPU_PERIOD = 900
MAX_CONNECTIONS = 200  # of a server whose database declares no pool
MAX_WAITING = 2  # partitions that were detached and are not archived yet


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreAlarm(Alarm):
    """An alarm that can also go off below its threshold, over another period, and on silence."""

    below: bool = False
    period: int = PERIOD
    silence: bool = False  # no data is bad news: whoever writes it is dead

    def properties(self, topic: str, tags: Mapping[str, str]) -> dict[str, Any]:
        base = Alarm.properties(self, topic, tags)
        for metric in base["Metrics"]:
            if "MetricStat" in metric:
                metric["MetricStat"]["Period"] = self.period
        return base | {
            "ComparisonOperator": "LessThanThreshold" if self.below else "GreaterThanThreshold",
            "TreatMissingData": "breaching" if self.silence else "notBreaching",
        }


def function_names(database: str, store: Database) -> Mapping[str, str]:
    """The functions of a database by their job: its schema at a deploy, drift and, with upkeep, retention daily."""
    jobs = ("migrate", "drift", *(("retention",) if store.upkeep else ()))
    return {job: f"{database}-{job}" for job in jobs}


def failed_jobs(database: str) -> str:
    """The queue of what the functions of a database gave up on."""
    return f"{database}-failed-jobs"


def vault_name(placed: Placed) -> str:
    return f"holdfast-{placed.id}"


def max_connections(store: Database) -> int:
    return store.pool.max_connections if store.pool else MAX_CONNECTIONS


def store_alarms(placed: Placed, store: Store) -> Iterator[Alarm]:
    """Every alarm of one store."""
    name = placed.fill(store.name)
    match store:
        case Database():
            yield from _server(name, store, placed.policy.thresholds)
            yield from _jobs(name, store)
            yield _backups(name, vault_name(placed))
        case Broker():
            yield from broker_alarms(placed, store)
        case DocumentDatabase():
            yield from documents_alarms(name, placed.policy.thresholds)
        case _:
            return


def dashboard(placed: Placed) -> dict[str, Any] | None:
    """The page of a stack: its tables, below them its other stores; none where nothing is watched."""
    tables = list(table_widgets(placed))
    top = max((w["y"] + w["height"] for w in tables), default=0)
    widgets = [*tables, *_store_widgets(placed, top)]
    return {"widgets": widgets} if widgets else None


def _store_widgets(placed: Placed, top: int) -> Iterator[dict[str, Any]]:
    """All alarms of the stores, then the graph behind each. ``${…}`` stand where Fn::Sub fills in."""
    arn = f"arn:${{AWS::Partition}}:cloudwatch:{placed.region}:${{AWS::AccountId}}:alarm:"
    watched = (s for s in placed.stores if Guard.ALARMS in placed.required(s))
    alarms = [arn + a.name for s in watched for a in store_alarms(placed, s)]
    if alarms:
        status = {"title": f"Alarms of {placed.name}", "alarms": alarms}
        yield {"type": "alarm", "x": 0, "y": top, "width": 24, "height": 4, "properties": status}
    for number, alarm in enumerate(alarms):
        yield {
            "type": "metric",
            "x": number % 3 * 8,
            "y": top + 4 + number // 3 * 5,
            "width": 8,
            "height": 5,
            "properties": {
                "title": alarm.rpartition(":")[2],
                "region": placed.region,
                "annotations": {"alarms": [alarm]},
            },
        }


def _server(name: str, store: Database, above: Thresholds) -> Iterator[Alarm]:
    cluster = store.engine is Engine.AURORA
    of = {"DBClusterIdentifier" if cluster else "DBInstanceIdentifier": name}
    yield StoreAlarm(
        id="Cpu",
        name=f"{name}/cpu",
        description=f"{name} has been busier than {above.cpu_percent} % for a quarter of an hour",
        metrics=(Metric(id="cpu", name="CPUUtilization", stat="Average", dimensions=of, namespace=RDS),),
        expression="FILL(cpu, 0)",
        threshold=above.cpu_percent,
        period=CPU_PERIOD,
    )
    if not cluster:  # the storage of a cluster grows by itself
        yield StoreAlarm(
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
    yield StoreAlarm(
        id="Connections",
        name=f"{name}/connections",
        description=f"{name} has more than {limit} of its {connections} connections open",
        metrics=(Metric(id="open", name="DatabaseConnections", stat="Maximum", dimensions=of, namespace=RDS),),
        expression="FILL(open, 0)",
        threshold=limit,
    )


def _jobs(name: str, store: Database) -> Iterator[Alarm]:
    for parent in store.upkeep.partitioned if store.upkeep else ():
        yield _daily(
            name,
            parent,
            "PartitionsAhead",
            1,
            f"no partition of {parent} in {name} is ready for what comes next, or nobody looked today",
            below=True,
            silence=True,
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
        name, None, "Drift", 0, f"the schema of {name} is not as declared, or nobody looked today", silence=True
    )
    for job, function in function_names(name, store).items():
        yield StoreAlarm(
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
    silence: bool = False,
) -> StoreAlarm:
    words = "".join(w.title() for w in (table or "").split("_"))
    seen = Metric(
        id="seen",
        name=metric,
        stat="Minimum" if below else "Maximum",
        dimensions={"Database": name} | ({"Table": table} if table else {}),
        namespace=JOBS,
    )
    return StoreAlarm(
        id=f"{metric}{words}",
        name=f"{name}/{table}/{metric}" if table else f"{name}/{metric}",
        description=description[0].upper() + description[1:],
        metrics=(seen,),
        expression="seen" if silence else "FILL(seen, 0)",
        threshold=threshold,
        below=below,
        silence=silence,
        period=DAY,
    )


def _backups(name: str, vault: str) -> StoreAlarm:
    counted = {"failed": "Failed", "expired": "Expired", "aborted": "Aborted"}
    return StoreAlarm(
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
