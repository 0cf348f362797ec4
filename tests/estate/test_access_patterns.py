"""Entities and access patterns, run on the real engine: what is written comes back, in order, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from dynamodb_local import JAVA, create, server
from support import Json

from holdfast import Pattern, Table, gsi
from holdfast.estate.placement import Placed
from stacks import ESTATE, acs, environments, miyabi

if JAVA is None:
    pytest.skip(
        "java is not installed, so DynamoDB Local cannot run: install a JDK, 17 or newer", allow_module_level=True
    )

NOW = datetime(2040, 2, 29, 23, 50, tzinfo=UTC)  # far ahead, or DynamoDB Local would expire what is written
USER, OTHER_USER = "550e8400-e29b-41d4-a716-446655440000", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"


def iso(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture(scope="module")
def dynamodb() -> Iterator[Any]:
    with server() as resource:
        yield resource


def ask(table: Any, declared: Table, pattern: Pattern, *, limit: int | None = None, **values: Any) -> list[Json]:
    """Every item that answers a pattern, over as many pages as it takes."""
    method, request = pattern.request(declared, values)
    if method == "get_item":
        answer = table.get_item(**request)
        return [answer["Item"]] if "Item" in answer else []
    if limit:
        request["Limit"] = limit
    items: list[Json] = []
    while True:
        page = table.query(**request)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return items
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def the(patterns: tuple[Pattern, ...], name: str) -> Pattern:
    return next(p for p in patterns if p.id == name)


def refused(table: Any, method: str, **request: Any) -> str:
    with pytest.raises(ClientError) as error:
        getattr(table, method)(**request)
    assert error.value.response["Error"]["Code"] == "ValidationException"
    return str(error.value.response["Error"]["Message"])


def test_the_engine_takes_every_declared_table(dynamodb: Any) -> None:
    for placed in ESTATE.placements([environments.PROD]):
        for declared in placed.tables:
            table = create(dynamodb, declared, placed.fill(declared.name))
            assert len(table.global_secondary_indexes or []) == len(declared.indexes)
            table.delete()


# Miyabi ---------------------------------------------------------------------------------------------------------------


DATA = miyabi.STACK.tables[0]
RUNS = [("exec-a", "running", 0), ("exec-b", "pending", 5), ("exec-c", "running", 10), ("exec-d", "running", 15)]


def write(table: Any, entity: str, data: list[Json] | None = None, *, at: datetime = NOW, **values: Any) -> None:
    """All items of an entity, keys rendered from its templates and TTL computed."""
    (declared,) = [e for e in miyabi.ENTITIES if e.type == entity]
    for number, item in enumerate(declared.items):
        ttl = declared.ttl(at)
        table.put_item(
            Item={
                **item.render(values),
                "EntityType": entity,
                "Data": data[number] if data else {},
                "CreatedAt": iso(at),
                "UpdatedAt": iso(at),
                **({"TTL": ttl} if ttl else {}),
            }
        )


def write_run(
    table: Any, run: str, status: str, at: datetime, *, repo: str = "repo-abc123", kind: str = "codegen"
) -> None:
    data = {"issueNumber": 123, "agentType": kind, "status": status, "startedAt": iso(at)}
    write(
        table,
        "AGENT_EXECUTION",
        [data | {"completedAt": None}, data | {"repositoryId": repo}],
        at=at,
        repoId=repo,
        startedAt=iso(at),
        execId=run,
        status=status,
    )


def fill(table: Any) -> None:
    """The source's example items, with a few neighbours that no pattern may return by mistake."""
    person = {
        "githubId": 12345678,
        "email": "user@example.com",
        "name": "John Doe",
        "tokenSecretArn": "arn:aws:secretsmanager:…",
    }
    write(table, "USER", [person], userId=USER, orgId="org-123")
    write(table, "USER", [person], userId=OTHER_USER, orgId="org-123")
    write(table, "USER", [person], userId="somebody", orgId="org-999")
    for repo, owner in (("repo-abc123", USER), ("repo-def456", USER), ("repo-zzz999", OTHER_USER)):
        repository = {"githubRepoId": 987654321, "fullName": f"customer-cloud/{repo}", "isActive": True}
        write(
            table,
            "REPOSITORY",
            [repository, repository | {"userId": owner}],
            userId=owner,
            repoId=repo,
            orgId="org-123",
        )
    for run, status, minutes in RUNS:
        write_run(table, run, status, NOW + timedelta(minutes=minutes))
    write_run(table, "exec-z", "done", NOW, repo="repo-def456", kind="review")
    workflow = {"name": "CI/CD Pipeline", "dagDefinition": {"nodes": [], "edges": []}, "isActive": True}
    write(table, "WORKFLOW", [workflow], repoId="repo-abc123", workflowId="workflow-def456")
    write(table, "WORKFLOW", [workflow], repoId="repo-abc123", workflowId="workflow-other")
    for task in ("task-ghi789", "task-jkl012"):
        values: Json = {"userId": USER, "taskId": task, "status": "pending", "createdAt": iso(NOW)}
        write(table, "TASK", [{"priority": "P0", "status": "pending"}], **values)
    write(table, "TASK_DEPENDENCY", taskId="task-ghi789", dependsOnTaskId="task-jkl012")
    write(table, "TASK_DEPENDENCY", taskId="task-ghi789", dependsOnTaskId="task-mno345")
    write(table, "WEBSOCKET", connectionId="connection-mno345", userId=USER)
    write(table, "LINE_MESSAGE", [{"content": "Hello Miyabi!"}], userId=USER, sentAt=iso(NOW), messageId="msg-pqr678")
    write(table, "ORGANIZATION", [{"name": "Acme Corp"}], orgId="org-123")
    write(table, "ORG_MEMBER", [{"role": "admin"}], orgId="org-123", userId=USER)
    write(table, "EXECUTION_LOG", [{"logLevel": "INFO"}], execId="exec-a", loggedAt=iso(NOW), logId="log-stu901")


