"""What a declaration can say of tables, keys, owners and names that exist elsewhere, and what is read back of it."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from declare import PROD, TEST, estate, stack, table
from support import CONTEXT, Json

from holdfast import (
    Assumed,
    Bucket,
    Cache,
    Data,
    DeclarationError,
    Encryption,
    Environment,
    ExternalKey,
    Extra,
    Fact,
    KeyFamily,
    Naming,
    Owner,
    Pattern,
    Place,
    Policy,
    Prefix,
    Projection,
    Provisioned,
    SharedKey,
    StackKey,
    Stream,
    Table,
    Tier,
    View,
    gsi,
    key,
    lsi,
    number,
)
from holdfast.audit.advice import logical_id, way
from holdfast.audit.audit import audit
from holdfast.cfn.template import Source, StackSeen
from holdfast.contract import make
from holdfast.contract.diff import Kind, diff
from holdfast.estate.placement import Placed
from holdfast.estate.provenance import assumptions
from holdfast.fix.plan import plan
from holdfast.inventory.entries import entry
from holdfast.inventory.pages import tables as page
from holdfast.kinds.table import live
from holdfast.kinds.table.declaration import Index, LocalIndex
from holdfast.kinds.table.observed import Observed
from holdfast.kinds.table.template import observe
from holdfast.rules import BY_ID, verdicts
from holdfast.rules.assumed import confirm
from holdfast.rules.base import Finding
from holdfast.rules.engine import verdict
from holdfast.rules.live import twins
from holdfast.rules.schema import lint
from holdfast.rules.subjects import AssumedFact, TableSubject, Twins
from holdfast.shared.access_policy import filled
from holdfast.shared.account import Account, StackLive, StoreSeen
from holdfast.shared.key.observed import NamedKey
from holdfast.shared.key.policy import key_policy
from holdfast.shared.live import StackResources
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome

TODAY, NOW = date(2026, 4, 23), datetime(2026, 4, 23, 12, tzinfo=UTC)
ONE = "111122223333"
HERE = Environment("live", Tier.PROD, "us-west-2", account=ONE)
ARN = "arn:aws:kms:{region}:{account}:key/0000-{env}"
KEY = f"arn:aws:kms:us-west-2:{ONE}:key/0000-live"
READERS = {
    "PolicyDocument": {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "Reports",
                "Effect": "Allow",
                "Principal": {"AWS": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:role/reports"}},
                "Action": ["dynamodb:Query"],
                "Resource": "*",
            }
        ],
    }
}
ORDERS = table(
    data=Data.PERSONAL,
    key=key("id", number("at")),
    indexes=(
        gsi("owner", include=("total", "status"), billing=Provisioned(read=7, write=3)),
        gsi("city", projection=Projection.KEYS_ONLY),
    ),
    local_indexes=(lsi("paidAt", include=("total",)), lsi("sentAt")),
    billing=Provisioned(read=5, write=4),
    stream=Stream(view=View.KEYS_ONLY, consumer="reports"),
    tags={"Backup": "nightly"},
    logical_id="OrdersTable",
    extra=Extra(
        {"TableClass": "STANDARD_INFREQUENT_ACCESS", "ResourcePolicy": READERS}, reason="reports read it once a year"
    ),
)
FILES = Bucket(
    name="shop-files-{env}",
    purpose="Bills.",
    data=Data.PERSONAL,
    prefixes=(Prefix(path="bills/", purpose="One file per bill.", expire=timedelta(days=3650)),),
)
SESSIONS = Cache(
    name="shop-sessions-{env}",
    purpose="Who is logged in.",
    data=Data.PERSONAL,
    families=(KeyFamily(pattern="session:{id}", purpose="A session.", ttl=timedelta(hours=1)),),
)
TELL = ("https://events.example.com/shop", "mailto:shop@example.com", "arn:aws:sqs:{region}:{account}:alarms")
SHOP = estate(
    stack(ORDERS, key=ExternalKey(arn=ARN)),
    stack(id="Files-{env}", stores=(FILES, SESSIONS), key=ExternalKey(arn=ARN)),
    stack(table(name="carts-{env}", data=Data.PERSONAL), id="Carts-{env}"),
    stack(
        table(name="mails-{env}", data=Data.PERSONAL),
        id="Mail-{env}",
        applications="mail-applications-{env}",
        stores=(replace(FILES, name="shop-mail-{env}"), replace(SESSIONS, name="shop-drafts-{env}")),
        key=SharedKey(stack="Carts-{env}"),
    ),
    environments=(HERE,),
    owners=(Owner(name="shop-team", tell=TELL),),
)


# Slips

SLIPS: list[tuple[Callable[[], object], str]] = [
    (lambda: gsi("a", include="total"), "Index a-index: include is 'total', and has to be a tuple of text"),  # type: ignore[arg-type]
    (lambda: table(indexes=(gsi("a", projection=Projection.INCLUDE),)), "INCLUDE and include=(…) go together"),
    (
        lambda: table(indexes=(gsi("a", projection=Projection.ALL, include=("b",)),)),
        "index a-index: Projection.INCLUDE and include=(…) go together, and with nothing else",
    ),
    (lambda: table(indexes=(gsi("a", include=("b", "b")),)), "include= names up to 20 attributes, each once"),
    (lambda: table(indexes=(gsi("a", include=("",)),)), "a name in include= has 1 to 255 bytes"),
    (
        lambda: table(indexes=tuple(gsi(f"a{i}", include=tuple(f"b{n}" for n in range(20))) for i in range(6))),
        "its indexes include 120 attributes, and DynamoDB allows 100 in all",
    ),
    (lambda: table(local_indexes=(lsi("at"),)), "a table with local indexes needs a sort key; use gsi(…)"),
    (
        lambda: table(key=key("id", "at"), local_indexes=tuple(lsi(f"a{n}") for n in range(6))),
        "6 local indexes, and DynamoDB allows 5; use indexes=",
    ),
    (
        lambda: table(key=key("id", "at"), indexes=(gsi("x"),), local_indexes=(lsi("x"),)),
        "two indexes are called x-index; give one another name=",
    ),
    (
        lambda: table(key=key("id", "at"), local_indexes=(lsi(number("at"), name="by-at"),)),
        "at is declared as S and as N",
    ),
    (lambda: table(key=key("id", "at"), local_indexes=(lsi("id", name="by-id"),)), "uses id as partition and as sort"),
    (lambda: Provisioned(read=0, write=1), "Provisioned(read=0, write=1): both are at least 1"),
    (
        lambda: table(indexes=(gsi("a", billing=Provisioned(read=1, write=1)),)),
        "index a-index has billing=, but the table is billed on demand",
    ),
    (lambda: table(logical_id="Orders-Table"), "logical_id='Orders-Table': CloudFormation takes letters and digits"),
    (
        lambda: stack(table(logical_id="T"), table(name="other", logical_id="T")),
        "stack Shop-{env}: two tables have logical_id='T'; rename one",
    ),
    (
        lambda: Extra({"BillingMode": "PROVISIONED"}, reason="cheap"),
        "extra= names BillingMode, which Holdfast sets itself: use billing=",
    ),
    (lambda: estate(stack(table(tags={"Owner": "me"}))), "table orders-{env}: the policy gives the tag Owner; drop it"),
    (lambda: Extra({}, reason="none"), "needs properties and a reason"),
    (lambda: Extra({"TableClass": "STANDARD"}, reason=""), "needs properties and a reason"),
    (lambda: ExternalKey(arn="alias/shop"), "'alias/shop' is not the ARN of a key"),
    (lambda: ExternalKey(arn="arn:aws:kms:{region}:{account}:alias/shop"), "an alias can be moved to another key"),
    (lambda: ExternalKey(arn="arn:aws:kms:{where}:{account}:key/1"), "unknown placeholder 'where'"),
    (lambda: estate(stack(key=ExternalKey(arn=ARN))), "a name holds {account}; give environment prod its account="),
    (
        lambda: estate(stack(key=ExternalKey(arn=f"arn:aws:kms:us-west-2:{ONE}:key/1"))),
        f"the key arn:aws:kms:us-west-2:{ONE}:key/1 is not of us-east-1",
    ),
    (
        lambda: estate(stack(key=SharedKey(stack="Keys"))),
        "stack Shop-{env}: Keys, whose key it shares, makes none in us-east-1 (prod); declare it there",
    ),
    (
        lambda: estate(stack(key=SharedKey(stack="Keys")), stack(id="Keys", environments=(TEST,))),
        "stack Shop-{env}: Keys, whose key it shares, makes none in us-east-1 (prod)",
    ),
    (
        lambda: estate(
            stack(key=SharedKey(stack="B")),
            stack(id="B", key=SharedKey(stack="C")),
            stack(id="C"),
            environments=(PROD,),
        ),
        "stack Shop-{env}: B, whose key it shares, makes none in us-east-1 (prod)",
    ),
    (
        lambda: estate(stack(key=SharedKey(stack="Keys")), stack(id="Keys"), stack(id="Keys")),
        "stack Keys-prod is declared twice for prod",
    ),
    (lambda: Owner(name="t", tell=("shop@example.com",)), "'shop@example.com' is not an address that can be told"),
    (lambda: Owner(name="t", tell=("arn:aws:chatbot::1:chat-configuration/x",)), "is not an address that can be told"),
    (lambda: Owner(name="t", tell=("https://x.example", "https://x.example")), "owner t: tell= names an address twice"),
    (lambda: Owner(name="t", tell=("https://x.example/{stage}",)), "owner t: https://x.example/{stage}: unknown"),
    (
        lambda: estate(stack(), owners=(Owner(name="others"),)),
        "stack Shop-{env}: its owner shop-team is not among owners=(others)",
    ),
    (lambda: estate(owners=(Owner(name="t"), Owner(name="t"))), "two owners are called t; merge them"),
    (lambda: Naming(begins="", reason="x"), "Naming(begins='') needs a text and a reason"),
    (
        lambda: estate(policy=Policy(naming=(Naming(begins="a-", reason="b", stacks=("Gone",)),))),
        "naming of 'a-' speaks of stack Gone, which is not declared",
    ),
]


@pytest.mark.parametrize(("make_", "says"), SLIPS)
def test_slips_are_refused_in_one_line(make_: Callable[[], object], says: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        make_()
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


# Facts


def test_an_index_includes_what_it_names_in_any_order() -> None:
    assert gsi("a", include=("c", "b")) == gsi("a", include=("b", "c")) != gsi("a", include=("b",))
    assert gsi("a", include=("b",)).projection is Projection.INCLUDE


def test_a_local_index_has_the_partition_key_of_its_table() -> None:
    assert lsi(number("at")) == LocalIndex("at-index", number("at"))
    assert ORDERS.every_index[2:] == (
        Index("paidAt-index", key("id", "paidAt"), Projection.INCLUDE, ("total",)),
        Index("sentAt-index", key("id", "sentAt")),
    )
    assert [a.name for a in ORDERS.attributes] == ["id", "at", "owner", "city", "paidAt", "sentAt"]


def test_an_access_pattern_may_use_a_local_index() -> None:
    paid = Pattern(id="P1", purpose="", table=ORDERS.name, partition="{id}", sort="{day}", index="paidAt-index")
    assert stack(ORDERS, patterns=(paid,)).patterns == (paid,)
    _, request = paid.request(ORDERS, {"id": "7", "day": "2026"})
    assert request["ExpressionAttributeNames"] == {"#p": "id", "#s": "paidAt"}


def test_an_access_pattern_asks_a_key_of_numbers_for_a_number() -> None:
    """A template renders text, which the engine refuses where the key holds numbers."""
    placed = Pattern(id="P1", purpose="", table=ORDERS.name, partition="{id}", sort="{at}")
    assert placed.request(ORDERS, {"id": "7", "at": "8"}) == ("get_item", {"Key": {"id": "7", "at": Decimal(8)}})


def test_an_index_has_the_capacity_of_its_table_unless_it_says_another() -> None:
    owner, city = ORDERS.indexes
    assert (ORDERS.capacity(), ORDERS.capacity(city)) == (Provisioned(read=5, write=4),) * 2
    assert ORDERS.capacity(owner) == Provisioned(read=7, write=3)
    assert table(indexes=(city,)).capacity(city) is None


def test_a_key_is_the_stack_s_own_unless_the_policy_or_the_stack_names_another() -> None:
    everywhere = Policy(key=ExternalKey(arn=ARN))
    wide = replace(HERE, also=(Place("us-east-1", ONE),))
    found = estate(stack(), stack(id="Own", key=StackKey()), environments=(wide,), policy=everywhere).placements()
    assert [p.external_key for p in found] == [KEY, KEY.replace("us-west-2", "us-east-1"), None, None]
    assert Placed(stack(), PROD).external_key is None


# One synth with all of it


@pytest.fixture(scope="module")
def outdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from holdfast.cdk import app

    folder = tmp_path_factory.mktemp("declared")
    with contextlib.chdir(folder):  # where there are no contracts
        app(SHOP, CONTEXT | {"env": "all"}, str(folder)).synth()
    return folder


@pytest.fixture(scope="module")
def made(outdir: Path) -> dict[str, Json]:
    return {p.id: json.loads((outdir / f"{p.id}.template.json").read_text()) for p in SHOP.placements()}


def seen(made: dict[str, Json]) -> list[StackSeen]:
    return [
        StackSeen(id=i, where=i, template=t, name=i, region="us-west-2", account=ONE, protected=True)
        for i, t in made.items()
    ]


def failed(made: dict[str, Json]) -> dict[str, str]:
    """What every rule says of it, the audit's with them."""
    found = [f for f in verdicts(SHOP.placements(), seen(made)) if f.outcome in (Outcome.FAIL, Outcome.UNKNOWN)]
    return {f.rule.id: f.detail for f in found}


