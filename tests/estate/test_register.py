"""The register of this estate: docs/tables.md and `holdfast list`, against what the documents count and say."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from itertools import chain, combinations, product
from typing import Any

import pytest
from commands import run
from support import ROOT, Json

from holdfast import Table
from holdfast.estate.placement import Placed
from holdfast.estate.provenance import of_table
from holdfast.inventory.listing import Wanted, show
from holdfast.model.provenance import ASSUMED, DOCUMENTED, INFERRED, Fact, spans
from stacks import ESTATE

PLACES = ESTATE.placements()
TABLES = [t for s in ESTATE.stacks for t in s.tables]


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module")
def sections() -> dict[str, str]:
    """What the page says of each declared table."""
    whole = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    parts = [part.partition("\n") for part in chain(*(s.split("\n### ")[1:] for s in whole.split("\n## ")))]
    return {name: text for name, _, text in parts}


def placements(table: Table) -> list[Placed]:
    return [p for p in PLACES if table in p.tables]


ORPHAN = """\
Members of an organization. *Durable, personal, dead.*

| key | partition | sort | projection | finds |
|---|---|---|---|---|
| table | `userId` S (assumed) | `orgId` S (assumed) |  |  |
| orgId-index (assumed) | `orgId` S (assumed) |  | ALL |  |

