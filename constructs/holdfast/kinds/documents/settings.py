"""What the construct of a document database sets and the rules demand."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.estate.placement import Placed
from holdfast.kinds.documents.declaration import DocumentDatabase

VERSION = "5.0.0"
PARAMETERS = {"tls": "enabled", "audit_logs": "enabled", "profiler": "enabled"}
LOGS = ("audit", "profiler")


def written_logs(placed: Placed, store: DocumentDatabase) -> Iterator[str]:
    yield from (f"/aws/docdb/{placed.fill(store.name)}/{word}" for word in LOGS)
