"""The reader, against an emulated account: what is there is read, in full and as it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import sleep
from typing import Any
from unittest.mock import ANY

import aws_stub
import pytest
from accounts import NOW
from declare import PROD, estate, stack, table
from emulator import Aws, fresh_account, template
from emulator import index as index_of
from faults import Asked, Reply, error, only, proxy
from live_account import REGION, TAGS, api, bare, clean, furnish
from support import MOMENTS, ROOT

from holdfast import Encryption, Projection
from holdfast.audit import mentions
from holdfast.aws import calls
from holdfast.aws.options import Options
from holdfast.aws.reader import read, read_all
from holdfast.cfn.template import Source, StackSeen
from holdfast.errors import InputError
from holdfast.kinds.table import live as tables
from holdfast.kinds.table.live import observed
from holdfast.kinds.table.template import observe
from holdfast.rules.estate import terminable
from holdfast.rules.live import worth
from holdfast.rules.subjects import LiveIndex, StackSubject
from holdfast.shared.account import ONLY_IN_TEMPLATES, Account, Mention, StackLive, StoreSeen, Units
from holdfast.shared.calls import Call
from holdfast.shared.key.observed import ObservedKey
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome


@pytest.fixture(scope="module")
def aws() -> Aws:
    return fresh_account()


@pytest.fixture(scope="module")
def key(aws: Aws) -> str:
    return furnish(aws)


@pytest.fixture(scope="module")
def account(aws: Aws, key: str) -> Account:
    with pytest.MonkeyPatch.context() as monkeypatch:
        return read(api(monkeypatch, aws.endpoint, aws.account), now=NOW)


def test_a_table_is_read_as_it_is(account: Account, aws: Aws) -> None:
    assert not isinstance(account.tables, Unknown)
    seen = account.tables["orders"]
    o = observed(seen)
    assert (o.source, seen.owner, o.name) == (Source.LIVE, "Shop", "orders")
    assert o.where == seen.arn == f"arn:aws:dynamodb:{REGION}:{aws.account}:table/orders"
    assert (o.billing, o.deletion_protection, o.recovery, o.recovery_days, o.ttl, o.stream, o.tags, o.extras) == (
        "PAY_PER_REQUEST",
        True,
        True,
        35,
        "ttl",
        "NEW_IMAGE",
        TAGS,
        {},
    )
    assert o.deletion_policy is o.update_replace_policy is ONLY_IN_TEMPLATES
    assert (seen.status, seen.items, seen.size) == ("ACTIVE", 0, 0)
    assert isinstance(seen.created, datetime)
    assert abs(datetime.now(UTC) - seen.created) < timedelta(hours=1)  # noqa: TID251  # the emulator's is the machine's
    assert not isinstance(seen.indexes, Unknown)
    assert seen.reads == seen.writes == seen.indexes["placed-index"].reads == Units()


def test_l6_the_emulator_and_the_reader_know_since_when_recovery_is_on(
    aws: Aws, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dynamodb, door = aws.client("dynamodb"), api(monkeypatch, aws.endpoint, aws.account)
    dynamodb.create_table(**bare("recovered"))

    def since(*turns: bool) -> datetime | Unknown | None:
        for on in turns:
            wanted = {"PointInTimeRecoveryEnabled": on}
            dynamodb.update_continuous_backups(TableName="recovered", PointInTimeRecoverySpecification=wanted)
        found = read(door, now=NOW).tables
        assert not isinstance(found, Unknown)
        return found["recovered"].restorable

    assert since() is None
    first = since(True)
    assert isinstance(first, datetime)
    sleep(1.1)  # it counts in seconds
    assert since(True) == first  # it was on all the time
    again = since(False, True)
    assert isinstance(again, datetime)
    assert again > first
    assert since(False) is None


def test_l6_l10_what_dynamodb_says_of_recovery_and_of_the_key_is_read_or_unknown() -> None:
    at = {"ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "ENABLED"}}}
    assert isinstance(tables.seen({"t": replace(answers(), backups=at)}, AROUND)["t"].restorable, Unknown)
    sse = {"Status": "ENABLED", "SSEType": "KMS", "InaccessibleEncryptionDateTime": NOW.timestamp()}
    assert one(answers(SSEDescription=sse)).without_key == NOW
    sse["InaccessibleEncryptionDateTime"] = "soon"
    assert isinstance(one(answers(SSEDescription=sse)).without_key, Unknown)
    assert one(answers()).without_key is None


def test_a_table_that_no_stack_made_is_off_where_it_is_off(account: Account) -> None:
    assert not isinstance(account.tables, Unknown)
    seen = account.tables["bare"]
    o = observed(seen)
    assert seen.owner is None
    assert (o.deletion_protection, o.recovery, o.ttl, o.tags, o.stream) == (False, False, None, {}, None)
    assert o.encryption is Encryption.AWS_OWNED
    assert o.indexes == {}


def test_the_key_of_a_table_is_read_with_its_rotation_and_policy(account: Account, key: str) -> None:
    assert not isinstance(account.tables, Unknown)
    seen = observed(account.tables["orders"]).encryption
    assert isinstance(seen, ObservedKey)
    assert (seen.where, seen.rotation, seen.extras) == (key, True, frozenset())
    assert not isinstance(seen.policy, Unknown)
    assert seen.policy["Statement"][0]["Effect"] == "Allow"


def test_the_live_table_is_what_its_deployed_template_says(account: Account) -> None:
    assert not isinstance(account.stacks, Unknown)
    assert not isinstance(account.tables, Unknown)
    stack = account.stacks["Shop"]
    assert stack.status == "CREATE_COMPLETE"
    assert not isinstance(stack.seen, Unknown)
    assert (stack.seen.source, stack.seen.region, stack.seen.protected) == (Source.DEPLOYED, REGION, False)
    (deployed,) = observe(stack.seen)
    live = observed(account.tables["orders"])
    for field in ("name", "key", "indexes", "billing", "deletion_protection", "recovery", "recovery_days", "ttl"):
        assert getattr(live, field) == getattr(deployed, field), field
    assert (live.tags, live.stream, live.watched) == (deployed.tags, deployed.stream, deployed.watched)
    assert isinstance(live.indexes, dict)
    assert live.indexes["placed-index"].projection is Projection.KEYS_ONLY


def test_alarms_are_matched_with_their_tables_and_their_topics(account: Account) -> None:
    assert not isinstance(account.tables, Unknown)
    o = observed(account.tables["orders"])
    assert o.watched == frozenset({(None, "ReadThrottleEvents")})
    assert not isinstance(o.alarms, Unknown)
    assert o.alarms["orders-throttled"]["notifies"] is True
    assert observed(account.tables["bare"]).watched == frozenset()


def test_whatever_names_a_table_is_found_and_no_other_value_leaves_the_reader(account: Account) -> None:
    assert not isinstance(account.mentions, Unknown)
    assert set(account.mentions) == {
        Mention(where="function orders-api, variable TABLE_NAME", kind="variable", table="orders"),
        Mention(where="function orders-api, variable STALE_TABLE", kind="variable", table="no-such-table"),
        Mention(where="role reader, policy orders", kind="policy", table="orders"),
    }
    assert "s3cr3t-value" not in repr(account)


def test_a_deleted_stack_is_listed_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = fresh_account()
    aws.deploy("Gone", {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}})
    aws.client("cloudformation").delete_stack(StackName="Gone")
    aws.client("cloudformation").get_waiter("stack_delete_complete").wait(
        StackName="Gone", WaiterConfig={"Delay": 0.05, "MaxAttempts": 100}
    )
    account = read(api(monkeypatch, aws.endpoint, aws.account), now=NOW)
    assert not isinstance(account.deleted, Unknown)
    assert list(account.deleted) == ["Gone"]
    assert account.stacks == {}


def test_each_profile_and_region_is_an_account_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    first, second = fresh_account(), fresh_account()
    first.client("dynamodb", "us-west-2").create_table(**bare("west"))
    second.client("dynamodb", "us-east-1").create_table(**bare("east"))
    clean(monkeypatch)
    profiles = [
        f"[{name}]\n" + "".join(f"{key.lower()}={value}\n" for key, value in aws.credentials.items())
        for name, aws in (("one", first), ("two", second))
    ]
    (tmp_path / "credentials").write_text("".join(profiles))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    options = Options(profiles=("one", "two"), regions=("us-east-1", "us-west-2"), endpoint_url=first.endpoint)
    found = {
        (a.id, a.region): sorted(a.tables) for a in read_all(options, now=NOW) if not isinstance(a.tables, Unknown)
    }
    assert found == {
        (first.account, "us-east-1"): [],
        (first.account, "us-west-2"): ["west"],
        (second.account, "us-east-1"): ["east"],
        (second.account, "us-west-2"): [],
    }
    with pytest.raises(InputError, match=r"profile \(three\) could not be found: known are one, two"):
        read_all(Options(profiles=("three",), regions=("us-east-1",)), now=NOW)


def test_a_role_is_assumed_and_its_account_is_the_one_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    home, other = fresh_account(), fresh_account()
    other.client("dynamodb").create_table(**bare("theirs"))
    trust = (
        '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sts:AssumeRole"}]}'
    )
    other.client("iam").create_role(RoleName="auditor", AssumeRolePolicyDocument=trust)
    api(monkeypatch, home.endpoint, home.account)
    role = f"arn:aws:iam::{other.account}:role/auditor"
    (found,) = read_all(Options(role_arn=role, regions=(REGION,), endpoint_url=home.endpoint), now=NOW)
    assert not isinstance(found.tables, Unknown)
    assert (found.id, list(found.tables)) == (other.account, ["theirs"])


TABLES = 301


@pytest.fixture(scope="module")
def many() -> tuple[Account, list[tuple[int, int]]]:
    seen: list[tuple[int, int]] = []
    with aws_stub.stub(TABLES) as endpoint, pytest.MonkeyPatch.context() as monkeypatch:
        door = api(monkeypatch, endpoint, aws_stub.ACCOUNT)
        return read(door, progress=lambda done, of: seen.append((done, of)), now=NOW), seen


def test_every_page_is_read_and_every_value_is_the_table_s_own(many: tuple[Account, Any]) -> None:
    account, _ = many
    assert account.unreadable == ()
    assert not isinstance(account.tables, Unknown)
    assert list(account.tables) == [aws_stub.name(n) for n in range(TABLES)]
    for n, seen in enumerate(account.tables.values()):
        o, key = observed(seen), aws_stub.key_arn(n)
        assert not isinstance(seen.indexes, Unknown)
        assert (o.deletion_protection, o.recovery, o.ttl) == (
            aws_stub.protected(n),
            aws_stub.recoverable(n),
            "ttl" if aws_stub.expires(n) else None,
        )
        assert o.tags == {t["Key"]: t["Value"] for t in aws_stub.tags(n)}
        assert (o.encryption.where if isinstance(o.encryption, ObservedKey) else None) == key
        assert (seen.items, seen.indexes["owner-index"].size) == (n, 10 * n)
        used = Units(1.0, 3.0, NOW.date() - timedelta(days=1))
        assert seen.reads == seen.writes == seen.indexes["state-index"].reads == used


def test_w5_a_table_is_a_query_more_and_not_a_call_more(aws: Aws, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = MOMENTS["night"]  # the emulator forgets what is two weeks old

    def consumed(name: str, units: float, days: int, **index: str) -> dict[str, Any]:
        of = {"TableName": "orders", **index}
        dimensions = [{"Name": dimension, "Value": value} for dimension, value in of.items()]
        when = now - timedelta(days=days)
        return {"MetricName": name, "Dimensions": dimensions, "Timestamp": when, "Value": units}

    data = [
        *(consumed(tables.READS, units, days) for units, days in ((3.5, 1), (2.0, 7), (10.0, 8))),
        *(consumed(tables.WRITES, units, days) for units, days in ((4.0, 30), (100.0, 31))),
        consumed(tables.READS, 1.0, 2, GlobalSecondaryIndexName="placed-index"),
    ]
    aws.client("cloudwatch").put_metric_data(Namespace="AWS/DynamoDB", MetricData=data)
    door = api(monkeypatch, aws.endpoint, aws.account)
    asked: list[Call] = []
    pages = door.pages

    def paged(call: Call, **named: Any) -> Any:
        asked.append(call)
        return pages(call, **named)

    monkeypatch.setattr(door, "pages", paged)
    found = read(door, now=now).tables
    assert not isinstance(found, Unknown)
    seen, today = found["orders"], now.date()
    assert seen.reads == Units(5.5, 15.5, today - timedelta(days=1))
    assert seen.writes == Units(0.0, 4.0, today - timedelta(days=30))
    assert not isinstance(seen.indexes, Unknown)
    assert seen.indexes["placed-index"].reads == Units(1.0, 1.0, today - timedelta(days=2))
    assert found["bare"].reads == found["bare"].writes == Units()
    assert asked.count(calls.METRICS) == 1


@pytest.mark.parametrize(
    "results",
    [
        (),
        ({"Timestamps": [NOW], "Values": [1.0], "StatusCode": "PartialData"},),
        ({"Timestamps": [NOW], "Values": []},),
        ({"Timestamps": [NOW], "Values": [None]},),
        ({"Timestamps": ["today"], "Values": [1.0]},),
        ({"Values": [1.0]},),
    ],
)
def test_w5_what_cloudwatch_leaves_out_is_unknown_and_never_none(results: Any) -> None:
    assert isinstance(tables.units(results, NOW.date()), Unknown)


def test_progress_goes_from_the_first_call_to_the_last(many: tuple[Account, list[tuple[int, int]]]) -> None:
    _, seen = many
    assert sorted(done for done, _ in seen) == list(range(1, 4 * TABLES + 1))
    assert {of for _, of in seen} == {4 * TABLES}


def test_a_call_that_is_not_declared_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    door = api(monkeypatch, "http://127.0.0.1:9", "0" * 12)
    stranger = Call(service="dynamodb", operation="DeleteTable", action="dynamodb:DeleteTable", reads="nothing")
    with pytest.raises(ValueError, match="DeleteTable is not declared"):
        door.call(stranger, TableName="orders")


def test_every_declared_call_is_one_that_reads() -> None:
    for call in calls.READ:
        assert call.operation.startswith(("Describe", "Get", "List")), call
        assert call.action or call is calls.IDENTITY


def test_nothing_but_the_session_opens_a_door_to_aws() -> None:
    """Elsewhere a call could be made that `holdfast iam` does not know of."""
    for path in (p for folder in ("aws", "live") for p in (ROOT / "constructs" / "holdfast" / folder).glob("*.py")):
        made = [
            node
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Attribute) and node.attr in ("create_client", "client", "resource", "urlopen")
        ]
        # The archive and the secrets are the database jobs', whose roles are in the templates.
        assert not made or path.name in ("session.py", "wire.py", "s3.py", "secrets.py"), path


# What an answer means, without an account.

AROUND = tables.Surroundings(keys={}, alarms=(), topics=(), units={})


def answers(**changes: Any) -> tables.Answers:
    table = aws_stub.describe(1) | changes
    pitr = {"PointInTimeRecoveryStatus": "DISABLED"}
    return tables.Answers(
        arn="arn",
        table=table,
        backups={"ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": pitr}},
        ttl={"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLING", "AttributeName": "ttl"}},
        policy=None,
        tags={"aws:cloudformation:stack-name": "Shop", "Project": "x"},
    )


def one(found: tables.Answers, around: tables.Surroundings = AROUND) -> StoreSeen:
    return tables.seen({"t": found}, around)["t"]


def test_expiry_that_is_being_switched_off_is_off_and_aws_own_tags_are_nobody_s() -> None:
    o = observed(one(answers()))
    assert o.ttl is None
    assert o.tags == {"Project": "x"}


@pytest.mark.parametrize(
    ("changes", "extra"),
    [
        ({"Replicas": [{"RegionName": "eu-west-1"}]}, "Replicas"),
        ({"TableClassSummary": {"TableClass": "STANDARD_INFREQUENT_ACCESS"}}, "TableClass"),
        ({"OnDemandThroughput": {"MaxReadRequestUnits": 5, "MaxWriteRequestUnits": -1}}, "OnDemandThroughput"),
    ],
)
def test_a_setting_that_no_declaration_asks_for_is_seen(changes: dict[str, Any], extra: str) -> None:
    assert observed(one(answers(**changes))).extras == {extra: ANY}
    assert observed(one(answers())).extras == {}


def test_an_index_with_a_key_of_several_attributes_is_unknown_not_half_read() -> None:
    index = aws_stub.describe(1)["GlobalSecondaryIndexes"][0]
    both = [{"AttributeName": a, "KeyType": "HASH"} for a in ("owner", "state")]
    o = observed(one(answers(GlobalSecondaryIndexes=[index | {"KeySchema": both}])))
    assert isinstance(o.indexes, dict)
    assert isinstance(o.indexes["owner-index"], Unknown)


def test_a_table_whose_key_was_not_read_is_not_called_encrypted_or_not() -> None:
    sse = {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": "arn:aws:kms:::key/1"}
    assert isinstance(observed(one(answers(SSEDescription=sse))).encryption, Unknown)


def test_aws_own_key_is_not_the_customer_s_and_a_key_about_to_be_deleted_is_not_as_declared() -> None:
    managed = {"KeyMetadata": {"KeyManager": "AWS", "KeyState": "Enabled"}}
    assert tables.of_aws(managed)
    dying = {"KeyMetadata": {"KeyManager": "CUSTOMER", "KeyState": "PendingDeletion"}}
    assert not tables.of_aws(dying)
    key = tables.observed_key("arn", tables.key(dying, {"KeyRotationEnabled": True}, {"Policy": "{}"}))
    assert isinstance(key, ObservedKey)
    assert key.extras == {"KeyState PendingDeletion"}


def test_an_alarm_is_heard_only_by_a_topic_that_is_there() -> None:
    alarm = {
        "AlarmName": "a",
        "ActionsEnabled": True,
        "AlarmActions": ["arn:aws:sns:us-east-1:1:ops"],
        "Metrics": [
            {
                "Id": "m",
                "MetricStat": {
                    "Stat": "Sum",
                    "Metric": {
                        "Namespace": "AWS/DynamoDB",
                        "MetricName": "WriteThrottleEvents",
                        "Dimensions": [
                            {"Name": "TableName", "Value": "t"},
                            {"Name": "GlobalSecondaryIndexName", "Value": "i"},
                        ],
                    },
                },
            }
        ],
    }

    def heard(topics: set[str] | Unknown, **changes: Any) -> object:
        o = observed(one(answers(), replace(AROUND, alarms=[alarm | changes], topics=topics)))
        assert o.watched == frozenset({("i", "WriteThrottleEvents")})
        assert not isinstance(o.alarms, Unknown)
        return o.alarms["a"]["notifies"]

    assert heard({"arn:aws:sns:us-east-1:1:ops"}) is True
    assert heard({"arn:aws:sns:us-east-1:1:other"}) is False
    assert heard({"arn:aws:sns:us-east-1:1:ops"}, ActionsEnabled=False) is False
    assert isinstance(heard(Unknown("denied")), Unknown)


@pytest.mark.parametrize(
    ("resource", "named"),
    [
        ("arn:aws:dynamodb:us-east-1:1:table/orders", ["orders"]),
        ("arn:aws:dynamodb:us-east-1:1:table/orders/index/*", ["orders"]),
        ("arn:aws:dynamodb:us-east-1:1:table/gone", ["gone"]),
        ("arn:aws:dynamodb:*:*:table/ord*", ["orders"]),
        ("arn:aws:dynamodb:us-east-1:1:table/*", []),
        ("arn:aws:dynamodb:eu-west-1:1:table/orders", []),
        ("arn:aws:dynamodb:us-east-1:2:table/orders", []),
        ("*", []),
    ],
)
def test_a_policy_names_the_tables_of_its_region_and_account(resource: str, named: list[str]) -> None:
    document = {"Statement": {"Effect": "Allow", "Action": "*", "Resource": resource}}
    version = {"IsDefaultVersion": True, "Document": document}
    page = {"Policies": [{"PolicyName": "p", "PolicyVersionList": [version, {"Document": {}}]}]}
    found = mentions.in_policies([page], {"orders", "users"}, region="us-east-1", account="1")
    assert [(m.where, m.table) for m in found] == [("policy p", table) for table in named]


def test_an_event_source_names_the_table_of_its_stream() -> None:
    stream = "arn:aws:dynamodb:us-east-1:1:table/orders/stream/2026-01-01T00:00:00.000"
    mapping = {"EventSourceArn": stream, "FunctionArn": "arn:aws:lambda:us-east-1:1:function:copy"}
    queue = {"EventSourceArn": "arn:aws:sqs:us-east-1:1:q", "FunctionArn": "arn:aws:lambda:us-east-1:1:function:f"}
    assert list(mentions.in_event_sources([mapping, queue])) == [
        Mention(where="function copy, event source", kind="event source", table="orders", place=("1", "us-east-1"))
    ]


def test_no_value_leaves_a_function_but_that_of_a_variable_for_tables() -> None:
    variables = {
        "AIRTABLE_API_KEY": "patSECRET0123456789",
        "TABLEAU_PASSWORD": "hunter2-secret",
        "TABLE_TOKEN": "t0ken-value",
        "TABLE_SECRET_NAME": "s3cr3t",
        # These call themselves tables, too: what may be a secret is never taken for the name of one.
        **{f"{word}_TABLE": f"{word.lower()}-0123" for word in ("API_KEY", "TOKEN", "SECRET", "PASS", "CREDENTIALS")},
        "STABLE_MODE": "true",
        "USE_TABLE": "true",
        "ESCAPED": "arn:aws:dynamodb:us-east-1:1:table/x\x1b[2J\nok",
        "TABLE_MODE": "strict",
        "STALE_TABLE_V2": "gone",
        "ANYTHING": "orders",
        "THEIRS": "arn:aws:dynamodb:eu-west-1:999999999999:table/theirs",
    }
    function = {"FunctionName": "f", "Environment": {"Variables": variables}}
    found = {m.table: m.place for m in mentions.in_functions([function], {"orders"})}
    assert found == {"gone": None, "orders": None, "theirs": ("999999999999", "eu-west-1")}


def test_l7_only_an_update_that_succeeded_counts_for_the_age(monkeypatch: pytest.MonkeyPatch) -> None:
    there = fresh_account()
    first, second, refused = (
        template(
            SSESpecification=None,
            PointInTimeRecoverySpecification=None,
            GlobalSecondaryIndexes=[index_of(name)],
            **more,
        )
        for name, more in (("customer", {}), ("customer", {"Tags": None}), ("nobody", {}))
    )
    there.deploy("shop", first)
    there.deploy("shop", second)
    formation = there.client("cloudformation")
    events = formation.describe_stack_events(StackName="shop")["StackEvents"]
    done = next(
        e["Timestamp"] for e in events if (e["LogicalResourceId"], e["ResourceStatus"]) == ("shop", "UPDATE_COMPLETE")
    )
    with pytest.raises(InputError, match="UPDATE_ROLLBACK_COMPLETE"):
        there.deploy("shop", refused)
    door = api(monkeypatch, there.endpoint, there.account)

    def stack() -> StackLive:
        seen = read(door, now=NOW).stacks
        assert isinstance(seen, Mapping)
        return seen["shop"]

    found = stack()
    assert found.updated
    assert found.last == done < found.updated
    assert not found.rolled_back
    forgotten = only({"DescribeStackEvents"}, lambda asked: error(asked, "AccessDenied", 403))
    with proxy(there.endpoint, forgotten) as endpoint:
        door = api(monkeypatch, endpoint, there.account)
        assert (stack().rolled_back, stack().succeeded) == (True, None)
        (hole,) = read(door, now=NOW).unreadable
        assert hole.action == "cloudformation:DescribeStackEvents"


@pytest.mark.parametrize(("silent", "expected"), [(False, True), (True, Unknown("CloudFormation does not say"))])
def test_l3_termination_protection_that_the_list_leaves_out_is_asked_for_by_name(
    silent: bool, expected: bool | Unknown, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, (placed,) = fresh_account(), estate(stack(table())).placements([PROD])
    there.deploy(placed.name, template())
    there.client("cloudformation").update_termination_protection(
        StackName=placed.name, EnableTerminationProtection=True
    )

    def leaves_out(asked: Asked, forward: Callable[[], Reply]) -> Reply:
        reply = forward()
        if asked.operation != "DescribeStacks" or (b"StackName" in asked.body and not silent):
            return reply
        member = rb"<EnableTerminationProtection>\w+</EnableTerminationProtection>"
        return replace(reply, body=re.sub(member, b"", reply.body))

    with proxy(there.endpoint, leaves_out) as endpoint:
        door = api(monkeypatch, endpoint, there.account)
        stacks = read(door, now=NOW, places=[placed]).stacks
    assert isinstance(stacks, Mapping)
    seen = stacks[placed.name].seen
    assert isinstance(seen, StackSeen)
    assert seen.protected == expected
    subject = StackSubject(placed=placed, stack=seen)
    assert terminable(subject).outcome is (Outcome.UNKNOWN if silent else Outcome.PASS)


def test_l8_tables_of_others_are_no_guess_and_lists_and_json_are_read() -> None:
    variables = {
        "ROUTE_TABLE": "rtb-0123456789abcdef0",
        "MAIN_TABLE_2": "rtb-0123456789abcdef0",
        "ATHENA_TABLE": "clicks",
        "PG_TABLE": "invoices",
        "REPORTS_GLUE_TABLE_NAME": "reports",
        "TABLES": "orders, gone;carts",
        "LISTED_TABLES": '["orders-2", "gone-2"]',
        "CONFIG": '{"tableName": "gone-3", "sources": [{"of": "orders-3"}], "apiToken": {"table": "s3cr3t"}, "n": 1}',
        "TABLE_LIST": "orders-4 ; whatever",
        "FEATURES": "orders,billing",  # words
        "PARTITIONED_TABLES": "media_streams,operation_logs",  # of a function that keeps PostgreSQL
        "TABLE_ARNS": "arn:aws-cn:dynamodb:cn-north-1:1:table/far,arn:aws:dynamodb:us-east-1:1:table/near/index/i",
        "BROKEN_TABLE": '{"orders',
        "DEEP": "[" * 4000,
    }
    function = {"FunctionName": "f", "Environment": {"Variables": variables}}
    found = [
        (m.where.rpartition(" ")[2], m.table)
        for m in mentions.in_functions([function], {"orders", "orders-2", "orders-3", "orders-4"})
    ]
    assert found == [
        *(("TABLES", name) for name in ("orders", "gone", "carts")),
        *(("LISTED_TABLES", name) for name in ("orders-2", "gone-2")),
        *(("CONFIG", name) for name in ("gone-3", "orders-3")),
        ("TABLE_LIST", "orders-4"),
        *(("TABLE_ARNS", name) for name in ("far", "near")),
    ]


def test_an_index_that_is_being_deleted_is_none_and_one_that_is_being_built_says_so() -> None:
    whole = {"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}
    listed = [
        {"IndexName": "going", "IndexStatus": "DELETING", "ItemCount": 9, "IndexSizeBytes": 9} | whole,
        {"IndexName": "coming", "IndexStatus": "CREATING", "ItemCount": 0, "IndexSizeBytes": 0} | whole,
    ]
    found = one(answers(GlobalSecondaryIndexes=listed))
    shown = observed(found).indexes
    assert isinstance(shown, dict)
    assert isinstance(found.indexes, dict)
    assert list(shown) == list(found.indexes) == ["coming"]
    assert found.indexes["coming"].status == "CREATING"
    seen, use = replace(found, items=100), found.indexes["coming"]
    index = LiveIndex(live=seen, days_old=400, name="coming", use=use, of=1)
    assert worth(index).outcome is Outcome.EXEMPT


def test_only_indexes_of_declared_tables_are_paid_for_and_tags_that_lag_are_asked_again(
    monkeypatch: pytest.MonkeyPatch, aws: Aws, key: str
) -> None:
    door = api(monkeypatch, aws.endpoint, aws.account)
    asked: list[tuple[str, dict[str, Any]]] = []
    call, pages = door.call, door.pages

    def called(what: Any, **parameters: Any) -> Any:
        asked.append((what.operation, parameters))
        return call(what, **parameters)

    def paged(what: Any, **parameters: Any) -> Any:
        asked.append((what.operation, parameters))
        return pages(what, **parameters)

    monkeypatch.setattr(door, "call", called)
    monkeypatch.setattr(door, "pages", paged)
    read(door, names={"somebody-else"}, now=NOW)
    assert "GetMetricData" not in {name for name, _ in asked}
    asked.clear()
    read(door, names={"orders"}, now=NOW)
    own = [p["ResourceArn"] for name, p in asked if name == "ListTagsOfResource"]
    assert any(arn.endswith("table/orders") for arn in own)  # it lacks most required tags
    assert "GetMetricData" in {name for name, _ in asked}
