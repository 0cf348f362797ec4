"""Two trees in normal form: every difference is told, at its place."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.cfn.compare import ABSENT, differences


def told(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    return [("/".join(d.path), d.before, d.after) for d in differences(before, after)]


@pytest.mark.parametrize("name", ["Sid", "Key", "Id", "IndexName", "AttributeName"])
def test_items_go_by_their_identity_only_where_it_is_one(name: str) -> None:
    one, other, third = ({name: "a", "x": x} for x in (1, 2, 3))
    assert told([{name: "a", "x": 1}, {name: "b", "x": 1}], [{name: "b", "x": 2}, {name: "a", "x": 1}]) == [
        ("b/x", 1, 2)
    ]
    assert told([one, other], [third, other]) == [("0/x", 1, 3)]  # two of one name: none may hide the other
    assert told([{name: 1, "x": 1}], [{name: 1, "x": 2}]) == [("0/x", 1, 2)]


def test_an_item_that_is_there_once_less_is_told() -> None:
    assert told(["a", "a", "b"], ["a", "b"]) == [("", ["a"], ABSENT)]
    assert told(["a", "b"], ["a", "a", "b"]) == [("", ABSENT, ["a"])]


def test_another_order_is_told_where_order_matters() -> None:
    assert told(["a", "b"], ["b", "a"]) == [("", ["a", "b"], ["b", "a"])]
    assert told([{"Key": "a"}, {"Key": "b"}], [{"Key": "b"}, {"Key": "a"}]) == [("", ["a", "b"], ["b", "a"])]


def test_the_most_alike_items_are_one_that_changed() -> None:
    assert told([{"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 2, "c": 2}], [{"a": 2, "b": 2, "c": 3}, {"a": 1}]) == [
        ("1/c", 2, 3),
        ("0/b", 1, ABSENT),
        ("0/c", 1, ABSENT),
    ]


def test_a_switch_is_not_a_number_and_null_is_there() -> None:
    assert told({"a": True}, {"a": 1}) == [("a", True, 1)]
    assert told({"a": None}, {}) == [("a", None, ABSENT)]
    assert told([[{"a": 1}]], [[{"a": 1}]]) == []
