"""What every table and store carries beside its stack's tags."""

from __future__ import annotations

import aws_cdk as cdk
from constructs import IConstruct

from holdfast.estate.placement import Placed
from holdfast.model.store import Store


def tag(construct: IConstruct, store: Store, placed: Placed) -> None:
    tags = cdk.Tags.of(construct)
    for name, value in placed.table_tags(store).items():
        tags.add(name, value)
