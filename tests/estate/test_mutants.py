"""Every table and store of this estate is heard of once it loses what it needs; how is the library's affair."""

from __future__ import annotations

import copy
from datetime import date

import pytest
from mutants import MUTATIONS, tables
from rule_mutants import seen
from support import Json
from synth import count

from holdfast import Tier
from holdfast.estate.placement import Placed
from holdfast.rules import judge
from holdfast.verdict import Outcome
from stacks import ESTATE

PLACES = ESTATE.placements()
TRIED = ("deletion_protection_off", "deletion_policy_removed", "recovery_off", "all_tags_removed", "table_removed")


def failed(placed: Placed, template: Json) -> set[str | None]:
    stack = seen(placed, template, account=placed.account, protected=placed.env.tier is Tier.PROD)
    findings = judge(ESTATE.alone(placed.stack), [stack], [placed.env], today=date(2026, 11, 16))
    return {f.table for f in findings if f.outcome is Outcome.FAIL}


@pytest.mark.parametrize("kind", TRIED)
def test_a_table_that_loses_something_is_named_and_no_other(kind: str, templates: dict[str, Json]) -> None:
    tried = 0
    for placed in PLACES:
        for logical_id, name in tables(templates[placed.id]).items():
            template = copy.deepcopy(templates[placed.id])
            if MUTATIONS[kind](template, logical_id):
                tried += 1
                assert failed(placed, template) == {name}, (kind, name)
    assert tried >= 38
    assert kind != "table_removed" or tried == count()
