"""Every call that reading an account makes, with its IAM action. `holdfast iam audit` prints the policy of these."""

from __future__ import annotations

from holdfast.iam import Call

TABLE = "arn:aws:dynamodb:*:*:table/*"
KEY = "arn:aws:kms:*:*:key/*"
STACK = "arn:aws:cloudformation:*:*:stack/*"


def _dynamodb(operation: str, reads: str) -> Call:
    return Call(service="dynamodb", operation=operation, action=f"dynamodb:{operation}", reads=reads, resource=TABLE)


def _kms(operation: str, reads: str) -> Call:
    return Call(service="kms", operation=operation, action=f"kms:{operation}", reads=reads, resource=KEY)


def _listing(service: str, operation: str, reads: str, page: tuple[str, str]) -> Call:
    return Call(service=service, operation=operation, action=f"{service}:{operation}", reads=reads, page=page)


IDENTITY = Call(service="sts", operation="GetCallerIdentity", action=None, reads="the account")
LIST_TABLES = _listing(
    "dynamodb", "ListTables", "the list of tables", ("ExclusiveStartTableName", "LastEvaluatedTableName")
)
DESCRIBE_TABLE = _dynamodb("DescribeTable", "the table")
BACKUPS = _dynamodb("DescribeContinuousBackups", "point-in-time recovery")
TIME_TO_LIVE = _dynamodb("DescribeTimeToLive", "expiry")
RESOURCE_POLICY = _dynamodb("GetResourcePolicy", "the resource policy")
TABLE_TAGS = Call(
    service="dynamodb",
    operation="ListTagsOfResource",
    action="dynamodb:ListTagsOfResource",
    reads="tags",
    resource=TABLE,
    page=("NextToken", "NextToken"),
)
TAGS = Call(
    service="resourcegroupstaggingapi",
    operation="GetResources",
    action="tag:GetResources",
    reads="tags of all tables at once",
    page=("PaginationToken", "PaginationToken"),
)
DESCRIBE_KEY = _kms("DescribeKey", "the key")
KEY_ROTATION = _kms("GetKeyRotationStatus", "rotation of the key")
KEY_POLICY = _kms("GetKeyPolicy", "the key policy")
STACKS = _listing("cloudformation", "DescribeStacks", "the list of stacks", ("NextToken", "NextToken"))
DELETED_STACKS = _listing("cloudformation", "ListStacks", "the list of deleted stacks", ("NextToken", "NextToken"))
TEMPLATE = Call(
    service="cloudformation",
    operation="GetTemplate",
    action="cloudformation:GetTemplate",
    reads="the deployed template",
    resource=STACK,
)
ALARMS = _listing("cloudwatch", "DescribeAlarms", "alarms", ("NextToken", "NextToken"))
TOPICS = _listing("sns", "ListTopics", "the topics that alarms tell", ("NextToken", "NextToken"))
METRICS = _listing("cloudwatch", "GetMetricData", "reads of indexes", ("NextToken", "NextToken"))
FUNCTIONS = _listing("lambda", "ListFunctions", "variables of Lambda functions", ("Marker", "NextMarker"))
EVENT_SOURCES = _listing("lambda", "ListEventSourceMappings", "event sources", ("Marker", "NextMarker"))
POLICIES = _listing("iam", "GetAccountAuthorizationDetails", "IAM policies", ("Marker", "Marker"))

READ: tuple[Call, ...] = (
    IDENTITY,
    LIST_TABLES,
    DESCRIBE_TABLE,
    BACKUPS,
    TIME_TO_LIVE,
    RESOURCE_POLICY,
    TABLE_TAGS,
    TAGS,
    DESCRIBE_KEY,
    KEY_ROTATION,
    KEY_POLICY,
    STACKS,
    DELETED_STACKS,
    TEMPLATE,
    ALARMS,
    TOPICS,
    METRICS,
    FUNCTIONS,
    EVENT_SOURCES,
    POLICIES,
)

COMMANDS: dict[str, tuple[Call, ...]] = {"audit": READ}
