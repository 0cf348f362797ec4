"""Every command that a finding prints is run here, in the state that the finding describes, and does what it says."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from accounts import template
from botocore import xform_name
from declare import estate
from emulator import Aws, fresh_account
from live_account import log_in
from mutants import MUTATIONS, mutants, tables
from support import MOMENTS, ROOT, Json

from holdfast.advice import logical_id
from holdfast.audit import Audit, audit
from holdfast.audit_stores import PROTECT
from holdfast.cli import _parser, main
from holdfast.errors import InputError
from holdfast.live.calls import AUDIT
from holdfast.live.options import Options
from holdfast.live.reader import read
from holdfast.live.session import Api, apis
from holdfast.local.client import Client
from holdfast.report import FORMATS, render
from holdfast.rules import RULES
from holdfast.rules.base import Finding, Outcome
from holdfast.rules.live import IMPORT
from stacks import ESTATE, incident

PLACES = {p.id: p for p in ESTATE.placements()}
NOW = MOMENTS["night"]
LEADS, RINGS, ORPHANS = "LeadTrackingStack-prod", "RCSubscription-prod-Storage", "ConnectionServiceStack-prod"
CALLS = "CallAnalytics-Prod-Storage"
IDEMPOTENCY = "rc-subscription-prod-idempotency"
BROKEN = ("LeadTracking-v2-us-east-1", IDEMPOTENCY, "ConnectionService-Organizations-prod")
PRINTED = re.compile(r"`((?:aws|cdk|holdfast) [^`]*)`|\b((?:aws|holdfast) [a-z-]+ [^;`]*)")
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


def commands(text: str) -> list[str]:
    return [(ticked or bare).strip() for ticked, bare in PRINTED.findall(text)]


# An account, and what the audit says of it


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    found = fresh_account()
    log_in(monkeypatch, found)
    return found


def look(aws: Aws, id_: str) -> tuple[Audit, list[Any]]:
    placed = PLACES[id_]
    seen = read(_door(aws, placed.region), now=NOW, names={placed.fill(t.name) for t in placed.tables}, places=[placed])
    return audit(estate(placed.stack), [seen], [placed.env], now=NOW), [seen]


@cache
def _door(aws: Aws, region: str) -> Api:
    """An account is looked at several times, and a session is slow to make."""
    (found,) = apis(Options(regions=(region,), endpoint_url=aws.endpoint), AUDIT)
    return found


def failed(found: Audit) -> list[Finding]:
    return [f for f in found.findings if f.outcome is Outcome.FAIL and f.rule.id not in IGNORED]


def deploy(aws: Aws, id_: str, document: Json | None = None, *, name: str | None = None) -> None:
    placed = PLACES[id_]
    aws.deploy(name or placed.name, document or template(id_), placed.region)
    aws.client("cloudformation", placed.region).update_termination_protection(
        StackName=name or placed.name, EnableTerminationProtection=True
    )


# The commands


def run(aws: Aws, id_: str, command: str) -> None:
    """One printed command; whatever refuses it fails the test."""
    words = shlex.split(command)
    if words[0] == "aws":
        call(aws, words[1:])
    elif words[0] == "holdfast":
        shown = [line for line in holdfast(aws, words[1:]).splitlines() if line.startswith("aws ")]
        assert shown, command
        for line in shown:
            call(aws, shlex.split(line)[1:])
    else:
        # The CLI itself: test_e2e.py.
        assert command == f"cdk deploy -c env={PLACES[id_].env.label} {id_}"
        deploy(aws, id_)


def holdfast(aws: Aws, words: list[str]) -> str:
    """What a printed command shows, with the account options that this audit has."""
    told = ["--consumers-have-the-key"] if "HF007" in words else []
    estate = ["--estate", "stacks:ESTATE"]
    with redirect_stdout(StringIO()) as shown:
        assert main([*words, *told, *estate, "--endpoint-url", aws.endpoint, "--account", aws.account], now=NOW) == 1
    return shown.getvalue()


def call(aws: Aws, words: list[str]) -> None:
    """A line for the AWS CLI as the call that it makes, by the service's own model."""
    region = words[words.index("--region") + 1]
    client = aws.client(words[0], region)
    (operation,) = [o for o in client.meta.service_model.operation_names if xform_name(o, "-") == words[1]]
    members = client.meta.service_model.operation_model(operation).input_shape.members
    options = {xform_name(name, "-"): (name, shape) for name, shape in members.items()}
    given: dict[str, list[str]] = {}
    for word in words[2:]:
        if word.startswith("--"):
            given[word[2:]] = []
        else:
            given[list(given)[-1]].append(word)
    del given["region"]
    assert given.pop("endpoint-url", [aws.endpoint]) == [aws.endpoint]
    client._make_api_call(operation, {options[n][0]: _value(options[n][1], texts) for n, texts in given.items()})