- state: dead; orphan: its stack was deleted
- archive: phase 1
- successor: `orangetheory-UserStore-{env}`
- seen: 62 items, 2.5 reads in 7 days, on 2026-04-23
- stream: NEW_AND_OLD_IMAGES, no consumer
- owner: ringcentralService
- assumed: projection
"""


def test_w17_the_page_shows_an_orphan_whole(sections: dict[str, str]) -> None:
    said = sections["ConnectionService-UserOrganizations-{env}"].strip()
    assert said.startswith(ORPHAN)
    sources, prod = said.removeprefix(ORPHAN).splitlines()
    assert sources.startswith("- sources: callytics-dynamodb.md ")
    assert (
        prod == "- prod: `ConnectionService-UserOrganizations-prod` — DP RETAIN PITR CMK ALARMS; customer-managed key"
    )


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.name)
def test_w17_the_page_shows_all_that_is_known_of_a_table(table: Table, sections: dict[str, str]) -> None:
    said, state, places = sections[table.name], table.state, placements(table)
    governed = {"stack": "governed by its stack", "orphan": "orphan: ", "pre-cdk": "pre-CDK: "}[state.governance.value]
    assert f"- state: {state.usage.value}; {governed}" in said
    assert f"- owner: {places[0].stack.owner}\n" in said
    assert (f"- archive: phase {state.archive_phase}\n" in said) == (state.archive_phase is not None)
    assert (f"- successor: `{state.replaced_by}`" in said) == bool(state.replaced_by)
    assert (f"on {state.sighting.on}" in said) if state.sighting else ("- seen:" not in said)
    assert (f"- stream: {table.stream.view.value}, " in said) if table.stream else ("- stream:" not in said)
    assert (f"`{table.stream.consumer}`" in said) == bool(table.stream.consumer) if table.stream else True
    assert (f"- TTL: `{table.lifetime.ttl}`\n" in said) if table.lifetime.ttl else ("- TTL:" not in said)
    for index in table.every_index:
        (line,) = [line for line in said.splitlines() if line.startswith((f"| {index.name} |", f"| {index.name} ("))]
        assert ("assumed" in line.split(" | ")[0]) == any(a.fact is not Fact.ADDITION for a in index.assumed)
        assert index.purpose in line
    for placed in places:
        facts = list(of_table(placed, table))
        guessed = {n for s in facts if "key types" in s.fact and s.origin.kind == ASSUMED for n in s.names}
        assert {a.name for a in table.attributes if f"`{a.name}` {a.kind.value} (assumed)" in said} == guessed
        assert f"- {placed.env.label}: `{placed.fill(table.name)}` — " in said
    lines = {n for p in places for s in of_table(p, table) for n in s.origin.lines}
    assert f"- sources: {places[0].stack.document} {spans(tuple(lines))}\n" in said


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("call-analytics-{env}-call-events-{region}", "customer-managed key"),
        ("studio-OperatingHours-{env}", "AWS-owned key"),
        ("acsd2p-{env}-Organizations", "AWS-managed key"),
    ],
)
def test_w17_the_page_says_whose_key_encrypts_a_table(table: str, key: str, sections: dict[str, str]) -> None:
    prod = next(line for line in sections[table].splitlines() if line.startswith("- prod: "))
    assert prod.endswith(f"; {key}")


NAMES = (
    "ConnectionService-SubAccountLinks-prod",
    "acsd2p-test-Sessions",
    "call-analytics-prod-call-analysis-us-east-1",
    "miyabi-lambda-data-production",
    "orangetheory-BlackoutPeriods-test",
)


@pytest.mark.parametrize("name", NAMES)
def test_the_list_shows_every_fact_of_a_table(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list", "--table", name)
    assert code == 0
    lines = {" ".join(line.split()) for line in out.splitlines()}
    ((placed, table),) = [(p, t) for p in PLACES for t in p.tables if p.fill(t.name) == name]
    for s in of_table(placed, table):
        assert f"{s.fact}{f' of {s.part}' if s.part else ''} {s.value} {s.origin}" in lines
    for pattern in placed.stack.patterns_of(table):
        assert not pattern.unsupported or f"{pattern.id}: {pattern.unsupported}" in out


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_the_register_of_every_table_fits_its_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("holdfast.inventory.listing.width", lambda: columns)
    for arguments in ((), ("--assumed",), *(("--table", name) for name in NAMES)):
        code, out, _ = run(capsys, "list", *arguments)
        assert code == 0
        assert 0 < max(map(len, out.splitlines())) <= columns


# The counts of callytics-dynamodb.md, from what `holdfast list --system callytics --format json` prints.


@cache
def counted() -> tuple[Json, ...]:
    """The tables that the document knows; one that is newer than it is inferred as a whole."""
    rows = json.loads(show(ESTATE, Wanted(system="callytics"), as_json=True))["tables"]
    return tuple(r for r in rows if origin(r, "name") in (DOCUMENTED, ASSUMED))


def origin(row: Json, fact: str) -> str:
    return str(next(s["origin"] for s in row["sources"] if s["fact"] == fact))


def of(**wanted: object) -> list[Json]:
    return [r for r in counted() if all(r[name] == value for name, value in wanted.items())]


def test_28_tables_are_declared_in_prod_of_which_26_are_live_and_19_in_test() -> None:
    """C15-21 and C127: the two that are missing in prod are those of the message system."""
    assert len(of(environment="prod")) == 28
    assert len(of(environment="prod", deployed=True)) == 26
    assert {r["stack"] for r in of(environment="prod", deployed=False)} == {"MessageSystemStack"}
    assert len(of(environment="test")) == len(of(environment="test", deployed=True)) == 19


def test_the_26_are_16_of_a_stack_6_orphans_and_4_older_than_cdk() -> None:
    """C17."""
    live = Counter(r["governance"] for r in of(environment="prod", deployed=True))
    assert live == {"stack": 16, "orphan": 6, "pre-cdk": 4}


@pytest.mark.parametrize(
    ("table", "lines", "count"),
    [
        ("call-analytics-prod-call-analysis-us-east-1", range(44, 55), 11),  # C42
        ("LeadTracking-v2-us-east-1", range(108, 112), 4),  # C106
    ],
)
def test_the_document_lists_11_and_4_indexes_a_line_each(table: str, lines: range, count: int) -> None:
    (row,) = of(table=table)
    cited = [s["lines"] for s in row["sources"] if s["fact"] == "access pattern" and set(s["lines"]) & set(lines)]
    assert sorted(cited) == [[line] for line in lines]
    assert len(cited) == len(documented(row)) == count


def test_21_tables_with_36_indexes_is_a_count_that_fits_nothing() -> None:
    """C160 captions a picture with 21 tables and 36 indexes. The same document gives prod 26 tables with 32 indexes and
    test 19 with 26. Whatever is counted (an environment or both, live or declared tables, those of any uses and any
    governance, each name once), no choice has these two numbers: the picture is older, or counts what no line names.
    So nothing of the estate cites that line.
    """
    assert not [s for r in counted() for s in r["sources"] if 160 in s["lines"]]
    choices = product(
        *(several({r[what] for r in counted()}) for what in ("environment", "deployed", "usage", "governance"))
    )
    sums = set()
    for environments, deployed, usages, governance in choices:
        rows = [
            r
            for r in counted()
            if r["environment"] in environments
            and r["deployed"] in deployed
            and r["usage"] in usages
            and r["governance"] in governance
        ]
        once = {r["purpose"]: r for r in rows}.values()
        sums |= {(len(some), sum(len(documented(r)) for r in some)) for some in (rows, once)}
    assert {(28, 32), (26, 32), (19, 26)} <= sums
    assert (21, 36) not in sums


def documented(row: Json) -> list[Json]:
    """Its indexes without those that are newer than the document."""
    newer = {s["part"] for s in row["sources"] if s["fact"] == "index name" and s["origin"] == INFERRED}
    return [i for i in row["indexes"] if i["name"] not in newer]


def several(values: set[Any]) -> list[tuple[Any, ...]]:
    """Every choice of one or more."""
    return [chosen for n in range(1, len(values) + 1) for chosen in combinations(sorted(values), n)]
