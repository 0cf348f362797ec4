"""The rules for databases, caches, brokers and buckets: every lost guard is heard of, under its rule, by its name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from declare import on_aurora
from mutants import differing
from rule_mutants import seen
from shop import BACKUPS, ESTATE, LIVE, STORES, alone
from shop_synth import synth
from store_mutants import BESIDE, MUTATIONS, mutants, stack_mutants
from support import Json

from holdfast import Broker, Bucket, Data, Database, DeclarationError, DocumentDatabase, RowUpkeep, Tier
from holdfast.estate.placement import Placed
from holdfast.kinds.kinds import find
from holdfast.model.store import Store
from holdfast.rules import ACTIONABLE, BY_ID, judge
from holdfast.rules.base import Finding
from holdfast.rules.former import CONTRACT
from holdfast.verdict import Outcome

PLACES = [p for p in ESTATE.placements() if p.stores]


def _other(placed: Placed) -> Placed:
    """Another engine and another prefix of topics, declared."""
    stack = on_aurora(placed.stack)
    stores = tuple(replace(s, prefix="acme") if isinstance(s, Broker) else s for s in stack.stores)
    return Placed(replace(stack, stores=stores), placed.env)


OTHERS = [_other(p) for p in PLACES]
# One resource serves several stores: a change to it is heard of for each of them, and for the group or key itself.
OF_ACCESS_LOGS = {name for name in MUTATIONS if name.startswith("access logs ")}
SHARED = {"HF202", "HF503", "HF513", "HF205"}


def judged(placed: Placed, template: Json) -> list[Finding]:
    findings = judge(alone(placed.stack), [seen(placed, template)], [placed.env], today=date(2026, 11, 16))
    return [f for f in findings if f.outcome in ACTIONABLE]


def stores(placed: Placed, template: Json) -> Iterator[tuple[Store, str]]:
    for store in placed.stores:
        if isinstance(found := find(seen(placed, template), placed, store), str):
            yield store, found


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """The stacks as OTHERS declares them."""
    return synth(alone(*{p.stack.id: p.stack for p in OTHERS}.values()), tmp_path_factory.mktemp("others"))


@pytest.mark.parametrize("placed", PLACES, ids=lambda p: p.id)
def test_nothing_is_said_about_what_is_as_declared(placed: Placed, templates: dict[str, Json]) -> None:
    assert judged(placed, templates[placed.id]) == []


@pytest.mark.parametrize("placed", OTHERS, ids=lambda p: p.id)
def test_nothing_is_said_about_another_engine_and_another_prefix_that_are_declared(
    placed: Placed, others: dict[str, Json]
) -> None:
    assert judged(placed, others[placed.id]) == []


@pytest.mark.parametrize("placed", PLACES, ids=lambda p: p.id)
def test_another_engine_and_another_prefix_than_the_declared_ones_are_found(
    placed: Placed, others: dict[str, Json]
) -> None:
    found = {(f.rule.id, f.table) for f in judged(placed, others[placed.id])}
    kinds = {Database: "HF527", Broker: "HF532"}
    wanted = {(kinds[type(s)], placed.fill(s.name)) for s in placed.stores if type(s) in kinds}
    assert wanted <= found


@pytest.mark.parametrize(("place", "other"), list(zip(PLACES, OTHERS, strict=True)), ids=[p.id for p in PLACES])
def test_every_lost_guard_is_heard_of_by_rule_and_name(
    place: Placed, other: Placed, templates: dict[str, Json], others: dict[str, Json]
) -> None:
    changed = Database if place.env.tier is Tier.PROD else ()
    for placed, template, wanted in ((place, templates[place.id], Store), (other, others[place.id], changed)):
        for store, logical_id in stores(placed, template):
            for name, rule, mutant in mutants(template, logical_id) if isinstance(store, wanted) else ():
                findings = judged(placed, mutant)
                own = {f.rule.id for f in findings if f.table == placed.fill(store.name)}
                assert rule in own or (_contract_alone(rule) and _told(placed, template, mutant, store)), (
                    name,
                    store.name,
                )
                if "Transform" in mutant:
                    continue  # that is everybody's trouble
                shared = SHARED | ({"HF529"} if name in OF_ACCESS_LOGS else set())
                accused = {f.table for f in findings if f.table != placed.fill(store.name) and f.rule.id not in shared}
                assert accused <= {None}, (name, store.name, accused)


@pytest.mark.parametrize("placed", PLACES, ids=lambda p: p.id)
def test_every_change_to_what_stands_beside_the_stores_is_heard_of(placed: Placed, templates: dict[str, Json]) -> None:
    tried = set()
    for name, rule, mutant in stack_mutants(templates[placed.id]):
        tried.add(name)
        if _contract_alone(rule):
            assert differing(templates[placed.id], mutant), name
        else:
            assert rule in {f.rule.id for f in judged(placed, mutant)}, name
    assert tried == set(BESIDE)


def _contract_alone(rule: str) -> bool:
    """Whether no policy rule asks for it, so that the contract tells a change of it."""
    return rule == CONTRACT or BY_ID[rule].audited


def _told(placed: Placed, template: Json, mutant: Json, store: Store) -> bool:
    """Whether a difference tells of it: of this store, or of what stands beside the stores."""
    told = differing(template, mutant)
    return bool(told) and (
        placed.fill(store.name) in told or told.isdisjoint(placed.fill(s.name) for s in placed.stores)
    )


def test_every_mutation_applies_somewhere(templates: dict[str, Json], others: dict[str, Json]) -> None:
    untried = dict(MUTATIONS)
    for placed in (p for p in PLACES if p.env.tier is Tier.PROD):
        for template in (templates[placed.id], others[placed.id]):
            for _, logical_id in stores(placed, template):
                copy = json.loads(json.dumps(template))
                for name, (_, mutate) in tuple(untried.items()):
                    if mutate(copy, logical_id):
                        del untried[name]
                        copy = json.loads(json.dumps(template))
                    assert copy == template, f"{name} says that it changed nothing"
    assert list(untried) == []


def test_what_cannot_be_read_is_unknown(templates: dict[str, Json]) -> None:
    """A parameter decides at deploy time: that is neither on nor off."""
    placed = next(p for p in PLACES if p.env.tier is Tier.PROD)
    template = json.loads(json.dumps(templates[placed.id]))
    template["Parameters"] = {"P": {"Type": "String"}}
    database = next(i for store, i in stores(placed, template) if isinstance(store, Database))
    properties = template["Resources"][database]["Properties"]
    for name in ("DeletionProtection", "StorageEncrypted", "BackupRetentionPeriod", "PubliclyAccessible", "MultiAZ"):
        properties[name] = {"Ref": "P"}
    outcomes = {f.rule.id: f.outcome for f in judged(placed, template)}
    assert outcomes == dict.fromkeys(("HF001", "HF004", "HF007", "HF516", "HF518"), Outcome.UNKNOWN)


def test_whatever_stands_where_access_logs_go_is_judged(templates: dict[str, Json]) -> None:
    placed = PLACES[0]
    template = json.loads(json.dumps(templates[placed.id]))
    (bucket, *_) = [r for r in template["Resources"].values() if "LoggingConfiguration" in r.get("Properties", {})]
    bucket["Properties"]["LoggingConfiguration"] = {"DestinationBucketName": {"other": "x"}}
    assert {"HF519", "HF529"} & {f.rule.id for f in judged(placed, template)}


def test_a_store_that_nobody_declared_is_found(templates: dict[str, Json]) -> None:
    placed = PLACES[0]
    template = json.loads(json.dumps(templates[placed.id]))
    template["Resources"]["Rogue"] = {"Type": "AWS::RDS::DBInstance", "Properties": {"DBInstanceIdentifier": "rogue"}}
    assert [(f.rule.id, f.table) for f in judged(placed, template)] == [("HF202", "rogue")]


def test_a_security_group_that_admits_addresses_is_found(templates: dict[str, Json]) -> None:
    placed = PLACES[0]
    template = json.loads(json.dumps(templates[placed.id]))
    template["Resources"]["Wide"] = {
        "Type": "AWS::EC2::SecurityGroup",
        "Properties": {"SecurityGroupIngress": [{"CidrIp": "10.0.0.0/8", "IpProtocol": "tcp"}]},
    }
    assert [(f.rule.id, f.detail) for f in judged(placed, template)] == [("HF503", "it admits 10.0.0.0/8")]


def test_s3_74_the_upkeep_of_rows_is_judged_like_any_other_job(tmp_path: Path) -> None:
    stores = tuple(
        replace(s, upkeep=RowUpkeep(tables=("payment",))) if isinstance(s, Database) else s for s in STORES.stores
    )
    placed = Placed(replace(STORES, stores=stores), LIVE)
    template = synth(alone(placed.stack), tmp_path, "live")[placed.id]
    assert judged(placed, template) == []
    name = "shop-live-upkeep"
    for kind, key, edit, said in (
        ("AWS::Scheduler::Schedule", "Name", {"State": "DISABLED"}, f"the schedule of {name} is switched off"),
        ("AWS::Scheduler::Schedule", "Name", {"Name": "other"}, f"nothing calls {name} at cron(0 5 * * ? *)"),
        ("AWS::Lambda::Function", "FunctionName", {"Handler": "handler.drift"}, f"{name} runs something else"),
    ):
        spoilt = json.loads(json.dumps(template))
        resources = (r for r in spoilt["Resources"].values() if r["Type"] == kind)
        (found,) = (r["Properties"] for r in resources if r["Properties"].get(key) == name)
        found |= edit
        assert said in "; ".join(f.detail for f in judged(placed, spoilt))


def test_a_quota_and_a_user_of_documents_are_made_where_they_are_declared(tmp_path: Path) -> None:
    """And the rules have nothing against them."""
    stores = tuple(
        replace(s, quota_gib=100)
        if isinstance(s, Bucket) and s.name == "shop-files-{env}"
        else replace(s, database="reviews")
        if isinstance(s, DocumentDatabase)
        else s
        for s in STORES.stores
    )
    placed = Placed(replace(STORES, stores=stores), LIVE)
    template = synth(alone(placed.stack), tmp_path, "live")[placed.id]
    assert judged(placed, template) == []
    (quota,) = (r for i, r in template["Resources"].items() if i.startswith("ShopFilesQuota"))
    assert quota["Properties"]["Threshold"] == 100 * 2**30
    (secret,) = (r for r in template["Resources"].values() if r["Type"] == "AWS::SecretsManager::Secret")
    assert json.loads(secret["Properties"]["GenerateSecretString"]["SecretStringTemplate"]) == {
        "username": "reviews_app"
    }


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Bucket(name="abc", purpose="", data=Data.OPERATIONAL, prefixes=(), quota_gib=0), "holds nothing"),
        (
            lambda: DocumentDatabase(name="abc", purpose="", data=Data.OPERATIONAL, backups=BACKUPS, database="a.b"),
            "its database 'a.b' needs 1 to 63 letters",
        ),
    ],
)
def test_a_quota_or_a_database_that_cannot_be_is_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        build()
