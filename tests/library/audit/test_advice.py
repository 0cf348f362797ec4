"""Every command that a finding prints is run here, in the state that the finding describes, and does what it says."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from functools import cache
from typing import Any

import printed
import pytest
import yaml
from accounts import template
from emulator import Aws, fresh_account
from live_account import log_in
from mutants import MUTATIONS, mutants, tables
from printed import call, commands
from shop import ESTATE, LIVE, alone
from support import MOMENTS, Json

from holdfast.audit.advice import logical_id
from holdfast.audit.audit import Audit, audit
from holdfast.aws.calls import AUDIT
from holdfast.aws.options import Options
from holdfast.aws.reader import read
from holdfast.aws.session import Api, apis
from holdfast.cli import _parser
from holdfast.errors import InputError
from holdfast.kinds.kinds import KINDS
from holdfast.local.client import Client
from holdfast.report import FORMATS, render
from holdfast.rules import RULES
from holdfast.rules.base import Finding
from holdfast.rules.live import IMPORT
from holdfast.verdict import Outcome

PLACES = {p.id: p for p in ESTATE.placements()}
NOW = MOMENTS["night"]
SALES, JOURNAL = "Orders-production", "Journal-live"
ORDERS, CARTS, PRICES = "orders-production", "carts-production", "prices-production"
TOLD = re.compile("cdk (deploy|import)|[Tt]hen deploy|Deploy: |[Ii]mport it|the next deploy brings")
HINDERED = re.compile("and fail|CloudFormation|DynamoDB does not")
LEFT_OUT = re.compile(
    # DynamoDB takes no such table, or the emulator makes no such key and lets a resource change its type.
    "billing_removed|local_index_added|key_of_another_kind|turned_global|"
    # These are repaired like others that are here.
    "(deletion_protection|policy|recovery|rotation|encryption|tags)_removed|all_tags.*|update_replace.*|index_projection.*|"
    "key_policy.*|alarm_(latency|system|of|actions|to|renamed|datapoints|threshold|expression).*"
)
IGNORED = frozenset({"HF605", "HF608", "HF613"})  # what is to be archived, or was assumed


# An account, and what the audit says of it


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    found = fresh_account()
    log_in(monkeypatch, found)
    return found


def look(aws: Aws, id_: str) -> tuple[Audit, list[Any]]:
    placed = PLACES[id_]
    seen = read(_door(aws, placed.region), now=NOW, names={placed.fill(t.name) for t in placed.tables}, places=[placed])
    return audit(alone(placed.stack), [seen], [placed.env], now=NOW), [seen]


@cache
def _door(aws: Aws, region: str) -> Api:
    """An account is looked at several times, and a session is slow to make."""
    (found,) = apis(Options(regions=(region,), endpoint_url=aws.endpoint), AUDIT)
    return found


def failed(found: Audit) -> list[Finding]:
    return [f for f in found.findings if f.outcome is Outcome.FAIL and f.rule.id not in IGNORED]


def deploy(aws: Aws, id_: str, document: Json | None = None, *, name: str | None = None) -> None:
    placed = PLACES[id_]
    client = Client(emulator=aws.emulator, account=aws.account)
    aws.deploy(name or placed.name, client.with_code(document or template(id_), placed.region), placed.region)
    aws.client("cloudformation", placed.region).update_termination_protection(
        StackName=name or placed.name, EnableTerminationProtection=True
    )


# The commands


def run(aws: Aws, id_: str, command: str) -> None:
    def deployed(asked: str) -> None:
        assert asked == f"cdk deploy -c env={PLACES[id_].env.label} {id_}"
        deploy(aws, id_)

    printed.run(aws, command, estate="tests.library.shop:ESTATE", now=NOW, deploy=deployed)


def logical(table: str, id_: str = SALES) -> str:
    return next(i for i, name in tables(template(id_)).items() if name == table)


def tidy(document: Json) -> None:
    """DynamoDB refuses attributes that no key uses; a mutation does not care."""
    for resource in document["Resources"].values():
        if resource["Type"] == "AWS::DynamoDB::Table":
            p = resource["Properties"]
            keys = (p["KeySchema"], *(i["KeySchema"] for i in p.get("GlobalSecondaryIndexes", ())))
            used = {k["AttributeName"] for key in keys for k in key}
            p["AttributeDefinitions"] = [a for a in p["AttributeDefinitions"] if a["AttributeName"] in used]


# A template that lost something, and was deployed so


# What the orders do not have to lose, or cannot lose because a function reads them.
OF_OTHERS = {
    **dict.fromkeys(
        ("ttl_removed", "ttl_off", "ttl_renamed", "sort_key_added", "stream_added", "table_removed"), CARTS
    ),
    "encryption_of_other_data_changed": PRICES,
    "stream_removed": "journal-live",
}


@pytest.mark.parametrize("mutation", [name for name in MUTATIONS if not LEFT_OUT.fullmatch(name)])
def test_what_was_deployed_so_is_repaired_by_what_is_printed_or_cannot_be_deployed(aws: Aws, mutation: str) -> None:
    """Where a deploy is advised it works and nothing is left; where one is said to fail, it fails."""
    table = OF_OTHERS.get(mutation, ORDERS)
    id_ = JOURNAL if table.startswith("journal") else SALES
    mutant = dict(mutants(template(id_), logical(table, id_)))[mutation]
    tidy(mutant)
    deploy(aws, id_, mutant)
    before = failed(look(aws, id_)[0])
    told = dict.fromkeys(c for f in before for c in commands(f.fix))
    for command in told:
        run(aws, id_, command)
    if any(c.startswith("cdk deploy") for c in told):
        assert failed(look(aws, id_)[0]) == []
    elif any(HINDERED.search(f.fix) for f in before):
        with pytest.raises(InputError):
            deploy(aws, id_)


def recovery(**wanted: Any) -> Json:
    return {"PointInTimeRecoverySpecification": wanted}


# What was right in the template and is not live: changed since, or imported and never applied


DAMAGES: dict[str, tuple[str, str, str, Json]] = {
    "HF001": (ORDERS, "dynamodb", "update_table", {"DeletionProtectionEnabled": False}),
    "HF004": (ORDERS, "dynamodb", "update_continuous_backups", recovery(PointInTimeRecoveryEnabled=False)),
    "HF004 days": (
        ORDERS,
        "dynamodb",
        "update_continuous_backups",
        recovery(PointInTimeRecoveryEnabled=True, RecoveryPeriodInDays=7),
    ),
    "HF006": (
        CARTS,
        "dynamodb",
        "update_time_to_live",
        {"TimeToLiveSpecification": {"Enabled": False, "AttributeName": "expiresAt"}},
    ),
    "HF007": (ORDERS, "dynamodb", "update_table", {"SSESpecification": {"Enabled": False}}),
    "HF010": (ORDERS, "dynamodb", "untag_resource", {"TagKeys": ["shop:team", "shop:data"]}),
    "HF013": (ORDERS, "cloudformation", "update_termination_protection", {"EnableTerminationProtection": False}),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_off_on_a_live_table_is_turned_on_by_the_call_that_is_printed(aws: Aws, damage: str) -> None:
    table, service, operation, request = DAMAGES[damage]
    deploy(aws, SALES)
    api = aws.client(service, LIVE.region)
    target = {"TableName": table} if service == "dynamodb" else {"StackName": SALES}
    if operation == "untag_resource":
        target = {"ResourceArn": api.describe_table(TableName=table)["Table"]["TableArn"]}
    getattr(api, operation)(**target, **request)
    before = failed(look(aws, SALES)[0])
    assert {f.rule.id for f in before} == {damage.split()[0]}
    (command,) = {c for f in before for c in commands(f.fix)}
    run(aws, SALES, command)
    assert failed(look(aws, SALES)[0]) == []
    if service == "dynamodb" and operation == "update_continuous_backups":
        found = api.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]
        assert found["PointInTimeRecoveryDescription"]["RecoveryPeriodInDays"] == ESTATE.policy.recovery_days


PROTECT = {of: call for kind in KINDS for of, call in kind.protect.items()}


@pytest.mark.parametrize("kind", PROTECT)
def test_a_database_that_can_be_deleted_is_protected_by_the_call_that_is_printed(aws: Aws, kind: str) -> None:
    service, what = PROTECT[kind].split()[0], "instance" if "instance" in PROTECT[kind] else "cluster"
    api = aws.client(service)
    size = {"DBInstanceClass": "db.t4g.micro", "AllocatedStorage": 20} if what == "instance" else {}
    name = {f"DB{what.title()}Identifier": "orders"}
    engine = "docdb" if service == "docdb" else "postgres" if what == "instance" else "aurora-postgresql"
    getattr(api, f"create_db_{what}")(**name, Engine=engine, MasterUsername="a", MasterUserPassword="b" * 9, **size)
    call(aws, shlex.split(f"{PROTECT[kind]} orders --deletion-protection --region us-east-1"))
    (found,) = getattr(api, f"describe_db_{what}s")(**name)[f"DB{what.title()}s"]
    assert found["DeletionProtection"] is True


# A TTL by another attribute: CloudFormation cannot change it, whatever else the stack needs


def expire(aws: Aws, attribute: str, *, on: bool) -> None:
    wanted = {"Enabled": on, "AttributeName": attribute}
    aws.client("dynamodb", LIVE.region).update_time_to_live(TableName=CARTS, TimeToLiveSpecification=wanted)


@pytest.mark.parametrize("mutation", ["ttl_renamed", "ttl_removed", "ttl_off"])
def test_no_deploy_is_advised_before_a_ttl_by_another_attribute_is_off(aws: Aws, mutation: str) -> None:
    mutant = dict(mutants(template(SALES), logical(CARTS)))[mutation]
    for other in tables(mutant).keys() - {logical(CARTS)}:
        mutant["Resources"][other]["Properties"]["DeletionProtectionEnabled"] = False
    deploy(aws, SALES, mutant)
    if mutation != "ttl_renamed":
        expire(aws, "expires", on=True)
    before = failed(look(aws, SALES)[0])
    assert {f.rule.id for f in before if f.table == CARTS} == {"HF006"}
    assert {f.rule.id for f in before if f.table != CARTS} == {"HF001"}
    assert all("DynamoDB does not change the attribute of a TTL that is on" in f.fix for f in before)
    assert not any("cdk deploy" in f.fix for f in before)
    with pytest.raises(InputError, match="active on a different AttributeName"):
        deploy(aws, SALES)
    expire(aws, "expires", on=False)
    deploy(aws, SALES)
    assert failed(look(aws, SALES)[0]) == []


# What a deploy does to the other tables of its stack


def weakened(wanted: dict[str, str]) -> Json:
    """The template of the sales after one mutation of each table that is named."""
    document = template(SALES)
    for table, mutation in wanted.items():
        document = dict(mutants(document, logical(table)))[mutation]
    return document


def test_every_deploy_that_moves_a_table_to_a_new_key_says_what_its_users_need_first(aws: Aws) -> None:
    deploy(aws, SALES, weakened({ORDERS: "key_to_aws_managed", PRICES: "deletion_protection_off"}))
    dynamodb = aws.client("dynamodb", LIVE.region)
    # As intended by hand, so that the template alone is behind.
    dynamodb.update_table(TableName=PRICES, DeletionProtectionEnabled=True)
    behind = failed(look(aws, SALES)[0])
    dynamodb.update_table(TableName=PRICES, DeletionProtectionEnabled=False)
    off = failed(look(aws, SALES)[0])
    assert {f.rule.id for f in (*behind, *off)} == {"HF001", "HF007", "HF615"}
    for found in (*behind, *off):
        assert "cdk deploy" in found.fix
        assert "what uses orders-production needs kms:Decrypt" in found.fix


@pytest.mark.parametrize("changed", [True, False])
def test_a_deploy_is_advised_beside_a_missing_table_only_if_it_leaves_that_alone(aws: Aws, changed: bool) -> None:
    deploy(aws, SALES, weakened({PRICES: "deletion_protection_off"} | ({CARTS: "ttl_removed"} if changed else {})))
    aws.client("dynamodb", LIVE.region).delete_table(TableName=CARTS)
    (beside,) = [f for f in failed(look(aws, SALES)[0]) if f.table != CARTS]
    assert ("cdk deploy" in beside.fix) is not changed
    if changed:
        assert f"would try to change {CARTS}, which is not there, and fail" in beside.fix
        with pytest.raises(InputError, match=f"Table: {CARTS} not found"):
            deploy(aws, SALES)
    else:
        deploy(aws, SALES)
        assert {f.rule.id for f in failed(look(aws, SALES)[0])} == {"HF601"}


# What exists where a deploy would try to create it


def bare(id_: str, *, prefix: str = "") -> Json:
    """A stack as it was before anybody protected it, its tables under other logical ids where a prefix is given."""
    text = json.dumps(template(id_))
    for table in tables(template(id_)):
        text = text.replace(table, prefix + table)
    document: Json = json.loads(text)
    for table in tables(document):
        p = document["Resources"][table]["Properties"]
        for guard in (
            "DeletionProtectionEnabled",
            "PointInTimeRecoverySpecification",
            "TimeToLiveSpecification",
            "Tags",
        ):
            p.pop(guard, None)
    return document


def renamed(aws: Aws, id_: str) -> None:
    deploy(aws, id_, bare(id_, prefix="Old"))


def elsewhere(aws: Aws, id_: str) -> None:
    deploy(aws, id_, bare(id_), name="SomebodyElses")


def nowhere(aws: Aws, id_: str) -> None:
    document, region = bare(id_), PLACES[id_].region
    for table in tables(document):
        document["Resources"][table]["DeletionPolicy"] = "Retain"
    client = Client(emulator=aws.emulator, account=aws.account)
    client.deploy("Gone", client.with_code(document, region), region)
    client.delete("Gone", region)


@pytest.mark.parametrize("place", [renamed, elsewhere, nowhere])
@pytest.mark.parametrize("id_", [SALES, JOURNAL])
def test_no_deploy_is_advised_where_the_table_exists_and_would_be_created(
    aws: Aws, id_: str, place: Callable[[Aws, str], None]
) -> None:
    place(aws, id_)
    found = look(aws, id_)[0]
    before = failed(found)
    assert {"HF001", "HF004", "HF010"} <= {f.rule.id for f in before}
    for form in FORMATS:
        text = render(form, before, command="audit", env="live", everything=False, colour=False, audit=found)
        assert not TOLD.search(text), form
    assert all(IMPORT in f.fix for f in before if f.table and f.gap)
    for command in dict.fromkeys(c for f in before for c in commands(f.fix)):
        run(aws, id_, command)
    left = {f.rule.id for f in failed(look(aws, id_)[0])}
    untagged = {"HF010"} if place is nowhere else set()  # tags say that a stack manages it
    assert left & {"HF001", "HF004", "HF006", "HF010", "HF013"} == untagged
    with pytest.raises(InputError, match="already exists"):
        deploy(aws, id_)


def test_a_template_in_yaml_is_named_as_such_and_nothing_is_advised_from_it(aws: Aws) -> None:
    """What `cdk import` leaves behind."""
    placed = PLACES[JOURNAL]
    formation = aws.client("cloudformation", placed.region)
    formation.create_stack(StackName=placed.name, TemplateBody=yaml.safe_dump(template(JOURNAL)))
    formation.get_waiter("stack_create_complete").wait(StackName=placed.name, WaiterConfig={"Delay": 1})
    found = look(aws, JOURNAL)[0]
    unread = [f.detail for f in found.findings if f.outcome is Outcome.UNKNOWN]
    assert unread
    assert all("its template is YAML, and only JSON is read" in detail for detail in unread)
    assert not any(TOLD.search(f.fix) for f in found.findings)


# The words


def test_the_logical_id_of_every_table_is_known_without_cdk() -> None:
    made = {(id_, name): id_there for id_ in PLACES for id_there, name in tables(template(id_)).items()}
    assert made == {(p.id, p.fill(t.name)): logical_id(t) for p in PLACES.values() for t in p.tables}


def test_the_words_of_a_rule_hold_no_command_that_was_not_run() -> None:
    """What a rule says in general, before an audit knows more: its calls are those that were run above."""
    told = {rule.id: commands(rule.remediation) for rule in RULES if commands(rule.remediation)}
    calls = {rule for rule, found in told.items() if any(c.startswith("aws ") for c in found)}
    assert calls <= DAMAGES.keys()
    assert not [rule for rule, found in told.items() if any(c.startswith("cdk ") for c in found)]
    for found in told.values():
        for command in found:
            assert "<" not in command
            if command.startswith("holdfast "):
                _parser().parse_args(shlex.split(command)[1:])