def _value(shape: Any, texts: list[str]) -> Any:
    match shape.type_name:
        case "boolean":
            return not texts or texts == ["true"]
        case "structure":
            parts = dict(part.split("=", 1) for part in texts[0].split(","))
            return {name: _value(shape.members[name], [text]) for name, text in parts.items()}
        case "list":
            return [_value(shape.member, [text]) for text in texts]
        case "integer" | "long":
            return int(texts[0])
        case _:
            return texts[0]


def tidy(document: Json) -> None:
    """DynamoDB refuses attributes that no key uses; a mutation does not care."""
    for resource in document["Resources"].values():
        if resource["Type"] == "AWS::DynamoDB::Table":
            p = resource["Properties"]
            keys = (p["KeySchema"], *(i["KeySchema"] for i in p.get("GlobalSecondaryIndexes", ())))
            used = {k["AttributeName"] for key in keys for k in key}
            p["AttributeDefinitions"] = [a for a in p["AttributeDefinitions"] if a["AttributeName"] in used]


# A template that lost something, and was deployed so


def _deployable() -> Iterator[Any]:
    for id_, wanted in (
        (LEADS, MUTATIONS),
        (RINGS, ("ttl_removed", "ttl_off", "ttl_renamed")),
        (ORPHANS, ("stream_removed",)),
    ):
        logical = next(i for i, name in tables(template(id_)).items() if name in BROKEN)
        for name, mutant in mutants(template(id_), logical):
            if name in wanted and not LEFT_OUT.fullmatch(name):
                tidy(mutant)
                yield pytest.param(id_, mutant, id=f"{id_} {name}")


@pytest.mark.parametrize(("id_", "mutant"), list(_deployable()))
def test_what_was_deployed_so_is_repaired_by_what_is_printed_or_cannot_be_deployed(
    aws: Aws, id_: str, mutant: Json
) -> None:
    """Where a deploy is advised it works and nothing is left; where one is said to fail, it fails."""
    deploy(aws, id_, mutant)
    before = failed(look(aws, id_)[0])
    printed = dict.fromkeys(c for f in before for c in commands(f.fix))
    for command in printed:
        run(aws, id_, command)
    if any(c.startswith("cdk deploy") for c in printed):
        assert failed(look(aws, id_)[0]) == []
    elif any(HINDERED.search(f.fix) for f in before):
        with pytest.raises(InputError):
            deploy(aws, id_)


def recovery(**wanted: Any) -> Json:
    return {"PointInTimeRecoverySpecification": wanted}


# What was right in the template and is not live: changed since, or imported and never applied


