"""AcsTables-*: e-mail conversations answered with AI. Source: acs-dynamodb.md.

The source asks for RETAIN and point-in-time recovery in every stage, Sessions included: that is the stack's floor.
Nine indexes repeat their table's own key and one is a prefix of another; they are documented, so they are built.
"""

from datetime import UTC, datetime, timedelta

from holdfast import (
    Assumed,
    Data,
    Durable,
    Encryption,
    Entity,
    Fact,
    Guard,
    Inferred,
    Item,
    Pattern,
    Stack,
    Table,
    Transient,
    gsi,
    key,
    number,
)
from stacks.sources import ACCOUNT, PROJECTION, lines

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
        indexes=(
            gsi("id", purpose="A user by id.", source=lines(41, 43)),
            gsi("responseEmail", source=lines(45, 47)),
            gsi("userId", "createdAt", source=lines(49, 52)),
        ),
        source=lines(19, 21),
        sources={Fact.DATA: Inferred("names and e-mail addresses", 26, 27)},
    ),
    Table(
        name=CONVERSATIONS,
        purpose="Every e-mail of a conversation.",
        key=key("conversation_id", "response_id"),
        lifetime=Durable(),
        data=Data.PERSONAL,
        indexes=(
            gsi("associated_account", purpose="All messages of an account.", source=lines(85, 87)),
            gsi(
                "associated_account",
                number("is_first_email"),
                purpose="First messages of an account, and those that follow.",
                source=lines(89, 92),
            ),
            gsi("conversation_id", purpose="The messages of a conversation.", source=lines(94, 96)),
            gsi("message_id", purpose="The conversations of a message.", source=lines(98, 100)),
            gsi("response_id", purpose="The conversations of a response.", source=lines(102, 104)),
        ),
        source=lines(55, 58),
        sources={Fact.DATA: Inferred("e-mails with sender, recipient and text", 66, 67, 69)},
    ),
    Table(
        name=THREADS,
        purpose="What is known of a conversation as a whole.",
        key=key("conversation_id"),
        lifetime=Durable(),
        data=Data.PERSONAL,
        indexes=(
            gsi(
                "associated_account",
                name="associated_account",
                purpose="All threads of an account.",
                source=lines(138, 140),
            ),
            gsi("conversation_id", purpose="The thread of a conversation.", source=lines(142, 144)),
        ),
        source=lines(107, 109),
        sources={Fact.DATA: Inferred("the participants of a conversation", 120)},
    ),
    Table(
        name=ORGANIZATIONS,
        purpose="Organizations, their settings and plans.",
        key=key("organization_id"),
        lifetime=Durable(),
        data=Data.OPERATIONAL,
        source=lines(147, 149),
        sources={Fact.DATA: Inferred("companies, their settings and plans", 154, 155, 165)},
    ),
    Table(
        name=MEMBERS,
        purpose="Who belongs to an organization, in which role.",
        key=key("organization_id", "user_id"),
        lifetime=Durable(),
        data=Data.PERSONAL,
        indexes=(gsi("user_id", purpose="The organizations of a user.", source=lines(200, 202)),),
        source=lines(177, 180),
        sources={Fact.DATA: Inferred("which user belongs where, and when last seen", 186, 195)},
    ),
    Table(
        name=INVITES,
        purpose="Invitations to join an organization.",
        key=key("invite_id", "timestamp"),
        lifetime=Durable(),
        data=Data.PERSONAL,
        indexes=(
            gsi("email", purpose="Invitations to an address.", source=lines(226, 228)),
            gsi("invite_token", purpose="The invitation of a token.", source=lines(230, 232)),
            gsi("organization_id", purpose="All invitations of an organization.", source=lines(234, 236)),
        ),
        source=lines(205, 208),
        sources={Fact.DATA: Inferred("the address of who is invited, and a token that lets in", 215, 216)},
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
        source=lines(239, 242),
        sources={
            Fact.DATA: Inferred("addresses and browsers of users", 253, 254),
            Fact.LIFETIME: (241, 242),
            Fact.TTL: 241,
        },
    ),
    Table(
        name=RATE_AI,
        purpose="How many AI calls an account made in its window.",
        key=key("associated_account"),
        lifetime=Durable(),
        data=Data.OPERATIONAL,
        indexes=(gsi("associated_account", purpose="The limit of an account.", source=lines(288, 290)),),
        source=lines(264, 266),
        sources={Fact.DATA: Inferred("counts of an account", 270, 271)},
    ),
    Table(
        name=RATE_AWS,
        purpose="How many AWS calls an account made in its window.",
        key=key("associated_account"),
        lifetime=Durable(),
        data=Data.OPERATIONAL,
        indexes=(gsi("associated_account", purpose="The limit of an account.", source=lines(318, 320)),),
        source=lines(293, 295),
        sources={Fact.DATA: Inferred("counts of an account", 299, 300)},
    ),
    Table(
        name=EV_DATA,
        purpose="Expected-value scores of conversations.",
        key=key("conversation_id"),
        lifetime=Durable(),
        data=Data.OPERATIONAL,
        indexes=(gsi("conversation_id", purpose="The score of a conversation.", source=lines(352, 354)),),
        source=lines(323, 325),
        sources={Fact.DATA: Inferred("scores of a conversation, and nothing that was said", 330, 332)},
    ),
    Table(
        name=LLM_DATA,
        purpose="Prompts, answers and what they cost.",
        key=key("conversation_id"),
        lifetime=Durable(),
        data=Data.PERSONAL,
        indexes=(gsi("conversation_id", purpose="The calls of a model for a conversation.", source=lines(383, 385)),),
        source=lines(357, 359),
        sources={Fact.DATA: Inferred("prompts and answers, made of e-mails", 371, 372)},
    ),
    Table(
        name=LLM_REPORTS,
        purpose="Usage reports of each account and month.",
        key=key("report_id"),
        lifetime=Durable(),
        data=Data.OPERATIONAL,
        indexes=(gsi("report_id", purpose="One report.", source=lines(418, 420)),),
        source=lines(388, 390),
        sources={Fact.DATA: Inferred("monthly sums of an account", 395, 398)},
    ),
    Table(
        name=INVOCATIONS,
        purpose="Which function ran when, for how long, with what result.",
        key=key("id"),
        lifetime=Durable(),
        data=Data.PERSONAL,
        indexes=(
            gsi("associated_account", purpose="The invocations of an account.", source=lines(448, 450)),
            gsi("id", purpose="One invocation.", source=lines(452, 454)),
        ),
        source=lines(423, 425),
        sources={Fact.DATA: Inferred("the account that called, and its browser", 430, 442)},
    ),
)


