"""Where each declared fact comes from: the most specific declaration that says anything of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from declare import PROD, TEST, estate, stack, table

from holdfast import Assumed, Bucket, Data, DeclarationError, Entity, Fact, Inferred, Item, Pattern, Stack, Table, gsi
from holdfast.estate.provenance import Stated, assumptions, every_fact
from holdfast.model.provenance import Origin, cited, spans

TYPES = Assumed(Fact.KEY_TYPES, "no types are given")


def facts(declared: Stack) -> dict[tuple[str | None, str], Stated]:
    """By part, or nothing where the fact is of the table as a whole, and by fact, in production."""
    (placed,) = estate(declared).placements([PROD])
    return {(s.part, s.fact): s for s in every_fact(placed)}


def origin(declared: Stack, fact: Fact, part: str | None = None) -> str:
    return str(facts(declared)[part, fact.value].origin)


def of(declared: Table, **more: object) -> Stack:
    return replace(stack(declared), document="shop.md", **more)  # type: ignore[arg-type]


def test_lines_are_written_as_a_reader_writes_them() -> None:
    assert spans((44, 39, 45, 45, 47)) == "39, 44-45, 47"
    assert str(cited((3, 4), "shop.md")) == "shop.md:3-4"
    assert str(cited(Inferred("a UUID is a String", 7), "shop.md")) == "inferred: a UUID is a String (shop.md:7)"
    assert str(Origin("unsourced")) == "unsourced"


@pytest.mark.parametrize("given", [(), ("",), (1,), ("why", 0), ("why", "3"), ("why", True)])
def test_an_inference_has_a_reason_and_lines(given: tuple[object, ...]) -> None:
    with pytest.raises((DeclarationError, TypeError)):
        Inferred(*given)  # type: ignore[arg-type]


def test_a_fact_without_any_source_is_told() -> None:
    declared = of(table())
    assert {origin(declared, fact) for fact in (Fact.STACK, Fact.NAME, Fact.DATA, Fact.KEY_TYPES)} == {"unsourced"}


def test_the_table_says_more_than_its_stack_and_an_environment_more_than_all() -> None:
    declared = of(table(source=5, sources={Fact.DATA: 6}), sources={Fact.DATA: 1, Fact.LIFETIME: 2})
    assert origin(declared, Fact.NAME) == "shop.md:5"
    assert origin(declared, Fact.DATA) == "shop.md:6"
    assert origin(declared, Fact.LIFETIME) == "shop.md:2"
    here = replace(declared, sources={(Fact.LIFETIME, PROD): 3, (Fact.LIFETIME, TEST): 4, Fact.LIFETIME: 2})
    assert origin(here, Fact.LIFETIME) == "shop.md:3"


def test_an_assumption_keeps_the_lines_that_hint_at_it() -> None:
    declared = of(table(assumed=(Assumed(Fact.DATA, "it may be more"),), sources={Fact.DATA: 6}))
    assert origin(declared, Fact.DATA) == "assumed: it may be more (shop.md:6)"
    (placed,) = estate(declared).placements([PROD])
    assert [s.fact for s in assumptions(placed, placed.tables[0])] == ["data class"]


def test_an_assumption_of_one_environment_is_none_elsewhere() -> None:
    assumed = Assumed(Fact.USAGE, "not said of test", environment=TEST)
    declared = of(table(assumed=(assumed,), source=5))
    assert origin(declared, Fact.USAGE) == "shop.md:5"


def test_an_index_states_its_name_and_its_key_and_one_that_is_assumed_states_itself() -> None:
    declared = of(
        table(
            indexes=(
                gsi("shop", source=8),
                gsi("at", assumed="it is only counted", source=9),
                gsi("paid", assumed=Assumed(Fact.INDEX_KEY, "what stands before -index"), source=10),
            ),
        ),
        assumed=(TYPES,),
    )
    assert origin(declared, Fact.INDEX_NAME, "shop-index") == "shop.md:8"
    assert origin(declared, Fact.INDEX, "at-index").startswith("assumed: it is only counted")
    assert ("at-index", Fact.INDEX_NAME.value) not in facts(declared)
    assert origin(declared, Fact.INDEX_NAME, "paid-index") == "shop.md:10"
    assert origin(declared, Fact.INDEX_KEY, "paid-index").startswith("assumed: what stands")


def test_types_are_of_the_attribute_before_they_are_of_all() -> None:
    declared = of(
        table(indexes=(gsi("shop"), gsi("at"))),
        assumed=(TYPES,),
        types={"shop": Inferred("a UUID is a String", 7)},
    )
    (placed,) = estate(declared).placements([PROD])
    said_of = {s.value: str(s.origin) for s in every_fact(placed) if s.fact in ("key types", "index key types")}
    assert said_of["shop:S"] == "inferred: a UUID is a String (shop.md:7)"
    assert said_of["id:S, at:S"] == "assumed: no types are given"


def test_a_table_that_is_newer_than_its_document_is_so_in_every_fact() -> None:
    declared = of(table(source=Inferred("newer than the document")), sources={Fact.LIFETIME: 2})
    for fact in (Fact.NAME, Fact.DATA, Fact.KEY_TYPES, Fact.BILLING):
        assert origin(declared, fact) == "inferred: newer than the document"
    assert origin(declared, Fact.LIFETIME) == "shop.md:2", "the stack speaks of all its tables"


def test_questions_and_items_stand_where_they_are_declared() -> None:
    declared = of(
        table(indexes=(gsi("shop", purpose="Orders of a shop.", source=8),)),
        entities=(
            Entity(type="ORDER", table="orders-{env}", items=(Item({"id": "{id}"}),), attributes=("shop",), source=11),
        ),
        patterns=(Pattern(id="ONE", purpose="One order.", table="orders-{env}", partition="{id}", source=(12, 13)),),
    )
    assert origin(declared, Fact.ITEMS, "ORDER") == "shop.md:11"
    assert origin(declared, Fact.PATTERN, "ONE") == "shop.md:12-13"
    assert origin(declared, Fact.PATTERN, "shop-index") == "shop.md:8"


def test_another_store_calls_its_facts_by_its_own_words() -> None:
    bucket = Bucket(
        name="files", purpose="Files.", data=Data.OPERATIONAL, prefixes=(), source=20, sources={Fact.DATA: 21}
    )
    found = facts(replace(stack(table()), document="shop.md", stores=(bucket,)))
    assert str(found[None, "data class"].origin) == "shop.md:21"
