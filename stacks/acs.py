"""AcsTables-*: e-mail conversations answered with AI. Source: acs-dynamodb.md.

The source asks for RETAIN and point-in-time recovery in every stage, Sessions included: that is the stack's floor.
Nine indexes repeat their table's own key and one is a prefix of another; they are documented, so they are built.
"""

from datetime import UTC, datetime

from holdfast import (
    Assumed,
    Data,
    Durable,
    Encryption,
    Entity,
    Fact,
    Guard,
    Item,
    Pattern,
    Stack,
    Table,
    Transient,
    gsi,
    key,
    number,
)
from stacks.assumptions import PROJECTION

USERS = "acsd2p-{env}-Users"
CONVERSATIONS = "acsd2p-{env}-Conversations"
THREADS = "acsd2p-{env}-Threads"
ORGANIZATIONS = "acsd2p-{env}-Organizations"
MEMBERS = "acsd2p-{env}-OrganizationMembers"
INVITES = "acsd2p-{env}-OrganizationInvites"
SESSIONS = "acsd2p-{env}-Sessions"
RATE_AI = "acsd2p-{env}-RL_AI"
RATE_AWS = "acsd2p-{env}-RL_AWS"
EV_DATA = "acsd2p-{env}-EVDataCollection"
LLM_DATA = "acsd2p-{env}-LLMDataCollection"
LLM_REPORTS = "acsd2p-{env}-LLMReportData"
INVOCATIONS = "acsd2p-{env}-Invocations"

TABLES = (
    Table(
        name=USERS,
        purpose="User accounts and profiles.",
        key=key("id"),
        lifetime=Durable(),
        data=Data.PERSONAL,
        indexes=(gsi("id"), gsi("responseEmail"), gsi("userId", "createdAt")),
    ),
    Table(
        name=CONVERSATIONS,
        purpose="Every e-mail of a conversation.",
        key=key("conversation_id", "response_id"),
        lifetime=Durable(),
        data=Data.PERSONAL,
        indexes=(
            gsi("associated_account"),
            gsi(
                "associated_account",
                number("is_first_email"),
                assumed=Assumed(Fact.INDEX_KEY, "documented as Boolean, which no key can be; a Number, 0 or 1"),
            ),
            gsi("conversation_id"),
            gsi("message_id"),
            gsi("response_id"),
        ),
    ),
    Table(
        name=THREADS,
        purpose="What is known of a conversation as a whole.",
        key=key("conversation_id"),
        lifetime=Durable(),
        data=Data.PERSONAL,
        indexes=(gsi("associated_account", name="associated_account"), gsi("conversation_id")),
    ),
    Table(
        name=ORGANIZATIONS,
        purpose="Organizations, their settings and plans.",
        key=key("organization_id"),
        lifetime=Durable(),
        data=Data.OPERATIONAL,
    ),
    Table(
        name=MEMBERS,
        purpose="Who belongs to an organization, in which role.",
        key=key("organization_id", "user_id"),
        lifetime=Durable(),
        data=Data.OPERATIONAL,
        indexes=(gsi("user_id"),),
    ),
    Table(
        name=INVITES,
        purpose="Invitations to join an organization.",
        key=key("invite_id", "timestamp"),
        lifetime=Durable(),
        data=Data.PERSONAL,
        indexes=(gsi("email"), gsi("invite_token"), gsi("organization_id")),
    ),
    Table(
        name=SESSIONS,
        purpose="Login sessions.",
        key=key("session_id"),
        lifetime=Transient(ttl="ttl"),
        data=Data.PERSONAL,
        indexes=(
            gsi(
                "user_id",
                assumed=Assumed(Fact.ADDITION, "not in the source: its query by user cannot run without this index"),
            ),
        ),
    ),
    Table(
        name=RATE_AI,
        purpose="How many AI calls an account made in its window.",
        key=key("associated_account"),
        lifetime=Durable(),
        data=Data.OPERATIONAL,
        indexes=(gsi("associated_account"),),
    ),
    Table(
        name=RATE_AWS,
        purpose="How many AWS calls an account made in its window.",
        key=key("associated_account"),
        lifetime=Durable(),
        data=Data.OPERATIONAL,
        indexes=(gsi("associated_account"),),
    ),
    Table(
        name=EV_DATA,
        purpose="Expected-value scores of conversations.",
        key=key("conversation_id"),
        lifetime=Durable(),
        data=Data.OPERATIONAL,
        indexes=(gsi("conversation_id"),),
    ),
    Table(
        name=LLM_DATA,
        purpose="Prompts, answers and what they cost.",
        key=key("conversation_id"),
        lifetime=Durable(),
        data=Data.PERSONAL,
        indexes=(gsi("conversation_id"),),
    ),
    Table(
        name=LLM_REPORTS,
        purpose="Usage reports of each account and month.",
        key=key("report_id"),
        lifetime=Durable(),
        data=Data.OPERATIONAL,
        indexes=(gsi("report_id"),),
    ),
    Table(
        name=INVOCATIONS,
        purpose="Which function ran when, for how long, with what result.",
        key=key("id"),
        lifetime=Durable(),
        data=Data.OPERATIONAL,
        indexes=(gsi("associated_account"), gsi("id")),
    ),
)