def _entity(
    kind: str,
    table: str,
    keys: str,
    attributes: str,
    *,
    first: int,
    last: int,
    booleans: tuple[str, ...] = (),
    expires: tuple[timedelta, Inferred] | None = None,
    documented_ttl: tuple[datetime, int] | None = None,
) -> Entity:
    """An item with its top-level attributes, as the sample on these lines has it."""
    return Entity(
        type=kind,
        table=table,
        items=(Item({name: f"{{{name}}}" for name in keys.split()}),),
        attributes=tuple(attributes.split()),
        expires_after=expires[0] if expires else None,
        booleans=booleans,
        documented_ttl=documented_ttl,
        source=lines(first, last),
        sources={Fact.EXPIRY: expires[1]} if expires else {},
    )


ENTITIES = (
    _entity(
        "USER",
        USERS,
        "id",
        "email name created_at updated_at status preferences organization_id role",
        first=25,
        last=36,
    ),
    _entity(
        "MESSAGE",
        CONVERSATIONS,
        "conversation_id response_id",
        "message_id associated_account sender_email recipient_email subject body timestamp is_first_email thread_id "
        "status ai_response ev_score metadata",
        booleans=("is_first_email",),
        first=62,
        last=76,
    ),
    _entity(
        "THREAD",
        THREADS,
        "conversation_id",
        "associated_account thread_id created_at updated_at status subject participants message_count last_message_at "
        "attributes ai_settings",
        first=113,
        last=129,
    ),
    _entity(
        "ORGANIZATION",
        ORGANIZATIONS,
        "organization_id",
        "name domain created_at updated_at status settings billing",
        first=153,
        last=165,
    ),
    _entity(
        "MEMBER",
        MEMBERS,
        "organization_id user_id",
        "role joined_at status permissions invited_by last_active",
        first=184,
        last=195,
    ),
    _entity(
        "INVITE",
        INVITES,
        "invite_id timestamp",
        "organization_id email invite_token invited_by role status expires_at accepted_at",
        first=212,
        last=221,
    ),
    _entity(
        "SESSION",
        SESSIONS,
        "session_id",
        "user_id account_id created_at last_activity expires_at ttl ip_address user_agent is_active metadata",
        booleans=("is_active",),
        expires=(
            timedelta(days=7),
            Inferred("the sample expires a week after it was created; its ttl is the time of its creation", 249, 251),
        ),
        documented_ttl=(datetime(2024, 1, 1, tzinfo=UTC), 1704067200),
        first=246,
        last=256,
    ),
    _entity(
        "AI_RATE",
        RATE_AI,
        "associated_account",
        "request_count window_start window_end last_request limit reset_time blocked_until metadata",
        first=270,
        last=278,
    ),
    _entity(
        "AWS_RATE",
        RATE_AWS,
        "associated_account",
        "aws_requests window_start window_end last_request limit reset_time throttled_requests metadata",
        first=299,
        last=307,
    ),
    _entity(
        "EV_SCORE",
        EV_DATA,
        "conversation_id",
        "ev_score calculation_date factors algorithm_version confidence_score recommendations metadata",
        first=329,
        last=344,
    ),
    _entity(
        "LLM_CALL",
        LLM_DATA,
        "conversation_id",
        "model_used prompt_tokens response_tokens total_tokens response_time_ms quality_score generated_at prompt "
        "response metadata",
        first=363,
        last=373,
    ),
    _entity(
        "LLM_REPORT",
        LLM_REPORTS,
        "report_id",
        "account_id report_period generated_at total_requests total_tokens total_cost_usd average_response_time_ms "
        "average_quality_score model_usage function_breakdown",
        first=394,
        last=410,
    ),
    _entity(
        "INVOCATION",
        INVOCATIONS,
        "id",
        "associated_account function_name invoked_at duration_ms memory_used_mb status error_message request_id "
        "cold_start metadata",
        booleans=("cold_start",),
        first=429,
        last=439,
    ),
)

