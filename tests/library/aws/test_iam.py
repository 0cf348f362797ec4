"""The policy that `holdfast iam audit` prints is what a read needs: all of it, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from accounts import NOW
from emulator import Aws, emulator
from live_account import api, furnish, wrong

from holdfast import cli
from holdfast.aws import calls
from holdfast.aws.reader import read
from holdfast.aws.session import Api
from holdfast.shared.account import Account
from holdfast.shared.calls import Call, policy

# The emulator's IAM sees a table behind a TableName, but not behind a ResourceArn: it asks for these on everything.
BLIND = (calls.RESOURCE_POLICY, calls.TABLE_TAGS)
NEEDED = tuple(c for c in calls.READ if c.action)


class Auditor:
    """A user of an emulated account whose IAM is enforced; may do exactly what its one policy allows."""

    def __init__(self, aws: Aws) -> None:
        furnish(aws)
        self.iam = aws.client("iam")
        self.iam.create_user(UserName="auditor")
        key = self.iam.create_access_key(UserName="auditor")["AccessKey"]
        self.access, self.secret = str(key["AccessKeyId"]), str(key["SecretAccessKey"])

    def may(self, needed: tuple[Call, ...]) -> None:
        document = policy([replace(c, resource="*") if c in BLIND else c for c in needed])
        self.iam.put_user_policy(UserName="auditor", PolicyName="p", PolicyDocument=json.dumps(document))


@pytest.fixture(scope="module")
def auditor_and_door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Auditor, Api]]:
    folder: Path = tmp_path_factory.mktemp("enforcing")
    with emulator(folder, env={"AUTH": "true"}) as running, pytest.MonkeyPatch.context() as monkeypatch:
        auditor = Auditor(Aws(emulator=running, account="200000000001"))
        token = running.secret.value
        yield auditor, api(monkeypatch, running.endpoint, auditor.access, auditor.secret, token=token)


@pytest.fixture(scope="module")
def truth(auditor_and_door: tuple[Auditor, Api]) -> Account:
    auditor, door = auditor_and_door
    auditor.may(NEEDED)
    return read(door, now=NOW)


def test_exactly_the_printed_policy_is_enough(truth: Account, capsys: pytest.CaptureFixture[str]) -> None:
    assert truth.unreadable == ()
    assert cli.main(["iam", "audit"]) == 0
    assert json.loads(capsys.readouterr().out) == policy(calls.AUDIT)


@pytest.mark.parametrize("call", NEEDED, ids=lambda c: c.action)
def test_without_one_action_the_result_is_unknown_there_and_right_elsewhere(
    call: Call, auditor_and_door: tuple[Auditor, Api], truth: Account
) -> None:
    auditor, door = auditor_and_door
    auditor.may(tuple(c for c in NEEDED if c is not call))
    seen = read(door, now=NOW)
    assert list(wrong(truth, seen)) == []
    if call is calls.TAGS:
        assert seen == truth  # each table is asked for its tags instead
        return
    assert {u.action for u in seen.unreadable} == {call.action}
    (hole,) = seen.unreadable
    assert hole.reason == f"not allowed: {call.action} is missing"
    assert str(call.action) in repr([seen.tables, seen.stacks, seen.deleted, hole])


def test_without_any_permission_everything_is_unknown_and_each_action_is_named(
    auditor_and_door: tuple[Auditor, Api],
) -> None:
    auditor, door = auditor_and_door
    auditor.iam.put_user_policy(
        UserName="auditor",
        PolicyName="p",
        PolicyDocument=json.dumps(
            {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*"}]}
        ),
    )
    seen = read(door, now=NOW)
    assert repr(seen.tables).startswith("Unknown")
    assert repr(seen.stacks).startswith("Unknown")
    assert repr(seen.deleted).startswith("Unknown")
    assert repr(seen.mentions).startswith("Unknown")
    listings = {c.action for c in calls.READ if c.page and c not in (calls.TAGS, calls.TABLE_TAGS, calls.METRICS)}
    assert {u.action for u in seen.unreadable} == listings


def test_a_policy_allows_each_action_once_and_only_where_it_is_needed() -> None:
    document: dict[str, Any] = policy(calls.READ)
    allowed = [(a, s["Resource"]) for s in document["Statement"] for a in s["Action"]]
    assert sorted(allowed) == sorted({(c.action, c.resource) for c in NEEDED})
    assert all("*" not in action for action, _ in allowed)
    assert {s["Effect"] for s in document["Statement"]} == {"Allow"}


def test_a_fix_needs_what_an_audit_needs_and_nothing_that_weakens_or_deletes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["iam", "fix"]) == 0
    document = json.loads(capsys.readouterr().out)
    allowed = {(action, s["Resource"]) for s in document["Statement"] for action in s["Action"]}
    reading = {(action, c.resource) for c in calls.AUDIT if c.action for action in (c.action, *c.also)}
    assert reading < allowed
    assert {action for action, _ in allowed - reading} == {
        "dynamodb:TagResource",
        "dynamodb:UpdateContinuousBackups",
        "dynamodb:UpdateTable",
        "dynamodb:UpdateTimeToLive",
        "kms:CreateGrant",
        "kms:Decrypt",
        "kms:Encrypt",
        "kms:GenerateDataKey*",
        "kms:ListGrants",
        "kms:ReEncrypt*",
    }
    (grant,) = [s for s in document["Statement"] if "kms:CreateGrant" in s["Action"]]
    assert grant["Action"] == ["kms:CreateGrant"]
    assert grant["Condition"] == {
        "Bool": {"kms:GrantIsForAWSResource": "true"},
        "StringLike": {"kms:ViaService": "dynamodb.*.amazonaws.com"},
    }
    (use,) = [s for s in document["Statement"] if "kms:Decrypt" in s["Action"]]
    assert use["Action"] == ["kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"]
    assert use["Condition"] == {"StringLike": {"kms:ViaService": "dynamodb.*.amazonaws.com"}}


def test_an_unknown_command_gets_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["iam", "nonsense"]) == 2
    assert capsys.readouterr().err.startswith("holdfast: 'nonsense' is not a command that calls AWS")


def test_the_policy_is_of_the_partition_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["iam", "fix", "--partition", "aws-cn"]) == 0
    named = [s["Resource"] for s in json.loads(capsys.readouterr().out)["Statement"]]
    assert {r.split(":")[1] for r in named if r != "*"} == {"aws-cn"}