def _entity(
    kind: str,
    table: str,
    keys: str,
    attributes: str,
    *,
    booleans: tuple[str, ...] = (),
    documented_ttl: tuple[datetime, int] | None = None,
) -> Entity:
    return Entity(
        type=kind,
        table=table,
        items=(Item({name: f"{{{name}}}" for name in keys.split()}),),
        attributes=tuple(attributes.split()),
        booleans=booleans,
        documented_ttl=documented_ttl,
    )


ENTITIES = (
    _entity("USER", USERS, "id", "email name created_at updated_at status preferences organization_id role"),
    _entity(
        "MESSAGE",
        CONVERSATIONS,
        "conversation_id response_id",
        "message_id associated_account sender_email recipient_email subject body timestamp is_first_email thread_id "
        "status ai_response ev_score metadata",
        booleans=("is_first_email",),
    ),
    _entity(
        "THREAD",
        THREADS,
        "conversation_id",
        "associated_account thread_id created_at updated_at status subject participants message_count last_message_at "
        "attributes ai_settings",
    ),
    _entity(
        "ORGANIZATION", ORGANIZATIONS, "organization_id", "name domain created_at updated_at status settings billing"
    ),
    _entity("MEMBER", MEMBERS, "organization_id user_id", "role joined_at status permissions invited_by last_active"),
    _entity(
        "INVITE",
        INVITES,
        "invite_id timestamp",
        "organization_id email invite_token invited_by role status expires_at accepted_at",
    ),
    _entity(
        "SESSION",
        SESSIONS,
        "session_id",
        "user_id account_id created_at last_activity expires_at ttl ip_address user_agent is_active metadata",
        booleans=("is_active",),
        documented_ttl=(datetime(2024, 1, 1, tzinfo=UTC), 1704067200),
    ),
    _entity(
        "AI_RATE",
        RATE_AI,
        "associated_account",
        "request_count window_start window_end last_request limit reset_time blocked_until metadata",
    ),
    _entity(
        "AWS_RATE",
        RATE_AWS,
        "associated_account",
        "aws_requests window_start window_end last_request limit reset_time throttled_requests metadata",
    ),
    _entity(
        "EV_SCORE",
        EV_DATA,
        "conversation_id",
        "ev_score calculation_date factors algorithm_version confidence_score recommendations metadata",
    ),
    _entity(
        "LLM_CALL",
        LLM_DATA,
        "conversation_id",
        "model_used prompt_tokens response_tokens total_tokens response_time_ms quality_score generated_at prompt "
        "response metadata",
    ),
    _entity(
        "LLM_REPORT",
        LLM_REPORTS,
        "report_id",
        "account_id report_period generated_at total_requests total_tokens total_cost_usd average_response_time_ms "
        "average_quality_score model_usage function_breakdown",
    ),
    _entity(
        "INVOCATION",
        INVOCATIONS,
        "id",
        "associated_account function_name invoked_at duration_ms memory_used_mb status error_message request_id "
        "cold_start metadata",
        booleans=("cold_start",),
    ),
)

PATTERNS = (
    Pattern(
        id="ACS1",
        purpose="Find a user by e-mail address at login.",
        table=USERS,
        index="responseEmail-index",
        partition="{email}",
    ),
    Pattern(
        id="ACS2",
        purpose="All messages of a conversation.",
        table=CONVERSATIONS,
        partition="{conversation_id}",
    ),
    Pattern(
        id="ACS3",
        purpose="All messages of an account.",
        table=CONVERSATIONS,
        index="associated_account-index",
        partition="{account_id}",
    ),
    Pattern(
        id="ACS4",
        purpose="The active sessions of a user.",
        table=SESSIONS,
        index="user_id-index",
        partition="{user_id}",
        only={"is_active": True},
    ),
)

STACK = Stack(
    id="AcsTables-{env}",
    system="acs",
    owner="acs-infrastructure",
    floor=Guard.RETAIN | Guard.PITR,
    encryption=Encryption.AWS_MANAGED,
    tables=TABLES,
    entities=ENTITIES,
    patterns=PATTERNS,
    assumed=(
        Assumed(Fact.OWNER, "the source names no repository"),
        Assumed(Fact.INDEX_TYPES, "the source types the tables' own keys only; index keys are Strings like them"),
        PROJECTION,
    ),
)
