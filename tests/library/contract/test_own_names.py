"""An estate's own names of tags and of production: comparisons of contracts know them from the templates."""

from __future__ import annotations

from typing import Any

from contract_mutants import put
from shop import LIVE
from shop_synth import Contracts

from holdfast.cfn.compare import ABSENT
from holdfast.contract.diff import Change, Kind, diff
from holdfast.contract.guards import environment, store_name
from holdfast.contract.since import places
from holdfast.contract.touch import touches

CONTRACTS = Contracts()
NEWS, TABLE = "Newsletter-live", "newsletter-eu-west-1"


def inside(*path: str) -> tuple[str, ...]:
    """A path in the table of the newsletter."""
    resources = CONTRACTS[NEWS]["template"]["Resources"]
    (logical_id,) = [k for k, r in resources.items() if store_name(r) == TABLE]
    return ("template", "Resources", logical_id, *path)


def changed(*edits: tuple[tuple[str, ...], Any], base: Any = None) -> list[Change]:
    """What is told of the newsletter's stack."""
    head = base = base or CONTRACTS[NEWS]
    for path, value in edits:
        head = put(head, path, value)
    return diff({NEWS: base}, {NEWS: head})


def test_the_template_tells_the_name_of_production_and_of_tags() -> None:
    said = {id_: c["template"]["Metadata"]["Holdfast"] for id_, c in CONTRACTS.items()}
    assert said[NEWS].keys() == {"Production", "Tags"}
    assert said[NEWS]["Production"] == LIVE.label
    assert said["Newsletter-dev"].keys() == {"Tags"}
    assert (said["Orders-production"].keys(), said["Orders-production"]["Environment"]) == (
        {"Tags", "Environment"},
        LIVE.label,
    )


def test_a_contract_is_of_the_environment_that_its_own_tag_names() -> None:
    """Not of its region: `accept` of one environment would take away contracts of another one there."""
    assert {environment(c) for c in CONTRACTS.values()} == {"live", "dev"}


def test_production_that_is_lost_is_told_at_the_tag_that_the_file_has() -> None:
    (of_table,) = changed((inside("Properties", "Tags", "shop:stage"), "dev"))
    assert (of_table.kind, of_table.says, of_table.path) == (
        Kind.WEAKENED,
        "production environment is lost",
        ("Properties", "Tags", "shop:stage"),
    )
    (of_stack,) = changed((("stack", "tags", "shop:stage"), "dev"))
    assert (of_stack.kind, of_stack.path) == (Kind.WEAKENED, ("stack", "tags", "shop:stage"))
    (renamed,) = changed((("stack", "tags", "shop:stage"), "production"))
    assert renamed.kind is Kind.CHANGED
    (lowered,) = changed((inside("Properties", "Tags", "shop:data"), "operational"))
    assert (lowered.says, lowered.path) == ("data class is lowered", ("Properties", "Tags", "shop:data"))


def test_personal_data_of_production_is_untouchable_without_termination_protection_too() -> None:
    unprotected = put(CONTRACTS[NEWS], ("stack", "terminationProtection"), ABSENT)
    (lost,) = changed((inside("Properties", "DeletionProtectionEnabled"), False), base=unprotected)
    assert (lost.kind, lost.approvable) == (Kind.WEAKENED, False)


def test_a_store_that_only_a_tag_names_is_found_in_the_history() -> None:
    found, _ = places(
        CONTRACTS["Stores-live"], "shop-registry-live", ["AWS::ServiceDiscovery::PrivateDnsNamespace Type"]
    )
    assert len(found) == 1


def test_what_others_do_to_a_store_that_only_a_tag_names_is_told() -> None:
    allowed = {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": ["arn:aws:s3:::shop-files-live/*"]}
    policy = {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": {"Statement": [allowed]}}}
    theirs = {"Theirs": {"template": {"Resources": {"P": policy}}}}
    assert [t.store for t in touches(theirs, CONTRACTS)] == ["shop-files-live"]
