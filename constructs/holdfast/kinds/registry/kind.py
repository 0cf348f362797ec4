"""What Holdfast knows of registry, in one record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.kinds.base import Kind, none
from holdfast.kinds.registry import types
from holdfast.kinds.registry.declaration import Registry
from holdfast.kinds.registry.needs import NEEDS

if TYPE_CHECKING:
    from holdfast.shared.applications.statements import Use
    from holdfast.shared.construct.context import StoreContext


def construct(context: StoreContext, store: Registry) -> Iterator[Use]:
    from holdfast.kinds.registry.construct import add_registry

    return add_registry(context, store)


REGISTRY = Kind(
    declaration=Registry,
    identity=types.IDENTITY,
    made=frozenset({types.NAMESPACE, types.SERVICE, "AWS::SSM::Parameter"}),
    guards=(),  # what it holds is in the template
    needs=NEEDS,
    alarms=none,
    logs=none,
    construct=construct,
    live=None,
    end_points=("ssm", "servicediscovery", "data-servicediscovery"),
)
