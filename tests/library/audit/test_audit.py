"""Intent, deployed and live: where they part, since when, and what only an account shows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from accounts import CREATED, NOW, UPDATED, account, changed, deployed, live, seen_of, template, with_table, without
from declare import TEST, estate
from declare import stack as declared_stack
from declare import table as declared_table
from shop import DEV, ESTATE, LIVE, alone
from shop_synth import synthesized
from support import ROOT

from holdfast import (
    Aspect,
    Assumed,
    Data,
    Encryption,
    Environment,
    Estate,
    Fact,
    Guard,
    Projection,
    Sighting,
    State,
    Tier,
    Usage,
    Waiver,
    gsi,
    key,
    number,
)
from holdfast.audit.ages import UNREAD
from holdfast.audit.audit import Audit, audit
from holdfast.audit.code import mentions
from holdfast.audit.seen import NOT_APPLIED
from holdfast.cfn.template import Source, StackSeen
from holdfast.contract import files, make
from holdfast.contract.history import SHALLOW, History
from holdfast.contract.since import BY_HAND, NOT_ASKED, UNCOMMITTED
from holdfast.errors import InputError
from holdfast.estate.placement import Placed
from holdfast.kinds.table.template import observe
from holdfast.model.located import declarations
from holdfast.report.text import apart
from holdfast.rules.assumed import ASSUMED, CHANGED, SINCE
from holdfast.rules.base import Finding
from holdfast.rules.gap import Commit, Gap, Since
from holdfast.shared.account import Account, IndexUse, Mention, StackLive, StoreSeen, Units, Unreadable
from holdfast.shared.key.observed import ObservedKey
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome

REGION = LIVE.region
ORDERS, PRICES = "orders-production", "prices-production"
STACK = "Orders-production"
PLACES = {p.id: p for p in ESTATE.placements()}
SHOP = ROOT / "tests" / "library" / "shop.py"
# A few stacks are enough for most tests, and quicker than all.
FEW = ("Orders-{env}", "Sessions", "Retired-{env}")


def few(region: str = REGION, *more: str, **changes: Any) -> Account:
    return account(region, (*FEW, *more), **changes)


def look(*accounts: Account, env: Environment = LIVE, **options: Any) -> Audit:
    """An audit of the stacks that are deployed in ``accounts``, or would be."""
    assert accounts
    every = options.pop("every", False)
    return audit(alone(*(s for s in ESTATE.stacks if every or s.id in FEW)), accounts, [env], **{"now": NOW} | options)


def failed(found: Audit) -> set[tuple[str, str | None]]:
    """What is wrong beyond the retired tables, which always are."""
    return {(f.rule.id, f.table) for f in found.findings if f.outcome is Outcome.FAIL and f.rule.id != "HF605"}


def unknowns(found: Audit) -> list[Finding]:
    return [f for f in found.findings if f.outcome is Outcome.UNKNOWN]


def one(found: Audit, rule: str, table: str | None) -> Finding:
    (only,) = [f for f in found.findings if f.rule.id == rule and f.table == table]
    return only


def redeployed(seen: Account, stack: str, name: str, **properties: Any) -> Account:
    """``seen`` with a table changed in the deployed template; None takes a property or policy out."""
    placed = next(p for p in PLACES.values() if p.name == stack)
    resources = copy.deepcopy(template(placed.id)["Resources"])
    (resource,) = [r for r in resources.values() if r.get("Properties", {}).get("TableName") == name]
    for key_, value in properties.items():
        where = resource if key_.endswith("Policy") else resource["Properties"]
        where[key_] = value
        if value is None:
            del where[key_]
    assert isinstance(seen.stacks, Mapping)
    return replace(seen, stacks=dict(seen.stacks) | {stack: deployed(placed, resources)})


# Three ways


def test_an_estate_that_was_just_deployed_is_clean_and_nothing_is_unknown() -> None:
    for env in ESTATE.environments:
        found = look(account(env.region), account("eu-north-1"), env=env, every=True)
        assert failed(found) == set()
        assert unknowns(found) == []
        for row in found.rows:
            for guard, (intent, *others) in row.guards.items():
                assert set(others) <= ({"on", "-"} if intent == "on" else {"-"}), (row.table, guard)


def test_every_guard_that_is_off_everywhere_is_found_on_every_table_that_needs_it_and_on_no_other() -> None:
    off: dict[str, Any] = {
        "deletion_protection": False,
        "recovery": False,
        "ttl": None,
        "tags": {},
        "watched": frozenset(),
        "encryption": Encryption.AWS_OWNED,
    }
    seen = account(REGION)
    assert isinstance(seen.tables, Mapping)
    for name in seen.tables:
        seen = with_table(seen, name, observed=off)
    rules = {
        "HF001": Guard.DELETION_PROTECTION,
        "HF004": Guard.PITR,
        "HF006": Guard.TTL,
        "HF007": Guard.CUSTOMER_KEY,
        "HF010": Guard.TAGS,
        "HF205": Guard.ALARMS,
    }
    wanted = {
        (rule, p.fill(t.name))
        for p in PLACES.values()
        if p.region == REGION
        for t in p.tables
        for rule, guard in rules.items()
        if guard in p.required(t)
    }
    found = failed(look(seen, every=True))
    assert {f for f in found if f[0] in rules} == wanted
    assert {rule for rule, _ in found} == {*rules, "HF015"}  # another key is promised for the sessions


@pytest.mark.parametrize(
    ("in_template", "in_account", "says", "columns"),
    [
        (False, False, "intended, never deployed", ("on", "off", "off")),
        (True, False, NOT_APPLIED, ("on", "on", "off")),
    ],
)
def test_a_gap_says_where_intent_deployed_and_live_part(
    in_template: bool, in_account: bool, says: str, columns: tuple[str, str, str]
) -> None:
    seen = redeployed(few(REGION), STACK, PRICES, DeletionProtectionEnabled=in_template)
    seen = with_table(seen, PRICES, observed={"deletion_protection": in_account})
    found = look(seen)
    assert failed(found) == {("HF001", PRICES)}
    gap = one(found, "HF001", PRICES).gap
    assert gap
    assert (gap.intent, gap.deployed, gap.live) == columns
    assert gap.says == says
    (row,) = [r for r in found.rows if r.table == PRICES]
    assert row.guards[Guard.DELETION_PROTECTION] == columns


def test_a_table_that_is_protected_live_only_needs_a_deploy() -> None:
    seen = redeployed(few(REGION), STACK, PRICES, DeletionProtectionEnabled=None)
    found = look(seen)
    assert failed(found) == {("HF615", PRICES)}
    behind = one(found, "HF615", PRICES)
    assert "deletion protection is off" in behind.detail
    assert behind.fix.startswith("`cdk deploy -c env=live Orders-production`")


@pytest.mark.parametrize(("policy", "rule"), [("DeletionPolicy", "HF002"), ("UpdateReplacePolicy", "HF002")])
def test_what_only_templates_say_is_judged_on_the_deployed_one(policy: str, rule: str) -> None:
    found = look(redeployed(few(REGION), STACK, PRICES, **{policy: "Delete"}))
    assert failed(found) == {(rule, PRICES)}
    assert one(found, rule, PRICES).source.value == "deployed"


def test_a_live_table_in_no_stack_fails_to_be_kept_once_and_names_the_deleted_stack() -> None:
    seen = few(REGION)
    assert isinstance(seen.stacks, Mapping)
    stacks = {n: s for n, s in seen.stacks.items() if n != "Retired-live"}
    seen = replace(seen, stacks=stacks, deleted={"OldStack": datetime(2025, 12, 29, tzinfo=UTC)})
    orphans = [p.fill(t.name) for p in [PLACES["Retired-live"]] for t in p.tables]
    for name in orphans:
        seen = with_table(seen, name, owner="OldStack")
    found = look(seen)
    assert failed(found) == {("HF002", name) for name in orphans}
    kept = one(found, "HF002", orphans[0])
    assert "in no stack" in kept.detail
    assert "OldStack was deleted on 2025-12-29" in kept.detail
    assert kept.fix == (
        f"A deploy would try to create {orphans[0]}, which exists in no stack, and fail; "
        "bringing it under code needs an import together with its key"
    )


def test_a_table_that_need_not_be_kept_and_is_in_no_stack_is_found_as_well() -> None:
    seen = few(DEV.region)
    assert isinstance(seen.stacks, Mapping)
    seen = replace(seen, stacks={n: s for n, s in seen.stacks.items() if n != "Orders-dev"})
    found = failed(look(seen, env=DEV))
    assert found == {
        *(("HF604", name) for name in ("orders-dev", "carts-dev", "prices-dev")),
        ("HF002", "prices-old-dev"),  # which has a floor
    }


# Ages


@cache
def accepted() -> dict[str, Any]:
    found: dict[str, Any] = make.contracts(synthesized())[STACK]
    return found


def contract(**properties: Any) -> dict[str, Any]:
    """The contract of the orders, with properties of their table changed; None takes one out."""
    found = copy.deepcopy(accepted())
    tables = [r["Properties"] for r in found["template"]["Resources"].values()]
    (own,) = [p for p in tables if p.get("TableName") == ORDERS]
    own.update(properties)
    for name in [n for n, value in properties.items() if value is None]:
        del own[name]
    return found


def remembered(*versions: tuple[datetime, dict[str, Any]], **changes: Any) -> History:
    """A history of that contract, newest first."""
    commits = [Commit("abcdef"[n] * 40, when) for n, (when, _) in enumerate(versions)]
    made = History(
        head=commits[0],
        branch="main",
        merged=True,
        line=tuple((c, {STACK: c.sha}) for c in commits),
        contents={c.sha: files.text(v).encode() for c, (_, v) in zip(commits, versions, strict=True)},
        working={},
    )
    return replace(made, **changes)


def unprotected(**options: Any) -> Audit:
    """Somebody asked for deletion protection, and nobody has deployed it."""
    seen = redeployed(few(REGION), STACK, ORDERS, DeletionProtectionEnabled=None)
    seen = with_table(seen, ORDERS, observed={"deletion_protection": False})
    if status := options.pop("status", None):
        assert isinstance(seen.stacks, Mapping)
        stacks = dict(seen.stacks) | {STACK: replace(seen.stacks[STACK], status=status)}
        seen = replace(seen, stacks=stacks)
    return look(seen, **options)


BEFORE, SET = datetime(2026, 2, 4, 9, tzinfo=UTC), datetime(2026, 3, 2, 9, tzinfo=UTC)


def story(**changes: Any) -> History:
    """It was asked for a while after the last deploy."""
    return remembered((SET, contract()), (BEFORE, contract(DeletionProtectionEnabled=None)), **changes)


def test_a_gap_is_52_days_from_the_commit_and_78_from_the_last_update() -> None:
    found = unprotected(history=story(), declared=declarations(SHOP))
    only = one(found, "HF001", ORDERS)
    assert only.gap
    assert (only.gap.days_intended, only.gap.days_since_update) == (52, 78)
    assert only.gap.says == "intended, never deployed"
    assert only.declared == f"shop.py:{_line()}"
    (stack,) = [s for s in found.stacks if s.stack == STACK]
    assert stack.running.told(NOW) == (
        "runs the contract of bbbbbbb (2026-02-04), 1 contract change behind; merged and not deployed for 52 days: "
        f"deletion protection on {ORDERS} (aaaaaaa)"
    )


def test_each_gap_is_dated_by_the_commit_that_asks_for_it_and_by_no_other() -> None:
    off: dict[str, Any] = {"DeletionProtectionEnabled": None, "PointInTimeRecoverySpecification": None}
    later = datetime(2026, 4, 13, 9, tzinfo=UTC)
    one_by_one = contract(PointInTimeRecoverySpecification=None)
    history = remembered((later, contract()), (SET, one_by_one), (BEFORE, contract(**off)))
    seen = redeployed(few(REGION), STACK, ORDERS, **off)
    found = look(with_table(seen, ORDERS, observed={"deletion_protection": False, "recovery": False}), history=history)
    dated = {f.rule.id: f.gap.commit for f in found.findings if f.gap and f.table == ORDERS}
    assert dated == {"HF001": Commit("b" * 40, SET), "HF004": Commit("a" * 40, later)}


def _line() -> int:
    lines = SHOP.read_text().splitlines()
    return next(n for n, line in enumerate(lines, start=1) if line.strip() == "Table(")


@pytest.mark.parametrize(
    ("history", "why"),
    [
        (lambda: UNREAD, UNREAD.reason),
        (lambda: remembered((SET, contract(DeletionProtectionEnabled=None))), NOT_ASKED),
        (lambda: story(working={STACK: contract(DeletionProtectionEnabled=False)}), UNCOMMITTED),
        (lambda: story(line=()), f"no contract of {STACK} that can be read is committed"),
    ],
)
def test_without_a_commit_the_age_is_unknown_with_the_reason_and_the_gap_is_not(
    history: Callable[[], History | Unknown], why: str
) -> None:
    gap = one(unprotected(history=history()), "HF001", ORDERS).gap
    assert gap
    assert (gap.days_intended, gap.days_since_update) == (None, 78)
    assert gap.age.startswith(f"unknown since which commit ({why}), 78 days")


def test_a_history_that_is_cut_off_gives_the_least_age() -> None:
    cut = remembered((SET, contract()), cut=SHALLOW)
    gap = one(unprotected(history=cut), "HF001", ORDERS).gap
    assert gap
    assert gap.age.startswith(f"at least 52 days since commit aaaaaaa of 2026-03-02 ({SHALLOW}), ")


def test_what_was_changed_in_the_account_is_of_unknown_age() -> None:
    seen = with_table(few(REGION), ORDERS, observed={"deletion_protection": False})
    gap = one(look(seen, history=story()), "HF001", ORDERS).gap
    assert gap
    assert (gap.says, gap.since) == (NOT_APPLIED, Since(why=BY_HAND))


def test_an_update_that_was_rolled_back_does_not_make_the_gap_younger() -> None:
    found = unprotected(history=story(), status="UPDATE_ROLLBACK_COMPLETE")
    gap = one(found, "HF001", ORDERS).gap
    assert gap
    assert gap.age.endswith("at least 78 days since the stack's last update (that of 2026-02-04 did not succeed)")
    made = StackLive(seen=Unknown(""), status="ROLLBACK_COMPLETE", created=CREATED, updated=None)
    assert (made.last, made.rolled_back) == (CREATED, False)


def test_l13_what_is_declared_as_not_deployed_is_no_gap() -> None:
    seen = few(REGION)
    assert isinstance(seen.stacks, Mapping)
    waiting = next(p for p in PLACES.values() if p.env in p.stack.undeployed and p.tables)
    names = [waiting.fill(t.name) for t in waiting.tables]
    there = without(replace(seen, stacks={n: s for n, s in seen.stacks.items() if n != waiting.name}), *names)
    rows = {r.table: r for r in look(there).rows}
    assert not [name for name in names if apart(rows[name])]
    live_only = replace(seen, stacks=there.stacks)  # live all the same, and in no stack
    assert all(apart(r) for r in look(live_only).rows if r.table in names)


def test_clocks_that_differ_make_no_gap_of_less_than_no_days() -> None:
    late = Commit("a" * 40, NOW + timedelta(hours=1))
    since = Since(commit=late)
    gap = Gap(intent="on", deployed="off", live="off", says="", now=NOW, since=since, updated=late.when)
    assert (gap.days_intended, gap.days_since_update) == (0, 0)


HOURS = (timedelta(0), timedelta(hours=9), timedelta(days=1, microseconds=-1))


@pytest.mark.parametrize("hour", HOURS)
@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=9)), timezone(timedelta(hours=-8))])
def test_an_age_is_counted_in_days_of_the_calendar_in_utc(now: datetime, hour: timedelta, zone: timezone) -> None:
    midnight = now.replace(hour=0, minute=0)
    committed, updated = ((midnight - timedelta(days=d) + hour).astimezone(zone) for d in (52, 78))
    seen = redeployed(few(REGION), STACK, ORDERS, DeletionProtectionEnabled=None)
    seen = with_table(seen, ORDERS, observed={"deletion_protection": False})
    assert isinstance(seen.stacks, Mapping)
    stack = replace(seen.stacks[STACK], updated=updated)
    seen = replace(seen, stacks=dict(seen.stacks) | {STACK: stack})
    first = contract(DeletionProtectionEnabled=None)
    told = remembered((committed, contract()), (updated, first))
    found = look(seen, now=now.astimezone(zone), history=told)
    gap = one(found, "HF001", ORDERS).gap
    assert gap
    assert (gap.days_intended, gap.days_since_update) == (52, 78)
    dates = [f"{midnight - timedelta(days=d):%Y-%m-%d}" for d in (52, 78)]
    assert gap.age == (
        f"52 days since commit aaaaaaa of {dates[0]}, 78 days since the stack's last update on {dates[1]}"
    )


def test_every_declared_table_and_store_is_found_in_its_module() -> None:
    assert set(declarations(SHOP)) == {t.name for s in ESTATE.stacks for t in (*s.tables, *s.stores)}


# The estate


def test_a_declared_table_that_is_gone_is_one_finding_and_says_why() -> None:
    found = look(without(few(REGION), PRICES))
    assert failed(found) == {("HF601", PRICES)}
    assert (
        "deployed in Orders-production, but not live: it was deleted outside of CloudFormation"
        in one(found, "HF601", PRICES).detail
    )
    seen = few(REGION)
    assert isinstance(seen.stacks, Mapping)
    never = replace(without(seen, ORDERS), stacks={n: s for n, s in seen.stacks.items() if n != STACK})
    assert "never deployed" in one(look(never), "HF601", ORDERS).detail
    dying = with_table(seen, PRICES, status="DELETING")
    assert failed(look(dying)) == {("HF601", PRICES)}


def test_a_stack_that_is_declared_as_undeployed_may_be_missing() -> None:
    names = [PLACES["Sessions-live"].fill(t.name) for t in PLACES["Sessions-live"].tables]
    seen = without(few(REGION), *names)
    assert isinstance(seen.stacks, Mapping)
    seen = replace(seen, stacks={n: s for n, s in seen.stacks.items() if n != "Sessions"})
    found = look(seen)
    assert failed(found) == set()
    assert one(found, "HF601", names[0]).outcome is Outcome.EXEMPT


def test_a_stack_without_tables_that_was_never_deployed_is_found() -> None:
    empty = declared_stack(id="Empty-{env}")
    later = declared_stack(id="Later-{env}", undeployed=(LIVE,))
    found = audit(alone(empty, later), [account(REGION, (), stacks={})], [LIVE], now=NOW)
    assert [(f.rule.id, f.stack) for f in found.findings if f.outcome is Outcome.FAIL] == [("HF616", "Empty-live")]
    unread = audit(alone(empty), [account(REGION, (), stacks=Unknown("denied"))], [LIVE], now=NOW)
    assert [f.rule.id for f in unknowns(unread)] == ["HF616"]


def test_what_the_template_of_a_stack_lacks_is_dated_by_its_last_update() -> None:
    seen = few(REGION)
    assert isinstance(seen.stacks, Mapping)
    stack = seen.stacks[STACK]
    assert isinstance(stack.seen, StackSeen)
    open_ = replace(stack, seen=replace(stack.seen, protected=False))
    found = look(replace(seen, stacks=dict(seen.stacks) | {STACK: open_}))
    (termination,) = [f for f in found.findings if f.rule.id == "HF013" and f.outcome is Outcome.FAIL]
    assert termination.gap
    assert termination.gap.days_since_update == 78


def stranger(name: str, **changes: Any) -> StoreSeen:
    seen = few(REGION)
    assert isinstance(seen.tables, Mapping)
    return replace(changed(seen.tables[PRICES], name=name), **changes)


def test_an_undeclared_table_is_an_orphan_with_the_name_of_its_deleted_stack() -> None:
    seen = few(REGION)
    assert isinstance(seen.tables, Mapping)
    orphan = stranger("old-orders", owner="OldStack", items=7, size=1400)
    seen = replace(
        seen,
        tables=dict(seen.tables) | {"old-orders": orphan},
        deleted={"OldStack": datetime(2026, 1, 5, tzinfo=UTC)},
    )
    found = look(seen)
    assert failed(found) == {("HF602", "old-orders")}
    detail = one(found, "HF602", "old-orders").detail
    assert "7 items, 1.4 KB" in detail
    assert "OldStack was deleted on 2026-01-05" in detail


def _another() -> StackLive:
    other = StackSeen(id="OldStack", name="OldStack", where="x", template={"Resources": {}}, region=REGION)
    return StackLive(seen=other, status="CREATE_COMPLETE", created=CREATED, updated=None)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "OldStack made it, as its tag says, and was deleted more than 90 days ago: when cannot be known"),
        (
            {"deleted": Unknown("denied")},
            "OldStack made it, as its tag says, and was deleted; when cannot be read: denied",
        ),
        ({"stacks": Unknown("denied")}, "whether that stack is there cannot be read: denied"),
        (
            {"stacks": {"OldStack": _another()}},
            "its tag names OldStack, but the template of OldStack does not contain it",
        ),
        ({"stacks": {"OldStack": replace(_another(), seen=Unknown("YAML"))}}, "that template cannot be read: YAML"),
    ],
)
def test_w8_what_is_known_of_a_deleted_stack_is_what_its_table_says(changes: Mapping[str, Any], says: str) -> None:
    seen = few(REGION)
    assert isinstance(seen.tables, Mapping)
    orphan = stranger("old-orders", owner="OldStack")
    found = look(replace(seen, tables=dict(seen.tables) | {"old-orders": orphan}, **changes))
    assert says in one(found, "HF602", "old-orders").detail


def test_w8_a_table_whose_own_stack_was_deleted_long_ago_says_so() -> None:
    seen = few(DEV.region)
    assert isinstance(seen.stacks, Mapping)
    found = look(replace(seen, stacks={n: s for n, s in seen.stacks.items() if n != "Orders-dev"}), env=DEV)
    assert one(found, "HF604", "carts-dev").detail.startswith("Orders-dev made it, as its tag says, and was deleted")


@pytest.mark.parametrize("alive", [True, False])
def test_a_table_in_a_stack_and_not_in_the_code_is_told_apart_from_an_orphan(alive: bool) -> None:
    seen = few(REGION)
    assert isinstance(seen.stacks, Mapping)
    assert isinstance(seen.tables, Mapping)
    resource = {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "old-orders"}}
    other = StackSeen(id="Other", name="Other", where="Other", template={"Resources": {"T": resource}}, region=REGION)
    stack = StackLive(seen=other, status="CREATE_COMPLETE", created=CREATED, updated=None)
    tables = dict(seen.tables) | ({"old-orders": stranger("old-orders", owner="Other")} if alive else {})
    found = look(replace(seen, stacks=dict(seen.stacks) | {"Other": stack}, tables=tables))
    assert failed(found) == {("HF603", "old-orders")}
    assert ("not live either" in one(found, "HF603", "old-orders").detail) is not alive


def test_retired_tables_are_listed_with_what_they_hold_and_their_phase() -> None:
    seen = with_table(account(REGION), "baskets-live", items=401, size=117_000)
    found = look(seen, every=True)
    retired = {f.table for f in found.findings if f.rule.id == "HF605" and f.outcome is Outcome.FAIL}
    states = {p.fill(t.name): t.state.usage for p in PLACES.values() if p.region == REGION for t in p.tables}
    assert retired == {n for n, usage in states.items() if usage in (Usage.LEGACY, Usage.DEAD, Usage.DUPLICATE)}
    assert one(found, "HF605", "baskets-live").detail == (
        "dead, holds 401 items, 117 KB, no read units in 30 days, no write units in 30 days, archive phase 1"
    )


HOUR = NOW - timedelta(hours=1)


@pytest.mark.parametrize(
    ("since", "created", "period", "outcome", "word"),
    [
        (HOUR, CREATED, 35, Outcome.FAIL, "reaches back 0 of 14 days, to 2026-04-23 11:00 UTC: it was off before that"),
        (NOW - timedelta(days=12), CREATED, 35, Outcome.FAIL, "reaches back 12 of 14 days"),
        (NOW - timedelta(days=13), CREATED, 35, Outcome.PASS, ""),
        (HOUR, HOUR, 35, Outcome.PASS, ""),  # it is as old as that
        (NOW - timedelta(days=7), CREATED, 7, Outcome.PASS, ""),  # the period itself is HF004's finding
        (Unknown("denied"), CREATED, 35, Outcome.UNKNOWN, "denied"),
        (None, CREATED, 35, Outcome.EXEMPT, ""),
    ],
)
def test_l6_recovery_that_was_off_reaches_back_no_further_than_since_it_is_on_again(
    since: datetime | Unknown | None, created: datetime, period: int, outcome: Outcome, word: str
) -> None:
    seen = with_table(few(), PRICES, observed={"recovery_days": period}, restorable=since, created=created)
    said = one(look(seen), "HF619", PRICES)
    assert (said.outcome, word in said.detail) == (outcome, True), said.detail
    assert ("HF004", PRICES) not in failed(look(seen)) or period == 7


@pytest.mark.parametrize(
    ("status", "since", "says"),
    [
        ("ACTIVE", HOUR, "cannot use its key since 2026-04-23 11:00 UTC, and archives the table on 2026-04-30"),
        ("INACCESSIBLE_ENCRYPTION_CREDENTIALS", HOUR, "its status is INACCESSIBLE_ENCRYPTION_CREDENTIALS"),
        ("ARCHIVED", HOUR, "it is ARCHIVED"),
        ("ACTIVE", Unknown("no time"), "since when cannot be read: no time"),
    ],
)
def test_l10_a_table_whose_key_dynamodb_cannot_use_is_a_finding_while_it_is_still_active(
    status: str, since: datetime | Unknown, says: str
) -> None:
    found = look(with_table(few(), PRICES, status=status, without_key=since))
    assert failed(found) == {("HF601", PRICES)}
    assert says in one(found, "HF601", PRICES).detail


YESTERDAY = NOW.date() - timedelta(days=1)
SEEN = Sighting(on=date(2026, 4, 1), reads_7d=450)


def consumed(units: float) -> Units:
    return Units(units, units, YESTERDAY if units else None)


@pytest.mark.parametrize(
    ("state", "use", "outcome", "word"),
    [
        (State(usage=Usage.DEAD), {"reads": 16.0}, Outcome.PASS, "declared dead: 16 read units in 7 days"),
        (State(usage=Usage.DEAD), {"reads": 16.5}, Outcome.FAIL, "16.5 read units in 7 days (16.5 in 30, the last on"),
        (State(usage=Usage.DEAD), {"reads": 8819.0}, Outcome.FAIL, "8,819 read units"),
        (State(usage=Usage.DEAD), {"writes": 17.0}, Outcome.FAIL, "17 write units"),
        (State(usage=Usage.DEAD), {"reads": 9.0, "index": 9.0}, Outcome.FAIL, "9 read units of its indexes in 7 days"),
        (
            State(usage=Usage.DEAD, sighting=SEEN),
            {"reads": 450.0},
            Outcome.FAIL,
            "450 read units were seen on 2026-04-01",
        ),
        (State(usage=Usage.LEGACY, sighting=SEEN), {"reads": 900.0}, Outcome.PASS, ""),
        (State(usage=Usage.LEGACY, sighting=SEEN), {"reads": 901.0}, Outcome.FAIL, "more than 2 times what was seen"),
        (State(usage=Usage.LEGACY), {"reads": 901.0}, Outcome.EXEMPT, ""),
        (State(), {"reads": 901.0}, Outcome.EXEMPT, ""),
        (State(usage=Usage.DEAD), {"reads": None}, Outcome.UNKNOWN, "its reads: denied"),
        (State(usage=Usage.DEAD), {"index": None}, Outcome.UNKNOWN, "reads of a-index: denied"),
        (State(usage=Usage.DEAD), {"reads": 17.0, "writes": None}, Outcome.FAIL, "unknown write units"),
    ],
)
def test_w5_what_is_declared_dead_is_not_read_more_than_a_handful(
    state: State, use: Mapping[str, float | None], outcome: Outcome, word: str
) -> None:
    counted: dict[str, Any] = {
        what: Unknown("denied") if units is None else consumed(units) for what, units in use.items()
    }
    placed, there = shop(state=state, assumed=())
    index = IndexUse(items=1, size=1, reads=counted.pop("index", Units()))
    found = shopped(placed, with_table(there, "orders-test", indexes={"a-index": index}, **counted))
    said = one(found, "HF618", "orders-test")
    assert (said.outcome, word in said.detail) == (outcome, True), said.detail


@pytest.mark.parametrize(
    ("old", "new", "outcome"), [(29, 1, Outcome.FAIL), (29, 29, Outcome.PASS), (0, 0, Outcome.PASS)]
)
def test_a_duplicate_with_more_data_than_its_successor_is_found(old: int, new: int, outcome: Outcome) -> None:
    seen = with_table(account(DEV.region), "prices-old-dev", items=old)
    seen = with_table(seen, "prices-dev", items=new)
    found = one(look(seen, env=DEV, every=True), "HF606", "prices-old-dev")
    assert found.outcome is outcome
    if outcome is Outcome.FAIL:
        assert found.detail == "it holds 29 items, its successor prices-dev holds 1"


def test_a_duplicate_whose_items_cannot_be_counted_is_unknown() -> None:
    seen = with_table(account(DEV.region), "prices-dev", items=Unknown("denied"))
    found = one(look(seen, env=DEV, every=True), "HF606", "prices-old-dev")
    assert found.outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("use", "items", "created", "outcome", "word"),
    [
        (IndexUse(items=0, size=0, reads=Units()), 10, CREATED, Outcome.FAIL, "empty"),
        (IndexUse(items=0, size=0, reads=Units()), 0, CREATED, Outcome.EXEMPT, "the table is empty"),
        (
            IndexUse(items=9, size=2_000_000, reads=Units()),
            10,
            CREATED,
            Outcome.FAIL,
            "saves 2 MB and up to one write in 2",
        ),
        (IndexUse(items=9, size=90, reads=Units()), 10, NOW - timedelta(days=9), Outcome.EXEMPT, "too young"),
        (
            IndexUse(items=9, size=90, reads=Units(0.0, 4.5, CREATED.date())),
            10,
            CREATED,
            Outcome.PASS,
            "4.5 read units in 30 days",
        ),
        (IndexUse(items=9, size=90, reads=Unknown("denied")), 10, CREATED, Outcome.UNKNOWN, "denied"),
        (
            IndexUse(items=Unknown("denied"), size=90, reads=Units(1.0, 1.0, NOW.date())),
            10,
            CREATED,
            Outcome.UNKNOWN,
            "cannot be counted",
        ),
    ],
)
def test_what_an_index_is_worth(use: IndexUse, items: int, created: datetime, outcome: Outcome, word: str) -> None:
    seen = with_table(few(REGION), PRICES, items=items, created=created, indexes={"category-index": use})
    found = one(look(seen), "HF608", PRICES)
    assert found.outcome is outcome
    assert word in found.detail
    assert found.where.endswith("/index/category-index")


@pytest.mark.parametrize("hour", HOURS)
@pytest.mark.parametrize(("days", "outcome"), [(29, Outcome.EXEMPT), (30, Outcome.FAIL)])
def test_an_index_is_judged_from_the_thirtieth_day_on(
    days: int, outcome: Outcome, now: datetime, hour: timedelta
) -> None:
    created = now.replace(hour=0, minute=0) - timedelta(days=days) + hour
    use = IndexUse(items=9, size=90, reads=Units())
    seen = with_table(few(REGION), PRICES, items=10, created=created, indexes={"category-index": use})
    assert one(look(seen, now=now), "HF608", PRICES).outcome is outcome


def test_twins_may_differ_in_protection_and_in_nothing_else() -> None:
    accounts = [account(r) for r in (REGION, DEV.region, "eu-north-1")]
    both = audit(ESTATE, accounts, ESTATE.environments, now=NOW)
    assert failed(both) == set()
    twins = [f for f in both.findings if f.rule.id == "HF607"]
    assert len(twins) == sum(1 for s in ESTATE.stacks if s.environments is None for t in s.tables if t.only is None)
    accounts[1] = with_table(accounts[1], "carts-dev", observed={"indexes": {"x": gsi("x", name="x")}})
    found = audit(ESTATE, accounts, ESTATE.environments, now=NOW)
    assert one(found, "HF607", "carts-production").detail == "only dev has x"
    accounts[1] = with_table(accounts[1], "carts-dev", observed={"indexes": Unknown("denied")})
    assert (
        one(audit(ESTATE, accounts, ESTATE.environments, now=NOW), "HF607", "carts-production").outcome
        is Outcome.UNKNOWN
    )


# What names tables


@pytest.mark.parametrize(
    ("name", "kind", "rule"),
    [
        (PRICES, "variable", None),
        ("no-such-table", "variable", "HF609"),
        ("customers-dev", "variable", "HF609"),
        ("prices-dev", "variable", "HF610"),
        ("coupons", "event source", "HF611"),
        ("baskets-live", "policy", "HF611"),
    ],
)
def test_what_runs_names_tables_that_exist_here_and_are_in_use(name: str, kind: str, rule: str | None) -> None:
    told = Mention(where="function f, variable V", kind=kind, table=name)
    found = look(few(REGION, mentions=(told,)), few(DEV.region))
    assert failed(found) == ({(rule, name)} if rule else set())
    if rule:
        assert "function f, variable V names" in one(found, rule, name).detail


def test_where_two_environments_share_a_region_nothing_runs_astray() -> None:
    names = ("journal-dev", "journal-live")
    told = tuple(Mention(where="function f", kind="event source", table=name) for name in names)
    seen = account("eu-north-1", mentions=told)
    for env in ESTATE.environments:
        assert failed(look(seen, env=env, every=True)) == set()


def test_a_name_cannot_be_called_a_phantom_where_tables_could_not_be_listed() -> None:
    told = Mention(where="function f", kind="variable", table="no-such-table")
    seen = few(REGION, tables=Unknown("denied"), mentions=(told,))
    assert one(look(seen), "HF609", "no-such-table").outcome is Outcome.UNKNOWN


def test_code_is_searched_for_names_and_arns(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "x.ts").write_text('"carts-production"')
    (tmp_path / "resources.ts").write_text(
        "// the coupons table\n"
        'const a = "arn:aws:dynamodb:us-east-1:123456789012:table/coupons";\n'
        f"const b = '{PRICES}';\n"
        'const c = "arn:aws:dynamodb:us-east-1:123456789012:table/gone";\n'
    )
    (tmp_path / "binary").write_bytes(b'"coupons"\0')
    names = {"coupons", "carts-production", PRICES}
    found = look(few(REGION), mentions=tuple(mentions([tmp_path], names)))
    assert failed(found) == {("HF611", "coupons"), ("HF612", PRICES), ("HF609", "gone")}
    assert one(found, "HF612", PRICES).where == f"{tmp_path}/resources.ts:3"
    with pytest.raises(InputError, match="does not exist"):
        list(mentions([tmp_path / "nowhere"], names))


def test_links_are_not_followed_out_of_the_code(tmp_path: Path) -> None:
    code, outside = tmp_path / "code", tmp_path / "outside"
    for folder in (code, outside):
        folder.mkdir()
        (folder / "orders.ts").write_text(f'"{ORDERS if folder is outside else PRICES}"')
    (code / "link.ts").symlink_to(outside / "orders.ts")
    (code / "folder").symlink_to(outside)
    found = look(few(REGION), mentions=tuple(mentions([code], {ORDERS, PRICES})))
    assert failed(found) == {("HF612", PRICES)}


# Assumed facts


def shop(**changes: Any) -> tuple[Placed, Account]:
    """One stack whose key and index are assumed, with a live table to compare."""
    guess = {
        "key": key("id"),
        "indexes": (gsi("a", assumed="counted only"),),
        "assumed": (Assumed(Fact.KEY, "a guess"),),
    }
    stacks = estate(declared_stack(declared_table(**guess | changes), environments=(TEST,)))
    (placed,) = stacks.placements()
    resource = {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "TableName": "orders-test",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": n, "AttributeType": k} for n, k in (("id", "S"), ("a", "S"))],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "a-index",
                    "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            "Tags": [{"Key": k, "Value": v} for k, v in (placed.tags | placed.table_tags(placed.tables[0])).items()],
        },
    }
    seen = StackSeen(
        id=placed.name, name=placed.name, where="t", template={"Resources": {"T": resource}}, region=placed.region
    )
    stack = StackLive(seen=seen, status="CREATE_COMPLETE", created=CREATED, updated=UPDATED)
    return placed, account(placed.region, tables=live(seen, placed.region), stacks={placed.name: stack})


def shopped(placed: Placed, seen: Account, now: datetime = NOW) -> Audit:
    return audit(estate(placed.stack), [seen], [placed.env], now=now)


def test_a_live_table_confirms_what_was_assumed() -> None:
    found = shopped(*shop())
    said = [f.detail for f in found.findings if f.rule.id == "HF613"]
    assert said == [
        "key: confirmed by the live table; delete assumed=",
        "index of a-index: confirmed by the live table; delete assumed=",
    ]
    assert failed(found) == set()


@pytest.mark.parametrize(
    ("seen", "line"),
    [
        (
            {"key": key("orderId", number("at"))},
            'key: refuted by the live table, which has key=key("orderId", number("at")),',
        ),
        (
            {"indexes": {"b": gsi("b", "c", name="by-b")}},
            'index of a-index: refuted by the live table, which has gsi("b", "c", name="by-b")',
        ),
    ],
)
def test_a_refuted_assumption_is_told_with_the_line_to_paste_beside_the_difference(
    seen: Mapping[str, Any], line: str
) -> None:
    placed, there = shop()
    changed = dict(seen)
    if "indexes" in changed:
        changed["indexes"] = {"by-b": changed["indexes"]["b"]}
    wrong = with_table(there, "orders-test", observed=changed, indexes={})
    for stacks, same, fix in (
        (there.stacks, f"{line}; {SINCE}", CHANGED),
        ({}, line, ASSUMED.remediation),  # made by hand: no deploy made it as assumed
    ):
        found = shopped(placed, replace(wrong, stacks=stacks))
        refuted = [f for f in found.findings if f.rule.id == "HF613" and f.outcome is Outcome.FAIL]
        assert [(f.detail, f.fix) for f in refuted] == [(same, fix.format(table="orders-test"))]
        rule = "HF102" if "key" in seen else "HF103"
        assert {f for f in failed(found) if f[0] not in ("HF604", "HF613")} == {(rule, "orders-test")}


def test_l5_an_assumed_index_that_was_rebuilt_by_hand_is_drift_and_not_intent() -> None:
    """Its name and its key are as assumed and deployed; what it copies is not."""
    placed, there = shop()
    rebuilt = {"a-index": gsi("a", projection=Projection.KEYS_ONLY)}
    found = shopped(placed, with_table(there, "orders-test", observed={"indexes": rebuilt}))
    assert failed(found) == {("HF103", "orders-test")}
    gap = one(found, "HF103", "orders-test").gap
    assert gap
    assert (gap.says, gap.deployed, gap.live) == (NOT_APPLIED, "on", "off")
    other = {"a-index": gsi("b", name="a-index")}
    found = shopped(placed, with_table(there, "orders-test", observed={"indexes": other}))
    assert failed(found) == {("HF103", "orders-test"), ("HF613", "orders-test")}
    closed = {n: replace(s, seen=Unknown("denied")) for n, s in there.stacks.items()}  # type: ignore[union-attr]
    found = shopped(placed, with_table(replace(there, stacks=closed), "orders-test", observed={"indexes": other}))
    (refuted,) = [f for f in found.findings if f.rule.id == "HF613" and f.outcome is Outcome.FAIL]
    assert refuted.detail.endswith("; whether a deploy made it as assumed cannot be read: denied")


def test_wrong_types_of_keys_are_refuted_attribute_by_attribute() -> None:
    placed, there = shop(assumed=(Assumed(Fact.KEY_TYPES, "a guess"),))
    found = shopped(placed, with_table(there, "orders-test", observed={"key": key(number("id"))}))
    refuted = [f.detail for f in found.findings if f.rule.id == "HF613" and f.outcome is Outcome.FAIL]
    assert refuted == [f'key types: refuted by the live table, which has number("id"); {SINCE}']


# What cannot be read


def test_tables_that_cannot_be_listed_are_unknown_one_by_one_and_nothing_else_is_said_of_them() -> None:
    hole = Unreadable(what="the list of tables", reason="not allowed", action="dynamodb:ListTables")
    found = look(few(REGION, tables=Unknown("not allowed"), unreadable=(hole,)))
    assert failed(found) == set()
    assert {f.rule.id for f in unknowns(found)} == {"HF601", "HF614"}
    assert "needs dynamodb:ListTables" in next(f.detail for f in unknowns(found) if f.rule.id == "HF614")
    assert {c for r in found.rows for i, _, c in r.guards.values() if i == "on"} <= {"unknown", "-"}
    assert len(unknowns(found)) == len(found.rows) + 1
    assert not [f for f in found.findings if f.source is Source.LIVE and f.outcome is Outcome.PASS]


def test_templates_are_judged_even_where_tables_cannot_be_listed() -> None:
    seen = redeployed(few(REGION), STACK, PRICES, DeletionPolicy="Delete")
    assert failed(look(replace(seen, tables=Unknown("not allowed")))) == {("HF002", PRICES)}
    nothing = look(replace(seen, tables=Unknown("not allowed"), stacks={}))
    assert failed(nothing) == set()  # whether they are live, and so in no stack, nobody can say


@pytest.mark.parametrize("what", ["stacks", "template"])
def test_templates_that_cannot_be_read_leave_live_guards_judged_and_retain_unknown(what: str) -> None:
    seen = few(REGION)
    assert isinstance(seen.stacks, Mapping)
    closed = replace(seen.stacks[STACK], seen=Unknown("not allowed"))
    stacks = Unknown("not allowed") if what == "stacks" else dict(seen.stacks) | {STACK: closed}
    found = look(with_table(replace(seen, stacks=stacks), PRICES, observed={"recovery": False}))
    assert failed(found) == {("HF004", PRICES)}
    gap = one(found, "HF004", PRICES).gap
    assert gap
    assert gap.deployed == "unknown"
    assert {f.rule.id for f in unknowns(found) if f.table == PRICES} == {"HF002", "HF615"}


FIELDS = ("deletion_protection", "recovery", "recovery_days", "ttl", "encryption", "tags", "key", "indexes", "billing",
          "stream", "watched", "alarms", "extras", "local_indexes")  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_a_setting_that_cannot_be_read_is_unknown_never_off_and_never_fine(field: str) -> None:
    found = look(with_table(few(REGION), PRICES, observed={field: Unknown("not allowed")}))
    assert failed(found) == set()
    assert {f.table for f in unknowns(found)} == {PRICES}
    assert all("not allowed" in f.detail for f in unknowns(found) if f.rule.id != "HF607")


# Waivers, several accounts


def test_a_waiver_excuses_a_live_gap_until_it_ends(now: datetime) -> None:
    waiver = Waiver(rule="HF010", environment=TEST, reason="tags follow", owner="shop-team", expires=now.date())
    placed, there = shop(waivers=(waiver,))
    bare = with_table(there, "orders-test", observed={"tags": {}})
    assert failed(shopped(placed, bare, now)) == set()
    assert failed(shopped(placed, bare, now + timedelta(days=1))) == {
        ("HF010", "orders-test"),
        ("HF212", "orders-test"),
    }
    assert failed(shopped(placed, there, now + timedelta(days=1))) == {("HF212", "orders-test")}


def test_tables_may_be_spread_over_several_accounts() -> None:
    whole = few(REGION)
    assert isinstance(whole.tables, Mapping)
    assert isinstance(whole.stacks, Mapping)
    sold = (ORDERS, PRICES, "carts-production")
    ours = replace(without(whole, *sold), stacks={n: s for n, s in whole.stacks.items() if n != STACK})
    theirs = replace(
        whole,
        id="111111111111",
        tables={n: t for n, t in whole.tables.items() if n in sold},
        stacks={STACK: whole.stacks[STACK]},
    )
    for accounts in ((ours, theirs), (theirs, ours)):
        found = look(*accounts)
        assert failed(found) == set()
        assert unknowns(found) == []


def test_a_region_that_was_not_read_is_not_judged() -> None:
    assert {r.region for r in look(few(REGION)).rows} == {REGION}


def test_personal_tables_are_those_that_the_key_rules_ask_about() -> None:
    """The columns come from the policy, so a table that is not personal never shows a missing key."""
    rows = {r.table: r for r in look(account(REGION), every=True).rows}
    for p in PLACES.values():
        for t in p.tables if p.region == REGION and p.env is LIVE else ():
            asked = rows[p.fill(t.name)].guards[Guard.CUSTOMER_KEY][0] == "on"
            assert asked is (t.data is Data.PERSONAL)


# What is there but cannot be used


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("INACCESSIBLE_ENCRYPTION_CREDENTIALS", Outcome.FAIL),
        ("ARCHIVING", Outcome.FAIL),
        ("ARCHIVED", Outcome.FAIL),
        ("CREATING", Outcome.UNKNOWN),
        ("UNHEARD_OF", Outcome.UNKNOWN),
        (Unknown("no answer"), Outcome.UNKNOWN),
        ("UPDATING", Outcome.PASS),
    ],
)
def test_l11_a_table_that_nobody_can_read_is_not_live(status: str | Unknown, outcome: Outcome) -> None:
    assert one(look(with_table(few(), PRICES, status=status)), "HF601", PRICES).outcome is outcome


@pytest.mark.parametrize("state", ["Disabled", "PendingDeletion"])
def test_a_key_that_decrypts_nothing_protects_nothing(state: str) -> None:
    seen = few()
    assert isinstance(seen.tables, Mapping)
    key_ = seen_of(seen, ORDERS).encryption
    assert isinstance(key_, ObservedKey)
    broken = replace(key_, extras=frozenset({f"KeyState {state}"}))
    found = look(with_table(seen, ORDERS, observed={"encryption": broken}))
    assert failed(found) == {("HF007", ORDERS)}
    assert state in one(found, "HF007", ORDERS).detail


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("UPDATE_ROLLBACK_FAILED", Outcome.FAIL),
        ("ROLLBACK_COMPLETE", Outcome.FAIL),
        ("DELETE_IN_PROGRESS", Outcome.FAIL),
        ("UPDATE_IN_PROGRESS", Outcome.UNKNOWN),
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", Outcome.PASS),
        ("UPDATE_ROLLBACK_COMPLETE", Outcome.PASS),
    ],
)
def test_a_stack_whose_last_change_did_not_end_well_vouches_for_nothing(status: str, outcome: Outcome) -> None:
    seen = few()
    assert isinstance(seen.stacks, Mapping)
    name = STACK
    found = look(replace(seen, stacks=dict(seen.stacks) | {name: replace(seen.stacks[name], status=status)}))
    (stack,) = [f for f in found.findings if f.rule.id == "HF616" and f.stack == name]
    assert stack.outcome is outcome
    kept = one(found, "HF002", PRICES)
    assert kept.outcome is (Outcome.PASS if outcome is Outcome.PASS else Outcome.UNKNOWN)
    assert ("HF001", PRICES) not in failed(found)


def test_a_stack_that_may_not_be_deployed_yet_is_unknown_where_stacks_cannot_be_read() -> None:
    waiting = next(s for s in ESTATE.stacks if s.undeployed and s.tables)
    env = waiting.undeployed[0]
    (place,) = alone(waiting).placements([env])
    empty = Account(id="000000000000", region=place.region, tables={}, stacks=Unknown("not allowed"))
    found = audit(alone(waiting), [empty], [env], now=NOW)
    assert {f.outcome for f in found.findings if f.rule.id == "HF601"} == {Outcome.UNKNOWN}
    assert failed(found) == set()


def test_a_gap_is_dated_by_the_stack_of_its_own_region() -> None:
    early, late = NOW - timedelta(days=100), NOW - timedelta(days=3)
    accounts = []
    for region, updated in ((REGION, early), (DEV.region, late)):
        seen = account(region, ("Sessions",))
        assert isinstance(seen.stacks, Mapping)
        stack = seen.stacks["Sessions"]
        assert isinstance(stack.seen, StackSeen)
        bare = replace(stack.seen, region="us-east-1")  # in the wrong place, which the stack itself answers for
        accounts.append(replace(seen, stacks={"Sessions": replace(stack, seen=bare, updated=updated)}))
    stacks = [s for s in ESTATE.stacks if s.id == "Sessions"]
    found = audit(alone(*stacks), accounts, ESTATE.environments, now=NOW)
    dated = {f.environment: f.gap.updated for f in found.findings if f.gap and f.table is None}
    assert dated == {"live": early, "dev": late}


@pytest.mark.parametrize(
    ("place", "table", "rule", "outcome"),
    [
        (("999999999999", REGION), PRICES, "HF609", Outcome.EXEMPT),  # theirs, whatever it is called
        (("000000000000", "us-east-1"), PRICES, "HF609", Outcome.EXEMPT),
        (("000000000000", DEV.region), "prices-dev", "HF610", Outcome.FAIL),
        (("000000000000", REGION), PRICES, "HF609", Outcome.PASS),
        (("000000000000", REGION), "gone", "HF609", Outcome.FAIL),
    ],
)
def test_an_arn_is_judged_where_it_points(place: tuple[str, str], table: str, rule: str, outcome: Outcome) -> None:
    told = Mention(where="function f, variable V", kind="variable", table=table, place=place)
    found = look(few(mentions=(told,)))
    (only,) = [f for f in found.findings if "function f" in f.where]
    assert (only.rule.id, only.outcome) == (rule, outcome)


# More places than one


def test_a_declared_stack_whose_region_was_not_read_is_unknown() -> None:
    found = look(account("eu-north-1"), every=True)
    unread = {f.stack for f in unknowns(found) if f.rule.id == "HF614"}
    assert unread == {p.name for p in ESTATE.placements([LIVE]) if p.region == REGION}
    assert found.read == (("000000000000", "eu-north-1"),)


@pytest.mark.parametrize("turned", [False, True])
def test_every_account_that_has_a_table_is_judged(turned: bool) -> None:
    good = few()
    off = {"deletion_protection": False}
    bad = replace(with_table(good, PRICES, observed=off), id="111111111111")
    bad = redeployed(bad, STACK, PRICES, DeletionPolicy=None)
    found = look(*([bad, good] if turned else [good, bad]))
    assert failed(found) == {("HF001", PRICES), ("HF002", PRICES)}
    outcomes = sorted(f.outcome.value for f in found.findings if f.rule.id == "HF001" and f.table == PRICES)
    assert outcomes == ["fail", "pass"]
    rows = {r.account: r.guards[Guard.DELETION_PROTECTION] for r in found.rows if r.table == PRICES}
    assert rows == {"000000000000": ("on", "on", "on"), "111111111111": ("on", "on", "off")}


def two_accounts() -> tuple[Estate, list[Account]]:
    """Two environments in one region, each in an account of its own; their tables have the same name."""
    one, two = (Environment(label, Tier.TEST, "us-west-2", account=id_ * 12) for label, id_ in (("a", "1"), ("b", "2")))
    stacks = estate(declared_stack(declared_table(name="orders"), id="Shop"), environments=(one, two))
    _, seen = shop(name="orders", indexes=(), assumed=())
    assert isinstance(seen.tables, Mapping)
    (table,) = seen.tables.values()
    table = replace(changed(table, name="orders", indexes={}), indexes={})
    accounts = []
    for placed in stacks.placements():
        region, id_ = placed.region, placed.account
        stack = StackSeen(id="Shop", name="Shop", where="Shop", template={"Resources": {}}, region=region, account=id_)
        running = StackLive(seen=stack, status="CREATE_COMPLETE", created=CREATED, updated=None)
        accounts.append(replace(seen, id=str(placed.account), tables={"orders": table}, stacks={"Shop": running}))
    return stacks, accounts


def test_what_two_accounts_have_under_one_name_is_told_apart() -> None:
    stacks, accounts = two_accounts()
    past = History(head=Commit("a" * 40, NOW), branch="main", merged=True, line=(), contents={}, working={})
    found = audit(stacks, accounts, stacks.environments, now=NOW, history=past)
    assert [(row.environment, row.account) for row in found.stacks] == [("a", "1" * 12), ("b", "2" * 12)]
    differs = with_table(accounts[1], "orders", observed={"key": key("other")})
    found = audit(stacks, [accounts[0], differs], stacks.environments, now=NOW)
    assert one(found, "HF607", "orders").outcome is Outcome.FAIL
    for allowed, outcome in ((Aspect.KEY, Outcome.PASS), (Aspect.BILLING, Outcome.FAIL)):
        first, other = stacks.environments
        may = replace(other, differs=(allowed,))
        declared = tuple(replace(s, environments=(first, may)) for s in stacks.stacks)
        relaxed = replace(stacks, environments=(first, may), stacks=declared)
        found = audit(relaxed, [accounts[0], differs], relaxed.environments, now=NOW)
        assert one(found, "HF607", "orders").outcome is outcome
    # In one account alone, where the other's is declared by the same name, too: nobody declares it there.
    alone = replace(stacks, stacks=(replace(stacks.stacks[0], environments=stacks.environments[:1]),))
    found = audit(alone, accounts, alone.environments, now=NOW)
    (orphan,) = [f for f in found.findings if f.rule.id == "HF602"]
    assert orphan.table == "orders"


def test_l9_a_stack_in_an_account_where_it_is_not_declared_is_out_of_place() -> None:
    stacks, (prod, sandbox) = two_accounts()
    first, other = stacks.environments
    alone = replace(stacks, stacks=(replace(stacks.stacks[0], environments=(first,)),))
    for accounts in ([sandbox], [replace(prod, tables={}, stacks={}), sandbox]):
        found = audit(alone, accounts, [other], now=NOW)
        (place,) = [f for f in found.findings if f.rule.id == "HF210" and f.outcome is Outcome.FAIL]
        assert place.detail == f"it is in account {'2' * 12}, declared is {'1' * 12}"
        assert (place.environment, place.stack) == ("a", "Shop")
    # Declared for both, or for no account in particular, it is where it belongs.
    either = replace(stacks, environments=(replace(first, account=None), other))
    declared = replace(either, stacks=(replace(stacks.stacks[0], environments=either.environments[:1]),))
    for of in (stacks, declared):
        found = audit(of, [sandbox], of.environments, now=NOW)
        assert not [f for f in found.findings if f.rule.id == "HF210" and "2" * 12 in f.detail]


def test_an_account_that_has_nothing_of_a_stack_lacks_nothing() -> None:
    empty = Account(id="222222222222", region=REGION, tables={}, stacks={})
    found = look(empty, few())
    assert failed(found) == set()
    assert unknowns(found) == []
    assert {r.account for r in found.rows} == {"000000000000"}


def test_a_table_that_strayed_into_another_account_does_not_miss_its_stack_s_others() -> None:
    good = few()
    assert isinstance(good.tables, Mapping)
    stray = Account(id="333333333333", region=REGION, tables={PRICES: good.tables[PRICES]}, stacks={})
    found = look(good, stray)
    assert failed(found) == {("HF002", PRICES)}  # it is in no stack there


def test_what_no_account_has_is_missed_once() -> None:
    empty = Account(id="222222222222", region=REGION, tables={}, stacks={})
    found = look(empty, without(few(), PRICES))
    assert failed(found) == {("HF601", PRICES)}
    found = look(empty, replace(empty, id="333333333333"))
    missed = [f.table for f in found.findings if f.rule.id == "HF601" and f.outcome is Outcome.FAIL]
    assert len(missed) == len(set(missed)) > 3


def with_key(seen: Account, **changes: Any) -> Account:
    assert isinstance(seen.tables, Mapping)
    key_ = seen_of(seen, ORDERS).encryption
    assert isinstance(key_, ObservedKey)
    return with_table(seen, ORDERS, observed={"encryption": replace(key_, **changes)})


def test_a_live_key_is_that_of_the_stack_and_of_its_own_account() -> None:
    assert one(look(few()), "HF014", ORDERS).outcome is Outcome.PASS
    theirs = {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::666666666666:root"}, "Action": "kms:*"}
    for changes, says, rules in (
        (
            {"policy": {"Statement": [theirs | {"Resource": "*"}]}},
            "the key policy is not as declared",
            {"HF009", "HF014"},
        ),
        ({"where": f"arn:aws:kms:{REGION}:666666666666:key/theirs"}, "belongs to account 666666666666", {"HF014"}),
        ({"extras": frozenset({"Origin"})}, "Origin", {"HF014"}),
    ):
        found = look(with_key(few(), **changes))
        assert failed(found) == {(rule, ORDERS) for rule in rules}
        assert says in one(found, "HF014", ORDERS).detail
    unread = look(with_key(few(), policy=Unknown("not allowed")))
    assert {f.rule.id for f in unknowns(unread)} == {"HF009", "HF014"}


def test_a_name_that_refers_to_itself_is_unknown_and_no_traceback() -> None:
    resources = {"A": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": {"Fn::Sub": "${A}"}}}, "B": None}
    stack = StackSeen(id="S", where="S", template={"Resources": resources})
    (seen,) = observe(stack)
    assert isinstance(seen.name, Unknown)


# One rule about a table and about what stands beside it


def test_alarms_of_a_consumer_and_of_its_table_are_told_apart() -> None:
    """Both are HF205: what the template says of the one does not hide, or become, what is said of the other."""
    placed = PLACES[STACK]
    name = ORDERS
    clean = account(placed.region, (placed.stack.id,))
    mute = {n: dict(p) | {"notifies": False} for n, p in seen_of(clean, name).alarms.items()}  # type: ignore[union-attr]
    kept = {
        i: r
        for i, r in template(placed.id)["Resources"].items()
        if not str(r.get("Properties", {}).get("AlarmName")).endswith("/behind")
    }
    assert len(kept) == len(template(placed.id)["Resources"]) - 1

    def told(there: Account) -> list[tuple[str, str | None, Source]]:
        found = audit(alone(placed.stack), [there], [placed.env], now=NOW).findings
        return sorted((f.rule.id, f.table, f.source) for f in found if f.outcome is Outcome.FAIL)

    one_less = replace(clean, stacks={placed.name: deployed(placed, kept)})
    assert told(clean) == []
    assert told(one_less) == [("HF205", name, Source.DEPLOYED)]
    assert told(with_table(clean, name, observed={"alarms": mute})) == [("HF205", name, Source.LIVE)]
