"""MiyabiLambda-*: one table for users, repositories, agent runs and tasks. Source: miyabi-dynamodb.md."""

import json
from datetime import UTC, datetime, timedelta

from holdfast import (
    Access,
    Assumed,
    Data,
    Durable,
    Encryption,
    Entity,
    Fact,
    Guard,
    Inferred,
    Item,
    Match,
    Pattern,
    Processor,
    Stack,
    Stream,
    Table,
    Transaction,
    View,
    gsi,
    key,
)
from holdfast.model.provenance import Said, Source
from stacks.environments import PROD, TEST
from stacks.sources import ACCOUNT, lines

TABLE = "miyabi-lambda-data-{env}"
PROCESSOR = "miyabi-dynamodb-stream-processor-{env}"
MONTH = timedelta(days=30)


def _item(pk: str, sk: str, *, gsi1: tuple[str, str] | None = None, gsi2: tuple[str, str] | None = None) -> Item:
    keys = {"PK": pk, "SK": sk}
    if gsi1:
        keys |= {"GSI1PK": gsi1[0], "GSI1SK": gsi1[1]}
    if gsi2:
        keys |= {"GSI2PK": gsi2[0], "GSI2SK": gsi2[1]}
    return Item(keys)


def _entity(
    kind: str,
    *items: Item,
    first: int,
    last: int,
    data: str,
    beside: str = "EntityType Data CreatedAt UpdatedAt",
    expires_after: timedelta | None = None,
    expiry: int | Assumed | None = None,
    documented_ttl: tuple[datetime, int] | None = None,
    departs: dict[str, str] | None = None,
) -> Entity:
    """An item as the samples on these lines have it; ``data`` are the attributes of its map Data."""
    sources: dict[Said, Source] = {Fact.DEPARTURE: (*lines(first, last), 812)} if departs else {}
    if isinstance(expiry, int):
        sources[Fact.EXPIRY] = expiry
    return Entity(
        type=kind,
        table=TABLE,
        items=items,
        attributes=(*beside.split(), *(f"Data.{name}" for name in data.split())),
        expires_after=expires_after,
        documented_ttl=documented_ttl,
        departs=departs or {},
        source=(*lines(68, 71), *lines(first, last)),
        sources=sources,
        assumed=(expiry,) if isinstance(expiry, Assumed) else (),
    )


ENTITIES = (
    _entity(
        "USER",
        _item("USER#{userId}", "METADATA", gsi2=("ORG#{orgId}", "USER#{userId}")),
        first=130,
        last=148,
        data="githubId email name avatarUrl orgRole",
        departs={"accessToken": "a token is kept in Secrets Manager: Data.tokenSecretArn refers to it"},
    ),
    _entity(
        "REPOSITORY",
        _item("USER#{userId}", "REPO#{repoId}", gsi2=("ORG#{orgId}", "REPO#{repoId}")),
        _item("REPO#{repoId}", "METADATA"),
        first=154,
        last=191,
        data="githubRepoId owner name fullName isActive userId",
    ),
    _entity(
        "AGENT_EXECUTION",
        _item("REPO#{repoId}", "EXEC#{startedAt}#{execId}", gsi1=("STATUS#{status}", "{startedAt}")),
        _item("EXEC#{execId}", "METADATA"),
        first=197,
        last=236,
        data="issueNumber agentType status startedAt completedAt resultSummary qualityScore prNumber repositoryId",
    ),
    _entity(
        "WORKFLOW",
        _item("REPO#{repoId}", "WORKFLOW#{workflowId}"),
        first=242,
        last=259,
        data="name description dagDefinition isActive",
    ),
    _entity(
        "TASK",
        _item("USER#{userId}", "TASK#{taskId}", gsi1=("TASK_STATUS#{status}", "{createdAt}")),
        first=265,
        last=289,
        data="repositoryId name description priority status agentType issueNumber retryCount maxRetries metadata",
    ),
    _entity(
        "TASK_DEPENDENCY",
        _item("TASK#{taskId}", "DEP#{dependsOnTaskId}"),
        first=295,
        last=305,
        data="dependsOnTaskId",
        beside="EntityType Data CreatedAt",
    ),
    _entity(
        "WEBSOCKET",
        _item("WS#{connectionId}", "METADATA"),
        _item("USER#{userId}", "WS#{connectionId}"),
        first=311,
        last=342,
        data="userId connectedAt lastPingAt connectionId",
        expires_after=timedelta(hours=24),
        expiry=Assumed(Fact.EXPIRY, "the documented value lies a year before the connection; a day outlives a session"),
        documented_ttl=(datetime(2025, 11, 29, 10, tzinfo=UTC), 1733068800),
    ),
    _entity(
        "LINE_MESSAGE",
        _item("USER#{userId}", "LINE_MSG#{sentAt}#{messageId}"),
        first=348,
        last=364,
        data="lineUserId messageType content metadata",
        beside="EntityType Data CreatedAt",
        expires_after=MONTH,
        expiry=366,
        documented_ttl=(datetime(2025, 11, 29, 11, tzinfo=UTC), 1735660800),
        departs={"replyToken": "a token that answers for the bot is used at once and never stored"},
    ),
    _entity(
        "ORGANIZATION",
        _item("ORG#{orgId}", "METADATA"),
        first=372,
        last=390,
        data="name githubOrgId plan billingEmail settings",
    ),
    _entity(
        "ORG_MEMBER",
        _item("ORG#{orgId}", "MEMBER#{userId}"),
        first=396,
        last=410,
        data="userId role permissions joinedAt",
    ),
    _entity(
        "EXECUTION_LOG",
        _item("EXEC#{execId}", "LOG#{loggedAt}#{logId}"),
        first=416,
        last=432,
        data="logLevel message metadata",
        beside="EntityType Data CreatedAt",
        expires_after=MONTH,
        expiry=434,
        documented_ttl=(datetime(2025, 11, 29, 10, 32, 15, tzinfo=UTC), 1735660800),
    ),
)


