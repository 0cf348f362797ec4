"""What Holdfast knows of document databases, in one record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.kinds.base import Kind
from holdfast.kinds.documents import types
from holdfast.kinds.documents.alarms import alarms
from holdfast.kinds.documents.declaration import DocumentDatabase
from holdfast.kinds.documents.guards import PROTECTIONS
from holdfast.kinds.documents.live import READING
from holdfast.kinds.documents.needs import NEEDS
from holdfast.kinds.documents.settings import written_logs

if TYPE_CHECKING:
    from holdfast.shared.applications.statements import Use
    from holdfast.shared.construct.context import StoreContext


def construct(context: StoreContext, store: DocumentDatabase) -> Iterator[Use]:
    from holdfast.kinds.documents.construct import add_documents

    return add_documents(context, store)


DOCUMENTS = Kind(
    declaration=DocumentDatabase,
    identity=types.IDENTITY,
    made=frozenset({types.DOCUMENTS, types.DOCUMENTS_INSTANCE, types.PARAMETERS, types.SUBNETS, types.SECRET}),
    guards=PROTECTIONS,
    needs=NEEDS,
    alarms=alarms,
    logs=written_logs,
    construct=construct,
    live=READING,
    members={types.DOCUMENTS: types.DOCUMENTS_INSTANCE},
    protect={types.DOCUMENTS: "docdb modify-db-cluster --db-cluster-identifier"},
)
