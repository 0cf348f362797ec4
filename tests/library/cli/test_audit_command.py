"""`holdfast audit` and `holdfast fix` as a user runs them, and what they print."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from accounts import NOW, account, with_table
from shop import ESTATE, LIVE, alone
from support import ROOT

from holdfast.audit.audit import Audit, audit
from holdfast.audit.rows import StackRow
from holdfast.cli import main
from holdfast.contract.deployed import Pending, Running
from holdfast.contract.history import History
from holdfast.estate import finder
from holdfast.estate.finder import Project
from holdfast.model.located import declarations
from holdfast.report import exit_code, render
from holdfast.report.text import against, audit_summary
from holdfast.rules.base import Finding, Severity
from holdfast.rules.gap import Commit
from holdfast.shared.account import IndexUse, Units, Unreadable
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome

PRICES = "prices-production"
IDS = ("Orders-{env}", "Retired-{env}")


@pytest.fixture(scope="module", params=["00:10", "23:50"])
def found(request: pytest.FixtureRequest) -> Audit:
    """On the day of the audit, whose hour changes nothing."""
    now = datetime.fromisoformat(f"{NOW.date()}T{request.param}Z")
    uses = {f"i{n}-index": IndexUse(items=0, size=0, reads=Units()) for n in range(2)}
    seen = with_table(account(LIVE.region, IDS), PRICES, observed={"deletion_protection": False}, items=3, indexes=uses)
    hole = Unreadable(what="alarms", reason="not allowed", action="cloudwatch:DescribeAlarms")
    stacks = [s for s in ESTATE.stacks if s.id in IDS]
    seen = with_table(seen, "coupons", observed={}, items=5, size=500)
    seen, declared = replace(seen, unreadable=(hole,)), declarations(ROOT / "tests" / "library" / "shop.py")
    return audit(alone(*stacks), [seen], [LIVE], now=now, declared=declared)


def printed(found: Audit, style: str, **options: Any) -> str:
    return render(style, found.findings, command="audit", env="live", audit=found, **options)


def bad(findings: Iterable[Finding]) -> list[Finding]:
    return [f for f in findings if f.outcome in (Outcome.FAIL, Outcome.UNKNOWN)]


def test_text_puts_what_is_wrong_with_a_table_together_worst_first_with_its_three_columns(found: Audit) -> None:
    blocks = printed(found, "text").split("\n\n")
    title, header, row, *lines = next(b for b in blocks if b.startswith(PRICES) and "intent" in b).splitlines()
    assert title.startswith(f"{PRICES}  (Orders-production, live, shop.py:")
    assert header.split() == ["intent", "deployed", "live"]
    assert row.split() == ["deletion", "protection", "on", "on", "off"]
    assert [line.split()[1] for line in lines if line.startswith("  FAIL")] == ["HF001", "HF608", "HF608"]
    assert "it was changed after the deploy, or imported and never applied; " in lines[1]
    assert (
        blocks[-1]
        .splitlines()[1]
        .startswith("  ????  HF614  medium    alarms: not allowed (needs cloudwatch:DescribeAlarms)")
    )
    assert "\033[" not in printed(found, "text")
    assert "\033[31mFAIL\033[0m" in printed(found, "text", colour=True)


def test_what_an_account_holds_neither_steers_a_terminal_nor_forges_a_line(found: Audit) -> None:
    forged = replace(found.findings[0], detail="x\x1b[2J\nFAIL  forged", outcome=Outcome.FAIL)
    for shown in (
        render("text", [forged], command="check", env="live"),
        printed(replace(found, findings=[forged]), "text"),
    ):
        assert "\x1b" not in shown
        assert "\nFAIL  forged" not in shown


def test_which_contract_a_stack_runs_stands_before_the_tables(found: Audit) -> None:
    """The forms of one fact: as text, as JSON, as HTML; what the words are is test_history.py's affair."""
    commits = [Commit(letter * 40, NOW - timedelta(days=d)) for letter, d in (("a", 52), ("b", 78))]
    waits = Pending(commit=commits[0], says="<deletion protection> \x1b[2J", protects=True)
    rows = tuple(
        StackRow(stack=name, environment="live", region="eu-west-1", account="0", running=running)
        for name, running in (
            ("Behind", Running(commit=commits[1], pending=(waits,))),
            ("Latest", Running(commit=commits[0])),
            ("Unread", Running(why="not allowed")),
        )
    )
    past = History(head=commits[0], branch="main", merged=True, line=(), contents={}, working={})
    seen = replace(found, history=past, stacks=rows)
    assert against(seen) == "against the contract of aaaaaaa (main)"
    first = next(b for b in printed(seen, "text").split("\n\n") if b.startswith("Behind runs")).splitlines()
    assert first == [
        "Behind runs the contract of bbbbbbb (2026-02-04), 1 contract change behind; merged and not deployed for 52 "
        r"days: <deletion protection> \x1b[2J (aaaaaaa)",
        "Unread runs an unknown contract: not allowed",
        "1 stack runs the latest contract",
    ]
    document = json.loads(printed(seen, "json"))
    assert document["contract"] == {
        "commit": "a" * 40,
        "committed": commits[0].when.isoformat(),
        "branch": "main",
        "why": None,
    }
    behind, latest, unread = document["stacks"]
    assert (behind["commit"], behind["behind"], behind["pending"][0]["commit"]) == ("b" * 40, 1, "a" * 40)
    assert (latest["behind"], latest["pending"], unread["commit"], unread["why"]) == (0, [], None, "not allowed")
    page = printed(seen, "html")
    assert "against the contract of aaaaaaa (main)" in page
    assert "&lt;deletion protection&gt;" in page
    assert "\x1b" not in page
    on_a_branch = replace(past, branch="feature, which is not on main", merged=False)
    assert "committed and not deployed for 52 days" in printed(replace(seen, history=on_a_branch), "text")
    nothing = replace(found, history=Unknown("there are no contracts here"), stacks=())
    assert against(nothing) == "against no contract, so that no age is known: there are no contracts here"
    assert json.loads(printed(nothing, "json"))["contract"]["why"] == "there are no contracts here"


