"""What Holdfast knows of databases, in one record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.kinds.base import Kind
from holdfast.kinds.database.alarms import alarms
from holdfast.kinds.database.declaration import Database
from holdfast.kinds.database.guards import PROTECTIONS
from holdfast.kinds.database.live import READING
from holdfast.kinds.database.needs import NEEDS
from holdfast.kinds.database.settings import written_logs
from holdfast.kinds.database.types import (
    CLUSTER,
    CLUSTER_PARAMETERS,
    IDENTITY,
    INSTANCE,
    PARAMETERS,
    PROXY,
    SUBNETS,
    TARGETS,
)

if TYPE_CHECKING:
    from holdfast.shared.applications.statements import Use
    from holdfast.shared.construct.context import StoreContext


def construct(context: StoreContext, store: Database) -> Iterator[Use]:
    from holdfast.kinds.database.construct.database import add_database

    return add_database(context, store)


DATABASE = Kind(
    declaration=Database,
    identity=IDENTITY,
    members={CLUSTER: INSTANCE},
    made=frozenset(
        {
            *(INSTANCE, CLUSTER, PARAMETERS, CLUSTER_PARAMETERS, PROXY, TARGETS, SUBNETS),
            *("AWS::Lambda::Function", "AWS::Lambda::LayerVersion", "AWS::Lambda::Version", "AWS::Scheduler::Schedule"),
            *("AWS::SSM::Parameter", "Custom::Trigger"),
        }
    ),
    guards=PROTECTIONS,
    needs=NEEDS,
    alarms=alarms,
    logs=written_logs,
    construct=construct,
    live=READING,
    arns={INSTANCE: "DBInstanceArn", CLUSTER: "DBClusterArn"},
    end_points=("secretsmanager",),
    protect={
        INSTANCE: "rds modify-db-instance --db-instance-identifier",
        CLUSTER: "rds modify-db-cluster --db-cluster-identifier",
    },
)
