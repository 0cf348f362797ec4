"""Items in the shapes that the documents give, many of each: every question has answers, and neighbours beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from support import Json

from holdfast import Entity, Table
from stacks import acs, call_analytics, miyabi, orange_theory

NOW = datetime(2025, 11, 29, 10, 30, tzinfo=UTC)
ROWS = 24  # of each table that is not Miyabi's: with two or three values of what is asked, all combinations turn up


@dataclass(frozen=True, slots=True)
class Row:
    """An item, what it is, and what it is asked by: facts, of which its keys are made."""

    kind: str
    values: Mapping[str, Any]
    item: Json


def iso(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


# Miyabi ---------------------------------------------------------------------------------------------------------------

USER, REPO, EXEC = "550e8400-e29b-41d4-a716-446655440000", "repo-abc123", "exec-xyz789"
MIDNIGHT = "2025-11-29T00:00:00Z"
REPOSITORY = {
    "githubRepoId": 987654321,
    "owner": "customer-cloud",
    "name": "miyabi-private",
    "fullName": "customer-cloud/miyabi-private",
    "isActive": True,
}
RUN = {"issueNumber": 123, "agentType": "codegen", "status": "running", "startedAt": "2025-11-29T10:30:00Z"}


def _sample(keys: str, kind: str, data: Json, created: str, updated: str | None = None, **more: Any) -> Json:
    """A documented item; ``keys`` are the values of PK, SK and those of its indexes, by name."""
    item = {"EntityType": kind, "Data": data, "CreatedAt": created, **more}
    item |= {"UpdatedAt": updated} if updated else {}
    return dict(zip(("PK", "SK"), keys.split(), strict=True)) | item


# Every sample of the document as it stands there, by entity: its own item, then its reverse look-up.
SAMPLES: dict[str, list[Json]] = {
    "USER": [
        _sample(
            f"USER#{USER} METADATA",
            "USER",
            {
                "githubId": 12345678,
                "email": "user@example.com",
                "name": "John Doe",
                "avatarUrl": "https://github.com/avatar.jpg",
                "accessToken": "(a token)",
                "orgRole": "admin",
            },
            MIDNIGHT,
            MIDNIGHT,
            GSI2PK="ORG#org-123",
            GSI2SK=f"USER#{USER}",
        )
    ],
    "REPOSITORY": [
        _sample(
            f"USER#{USER} REPO#{REPO}",
            "REPOSITORY",
            REPOSITORY,
            MIDNIGHT,
            MIDNIGHT,
            GSI2PK="ORG#org-123",
            GSI2SK=f"REPO#{REPO}",
        ),
        _sample(f"REPO#{REPO} METADATA", "REPOSITORY", {"userId": USER, **REPOSITORY}, MIDNIGHT, MIDNIGHT),
    ],
    "AGENT_EXECUTION": [
        _sample(
            f"REPO#{REPO} EXEC#2025-11-29T10:30:00Z#{EXEC}",
            "AGENT_EXECUTION",
            {**RUN, "completedAt": None, "resultSummary": None, "qualityScore": None, "prNumber": None},
            "2025-11-29T10:30:00Z",
            "2025-11-29T10:35:00Z",
            GSI1PK="STATUS#running",
            GSI1SK="2025-11-29T10:30:00Z",
        ),
        _sample(
            f"EXEC#{EXEC} METADATA",
            "AGENT_EXECUTION",
            {"repositoryId": REPO, **RUN},
            "2025-11-29T10:30:00Z",
            "2025-11-29T10:35:00Z",
        ),
    ],
    "WORKFLOW": [
        _sample(
            f"REPO#{REPO} WORKFLOW#workflow-def456",
            "WORKFLOW",
            {
                "name": "CI/CD Pipeline",
                "description": "Main deployment workflow",
                "dagDefinition": {"nodes": [], "edges": []},
                "isActive": True,
            },
            MIDNIGHT,
            MIDNIGHT,
        )
    ],
    "TASK": [
        _sample(
            f"USER#{USER} TASK#task-ghi789",
            "TASK",
            {
                "repositoryId": REPO,
                "name": "Fix authentication bug",
                "description": "Update OAuth flow",
                "priority": "P0",
                "status": "pending",
                "agentType": "codegen",
                "issueNumber": 456,
                "retryCount": 0,
                "maxRetries": 3,
                "metadata": {"estimatedDuration": "30m"},
            },
            "2025-11-29T09:00:00Z",
            "2025-11-29T09:00:00Z",
            GSI1PK="TASK_STATUS#pending",
            GSI1SK="2025-11-29T09:00:00Z",
        )
    ],
    "TASK_DEPENDENCY": [
        _sample(
            "TASK#task-ghi789 DEP#task-jkl012",
            "TASK_DEPENDENCY",
            {"dependsOnTaskId": "task-jkl012"},
            "2025-11-29T09:00:00Z",
        )
    ],
    "WEBSOCKET": [
        _sample(
            "WS#connection-mno345 METADATA",
            "WEBSOCKET",
            {"userId": USER, "connectedAt": "2025-11-29T10:00:00Z", "lastPingAt": "2025-11-29T10:05:00Z"},
            "2025-11-29T10:00:00Z",
            "2025-11-29T10:05:00Z",
            TTL=1733068800,
        ),
        _sample(
            f"USER#{USER} WS#connection-mno345",
            "WEBSOCKET",
            {"connectionId": "connection-mno345", "connectedAt": "2025-11-29T10:00:00Z"},
            "2025-11-29T10:00:00Z",
            "2025-11-29T10:05:00Z",
            TTL=1733068800,
        ),
    ],
    "LINE_MESSAGE": [
        _sample(
            f"USER#{USER} LINE_MSG#2025-11-29T11:00:00Z#msg-pqr678",
            "LINE_MESSAGE",
            {
                "lineUserId": "U123456789abcdef",
                "messageType": "text",
                "content": "Hello Miyabi!",
                "metadata": {"replyToken": "(a token)"},
            },
            "2025-11-29T11:00:00Z",
            TTL=1735660800,
        )
    ],
    "ORGANIZATION": [
        _sample(
            "ORG#org-123 METADATA",
            "ORGANIZATION",
            {
                "name": "Acme Corp",
                "githubOrgId": 123456,
                "plan": "enterprise",
                "billingEmail": "billing@acme.com",
                "settings": {"allowedAgents": ["codegen", "review", "pr"], "maxConcurrentExecutions": 10},
            },
            MIDNIGHT,
            MIDNIGHT,
        )
    ],
    "ORG_MEMBER": [
        _sample(
            f"ORG#org-123 MEMBER#{USER}",
            "ORG_MEMBER",
            {"userId": USER, "role": "admin", "permissions": ["read", "write", "admin"], "joinedAt": MIDNIGHT},
            MIDNIGHT,
            MIDNIGHT,
        )
    ],
    "EXECUTION_LOG": [
        _sample(
            f"EXEC#{EXEC} LOG#2025-11-29T10:32:15Z#log-stu901",
            "EXECUTION_LOG",
            {
                "logLevel": "INFO",
                "message": "Starting code generation for issue #123",
                "metadata": {"module": "agent_executor", "function": "execute"},
            },
            "2025-11-29T10:32:15Z",
            TTL=1735660800,
        )
    ],
}
ENTITIES = {e.type: e for e in miyabi.ENTITIES}

# Names that begin like another one: what is asked for by a whole name must not find what only begins with it.
OTHER, THIRD = "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "7d444840-9dc0-11d1-b245-5ffdce74fad2"
OWNERS = {USER: "org-123", f"{USER}0": "org-123", OTHER: "org-1230", THIRD: "org-123"}
REPOS = {REPO: USER, f"{REPO}0": f"{USER}0", "repo-def456": OTHER, "repo-ghi789": USER, "repo-jkl012": USER}
TASKS = ("task-ghi789", "task-ghi7890", "task-jkl012", "task-mno345", "task-pqr678", "task-stu901")


def written(entity: Entity, **values: Any) -> list[Row]:
    """All items of an entity as applications write them: the sample's shape, without what the declaration leaves out.

    Keys are rendered from the templates, and what else an item says of itself is the same fact.
    """
    rows = []
    for number, (declared, sample) in enumerate(zip(entity.items, SAMPLES[entity.type], strict=True)):
        data = {k: values.get(k, v) for k, v in without(sample["Data"], entity.departs).items()}
        if "repositoryId" in data and "repoId" in values:
            data["repositoryId"] = values["repoId"]
        item = {**sample, **declared.render(values), "Data": data}
        if "createdAt" in values:
            item["CreatedAt"] = values["createdAt"]
        if expires := entity.ttl(NOW):
            item |= {"TTL": expires, "CreatedAt": iso(NOW)}
        rows.append(Row(f"{entity.type}/{number}" if number else entity.type, values, item))
    return rows


def without(data: Json, names: Mapping[str, str]) -> Json:
    """A map without some attributes, wherever they stand in it."""
    return {k: without(v, names) if isinstance(v, dict) else v for k, v in data.items() if k not in names}


def _things() -> Iterator[tuple[str, Json]]:
    """Which entities there are: a few users, what belongs to each of them, and times that are not in order."""
    for org in {**dict.fromkeys(OWNERS.values()), "org-9": None}:
        yield "ORGANIZATION", {"orgId": org}
    for user, org in OWNERS.items():
        yield "USER", {"userId": user, "orgId": org}
        yield "ORG_MEMBER", {"userId": user, "orgId": org}
        for n in range(3):
            yield "LINE_MESSAGE", {"userId": user, "sentAt": _minute(7 * n % 3), "messageId": f"msg-{n}"}
    yield "ORG_MEMBER", {"userId": USER, "orgId": "org-1230"}  # a member of two, where a user names one
    for repo, user in REPOS.items():
        yield "REPOSITORY", {"repoId": repo, "userId": user, "orgId": OWNERS[user]}
        for workflow in ("workflow-def456", "workflow-def4560"):
            yield "WORKFLOW", {"repoId": repo, "workflowId": workflow}
    for n in range(13):
        run = {"execId": f"exec-{n}", "repoId": [*REPOS][n % 4 % 3], "agentType": ("codegen", "review")[n % 2]}
        yield "AGENT_EXECUTION", run | {"status": ("running", "pending", "run")[n % 3], "startedAt": _minute(5 * n % 7)}
    for n in range(7):
        yield "EXECUTION_LOG", {"execId": f"exec-{n % 2}", "loggedAt": _minute(5 * n % 7), "logId": f"log-{n}"}
    for n, task in enumerate(TASKS):
        of = {"userId": [*OWNERS][n % 2], "status": ("pending", "pend")[n % 3 // 2], "createdAt": _minute(5 * n % 7)}
        yield "TASK", {"taskId": task, **of}
        yield from (("TASK_DEPENDENCY", {"taskId": task, "dependsOnTaskId": other}) for other in TASKS[:n])
    for n, user in enumerate((USER, f"{USER}0", USER, USER)):
        yield "WEBSOCKET", {"connectionId": f"connection-{'1' * (n + 1)}", "userId": user}


def _minute(number: int) -> str:
    return iso(NOW + timedelta(minutes=number))


# ACS and callytics ----------------------------------------------------------------------------------------------------

AT = "2024-01-01T00:00:00Z"
ACS: dict[str, Json] = {
    acs.USERS: {
        "id": "user-uuid",
        "email": "user@example.com",
        "name": "User Name",
        "created_at": AT,
        "updated_at": AT,
        "status": "active",
        "preferences": {"email_notifications": True, "ai_auto_response": True},
        "organization_id": "org-uuid",
        "role": "admin",
    },
    acs.CONVERSATIONS: {
        "conversation_id": "conv-uuid",
        "response_id": "response-uuid",
        "message_id": "msg-uuid",
        "associated_account": "account-uuid",
        "sender_email": "sender@example.com",
        "recipient_email": "recipient@example.com",
        "subject": "Email Subject",
        "body": "Email body content",
        "timestamp": AT,
        "is_first_email": True,
        "thread_id": "thread-uuid",
        "status": "received",
        "ai_response": "Generated AI response",
        "ev_score": Decimal("0.85"),
        "metadata": {"headers": {}, "attachments": [], "spam_score": Decimal("0.1")},
    },
    acs.THREADS: {
        "conversation_id": "conv-uuid",
        "associated_account": "account-uuid",
        "thread_id": "thread-uuid",
        "created_at": AT,
        "updated_at": AT,
        "status": "active",
        "subject": "Thread Subject",
        "participants": ["user1@example.com", "user2@example.com"],
        "message_count": 5,
        "last_message_at": AT,
        "attributes": {"urgency": "high", "category": "support", "priority": 1, "sentiment": "positive"},
        "ai_settings": {"auto_response_enabled": True, "response_delay_hours": 2, "max_response_length": 500},
    },
    acs.ORGANIZATIONS: {
        "organization_id": "org-uuid",
        "name": "Organization Name",
        "domain": "example.com",
        "created_at": AT,
        "updated_at": AT,
        "status": "active",
        "settings": {"email_domain_verification": True, "ai_response_enabled": True, "max_users": 100},
        "billing": {"plan": "basic", "usage": {"emails_processed": 1000, "storage_used_gb": Decimal("2.5")}},
    },
    acs.MEMBERS: {
        "organization_id": "org-uuid",
        "user_id": "user-uuid",
        "role": "owner",
        "joined_at": AT,
        "status": "active",
        "permissions": {"manage_users": True, "view_conversations": True, "edit_settings": False},
        "invited_by": "admin-uuid",
        "last_active": AT,
    },
    acs.INVITES: {
        "invite_id": "invite-uuid",
        "timestamp": AT,
        "organization_id": "org-uuid",
        "email": "invitee@example.com",
        "invite_token": "(a token)",
        "invited_by": "admin-uuid",
        "role": "member",
        "status": "pending",
        "expires_at": "2024-01-08T00:00:00Z",
        "accepted_at": "2024-01-05T00:00:00Z",
    },
    acs.SESSIONS: {
        "session_id": "session-uuid",
        "user_id": "user-uuid",
        "account_id": "account-uuid",
        "created_at": AT,
        "last_activity": AT,
        "expires_at": "2024-01-08T00:00:00Z",
        "ttl": 1704067200,
        "ip_address": "192.168.1.1",
        "user_agent": "Mozilla/5.0...",
        "is_active": True,
        "metadata": {"login_method": "form", "device_type": "desktop"},
    },
    acs.RATE_AI: {
        "associated_account": "account-uuid",
        "request_count": 150,
        "window_start": AT,
        "window_end": "2024-01-01T01:00:00Z",
        "last_request": "2024-01-01T00:55:00Z",
        "limit": 100,
        "reset_time": "2024-01-01T01:00:00Z",
        "blocked_until": None,
        "metadata": {"function_calls": {"generate_email": 50, "llm_response": 100}},
    },
    acs.RATE_AWS: {
        "associated_account": "account-uuid",
        "aws_requests": 950,
        "window_start": AT,
        "window_end": "2024-01-01T01:00:00Z",
        "last_request": "2024-01-01T00:55:00Z",
        "limit": 1000,
        "reset_time": "2024-01-01T01:00:00Z",
        "throttled_requests": 5,
        "metadata": {"service_calls": {"dynamodb": 400, "s3": 300, "ses": 250}},
    },
    acs.EV_DATA: {
        "conversation_id": "conv-uuid",
        "ev_score": Decimal("0.85"),
        "calculation_date": AT,
        "factors": {"urgency": Decimal("0.8"), "priority": Decimal("0.9")},
        "algorithm_version": "1.2.0",
        "confidence_score": Decimal("0.92"),
        "recommendations": ["Respond within 2 hours"],
        "metadata": {"calculation_time_ms": 150, "data_points_used": 25},
    },
    acs.LLM_DATA: {
        "conversation_id": "conv-uuid",
        "model_used": "meta-llama/Llama-3.3-70B-Instruct-Turbo",
        "prompt_tokens": 150,
        "response_tokens": 200,
        "total_tokens": 350,
        "response_time_ms": 2500,
        "quality_score": Decimal("0.88"),
        "generated_at": AT,
        "prompt": "Original prompt text",
        "response": "Generated response text",
        "metadata": {"temperature": Decimal("0.7"), "max_tokens": 512, "cost_usd": Decimal("0.0025")},
    },
    acs.LLM_REPORTS: {
        "report_id": "report-uuid",
        "account_id": "account-uuid",
        "report_period": "2024-01",
        "generated_at": AT,
        "total_requests": 1500,
        "total_tokens": 450000,
        "total_cost_usd": Decimal("12.5"),
        "average_response_time_ms": 2200,
        "average_quality_score": Decimal("0.85"),
        "model_usage": {"meta-llama/Llama-3.3-70B-Instruct-Turbo": {"requests": 1200, "cost": 10}},
        "function_breakdown": {"generate_email": 800, "llm_response": 700},
    },
    acs.INVOCATIONS: {
        "id": "invocation-uuid",
        "associated_account": "account-uuid",
        "function_name": "LoginUser",
        "invoked_at": AT,
        "duration_ms": 150,
        "memory_used_mb": 128,
        "status": "success",
        "error_message": "Error details if failed",
        "request_id": "aws-request-id",
        "cold_start": True,
        "metadata": {"http_method": "POST", "endpoint": "/api/auth/login", "user_agent": "Mozilla/5.0..."},
    },
}

# The document of callytics shows no item; it names these attributes and says what their values look like.
SITE = "277275028"
CALL = {
    "telephonySessionId": "s-1",
    "franchise": "orangeTheory",
    "clientId": f"orangeTheory-{SITE}",
    "callStartTime": AT,
    "fromPhoneNumber": "+19142650000",
    "toPhoneNumber": "+19784890000",
    "callDirection": "inbound",
    "staff_performance...name": "Mia",
    "call_categorization...classification": "sales",
    "call_categorization.follow_up_type": "call back",
    "call_outcome.outcome_category": "booked",
    "transcriptionJobName": "job-1",
}
STORE = "18a16bde-8f20-4442-9b95-35f9d144b0e7"
CALLYTICS: dict[str, tuple[Json, ...]] = {  # written in turns where a table holds two shapes
    call_analytics.ANALYSIS: ({**CALL, "siteId": SITE}, {**CALL, "account_id": SITE}),  # until 2026-04-25, and since
    "call-analytics-{env}-call-events-{region}": (
        {"telephonySessionId": "s-1", "transcriptionJobName": "job-1", "sessionId": "session-1"},
    ),
    "LeadTracking-v2-{region}": (
        {
            "id": "lead-1",
            "leadEmail": "lead@example.com",
            "emailFrom": "sender@example.com",
            "phone": "+19142650000",
            "forwardedOriginalFrom": "source@example.com",
            "receivedAt": AT,
        },
    ),
    orange_theory.NUMBERS: (
        {"providerAccountId": SITE, "phoneNumber": "+19142650000", "userId": USER, "extensionId": 101},
        {"providerAccountId": SITE, "phoneNumber": "+19142650000", "userId": USER, "extensionId": ""},
    ),
    orange_theory.ASSIGNMENTS: ({"storeId": STORE, "phoneNumber": "+19142650000"},),
    orange_theory.STORES: ({"storeId": STORE, "userId": USER, "businessConfig": {}},),
}

TIMES = {"timestamp", "created_at", "callStartTime", "receivedAt"}
ONE_EACH = {"invite_id", "invite_token", "phoneNumber", "transcriptionJobName", "sessionId"}  # each in one item
ASKED = {"email", "is_active", "account_id"}  # what items are asked by beside the attributes of keys


def _value(name: str, sample: Any, number: int) -> Any:
    """The value of an attribute in its documented form; the second begins like the first where the form allows it."""
    if isinstance(sample, bool):
        return number % 2 == 0
    if name in TIMES:
        return _minute(number)
    if sample.startswith("+"):
        return f"+{int(sample[1:]) + number}"
    if "@" in sample:
        return sample if not number else f"{sample}{'.uk' * (number == 1) or number}"
    if sample.isdecimal():
        return str(int(sample) + number)
    return (sample, f"{sample}0", f"other-{sample}")[number] if number < 3 else f"{sample}-{number}"


def _rows(table: Table, samples: tuple[Json, ...]) -> Iterator[Row]:
    """Many items: keys all different, and everything else that is asked for drawn from three values or some times.

    Where a key has two parts, both come again with others.
    """
    rng = Random(table.name)
    key = table.key
    for number in rng.sample(range(ROWS), ROWS):
        sample = samples[number % len(samples)]
        item = dict(sample)
        for name in sorted(({a.name for a in table.attributes} | ASKED) & sample.keys()):
            drawn = rng.randrange(8 if name in TIMES else 3)
            if name in ONE_EACH or (not key.sort and name == key.partition.name):
                drawn = number
            elif key.sort and key.sort.name not in ONE_EACH and name in (key.partition.name, key.sort.name):
                drawn = number % 3 if name == key.partition.name else number // 3
            item[name] = _value(name, sample[name], drawn)
        if "is_first_email" in item:  # a key cannot be Boolean
            item["is_first_email"] = int(item["is_first_email"])
        if "ttl" in item:
            item["ttl"] = int((NOW + timedelta(days=7)).timestamp())
        yield Row("", item, item)


def rows(table: Table) -> list[Row]:
    """Every item that the tests write into a table, in the order of writing."""
    if table.name == miyabi.TABLE:
        return [row for kind, values in _things() for row in written(ENTITIES[kind], **values)]
    shapes = CALLYTICS | {name: (sample,) for name, sample in ACS.items()}
    return list(_rows(table, shapes[table.name]))