def of_type(template: Json, kind: str) -> list[Json]:
    return [r["Properties"] for r in template["Resources"].values() if r["Type"] == kind]


def test_what_is_declared_is_synthesized_and_no_check_finds_anything(outdir: Path, made: dict[str, Json]) -> None:
    report = json.loads((outdir / "validation-report.json").read_text())["pluginReports"]
    assert [v for p in report for v in p["violations"]] == []
    assert failed(made) == {}
    orders = made["Shop-live"]["Resources"]["OrdersTable"]["Properties"]
    owner, city = orders["GlobalSecondaryIndexes"]
    assert owner["Projection"] == {"NonKeyAttributes": ["status", "total"], "ProjectionType": "INCLUDE"}
    assert owner["ProvisionedThroughput"] == {"ReadCapacityUnits": 7, "WriteCapacityUnits": 3}
    assert city["ProvisionedThroughput"] == orders["ProvisionedThroughput"] == {
        "ReadCapacityUnits": 5,
        "WriteCapacityUnits": 4,
    }  # fmt: skip
    assert [i["IndexName"] for i in orders["LocalSecondaryIndexes"]] == ["paidAt-index", "sentAt-index"]
    assert orders["StreamSpecification"] == {"StreamViewType": "KEYS_ONLY"}
    assert orders["SSESpecification"]["KMSMasterKeyId"] == KEY
    assert orders["ResourcePolicy"] == READERS
    assert {"Key": "Backup", "Value": "nightly"} in orders["Tags"]
    assert orders["TableClass"] == "STANDARD_INFREQUENT_ACCESS"


