"""Every rule has a good case and a bad one, and the test asserts the rule, not only that something is found.

The cases of rules about templates are generated from the places that they name (tests/rule_mutants.py), so that a new
rule touches its own file only. Those of rules about accounts, contracts and waivers are below, and those about
declarations in test_lint.py: a rule without any fails here.
"""

from __future__ import annotations

import copy
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache
from itertools import islice
from typing import Any

import pytest
from accounts import CREATED, NOW, account, changed, deployed, template, with_table, without
from contract_mutants import store_of
from declare import on_aurora
from rule_mutants import OF_STACK, mutants, seen
from schema_cases import TRIGGERS
from shop import DEV, ESTATE, LIVE, alone
from shop_synth import Contracts, synth
from support import ROOT, Json

from holdfast import Broker, Environment, Owner, Provisioned, Stack, Waiver, gsi, key, number
from holdfast.audit.audit import audit
from holdfast.cfn.generate import schemas, tree
from holdfast.cfn.places import OF_RESOURCE
from holdfast.cfn.places import at as places
from holdfast.cfn.template import StackSeen
from holdfast.cfn.types import ALARM
from holdfast.contract.check import Sides, compare
from holdfast.estate.placement import Placed
from holdfast.rules import ACTIONABLE, RULES, verdicts
from holdfast.rules.base import Check, Finding, Rule, Severity
from holdfast.rules.subjects import Resource
from holdfast.rules.waivers import standing
from holdfast.shared.account import Account, IndexUse, Mention, StackLive, Stores, Units, Unreadable
from holdfast.unknown import Unknown
from holdfast.verdict import PASS, Outcome, Verdict, fail

CONTRACTS = Contracts()
OF_TEMPLATES = [rule for rule in RULES if rule.paths]
Shown = list[tuple[Placed, Json]]


