"""A new key cuts off whoever may not use it: `fix` leaves keys alone, names those first, and waits for a word."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from emulator import Aws
from faults import error, only, proxy
from live_account import TRUST, function, log_in
from support import Json
from unprotected import PLACED, commands, state, unprotected_shop

from holdfast.audit.consumers import NewKey, Principal, Surroundings, Use, lacking, leaves_it_to_iam, undecided
from holdfast.unknown import Unknown

Run = Callable[..., tuple[int, str, str]]
HELD = "1 key change held back: see that all who use the tables may use the key, then add --consumers-have-the-key"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    """An account whose orders are on the key that AWS owns, and are read by one function."""
    found = unprotected_shop()
    log_in(monkeypatch, found)
    role(found, "reader", allow("dynamodb:GetItem", f"{tables(found)}/orders-prod"))
    function(found, "orders-api", {"TABLE_NAME": "orders-prod"})  # as that role
    return found


@pytest.fixture
def run(aws: Aws, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    command = commands(aws, monkeypatch, tmp_path, capsys)

    def fix(*arguments: str, **more: str) -> tuple[int, str, str]:
        account = ("--account", aws.account) if "--apply" in arguments else ()
        return command("fix", *account, *arguments, **more)

    return fix


def tables(aws: Aws) -> str:
    return f"arn:aws:dynamodb:us-east-1:{aws.account}:table"


def key_of(aws: Aws) -> str:
    found = aws.client("kms").describe_key(KeyId=f"alias/holdfast/{PLACED.id}")
    return str(found["KeyMetadata"]["Arn"])


def arn(aws: Aws, who: str) -> str:
    return f"arn:aws:iam::{aws.account}:{who}"


def allow(action: str | list[str], resource: str | list[str], **more: Any) -> Json:
    statement = {"Effect": "Allow", "Action": action, "Resource": resource, **more}
    return {"Version": "2012-10-17", "Statement": [statement]}


def role(aws: Aws, name: str, *documents: Json) -> None:
    iam = aws.client("iam")
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))
    for number, document in enumerate(documents):
        iam.put_role_policy(RoleName=name, PolicyName=f"p{number}", PolicyDocument=json.dumps(document))


def named(err: str) -> dict[str, str]:
    """What is said of each principal, by its ARN."""
    lines = [line.strip() for line in err.splitlines() if "which uses" in line]
    return {line.partition(": ")[2].partition(",")[0]: line for line in lines}


def test_a_fix_leaves_keys_alone_and_says_so(run: Run, aws: Aws) -> None:
    code, out, err = run("--apply")
    assert code == 1
    after = state(aws, "orders-prod")
    assert (after["protected"], after["recovery"], after["key"]) == (True, "ENABLED", None)
    assert "sse-specification" not in out
    (said,) = [line for line in err.splitlines() if "HF007" in line]
    assert said == (
        "left out: 1 key change (HF007), which would cut off all who may not use the new key: "
        "`holdfast fix --env prod --only HF007` with the same account options (--local, --profile …) says who that is"
    )
    assert run() == (1, "", f"{said}\n")


def test_asked_for_by_name_it_names_who_would_be_cut_off_and_stops(run: Run, aws: Aws) -> None:
    code, out, err = run("--only", "HF007", "--apply")
    assert code == 1
    assert named(err) == {
        arn(aws, "role/reader"): f"lacks kms:Decrypt: {arn(aws, 'role/reader')}, which uses orders-prod "
        "(function orders-api, variable TABLE_NAME; its policies)"
    }
    assert err.splitlines()[-1] == HELD
    assert state(aws, "orders-prod")["key"] is None
    comment, _, policy = out.partition("\n")
    assert comment == f"# for {arn(aws, 'role/reader')}"
    assert json.loads(policy)["Statement"][0] == {
        "Sid": "UseTheKeyThroughDynamoDB",
        "Effect": "Allow",
        "Action": ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"],
        "Resource": key_of(aws),
        "Condition": {"StringEquals": {"kms:ViaService": "dynamodb.us-east-1.amazonaws.com"}},
    }
    assert run("--only", "HF007") == (code, out, err)  # and no call to paste


def test_other_changes_are_made_while_a_key_waits(run: Run, aws: Aws) -> None:
    code, _, err = run("--only", "HF001,HF007", "--apply")
    assert (code, HELD in err) == (1, True)
    after = state(aws, "orders-prod")
    assert (after["protected"], after["key"]) == (True, None)


def test_told_that_they_have_the_key_it_changes_it(run: Run, aws: Aws) -> None:
    asserted = ("--only", "HF007", "--consumers-have-the-key")
    code, out, err = run(*asserted)
    assert (code, len(out.splitlines())) == (1, 2)  # the call, for whoever wants to paste it
    assert state(aws, "orders-prod")["key"] is None
    code, out, err = run(*asserted, "--apply")
    assert code == 0, err
    assert list(named(err)) == [arn(aws, "role/reader")]  # it is still said
    assert state(aws, "orders-prod")["key"] == key_of(aws)


def test_l31_the_worst_of_all_tables_is_first_and_a_key_which_takes_minutes_last(run: Run, tmp_path: Path) -> None:
    rules = "HF007,HF010,HF006,HF004,HF001"
    _, out, _ = run("--only", rules, "--consumers-have-the-key", "--apply")
    shown = [line.split()[1] for line in out.splitlines() if line.startswith("# HF")]
    assert shown == ["HF001", "HF004", "HF006", "HF010", "HF010", "HF007"]
    (record,) = (tmp_path / ".holdfast").glob("fix-*.json")
    made = json.loads(record.read_text())["changes"]
    assert [row["rule"] for row in made] == shown
    assert [row["at"] for row in made] == sorted(row["at"] for row in made)


def test_whoever_has_the_printed_policy_is_not_named_again(run: Run, aws: Aws) -> None:
    iam = aws.client("iam")
    role(aws, "writer", allow("dynamodb:*", f"{tables(aws)}/orders-*"))
    iam.create_user(UserName="clerk")
    iam.create_group(GroupName="clerks")
    iam.add_user_to_group(GroupName="clerks", UserName="clerk")
    items = json.dumps(allow("dynamodb:Query", f"{tables(aws)}/orders-prod/index/*"))
    iam.put_group_policy(GroupName="clerks", PolicyName="p", PolicyDocument=items)
    role(aws, "other", allow("dynamodb:*", f"{tables(aws)}/stranger"), allow("dynamodb:DescribeTable", "*"))
    _, out, err = run("--only", "HF007")
    assert {who: line.partition(": ")[0] for who, line in named(err).items()} == {
        arn(aws, "role/reader"): "lacks kms:Decrypt",
        arn(aws, "role/writer"): "lacks kms:Decrypt, kms:GenerateDataKey",
        arn(aws, "user/clerk"): "lacks kms:Decrypt",
    }
    policy = out.partition("\n")[2]
    managed = iam.create_policy(PolicyName="orders-key", PolicyDocument=policy)["Policy"]["Arn"]
    iam.attach_role_policy(RoleName="reader", PolicyArn=managed)
    iam.put_role_policy(RoleName="writer", PolicyName="key", PolicyDocument=policy)
    iam.attach_group_policy(GroupName="clerks", PolicyArn=managed)
    code, _, err = run("--only", "HF007")
    assert (code, named(err)) == (1, {})
    assert "  no principal that could be read uses them and lacks the key\n" in err
    assert err.splitlines()[-1] == HELD


def test_a_grant_of_the_key_counts(run: Run, aws: Aws) -> None:
    grant = {"KeyId": key_of(aws), "GranteePrincipal": arn(aws, "role/reader"), "Operations": ["Decrypt"]}
    kms = aws.client("kms")
    narrow = {"EncryptionContextEquals": {"aws:dynamodb:tableName": "another"}}
    kms.create_grant(**grant, Constraints=narrow)
    assert list(named(run("--only", "HF007")[2])) == [arn(aws, "role/reader")]
    kms.create_grant(**grant)
    assert named(run("--only", "HF007")[2]) == {}


def test_a_function_that_reads_the_stream_uses_the_table(run: Run, aws: Aws) -> None:
    client = aws.client("dynamodb")
    client.update_table(
        TableName="orders-prod", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    )
    stream = client.describe_table(TableName="orders-prod")["Table"]["LatestStreamArn"]
    aws.client("lambda").delete_function(FunctionName="orders-api")
    function(aws, "orders-stream", {})
    aws.client("lambda").create_event_source_mapping(
        EventSourceArn=stream, FunctionName="orders-stream", StartingPosition="LATEST"
    )
    (line,) = named(run("--only", "HF007")[2]).values()
    assert "(function orders-stream, event source; its policies)" in line


def test_whom_the_resource_policy_lets_in_from_elsewhere_is_unknown(run: Run, aws: Aws) -> None:
    other = "arn:aws:iam::999999999999:role/partner"
    statement = allow("dynamodb:GetItem", f"{tables(aws)}/orders-prod", Principal={"AWS": [other, arn(aws, "root")]})
    aws.client("dynamodb").put_resource_policy(ResourceArn=f"{tables(aws)}/orders-prod", Policy=json.dumps(statement))
    found = named(run("--only", "HF007")[2])
    assert list(found) == [arn(aws, "role/reader"), other]
    assert found[other].startswith("unknown: ")


@pytest.mark.parametrize(
    ("operation", "lines"),
    [
        (
            "GetAccountAuthorizationDetails",
            (
                "  unknown: arn:aws:iam::{account}:role/reader, which uses orders-prod (function orders-api, variable "
                "TABLE_NAME): IAM could not be read: not allowed: iam:GetAccountAuthorizationDetails is missing",
                "  unknown: which roles and users may use them (IAM could not be read: not allowed: "
                "iam:GetAccountAuthorizationDetails is missing)",
            ),
        ),
        ("ListFunctions", ("  unknown: which functions use them (not allowed: lambda:ListFunctions is missing)",)),
        (
            "ListEventSourceMappings",
            ("  unknown: which functions read their streams (not allowed: lambda:ListEventSourceMappings is missing)",),
        ),
        (
            "GetResourcePolicy",
            (
                "  unknown: whom the resource policy of orders-prod lets in (not allowed: dynamodb:GetResourcePolicy "
                "is missing)",
            ),
        ),
        (
            "ListGrants",
            (
                "  unknown: arn:aws:iam::{account}:role/reader, which uses orders-prod (function orders-api, "
                "variable TABLE_NAME; its policies): grants of the key could not be read: not allowed: "
                "kms:ListGrants is missing",
            ),
        ),
        (
            "GetKeyPolicy",
            (
                "  unknown: arn:aws:iam::{account}:role/reader, which uses orders-prod (function orders-api, variable "
                "TABLE_NAME; its policies): the key policy could not be read: not allowed: "
                "kms:GetKeyPolicy is missing",
            ),
        ),
        ("DescribeKey", ("  unknown: who may use it (not allowed: kms:DescribeKey is missing)",)),
    ],
)
def test_what_could_not_be_read_is_unknown_and_never_fine(
    operation: str, lines: tuple[str, ...], run: Run, aws: Aws
) -> None:
    denied = only({operation}, lambda asked: error(asked, "AccessDeniedException"))
    with proxy(aws.endpoint, denied) as endpoint:
        code, _, err = run("--only", "HF007", "--apply", endpoint=endpoint)
    assert code == 1
    assert [line for line in err.splitlines() if line.startswith("  unknown: ")] == [
        line.format(account=aws.account) for line in lines
    ]
    assert state(aws, "orders-prod")["key"] is None


# By the letter of policies

ACCOUNT, TABLE = "123456789012", "arn:aws:dynamodb:us-east-1:123456789012:table/orders"
READER = f"arn:aws:iam::{ACCOUNT}:role/reader"
KEY = NewKey(
    arn=f"arn:aws:kms:us-east-1:{ACCOUNT}:key/1",
    account=ACCOUNT,
    region="us-east-1",
    policy=(allow("kms:*", "*", Principal={"AWS": f"arn:aws:iam::{ACCOUNT}:root"})["Statement"][0],),
)
VIA = "kms:ViaService"
CONTEXT = "kms:EncryptionContext:aws:dynamodb:tableName"


def statement(action: str | list[str], resource: str = KEY.arn, effect: str = "Allow", **more: Any) -> Json:
    return {"Effect": effect, "Action": action, "Resource": resource, **more}


def verdict(*statements: Json, key: NewKey = KEY, **more: Any) -> tuple[str, ...] | Unknown:
    """What a reader of orders lacks."""
    principal = Principal(arn=READER, statements=(statement("dynamodb:GetItem", TABLE), *statements), **more)
    found = lacking(key, {"orders": TABLE}, Surroundings(principals={READER: principal}))
    return found[0].actions if found else ()


@pytest.mark.parametrize(
    ("given", "lacks"),
    [
        ((), True),
        ((statement("KMS:decrypt"),), False),
        ((statement(["s3:*", "kms:De*"], "*"),), False),
        ((statement("*", "*"),), False),
        ((statement("kms:Decrypt", "arn:aws:kms:us-east-1:123456789012:key/2"),), True),
        ((statement("kms:Encrypt"),), True),
        (({"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"},), False),
        (({"Effect": "Allow", "Action": "kms:*", "NotResource": KEY.arn},), True),
        ((statement("kms:*"), statement("kms:Decrypt", "*", "Deny")), True),
        ((statement("kms:*"), statement("kms:Encrypt", "*", "Deny")), False),
        ((statement("kms:*", Condition={"StringEquals": {VIA: "dynamodb.us-east-1.amazonaws.com"}}),), False),
        ((statement("kms:*", Condition={"StringLike": {VIA: ["s3.*", "dynamodb.*"]}}),), False),
        ((statement("kms:*", Condition={"StringEquals": {VIA: "s3.us-east-1.amazonaws.com"}}),), True),
        ((statement("kms:*", Condition={"StringEquals": {CONTEXT: "orders"}}),), False),
        ((statement("kms:*", Condition={"StringEquals": {CONTEXT: "carts"}}),), True),
    ],
)
def test_a_policy_gives_the_key_or_not(given: tuple[Json, ...], lacks: bool) -> None:
    assert verdict(*given) == (("kms:Decrypt",) if lacks else ())


@pytest.mark.parametrize(
    "given",
    [
        (statement("kms:*", Condition={"Bool": {"aws:MultiFactorAuthPresent": "true"}}),),
        (statement("kms:*", Condition={"StringEquals": {"aws:PrincipalTag/team": "orders"}}),),
        (statement("kms:*"), statement("kms:*", "*", "Deny", Condition={"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}})),
    ],
)
def test_a_condition_that_nobody_can_judge_here_is_unknown(given: tuple[Json, ...]) -> None:
    found = verdict(*given)
    assert isinstance(found, Unknown)
    assert found.reason.startswith("it depends on the condition '")


def test_a_boundary_and_a_policy_that_was_not_shown_count() -> None:
    use = statement("kms:*")
    assert verdict(use, boundary=(statement("dynamodb:*", "*"),)) == ("kms:Decrypt",)
    assert verdict(use, boundary=(statement("*", "*"),)) == ()
    assert verdict(use, boundary=(statement("*", "*"), statement("kms:*", "*", "Deny"))) == ("kms:Decrypt",)
    assert verdict(use, unread=Unknown("its policy X could not be read")) == Unknown("its policy X could not be read")
    elsewhere = Principal(arn=READER, unread=Unknown("its policy X could not be read"))
    around = Surroundings(principals={READER: elsewhere})
    assert lacking(KEY, {"orders": TABLE}, around) == []
    assert undecided(around, []) == [f"whether {READER} may use them (its policy X could not be read)"]


def test_what_is_certain_of_one_table_is_said_although_another_is_unknown() -> None:
    both = {name: f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/{name}" for name in ("orders", "carts")}
    of_carts = {CONTEXT: "carts", "aws:PrincipalTag/team": "orders"}
    statements = (
        statement("dynamodb:Scan", "*"),
        statement("kms:*", Condition={"StringEquals": of_carts}),
    )
    around = Surroundings(principals={READER: Principal(arn=READER, statements=statements)})
    (lack,) = lacking(KEY, both, around)
    assert (lack.tables, lack.actions) == (("orders", "carts"), ("kms:Decrypt",))


def test_the_policy_of_the_key_has_the_first_word() -> None:
    silent = replace(KEY, policy=())
    assert leaves_it_to_iam(KEY, "orders") is True
    assert leaves_it_to_iam(silent, "orders") is False
    assert verdict(statement("kms:*"), key=silent) == ("kms:Decrypt",)
    direct = statement("kms:Decrypt", "*", Principal={"AWS": READER})
    assert verdict(key=replace(KEY, policy=(direct,))) == ()
    assert verdict(key=replace(KEY, policy=(direct | {"Principal": "*"},))) == ()
    assert verdict(key=replace(KEY, policy=(direct, direct | {"Effect": "Deny"}))) == ("kms:Decrypt",)
    but = {"Effect": "Deny", "NotPrincipal": {"AWS": READER}, "Action": "kms:*", "Resource": "*"}
    assert isinstance(verdict(statement("kms:*"), key=replace(KEY, policy=(*KEY.policy, but))), Unknown)  # type: ignore[misc]


def test_a_principal_that_iam_does_not_list_is_unknown() -> None:
    (lack,) = lacking(KEY, {"orders": TABLE}, Surroundings(uses=(Use(table="orders", arn=READER, how="x"),)))
    assert isinstance(lack.actions, Unknown)
