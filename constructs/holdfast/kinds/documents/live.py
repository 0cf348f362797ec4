"""How a live document database is read: DocumentDB answers as RDS does."""

from __future__ import annotations

from holdfast.kinds.database.live import CLUSTER_PARAMETERS, CLUSTERS, INSTANCES, read_cluster
from holdfast.kinds.documents import types
from holdfast.kinds.documents.declaration import DocumentDatabase
from holdfast.kinds.documents.settings import PARAMETERS
from holdfast.kinds.live import Found, ReadContext, Reading
from holdfast.unknown import Unknown


def read(c: ReadContext, _: DocumentDatabase, name: str) -> Found | Unknown | None:
    return read_cluster(c, name, types.DOCUMENTS, types.PARAMETERS, set(PARAMETERS))


READING = Reading(read=read, listings=(INSTANCES, CLUSTERS), calls=(CLUSTER_PARAMETERS,), tagged=("rds:cluster",))
