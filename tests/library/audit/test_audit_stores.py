"""Databases, caches, brokers and buckets in an audit: where intent, deployed and live part, and who else is there."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from live_stores import PLACED, door, look
from shop import LIVE
from support import ROOT, Json

from holdfast.audit.audit import Audit
from holdfast.audit.seen import NOT_APPLIED
from holdfast.cfn.template import StackSeen
from holdfast.model.located import declarations
from holdfast.rules import STORE_RULES
from holdfast.rules.base import Finding
from holdfast.shared.account import Account, StackLive, Stores, StoreSeen
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome

DATABASE, BUCKET, CACHE, BROKER = "shop-live", "shop-files-live", "shop-cache-live", "shop-events-live"


def one(found: Audit, rule: str, table: str | None) -> Finding:
    (only,) = [f for f in found.findings if f.rule.id == rule and f.table == table]
    return only


def failed(found: Audit) -> set[tuple[str, str | None]]:
    return {(f.rule.id, f.table) for f in found.findings if f.outcome is Outcome.FAIL}


def unprotected() -> Account:
    """The account after somebody switched the database's deletion protection off."""
    changed = door()

    def switch_off(answer: Json) -> None:
        for instance in answer["DBInstances"]:
            instance["DeletionProtection"] = False

    changed.changed["rds:DescribeDBInstances"] = switch_off
    return changed.read()


def redeployed(seen: Account, **properties: object) -> Account:
    """``seen`` as if the template had been deployed with other properties of the database; None takes one out."""
    assert isinstance(seen.stacks, dict)
    stack = seen.stacks[PLACED.name]
    assert isinstance(stack.seen, StackSeen)
    template = copy.deepcopy(dict(stack.seen.template))
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::RDS::DBInstance":
            resource["Properties"].update(properties)
    return with_stack(seen, replace(stack, seen=replace(stack.seen, template=template)))


def with_stack(seen: Account, stack: StackLive | None) -> Account:
    assert isinstance(seen.stacks, dict)
    return replace(seen, stacks={**seen.stacks, PLACED.name: stack} if stack else {})


def test_what_is_switched_off_by_hand_shows_all_three_columns_and_its_age() -> None:
    declared = declarations(ROOT / "tests" / "library" / "shop.py")
    found = one(look(unprotected(), declared=declared), "HF001", DATABASE)
    assert found.gap is not None
    assert (found.gap.intent, found.gap.deployed, found.gap.live) == ("as declared", "on", "off")
    assert found.gap.says == NOT_APPLIED
    assert found.gap.updated is not None
    assert found.declared is not None
    assert found.declared.startswith("shop.py:")
    call = "aws rds modify-db-instance --db-instance-identifier shop-live --deletion-protection --region eu-west-1"
    assert found.fix == call  # test_advice.py runs it


def test_what_was_never_deployed_is_told_from_what_was_changed_by_hand() -> None:
    found = one(look(redeployed(unprotected(), DeletionProtection=False)), "HF001", DATABASE)
    assert found.gap is not None
    assert (found.gap.deployed, found.gap.live) == ("off", "off")
    assert found.gap.says == "intended, never deployed"


def test_a_template_that_lags_behind_the_live_store_fails_because_the_next_deploy_works_from_it() -> None:
    found = one(look(redeployed(door().read(), DeletionProtection=False)), "HF001", DATABASE)
    assert found.outcome is Outcome.FAIL
    assert found.source.value == "deployed"
    assert found.gap is not None
    assert (found.gap.deployed, found.gap.live) == ("off", "on")


def test_a_store_without_its_stack_is_judged_all_the_same() -> None:
    alone = with_stack(unprotected(), None)
    found = look(alone)
    assert one(found, "HF201", DATABASE).detail == "it is live, and its stack Stores-live is not there"
    lost = one(found, "HF001", DATABASE)
    assert lost.gap is not None
    assert (lost.gap.deployed, lost.gap.live) == ("in no stack", "off")


def test_a_store_that_is_gone_is_one_finding() -> None:
    seen = door().read()
    assert seen.stores is not None
    left = {k: v for k, v in seen.stores.found.items() if k[2] != DATABASE}
    found = look(replace(seen, stores=replace(seen.stores, found=left)))
    assert {rule for rule, table in failed(found) if table == DATABASE} == {"HF201"}
    assert "it was deleted outside of CloudFormation" in one(found, "HF201", DATABASE).detail


def test_a_stack_that_is_not_to_be_deployed_yet_misses_no_store() -> None:
    later = replace(PLACED, stack=replace(PLACED.stack, undeployed=(LIVE,)))
    nothing = replace(with_stack(door().read(), None), stores=Stores(found={}))
    found = look(nothing, placed=later)
    assert failed(found) == set()
    assert one(found, "HF201", DATABASE).outcome is Outcome.EXEMPT


def test_templates_that_cannot_be_read_leave_stores_unknown_and_never_missing() -> None:
    unread = replace(door().read(), stacks=Unknown("not allowed"))
    found = look(unread)
    assert failed(found) == set()
    assert one(found, "HF201", DATABASE).outcome is Outcome.UNKNOWN
    assert one(found, "HF001", DATABASE).outcome is Outcome.PASS  # the live one can be judged


def test_an_account_whose_stores_nobody_read_is_judged_by_its_templates() -> None:
    found = look(replace(unprotected(), stores=None))
    assert failed(found) == set()
    assert one(found, "HF001", DATABASE).source.value == "deployed"


