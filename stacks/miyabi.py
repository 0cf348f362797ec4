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
    Item,
    Match,
    Pattern,
    Processor,
    Stack,
    Stream,
    Table,
    View,
    gsi,
    key,
)
from stacks.environments import PROD

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
    expires_after: timedelta | None = None,
    documented_ttl: tuple[datetime, int] | None = None,
) -> Entity:
    return Entity(type=kind, table=TABLE, items=items, expires_after=expires_after, documented_ttl=documented_ttl)


ENTITIES = (
    _entity("USER", _item("USER#{userId}", "METADATA", gsi2=("ORG#{orgId}", "USER#{userId}"))),
    _entity(
        "REPOSITORY",
        _item("USER#{userId}", "REPO#{repoId}", gsi2=("ORG#{orgId}", "REPO#{repoId}")),
        _item("REPO#{repoId}", "METADATA"),
    ),
    _entity(
        "AGENT_EXECUTION",
        _item("REPO#{repoId}", "EXEC#{startedAt}#{execId}", gsi1=("STATUS#{status}", "{startedAt}")),
        _item("EXEC#{execId}", "METADATA"),
    ),
    _entity("WORKFLOW", _item("REPO#{repoId}", "WORKFLOW#{workflowId}")),
    _entity("TASK", _item("USER#{userId}", "TASK#{taskId}", gsi1=("TASK_STATUS#{status}", "{createdAt}"))),
    _entity("TASK_DEPENDENCY", _item("TASK#{taskId}", "DEP#{dependsOnTaskId}")),
    _entity(
        "WEBSOCKET",
        _item("WS#{connectionId}", "METADATA"),
        _item("USER#{userId}", "WS#{connectionId}"),
        expires_after=timedelta(hours=24),
        documented_ttl=(datetime(2025, 11, 29, 10, tzinfo=UTC), 1733068800),
    ),
    _entity(
        "LINE_MESSAGE",
        _item("USER#{userId}", "LINE_MSG#{sentAt}#{messageId}"),
        expires_after=MONTH,
        documented_ttl=(datetime(2025, 11, 29, 11, tzinfo=UTC), 1735660800),
    ),
    _entity("ORGANIZATION", _item("ORG#{orgId}", "METADATA")),
    _entity("ORG_MEMBER", _item("ORG#{orgId}", "MEMBER#{userId}")),
    _entity(
        "EXECUTION_LOG",
        _item("EXEC#{execId}", "LOG#{loggedAt}#{logId}"),
        expires_after=MONTH,
        documented_ttl=(datetime(2025, 11, 29, 10, 32, 15, tzinfo=UTC), 1735660800),
    ),
)


def _pattern(
    label: str,
    purpose: str,
    partition: str,
    sort: str | None = None,
    *,
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
    )


PATTERNS = (
    _pattern("AP1", "A user.", "USER#{userId}", "METADATA"),
    _pattern("AP2", "The repositories of a user.", "USER#{userId}", "REPO#"),
    _pattern("AP3", "The agent runs of a repository, oldest first.", "REPO#{repoId}", "EXEC#"),
    _pattern("AP4", "One agent run.", "EXEC#{execId}", "METADATA"),
    _pattern("AP5", "Agent runs by status, newest first.", "STATUS#{status}", index="GSI1", newest_first=True),
    _pattern("AP6", "The tasks of a user.", "USER#{userId}", "TASK#"),
    _pattern("AP7", "What a task depends on.", "TASK#{taskId}", "DEP#"),
    _pattern("AP8", "One WebSocket connection.", "WS#{connectionId}", "METADATA"),
    _pattern("AP9", "The users of an organization.", "ORG#{orgId}", "USER#", index="GSI2"),
    _pattern("AP10", "One workflow of a repository.", "REPO#{repoId}", "WORKFLOW#{workflowId}"),
    # Documented in passing, with the indexes and the reverse look-ups.
    _pattern("GSI2-REPO", "The repositories of an organization.", "ORG#{orgId}", "REPO#", index="GSI2"),
    _pattern("USER-WS", "The open connections of a user.", "USER#{userId}", "WS#"),
    _pattern(
        "GSI1-AGENT_TYPE",
        "Agent runs by type, newest first.",
        "AGENT_TYPE#{agentType}",
        index="GSI1",
        newest_first=True,
        unsupported="a run's GSI1PK already holds its status, and one attribute holds one value: this needs a GSI3",
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
            indexes=(gsi("GSI1PK", "GSI1SK", name="GSI1"), gsi("GSI2PK", "GSI2SK", name="GSI2")),
            stream=Stream(view=View.NEW_AND_OLD_IMAGES, consumer=PROCESSOR),
            low_cardinality=("GSI1PK",),  # the states of a run or a task
            assumed=(
                Assumed(Fact.EXPIRY, "connections expire 24 h after they open: the source's value lies a year before"),
            ),
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
        ),
    ),
    entities=ENTITIES,
    patterns=PATTERNS,
    assumed=(Assumed(Fact.OWNER, "the source names its maintainer, the Miyabi team, and no repository"),),
)