@pytest.fixture(scope="module")
def data(dynamodb: Any) -> Any:
    table = create(dynamodb, DATA, "miyabi-lambda-data-test")
    fill(table)
    return table


def started(run: str) -> str:
    return next(iso(NOW + timedelta(minutes=m)) for r, _, m in RUNS if r == run)


@pytest.mark.parametrize(
    ("pattern", "values", "expected"),
    [
        ("AP1", {"userId": USER}, [(f"USER#{USER}", "METADATA")]),
        ("AP1", {"userId": "nobody"}, []),
        ("AP2", {"userId": USER}, [(f"USER#{USER}", "REPO#repo-abc123"), (f"USER#{USER}", "REPO#repo-def456")]),
        (
            "AP3",
            {"repoId": "repo-abc123"},
            [("REPO#repo-abc123", f"EXEC#{started(r)}#{r}") for r in ("exec-a", "exec-b", "exec-c", "exec-d")],
        ),
        ("AP4", {"execId": "exec-c"}, [("EXEC#exec-c", "METADATA")]),
        (
            "AP5",
            {"status": "running"},
            [("REPO#repo-abc123", f"EXEC#{started(r)}#{r}") for r in ("exec-d", "exec-c", "exec-a")],
        ),
        ("AP5", {"status": "pending"}, [("REPO#repo-abc123", f"EXEC#{started('exec-b')}#exec-b")]),
        ("AP6", {"userId": USER}, [(f"USER#{USER}", "TASK#task-ghi789"), (f"USER#{USER}", "TASK#task-jkl012")]),
        ("AP7", {"taskId": "task-ghi789"}, [("TASK#task-ghi789", f"DEP#{d}") for d in ("task-jkl012", "task-mno345")]),
        ("AP8", {"connectionId": "connection-mno345"}, [("WS#connection-mno345", "METADATA")]),
        ("AP9", {"orgId": "org-123"}, [(f"USER#{u}", "METADATA") for u in (USER, OTHER_USER)]),
        (
            "AP10",
            {"repoId": "repo-abc123", "workflowId": "workflow-def456"},
            [("REPO#repo-abc123", "WORKFLOW#workflow-def456")],
        ),
        (
            "GSI2-REPO",
            {"orgId": "org-123"},
            [
                (f"USER#{USER}", "REPO#repo-abc123"),
                (f"USER#{USER}", "REPO#repo-def456"),
                (f"USER#{OTHER_USER}", "REPO#repo-zzz999"),
            ],
        ),
        ("USER-WS", {"userId": USER}, [(f"USER#{USER}", "WS#connection-mno345")]),
    ],
)
def test_miyabi(pattern: str, values: Json, expected: list[tuple[str, str]], data: Any) -> None:
    found = ask(data, DATA, the(miyabi.PATTERNS, pattern), **values)
    assert [(i["PK"], i["SK"]) for i in found] == expected
    # One item a page gives the same items in the same order.
    assert ask(data, DATA, the(miyabi.PATTERNS, pattern), limit=1, **values) == found


def test_every_supported_pattern_is_tried() -> None:
    (tried,) = [m.args[1] for m in test_miyabi.pytestmark if m.name == "parametrize"]
    assert {row[0] for row in tried} == {p.id for p in miyabi.PATTERNS if not p.unsupported}


