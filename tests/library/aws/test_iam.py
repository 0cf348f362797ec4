"""The policy that `holdfast iam audit` prints is what a read needs: all of it, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from accounts import NOW
from declare import PROD, TEST, estate, stack, table
from emulator import Aws, emulator
from live_account import api, furnish, wrong

from holdfast import Environment, Estate, Tier, cli
from holdfast.audit.consumers import NewKey
from holdfast.audit.consumers import policy as key_use
from holdfast.aws import calls
from holdfast.aws.apply import FIX
from holdfast.aws.reader import read
from holdfast.aws.session import Api
from holdfast.estate import finder
from holdfast.estate.finder import Project
from holdfast.shared.account import Account
from holdfast.shared.calls import Call, Scope, policy

# The emulator's IAM sees a table behind a TableName, but not behind a ResourceArn, and no alarms behind a listing: it
# asks for these on everything.
BLIND = (calls.RESOURCE_POLICY, calls.TABLE_TAGS, calls.ALARMS)
NEEDED = tuple(c for c in calls.READ if c.action)


ACCOUNT = "111122223333"
Printed = Callable[..., dict[str, Any]]


def declared(*environments: Environment) -> Estate:
    return estate(stack(table(), table(name="carts-{env}")), environments=environments)


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Printed:
    """The policy that the command prints for an estate."""

    def command(of: Estate, *arguments: str) -> dict[str, Any]:
        monkeypatch.setattr(finder, "find", lambda asked: Project(estate=of, source=tmp_path))
        assert cli.main(["iam", *arguments]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return command


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


def test_exactly_the_printed_policy_is_enough(truth: Account, printed: Printed) -> None:
    assert truth.unreadable == ()
    assert printed(declared(PROD), "audit") == policy(calls.AUDIT, [Scope(region="us-east-1")])


@pytest.mark.parametrize("call", NEEDED, ids=lambda c: c.action)
def test_without_one_action_the_result_is_unknown_there_and_right_elsewhere(
    call: Call, auditor_and_door: tuple[Auditor, Api], truth: Account
) -> None:
    auditor, door = auditor_and_door
    auditor.may(tuple(c for c in NEEDED if c is not call))
    seen = read(door, now=NOW)
    assert list(wrong(truth, seen)) == []
    if call in (calls.TAGS, calls.EVENTS):
        assert seen == truth  # each table is asked for its tags instead; no update was rolled back
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
    listings = {
        c.action for c in calls.READ if c.page and c not in (calls.TAGS, calls.TABLE_TAGS, calls.METRICS, calls.EVENTS)
    }
    assert {u.action for u in seen.unreadable} == listings


def test_a_policy_allows_each_action_once_and_only_where_it_is_needed() -> None:
    document: dict[str, Any] = policy(calls.READ)
    allowed = [(a, s["Resource"]) for s in document["Statement"] for a in s["Action"]]
    assert sorted(allowed) == sorted({(c.action, c.resource) for c in NEEDED})
    assert all("*" not in action for action, _ in allowed)
    assert {s["Effect"] for s in document["Statement"]} == {"Allow"}


def test_a_fix_needs_what_an_audit_needs_and_nothing_that_weakens_or_deletes() -> None:
    document = policy((*calls.AUDIT, *FIX))
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


def test_l35_a_fix_may_change_the_declared_tables_and_no_other(printed: Printed) -> None:
    here = f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table"
    document = printed(
        declared(Environment("prod", Tier.PROD, "us-east-1", account=ACCOUNT), TEST), "fix", "--env", "prod"
    )
    where = {a: s["Resource"] for s in document["Statement"] for a in s["Action"]}
    for action in ("TagResource", "UpdateContinuousBackups", "UpdateTable", "UpdateTimeToLive"):
        assert where[f"dynamodb:{action}"] == [f"{here}/carts-prod", f"{here}/orders-prod"]
    assert where["dynamodb:DescribeTable"] == f"{here}/*"  # an audit finds what is not declared
    # What AWS knows no resources for, or is asked of the account as a whole.
    assert {a for a, resource in where.items() if resource == "*"} == {
        "cloudformation:DescribeStacks",
        "cloudformation:ListStacks",
        "cloudwatch:GetMetricData",
        "dynamodb:ListTables",
        "ec2:DescribeSecurityGroups",
        "iam:GetAccountAuthorizationDetails",
        "kafka:ListClusters",
        "lambda:ListEventSourceMappings",
        "lambda:ListFunctions",
        "sns:ListTopics",
        "tag:GetResources",
    }
    others = [str(r) for r in where.values() if r != "*" and ":s3:" not in str(r)]
    assert all(":us-east-1:" in r and (f":{ACCOUNT}:" in r or ":kms:" in r) for r in others)
    assert len(printed(declared(PROD, TEST), "fix")["Statement"]) == len(document["Statement"])
    every = {a: s["Resource"] for s in printed(declared(PROD, TEST), "fix")["Statement"] for a in s["Action"]}
    assert len(every["dynamodb:UpdateTable"]) == 4  # of both environments
    assert every["dynamodb:DescribeTable"] == [f"arn:aws:dynamodb:{r}:*:table/*" for r in ("us-east-1", "us-west-2")]


def test_l36_a_key_is_changed_and_topics_are_read_with_all_that_takes(printed: Printed) -> None:
    document = printed(declared(PROD), "fix")
    (use,) = [s for s in document["Statement"] if "kms:Decrypt" in s["Action"]]
    assert use["Action"] == ["kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"]
    assert use["Condition"] == {"StringLike": {"kms:ViaService": "dynamodb.us-east-1.amazonaws.com"}}
    allowed = {a for s in document["Statement"] for a in s["Action"]}
    assert {"kms:CreateGrant", "kms:DescribeKey", "kafka:ListTopics", "kafka:DescribeTopic"} <= allowed


@pytest.mark.parametrize(
    ("region", "named", "via"),
    [
        ("cn-north-1", "aws-cn", ["dynamodb.cn-north-1.amazonaws.com", "dynamodb.cn-north-1.amazonaws.com.cn"]),
        ("us-gov-west-1", "aws-us-gov", "dynamodb.us-gov-west-1.amazonaws.com"),
    ],
)
def test_l37_a_policy_is_of_the_partition_of_its_tables(
    region: str, named: str, via: str | list[str], printed: Printed
) -> None:
    document = printed(declared(Environment("prod", Tier.PROD, region)), "fix")
    resources = [s["Resource"] for s in document["Statement"]]
    assert {arn.split(":")[1] for r in resources for arn in ([r] if isinstance(r, str) else r) if arn != "*"} == {named}
    (use,) = [s for s in document["Statement"] if "kms:Decrypt" in s["Action"]]
    assert use["Condition"] == {"StringLike": {"kms:ViaService": via}}
    key = NewKey(arn=f"arn:{named}:kms:{region}:{ACCOUNT}:key/x", account=ACCOUNT, region=region, policy=())
    (own,) = key_use(key)["Statement"]
    assert own["Condition"] == {"StringEquals": {"kms:ViaService": via}}


def test_a_policy_of_several_partitions_is_asked_for_by_one(
    printed: Printed, capsys: pytest.CaptureFixture[str]
) -> None:
    both = declared(PROD, Environment("beijing", Tier.TEST, "cn-north-1"))
    assert printed(both, "fix", "--partition", "aws-cn") == printed(both, "fix", "--env", "beijing")
    assert cli.main(["iam", "fix"]) == 2
    said = "all is in several partitions, and a policy fits one: give --partition aws, aws-cn"
    assert capsys.readouterr().err == f"holdfast: {said}\n"
    assert cli.main(["iam", "fix", "--partition", "aws-us-gov"]) == 2
    assert "known are aws, aws-cn" in capsys.readouterr().err


def test_a_policy_that_is_too_long_for_one_is_said_to_be(printed: Printed, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"a-table-with-a-name-as-long-as-those-of-large-estates-{n}" for n in range(60)]
    printed(estate(stack(*(table(name=f"{name}-{{env}}") for name in names))), "audit")
    assert cli.main(["iam", "fix", "--env", "prod"]) == 0
    assert "more than the 6,144 of a managed policy: make it an inline policy" in capsys.readouterr().err


def test_an_unknown_command_gets_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["iam", "nonsense"]) == 2
    assert capsys.readouterr().err.startswith("holdfast: 'nonsense' is not a command that calls AWS")
