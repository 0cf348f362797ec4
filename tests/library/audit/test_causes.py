"""Findings by what brought them about: what stands together, in which order, and what fits onto one screen."""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import Any

import pytest
from accounts import NOW, account, deployed, template, with_table
from shop import DEV, ESTATE, LIVE, alone

from holdfast import Estate, Place
from holdfast.audit.audit import Audit, audit
from holdfast.audit.causes import ALONE, CALLED, Cause, Kind, causes
from holdfast.cli.output import report
from holdfast.fix.plan import FIXABLE
from holdfast.model.declaration import DeclarationError
from holdfast.model.regions import others
from holdfast.report import render
from holdfast.report.text import COLUMNS, LINES
from holdfast.rules import BY_ID
from holdfast.rules.base import Finding
from holdfast.shared.account import Account, Unreadable
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome

STACK, ORDERS, PRICES = "Orders-production", "orders-production", "prices-production"
FEW = ("Orders-{env}", "Sessions", "Retired-{env}")


def few() -> Account:
    return account(LIVE.region, FEW)


def shop(foreign: tuple[str, ...] = ()) -> Estate:
    return replace(alone(*(s for s in ESTATE.stacks if s.id in FEW)), foreign=foreign)


def look(*accounts: Account, declared: Estate | None = None) -> Audit:
    return audit(declared or shop(), accounts, [LIVE], now=NOW)


def found(result: Audit) -> list[Cause]:
    return causes(result.findings, result)


def wrong(result: Audit) -> list[Finding]:
    return [f for f in result.findings if f.outcome in (Outcome.FAIL, Outcome.UNKNOWN)]


def last_deployed(*names: str, **properties: Any) -> Account:
    """An account whose stack was deployed with other properties of these tables; None takes one out."""
    resources = copy.deepcopy(template("Orders-production")["Resources"])
    for resource in resources.values():
        if (p := resource.get("Properties", {})).get("TableName") in names:
            p |= properties
            for key in [k for k, value in properties.items() if value is None]:
                del p[key]
    (placed,) = [p for p in ESTATE.placements() if p.id == "Orders-production"]
    seen = few()
    assert isinstance(seen.stacks, Mapping)
    return replace(seen, stacks=dict(seen.stacks) | {STACK: deployed(placed, resources)})


def never_deployed(*names: str) -> Account:
    """An account whose stack was deployed without protection of these tables."""
    seen = last_deployed(*names, DeletionProtectionEnabled=None, PointInTimeRecoverySpecification=None)
    for name in names:
        seen = with_table(seen, name, observed={"deletion_protection": False, "recovery": False})
    return seen


def printed(result: Audit, style: str = "text", **options: Any) -> str:
    return render(style, result.findings, command="audit", env="live", audit=result, **options)


def test_l50_what_one_deploy_brings_is_one_cause_with_that_command() -> None:
    result = look(never_deployed(ORDERS, PRICES))
    (cause, *others) = found(result)
    assert (cause.kind, cause.id, cause.tables) == (Kind.BEHIND, f"behind/live/{STACK}", (ORDERS, PRICES))
    assert {(f.rule.id, f.table) for f in cause.findings} == {(r, t) for r in ("HF001", "HF004") for t in cause.tables}
    assert cause.says == f"{STACK} is behind its contract: 2 tables, 4 findings, one deploy"
    assert cause.command == "cdk deploy -c env=live Orders-production"
    assert cause.meanwhile == "holdfast fix --env live --only HF001,HF004"
    assert cause.parts[0].startswith(
        "deletion protection and point-in-time recovery on 2 tables: intended, never deployed; "
    )
    assert all(c.kind is Kind.RULE for c in others)


