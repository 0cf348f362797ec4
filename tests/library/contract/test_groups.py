"""How changes are told: what may be secret is not shown, and what is equal is told once."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.cfn.compare import ABSENT
from holdfast.contract.diff import Change, Kind
from holdfast.contract.groups import blocks, headline, shown

INSTANCE = "AWS::RDS::DBInstance"


def change(*path: str, of: str = "AWS::X::Y", **more: Any) -> Change:
    return Change(**{"kind": Kind.CHANGED, "stack": "Shop", "resource": "X", "type": of, "path": path, **more})


@pytest.mark.parametrize(
    "name",
    [
        *("AuthToken", "MasterUserPassword", "Password", "Passwords", "SecretString", "UserData"),
        *("Command", "EntryPoint", "EnvironmentVariables", "Variables"),
    ],
)
def test_what_may_be_secret_is_not_shown(name: str) -> None:
    assert shown(change("Properties", name), "hunter2") == "(not shown)"
    assert shown(change("Properties", "Part"), {name: "hunter2"}) == f'{{"{name}": "(not shown)"}}'


@pytest.mark.parametrize(
    ("path", "of", "seen"),
    [
        (("stack", "parameters", "A"), "", False),
        (("stack", "name"), "", True),
        (("template", "Parameters", "A"), "", False),
        (("template", "Outputs", "A"), "", False),
        (("template", "Outputs", "A", "Value"), "", False),
        (("template", "Outputs", "A", "Value", "Fn::Join"), "", False),
        (("template", "Outputs", "A", "Export"), "", True),
        (("Properties", "Parameters", "A"), "AWS::SSM::Association", False),
        (("Properties", "Parameters", "rds.force_ssl"), "AWS::RDS::DBParameterGroup", True),
        (("Properties", "Value"), "AWS::SSM::Parameter", False),
        (("Properties", "Value"), "AWS::X::Y", True),
        (("Properties", "Containers", "0", "Environment"), "AWS::X::Y", False),
        (("Properties", "Environment", "A"), "AWS::X::Y", False),
        (("Properties", "Tags", "Environment"), "AWS::X::Y", True),
        (("stack", "tags", "Environment"), "", True),
        (("Properties", "TdeCredentialPassword"), INSTANCE, False),  # no service tells it again
        (("Properties", "Engine"), INSTANCE, True),
    ],
)
def test_a_value_is_shown_by_its_place(path: tuple[str, ...], of: str, seen: bool) -> None:
    assert shown(change(*path, of=of), "hunter2") == ('"hunter2"' if seen else "(not shown)")


def test_numbers_and_switches_are_shown_where_no_service_tells_them_again() -> None:
    assert shown(change("Properties", "DeleteAutomatedBackups", of=INSTANCE), False) == "false"
    told = shown(change("Properties", of=INSTANCE), {"DeleteAutomatedBackups": True, "MasterUserPassword": "hunter2"})
    assert told == '{"DeleteAutomatedBackups": true, "MasterUserPassword": "(not shown)"}'


def test_equal_changes_of_three_stores_are_told_once_and_of_two_by_store() -> None:
    equal = [change("Properties", "Engine", store=name, after="x") for name in ("a", "b", "c")]
    assert [len(b.subjects) for b in blocks(equal)] == [3]
    assert [len(b.subjects) for b in blocks(equal[:2])] == [1, 1]


def test_a_time_to_live_that_comes_is_not_lost() -> None:
    lowered = change(kind=Kind.WEAKENED, before="durable", after="transient", guard="lifetime")
    added = change(kind=Kind.WEAKENED, before=ABSENT, after={}, guard="TTL")
    moved = change(kind=Kind.WEAKENED, before={}, after={}, guard="TTL")
    assert headline([lowered, added]) == "durable → transient: keeps every guard"
    assert headline([lowered, moved]) == "durable → transient: loses TTL"
