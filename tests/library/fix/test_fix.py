"""`fix` turns on what is required and off, says so first, and never does anything else."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from accounts import NOW, account, changed, seen_of, with_table
from declare import PROD
from emulator import Aws
from faults import Asked, Reply, error, only, proxy
from live_account import log_in
from shop import ESTATE, LIVE, alone
from support import Json
from unprotected import PLACED, SHOP, state, unprotected_shop

from holdfast import Assumed, Durable, Encryption, Fact
from holdfast.audit.audit import audit
from holdfast.aws.apply import FIX, _make, apply
from holdfast.aws.failure import CallError, Kind
from holdfast.aws.options import Options
from holdfast.aws.reader import read_all
from holdfast.cfn.template import Source
from holdfast.cli.output import tell
from holdfast.fix.plan import FIXABLE, Change, Plan, plan
from holdfast.shared.account import Account
from holdfast.shared.calls import Call
from holdfast.text import printable
from holdfast.unknown import Unknown

ORDERS, PRICES, CARTS = "orders-production", "prices-production", "carts-production"
IDS = ("Orders-{env}", "Retired-{env}")
STACKS = alone(*(s for s in ESTATE.stacks if s.id in IDS))


def seen(name: str = PRICES, *, status: str = "ACTIVE", **observed: Any) -> Account:
    return with_table(account(LIVE.region, IDS), name, observed=observed, status=status)


def planned(there: Account, **options: Any) -> Plan:
    found = audit(STACKS, [there], [LIVE], now=NOW)
    return plan(found.findings, STACKS, [there], [LIVE], **options)


def every(found: Plan) -> list[Change]:
    """The calls of a plan and, as the last ones, those that change a key."""
    return [*found.changes, *found.keys]


# The plan


def test_nothing_is_planned_for_an_estate_that_is_as_intended() -> None:
    assert planned(account(LIVE.region, IDS)) == Plan(changes=[], left=[], keys=[])


@pytest.mark.parametrize(
    ("name", "observed", "command"),
    [
        (
            PRICES,
            {"deletion_protection": False},
            f"aws dynamodb update-table --table-name {PRICES} --deletion-protection-enabled --region eu-west-1",
        ),
        (
            PRICES,
            {"recovery": False, "recovery_days": None},
            f"aws dynamodb update-continuous-backups --table-name {PRICES} --point-in-time-recovery-specification "
            "PointInTimeRecoveryEnabled=true,RecoveryPeriodInDays=14 --region eu-west-1",
        ),
        (
            PRICES,
            {"recovery_days": 7},
            f"aws dynamodb update-continuous-backups --table-name {PRICES} --point-in-time-recovery-specification "
            "PointInTimeRecoveryEnabled=true,RecoveryPeriodInDays=14 --region eu-west-1",
        ),
        (
            CARTS,
            {"ttl": None},
            f"aws dynamodb update-time-to-live --table-name {CARTS} --time-to-live-specification "
            "Enabled=true,AttributeName=expiresAt --region eu-west-1",
        ),
        (
            ORDERS,
            {"encryption": Encryption.AWS_OWNED},
            f"aws dynamodb update-table --table-name {ORDERS} --sse-specification "
            "Enabled=true,SSEType=KMS,KMSMasterKeyId=alias/holdfast/Orders-production --region eu-west-1",
        ),
    ],
)
def test_each_gap_is_one_call_that_can_be_pasted(name: str, observed: Json, command: str) -> None:
    found = planned(seen(name, **observed))
    assert [c.command() for c in every(found)] == [command]
    assert found.left == []


def test_missing_tags_are_added_and_present_ones_left_alone() -> None:
    there = seen()
    assert isinstance(there.tables, Mapping)
    tags = dict(seen_of(there, PRICES).tags)  # type: ignore[arg-type]
    del tags["shop:team"], tags["shop:data"]
    (change,) = planned(seen(tags=tags | {"shop:stage": "wrong", "team": "ours"})).changes
    assert change.parameters["Tags"] == [
        {"Key": "shop:team", "Value": "orders-team"},
        {"Key": "shop:data", "Value": "operational"},
    ]
    words = shlex.split(change.command(profile="my prod", endpoint_url="http://127.0.0.1:4566"))
    assert words[:5] == ["aws", "dynamodb", "tag-resource", "--resource-arn", change.arn]
    assert words[-4:] == ["--profile", "my prod", "--endpoint-url", "http://127.0.0.1:4566"]


def test_a_tag_that_differs_is_told_and_never_overwritten() -> None:
    there = seen()
    assert isinstance(there.tables, Mapping)
    tags = dict(seen_of(there, PRICES).tags)  # type: ignore[arg-type]
    there = seen(tags=tags | {"shop:stage": "wrong"})
    found = planned(there)
    assert found.changes == []
    assert [(left.rule, left.table) for left in found.left] == [("HF010", PRICES)]
    assert "a tag that differs is never overwritten" in found.left[0].why
    (finding,) = [
        f for f in audit(STACKS, [there], [LIVE], now=NOW).findings if f.rule.id == "HF010" and f.table == PRICES
    ]
    assert "holdfast fix" not in finding.fix  # it would show no call


def test_only_what_was_asked_for_is_planned() -> None:
    there = seen(deletion_protection=False, recovery=False)
    assert [c.rule for c in planned(there, only={"HF004"}).changes] == ["HF004"]
    assert [c.rule for c in planned(there).changes] == ["HF001", "HF004"]


def test_the_worst_is_repaired_first_and_a_new_key_is_apart() -> None:
    off: Json = {"deletion_protection": False, "recovery": False, "tags": {}, "encryption": Encryption.AWS_OWNED}
    there = seen(PRICES, **off)
    for name in ("customers-live", ORDERS):
        there = with_table(there, name, observed=off)
    found = planned(there)
    assert [c.rule for c in found.changes] == ["HF001"] * 3 + ["HF004"] * 3 + ["HF010"] * 3
    assert {(c.rule, c.table, c.key) for c in found.keys} == {
        ("HF007", ORDERS, "alias/holdfast/Orders-production"),
        ("HF007", "customers-live", "alias/holdfast/Retired-live"),
    }


@pytest.mark.parametrize(
    ("owner", "why"),
    [
        (None, "no stack manages it"),
        ("Deleted-stack", "no stack manages it"),  # its tag outlives it
        ("Retired-live", "no stack manages it"),  # which has let it go
        (Unknown("denied"), "which stack manages it could not be read (denied)"),
    ],
)
def test_l34_a_table_that_no_stack_manages_is_never_tagged_as_of_one(owner: str | Unknown | None, why: str) -> None:
    there = with_table(account(LIVE.region, IDS), PRICES, observed={"tags": {}, "recovery": False}, owner=owner)
    found = planned(there)
    assert [c.rule for c in found.changes] == ["HF004"]  # what protects its data is turned on
    assert [(left.rule, left.why.partition(",")[0]) for left in found.left] == [("HF010", why)]
    untagged = next(f for f in audit(STACKS, [there], [LIVE], now=NOW).findings if f.rule.id == "HF010" and f.gap)
    assert "holdfast fix" not in untagged.fix  # it would show no call


def test_an_expiry_that_differs_is_reported_and_never_changed() -> None:
    found = planned(seen(CARTS, ttl="other"))
    assert found.changes == []
    (left,) = found.left
    assert (left.rule, left.table) == ("HF006", CARTS)
    assert "never changed automatically" in left.why
    assert planned(seen(PRICES, ttl="ttl")).changes == []  # declared without expiry: it is not switched off


def test_expiry_is_not_turned_on_by_a_guess_nor_on_durable_data_unless_it_is_named() -> None:
    def lifetime(*assumed: Assumed, **options: Any) -> Plan:
        stacks = tuple(
            replace(s, tables=tuple(replace(t, lifetime=Durable(ttl="expiresAt"), assumed=assumed) for t in s.tables))
            for s in STACKS.stacks
        )
        there = seen(CARTS, ttl=None)
        found = [f for f in audit(alone(*stacks), [there], [LIVE], now=NOW).findings if f.table == CARTS]
        (expiry,) = [f for f in found if f.rule.id == "HF006" and f.source is Source.LIVE]
        return plan([expiry], alone(*stacks), [there], [LIVE], **options)

    assert [c.rule for c in lifetime(only={"HF006"}).changes] == ["HF006"]
    (durable,) = lifetime().left
    assert durable.why == "a TTL deletes items of a durable table: `--only HF006` turns it on"
    guess = lifetime(Assumed(Fact.TTL, "nobody knows"), only={"HF006"})
    assert guess.changes == []
    assert "is assumed" in guess.left[0].why


def test_a_table_whose_status_is_unknown_is_left_with_the_reason() -> None:
    there = seen(deletion_protection=False)
    assert isinstance(there.tables, Mapping)
    table = replace(there.tables[PRICES], status=Unknown("no answer"))
    (left,) = planned(replace(there, tables={**there.tables, PRICES: table})).left
    assert left.why == "its status could not be read (no answer)"


@pytest.mark.parametrize("field", ["deletion_protection", "recovery", "ttl", "tags", "encryption"])
def test_what_could_not_be_read_is_never_touched(field: str) -> None:
    for name in (PRICES, CARTS, ORDERS):
        observed: Json = {field: Unknown("denied")}
        assert planned(seen(name, **observed)).changes == []


@pytest.mark.parametrize("status", ["CREATING", "DELETING", "ARCHIVED", "INACCESSIBLE_ENCRYPTION_CREDENTIALS"])
def test_a_table_that_is_not_ready_is_left_for_the_next_run(status: str) -> None:
    found = planned(seen(status=status, deletion_protection=False))
    assert found.changes == []
    assert status in found.left[0].why


def test_a_key_that_is_not_deployed_cannot_be_used_and_that_is_said() -> None:
    there = replace(seen(ORDERS, encryption=Encryption.AWS_OWNED), stacks={})
    found = planned(there)
    assert found.changes == []
    assert "alias/holdfast/Orders-production is not deployed: `holdfast audit` says" in found.left[0].why


def test_a_table_that_the_code_does_not_declare_is_never_named() -> None:
    there = seen()
    assert isinstance(there.tables, Mapping)
    table = there.tables[PRICES]
    bare = changed(table, name="strange", deletion_protection=False, recovery=False, tags={})
    there = replace(there, tables=dict(there.tables) | {"strange": bare})
    found = audit(STACKS, [there], [LIVE], now=NOW)
    assert "strange" in {f.table for f in found.findings}
    assert planned(there) == Plan(changes=[], left=[], keys=[])


def test_every_call_only_ever_turns_on() -> None:
    """Whatever is off, everywhere: no call deletes, disables or shortens anything."""
    there = account(LIVE.region, IDS)
    assert isinstance(there.tables, Mapping)
    off: Json = {
        "deletion_protection": False,
        "recovery": False,
        "ttl": None,
        "tags": {},
        "encryption": Encryption.AWS_OWNED,
    }
    for name in there.tables:
        there = with_table(there, name, observed=off)
    changes = every(planned(there))
    assert {c.rule for c in changes} == FIXABLE
    for change in changes:
        assert change.operation in {"UpdateTable", "UpdateContinuousBackups", "UpdateTimeToLive", "TagResource"}
        assert "False" not in repr(change.parameters)
        assert not {"AttributeDefinitions", "BillingMode", "GlobalSecondaryIndexUpdates"} & set(change.parameters)


def test_l33_no_name_of_an_account_steers_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "x\x1b]0;owned\x07\u202ey\x9b2J"
    there = with_table(seen(CARTS, ttl=hostile), PRICES, observed={"tags": {}}, owner=Unknown(hostile))
    for left in planned(there).left:
        tell(left.why)
    said = capsys.readouterr().err
    assert said.count(printable(hostile)) == 2
    assert said.count("\n") == 2
    assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(said)


# Made for real, in an emulated account


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    """An account with both tables, unprotected, in a stack that has the key."""
    found = unprotected_shop()
    log_in(monkeypatch, found)
    return found


def options(aws: Aws) -> Options:
    return Options(regions=("us-east-1",), endpoint_url=aws.endpoint)


def look(aws: Aws) -> Plan:
    accounts = read_all(options(aws), now=NOW)
    found = audit(SHOP, accounts, [PROD], now=NOW)
    return plan(found.findings, SHOP, accounts, [PROD])


def make(aws: Aws, changes: list[Change], record: Path, said: Callable[[str], None] = lambda _: None) -> list[str]:
    return apply(changes, options(aws), record, env="prod", said=said, patience=5)


def test_everything_that_is_off_is_turned_on_verified_and_recorded(aws: Aws, tmp_path: Path) -> None:
    stranger = state(aws, "stranger")
    found = look(aws)
    assert found.left == []
    assert {(c.rule, c.table) for c in every(found)} == {
        ("HF001", "orders-prod"),
        ("HF004", "orders-prod"),
        ("HF007", "orders-prod"),
        ("HF010", "orders-prod"),
        ("HF006", "carts-prod"),
        ("HF010", "carts-prod"),
    }
    record = tmp_path / "fix.json"
    assert make(aws, every(found), record) == []
    wanted = set(PLACED.tags) | {"DataClass", "Lifetime", "Name"}
    orders = state(aws, "orders-prod")
    assert (orders["protected"], orders["recovery"], orders["days"], orders["tags"]) == (True, "ENABLED", 35, wanted)
    assert orders["key"]
    carts = state(aws, "carts-prod")
    assert (carts["protected"], carts["recovery"], carts["ttl"], carts["tags"]) == (False, "DISABLED", "until", wanted)
    assert state(aws, "stranger") == stranger
    document = json.loads(record.read_text())
    assert list(document["who"]) == [aws.account]
    assert all(row["outcome"] == "done" and row["at"] for row in document["changes"])
    (protection,) = [row for row in document["changes"] if row["rule"] == "HF001"]
    assert protection["before"]["DeletionProtectionEnabled"] is False
    assert protection["after"]["DeletionProtectionEnabled"] is True
    assert every(look(aws)) == []


def test_a_run_that_is_interrupted_is_recorded_and_the_next_one_does_the_rest(aws: Aws, tmp_path: Path) -> None:
    first = look(aws).changes

    def stop(line: str) -> None:
        if line.startswith("2/"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(aws, first, tmp_path / "one.json", stop)
    rows = json.loads((tmp_path / "one.json").read_text())["changes"]
    assert [r["outcome"] for r in rows] == ["done", "done", *["planned"] * (len(first) - 2)]
    rest = look(aws).changes
    assert [(c.rule, c.table) for c in rest] == [(c.rule, c.table) for c in first[2:]]
    assert make(aws, rest, tmp_path / "two.json") == []
    assert look(aws).changes == []


def test_a_run_that_is_cut_off_in_the_middle_of_a_call_says_which(
    aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("holdfast.aws.apply._make", cut_off)
    changes = look(aws).changes
    with pytest.raises(KeyboardInterrupt):
        make(aws, changes, tmp_path / "fix.json")
    rows = json.loads((tmp_path / "fix.json").read_text())["changes"]
    assert [r["outcome"] for r in rows] == ["started", *["planned"] * (len(changes) - 1)]


class Refusing:
    """AWS when the answer to a call was lost: the second attempt is refused, because the first has taken."""

    def __init__(self, status: str) -> None:
        self.after, self.status = status, "DISABLED"

    def call(self, call: Call, **_: Any) -> Json:
        if call.operation == "UpdateTimeToLive":
            self.status = self.after
            raise CallError(call, Kind.OTHER, "TimeToLive is already enabled")
        return {"TimeToLiveDescription": {"TimeToLiveStatus": self.status, "AttributeName": "expiresAt"}}


@pytest.mark.parametrize(("status", "wrong"), [("ENABLING", None), ("DISABLED", "TimeToLive is already enabled")])
def test_a_refused_call_is_believed_only_if_the_account_shows_that_it_has_not_taken(
    status: str, wrong: str | None
) -> None:
    (change,) = planned(seen(CARTS, ttl=None)).changes
    api: Any = Refusing(status)
    if wrong is None:
        assert _make(api, change, {}, 1.0) == "done"
    else:
        with pytest.raises(CallError, match=wrong):
            _make(api, change, {}, 1.0)


def test_a_call_that_fails_is_said_and_recorded_and_the_others_are_made(aws: Aws, tmp_path: Path) -> None:
    changes = look(aws).changes
    aws.client("dynamodb").delete_table(TableName="carts-prod")
    wrong = make(aws, changes, tmp_path / "fix.json")
    assert len(wrong) == 2
    assert all(line.startswith("carts-prod: ") for line in wrong)
    rows = json.loads((tmp_path / "fix.json").read_text())["changes"]
    assert {r["table"]: r["outcome"] for r in rows} == {"orders-prod": "done", "carts-prod": "failed"}
    assert state(aws, "orders-prod")["protected"] is True


def test_a_change_that_somebody_else_has_made_meanwhile_is_no_failure(aws: Aws, tmp_path: Path) -> None:
    changes = look(aws).changes
    assert make(aws, changes, tmp_path / "one.json") == []
    assert make(aws, changes, tmp_path / "two.json") == []
    rows = json.loads((tmp_path / "two.json").read_text())["changes"]
    assert {r["outcome"] for r in rows} == {"already so"}


def test_what_somebody_set_since_the_plan_is_never_overwritten(aws: Aws, tmp_path: Path) -> None:
    changes = every(look(aws))
    client = aws.client("dynamodb")
    key = aws.client("kms").create_key()["KeyMetadata"]["Arn"]
    arn = client.describe_table(TableName="orders-prod")["Table"]["TableArn"]
    client.tag_resource(ResourceArn=arn, Tags=[{"Key": "Owner", "Value": "somebody"}])
    sse = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": key}
    client.update_table(TableName="orders-prod", SSESpecification=sse)
    client.update_time_to_live(
        TableName="carts-prod", TimeToLiveSpecification={"Enabled": True, "AttributeName": "other"}
    )
    wrong = make(aws, changes, tmp_path / "fix.json")
    assert [line.partition("changed meanwhile: ")[2].partition(";")[0] for line in wrong] == [
        "TTL is ENABLED by other",
        "the tag Owner is 'somebody'",
        f"its key is {key}",
    ]
    assert state(aws, "orders-prod")["key"] == key
    assert state(aws, "carts-prod")["ttl"] == "other"
    rows = {(r["table"], r["rule"]): r for r in json.loads((tmp_path / "fix.json").read_text())["changes"]}
    assert rows["orders-prod", "HF010"]["before"]["Owner"] == "somebody"
    assert rows["orders-prod", "HF001"]["outcome"] == "done"


def test_a_key_that_aws_refuses_to_change_is_no_success(aws: Aws, tmp_path: Path) -> None:
    """The table has a key before and after: only the right one counts."""
    client = aws.client("dynamodb")
    client.update_table(TableName="orders-prod", SSESpecification={"Enabled": True, "SSEType": "KMS"})
    before = state(aws, "orders-prod")["key"]
    changes = look(aws).keys
    denied = "User: x is not authorized to perform: kms:CreateGrant on resource: y"
    refuse = only({"UpdateTable"}, lambda asked: error(asked, "AccessDeniedException", message=denied))
    with proxy(aws.endpoint, refuse) as endpoint:
        there = Options(regions=("us-east-1",), endpoint_url=endpoint)
        wrong = apply(changes, there, tmp_path / "fix.json", env="prod", said=lambda _: None, patience=5)
    assert wrong == [f"orders-prod: {changes[0].says}: not allowed: kms:CreateGrant is missing"]
    assert state(aws, "orders-prod")["key"] == before
    assert make(aws, changes, tmp_path / "again.json") == []
    alias = aws.client("kms").describe_key(KeyId=f"alias/holdfast/{PLACED.id}")["KeyMetadata"]["Arn"]
    assert state(aws, "orders-prod")["key"] == alias != before


def test_a_table_that_is_gone_is_not_waited_for(aws: Aws, tmp_path: Path) -> None:
    changes = [c for c in look(aws).changes if c.rule == "HF001"]
    aws.client("dynamodb").delete_table(TableName="orders-prod")
    began = time.monotonic()
    (wrong,) = apply(changes, options(aws), tmp_path / "fix.json", env="prod", said=lambda _: None, patience=60)
    assert "it does not exist" in wrong
    assert time.monotonic() - began < 60


def test_l32_a_limit_is_told_as_one_and_not_taken_for_throttling(aws: Aws, tmp_path: Path) -> None:
    changes = [c for c in look(aws).changes if c.rule == "HF010"]
    asked: list[str] = []

    def limit(request: Asked) -> Reply:
        asked.append(request.operation)
        return error(request, "LimitExceededException", message="at most 50 tags")

    with proxy(aws.endpoint, only({"TagResource"}, limit)) as endpoint:
        there = Options(regions=("us-east-1",), endpoint_url=endpoint)
        wrong = apply(changes, there, tmp_path / "fix.json", env="prod", said=lambda _: None, patience=5)
    assert [line.rpartition(": TagResource")[2] for line in wrong] == [
        ": a limit of AWS is reached (LimitExceededException: at most 50 tags)"
    ] * 2
    assert asked == ["TagResource"] * 2


def test_expired_credentials_end_it_and_the_rest_stays_planned(aws: Aws, tmp_path: Path) -> None:
    changes = look(aws).changes
    expire = only({"DescribeTable"}, lambda asked: error(asked, "ExpiredTokenException"))
    lines: list[str] = []
    with proxy(aws.endpoint, expire) as endpoint:
        there = Options(regions=("us-east-1",), endpoint_url=endpoint)
        wrong = apply(changes, there, tmp_path / "fix.json", env="prod", said=lines.append, patience=60)
    assert wrong == [
        f"orders-prod: {changes[0].says}: the credentials have expired",
        f"{len(changes) - 1} of {len(changes)} calls were not tried: log in and run again",
    ]
    assert lines[0].startswith(f"changing account {aws.account} as arn:aws:")
    rows = json.loads((tmp_path / "fix.json").read_text())["changes"]
    assert [r["outcome"] for r in rows] == ["failed", *["planned"] * (len(changes) - 1)]


def test_no_call_that_fix_may_make_can_delete() -> None:
    assert {c.operation for c in FIX} == {
        "UpdateTable",
        "UpdateContinuousBackups",
        "UpdateTimeToLive",
        "TagResource",
        "GetCallerIdentity",
        "DescribeTable",
        "DescribeContinuousBackups",
        "DescribeTimeToLive",
        "ListTagsOfResource",
        "CreateGrant",
        "DescribeKey",
        "GenerateDataKey",
        "GetAccountAuthorizationDetails",
        "GetKeyPolicy",
        "GetResourcePolicy",
        "ListEventSourceMappings",
        "ListFunctions",
        "ListGrants",
    }