def test_pages_of_one_megabyte_come_back_whole_and_in_order(dynamodb: Any) -> None:
    """Without any Limit the engine ends a page at 1 MB: a reader that ignores LastEvaluatedKey loses the rest."""
    table = create(dynamodb, DATA, "paging")
    body = {"resultSummary": "x" * 100_000}
    for n in range(25):
        at = NOW + timedelta(minutes=n)
        values = {"repoId": "repo-big", "startedAt": iso(at), "execId": f"exec-{n:02}", "status": "done"}
        write(table, "AGENT_EXECUTION", [body, {}], at=at, **values)
    pattern = the(miyabi.PATTERNS, "AP3")
    _, request = pattern.request(DATA, {"repoId": "repo-big"})
    first = table.query(**request)
    assert 0 < len(first["Items"]) < 25
    assert "LastEvaluatedKey" in first
    expected = [f"exec-{n:02}" for n in range(25)]
    oldest_first = ask(table, DATA, pattern, repoId="repo-big")
    assert [i["SK"].rpartition("#")[2] for i in oldest_first] == expected
    newest_first = ask(table, DATA, the(miyabi.PATTERNS, "AP5"), status="done")
    assert [i["SK"].rpartition("#")[2] for i in newest_first] == expected[::-1]


def test_ttl_lies_ahead_and_is_in_seconds(data: Any) -> None:
    (socket,) = ask(data, DATA, the(miyabi.PATTERNS, "AP8"), connectionId="connection-mno345")
    assert int(socket["TTL"]) == int((NOW + timedelta(hours=24)).timestamp())
    log = data.get_item(Key={"PK": "EXEC#exec-a", "SK": f"LOG#{iso(NOW)}#log-stu901"})["Item"]
    assert int(log["TTL"]) == int((NOW + timedelta(days=30)).timestamp())


def test_a_user_and_its_membership_are_written_together(data: Any) -> None:
    """The source's transaction, with the condition that needs ConditionCheckItem."""
    user = {"PK": "USER#new", "SK": "METADATA", "EntityType": "USER", "GSI2PK": "ORG#org-7", "GSI2SK": "USER#new"}
    member = {"PK": "ORG#org-7", "SK": "MEMBER#new", "EntityType": "ORG_MEMBER"}
    organization = {"Key": {"PK": "ORG#org-7", "SK": "METADATA"}, "ConditionExpression": "attribute_exists(PK)"}
    name = {"TableName": data.name}
    request = [{"ConditionCheck": organization | name}, *({"Put": {"Item": i} | name} for i in (user, member))]
    client = data.meta.client
    with pytest.raises(client.exceptions.TransactionCanceledException):
        client.transact_write_items(TransactItems=request)
    assert ask(data, DATA, the(miyabi.PATTERNS, "AP1"), userId="new") == []
    write(data, "ORGANIZATION", orgId="org-7")
    client.transact_write_items(TransactItems=request)
    assert [i["PK"] for i in ask(data, DATA, the(miyabi.PATTERNS, "AP9"), orgId="org-7")] == ["USER#new"]


def test_runs_by_type_cannot_work_on_gsi1_and_do_on_a_gsi3(data: Any, dynamodb: Any) -> None:
    pattern = the(miyabi.PATTERNS, "GSI1-AGENT_TYPE")
    assert pattern.unsupported
    # Four codegen runs exist, and none is found: their GSI1PK holds their status.
    assert ask(data, DATA, pattern, agentType="codegen") == []
    # Giving the attribute to the type takes the run away from the query by status: one value, one question.
    running = the(miyabi.PATTERNS, "AP5")
    run = {"PK": "REPO#repo-abc123", "SK": f"EXEC#{started('exec-d')}#exec-d"}
    before = ask(data, DATA, running, status="running")
    change = {"UpdateExpression": "SET GSI1PK = :k"}
    data.update_item(Key=run, **change, ExpressionAttributeValues={":k": "AGENT_TYPE#codegen"})
    assert len(ask(data, DATA, pattern, agentType="codegen")) == 1
    assert len(ask(data, DATA, running, status="running")) == len(before) - 1
    data.update_item(Key=run, **change, ExpressionAttributeValues={":k": "STATUS#running"})
    # With an index of its own both questions are answered.
    fixed = replace(DATA, indexes=(*DATA.indexes, gsi("GSI3PK", "GSI3SK", name="GSI3")))
    table = create(dynamodb, fixed, "with-gsi3")
    fill(table)
    for name, _, _ in RUNS:
        table.update_item(
            Key={"PK": "REPO#repo-abc123", "SK": f"EXEC#{started(name)}#{name}"},
            UpdateExpression="SET GSI3PK = :t, GSI3SK = :s",
            ExpressionAttributeValues={":t": "AGENT_TYPE#codegen", ":s": started(name)},
        )
    by_type = ask(table, fixed, replace(pattern, index="GSI3"), agentType="codegen")
    assert [i["SK"].rpartition("#")[2] for i in by_type] == ["exec-d", "exec-c", "exec-b", "exec-a"]
    assert len(ask(table, fixed, running, status="running")) == 3