def _pattern(
    label: str,
    purpose: str,
    partition: str,
    sort: str | None = None,
    *,
    source: int | tuple[int, ...],
    index: str | None = None,
    newest_first: bool = False,
    unsupported: str | None = None,
) -> Pattern:
    """A pattern on the one table; a sort key that ends in # is a prefix."""
    return Pattern(
        id=label,
        purpose=purpose,
        table=TABLE,
        index=index,
        partition=partition,
        sort=sort,
        match=Match.PREFIX if sort and sort.endswith("#") else Match.EXACT,
        newest_first=newest_first,
        unsupported=unsupported,
        source=source,
    )


PATTERNS = (
    _pattern("AP1", "A user.", "USER#{userId}", "METADATA", source=(43, *lines(445, 451))),
    _pattern("AP2", "The repositories of a user.", "USER#{userId}", "REPO#", source=(44, *lines(457, 464))),
    _pattern("AP3", "The agent runs of a repository, oldest first.", "REPO#{repoId}", "EXEC#", source=45),
    _pattern("AP4", "One agent run.", "EXEC#{execId}", "METADATA", source=(46, 219)),
    _pattern(
        "AP5",
        "Agent runs by status, newest first.",
        "STATUS#{status}",
        index="GSI1",
        newest_first=True,
        source=(47, 101, 102, *lines(470, 478)),
    ),
    _pattern("AP6", "The tasks of a user.", "USER#{userId}", "TASK#", source=48),
    _pattern("AP7", "What a task depends on.", "TASK#{taskId}", "DEP#", source=49),
    _pattern("AP8", "One WebSocket connection.", "WS#{connectionId}", "METADATA", source=50),
    _pattern(
        "AP9",
        "The users of an organization.",
        "ORG#{orgId}",
        "USER#",
        index="GSI2",
        source=(51, 119, *lines(484, 492)),
    ),
    _pattern("AP10", "One workflow of a repository.", "REPO#{repoId}", "WORKFLOW#{workflowId}", source=52),
    # Documented in passing, with the indexes, the samples and the reverse look-ups.
    _pattern(
        "GSI2-REPO",
        "The repositories of an organization.",
        "ORG#{orgId}",
        "REPO#",
        index="GSI2",
        source=(109, 120, 159, 160),
    ),
    _pattern("REPO", "One repository.", "REPO#{repoId}", "METADATA", source=(173, 177, 178)),
    _pattern("USER-WS", "The open connections of a user.", "USER#{userId}", "WS#", source=(327, 331, 332)),
    _pattern(
        "GSI1-TASK_STATUS",
        "Tasks by status, newest first.",
        "TASK_STATUS#{status}",
        index="GSI1",
        newest_first=True,
        source=(91, 93, 270, 271),
    ),
    _pattern("USER-LINE", "The LINE messages of a user.", "USER#{userId}", "LINE_MSG#", source=(350, 351)),
    _pattern("ORG", "One organization.", "ORG#{orgId}", "METADATA", source=(374, 375)),
    _pattern("ORG-MEMBER", "The members of an organization.", "ORG#{orgId}", "MEMBER#", source=(398, 399)),
    _pattern("EXEC-LOG", "The log of an agent run, oldest first.", "EXEC#{execId}", "LOG#", source=(418, 419)),
    _pattern(
        "GSI1-AGENT_TYPE",
        "Agent runs by type, newest first.",
        "AGENT_TYPE#{agentType}",
        index="GSI1",
        newest_first=True,
        unsupported="a run's GSI1PK already holds its status, and one attribute holds one value: this needs a GSI3",
        source=(91, 97, 103),
    ),
)