def test_what_was_synthesized_is_read_back_as_declared(made: dict[str, Json]) -> None:
    (found,) = observe(seen(made)[0])
    assert found.where == f"Shop-live#{logical_id(ORDERS)}" == "Shop-live#OrdersTable"
    assert found.indexes == {i.name: i for i in ORDERS.indexes}
    assert found.local_indexes == {i.name: i for i in ORDERS.every_index[2:]}
    assert (found.billing, found.capacity) == ("PROVISIONED", Provisioned(read=5, write=4))
    assert found.encryption == NamedKey(KEY)
    assert found.extras == (ORDERS.extra.properties if ORDERS.extra else {})


def test_an_external_key_is_used_everywhere_and_none_is_made(made: dict[str, Json]) -> None:
    assert of_type(made["Shop-live"], "AWS::KMS::Key") == of_type(made["Files-live"], "AWS::KMS::Key") == []
    assert [t["KmsMasterKeyId"] for t in of_type(made["Shop-live"], "AWS::SNS::Topic")] == [KEY]
    assert KEY in json.dumps(of_type(made["Files-live"], "AWS::S3::Bucket"))
    assert len(of_type(made["Carts-live"], "AWS::KMS::Key")) == 1


def test_a_shared_key_is_imported_and_lets_in_the_services_of_all_who_share_it(made: dict[str, Json]) -> None:
    mail = made["Mail-live"]
    imported = {"Fn::ImportValue": "holdfast-Carts-live-key"}
    assert of_type(mail, "AWS::KMS::Key") == []
    (mails,) = of_type(mail, "AWS::DynamoDB::Table")
    assert mails["SSESpecification"]["KMSMasterKeyId"] == imported
    assert [t["KmsMasterKeyId"] for t in of_type(mail, "AWS::SNS::Topic")] == [imported]
    output = made["Carts-live"]["Outputs"]["SharedKey"]
    assert output == {"Value": {"Fn::GetAtt": ["Key", "Arn"]}, "Export": {"Name": "holdfast-Carts-live-key"}}
    (policy,) = (k["KeyPolicy"] for k in of_type(made["Carts-live"], "AWS::KMS::Key"))
    assert "s3.us-west-2.amazonaws.com" in json.dumps(policy)
    assert ":log-group:/holdfast/Mail-live/*" in json.dumps(policy)


