"""What Holdfast knows of brokers, in one record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.kinds.base import Kind
from holdfast.kinds.broker import types
from holdfast.kinds.broker.alarms import alarms
from holdfast.kinds.broker.declaration import Broker
from holdfast.kinds.broker.guards import PROTECTIONS
from holdfast.kinds.broker.live import READING
from holdfast.kinds.broker.needs import NEEDS
from holdfast.kinds.broker.settings import written_logs

if TYPE_CHECKING:
    from holdfast.shared.applications.statements import Use
    from holdfast.shared.construct.context import StoreContext


def construct(context: StoreContext, store: Broker) -> Iterator[Use]:
    from holdfast.kinds.broker.construct import add_broker

    return add_broker(context, store)


BROKER = Kind(
    declaration=Broker,
    identity=types.IDENTITY,
    made=frozenset({types.BROKER, types.SETTINGS, types.TOPIC}),
    guards=PROTECTIONS,
    needs=NEEDS,
    alarms=alarms,
    logs=written_logs,
    construct=construct,
    live=READING,
    arns={types.BROKER: "Arn"},
)