PATTERNS = (
    Pattern(
        id="ACS1",
        purpose="Find a user by e-mail address at login.",
        table=USERS,
        index="responseEmail-index",
        partition="{email}",
        unsupported="the documented user has its address in email and no responseEmail, so the index holds none",
        source=lines(460, 466),
    ),
    Pattern(
        id="userId-createdAt-index",
        purpose="What users did, by time.",
        table=USERS,
        index="userId-createdAt-index",
        partition="{userId}",
        unsupported="the documented user has id and created_at, and neither userId nor createdAt",
        source=lines(49, 52),
    ),
    Pattern(
        id="ACS2",
        purpose="All messages of a conversation.",
        table=CONVERSATIONS,
        partition="{conversation_id}",
        source=lines(470, 474),
    ),
    Pattern(
        id="ACS3",
        purpose="All messages of an account.",
        table=CONVERSATIONS,
        index="associated_account-index",
        partition="{account_id}",
        source=lines(478, 483),
    ),
    Pattern(
        id="ACS4",
        purpose="The active sessions of a user.",
        table=SESSIONS,
        index="user_id-index",
        partition="{user_id}",
        only={"is_active": True},
        source=lines(486, 492),
    ),
)

TYPES: dict[str, Inferred | Assumed] = {
    "associated_account": Inferred("it is a String where it is a table's own key", 265, 294),
    "organization_id": Inferred("it is a String where it is a table's own key", 148),
    "user_id": Inferred("it is a String where it is a table's own key", 179),
    "email": Inferred("an e-mail address is a String", 215),
    "responseEmail": Inferred("an e-mail address is a String", 47),
    "invite_token": Inferred("the documented item holds a String", 216),
    "message_id": Inferred("the documented item holds a String", 64),
    "is_first_email": Assumed(Fact.INDEX_TYPES, "documented as Boolean, which no key can be; a Number, 0 or 1"),
    "userId": Assumed(Fact.INDEX_TYPES, "no documented item has it; a String, as the ids of users are"),
    "createdAt": Assumed(Fact.INDEX_TYPES, "no documented item has it; a String, as times are in all of them"),
}

STACK = Stack(
    id="AcsTables-{env}",
    system="acs",
    owner="acs-infrastructure",
    floor=Guard.RETAIN | Guard.PITR,
    encryption=Encryption.AWS_MANAGED,
    tables=TABLES,
    entities=ENTITIES,
    patterns=PATTERNS,
    document="acs-dynamodb.md",
    sources={
        Fact.SYSTEM: Inferred("the document is that of the ACS infrastructure", 5),
        Fact.FLOOR: (5, 11, 12, 14, 498, 499, 504),
        Fact.ENCRYPTION: (13, 539),
        Fact.BILLING: (5, 10, 527, 568),
        Fact.KEY_TYPES: (20, 56, 57, 108, 148, 178, 179, 206, 207, 240, 265, 294, 324, 358, 389, 424),
        Fact.LIFETIME: Inferred("Sessions alone has a TTL attribute", 241),
        Fact.USAGE: Inferred("the primary database, and no table is called old", 5),
        Fact.GOVERNANCE: Inferred("its settings are those of CDK, which makes it", 5, 11),
    },
    types=TYPES,
    assumed=(
        Assumed(Fact.STACK, "the source names no stack"),
        Assumed(Fact.OWNER, "the source names no repository"),
        Assumed(Fact.ENVIRONMENT, "the source says {stage} and lists no stages; those of the other systems"),
        Assumed(Fact.REGION, "the source names no region; those of the other systems"),
        ACCOUNT,
        PROJECTION,
    ),
)
