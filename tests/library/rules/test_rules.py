"""No protection can be lost without somebody hearing of it, and nobody is accused without cause."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from commands import run
from mutants import MUTATIONS, OF_THE_KEY, differing, key_of, mutants, tables
from rule_mutants import seen
from shop import ESTATE, LIVE, alone
from shop_synth import count, project, table
from support import Json

from holdfast import Guard
from holdfast.cfn.template import StackSeen
from holdfast.estate.placement import Placed
from holdfast.rules import BY_ID, GUARDING, RULES, judge
from holdfast.rules.base import Check, Finding, Rule, Severity
from holdfast.rules.foreign import judge_foreign
from holdfast.rules.former import CONTRACT as CONTRACT_ALONE
from holdfast.rules.former import DROPPED, MERGED, current
from holdfast.rules.subjects import TableSubject
from holdfast.verdict import Outcome

TODAY = date(2026, 11, 16)
PLACES = ESTATE.placements()
FORMER = {*MERGED, *DROPPED}


def failed(findings: Iterable[Finding]) -> set[str | None]:
    return {f.table for f in findings if f.outcome is Outcome.FAIL}


def judged(placed: Placed, template: Json) -> list[Finding]:
    """One stack alone, judged by the rules: what the others hold changes nothing about it."""
    return judge(alone(placed.stack), [seen(placed, template, protected=placed.env is LIVE)], [placed.env], today=TODAY)


def test_the_estate_is_clean_and_nothing_is_unknown(templates: dict[str, Json]) -> None:
    findings = judge(ESTATE, [seen(p, templates[p.id]) for p in PLACES], ESTATE.environments, today=TODAY)
    assert [f for f in findings if f.outcome in (Outcome.FAIL, Outcome.UNKNOWN)] == []
    assert len({f.table for f in findings}) == count() + 1  # and what belongs to no table


@pytest.mark.parametrize("placed", PLACES, ids=lambda p: p.id)
def test_every_mutant_is_caught_and_names_its_table_and_no_other(placed: Placed, templates: dict[str, Json]) -> None:
    template = templates[placed.id]
    names = tables(template)
    for logical_id, name in names.items():
        key = key_of(template, logical_id)
        shared = {n for i, n in names.items() if key and key_of(template, i) == key}
        for kind, mutant in mutants(template, logical_id):
            findings = judged(placed, mutant)
            accused = failed(findings)
            if kind in CONTRACT:
                accused = accused or differing(template, mutant)
            if kind == "key_not_retained":
                # Only tables that are retained themselves need the key to stay.
                assert name in accused or not _retained(template, logical_id), (kind, name)
                assert accused <= shared, (kind, name, accused)
            else:
                assert accused == (shared if kind in OF_THE_KEY else {name}), (kind, name, accused)
            assert not [f for f in findings if f.outcome is Outcome.UNKNOWN], (kind, name)
            assert all(
                f.fix and f.detail and f.where.startswith(placed.id) for f in findings if f.outcome is Outcome.FAIL
            )


# As the construct makes it, and no policy: the contract tells a change, and of which table.
CONTRACT = {
    "alarm_datapoints_raised",
    "alarm_expression_changed",
    "alarm_renamed_and_raised",
    "alarm_threshold_raised",
    "encryption_of_other_data_changed",
    "local_index_added",
}


def _retained(template: Json, logical_id: str) -> bool:
    return bool(template["Resources"][logical_id]["DeletionPolicy"] == "Retain")


def test_every_mutation_applies_somewhere_and_most_everywhere(templates: dict[str, Json]) -> None:
    """That nothing escaped means something: these are the numbers of mutants that were tried."""
    tried = dict.fromkeys(MUTATIONS, 0)
    for template in templates.values():
        for logical_id in tables(template):
            for kind, _ in mutants(template, logical_id):
                tried[kind] += 1
    required = [p.required(t) for p in PLACES for t in p.tables]
    assert len(MUTATIONS) >= 23
    assert min(tried.values()) >= 2, tried
    assert sum(tried.values()) > 400
    assert tried["deletion_protection_off"] == sum(Guard.DELETION_PROTECTION in guards for guards in required)
    assert tried["recovery_off"] == sum(Guard.PITR in guards for guards in required)
    assert tried["key_to_aws_managed"] == sum(Guard.CUSTOMER_KEY in guards for guards in required)
    assert tried["table_removed"] == len(required)


def _reversed(value: Any) -> Any:
    match value:
        case dict():
            return {k: _reversed(v) for k, v in reversed(value.items())}
        case _:
            return value


def _reorder(t: Json) -> Json:
    t = _reversed(t)
    for resource in t["Resources"].values():
        for name in ("Tags", "AttributeDefinitions", "GlobalSecondaryIndexes"):
            if isinstance(found := resource.get("Properties", {}).get(name), list):
                found.reverse()
    return t


def _add_strangers(t: Json) -> Json:
    t["Resources"]["CDKMetadata"] = {"Type": "AWS::CDK::Metadata", "Properties": {"Analytics": "v2"}}
    t["Resources"]["Other"] = {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {"Namespace": "AWS/Lambda", "MetricName": "Errors", "Threshold": 1},
    }
    return t


def _add_metadata(t: Json) -> Json:
    for name, resource in t["Resources"].items():
        resource["Metadata"] = {"aws:cdk:path": f"somewhere/{name}"}
    return t | {
        "Description": "the same",
        "Outputs": {"Name": {"Value": "x"}},
        "Parameters": {"BootstrapVersion": {"Type": "String", "Default": "/cdk"}},
        "Conditions": {"Never": {"Fn::Equals": ["a", "b"]}},
    }


def _more_protection(t: Json) -> Json:
    for resource in t["Resources"].values():
        if resource["Type"] == "AWS::DynamoDB::Table":
            resource["Properties"]["DeletionProtectionEnabled"] = "true"
            resource["DeletionPolicy"] = resource["UpdateReplacePolicy"] = "Retain"
    return t


HARMLESS = {
    "reordered": _reorder,
    "formatted": lambda t: json.loads(json.dumps(t, indent=8)),
    "strangers": _add_strangers,
    "metadata": _add_metadata,
}


@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS)
def test_harmless_changes_accuse_nobody(change: Any, templates: dict[str, Json]) -> None:
    for placed in PLACES:
        findings = judged(placed, change(copy.deepcopy(templates[placed.id])))
        assert [f for f in findings if f.outcome in (Outcome.FAIL, Outcome.UNKNOWN)] == []


def test_more_protection_than_required_is_no_finding(templates: dict[str, Json]) -> None:
    for placed in PLACES:
        if placed.env is LIVE:
            assert failed(judged(placed, _more_protection(copy.deepcopy(templates[placed.id])))) == set()


# Resources beside the tables


def orders(templates: dict[str, Json]) -> tuple[Placed, Json]:
    (placed,) = [p for p in PLACES if p.id == "Orders-production"]
    return placed, copy.deepcopy(templates[placed.id])


@pytest.mark.parametrize(
    ("kind", "properties", "rule"),
    [
        ("AWS::SNS::Topic", None, "HF301"),
        ("AWS::SNS::Topic", {"KmsMasterKeyId": None}, "HF301"),
        ("AWS::SNS::Topic", {"KmsMasterKeyId": {"Fn::GetAtt": ["Nothing", "Arn"]}}, "HF301"),
        ("AWS::SNS::TopicPolicy", None, "HF703"),
        ("AWS::SNS::TopicPolicy", {"Topics": ["arn:other"]}, "HF703"),
        ("AWS::KMS::Alias", None, "HF703"),
        ("AWS::SQS::Queue", None, "HF703"),
        ("AWS::SQS::Queue", {"SqsManagedSseEnabled": None, "KmsMasterKeyId": ""}, "HF301"),
        ("AWS::Lambda::EventSourceMapping", None, "HF310"),
        ("AWS::Lambda::EventSourceMapping", {"Enabled": False}, "HF703"),
        ("AWS::Lambda::EventSourceMapping", {"FilterCriteria": {"Filters": []}}, "HF703"),
        ("AWS::Lambda::EventSourceMapping", {"DestinationConfig": {}}, "HF703"),
        ("AWS::Lambda::EventSourceMapping", {"MaximumRetryAttempts": 10_000}, "HF703"),
        ("AWS::Lambda::Function", None, "HF310"),
        ("AWS::Lambda::Function", {"ReservedConcurrentExecutions": 0}, "HF310"),
        ("AWS::SNS::Topic", {"KmsMasterKeyId": "alias/aws/sns"}, "HF301"),
        ("AWS::SNS::TopicPolicy", {"PolicyDocument": {"Statement": [{"Effect": "Allow", "Principal": "*"}]}}, "HF009"),
        ("AWS::SNS::TopicPolicy", {"PolicyDocument": {"Statement": []}}, "HF515"),
        ("AWS::SQS::Queue", {"SqsManagedSseEnabled": False}, "HF301"),
        ("AWS::SQS::QueuePolicy", {"PolicyDocument": {"Statement": []}}, "HF515"),
        ("AWS::SQS::QueuePolicy", {"PolicyDocument": {"Statement": [{"Effect": "Allow", "Principal": "*"}]}}, "HF515"),
        ("AWS::Lambda::EventSourceMapping", {"DestinationConfig": None}, "HF703"),
        ("AWS::Lambda::EventSourceMapping", {"MaximumRetryAttempts": -1}, "HF703"),
        ("AWS::Lambda::EventSourceMapping", {"FunctionResponseTypes": None}, "HF703"),
        ("AWS::Lambda::EventSourceMapping", {"FunctionResponseTypes": []}, "HF703"),
        ("AWS::Lambda::EventSourceMapping", {"MaximumRetryAttempts": 101}, "HF703"),
        ("AWS::Lambda::EventSourceMapping", {"BisectBatchOnFunctionError": False}, "HF703"),
        ("AWS::Lambda::EventSourceMapping", {"EventSourceArn": "arn:other"}, "HF310"),
        ("AWS::Lambda::Function", {"Runtime": "nodejs18.x"}, "HF307"),
        ("AWS::Lambda::Function", {"FunctionName": "another"}, "HF310"),
        ("AWS::Logs::LogGroup", {"KmsKeyId": None}, "HF301"),
        ("AWS::Logs::LogGroup", {"RetentionInDays": None}, "HF529"),
    ],
)
def test_what_stands_beside_the_tables(
    kind: str, properties: Json | None, rule: str, templates: dict[str, Json]
) -> None:
    """None removes the whole resource, or one of its properties."""
    placed, template = orders(templates)
    before = copy.deepcopy(template)
    ((logical_id, resource),) = [(i, r) for i, r in template["Resources"].items() if r["Type"] == kind]
    if properties is None:
        del template["Resources"][logical_id]
    for name, value in (properties or {}).items():
        if value is None:
            del resource["Properties"][name]
        else:
            resource["Properties"][name] = value
    if rule == CONTRACT_ALONE:
        assert differing(before, template)
    else:
        assert rule in {f.rule.id for f in judged(placed, template) if f.outcome is Outcome.FAIL}


@pytest.mark.parametrize("name", ["failures", "behind"])
@pytest.mark.parametrize("change", ["removed", "silenced", "raised"])
def test_alarms_of_a_stream_consumer(name: str, change: str, templates: dict[str, Json]) -> None:
    placed, template = orders(templates)
    alarms = {r["Properties"].get("AlarmName", ""): i for i, r in template["Resources"].items() if "Properties" in r}
    (alarm,) = [i for n, i in alarms.items() if n.endswith(f"invoices-production/{name}")]
    match change:
        case "removed":
            del template["Resources"][alarm]
        case "silenced":
            template["Resources"][alarm]["Properties"]["AlarmActions"] = []
        case _:
            template["Resources"][alarm]["Properties"]["Threshold"] = 10**9
    found = {(f.rule.id, f.table) for f in judged(placed, template) if f.outcome is Outcome.FAIL}
    assert found == {("HF205", "orders-production")}


def test_a_key_without_a_table_is_judged_too(templates: dict[str, Json]) -> None:
    (placed,) = [p for p in PLACES if p.id == "Sessions-live"]
    template = copy.deepcopy(templates[placed.id])
    (key,) = [r for r in template["Resources"].values() if r["Type"] == "AWS::KMS::Key"]
    key["Properties"]["EnableKeyRotation"] = False
    key["Properties"]["KeyPolicy"]["Statement"][0]["Principal"] = {"AWS": "*"}
    assert {f.rule.id for f in judged(placed, template) if f.outcome is Outcome.FAIL} == {"HF008", "HF009"}


def test_a_prod_stack_without_termination_protection(templates: dict[str, Json]) -> None:
    placed, template = orders(templates)
    stack = StackSeen(id=placed.id, where="x", template=template, region=placed.region, protected=False)
    findings = judge(alone(placed.stack), [stack], [placed.env], today=TODAY)
    assert {f.rule.id for f in findings if f.outcome is Outcome.FAIL} == {"HF013"}


# The estate


def test_a_stack_that_is_gone_takes_the_blame_for_each_of_its_tables(templates: dict[str, Json]) -> None:
    (retired,) = [p for p in PLACES if p.id == "Retired-live"]
    shown = [seen(p, templates[p.id]) for p in PLACES if p is not retired]
    findings = judge(ESTATE, shown, ESTATE.environments, today=TODAY)
    assert failed(findings) == {retired.fill(t.name) for t in retired.tables}
    assert {f.rule.id for f in findings if f.outcome is Outcome.FAIL} == {"HF201"}


def test_an_undeclared_table_is_named(templates: dict[str, Json]) -> None:
    placed, template = orders(templates)
    rogue = template["Resources"]["Rogue"] = copy.deepcopy(table(template))
    rogue["Properties"]["TableName"] = "rogue"
    findings = judged(placed, template)
    assert {(f.rule.id, f.table) for f in findings if f.outcome is Outcome.FAIL} == {("HF202", "rogue")}


def test_two_stacks_for_one_table(templates: dict[str, Json]) -> None:
    placed, template = orders(templates)
    other = StackSeen(id="Other", where="Other.template.json", template=copy.deepcopy(template), region=placed.region)
    findings = judge(alone(placed.stack), [seen(placed, template), other], [placed.env], today=TODAY)
    assert {(f.rule.id, f.table) for f in findings if f.outcome is Outcome.FAIL} == {
        ("HF204", name) for name in tables(template).values()
    }


# What cannot be read is unknown

UNDECIDED = {"Ref": "Stage"}
FLAGS: dict[str, Any] = {
    "DeletionProtectionEnabled": UNDECIDED,
    "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": {"Fn::If": ["IsProd", True, False]}},
    "TimeToLiveSpecification": {"Enabled": True, "AttributeName": UNDECIDED},
    "SSESpecification": {"SSEEnabled": True, "KMSMasterKeyId": {"Fn::ImportValue": "key"}},
    "Tags": {"Fn::If": ["IsProd", [], []]},
    "BillingMode": {"Fn::Sub": "${Stage}"},
    "KeySchema": [{"AttributeName": UNDECIDED, "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [{"IndexName": UNDECIDED}],
    "StreamSpecification": {"StreamViewType": UNDECIDED},
    "TableName": {"Fn::Sub": "orders-${Stage}"},
}


@pytest.mark.parametrize("name", [n for n in FLAGS if n != "Tags"])
def test_a_function_where_a_value_is_expected_is_unknown_and_never_a_pass(
    name: str, templates: dict[str, Json]
) -> None:
    placed, template = orders(templates)
    template["Parameters"] = {"Stage": {"Type": "String", "Default": "true"}}
    template["Conditions"] = {"IsProd": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]}}
    table(template)["Properties"][name] = FLAGS[name]
    findings = judged(placed, template)
    assert failed(findings) == set()
    assert Outcome.UNKNOWN in {f.outcome for f in findings}


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ({"Fn::If": ["Always", True, False]}, Outcome.PASS),
        ({"Fn::If": ["Never", True, False]}, Outcome.FAIL),
        ({"Fn::If": ["Undecided", True, True]}, Outcome.PASS),
        ({"Fn::If": ["Undecided", True, False]}, Outcome.UNKNOWN),
        ({"Fn::If": ["Missing", True, False]}, Outcome.UNKNOWN),
        ({"Fn::If": ["EitherWay", True, False]}, Outcome.PASS),
        ({"Fn::If": ["NotNever", True, False]}, Outcome.PASS),
        ({"Fn::FindInMap": ["Flags", "prod", "dp"]}, Outcome.PASS),
        ({"Fn::FindInMap": ["Flags", {"Ref": "Stage"}, "dp"]}, Outcome.UNKNOWN),
        ({"Fn::FindInMap": ["Nowhere", "prod", "dp"]}, Outcome.UNKNOWN),
        ({"Ref": "AWS::NoValue"}, Outcome.FAIL),
        ({"Fn::Select": [0, [True, False]]}, Outcome.PASS),
        ({"Fn::GetAtt": "malformed"}, Outcome.UNKNOWN),
        ("true", Outcome.PASS),
        ("yes", Outcome.UNKNOWN),
    ],
)
def test_functions_are_resolved_where_that_can_be_decided(
    value: Any, outcome: Outcome, templates: dict[str, Json]
) -> None:
    placed, template = orders(templates)
    template |= {
        "Parameters": {"Stage": {"Type": "String"}},
        "Mappings": {"Flags": {"prod": {"dp": True}}},
        "Conditions": {
            "Always": {"Fn::Equals": [{"Ref": "AWS::Region"}, LIVE.region]},
            "Never": {"Fn::Equals": ["a", "b"]},
            "Undecided": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]},
            "EitherWay": {"Fn::Or": [{"Condition": "Undecided"}, {"Condition": "Always"}]},
            "NotNever": {"Fn::And": [{"Fn::Not": [{"Condition": "Never"}]}, {"Condition": "Always"}]},
        },
    }
    table(template)["Properties"]["DeletionProtectionEnabled"] = value
    (found,) = [f for f in judged(placed, template) if (f.rule.id, f.table) == ("HF001", "orders-production")]
    assert found.outcome is outcome


@pytest.mark.parametrize(
    ("condition", "outcome"), [("Always", Outcome.PASS), ("Never", Outcome.FAIL), ("Undecided", Outcome.UNKNOWN)]
)
def test_a_table_behind_a_condition(condition: str, outcome: Outcome, templates: dict[str, Json]) -> None:
    placed, template = orders(templates)
    template |= {
        "Parameters": {"Stage": {"Type": "String"}},
        "Conditions": {
            "Always": {"Fn::Equals": ["a", "a"]},
            "Never": {"Fn::Equals": ["a", "b"]},
            "Undecided": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]},
        },
    }
    table(template)["Condition"] = condition
    outcomes = {f.outcome for f in judged(placed, template) if f.table == "orders-production"} - {Outcome.EXEMPT}
    assert outcome in outcomes
    assert (outcome is Outcome.PASS) is (outcomes == {Outcome.PASS})


def test_what_a_macro_rewrites_is_unknown(templates: dict[str, Json]) -> None:
    placed, template = orders(templates)
    assert Outcome.UNKNOWN in {f.outcome for f in judged(placed, template | {"Transform": "Macro"})}


def _say_it_otherwise(t: Json) -> Json:
    """The same template in other words: text for numbers and booleans, a Ref for a name, actions in another order."""
    names = {r["Properties"]["TableName"]: i for i, r in t["Resources"].items() if r["Type"] == "AWS::DynamoDB::Table"}
    for r in t["Resources"].values():
        p = r.get("Properties", {})
        match r["Type"]:
            case "AWS::KMS::Key":
                for statement in p["KeyPolicy"]["Statement"]:
                    statement["Action"].reverse()
            case "AWS::SQS::Queue":
                p["SqsManagedSseEnabled"] = "true"
            case "AWS::Lambda::EventSourceMapping":
                p["MaximumRetryAttempts"] = "3"
                p["FunctionName"] = {"Fn::GetAtt": [p["FunctionName"]["Ref"], "Arn"]}
            case "AWS::CloudWatch::Alarm":
                p["Threshold"], p["ActionsEnabled"] = str(p["Threshold"]), "true"
                for query in p["Metrics"]:
                    for d in query.get("MetricStat", {}).get("Metric", {}).get("Dimensions", []):
                        d["Value"] = {"Ref": names[d["Value"]]} if d["Value"] in names else d["Value"]
    return t


def test_the_same_in_other_words_accuses_nobody(templates: dict[str, Json]) -> None:
    for placed in PLACES:
        findings = judged(placed, _say_it_otherwise(copy.deepcopy(templates[placed.id])))
        assert [f for f in findings if f.outcome in (Outcome.FAIL, Outcome.UNKNOWN)] == []


def test_a_name_written_with_functions_is_read_where_it_can_be(templates: dict[str, Json]) -> None:
    placed, template = orders(templates)
    table(template)["Properties"]["TableName"] = {"Fn::Join": ["-", ["orders", {"Fn::Sub": "production"}]]}
    assert failed(judged(placed, template)) == set()


def test_a_rule_that_crashes_has_failed(templates: dict[str, Json], monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(_: TableSubject) -> Any:
        raise RuntimeError("oops")

    checks = (Check(TableSubject, crash),)
    broken = Rule(id="HF999", title="", why="", remediation="", severity=Severity.LOW, checks=checks)
    monkeypatch.setattr("holdfast.rules.POLICY", (broken,))
    placed, template = orders(templates)
    found = [f for f in judged(placed, template) if f.rule is broken]
    assert [(f.table, f.outcome) for f in found] == [(n, Outcome.FAIL) for n in tables(template).values()]
    assert all("oops" in f.detail for f in found)


def test_what_to_do_about_recovery_asks_for_the_days_of_the_policy(templates: dict[str, Json]) -> None:
    placed, template = orders(templates)
    del table(template)["Properties"]["PointInTimeRecoverySpecification"]
    (found,) = [f for f in judged(placed, template) if f.outcome is Outcome.FAIL]
    assert (found.rule.id, "RecoveryPeriodInDays=14 " in found.fix) == ("HF004", True)
    (foreign,) = [
        f for f in judge_foreign(seen(placed, template), {}, ESTATE.policy) if f.outcome is Outcome.FAIL and f.table
    ]
    assert (foreign.rule.id, "RecoveryPeriodInDays=14 " in foreign.fix) == ("HF004", True)


# The rules themselves


def test_ids_are_unique_sorted_and_never_dropped() -> None:
    """A new rule takes the next id of its hundred; the one that goes is written into former.py."""
    ids = [r.id for r in RULES]
    assert ids == sorted(set(ids))
    known = {
        f"HF{n // 100 * 100 + k:03}" for n in (15, 109, 212, 312, 418, 535, 617, 705) for k in range(1, n % 100 + 1)
    }
    assert known - {"HF509"} <= {*ids, *FORMER}


def test_former_ids_lead_to_rules_of_today() -> None:
    assert FORMER.isdisjoint(BY_ID)
    assert {current(id_) for id_ in FORMER} <= BY_ID.keys()


# Words that say less than they seem to: what holds and what to do can be said without them.
VAGUE = re.compile(r"\b((no|some|any|every)body|whoever|(is|are) no)\b", re.IGNORECASE)


def test_titles_are_unique_and_plain() -> None:
    assert len({r.title for r in RULES}) == len(RULES)
    said = {r.id: [m[0] for text in (r.title, r.why, r.remediation) for m in VAGUE.finditer(text)] for r in RULES}
    assert {id_: words for id_, words in said.items() if words} == {}


def test_every_guard_has_a_rule_that_stands_for_it() -> None:
    assert {guard: rule.id for guard, rule in GUARDING.items()} == {
        Guard.DELETION_PROTECTION: "HF001",
        Guard.RETAIN: "HF002",
        Guard.PITR: "HF004",
        Guard.TTL: "HF006",
        Guard.CUSTOMER_KEY: "HF007",
        Guard.TAGS: "HF010",
        Guard.ALARMS: "HF205",
    }
    assert len({g.label for g in Guard}) == len({g.short for g in Guard}) == len(GUARDING) == len(Guard)


def test_every_rule_says_what_why_and_how() -> None:
    for rule in RULES:
        assert rule.title
        assert len(rule.why) > 40
        assert rule.remediation
        rule.remediation.format(table="t", stack="s", region="r", ttl="x", days=7)


def test_unverified_controls_are_not_cited() -> None:
    """NIST's list for Security Hub DynamoDB.6 was never read: better none than a wrong one."""
    (protection,) = [r for r in RULES if r.id == "HF001"]
    assert not [c for c in protection.controls if c.startswith("NIST")]


# The command


def test_check_passes_on_what_is_synthesized(
    outdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a repository without contracts, where the rules judge alone."""
    monkeypatch.chdir(project(tmp_path))
    code, out, err = run(capsys, "check", str(outdir))
    assert (code, out) == (0, "")
    assert err.splitlines()[-1].startswith(f"{count()} stores, {len(PLACES)} stacks: 0 failed, 0 unknown, ")
