"""The documented state of 2026-04-23, as an emulated account: found exactly, dated, repaired."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from declare import estate
from emulator import Aws, fresh_account
from live_account import log_in
from repositories import git
from support import MOMENTS, ROOT, TOKYO, Json

from holdfast import Estate
from holdfast.audit.audit import Audit, audit
from holdfast.aws.options import Options
from holdfast.aws.reader import read_all
from holdfast.contract import files, history
from holdfast.contract.git import git as ask
from holdfast.contract.since import BY_HAND
from holdfast.local.client import Client
from holdfast.model.located import declarations
from holdfast.shared.account import Account, Units
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome
from stacks import ESTATE, environments, incident

Failure = tuple[str, str, str]  # rule, environment, table

NEVER_DEPLOYED = (
    "call-analytics-prod-call-analysis-us-east-1",
    "call-analytics-prod-call-events-us-east-1",
    "call-analytics-prod-call-analysis-config-us-east-1",
)
DRIFTED = "rc-subscription-prod-webhook-subscriptions"
ORPHANS = tuple(
    f"ConnectionService-{name}-prod"
    for name in (
        "CallAnalysisConfigurations",
        "Organizations",
        "Connections",
        "OrgConfigurations",
        "UserOrganizations",
        "SubAccountLinks",
    )
)
LEGACY = ("call-analysis", "call-events", "CallAnalysisMetadata", "client-configurations")
UNTAGGED = (
    *(
        f"orangetheory-{name}-prod"
        for name in (
            "UserConnections",
            "PhoneNumbers",
            "PhoneStoreAssignments",
            "StoresV2",
            "UserStore",
            "SubAccounts",
            "OAuthStates",
        )
    ),
    "studio-Cache-prod",
    "studio-BlackoutPeriods-prod",
    "studio-OperatingHours-prod",
    "LeadTracking-v2-us-east-1",
)
# Read units of seven days: lines 73, 229 to 232, 260 and 261 of the source.
READS = {
    "CallAnalysisMetadata": 16.0,
    "client-configurations": 2.0,
    "ConnectionService-UserOrganizations-prod": 2.5,
    "ConnectionService-SubAccountLinks-prod": 2.0,
    "ConnectionService-CallAnalysisConfigurations-prod": 450.0,
    "call-analysis": 3482.0,
    "call-events": 8819.0,
}
PHANTOMS = tuple(f"ConnectionService-{name}-test" for name in ("OrgConfigurations", "Organizations", "Connections"))
OF_STUDIO = (
    *("orangetheory-UserConnections", "orangetheory-PhoneNumbers", "orangetheory-PhoneStoreAssignments"),
    *("orangetheory-StoresV2", "orangetheory-UserStore", "orangetheory-SubAccounts", "orangetheory-OAuthStates"),
    "studio-Cache",
)
# Personal data that is under no key of the company's: the source finds one on the six tables of ConnectionService only.
UNENCRYPTED = (
    *NEVER_DEPLOYED[:2],
    *(f"{name}-prod" for name in OF_STUDIO),
    *("rc-subscription-prod-idempotency", "LeadTracking-v2-us-east-1"),
    *LEGACY,
)
UNENCRYPTED_IN_TEST = (
    *(f"call-analytics-test-{name}-us-west-2" for name in ("call-analysis", "call-events")),
    *(f"call-analytics-test-{name}-us-west-2" for name in ("message-store", "conversations")),
    *(f"{name}-test" for name in OF_STUDIO),
    "rc-subscription-test-idempotency",
)
EMPTY = (
    "staff_performance...name-callStartTime-index",
    "call_categorization.follow_up_type-callStartTime-index",
    "call_outcome.outcome_category-callStartTime-index",
)


def of(rule: str, tables: Iterable[str], env: str = "prod") -> set[Failure]:
    return {(rule, env, table) for table in tables}


# What a call can repair.
REPAIRABLE = (
    of("HF001", (*NEVER_DEPLOYED, DRIFTED, *LEGACY[2:]))
    | of("HF004", (*NEVER_DEPLOYED, *LEGACY))
    | of("HF010", UNTAGGED)
)
# What needs a deploy, an import, an archive, or somebody who changes code.
LASTING = (
    of("HF002", (*ORPHANS, *LEGACY))  # in no stack
    | of("HF205", (*ORPHANS, *LEGACY))  # alarms come with the stack
    | of("HF010", LEGACY)  # and so do tags
    | of("HF007", UNENCRYPTED)  # a key is changed only when it is asked for by name
    | of("HF007", UNENCRYPTED_IN_TEST, "test")
    | of("HF605", (*ORPHANS[1:], *LEGACY))
    | of("HF605", ("orangetheory-BlackoutPeriods-test", "orangetheory-OperatingHours-test"), "test")
    | of("HF606", ("orangetheory-BlackoutPeriods-test",), "test")
    | of("HF608", NEVER_DEPLOYED[:1])
    | of("HF609", PHANTOMS, "test")
    | of("HF611", (ORPHANS[0], "client-configurations"))
)


NO_LONGER_LISTED = "RingCentralOAuthStack-prod made it, as its tag says, and was deleted more than 90 days ago"
NOW = MOMENTS["night"]  # in Tokyo it is the next day
COMMAND = """
import sys
from datetime import datetime
from holdfast.cli import main
sys.exit(main(sys.argv[2:], now=datetime.fromisoformat(sys.argv[1])))
"""


@pytest.fixture(scope="module")
def aws(outdir: Path) -> Aws:
    """The account on the day of the audit; ``set_dates`` moves that day, and every documented date with it."""
    found = fresh_account()
    incident.inject(client(found), outdir, now=NOW)
    return found


def client(aws: Aws) -> Client:
    return Client(emulator=aws.emulator, account=aws.account)


@cache
def contracts(stack: str = "*", former: Path | None = None) -> dict[str, Json]:
    """Every contract by its stack; ``former`` is the synthesized output to make it from in the old form."""
    found = {}
    for path in sorted((ROOT / "snapshots").glob(f"{stack}.json")):
        made = json.loads(path.read_text())
        if former:
            raw = json.loads((former / f"{path.stem}.template.json").read_text())
            made = {"acknowledged": made["acknowledged"], "stack": made["stack"], "template": raw}
        found[path.stem] = made
    return found


def commit(folder: Path, when: datetime, written: Mapping[str, Json], *, former: bool = False) -> None:
    for id_, contract in written.items():
        text = json.dumps(contract, indent=2) if former else files.text(contract)
        (folder / "snapshots" / f"{id_}.json").write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "change", when=when)


def began(folder: Path, now: datetime, **which: Any) -> Mapping[str, Json]:
    """A repository whose contracts are those of the last deploy, 78 days before; answers what was meant later."""
    shutil.copytree(ROOT / "stacks", folder / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)  # names the estate
    (folder / "snapshots").mkdir()
    git(folder, "init", "-q", "-b", "main")
    (_, when, deployed), (_, _, meant), _ = incident.commits(contracts(**which), now)
    commit(folder, when, deployed, former="former" in which)
    return meant


def committed(folder: Path, now: datetime) -> Path:
    """The same, with all commits until that day."""
    began(folder, now)
    for _, when, made in list(incident.commits(contracts(), now))[1:]:
        commit(folder, when, made)
    return folder


def look(aws: Aws, monkeypatch: pytest.MonkeyPatch, now: datetime) -> list[Account]:
    log_in(monkeypatch, aws)
    names = {p.fill(t.name) for p in ESTATE.placements() for t in p.tables}
    return read_all(Options(regions=(incident.PROD,), endpoint_url=aws.endpoint), now=now, names=names)


def told(folder: Path, accounts: Sequence[Account], now: datetime, declared_estate: Estate = ESTATE) -> Audit:
    declared, past = declarations(folder / "stacks"), history.read(folder)
    return audit(declared_estate, accounts, [environments.PROD], now=now, declared=declared, history=past)


def ages(found: Audit) -> set[tuple[int | None, int | None]]:
    """Days since the commit and since the last update, of the protection that was never deployed."""
    asked = [f for f in found.findings if f.rule.id in ("HF001", "HF004") and f.table in NEVER_DEPLOYED]
    wrong = [f.gap for f in asked if f.outcome is Outcome.FAIL]
    return {(gap.days_intended, gap.days_since_update) for gap in wrong if gap}


def runs(found: Audit) -> str:
    (only,) = [s.running for s in found.stacks if s.stack == incident.NEVER_DEPLOYED]
    return only.told(found.at)


# Before the last test, which repairs the account.
def test_the_incident_is_as_old_as_documented_whenever_it_is_looked_at(
    aws: Aws, now: datetime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    incident.set_dates(client(aws), now)
    found = told(committed(tmp_path, now), look(aws, monkeypatch, now), now)
    wrong = [f for f in found.findings if f.outcome is Outcome.FAIL]
    assert {
        (f.rule.id, f.environment, f.table) for f in wrong if f.rule.id in ("HF001", "HF004", "HF010")
    } == REPAIRABLE | of("HF010", LEGACY)
    assert ages(found) == {(52, 78)}
    today, meant, old = (git_says(tmp_path, rev) for rev in ("HEAD", "HEAD~1", "HEAD~2"))
    assert runs(found) == (
        f"runs the contract of {old} ({now.date() - timedelta(days=78)}), 2 contract changes behind; merged and not "
        "deployed for 52 days: deletion protection and point-in-time recovery on 3 tables "
        f"({meant}); customer-managed key on 2 tables ({today})"
    )
    latest = [s.running.commit for s in found.stacks if s.stack == "AcsTables-prod"]
    assert [c.sha[:7] for c in latest if c] == [old]  # its contract did not change since
    kept = [f.detail for f in wrong if f.rule.id == "HF002" and f.table in ORPHANS]
    assert len(kept) == len(ORPHANS)
    assert all(NO_LONGER_LISTED in detail for detail in kept)


def test_w5_the_documented_reads_come_out_of_the_audit(
    aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    incident.set_dates(client(aws), NOW)
    (account,) = look(aws, monkeypatch, NOW)
    found = told(committed(tmp_path, NOW), [account], NOW)
    yesterday = NOW.date() - timedelta(days=1)
    reads = {r.table: r.live.reads for r in found.rows if r.live and r.table in READS}
    assert reads == {name: Units(units, units, yesterday) for name, units in READS.items()}
    assert {r.live.writes for r in found.rows if r.live} == {Units()}
    retired = {f.table: f.detail for f in found.findings if f.rule.id == "HF605"}
    assert "8,819 read units in 7 days" in retired["call-events"]
    assert "2.5 read units in 7 days" in retired["ConnectionService-UserOrganizations-prod"]
    used = {f.table: f for f in found.findings if f.rule.id == "HF618" and f.outcome is Outcome.PASS}
    assert set(used) == {name for name in READS if name != ORPHANS[0]}  # that one is in use, as declared
    assert used["call-analysis"].detail.endswith("; 3,482 read units were seen on 2026-04-23")
    assert not isinstance(account.tables, Unknown)
    as_much_as_events = replace(account.tables["CallAnalysisMetadata"], reads=account.tables["call-events"].reads)
    busy = replace(account, tables={**account.tables, "CallAnalysisMetadata": as_much_as_events})
    found = told(tmp_path, [busy], NOW)
    (dead,) = [f for f in found.findings if f.rule.id == "HF618" and f.outcome is Outcome.FAIL]
    assert (dead.table, dead.detail.partition(" (")[0]) == (
        "CallAnalysisMetadata",
        "declared dead: 8,819 read units in 7 days",
    )


def test_w8_a_stack_that_was_deleted_115_days_ago_is_known_by_its_tables_tags_alone(
    aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    incident.set_dates(client(aws), NOW)
    (account,) = look(aws, monkeypatch, NOW)
    assert account.deleted == {}
    assert not isinstance(account.tables, Unknown)
    assert {account.tables[name].owner for name in ORPHANS} == {"RingCentralOAuthStack-prod"}
    moved = NOW.date() - incident.AUDIT
    for days, listed in ((89, {"RingCentralOAuthStack-prod": incident.STACK_DELETED + moved}), (90, {})):
        then = NOW - (incident.AUDIT - incident.STACK_DELETED) + timedelta(days=days)
        sent = {"account": aws.account, "now": then.replace(hour=9, minute=0).isoformat()}
        client(aws).rest("holdfast", incident.PROD, "POST", "/_holdfast/dates", json.dumps(sent).encode())
        (account,) = look(aws, monkeypatch, NOW)
        assert {name: when.date() for name, when in account.deleted.items()} == listed  # type: ignore[union-attr]


def git_says(folder: Path, revision: str) -> str:
    return ask(folder, "rev-parse", "--short=7", revision).strip()


def test_the_incident_is_dated_by_its_effect_whatever_brought_it(
    aws: Aws, outdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = {"stack": incident.NEVER_DEPLOYED}
    stacks = [s for s in ESTATE.stacks if s.id == "CallAnalytics-{Env}-Storage"]

    def squashed(folder: Path) -> None:
        meant = began(folder, NOW, **one)
        git(folder, "checkout", "-q", "-b", "feature")
        commit(folder, at(70), meant)
        (folder / "stacks" / "more.py").write_text("")
        commit(folder, at(60), {})
        git(folder, "checkout", "-q", "main")
        git(folder, "merge", "-q", "--squash", "feature")
        commit(folder, at(52), {})

    def moved(folder: Path) -> None:
        commit(folder, at(52), began(folder, NOW, **one))
        git(folder, "mv", "stacks/call_analytics.py", "stacks/calls.py")
        commit(folder, at(9), {})

    def of_the_former_form(folder: Path) -> None:
        commit(folder, at(52), began(folder, NOW, **one, former=outdir), former=True)
        (_, _, meant) = list(incident.commits(contracts(**one), NOW))[1]
        commit(folder, at(9), meant)  # the form changes, and nothing else

    def by_the_policy(folder: Path) -> None:
        """No declaration changed: a floor, or what the library demands, did."""
        meant = began(folder, NOW, **one)
        (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text() + "\n# a newer Holdfast\n")
        commit(folder, at(52), meant)

    def at(days: int) -> datetime:
        return NOW - timedelta(days=days)

    incident.set_dates(client(aws), NOW)
    accounts = look(aws, monkeypatch, NOW)
    for made in (squashed, moved, of_the_former_form, by_the_policy):
        (folder := tmp_path / made.__name__).mkdir()
        made(folder)
        found = told(folder, accounts, NOW, estate(*stacks))
        assert ages(found) == {(52, 78)}, made
        assert "1 contract change behind; merged and not deployed for 52 days: deletion protection" in runs(found), made


@pytest.fixture
def checkout(aws: Aws, tmp_path: Path) -> Path:
    incident.set_dates(client(aws), NOW)
    return committed(tmp_path, NOW)


def holdfast(aws: Aws, checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The real command, in that repository, with the account's credentials and nothing else of AWS, in Tokyo."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "GIT_"))}
    env |= TOKYO
    env |= {
        **aws.credentials,
        "AWS_EC2_METADATA_DISABLED": "true",
        "PYTHONPATH": str(ROOT / "constructs"),
    }
    command = [sys.executable, "-c", COMMAND, NOW.isoformat(), *arguments]
    command += ["--env", "all", "--endpoint-url", aws.endpoint]
    return subprocess.run(command, cwd=checkout, env=env, capture_output=True, encoding="utf-8", check=False)


def audited(aws: Aws, checkout: Path) -> Json:
    done = holdfast(aws, checkout, "audit", "--format", "json")
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith(f"against the contract of {git_says(checkout, 'HEAD')} (main)\n")
    found: Json = json.loads(done.stdout)
    return found


def failures(document: Json) -> set[Failure]:
    return {(f["rule"], f["environment"], f["table"]) for f in document["findings"] if f["outcome"] == "fail"}


def test_l50_the_first_screen_names_the_stack_the_days_the_tables_and_the_one_command(aws: Aws, checkout: Path) -> None:
    done = holdfast(aws, checkout, "audit")
    assert done.returncode == 1, done.stderr
    screen = done.stdout.splitlines()[:24]
    assert max(map(len, screen)) <= 100
    first = "\n".join(screen).split("\n\n")[1].splitlines()
    last_deploy = NOW.date() - timedelta(days=78)
    assert first[0] == (
        f" 1  {incident.NEVER_DEPLOYED} runs the contract of {last_deploy}: 3 tables, 6 findings, one deploy"
    )
    text = " ".join(" ".join(first).split())
    assert "intended, never deployed; 52 days since commit" in text
    assert f"78 days since the stack's last update on {last_deploy}" in text
    assert set(NEVER_DEPLOYED) <= set(text.split())
    commands = [line.strip() for line in screen if line.strip().startswith("$ ")]
    assert commands == [f"$ cdk deploy -c env=prod {incident.NEVER_DEPLOYED}"]
    assert "kms:Decrypt" in text  # or that deploy cuts off what uses two of them
    others = [line for line in screen if re.match(r"[ \d]\d  (critical|high|medium|low) ", line)]
    assert len(others) >= 8
    for cause in (DRIFTED, "LegacyTablesStack-prod: 4 tables", "ConnectionServiceStack-prod: 6 tables"):
        assert any(cause in line for line in others), cause
    assert screen[-1].endswith("each cause and each table is below")
    (not_read,) = [line for line in done.stderr.splitlines() if line.startswith("not read")]
    assert "eu-west-1" in not_read
    assert "us-east-1" not in not_read


def test_the_audit_finds_exactly_what_the_source_documents_and_fix_repairs_what_a_call_can(
    aws: Aws, checkout: Path
) -> None:
    plan = holdfast(aws, checkout, "fix")
    assert plan.returncode == 1, plan.stderr
    found = audited(aws, checkout)
    assert failures(found) == REPAIRABLE | LASTING  # and the plan has changed nothing
    assert unread(found) == []

    gaps = {f["table"]: f["gap"] for f in found["findings"] if f["rule"] == "HF001" and f["table"] in NEVER_DEPLOYED}
    assert set(gaps) == set(NEVER_DEPLOYED)
    (stack,) = [s for s in found["stacks"] if s["stack"] == incident.NEVER_DEPLOYED]
    assert (stack["behind"], stack["committed"][:10]) == (2, str(NOW.date() - timedelta(days=78)))
    assert found["contract"]["branch"] == "main"
    for gap in gaps.values():
        assert (gap["days_since_commit"], gap["days_since_update"]) == (52, 78)
        assert gap["commit"] == stack["pending"][0]["commit"]
        assert found["contract"]["commit"] == stack["pending"][1]["commit"]
        assert (gap["intent"], gap["deployed"], gap["live"]) == ("on", "off", "off")
        assert gap["says"] == "intended, never deployed"
    (drift,) = [f for f in found["findings"] if f["table"] == DRIFTED]
    assert (drift["gap"]["deployed"], drift["gap"]["live"]) == ("on", "off")
    assert (drift["gap"]["commit"], drift["gap"]["why"]) == (None, BY_HAND)
    kept = {f["table"]: f["detail"] for f in found["findings"] if f["rule"] == "HF002"}
    assert all(NO_LONGER_LISTED in kept[name] for name in ORPHANS)
    empty = {f["where"].rpartition("/")[2] for f in found["findings"] if f["rule"] == "HF608"}
    assert empty == set(EMPTY)
    (more,) = [f["detail"] for f in found["findings"] if f["rule"] == "HF606"]
    assert more == "it holds 29 items, its successor studio-BlackoutPeriods-test holds 1"
    phantoms = [f for f in found["findings"] if f["rule"] == "HF609"]
    assert len(phantoms) == 3 * 2  # variables, functions

    done = holdfast(aws, checkout, "fix", "--apply", "--account", aws.account)
    assert done.returncode == 1, done.stderr  # what only a deploy brings is left, and that is no success
    left = [line for line in done.stderr.splitlines() if line.startswith("not ")]
    unkeyed = [line for line in left if "HF007" in line]
    assert len(unkeyed) == 4
    assert all("alias/holdfast/LegacyTablesStack-prod is not deployed" in line for line in unkeyed)
    untagged = [line for line in left if line not in unkeyed]
    assert len(untagged) == 4
    assert all("HF010" in line and "no stack manages it" in line for line in untagged)
    assert plan.stdout == done.stdout
    (record,) = (checkout / ".holdfast").glob("fix-*.json")
    changes = json.loads(record.read_text())["changes"]
    assert {(c["rule"], "prod", c["table"]) for c in changes} == REPAIRABLE
    assert {c["outcome"] for c in changes} == {"done"}

    after = audited(aws, checkout)
    assert failures(after) == LASTING | of("HF615", (*NEVER_DEPLOYED, *UNTAGGED))  # what only a deploy brings
    assert unread(after) == []


def unread(document: Json) -> list[Json]:
    return [f for f in document["findings"] if f["outcome"] == "unknown"]


def test_w6_w7_w15_what_the_source_leaves_open_changes_no_more_than_that(
    aws: Aws, outdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W6: in which regions the functions run; W7: whether OAuth tokens have a key; W15: what was never deployed."""
    other = fresh_account()
    incident.inject(client(other), outdir, now=NOW, readings=frozenset(incident.Reading))
    folder = committed(tmp_path, NOW)

    def failing(account: Aws) -> tuple[set[Failure], Audit]:
        log_in(monkeypatch, account)
        names = {p.fill(t.name) for p in ESTATE.placements() for t in p.tables}
        options = Options(regions=(incident.PROD,), endpoint_url=account.endpoint)
        found = told(folder, read_all(options, now=NOW, names=names), NOW)
        wrong = [f for f in found.findings if f.outcome is Outcome.FAIL]
        return {(f.rule.id, f.environment or "", f.table or "") for f in wrong}, found

    found, read = failing(other)
    documented = {f for f in REPAIRABLE | LASTING if f[1] == "prod"}
    assert found == documented - of("HF007", ["orangetheory-UserConnections-prod"]) - of("HF001", LEGACY[2:]) | of(
        "HF609", PHANTOMS
    )
    (hooks,) = [f for f in read.findings if f.table == DRIFTED and f.outcome is Outcome.FAIL]
    assert hooks.gap is not None
    assert (hooks.gap.says, hooks.gap.days_intended) == ("intended, never deployed", 78)