def test_w5_how_much_a_table_is_used_stands_in_every_form(found: Audit) -> None:
    first = found.rows[0].live
    assert first
    rows = [replace(found.rows[0], live=replace(first, reads=Unknown("not allowed"))), *found.rows[1:]]
    used = Units(450.0, 2_000.5, NOW.date() - timedelta(days=1))
    rows = [replace(r, live=replace(r.live, reads=used)) if r.table == PRICES and r.live else r for r in rows]
    seen = replace(found, rows=rows)
    words = "450 read units in 7 days (2,000.5 in 30, the last on 2026-04-22), no write units in 30 days"
    assert f"  use: {words}" in printed(seen, "text")
    page = printed(seen, "html")
    assert f"<td>{words}" in page
    assert "<td>unknown read units" in page
    tables = {t["table"]: t["use"] for t in json.loads(printed(seen, "json"))["tables"]}
    assert tables[PRICES]["reads"] == {"days_7": 450.0, "days_30": 2000.5, "last": "2026-04-22", "why": None}
    assert tables[PRICES]["indexes"]["i0-index"]["days_30"] == 0.0
    assert tables[rows[0].table]["reads"] == {"days_7": None, "days_30": None, "last": None, "why": "not allowed"}


def test_the_summary_counts_tables_gaps_and_severities(found: Audit) -> None:
    assert re.fullmatch(
        r"6 declared tables, 1 with a gap: 5 failed \(1 critical, 4 low\), 1 unknown, \d+ passed, \d+ exempt",
        audit_summary(found.findings, found.rows),
    )