def test_l50_every_finding_has_one_cause_and_nothing_else_has() -> None:
    hole = Unreadable(what="alarms", reason="not allowed", action="cloudwatch:DescribeAlarms")
    seen = with_table(never_deployed(ORDERS), PRICES, observed={"deletion_protection": False})
    result = look(replace(seen, unreadable=(hole,)), account("eu-north-1"))
    assert sorted(id(f) for c in found(result) for f in c.findings) == sorted(map(id, wrong(result)))
    assert len({c.id for c in found(result)}) == len(found(result))
    document = json.loads(printed(result, "json", everything=True))
    ids = {c["id"] for c in document["causes"]}
    for f in document["findings"]:
        assert (f["cause"] in ids) == (f["outcome"] in ("fail", "unknown"))


def test_l50_a_change_by_hand_is_a_cause_of_its_table_and_a_call_ends_it() -> None:
    result = look(with_table(few(), PRICES, observed={"deletion_protection": False}))
    (drift,) = [c for c in found(result) if c.kind is Kind.DRIFT]
    assert (drift.about, drift.command) == (PRICES, "holdfast fix --env live --only HF001")
    assert drift.says == f"{PRICES}: deletion protection not as deployed, 1 finding"


def test_l50_tables_in_no_stack_are_one_cause_and_no_deploy_is_advised() -> None:
    seen = few()
    assert isinstance(seen.stacks, Mapping)
    result = look(replace(seen, stacks={name: s for name, s in seen.stacks.items() if name != STACK}))
    (cause,) = [c for c in found(result) if c.kind is Kind.STACKLESS and c.about == STACK]
    assert len(cause.tables) > 1
    assert "in no stack" in cause.says
    assert (cause.command, cause.before) == ("", "")
    assert "needs an import together with its key" in cause.fix
    assert {f.table for f in wrong(result) if f.stack == STACK and f.gap} < set(cause.tables)