STACK = Stack(
    id="MiyabiLambda-{env}",
    system="miyabi",
    owner="miyabi-team",
    region="ap-northeast-1",
    environment_names={PROD: "production"},
    floor=Guard.PITR | Guard.ALARMS,
    encryption=Encryption.AWS_MANAGED,
    tables=(
        Table(
            name=TABLE,
            purpose="Users, organizations, repositories, workflows, agent runs, tasks, connections and messages.",
            key=key("PK", "SK"),
            lifetime=Durable(ttl="TTL"),
            data=Data.PERSONAL,
            indexes=(
                gsi("GSI1PK", "GSI1SK", name="GSI1", source=(*lines(91, 98), *lines(584, 588))),
                gsi("GSI2PK", "GSI2SK", name="GSI2", source=(*lines(109, 116), *lines(592, 596))),
            ),
            stream=Stream(view=View.NEW_AND_OLD_IMAGES, consumer=PROCESSOR),
            tags={"Name": "miyabi-lambda-data"},
            low_cardinality=("GSI1PK",),  # the states of a run or a task
            source=(26, 534, 536, 537),
            sources={
                (Fact.NAME, PROD): (534, 829),
                Fact.DATA: Inferred("names, e-mail addresses and messages of users", 139, 140, 356),
                Fact.LIFETIME: Inferred("what has a TTL expires item by item; the others have none", 366, 434, 601),
                Fact.PROJECTION: (105, 122, 589, 597),
                Fact.KEY_TYPES: (*lines(62, 67), *lines(551, 581)),
                Fact.TTL: (72, 503, 602, 603),
                Fact.STREAM: (538, 539),
                Fact.CARDINALITY: Inferred("the status of a run or a task has a few values", 101, 102, 270),
            },
        ),
    ),
    processors=(
        Processor(
            name=PROCESSOR,
            table=TABLE,
            code="stacks/functions/stream_processor",
            # The function validates keys against these very templates: one list of entities, not two.
            variables={
                "ENTITIES": json.dumps(
                    {e.type: [dict(i.keys) for i in e.items] for e in ENTITIES}, separators=(",", ":")
                )
            },
            source=(633, 635, *lines(641, 643), *lines(648, 651), *lines(682, 694)),
        ),
    ),
    access=(
        Access(
            name="miyabi-lambda-dynamodb-{env}",
            table=TABLE,
            actions=(
                "GetItem",
                "PutItem",
                "UpdateItem",
                "DeleteItem",
                "Query",
                "Scan",
                "BatchGetItem",
                "BatchWriteItem",
                "ConditionCheckItem",  # not in the source: transactions with a condition need it
            ),
            source=(*lines(660, 679), *lines(699, 702)),
        ),
    ),
    entities=ENTITIES,
    patterns=PATTERNS,
    transactions=(
        Transaction(
            id="JOIN",
            purpose="A user and the membership of its organization.",
            table=TABLE,
            entities=("USER", "ORG_MEMBER"),
            source=lines(756, 775),
        ),
    ),
    document="miyabi-dynamodb.md",
    source=1,
    sources={
        (Fact.ENVIRONMENT, PROD): 829,
        Fact.REGION: Inferred("its prices are those of Tokyo", 715),
        Fact.ENCRYPTION: (547, 548, 802),
        Fact.FLOOR: Inferred("its Terraform sets recovery and alarms everywhere", 504, 542, 543, 616, 821, 822),
        Fact.BILLING: (76, 77, 78, 79, 535),
        Fact.TAGS: (607, 608, 610),
        Fact.USAGE: Inferred("the design of the table that its functions use", 5, 26),
        Fact.OWNER: Inferred("its maintainer is the Miyabi team", 872),
        Fact.GOVERNANCE: Inferred("its table is made by code, today by Terraform", 534),
    },
    assumed=(
        Assumed(Fact.STACK, "the source makes its table with Terraform, which has no stacks"),
        Assumed(Fact.ENVIRONMENT, "the source has an environment and names production alone", environment=TEST),
        Assumed(Fact.NAME, "the source has an environment and names production alone", environment=TEST),
        ACCOUNT,
    ),
)