def test_json_has_the_documented_members_and_the_columns(found: Audit) -> None:
    document = json.loads(printed(found, "json"))
    assert len(document["findings"]) == len(bad(found.findings))
    (gap,) = [f for f in document["findings"] if f["rule"] == "HF001"]
    assert gap["source"] == "live"
    assert gap["declared"].startswith("shop.py:")
    assert gap["gap"]["says"].startswith("intended and deployed, not live")
    assert gap["gap"]["days_since_update"] == 78
    assert document["at"] in ("2026-04-23T00:10:00+00:00", "2026-04-23T23:50:00+00:00")
    assert document["read"] == [{"account": "000000000000", "region": "eu-west-1"}]
    tables = {t["table"]: t for t in document["tables"]}
    assert tables[PRICES]["guards"]["DELETION_PROTECTION"] == {"intent": "on", "deployed": "on", "live": "off"}
    assert (tables["coupons"]["items"], tables["coupons"]["bytes"]) == (5, 500)
    whole = json.loads(printed(found, "json", everything=True))
    assert len(whole["findings"]) == len(found.findings) == sum(whole["summary"][o.value] for o in Outcome)


def test_sarif_is_valid_points_at_the_declaration_and_tells_findings_apart(found: Audit) -> None:
    schemas = ROOT / "node_modules" / "@microsoft" / "sarif-matcher-utils" / "lib" / "schemas"
    (path,) = schemas.glob("sarif-2.1.0*.json")
    document = json.loads(printed(found, "sarif"))
    jsonschema.validate(document, json.loads(path.read_text()))
    results = document["runs"][0]["results"]
    (first,) = [r for r in results if r["ruleId"] == "HF001"]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "shop.py"
    assert place["region"]["startLine"] > 1
    assert len({r["partialFingerprints"]["holdfast/v1"] for r in results}) == len(results)


def test_every_place_in_sarif_is_a_relative_address(found: Audit) -> None:
    results = json.loads(printed(found, "sarif", everything=True))["runs"][0]["results"]
    uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results}
    assert len(uris) > 2
    assert all(re.fullmatch(r"[A-Za-z0-9._~%/-]+", uri) for uri in uris)


def test_junit_counts_every_verdict(found: Audit) -> None:
    suite = ElementTree.fromstring(printed(found, "junit").partition("?>")[2])
    assert suite.attrib["tests"] == str(len(found.findings))
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("5", "1")


@pytest.mark.parametrize(("fail_on", "code"), [("critical", 1), ("info", 1)])
def test_only_what_is_severe_enough_fails(fail_on: str, code: int, found: Audit) -> None:
    assert exit_code(found.findings, Severity(fail_on)) == code
    low = [f for f in found.findings if f.rule.severity is Severity.LOW]
    assert exit_code(low, Severity.MEDIUM) == 0
    assert exit_code(low, Severity.LOW) == 1
    unread = [f for f in found.findings if f.outcome is not Outcome.FAIL]
    assert exit_code(unread, Severity.INFO) == 3


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("audit", "--env", "staging"), "unknown environment 'staging': known are live, dev, all"),
        (("audit", "--env", "live", "--select", "HF999"), "unknown rule 'HF999'"),
        (("audit", "--env", "live", "--code", "nowhere"), "--code nowhere does not exist"),
        (("audit", "--env", "live", "--local"), "the emulator does not run: start it with `holdfast local up`"),
        (("audit", "--env", "live", "--local", "--profile", "x"), "--local is one place: drop --profile"),
        (("audit", "--env", "live", "--profile", "nobody-has-this"), "nobody-has-this"),
        (("audit", "--env", "live"), "there are no usable credentials"),
        (("fix", "--env", "live", "--only", "HF102"), "--only HF102 is not what a call can repair: known are HF001"),
        (("fix", "--env", "live", "--only", ""), "is not what a call can repair"),
        (("fix", "--env", "live", "--apply"), "--apply needs --account ID, the account to change: `aws sts "),
        (("fix", "--env", "live", "--apply", "--account", "123456789012"), "there are no usable credentials"),
        (("fix", "--env", "live", "--consumers-have-the-key"), "--consumers-have-the-key is about --only HF007"),
        (("fix", "--env", "live", "--only", "HF001", "--consumers-have-the-key"), "give both, or neither"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    arguments: tuple[str, ...],
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    nowhere = str(tmp_path / "none")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, nowhere)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    project = Project(estate=ESTATE, source=tmp_path)
    monkeypatch.setattr(finder, "find", lambda asked: project)
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("holdfast: ")
    assert line in err
    assert err.count("\n") == 1
