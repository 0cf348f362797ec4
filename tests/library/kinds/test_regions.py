"""Any region and partition: right ARNs without an AWS call, and one line where a region's fact is not known."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from rule_mutants import seen
from shop import ORDERS, SESSIONS, STORES, alone
from shop_synth import synth
from support import ROOT

from holdfast import Environment, Tier
from holdfast.cfn.policies import canonical
from holdfast.kinds.database import layer
from holdfast.model import regions
from holdfast.rules import ACTIONABLE, judge

ELSEWHERE = {"cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov", "eu-west-1": "aws"}


def test_partitions_and_domains_are_those_that_cdk_knows() -> None:
    import holdfast.cdk

    assert holdfast.cdk  # the Node that it finds
    from aws_cdk import region_info

    known = region_info.RegionInfo.regions
    assert len(known) > 30
    assert {i.name: (i.partition, i.domain_suffix) for i in known} == {
        i.name: (regions.partition(i.name), regions.suffix(i.name)) for i in known
    }
    assert regions.partition(None) == "aws"


def test_services_are_named_by_both_ends_where_domain_names_differ() -> None:
    assert regions.via("us-east-1", "s3") == "s3.us-east-1.amazonaws.com"
    assert regions.via("cn-north-1", "s3") == ["s3.cn-north-1.amazonaws.com", "s3.cn-north-1.amazonaws.com.cn"]


@pytest.mark.parametrize(("region", "partition"), ELSEWHERE.items())
def test_every_arn_is_of_the_partition_and_every_rule_knows_it(
    region: str, partition: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a region that the library does not know has to be told: S3's prefix list, and RDS's authorities.
    env = Environment("live", Tier.PROD, region, s3_prefix_lists={region: "pl-1"})
    monkeypatch.setattr(layer, "built", lambda *_: ROOT / layer.FOLDER)
    orders = replace(ORDERS, environment_names={}, tables=tuple(t for t in ORDERS.tables if not t.only))
    there = replace(alone(orders, replace(SESSIONS, undeployed=()), STORES), environments=(env,))
    synth(there, tmp_path)
    texts = {p: (tmp_path / f"{p.id}.template.json").read_text() for p in there.placements()}
    stacks = [seen(placed, json.loads(text)) for placed, text in texts.items()]
    told = [f for f in judge(there, stacks, [env], today=date(2026, 11, 16)) if f.outcome in ACTIONABLE]
    assert [(f.rule.id, f.table, f.detail) for f in told] == []
    assert {placed.id for placed, text in texts.items() if "pl-1" in text} == {p.id for p in texts if p.stores}
    written = set(re.findall(r"arn:(aws[a-z-]*):", "".join(texts.values())))
    assert written == {partition}


def test_an_account_is_one_principal_in_any_partition() -> None:
    def spelled(*parts: object) -> object:
        principal = {"Fn::Join": ["", list(parts)]}
        return canonical({"Statement": [{"Effect": "Allow", "Principal": {"AWS": principal}}]})

    account = {"Ref": "AWS::AccountId"}
    assert spelled("arn:aws-cn:iam::", account, ":root") != spelled("arn:aws:iam::", account, ":root")
    assert spelled("arn:", {"Ref": "AWS::Partition"}, ":iam::", account, ":root") == spelled(account)