DAMAGES: dict[str, tuple[str, str, str, Json]] = {
    "HF001": (LEADS, "dynamodb", "update_table", {"DeletionProtectionEnabled": False}),
    "HF004": (LEADS, "dynamodb", "update_continuous_backups", recovery(PointInTimeRecoveryEnabled=False)),
    "HF004 days": (
        LEADS,
        "dynamodb",
        "update_continuous_backups",
        recovery(PointInTimeRecoveryEnabled=True, RecoveryPeriodInDays=7),
    ),
    "HF006": (
        RINGS,
        "dynamodb",
        "update_time_to_live",
        {"TimeToLiveSpecification": {"Enabled": False, "AttributeName": "expiration"}},
    ),
    "HF007": (LEADS, "dynamodb", "update_table", {"SSESpecification": {"Enabled": False}}),
    "HF010": (LEADS, "dynamodb", "untag_resource", {"TagKeys": ["Owner", "DataClass"]}),
    "HF013": (LEADS, "cloudformation", "update_termination_protection", {"EnableTerminationProtection": False}),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_off_on_a_live_table_is_turned_on_by_the_call_that_is_printed(aws: Aws, damage: str) -> None:
    id_, service, operation, request = DAMAGES[damage]
    deploy(aws, id_)
    table = next(name for name in tables(template(id_)).values() if name in BROKEN)
    api = aws.client(service)
    target = {"TableName": table} if service == "dynamodb" else {"StackName": PLACES[id_].name}
    if operation == "untag_resource":
        target = {"ResourceArn": api.describe_table(TableName=table)["Table"]["TableArn"]}
    getattr(api, operation)(**target, **request)
    before = failed(look(aws, id_)[0])
    assert {f.rule.id for f in before} == {damage.split()[0]}
    (command,) = {c for f in before for c in commands(f.fix)}
    run(aws, id_, command)
    assert failed(look(aws, id_)[0]) == []


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
    aws.client("dynamodb").update_time_to_live(TableName=IDEMPOTENCY, TimeToLiveSpecification=wanted)


@pytest.mark.parametrize("mutation", ["ttl_renamed", "ttl_removed", "ttl_off"])
def test_no_deploy_is_advised_before_a_ttl_by_another_attribute_is_off(aws: Aws, mutation: str) -> None:
    logical = next(i for i, name in tables(template(RINGS)).items() if name == IDEMPOTENCY)
    mutant = dict(mutants(template(RINGS), logical))[mutation]
    for other in tables(mutant).keys() - {logical}:
        mutant["Resources"][other]["Properties"]["DeletionProtectionEnabled"] = False
    deploy(aws, RINGS, mutant)
    if mutation != "ttl_renamed":
        expire(aws, "expires", on=True)
    before = failed(look(aws, RINGS)[0])
    assert {f.rule.id for f in before if f.table == IDEMPOTENCY} == {"HF006"}
    assert {f.rule.id for f in before if f.table != IDEMPOTENCY} == {"HF001"}
    assert all("DynamoDB does not change the attribute of a TTL that is on" in f.fix for f in before)
    assert not any("cdk deploy" in f.fix for f in before)
    with pytest.raises(InputError, match="active on a different AttributeName"):
        deploy(aws, RINGS)
    expire(aws, "expires", on=False)
    deploy(aws, RINGS)
    assert failed(look(aws, RINGS)[0]) == []


# What a deploy does to the other tables of its stack


def weakened(id_: str, wanted: dict[str, str]) -> Json:
    """The template of a stack after one mutation of each table that is named by the end of its name."""
    document = template(id_)
    for end, mutation in wanted.items():
        logical = next(i for i, name in tables(document).items() if name.endswith(end))
        document = dict(mutants(document, logical))[mutation]
    return document


def test_every_deploy_that_moves_a_table_to_a_new_key_says_what_its_users_need_first(aws: Aws) -> None:
    lost = {"call-events-us-east-1": "key_to_aws_managed", "config-us-east-1": "deletion_protection_off"}
    deploy(aws, CALLS, weakened(CALLS, lost))
    config = next(name for name in tables(template(CALLS)).values() if name.endswith("config-us-east-1"))
    # As intended by hand, so that the template alone is behind.
    aws.client("dynamodb").update_table(TableName=config, DeletionProtectionEnabled=True)
    behind = failed(look(aws, CALLS)[0])
    aws.client("dynamodb").update_table(TableName=config, DeletionProtectionEnabled=False)
    off = failed(look(aws, CALLS)[0])
    assert {f.rule.id for f in (*behind, *off)} == {"HF001", "HF007", "HF615"}
    for found in (*behind, *off):
        assert "cdk deploy" in found.fix
        assert "whoever uses call-analytics-prod-call-events-us-east-1 needs kms:Decrypt" in found.fix


@pytest.mark.parametrize("changed", [True, False])
def test_a_deploy_is_advised_beside_a_missing_table_only_if_it_leaves_that_alone(aws: Aws, changed: bool) -> None:
    lost = {"webhook-subscriptions": "deletion_protection_off"} | ({"idempotency": "ttl_removed"} if changed else {})
    deploy(aws, RINGS, weakened(RINGS, lost))
    aws.client("dynamodb").delete_table(TableName=IDEMPOTENCY)
    (beside,) = [f for f in failed(look(aws, RINGS)[0]) if f.table != IDEMPOTENCY]
    assert ("cdk deploy" in beside.fix) is not changed
    if changed:
        assert f"would try to change {IDEMPOTENCY}, which is not there, and fail" in beside.fix
        with pytest.raises(InputError, match=f"Table: {IDEMPOTENCY} not found"):
            deploy(aws, RINGS)
    else:
        deploy(aws, RINGS)
        assert {f.rule.id for f in failed(look(aws, RINGS)[0])} == {"HF601"}


# What exists where a deploy would try to create it


def bare(id_: str, *, prefix: str = "") -> Json:
    """A stack as it was before anybody protected it, its tables under other logical ids where a prefix is given."""
    text = json.dumps(template(id_))
    for logical in tables(template(id_)):
        text = text.replace(logical, prefix + logical)
    document: Json = json.loads(text)
    for logical in tables(document):
        p = document["Resources"][logical]["Properties"]
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
    document = bare(id_)
    for logical in tables(document):
        document["Resources"][logical]["DeletionPolicy"] = "Retain"
    aws.deploy("Gone", document, PLACES[id_].region)
    aws.client("cloudformation").delete_stack(StackName="Gone")


@pytest.mark.parametrize("place", [renamed, elsewhere, nowhere])
@pytest.mark.parametrize("id_", [LEADS, RINGS])
def test_no_deploy_is_advised_where_the_table_exists_and_would_be_created(
    aws: Aws, id_: str, place: Callable[[Aws, str], None]
) -> None:
    place(aws, id_)
    found = look(aws, id_)[0]
    before = failed(found)
    assert {"HF001", "HF004", "HF010"} <= {f.rule.id for f in before}
    for form in FORMATS:
        text = render(form, before, command="audit", env="prod", everything=False, colour=False, audit=found)
        assert not TOLD.search(text), form
    assert all(IMPORT in f.fix for f in before if f.table and f.gap)
    printed = dict.fromkeys(c for f in before for c in commands(f.fix))
    for command in printed:
        run(aws, id_, command)
    left = {f.rule.id for f in failed(look(aws, id_)[0])}
    assert not left & {"HF001", "HF004", "HF006", "HF010", "HF013"}
    with pytest.raises(InputError, match="already exists"):
        deploy(aws, id_)


def test_the_documented_incident_advises_no_deploy_that_fails_and_every_command_of_it_works(
    aws: Aws, outdir: Path, tmp_path: Path
) -> None:
    """Some tables stand under other logical ids or in another stack, some in none, some as declared."""
    estate = shutil.copytree(outdir, tmp_path / "cdk.out")
    for id_ in ("CallAnalytics-Prod-Storage", "OrangeTheoryStack-prod"):
        file = estate / f"{id_}.template.json"
        text = file.read_text()
        for logical in tables(json.loads(text)):
            text = text.replace(logical, f"Old{logical}")
        file.write_text(text)
    manifest = json.loads((estate / "manifest.json").read_text())
    manifest["artifacts"][RINGS]["properties"]["stackName"] = "OldSubscriptions"
    (estate / "manifest.json").write_text(json.dumps(manifest))
    incident.inject(Client(emulator=aws.emulator, account=aws.account), estate, now=NOW)
    names = {p.fill(t.name) for p in PLACES.values() for t in p.tables}
    regions = dict.fromkeys(p.region for p in PLACES.values())
    accounts = [read(_door(aws, region), now=NOW, names=names, places=list(PLACES.values())) for region in regions]
    found = audit(ESTATE, accounts, ESTATE.environments, now=NOW)
    before = [f for f in found.findings if f.outcome is Outcome.FAIL]
    for form in FORMATS:
        text = render(form, before, command="audit", env="all", everything=False, colour=False, audit=found)
        assert set(re.findall(r"cdk \w+[^`&]*", text)) == {f"cdk deploy -c env=prod {LEADS}"}, form
    ids = {(p.name, p.env.label): p.id for p in PLACES.values()}
    for command, id_ in {c: ids[f.stack, f.environment or ""] for f in before for c in commands(f.fix)}.items():
        run(aws, id_, command)


def test_a_template_in_yaml_is_named_as_such_and_nothing_is_advised_from_it(aws: Aws) -> None:
    """What `cdk import` leaves behind."""
    placed = PLACES[RINGS]
    formation = aws.client("cloudformation")
    formation.create_stack(StackName=placed.name, TemplateBody=yaml.safe_dump(template(RINGS)))
    formation.get_waiter("stack_create_complete").wait(StackName=placed.name, WaiterConfig={"Delay": 1})
    found = look(aws, RINGS)[0]
    unread = [f.detail for f in found.findings if f.outcome is Outcome.UNKNOWN]
    assert unread
    assert all("its template is YAML, and only JSON is read" in detail for detail in unread)
    assert not any(TOLD.search(f.fix) for f in found.findings)


# The words


def test_the_logical_id_of_every_table_is_known_without_cdk() -> None:
    made = {(id_, name): logical for id_ in PLACES for logical, name in tables(template(id_)).items()}
    assert made == {(p.id, p.fill(t.name)): logical_id(t) for p in PLACES.values() for t in p.tables}


def test_the_words_of_a_rule_hold_no_command_that_was_not_run() -> None:
    """What a rule says in general, before an audit knows more: its calls are those that were run above."""
    printed = {rule.id: commands(rule.remediation) for rule in RULES if commands(rule.remediation)}
    calls = {rule for rule, found in printed.items() if any(c.startswith("aws ") for c in found)}
    assert calls <= DAMAGES.keys()
    assert not [rule for rule, found in printed.items() if any(c.startswith("cdk ") for c in found)]
    for found in printed.values():
        for command in found:
            assert "<" not in command
            if command.startswith("holdfast "):
                _parser().parse_args(shlex.split(command)[1:])


def test_no_page_tells_to_import() -> None:
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("stacks/*.py")):
        told = re.findall(r"[^.]*`cdk import[^.]*", page.read_text(encoding="utf-8"))
        assert all("fails" in sentence for sentence in told), page