@pytest.fixture(scope="module")
def shown(templates: dict[str, Json], tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Stacks of the shop in production; and once more in another way that can be declared, too."""
    stacks = [stack for stack in ESTATE.stacks if stack.id in ("Orders-{env}", "Sessions", "Stores-{env}")]
    owners = tuple(Owner(name=stack.owner, tell=("https://shop.example/alarms",)) for stack in stacks)
    other = replace(alone(*map(_otherwise, stacks)), owners=owners)
    made = synth(other, tmp_path_factory.mktemp("other"))
    return [
        *((p, templates[p.id]) for p in alone(*stacks).placements([LIVE])),
        *((p, made[p.id]) for p in other.placements([LIVE])),
    ]


def _otherwise(stack: Stack) -> Stack:
    """Another engine, another prefix of topics, and capacity that is paid for."""
    stores = tuple(replace(s, prefix="acme") if isinstance(s, Broker) else s for s in on_aurora(stack).stores)
    tables = tuple(t if t.indexes else replace(t, billing=Provisioned(read=5, write=5)) for t in stack.tables)
    return replace(stack, stores=stores, tables=tables)


def said(rule: Rule, placed: Placed, stack: StackSeen) -> list[Finding]:
    return verdicts([placed], [stack], (rule,))


def failed(found: Iterable[Finding]) -> list[Finding]:
    return [f for f in found if f.outcome is Outcome.FAIL]


def good(rule: Rule, shown: Shown) -> bool:
    """Whether a rule says that what is declared and synthesized is well; one that only forbids has nothing to say."""
    found = [f for placed, whole in shown for f in said(rule, placed, seen(placed, whole))]
    outcomes = {f.outcome for f in found}
    return outcomes <= {Outcome.PASS, Outcome.EXEMPT} and (Outcome.PASS in outcomes or rule.forbids)


def bad(rule: Rule, shown: Shown, places: Iterable[str]) -> Iterator[tuple[str | None, Finding]]:
    """The mutants that fail a rule: which store was changed, where one was, and what is found."""
    for placed, whole in shown:
        for place in places:
            for where, _, stack in mutants(place, placed, whole):
                store = store_of(whole["Resources"].get(where))
                yield from ((store, f) for f in failed(said(rule, placed, stack)))


@pytest.mark.parametrize("rule", OF_TEMPLATES, ids=lambda r: r.id)
def test_a_rule_about_templates_passes_what_is_good_and_hears_of_what_is_bad(rule: Rule, shown: Shown) -> None:
    assert good(rule, shown)
    heard = list(islice(bad(rule, shown, rule.paths), 20))
    assert heard
    for store, found in heard:
        assert found.rule is rule
        assert found.detail
        assert found.table == store or not store


@pytest.mark.parametrize("rule", OF_TEMPLATES, ids=lambda r: r.id)
def test_a_rule_reads_every_place_that_it_names(rule: Rule, shown: Shown) -> None:
    """A place that it only explains differences at is among ``explains``, and no rule reads a place by two names."""
    assert len({*rule.paths, *rule.explains}) == len(rule.paths) + len(rule.explains)
    unread = {place for place in rule.paths if not any(_heard(rule, shown, place))}
    assert unread == set()


GOLDEN = ROOT / "tests" / "library" / "golden" / "rules.json"
TRIES = 32  # of changes at one leaf of a stack, after which it is taken for one that a rule does not judge


def test_every_rule_hears_of_what_it_heard_of_before(shown: Shown) -> None:
    """golden/rules.json lists the leaves of which a change fails the rule; it is rewritten as the other files there."""
    known = {rule.id: leaves(rule, shown) for rule in OF_TEMPLATES}
    if os.environ.get("HOLDFAST_GOLDEN") == "write":
        lines = ",\n".join(f"{json.dumps(rule)}: {json.dumps(found)}" for rule, found in known.items())
        GOLDEN.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    for rule, expected in json.loads(GOLDEN.read_text(encoding="utf-8")).items():
        assert known[rule] == expected, rule


def leaves(rule: Rule, shown: Shown) -> list[str]:
    """The places of which a change fails a rule; one change each is enough."""
    found: set[str] = set()
    for placed, whole in shown:
        tried: Counter[str] = Counter()
        first = next(w["Resources"] for p, w in shown if p.id == placed.id)
        for place in rule.paths:
            for where, leaf, stack in mutants(place, placed, whole, found):
                here = whole["Resources"].get(where)
                if first is not whole["Resources"] and first.get(where) == here and (here or {}).get("Type") != ALARM:
                    continue  # changed in the first way already; an alarm watches what may differ
                tried[leaf] += 1
                if tried[leaf] <= TRIES and failed(said(rule, placed, stack)):
                    found.add(leaf)
    return sorted(found)


def _heard(rule: Rule, shown: Shown, place: str) -> Iterator[bool]:
    for placed, whole in shown:
        for _, _, stack in mutants(place, placed, whole):
            yield any(f.outcome in ACTIONABLE for f in said(rule, placed, stack))


@pytest.mark.parametrize("rule", OF_TEMPLATES, ids=lambda r: r.id)
def test_the_places_that_a_rule_names_exist(rule: Rule) -> None:
    for place in (*rule.paths, *rule.explains):
        kind, path = place.split(" ")
        assert exists(kind, path), place


def exists(kind: str, path: str) -> bool:
    attribute, _, inside = path.partition("/")
    if kind == "stack":
        return path in (*OF_STACK, "Transform")
    if attribute not in OF_RESOURCE:
        return False
    if not inside or kind == "*" or kind.startswith("Custom::"):
        return True
    return any(_matches(inside.split("/"), known) for known in _known(kind))


@cache
def _known(kind: str) -> list[list[str]]:
    return [path.split("/") for path in tree(schemas()[kind])]


def _matches(steps: list[str], known: list[str]) -> bool:
    """A schema ends where JSON of any content begins."""
    return len(steps) >= len(known) > 0 and all(k in ("*", s) for s, k in zip(steps, known, strict=False))


STANDARD = Rule(
    id="HF110",
    title="Tables have the standard table class",
    why="Infrequent access costs more per read than it saves on storage, for tables that are read.",
    remediation='Set "TableClass": "STANDARD" on {table}.',
    severity=Severity.LOW,
    paths=places("AWS::DynamoDB::Table", "TableClass"),
    checks=(Check(Resource, lambda r: _standard(r), ("AWS::DynamoDB::Table",)),),
)


def _standard(r: Resource) -> Verdict:
    return PASS if (seen := r.get("TableClass", "STANDARD")) == "STANDARD" else fail(f"the table class is {seen}")


def test_a_new_rule_is_one_record(shown: Shown) -> None:
    """As CONTRIBUTING adds one: its cases come from the places that it names, and nothing else has to know it."""
    test_a_rule_about_templates_passes_what_is_good_and_hears_of_what_is_bad(STANDARD, shown)
    blind = replace(STANDARD, checks=(Check(Resource, lambda _: PASS, ("AWS::DynamoDB::Table",)),))
    assert next(bad(blind, shown, blind.paths), None) is None


# What only an account shows

HOME, AWAY = "Orders-{env}", LIVE.region
PRICES, CARTS = "prices-production", "carts-dev"
TAGS = {"shop:system": "shop", "shop:team": "orders-team"}


def audited(
    *seen: Account, ids: tuple[str, ...] = (HOME,), env: Environment | None = LIVE, **more: Any
) -> list[Finding]:
    stacks = [stack for stack in ESTATE.stacks if stack.id in ids]
    environments = [env] if env else list(ESTATE.environments)
    return audit(alone(*stacks), seen or [clean()], environments, **{"now": NOW} | more).findings


def clean(region: str = LIVE.region, ids: tuple[str, ...] = (HOME,), **changes: Any) -> Account:
    return account(region, ids, **changes)


def more_tables(seen: Account, name: str, stack: str) -> Account:
    assert isinstance(seen.tables, Mapping)
    one = replace(changed(seen.tables[PRICES], name=name), owner=stack)
    return replace(seen, tables={**seen.tables, name: one})


def _in_another_stack() -> list[Finding]:
    template = {"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "old-orders"}}}}
    shown = StackSeen(id="Other", name="Other", where="Other", template=template, region=LIVE.region)
    there = clean()
    assert isinstance(there.stacks, Mapping)
    stack = StackLive(seen=shown, status="CREATE_COMPLETE", created=CREATED, updated=None)
    return audited(replace(more_tables(there, "old-orders", "Other"), stacks={**there.stacks, "Other": stack}))


def _behind() -> list[Finding]:
    (placed,) = alone(*(s for s in ESTATE.stacks if s.id == HOME)).placements([LIVE])
    resources = copy.deepcopy(template(placed.id)["Resources"])
    for resource in resources.values():
        resource["Properties"].pop("DeletionProtectionEnabled", None)
    there = clean()
    assert isinstance(there.stacks, Mapping)
    return audited(replace(there, stacks={**there.stacks, placed.name: deployed(placed, resources)}))


def _twins() -> list[Finding]:
    dev = with_table(clean(DEV.region), CARTS, observed={"indexes": {"x": gsi("x", name="x-index")}})
    return audited(clean(), dev, clean("eu-north-1"), env=None)


def _superseded() -> list[Finding]:
    dev = with_table(with_table(clean(DEV.region), "prices-old-dev", items=29), "prices-dev", items=1)
    return audited(dev, env=DEV)


def _unused_index() -> list[Finding]:
    use = IndexUse(items=0, size=0, reads=Units())
    return audited(with_table(clean(), PRICES, items=10, indexes={"category-index": use}))


def named(kind: str, table: str) -> Mention:
    return Mention(where="something, somewhere", kind=kind, table=table)


JOURNAL, RETIRED = ("Journal-{env}",), ("Retired-{env}",)
HOLE = Unreadable(what="the list of tables", reason="denied", action="dynamodb:ListTables")
EMPTY = Stack(id="Empty-{env}", system="shop", owner="orders-team")
# {rule: (what is found where all is well, what is found where it is not)}
Cases = dict[str, tuple[Callable[[], list[Finding]], Callable[[], list[Finding]]]]
OF_ACCOUNTS: Cases = {
    "HF601": (audited, lambda: audited(without(clean(), PRICES))),
    "HF602": (audited, lambda: audited(more_tables(clean(), "old-orders", "OldStack"))),
    "HF603": (audited, _in_another_stack),
    "HF604": (
        lambda: audited(clean(DEV.region), env=DEV),
        lambda: audited(clean(DEV.region, stacks={}), env=DEV),
    ),
    "HF605": (audited, lambda: audited(clean(ids=("Retired-{env}",)), ids=("Retired-{env}",))),
    "HF606": (lambda: audited(clean(DEV.region), env=DEV), _superseded),
    "HF607": (lambda: audited(clean(), clean(DEV.region), clean("eu-north-1"), env=None), _twins),
    "HF608": (audited, _unused_index),
    "HF609": (
        lambda: audited(clean(mentions=(named("variable", PRICES),))),
        lambda: audited(clean(mentions=(named("variable", "no-such-table"),))),
    ),
    "HF610": (
        lambda: audited(clean(mentions=(named("variable", PRICES),)), clean(DEV.region)),
        lambda: audited(clean(mentions=(named("variable", "prices-dev"),)), clean(DEV.region)),
    ),
    "HF611": (
        lambda: audited(clean(mentions=(named("policy", PRICES),))),
        lambda: audited(
            clean(ids=("Retired-{env}",), mentions=(named("policy", "baskets-live"),)), ids=("Retired-{env}",)
        ),
    ),
    "HF612": (audited, lambda: audited(clean(), mentions=(named("code", PRICES),))),
    "HF613": (
        lambda: audited(clean("eu-north-1", JOURNAL), ids=JOURNAL),
        lambda: audited(
            with_table(clean("eu-north-1", JOURNAL), "journal-live", observed={"key": key(number("day"), "entryId")}),
            ids=JOURNAL,
        ),
    ),
    "HF614": (audited, lambda: audited(clean(tables=Unknown("denied"), unreadable=(HOLE,)))),
    "HF615": (audited, _behind),
    "HF616": (audited, lambda: audit(alone(EMPTY), [clean(stacks={})], [LIVE], now=NOW).findings),
    "HF617": (audited, lambda: audited(clean(stores=Stores(found={}, tagged={"arn:aws:rds:r:a:db:copy": TAGS})))),
    "HF618": (
        lambda: audited(clean(ids=RETIRED), ids=RETIRED),
        lambda: audited(
            with_table(clean(ids=RETIRED), "baskets-live", reads=Units(8819.0, 8819.0, NOW.date())), ids=RETIRED
        ),
    ),
    "HF619": (audited, lambda: audited(with_table(clean(), PRICES, restorable=NOW))),
}

# What differs from the contract, and waivers


def compared(change: Callable[[Json], object] = lambda _: None) -> list[Finding]:
    """What is said of a synthesized stack that differs from its contract."""
    made = copy.deepcopy(CONTRACTS[NEWS])
    change(made)
    return list(compare(Sides(contracts={NEWS: CONTRACTS[NEWS]}, made={NEWS: made})))


def _alias(made: Json) -> Json:
    """The properties of a resource that no rule reads."""
    found: Json = made["template"]["Resources"][ALIAS]["Properties"]
    return found


def waived(days: int) -> list[Finding]:
    (stack,) = (s for s in ESTATE.stacks if s.id == "Newsletter")
    waiver = Waiver(rule="HF205", environment=LIVE, reason="later", owner="ops", expires=NOW.date() + timedelta(days))
    tables = tuple(replace(t, waivers=(waiver,)) for t in stack.tables)
    return list(standing(alone(replace(stack, tables=tables)).placements([LIVE]), NOW.date()))


NEWS, ALIAS = "Newsletter-live", "KeyAlias"
OF_OTHERS: Cases = {
    "HF212": (lambda: waived(30), lambda: waived(-1)),
    "HF701": (compared, lambda: compared(lambda m: m["template"].update(Conditions={"X": {"Fn::Equals": ["a", "b"]}}))),
    "HF702": (compared, lambda: compared(lambda m: m["template"]["Resources"].pop(ALIAS))),
    "HF703": (compared, lambda: compared(lambda m: _alias(m).update(AliasName="alias/another"))),
    "HF704": (compared, lambda: compared(lambda m: m["template"].update(Transform="Macro"))),
    "HF705": (compared, lambda: compared(lambda m: m["stack"].update(tags={"a": "b"}))),
}
CASES = OF_ACCOUNTS | OF_OTHERS


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_is_silent_where_all_is_well_and_hears_of_what_is_not(rule: str) -> None:
    well, wrong = ({f.outcome for f in case() if f.rule.id == rule} for case in CASES[rule])
    assert well <= {Outcome.PASS, Outcome.EXEMPT}
    assert wrong & ACTIONABLE


def test_every_rule_has_a_good_case_and_a_bad_one() -> None:
    tried = [*(rule.id for rule in OF_TEMPLATES), *CASES, *{rule for rule, _, _ in TRIGGERS}]
    assert sorted(tried) == [rule.id for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.id)
def test_every_rule_says_itself_what_it_judges(rule: Rule) -> None:
    assert rule.checks