def test_of_two_accounts_the_one_that_has_the_store_speaks() -> None:
    here = unprotected()
    elsewhere = replace(here, id="000000000001", stacks={}, stores=Stores(found={}))
    for accounts in ((here, elsewhere), (elsewhere, here)):
        assert failed(look(*accounts)) == {("HF001", DATABASE)}


def test_what_cannot_be_read_of_a_store_does_not_hide_what_its_template_lacks() -> None:
    seen = redeployed(door().read(), DeletionProtection=False)
    assert seen.stores is not None
    key = next(k for k in seen.stores.found if k[2] == DATABASE)
    unread = replace(seen.stores, found={**seen.stores.found, key: Unknown("not allowed")})
    found = look(replace(seen, stores=unread))
    assert failed(found) == {("HF001", DATABASE)}
    assert one(found, "HF201", DATABASE).outcome is Outcome.UNKNOWN


def test_a_store_that_cannot_be_read_passes_no_rule_on_the_word_of_its_template() -> None:
    seen = door().read()
    assert seen.stores is not None
    key = next(k for k in seen.stores.found if k[2] == DATABASE)
    unread = replace(seen.stores, found={**seen.stores.found, key: Unknown("not allowed")})
    found = look(replace(seen, stores=unread))
    live = {r.id for r in STORE_RULES if not r.only_deployed}
    judged = {f.rule.id: f.outcome for f in found.findings if f.table == DATABASE and f.rule.id in live}
    assert set(judged.values()) == {Outcome.UNKNOWN, Outcome.EXEMPT}
    assert judged["HF001"] is judged["HF007"] is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("deleting", Outcome.FAIL),
        ("inaccessible-encryption-credentials-recoverable", Outcome.FAIL),
        ("failed", Outcome.FAIL),
        ("restore-error", Outcome.FAIL),
        ("incompatible-restore", Outcome.FAIL),
        ("creating", Outcome.UNKNOWN),
        ("backing-up", Outcome.PASS),
    ],
)
def test_a_database_that_nobody_can_read_is_not_live(status: str, outcome: Outcome) -> None:
    seen = door().read()
    assert seen.stores is not None
    key, store = next((k, s) for k, s in seen.stores.found.items() if k[2] == DATABASE)
    assert isinstance(store, StoreSeen)
    assert store.status == "available"
    broken = replace(seen.stores, found={**seen.stores.found, key: replace(store, status=status)})
    assert one(look(replace(seen, stores=broken)), "HF201", DATABASE).outcome is outcome


@pytest.mark.parametrize(
    ("name", "operation", "listed", "member", "states"),
    [
        (
            DATABASE,
            "rds:DescribeDBInstances",
            "DBInstances",
            "DBInstanceStatus",
            {
                Outcome.FAIL: (
                    "stopped",
                    "stopping",
                    "storage-full",
                    "incompatible-parameters",
                    "incompatible-network",
                ),
                Outcome.UNKNOWN: ("starting", "unheard-of", "", None),
                Outcome.PASS: ("modifying", "storage-optimization"),
            },
        ),
        (
            BROKER,
            "kafka:ListClusters",
            "ClusterInfoList",
            "State",
            {Outcome.FAIL: ("FAILED", "DELETING"), Outcome.UNKNOWN: ("NEW_STATE", None), Outcome.PASS: ("HEALING",)},
        ),
        (
            CACHE,
            "elasticache:DescribeReplicationGroups",
            "ReplicationGroups",
            "Status",
            {
                Outcome.FAIL: ("deleting", "create-failed"),
                Outcome.UNKNOWN: ("new", None),
                Outcome.PASS: ("snapshotting",),
            },
        ),
    ],
)
def test_l11_a_store_that_does_not_work_is_not_live_and_a_state_that_is_not_known_is_unknown(
    name: str, operation: str, listed: str, member: str, states: dict[Outcome, tuple[str | None, ...]]
) -> None:
    for outcome, status in ((o, s) for o, every in states.items() for s in every):

        def change(answer: Json, status: str | None = status) -> None:
            for item in answer[listed]:
                item[member] = status

        changed = door()
        changed.changed[operation] = change
        found = one(look(changed.read()), "HF201", name)
        assert found.outcome is outcome, status
        assert outcome is Outcome.PASS or (status or member) in found.detail


# Who else is there


def test_a_store_with_our_tags_that_nobody_declared_is_named_at_low_severity() -> None:
    seen = door().read()
    assert seen.stores is not None
    assert isinstance(seen.stores.tagged, dict)
    assert seen.stores.tagged  # the declared ones wear them, and are no strangers
    tags = next(iter(seen.stores.tagged.values()))
    copies = {
        "arn:aws:rds:eu-west-1:000000000000:db:shop-live-copy": tags,
        "arn:aws:kafka:eu-west-1:000000000000:cluster/shop-events-old/0-1": tags,
    }
    found = look(replace(seen, stores=replace(seen.stores, tagged={**seen.stores.tagged, **copies})))
    assert failed(found) == {("HF617", "shop-live-copy"), ("HF617", "shop-events-old")}
    assert {f.rule.severity.value for f in found.findings if f.outcome is Outcome.FAIL} == {"low"}
    detail = one(found, "HF617", "shop-live-copy").detail  # in the policy's own tags
    assert detail == "it is tagged as shop's, owned by platform-team, and declared nowhere"


def test_stores_of_others_are_none_of_our_business() -> None:
    """A database without our tags is listed by RDS, and nobody hears of it."""
    others = door()

    def add(answer: Json) -> None:
        answer["DBInstances"].append({"DBInstanceIdentifier": "theirs", "DBInstanceArn": "arn:x", "TagList": []})

    others.changed["rds:DescribeDBInstances"] = add
    assert failed(look(others.read())) == set()
