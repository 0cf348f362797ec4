"""Whatever stands in a template, the rules answer: they never crash, and never call unreadable things fine."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from datetime import date
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from shop import ESTATE, LIVE, alone
from shop_synth import table
from support import Json

from holdfast.cfn.template import StackSeen
from holdfast.report import render
from holdfast.rules import judge
from holdfast.rules.base import Finding
from holdfast.rules.foreign import judge_foreign
from holdfast.verdict import Outcome

(ORDERS,) = [p for p in ESTATE.placements() if p.id == "Orders-production"]
WEIRD: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        0,
        -1,
        True,
        "",
        "x",
        [],
        {},
        [None],
        [{}],
        {"x": 1},
        {"Ref": "Stage"},
        {"Ref": "AWS::NoValue"},
        {"Ref": 3},
        {"Ref": []},
        {"Fn::If": ["IsProd", True, False]},
        {"Fn::If": []},
        {"Fn::Sub": "${Stage}-${AWS::Region}"},
        {"Fn::Sub": ["${x", {}]},
        {"Fn::Sub": 1},
        {"Fn::Join": ["", ["a", {"Ref": "Stage"}]]},
        {"Fn::GetAtt": ["Key", "Arn"]},
        {"Fn::GetAtt": []},
        {"Fn::FindInMap": ["a", "b", "c"]},
        {"Fn::Select": ["x", "y"]},
        {"Fn::Unheard": {}},
        {"Condition": "IsProd"},
        [{"Ref": "Stage"}],
    ]
)


PLACES = st.integers(0, 10**6)


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a template below its resources."""
    if len(path) > 2:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield from paths(child, (*path, key))


def replaced(template: Json, path: tuple[Any, ...], value: Any) -> Json:
    copied: Json = pickle.loads(pickle.dumps(template))
    target: Any = copied
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return copied


def judged(template: Json) -> tuple[StackSeen, list[Finding]]:
    seen = StackSeen(id=ORDERS.id, where="x.template.json", template=template, region=ORDERS.region, protected=True)
    return seen, judge(alone(ORDERS.stack), [seen], [LIVE], today=date(2026, 11, 16))


# The templates stay out of hypothesis' arguments: it would print them.
def test_no_value_anywhere_crashes_a_rule_or_a_report(templates: dict[str, Json]) -> None:
    template = templates[ORDERS.id]
    everywhere = list(paths(template))

    @settings(max_examples=250)
    @given(place=PLACES, value=WEIRD)
    def check(place: int, value: Any) -> None:
        seen, findings = judged(replaced(template, everywhere[place % len(everywhere)], value))
        everything = [*findings, *judge_foreign(seen, {}, ESTATE.policy)]
        for style in ("text", "json", "sarif", "junit"):
            render(style, everything, command="check", env="live", everything=True)

    check()


def test_a_table_of_others_whose_environment_is_undecided_is_judged_as_production(templates: dict[str, Json]) -> None:
    template: Json = pickle.loads(pickle.dumps(templates[ORDERS.id]))
    properties = table(template)["Properties"]
    (stage,) = [tag for tag in properties["Tags"] if tag["Key"] == "shop:stage"]
    stage["Value"] = {"Ref": "Stage"}
    properties["DeletionProtectionEnabled"] = False
    seen, _ = judged(template)
    found = [f for f in judge_foreign(seen, {}, ESTATE.policy) if f.outcome is Outcome.FAIL]
    assert [(f.rule.id, f.table) for f in found] == [("HF001", "orders-production")]


def test_an_undecided_value_in_a_table_is_never_all_fine(templates: dict[str, Json]) -> None:
    template = templates[ORDERS.id]
    (orders,) = [i for i, r in template["Resources"].items() if r is table(template)]
    own = [p for p in paths(template) if p[:3] == ("Resources", orders, "Properties") and len(p) > 3]

    @settings(max_examples=100)
    @given(place=PLACES)
    def check(place: int) -> None:
        path = own[place % len(own)]
        _, findings = judged(replaced(template, path, {"Ref": "Stage"}))
        assert {Outcome.UNKNOWN, Outcome.FAIL} & {f.outcome for f in findings}, path

    check()
