"""`holdfast list`: what each filter takes, how wide it is, and a table whole; and the page of tables."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from commands import listed, run
from shop import ESTATE, LIVE, ORDERS, alone
from support import Json

from holdfast import Assumed, Fact, Waiver, gsi
from holdfast.inventory.pages import tables as page

pytestmark = pytest.mark.usefixtures("repository")


def named(document: Json) -> set[str]:
    return {row.get("table") or row["store"] for row in (*document["tables"], *document["stores"])}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--system", "news"), {"newsletter-eu-west-1", "newsletter-eu-central-1"}),
        (("--owner", "login-team", "--env", "live"), {"sessions-eu-west-1", "devices-eu-west-1"}),
        (("--table", "customers-live"), {"customers-live"}),
        (("--table", "prices-*", "--env", "dev"), {"prices-dev", "prices-old-dev"}),
        (("--table", "shop-files-dev"), {"shop-files-dev"}),
        (("--state", "mirror", "--env", "live"), {"newsletter-eu-west-1"}),
        (("--state", "legacy"), {"coupons"}),
        (("--state", "dead"), {"baskets-live"}),
        (("--state", "duplicate"), {"prices-old-dev"}),
        (("--state", "orphan"), {"customers-live"}),
        (("--state", "pre-cdk"), {"coupons"}),
        (("--state", "not deployed"), {"sessions-eu-west-1", "devices-eu-west-1"}),
        (("--state", "legacy", "--owner", "login-team"), set()),
    ],
)
def test_each_filter_takes_what_it_names_and_nothing_else(
    arguments: tuple[str, ...], expected: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert named(listed(capsys, *arguments)) == expected


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--owner", "nobody"), "holdfast: unknown owner 'nobody': known are "),
        (("--state", "lost"), "holdfast: unknown state 'lost': known are "),
        (("--table", "order"), "holdfast: no table or store is called 'order'; `holdfast list` names them all"),
    ],
)
def test_a_name_that_nothing_has_is_refused(
    arguments: tuple[str, ...], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "list", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(line)


def test_a_table_that_is_named_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    document = listed(capsys)
    rows = [*document["tables"], *document["stores"]]
    for name in ("customers-live", "journal-dev", "coupons", "orders-production", "shop-dev"):
        code, out, _ = run(capsys, "list", "--table", name)
        assert code == 0
        (row,) = [r for r in rows if name in (r.get("table"), r.get("store"))]
        lines = [" ".join(line.split()) for line in out.splitlines()]
        for fact in row["sources"]:
            what = f"{fact['fact']} of {fact['part']}" if fact["part"] else fact["fact"]
            assert f"{what} {fact['value']} {fact['source']}" in lines
        known = ("environment", "stack", "system", "owner", "region")
        assert {f"{what} {row[what]}" for what in known} <= set(lines)
        assert row.get("encryption") in (None, *[line.removeprefix("encryption ") for line in lines])
    assert "consumer of the stream reports-dev" in " ".join(run(capsys, "list", "--table", "journal-dev")[1].split())


@pytest.mark.parametrize("columns", [80, 100, 120])
@pytest.mark.parametrize("arguments", [(), ("--table", "orders-production"), ("--sources",), ("--assumed",)])
def test_no_line_is_wider_than_the_terminal(
    columns: int, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """That the command asks the terminal for its width is test_terminal.py's affair."""
    monkeypatch.setattr("holdfast.inventory.listing.width", lambda: columns)
    code, out, _ = run(capsys, "list", *arguments)
    assert code == 0
    assert 0 < max(map(len, out.splitlines())) <= columns


def test_wide_shows_every_column(capsys: pytest.CaptureFixture[str]) -> None:
    header = " ".join(run(capsys, "list", "--wide")[1].splitlines()[0].split())
    assert header == (
        "environment stack table indexes data state guards key TTL stream consumer billing encryption successor phase "
        "seen region owner waivers sources"
    )


def test_w17_the_page_shows_a_waiver_with_its_owner_its_last_day_and_its_reason() -> None:
    waiver = Waiver(rule="HF205", environment=LIVE, reason="alarms follow", owner="ops", expires=date(2027, 1, 31))
    table, *others = ORDERS.tables
    waived = replace(ORDERS, tables=(replace(table, waivers=(waiver,)), *others))
    (line,) = [line for line in page(alone(waived)).splitlines() if "waived" in line]
    assert line.startswith("- live: `orders-production` — ")
    assert line.endswith("; HF205 waived by ops to 2027-01-31: alarms follow")
    assert "waived" not in page(ESTATE)


def test_the_page_shows_whatever_is_assumed_of_an_index() -> None:
    found = gsi("status", assumed=(Assumed(Fact.PROJECTION, "a guess"), Assumed(Fact.INDEX_NAME, "a guess")))
    table, *others = ORDERS.tables
    odd = replace(table, indexes=(found,))
    assert "| status-index (projection assumed, name assumed) |" in page(alone(replace(ORDERS, tables=(odd, *others))))