def test_whoever_shares_a_key_is_deployed_after_whoever_makes_it(outdir: Path) -> None:
    artifacts = json.loads((outdir / "manifest.json").read_text())["artifacts"]
    assert "Carts-live" in artifacts["Mail-live"]["dependencies"]


def test_a_shared_key_is_the_one_that_the_other_template_exports(made: dict[str, Json]) -> None:
    spoiled = deepcopy(made)
    spoiled["Carts-live"]["Outputs"]["SharedKey"]["Value"] = {"Fn::GetAtt": ["Other", "Arn"]}
    spoiled["Carts-live"]["Resources"]["Other"] = deepcopy(made["Carts-live"]["Resources"]["Key"])
    assert failed(spoiled).keys() >= {"HF007", "HF301"}
    spoiled = json.loads(json.dumps(made).replace('"Fn::ImportValue": "holdfast-Carts', '"Fn::ImportValue": "x'))
    assert "HF007" in failed(spoiled)  # decided at deploy time, so unknown
    (mails,) = of_type(spoiled["Mail-live"], "AWS::DynamoDB::Table")
    mails["SSESpecification"]["KMSMasterKeyId"] = OTHER
    assert f"the key {OTHER}, declared is Carts-live#Key" in failed(spoiled)["HF007"]


def test_a_policy_may_name_one_stack_whose_key_all_share() -> None:
    keys = stack(id="Keys-{env}")
    shared = estate(stack(table()), keys, policy=Policy(key=SharedKey(stack="Keys-{env}"))).placements()
    assert [(p.id, p.foreign_key, [u.id for u in p.key_users]) for p in shared] == [
        ("Shop-prod", "Keys-prod#Key", []),
        ("Keys-prod", None, ["Shop-prod"]),
        ("Shop-test", "Keys-test#Key", []),
        ("Keys-test", None, ["Shop-test"]),
    ]


def test_rules_about_the_settings_of_an_external_key_say_where_they_are_shown(made: dict[str, Json]) -> None:
    found = {f.rule.id: f for f in verdicts(SHOP.placements(), seen(made)) if f.table == "orders-live"}
    assert (found["HF008"].outcome, found["HF008"].detail) == (
        Outcome.EXEMPT,
        "the key is external: the account shows it",
    )
    assert found["HF007"].outcome is Outcome.PASS


def test_owners_are_subscribed_to_the_alarms_of_their_stacks(made: dict[str, Json]) -> None:
    for id_ in ("Shop-live", "Carts-live"):
        told = [(s["Protocol"], s["Endpoint"], s["TopicArn"]) for s in of_type(made[id_], "AWS::SNS::Subscription")]
        assert sorted(told) == [
            ("email", "shop@example.com", {"Ref": "Alarms"}),
            ("https", "https://events.example.com/shop", {"Ref": "Alarms"}),
            ("sqs", f"arn:aws:sqs:us-west-2:{ONE}:alarms", {"Ref": "Alarms"}),
        ]


def stranger(p: Json) -> None:
    p["ResourcePolicy"]["PolicyDocument"]["Statement"][0]["Principal"] = {"AWS": "arn:aws:iam::999999999999:root"}