# ACS ------------------------------------------------------------------------------------------------------------------


def acs_table(dynamodb: Any, name: str, suffix: str = "", **changes: Any) -> tuple[Any, Table]:
    declared = replace(next(t for t in acs.TABLES if t.name == name), **changes)
    return create(dynamodb, declared, Placed(acs.STACK, environments.TEST).fill(name) + suffix), declared


def test_acs1_login_finds_only_users_that_carry_the_indexed_attribute(dynamodb: Any) -> None:
    table, declared = acs_table(dynamodb, acs.USERS)
    documented = {"id": "user-1", "email": "user@example.com", "name": "User Name", "status": "active", "role": "admin"}
    table.put_item(Item=documented)
    login = the(acs.PATTERNS, "ACS1")
    assert ask(table, declared, login, email="user@example.com") == []  # the documented item has no responseEmail
    table.put_item(Item=documented | {"responseEmail": "user@example.com"})
    assert [i["id"] for i in ask(table, declared, login, email="user@example.com")] == ["user-1"]


def message(conversation: str, response: str, account: str, **more: Any) -> Json:
    return {
        "conversation_id": conversation,
        "response_id": response,
        "message_id": f"msg-{response}",
        "associated_account": account,
        "subject": "Email Subject",
        "body": "Email body content",
        "timestamp": iso(NOW),
        "is_first_email": 1,
        **more,
    }


def test_acs2_and_acs3_messages_of_a_conversation_and_of_an_account(dynamodb: Any) -> None:
    table, declared = acs_table(dynamodb, acs.CONVERSATIONS)
    for n in range(9):
        table.put_item(Item=message("conv-1", f"response-{n}", "account-1", is_first_email=int(n == 0)))
    table.put_item(Item=message("conv-2", "response-x", "account-1"))
    table.put_item(Item=message("conv-3", "response-y", "account-2"))
    for limit in (None, 2):
        thread = ask(table, declared, the(acs.PATTERNS, "ACS2"), conversation_id="conv-1", limit=limit)
        assert [i["response_id"] for i in thread] == [f"response-{n}" for n in range(9)]
        account = ask(table, declared, the(acs.PATTERNS, "ACS3"), account_id="account-1", limit=limit)
        assert {(i["conversation_id"], i["response_id"]) for i in account} == {
            *(("conv-1", f"response-{n}") for n in range(9)),
            ("conv-2", "response-x"),
        }


def test_a_key_cannot_be_boolean(dynamodb: Any) -> None:
    table, _ = acs_table(dynamodb, acs.CONVERSATIONS, "-keys")
    said = refused(table, "put_item", Item=message("conv-1", "response-1", "account-1", is_first_email=True))
    assert said == "Invalid attribute value type"
    table.put_item(Item=message("conv-1", "response-1", "account-1", is_first_email=1))


def session(number: int, user: str, *, active: bool) -> Json:
    expires = NOW + timedelta(days=7)
    return {
        "session_id": f"session-{number}",
        "user_id": user,
        "created_at": iso(NOW),
        "expires_at": iso(expires),
        "ttl": int(expires.timestamp()),
        "is_active": active,
    }


def test_acs4_sessions_of_a_user_need_the_index_that_the_source_lacks(dynamodb: Any) -> None:
    pattern = the(acs.PATTERNS, "ACS4")
    as_documented, without_index = acs_table(dynamodb, acs.SESSIONS, "-documented", indexes=())
    _, request = replace(pattern, index=None).request(without_index, {"user_id": "user-1"})
    request["ExpressionAttributeNames"]["#p"] = "user_id"  # the documented query: by user, on the table itself
    assert refused(as_documented, "query", **request) == "Query condition missed key schema element"

    table, declared = acs_table(dynamodb, acs.SESSIONS)
    for n in range(6):
        table.put_item(Item=session(n, "user-1" if n < 4 else "user-2", active=n % 2 == 0))
    for limit in (None, 1):
        found = ask(table, declared, pattern, user_id="user-1", limit=limit)
        assert {i["session_id"] for i in found} == {"session-0", "session-2"}
