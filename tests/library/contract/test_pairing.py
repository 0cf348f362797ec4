"""A resource under another name is paired only where it is certain which one it is."""

from __future__ import annotations

from typing import Any

import pytest
from support import Json

from holdfast.contract.pairing import moves, renames


def resource(**properties: Any) -> Json:
    return {"Type": "AWS::DynamoDB::Table", "Properties": properties}


def test_only_one_of_each_is_a_rename() -> None:
    named, bare = resource(TableName="a"), {"Type": "AWS::X::Y"}
    assert renames({"A": named}, {"B": named}) == {"B": "A"}
    assert renames({"A": bare}, {"B": bare}) == {"B": "A"}
    assert renames({"A": bare, "A2": bare}, {"B": bare, "B2": bare}) == {}
    assert renames({"A": bare, "A2": bare}, {"B": bare}) == {}
    assert renames({"A": bare}, {"B": bare, "B2": bare}) == {}


@pytest.mark.parametrize(
    ("place", "same"),
    [
        ("aws://111122223333/eu-west-1", True),
        ("aws://unknown-account/eu-west-1", True),
        ("aws://111122223333/unknown-region", True),
        ("aws://444455556666/eu-west-1", False),
        ("aws://111122223333/us-east-1", False),
    ],
)
def test_a_store_moves_only_to_where_it_may_be(place: str, same: bool) -> None:
    def contract(place: str, **resources: Json) -> Json:
        return {"stack": {"environment": place}, "template": {"Resources": resources}}

    here, store = "aws://111122223333/eu-west-1", resource(TableName="orders")
    base = {"A": contract(here, Orders=store), "B": contract(place)}
    head = {"A": contract(here), "B": contract(place, Store=store)}
    assert moves(base, head, {}) == ({("A", "Orders"): [("B", "Store")]} if same else {})
    base, head = {"A": contract(here), "B": contract(place, Store=store)}, {"A": contract(here, Orders=store)}
    assert moves(base, head, {}) == ({("B", "Store"): [("A", "Orders")]} if same else {})