OTHER = "arn:aws:kms:us-west-2:999999999999:key/1"
MUTANTS: dict[str, tuple[Callable[[Json], object], set[str], str]] = {
    "another key": (
        lambda p: p["SSESpecification"].update(KMSMasterKeyId=OTHER),
        {"HF007"},
        f"personal data is encrypted with the key {OTHER}, declared is {KEY}",
    ),
    "aws's own key": (lambda p: p.pop("SSESpecification"), {"HF007"}, "aws-owned key"),
    "another attribute": (
        lambda p: p["GlobalSecondaryIndexes"][0]["Projection"].update(NonKeyAttributes=["total"]),
        {"HF103"},
        "owner-index projects INCLUDE total, declared is INCLUDE status, total",
    ),
    "no attributes": (
        lambda p: p["GlobalSecondaryIndexes"][0].update(Projection={"ProjectionType": "KEYS_ONLY"}),
        {"HF103"},
        "owner-index projects KEYS_ONLY, declared is INCLUDE status, total",
    ),
    "an attribute that a deploy decides": (
        lambda p: p["GlobalSecondaryIndexes"][0]["Projection"].update(NonKeyAttributes=[{"Ref": "X"}]),
        {"HF103"},
        "owner-index: cannot be read",
    ),
    "no local index": (
        lambda p: p["LocalSecondaryIndexes"].pop(),
        {"HF103"},
        "local index sentAt-index is missing (a local index is made with its table and lasts as long",
    ),
    "another local index": (
        lambda p: p["LocalSecondaryIndexes"].append({**p["LocalSecondaryIndexes"][1], "IndexName": "more"}),
        {"HF103"},
        "more is undeclared",
    ),
    "a local index that projects less": (
        lambda p: p["LocalSecondaryIndexes"][1].update(Projection={"ProjectionType": "KEYS_ONLY"}),
        {"HF103"},
        "sentAt-index projects KEYS_ONLY, declared is ALL",
    ),
    "on demand": (
        lambda p: p.update(BillingMode="PAY_PER_REQUEST"),
        {"HF103"},
        "billing is PAY_PER_REQUEST, declared is 5 read and 4 write units",
    ),
    "less capacity": (
        lambda p: p["ProvisionedThroughput"].update(WriteCapacityUnits=1),
        {"HF103"},
        "the capacity is 5 read and 1 write units, declared is 5 read and 4 write units",
    ),
    "less capacity of an index": (
        lambda p: p["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"].update(ReadCapacityUnits=1),
        {"HF103"},
        "the capacity of owner-index is 1 read and 3 write units",
    ),
    "capacity that a deploy decides": (
        lambda p: p["ProvisionedThroughput"].update(WriteCapacityUnits={"Ref": "X"}),
        {"HF103"},
        "the capacity cannot be read",
    ),
    "another view": (
        lambda p: p["StreamSpecification"].update(StreamViewType="OLD_IMAGE"),
        {"HF103"},
        "the stream is OLD_IMAGE, declared is KEYS_ONLY",
    ),
    "a stranger in the extra policy": (stranger, {"HF009", "HF109"}, "admits arn:aws:iam::999999999999:root"),
    "another table class": (lambda p: p.update(TableClass="STANDARD"), {"HF109"}, "TableClass is not as declared"),
    "no table class": (lambda p: p.pop("TableClass"), {"HF109"}, "TableClass is missing, and declared in extra="),
    "another tag of its own": (
        lambda p: next(t for t in p["Tags"] if t["Key"] == "Backup").update(Value="never"),
        {"HF010"},
        "Backup is 'never' instead of 'nightly'",
    ),
    "a tag of its own that is gone": (
        lambda p: p["Tags"].remove({"Key": "Backup", "Value": "nightly"}),
        {"HF010"},
        "tags are missing: Backup",
    ),
    "an undeclared setting": (
        lambda p: p.update(WarmThroughput={"ReadUnitsPerSecond": 1}),
        {"HF109"},
        "undeclared: WarmThroughput",
    ),
    "another name under its logical id": (lambda p: p.update(TableName="x"), {"HF102", "HF205", "HF209"}, "called x"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_whatever_differs_from_the_declaration_is_found(made: dict[str, Json], name: str) -> None:
    spoil, rules, says = MUTANTS[name]
    spoiled = deepcopy(made)
    spoil(spoiled["Shop-live"]["Resources"]["OrdersTable"]["Properties"])
    found = failed(spoiled)
    assert found.keys() == rules
    assert says in " ".join(found.values())


def test_an_extra_setting_is_judged_like_any_other() -> None:
    copied = Extra({"KinesisStreamSpecification": {"StreamArn": "arn"}}, reason="analytics")
    placed = Placed(stack(table(extra=copied)), PROD)
    template = {
        "Resources": {
            "T": {
                "Type": "AWS::DynamoDB::Table",
                "Properties": {"TableName": "orders-prod", **copied.properties},
            }
        }
    }
    (found,) = observe(StackSeen(id="S", where="S", template=template))
    subject = TableSubject(placed, placed.tables[0], placed.required(placed.tables[0]), found)
    assert verdict(BY_ID["HF109"], subject).outcome is Outcome.PASS
    assert verdict(BY_ID["HF516"], subject).outcome is Outcome.FAIL


@pytest.mark.parametrize("kind", ["AWS::SNS::Topic", "AWS::Logs::LogGroup", "AWS::S3::Bucket"])
def test_what_stands_beside_the_tables_has_the_declared_key_and_no_other(made: dict[str, Json], kind: str) -> None:
    spoiled = json.loads(json.dumps(made).replace(KEY, OTHER))
    for id_, template in spoiled.items():
        spoiled[id_]["Resources"] = {
            i: r if r["Type"] == kind else made[id_]["Resources"][i] for i, r in template["Resources"].items()
        }
    assert failed(spoiled).keys() == {"HF007" if kind == "AWS::S3::Bucket" else "HF301"}


def test_a_subscription_that_is_gone_or_filtered_or_of_another_topic_is_found(made: dict[str, Json]) -> None:
    (name, *_) = [i for i, r in made["Shop-live"]["Resources"].items() if r["Type"] == "AWS::SNS::Subscription"]
    spoiled = deepcopy(made)
    body = spoiled["Shop-live"]["Resources"][name]["Properties"]
    body["FilterPolicy"] = {"x": ["y"]}
    assert failed(spoiled).keys() == {"HF205"}
    body.pop("FilterPolicy")
    body["TopicArn"] = "arn:aws:sns:us-west-2:111122223333:other"
    assert failed(spoiled).keys() == {"HF205"}
    del spoiled["Shop-live"]["Resources"][name]
    assert failed(spoiled) == {"HF205": "no subscription tells https://events.example.com/shop"}


def test_a_subscription_is_made_by_owners_only(made: dict[str, Json]) -> None:
    nobody = replace(SHOP, owners=()).placements()
    found = {f.rule.id for f in verdicts(nobody, seen(made)) if f.outcome is Outcome.FAIL}
    assert found == {"HF505"}


def test_the_contract_shows_it_and_a_difference_says_what_is_lost(outdir: Path) -> None:
    base = make.contracts(outdir)
    assert base["Shop-live"]["template"]["Resources"]["OrdersTable"]["Properties"]["TableClass"]
    head = json.loads(json.dumps(base))
    resources = head["Shop-live"]["template"]["Resources"]
    (gone, *_) = [i for i, r in resources.items() if r["Type"] == "AWS::SNS::Subscription"]
    del resources[gone]
    (change,) = diff(base, head)
    assert change.kind is Kind.WEAKENED
    head = json.loads(json.dumps(base))
    local = head["Shop-live"]["template"]["Resources"]["OrdersTable"]["Properties"]["LocalSecondaryIndexes"]
    local.pop()
    assert [c.kind for c in diff(base, head)] == [Kind.REPLACED]


# The register


def test_the_register_and_the_page_show_what_is_declared() -> None:
    placed = SHOP.placements()[0]
    shown = entry(placed, ORDERS)
    assert shown["billing"] == {"read": 5, "write": 4}
    assert shown["customer_key"] == KEY
    assert [(i["name"], i.get("include"), i.get("local")) for i in shown["indexes"]] == [
        ("owner-index", ["status", "total"], None),
        ("city-index", None, None),
        ("paidAt-index", ["total"], True),
        ("sentAt-index", None, True),
    ]
    text = page(SHOP)
    assert "| paidAt-index (local) | `id` S | `paidAt` S | INCLUDE `total` |" in text
    assert "- provisioned: 5 read and 4 write units\n" in text
    assert "- also set: `TableClass`, `ResourcePolicy`, because reports read it once a year\n" in text
    assert f"CMK ALARMS; customer-managed key `{KEY}`\n" in text


# Live


def index(declared: Index, **more: Any) -> Json:
    roles = zip(("HASH", "RANGE"), declared.key.attributes, strict=False)
    included = {"NonKeyAttributes": list(declared.include)} if declared.include else {}
    return {
        "IndexName": declared.name,
        "KeySchema": [{"AttributeName": a.name, "KeyType": role} for role, a in roles],
        "Projection": {"ProjectionType": declared.projection.value, **included},
        **more,
    }


def units(read: int, write: int) -> Json:
    return {"ProvisionedThroughput": {"ReadCapacityUnits": read, "WriteCapacityUnits": write}}


LIVE_POLICY = json.loads(
    json.dumps(READERS["PolicyDocument"]).replace('{"Fn::Sub": "', '"').replace('reports"}', 'reports"')
)
LIVE_POLICY = json.loads(json.dumps(LIVE_POLICY).replace("${AWS::AccountId}", ONE))
KEY_POLICY = {"Statement": [{"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ONE}:root"}, "Action": "kms:*"}]}


def live_key(policy: Json = KEY_POLICY, *, rotated: bool = True, **more: Any) -> Json:
    settings = {"EnableKeyRotation": rotated, "KeyPolicy": policy, **more}
    return {"Type": "AWS::KMS::Key", "Properties": settings, **live.KEPT}


def observed(
    policy: Json | None = LIVE_POLICY, key_: Json | None = None, encrypted_by: str = KEY, **changes: Any
) -> Observed:
    owner, city, *local = ORDERS.every_index
    described = {
        "TableName": "orders-live",
        "TableStatus": "ACTIVE",
        "AttributeDefinitions": [{"AttributeName": a.name, "AttributeType": a.kind.value} for a in ORDERS.attributes],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
        **units(5, 4),
        "GlobalSecondaryIndexes": [index(owner, **units(7, 3)), index(city, **units(5, 4))],
        "LocalSecondaryIndexes": [index(i) for i in local],
        "TableClassSummary": {"TableClass": "STANDARD_INFREQUENT_ACCESS"},
        "SSEDescription": {"Status": "ENABLED", "KMSMasterKeyArn": encrypted_by},
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        **changes,
    }
    nothing: Any = Unknown("not asked")
    answers = live.Answers(
        arn=f"arn:aws:dynamodb:us-west-2:{ONE}:table/orders-live",
        table=described,
        backups=nothing,
        ttl={"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}},
        policy={"Policy": json.dumps(policy)} if policy else None,
        tags=nothing,
    )
    around = live.Surroundings(keys={encrypted_by: key_ or live_key()}, alarms=(), topics=(), units={})
    return live.observed(live.seen({"orders-live": answers}, around)["orders-live"])


JUDGED = ("HF007", "HF008", "HF009", "HF014", "HF102", "HF103", "HF103", "HF103", "HF109")


def judged(found: Observed, placed: Placed | None = None) -> dict[str, str]:
    placed = placed or SHOP.placements()[0]
    declared = placed.tables[0]
    subject = TableSubject(placed, declared, placed.required(declared), found)
    said = {id_: verdict(BY_ID[id_], subject) for id_ in JUDGED}
    return {id_: v.detail for id_, v in said.items() if v.outcome in (Outcome.FAIL, Outcome.UNKNOWN)}


def test_a_live_table_as_declared_passes() -> None:
    assert judged(observed()) == {}


def test_a_limit_that_was_taken_away_is_none() -> None:
    none = {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1}
    assert judged(observed(OnDemandThroughput=none)) == {}
    limited = judged(observed(OnDemandThroughput=none | {"MaxReadRequestUnits": 5}))
    assert limited == {"HF109": "undeclared: OnDemandThroughput"}


LIVE: dict[str, tuple[Callable[[], Observed], set[str]]] = {
    "another class": (lambda: observed(TableClassSummary={"TableClass": "STANDARD"}), {"HF109"}),
    "limits": (lambda: observed(OnDemandThroughput={"MaxReadRequestUnits": 5}), {"HF109"}),
    "no policy": (lambda: observed(policy=None), {"HF109"}),
    "a stranger": (
        lambda: observed(policy=json.loads(json.dumps(LIVE_POLICY).replace(ONE, "999999999999"))),
        {"HF009", "HF109"},
    ),
    "no local indexes": (lambda: observed(LocalSecondaryIndexes=[]), {"HF103"}),
    "less capacity": (lambda: observed(**units(1, 4)), {"HF103"}),
    "on demand": (
        lambda: observed(BillingModeSummary={"BillingMode": "PAY_PER_REQUEST"}, **units(0, 0)),
        {"HF103"},
    ),
    "another key": (lambda: observed(encrypted_by=OTHER), {"HF007"}),
    "a key that is disabled": (
        lambda: observed(key_=live_key(KEY_POLICY, rotated=True, **{"KeyState Disabled": True})),
        {"HF007"},
    ),
    "a key that is not rotated": (lambda: observed(key_=live_key(rotated=False)), {"HF008"}),
    "a key for everybody": (
        lambda: observed(key_=live_key({"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "kms:*"}]})),
        {"HF009"},
    ),
}


@pytest.mark.parametrize("name", LIVE)
def test_a_live_table_that_differs_is_found(name: str) -> None:
    look, rules = LIVE[name]
    assert judged(look()).keys() == rules


def test_capacity_that_scales_by_itself_is_not_compared_with_the_live_one() -> None:
    placed = SHOP.placements()[0]
    scaled = replace(placed.stack, extras={"AWS::ApplicationAutoScaling::ScalableTarget": "orders come in waves"})
    assert judged(observed(**units(50, 40)), replace(placed, stack=scaled)) == {}


def test_a_resource_policy_that_nobody_declares_is_a_stranger_whatever_it_says() -> None:
    bare = stack(replace(ORDERS, extra=None), key=ExternalKey(arn=ARN))
    assert judged(observed(), Placed(bare, HERE)).keys() == {"HF009", "HF109"}


def test_twins_are_compared_in_their_local_indexes_and_not_in_their_capacity() -> None:
    both = Twins(observed(), observed(**units(9, 9)), ("live", "test"))
    assert twins(both).outcome is Outcome.PASS
    fewer = observed(LocalSecondaryIndexes=[])
    assert twins(replace(both, other=fewer)).detail == "only live has paidAt-index, sentAt-index"
    unread = replace(fewer, local_indexes=Unknown("no"))
    assert twins(replace(both, other=unread)).detail == "indexes cannot be compared"


def test_assumed_facts_of_indexes_are_confirmed_or_refuted_with_lines_to_paste() -> None:
    guessed = table(
        key=key("id", number("at")),
        indexes=(gsi("owner"), gsi("city")),
        local_indexes=(lsi("paid", name="paidAt-index", assumed="a guess"), lsi("sentAt")),
        assumed=(Assumed(Fact.PROJECTION, "a guess"),),
    )
    placed = Placed(stack(guessed), HERE)
    said = [confirm(AssumedFact(guessed, a, observed())).detail for a in assumptions(placed, guessed)]
    assert said == [
        'projection: refuted by the live table, which has gsi("owner", include=("status", "total",)), '
        'gsi("city", projection=Projection.KEYS_ONLY), lsi("paidAt", include=("total",))',
        'index of paidAt-index: refuted by the live table, which has lsi("paidAt", include=("total",)),',
    ]


def test_a_deploy_is_told_to_keep_the_logical_id_and_the_local_indexes(made: dict[str, Json]) -> None:
    placed = SHOP.placements()[0]
    nothing: Any = Unknown("not asked")
    answers = live.Answers(arn="arn", table=nothing, backups=nothing, ttl=nothing, policy=nothing, tags=nothing)
    around = live.Surroundings(keys={}, alarms=(), topics=(), units={})
    there = live.seen({"orders-live": answers}, around)

    def refused(declared: Table) -> str:
        found = way(replace(placed, stack=replace(placed.stack, tables=(declared,))), seen(made)[0], there, {}, {})
        return found.against("orders-live")

    assert refused(ORDERS) == ""
    assert "as OrdersTable in Shop-live (the code makes Other)" in refused(replace(ORDERS, logical_id="Other"))
    assert "a local index is made with its table only" in refused(replace(ORDERS, local_indexes=()))


# An account


def account(made: dict[str, Json], **encryption: Encryption) -> Account:
    """Everything as if it had just been deployed; ``encryption`` of tables that have another, by the first word."""
    at = datetime(2026, 2, 4, tzinfo=UTC)
    stacks = {
        s.id: StackLive(seen=replace(s, source=Source.DEPLOYED), status="UPDATE_COMPLETE", created=at, updated=at)
        for s in seen(made)
    }
    carts = next(p for p in SHOP.placements() if p.id == "Carts-live")
    policy = filled(key_policy(carts), ONE)
    arns = {"Own": KEY, "Shared": KEY.replace("0000-live", "carts")}
    tables = {}
    for stack_ in seen(made):
        resources = {**copy.deepcopy(stack_.template["Resources"]), "Own": live_key(), "Shared": live_key(policy)}
        for found in observe(stack_):
            name, id_ = str(found.name), found.where.rpartition("#")[2]
            word, p = name.partition("-")[0], resources[id_]["Properties"]
            mine = {"KMSMasterKeyId": {"Ref": "Own" if word == "orders" else "Shared"}}
            other = encryption.get(word)
            p["SSESpecification"] = {"SSEEnabled": other is not Encryption.AWS_OWNED, **({} if other else mine)}
            if found.extras:
                p["ResourcePolicy"] = {"PolicyDocument": LIVE_POLICY}
            arn = f"arn:aws:dynamodb:us-west-2:{ONE}:table/{name}"
            template = {"Resources": resources}
            live_stack = replace(stack_, source=Source.LIVE, template=template, arns={**arns, id_: arn})
            tables[name] = StoreSeen(
                arn=arn,
                stack=live_stack,
                logical_id=id_,
                status="ACTIVE",
                created=at,
                items=0,
                size=0,
                owner=found.stack,
            )
    return Account(id=ONE, region="us-west-2", tables=tables, stacks=stacks)


def audited(there: Account) -> list[Finding]:
    return audit(SHOP, [there], [HERE], now=NOW).findings


def gaps(there: Account) -> set[tuple[str | None, str]]:
    return {(f.table, f.rule.id) for f in audited(there) if f.outcome is Outcome.FAIL}


def test_an_audit_of_what_is_declared_finds_nothing(made: dict[str, Json]) -> None:
    assert gaps(account(made)) == set()


def test_the_key_that_another_stack_makes_is_judged_by_what_all_who_share_it_need(made: dict[str, Json]) -> None:
    there = account(made)
    assert isinstance(there.tables, dict)
    mails = there.tables["mails-live"]
    narrow = {**mails.stack.template["Resources"], "Shared": live_key()}
    other = replace(mails, stack=replace(mails.stack, template={"Resources": narrow}))
    found = gaps(replace(there, tables=there.tables | {"mails-live": other}))
    assert found == {("mails-live", "HF009"), ("mails-live", "HF014")}


def test_fix_gives_a_table_the_external_or_the_shared_key(made: dict[str, Json]) -> None:
    there = account(made, orders=Encryption.AWS_OWNED, mails=Encryption.AWS_MANAGED)
    planned = plan(audited(there), SHOP, [there], [HERE])
    assert {(c.table, c.key) for c in planned.keys} == {
        ("orders-live", KEY),
        ("mails-live", "alias/holdfast/Carts-live"),
    }


def test_live_stores_name_the_key_that_another_stack_made_as_the_templates_do() -> None:
    own = StackResources({}, {KEY: "Carts-live#Key"})
    assert own.arn("AWS::KMS::Key", KEY) == "Carts-live#Key"
    assert own.arn("AWS::KMS::Key", OTHER) == OTHER
    assert own.arn("AWS::KMS::Key", None) is None


# Lint


def said(rule: str, **changes: Any) -> list[tuple[str | None, str, str]]:
    found = lint(estate(stack(table()), stack(id="Cart-{env}", owner="cart-team"), **changes), today=TODAY)
    return [(f.table, f.stack, f.detail) for f in found if f.rule.id == rule]


def test_owners_of_watched_production_stacks_without_a_channel_are_named() -> None:
    assert said("HF417") == []
    both = (Owner(name="shop-team"), Owner(name="cart-team"))
    assert said("HF417", owners=both) == [
        (None, "Shop-{env}", "its owner shop-team has no channel, so its alarms are not delivered in prod")
    ]
    assert said("HF417", owners=both, environments=(TEST,)) == []
    assert said("HF417", owners=(Owner(name="shop-team", tell=("mailto:a@b.example",)), both[1])) == []


def test_new_tables_are_named_as_the_policy_says() -> None:
    def naming(**changes: Any) -> Policy:
        return Policy(naming=(Naming(**{"begins": "shop-", "reason": "roles match it", **changes}),))

    broken = [
        ("orders-{env}", "Shop-{env}", "it is called orders-{env}, and new tables begin with shop-: roles match it")
    ]
    assert said("HF418") == []
    assert said("HF418", policy=naming()) == said("HF418", policy=naming(stacks=("Shop-{env}",))) == broken
    assert said("HF418", policy=naming(stacks=("Cart-{env}",))) == []
    assert said("HF418", policy=naming(existing=("orders-{env}",))) == said("HF418", policy=naming(begins="ord")) == []
