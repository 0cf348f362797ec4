"""Environments, places and policies as values of an estate: nothing of them is fixed in the library."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from declare import PROD, TEST, estate, stack, table
from support import CONTEXT

from holdfast import (
    TAGS,
    Access,
    Bucket,
    Data,
    DeclarationError,
    Demand,
    Durable,
    Environment,
    Guard,
    Place,
    Policy,
    Sizes,
    TagSource,
    Thresholds,
    Tier,
)
from holdfast.contract import make
from holdfast.contract.diff import Kind, diff
from holdfast.contract.page import page
from holdfast.policy.required import required

ONE, TWO = "111122223333", "444455556666"
WIDE = Environment("live", Tier.PROD, "eu-west-1", account=ONE, also=(Place("us-east-1", ONE), Place("eu-west-1", TWO)))


def test_a_stack_is_in_every_place_and_the_first_of_them_names_none() -> None:
    found = estate(stack(table()), environments=(WIDE, TEST)).placements()
    assert [(p.id, p.name, p.account, p.region) for p in found] == [
        ("Shop-live", "Shop-live", ONE, "eu-west-1"),
        ("Shop-live-us-east-1", "Shop-live", ONE, "us-east-1"),
        (f"Shop-live-{TWO}", "Shop-live", TWO, "eu-west-1"),
        ("Shop-test", "Shop-test", None, "us-west-2"),
    ]


def test_a_stack_with_a_region_of_its_own_is_there_once_in_every_account() -> None:
    found = estate(stack(table(), region="ap-northeast-1"), environments=(WIDE,)).placements()
    assert [(p.id, p.account, p.region) for p in found] == [
        ("Shop-live", ONE, "ap-northeast-1"),
        (f"Shop-live-{TWO}", TWO, "ap-northeast-1"),
    ]


def test_names_may_hold_the_account_where_one_is_declared() -> None:
    here = stack(table(name="orders-{env}-{account}-{region}"), id="Shop-{account}-{region}")
    found = estate(here, environments=(WIDE,)).placements()
    assert [p.fill(p.tables[0].name) for p in found][2] == f"orders-live-{TWO}-eu-west-1"
    assert [p.id for p in found] == [p.name for p in found]
    with pytest.raises(DeclarationError, match=r"a name holds \{account\}; give environment prod its account="):
        estate(here)


BESIDE = (replace(PROD, account=ONE), Environment("dev", Tier.TEST, "us-east-1", account=ONE))
ACCESS = (Access(name="orders-app-{env}", table="orders-{env}", actions=("GetItem",)),)
FILES = Bucket(name="files-{env}", purpose="p", data=Data.OPERATIONAL, prefixes=())
EUROPE = ("x", Tier.TEST, "eu-west-1")
SLIPS: list[tuple[Any, str]] = [
    (lambda: Environment("x", Tier.TEST, "Ireland"), "'Ireland' is not a region, such as eu-west-1"),
    (lambda: Environment(*EUROPE, account="1"), "'1' is not an account: write its twelve digits as a text"),
    (lambda: Environment("all", Tier.TEST, "eu-west-1"), "environment 'all': a label has letters, digits and '-'"),
    (lambda: Environment(*EUROPE, also=(Place("eu-west-1"),)), "environment x: one of its places is named twice"),
    (lambda: estate(environments=(PROD, PROD)), "two environments are called prod"),
    (lambda: estate(stack(environments=(WIDE,))), "live is not an environment of the estate (prod, test)"),
    (lambda: estate(stack(table(only=(WIDE,)))), "stack Shop-{env}: live is not an environment of the estate"),
    (
        lambda: estate(stack(environment_names={WIDE: "x"})),
        "stack Shop-{env}: live is not an environment of the estate",
    ),
    (lambda: Policy(recovery_days=40), "recovery_days=40 is outside DynamoDB's 1 to 35 days"),
    (lambda: table(recovery_days=0), "recovery_days=0 is outside DynamoDB's 1 to 35 days"),
    (lambda: Policy(tags={"Owner": TagSource.OWNER}), "policy: 0 tags say the environment of a store"),
    (lambda: estate(stack(table(), id="S"), environments=BESIDE), "stack S is declared by S-prod and by S-dev"),
    (lambda: estate(stack(table(), access=ACCESS), environments=(WIDE,)), "IAM has one of a name in all regions"),
    (lambda: estate(stack(table(), access=(replace(ACCESS[0], name="x-{stage}"),))), "unknown placeholder 'stage'"),
    (lambda: estate(stack(table(only=(PROD,)), access=ACCESS)), "which is not in test; correct only= of it"),
    (lambda: estate(stack(stores=(FILES,)), environments=(replace(PROD, label="PreProd"),)), "'files-PreProd' needs 3"),
    (lambda: estate(stack(table(), id="Shop_{env}")), "its name 'Shop_prod' needs up to 128 letters, digits and '-'"),
    (lambda: Policy(cidr="10.0.0.0/8"), "policy: cidr='10.0.0.0/8' does not fit three subnets of /20"),
    (lambda: stack(cidr="here"), "stack Shop-{env}: cidr='here' is not a network"),
    (lambda: Sizes(cache={Tier.PROD: "cache.m7g.large"}), "Sizes: cache says nothing of Tier.TEST"),
    (lambda: Policy(log_days={Tier.PROD: 1}), "policy: log_days says nothing of Tier.TEST"),
    (
        lambda: estate(stack(), policy=Policy(tags={**TAGS, "CostCenter": TagSource.STACK})),
        "the policy requires the tag CostCenter: add it to tags=",
    ),
    (lambda: estate(stack(tags={"Owner": "me"})), "the policy gives the tag Owner; drop it from tags="),
]


@pytest.mark.parametrize(("make", "says"), SLIPS, ids=[says for _, says in SLIPS])
def test_slips_are_refused_in_one_line(make: Any, says: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        make()
    assert says in str(refused.value)


def test_a_policy_demands_more_or_less_but_never_less_of_personal_durable_data_in_production() -> None:
    nothing = Policy(demands=())
    assert required(table(data=Data.PERSONAL), PROD, policy=nothing) == (
        Guard.TAGS | Guard.DELETION_PROTECTION | Guard.RETAIN | Guard.PITR | Guard.CUSTOMER_KEY
    )
    assert required(table(), PROD, policy=nothing) == Guard.TAGS
    more = Policy(demands=(Demand(guards=Guard.RETAIN, lifetime=Durable),))
    assert required(table(), TEST, policy=more) == Guard.TAGS | Guard.RETAIN


ACME = Policy(
    recovery_days=14,
    thresholds=Thresholds(latency_ms=200),
    log_days={Tier.PROD: 90, Tier.TEST: 7},
    tags={
        "acme:stage": TagSource.ENVIRONMENT,
        "acme:team": TagSource.OWNER,
        "acme:data-classification": TagSource.DATA_CLASS,
        "acme:keep": TagSource.LIFETIME,
        "acme:cost-center": TagSource.STACK,
        "acme:tool": "holdfast",
    },
)


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from holdfast.cdk import app

    folder = tmp_path_factory.mktemp("acme")
    with contextlib.chdir(folder):  # where there are no contracts
        synthesize(app, folder)
    return folder


def synthesize(app: Any, folder: Path) -> None:
    here = stack(table(data=Data.PERSONAL), tags={"acme:cost-center": "4711"})
    app(estate(here, environments=(WIDE, TEST), policy=ACME), CONTEXT | {"env": "all"}, str(folder)).synth()


def test_an_own_policy_is_what_is_synthesized_and_judged(acme: Path) -> None:
    report = json.loads((acme / "validation-report.json").read_text())["pluginReports"]
    assert [v for p in report for v in p["violations"]] == []
    template = json.loads((acme / "Shop-live.template.json").read_text())
    (found,) = [r["Properties"] for r in template["Resources"].values() if r["Type"] == "AWS::DynamoDB::Table"]
    assert found["PointInTimeRecoverySpecification"]["RecoveryPeriodInDays"] == 14
    assert {t["Key"]: t["Value"] for t in found["Tags"]} == {
        "acme:stage": "live",
        "acme:team": "shop-team",
        "acme:data-classification": "personal",
        "acme:keep": "durable",
        "acme:cost-center": "4711",
        "acme:tool": "holdfast",
    }
    thresholds = [r["Properties"] for r in template["Resources"].values() if r["Type"] == "AWS::CloudWatch::Alarm"]
    assert 200 in {a["Threshold"] for a in thresholds}
    manifest = json.loads((acme / "manifest.json").read_text())["artifacts"]
    assert manifest["Shop-live-us-east-1"]["environment"] == f"aws://{ONE}/us-east-1"
    assert manifest["Shop-test"]["environment"] == "aws://unknown-account/us-west-2"
    assert not manifest["Tree"].get("missing")


def test_comparisons_know_the_own_names_of_tags(acme: Path) -> None:
    base = make.contracts(acme)
    head = json.loads(json.dumps(base))
    resources = head["Shop-live"]["template"]["Resources"]
    (found,) = [r for r in resources.values() if r["Type"] == "AWS::DynamoDB::Table"]
    found["Properties"]["Tags"]["acme:data-classification"] = "operational"
    (change,) = diff(base, head)
    assert (change.kind, change.store) == (Kind.WEAKENED, "orders-live")
    # A tag that only happens to have the library's name hides nothing.
    for of in (base, head):
        for r in of["Shop-live"]["template"]["Resources"].values():
            if isinstance(r["Properties"].get("Tags"), dict):
                r["Properties"]["Tags"]["DataClass"] = "C3"
    (change,) = diff(base, head)
    assert (change.kind, change.guard) == (Kind.WEAKENED, "data class")
    assert "| live | Shop-live | orders-live | durable personal | DP, RETAIN, PITR" in page(base)


def test_an_estates_own_word_for_production_is_not_lost_in_silence(acme: Path) -> None:
    base = make.contracts(acme)
    head = json.loads(json.dumps(base))
    assert head["Shop-live"]["template"]["Metadata"]["Holdfast"].pop("Production") == "live"
    (change,) = diff(base, head)
    assert (change.kind, change.says) == (Kind.WEAKENED, "production environment is lost")


def test_a_policy_of_applications_has_a_name_of_its_own_in_every_region() -> None:
    places = estate(stack(stores=(FILES,)), environments=(WIDE,)).placements()
    assert [(p.account, p.application_policy) for p in places] == [
        (ONE, "shop-applications-live"),
        (ONE, "shop-applications-live-us-east-1"),
        (TWO, "shop-applications-live"),
    ]


def test_a_table_may_keep_more_than_the_policy_asks_for_and_never_less() -> None:
    assert estate(stack(table(recovery_days=20)), policy=ACME_DAYS).placements()[0].recovery_days(table()) == 14
    with pytest.raises(DeclarationError, match="recovery_days=7 is less than the 14 that the policy asks for"):
        estate(stack(table(recovery_days=7)), policy=ACME_DAYS)


ACME_DAYS = replace(ACME, tags=TAGS)