def test_l50_a_deploy_that_would_fail_is_not_the_command() -> None:
    other = {
        "AttributeDefinitions": [{"AttributeName": "x", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "x", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": None,
    }
    seen = last_deployed(ORDERS, DeletionProtectionEnabled=None, **other)
    seen = with_table(seen, ORDERS, observed={"deletion_protection": False})
    (cause,) = [c for c in found(look(seen)) if c.kind is Kind.BEHIND]
    assert cause.command == ""
    assert cause.says.endswith("and no deploy for now")
    assert "cannot be deployed for now: CloudFormation does not replace a table that is named" in cause.fix


def test_l50_the_command_deploys_where_the_findings_are() -> None:
    result = look(never_deployed(ORDERS))
    (way,) = [w for w in result.ways if w.placed.name == STACK]
    elsewhere = replace(way, placed=replace(way.placed, at=Place("us-east-1")))
    (cause, *_) = found(replace(result, ways=(elsewhere, *result.ways)))
    assert cause.command == "cdk deploy -c env=live Orders-production"


def test_l50_the_worst_is_first_whatever_the_order_of_the_findings() -> None:
    """Personal data in production that can be lost now, before the same on operational data, before what is low."""
    seen = with_table(never_deployed(ORDERS), PRICES, observed={"deletion_protection": False})
    result = look(seen)
    ranked = [c.id for c in found(result)]
    assert ranked[:2] == [f"behind/live/{STACK}", f"drift/live/{PRICES}"]
    assert found(result)[0].personal
    for order in list(permutations(wrong(result)))[:: max(1, len(wrong(result)))][:20]:
        assert [c.id for c in causes(order, result)] == ranked


def test_l50_personal_data_in_production_comes_before_more_items() -> None:
    seen = with_table(few(), ORDERS, observed={"deletion_protection": False}, items=1)
    result = look(with_table(seen, PRICES, observed={"deletion_protection": False}, items=500))
    assert [(c.about, c.personal) for c in found(result) if c.kind is Kind.DRIFT] == [(ORDERS, True), (PRICES, False)]


def test_l50_more_items_come_first_where_nothing_else_differs() -> None:
    for many, few_ in ((ORDERS, PRICES), (PRICES, ORDERS)):
        seen = few()
        for name, items in ((many, 500), (few_, 1)):
            seen = with_table(seen, name, observed={"deletion_protection": False}, items=items)
        result = look(seen)
        same = [replace(f, untouchable=True) for f in result.findings]
        drifted = [c.about for c in causes(same, result) if c.kind is Kind.DRIFT]
        assert drifted == [many, few_]


@cache
def crowded() -> Audit:
    """More causes than lines, of which the last is what could not be read."""
    result = look(never_deployed(ORDERS))
    by_hand = look(with_table(few(), PRICES, observed={"deletion_protection": False}))
    (drift,) = [f for f in wrong(by_hand) if (f.rule.id, f.table) == ("HF001", PRICES)]
    many = [replace(drift, table=f"{'long-name-' * 9}{n}", stack=f"s{n}") for n in range(60)]
    hole = look(replace(few(), unreadable=(Unreadable(what="alarms", reason="not allowed"),)))
    return replace(result, findings=[*wrong(result), *many, *wrong(hole)])


def test_l50_one_screen_is_24_lines_of_100_columns_and_never_hides_what_was_not_read() -> None:
    screen = printed(crowded(), whole=False).splitlines()
    assert len(screen) <= LINES == 24
    assert max(map(len, screen)) <= COLUMNS == 100
    assert screen[0].startswith(f"{len(found(crowded()))} causes of ")
    assert any(line.split()[1:3] == ["????", "1"] and "alarms" in line for line in screen)
    assert "more causes; " in screen[-1]
    assert "--output FILE" in screen[-1]
    whole = printed(crowded())
    assert whole.splitlines()[: len(screen) - 1] == screen[:-1]
    assert sum(line.startswith("long-name-") for line in whole.splitlines()) == 60  # each table is below


def test_l50_a_terminal_shows_one_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, ours = os.openpty()
    os.set_blocking(ours, False)  # a screen fits into its buffer, and all does not
    with os.fdopen(ours, "w") as stdout, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", stdout)
        args = argparse.Namespace(format="text", all=False, output=None)
        assert report(args, crowded().findings, command="audit", env="live", audit=crowded()) == 1
    seen = b""
    with suppress(OSError):  # the other end is closed
        while block := os.read(terminal, 65_536):
            seen += block
    os.close(terminal)
    shown = seen.decode().splitlines()
    assert 20 < len(shown) <= LINES
    assert "| less" in shown[-1]


def test_l50_what_was_never_deployed_is_one_cause_of_its_stack() -> None:
    seen = few()
    assert isinstance(seen.stacks, Mapping)
    assert isinstance(seen.tables, Mapping)
    ours = {p.fill(t.name) for p in ESTATE.placements() if p.name == STACK for t in p.tables}
    gone = replace(
        seen,
        stacks={name: s for name, s in seen.stacks.items() if name != STACK},
        tables={name: t for name, t in seen.tables.items() if name not in ours},
    )
    (cause,) = [c for c in found(look(gone)) if c.kind is Kind.GONE]
    assert (cause.about, set(cause.tables)) == (STACK, ours)
    assert cause.says.startswith(f"{STACK} was never deployed: ")
    assert cause.command == "cdk deploy -c env=live Orders-production"


def test_l50_a_clean_audit_has_no_causes() -> None:
    result = look(account(LIVE.region), account("eu-north-1"), declared=ESTATE)
    shown = [f for f in result.findings if f.rule.id != "HF605"]
    assert causes(shown, result) == []
    assert "cause" not in render("text", shown, command="audit", env="live", audit=result, whole=False)


def test_l50_html_and_sarif_have_the_same_causes() -> None:
    result = look(never_deployed(ORDERS))
    ranked = found(result)
    run = json.loads(printed(result, "sarif"))["runs"][0]
    assert [c["id"] for c in run["properties"]["causes"]] == [c.id for c in ranked]
    assert {r["properties"]["cause"] for r in run["results"]} == {c.id for c in ranked}
    page = printed(result, "html")
    assert page.count('<li class="cause ') == len(ranked)
    assert ranked[0].command in page
    assert ", cause 1</p>" in page


def test_what_a_cause_calls_for_is_what_fix_can_do() -> None:
    assert {r.id for r in CALLED | ALONE} == FIXABLE


# Tables of other teams


def strangers(count: int) -> Account:
    seen = few()
    assert not isinstance(seen.tables, Unknown)
    some = next(iter(seen.tables.values()))
    where = "arn:aws:dynamodb:eu-west-1:0:table"
    names = [f"billing-{n}" for n in range(count)]
    more = {name: replace(some, arn=f"{where}/{name}", owner=None) for name in names}
    return replace(seen, tables={**seen.tables, **more})


def test_l51_tables_that_no_declaration_has_are_counted_in_one_line_and_nothing_is_told_to_be_deleted() -> None:
    result = look(strangers(3000))
    (cause,) = [c for c in found(result) if c.kind is Kind.FOREIGN]
    assert (cause.says, len(cause.findings)) == ("3,000 tables that no declaration has", 3000)
    text = printed(result)
    assert len(text.splitlines()) < 60
    assert "archive it" not in text
    assert "delete it" not in text
    assert "and 2,990 more, which --format json lists" in text
    document = json.loads(printed(result, "json"))
    assert sum(f["rule"] == "HF602" for f in document["findings"]) == 3000


def test_l51_stacks_of_other_teams_are_counted_together_and_ours_apart() -> None:
    """A declared stack whose code lost a table is about to delete it."""
    result = look(few())
    (some, *_) = [f for f in look(strangers(1)).findings if f.rule.id == "HF602"]
    coded = [
        replace(some, rule=BY_ID["HF603"], table=f"t{n}", stack=stack)
        for n, stack in enumerate(("A", "B", STACK, STACK))
    ]
    told = {c.about: c.says for c in causes([some, *coded], result)}
    assert told == {
        "": "3 tables that no declaration has",
        STACK: f"{STACK} has 2 tables that the code has not",
    }


def test_l51_other_teams_tables_are_named_by_the_estate_and_only_counted() -> None:
    result = look(strangers(30), declared=shop(("billing-*",)))
    told = [f for f in result.findings if f.table and f.table.startswith("billing-")]
    assert (len(told), {f.outcome for f in told}) == (30, {Outcome.EXEMPT})
    assert not [c for c in found(result) if c.kind is Kind.FOREIGN]
    result = look(strangers(30), declared=shop(("billing-1*",)))
    (cause,) = [c for c in found(result) if c.kind is Kind.FOREIGN]
    assert len(cause.findings) == 30 - 11  # billing-1 and billing-10 to billing-19
    with pytest.raises(DeclarationError, match=r"foreign=\(…\) has an empty name"):
        shop(("",))


def test_l51_a_declared_table_is_never_foreign() -> None:
    seen = with_table(few(), PRICES, observed={"deletion_protection": False})
    wide = look(seen, declared=shop(("*",)))
    assert [(f.rule.id, f.table) for f in wrong(wide)] == [(f.rule.id, f.table) for f in wrong(look(seen))]


# Regions


def test_l52_regions_that_were_not_read_are_named() -> None:
    result = look(few())
    assert len(result.elsewhere) == 17 - 1  # AWS enables so many in every account
    assert LIVE.region not in result.elsewhere
    assert others({"cn-north-1"}) == ("cn-northwest-1",)
    assert json.loads(printed(result, "json"))["not_read"] == list(result.elsewhere)
    assert f"is declared there: {', '.join(result.elsewhere)}" in printed(result, "html")
    both = look(few(), account("eu-north-1"))
    assert set(result.elsewhere) - set(both.elsewhere) == {"eu-north-1"}


def test_l52_a_declared_region_that_was_not_read_is_one_cause() -> None:
    result = audit(shop(), [few()], [LIVE, DEV], now=NOW)
    (cause,) = [c for c in found(result) if c.kind is Kind.UNVISITED]
    assert (cause.about, cause.unknown) == (DEV.region, True)
    assert cause.says.startswith(f"{DEV.region} was not read: ")
    assert DEV.region not in result.elsewhere  # it is declared, so it is unknown and not merely not asked for
