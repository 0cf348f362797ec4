"""Every call that reading an account makes, with its IAM action. `holdfast iam audit` prints the policy of these."""

from __future__ import annotations

from dataclasses import replace

from holdfast.kinds.kinds import KINDS
from holdfast.kinds.live import NEXT
from holdfast.shared.calls import Call, listing
from holdfast.shared.network.live import GROUPS
from holdfast.shared.vault.live import DESCRIBE_VAULT, GET_PLAN, GET_SELECTION, LIST_SELECTIONS

STACK = "arn:aws:cloudformation:*:*:stack/*"
TABLE = "arn:aws:dynamodb:*:*:table/*"
KEY = "arn:aws:kms:*:*:key/*"


def _dynamodb(operation: str, reads: str, member: str, needs: tuple[str, ...] = ()) -> Call:
    return Call(
        service="dynamodb",
        operation=operation,
        action=f"dynamodb:{operation}",
        reads=reads,
        member=member,
        needs=tuple(f"{member}.{need}" for need in needs),
        resource=TABLE,
    )


def _kms(operation: str, reads: str, member: str, needs: tuple[str, ...] = ()) -> Call:
    return Call(
        service="kms",
        operation=operation,
        action=f"kms:{operation}",
        reads=reads,
        member=member,
        needs=needs,
        resource=KEY,
    )


MEMBERS = listing(
    "cloudformation",
    "ListStackResources",
    "the resources of the stack",
    "StackResourceSummaries",
    NEXT,
    STACK,
    needs=("LogicalResourceId", "ResourceType", "ResourceStatus"),
)
IDENTITY = Call(service="sts", operation="GetCallerIdentity", action=None, reads="the account", member="Account")
LIST_TABLES = listing(
    "dynamodb", "ListTables", "the list of tables", "TableNames", ("ExclusiveStartTableName", "LastEvaluatedTableName")
)
DESCRIBE_TABLE = _dynamodb(
    "DescribeTable",
    "the table",
    "Table",
    ("TableName", "TableStatus", "KeySchema", "AttributeDefinitions", "DeletionProtectionEnabled"),
)
BACKUPS = _dynamodb(
    "DescribeContinuousBackups",
    "point-in-time recovery",
    "ContinuousBackupsDescription",
    ("PointInTimeRecoveryDescription", "PointInTimeRecoveryDescription.PointInTimeRecoveryStatus"),
)
TIME_TO_LIVE = _dynamodb("DescribeTimeToLive", "the TTL", "TimeToLiveDescription", ("TimeToLiveStatus",))
RESOURCE_POLICY = _dynamodb("GetResourcePolicy", "the resource policy", "Policy")
TABLE_TAGS = replace(_dynamodb("ListTagsOfResource", "tags", "Tags", ("Key", "Value")), page=NEXT)
TAGS = Call(
    service="resourcegroupstaggingapi",
    operation="GetResources",
    action="tag:GetResources",
    reads="tags of all tables at once",
    member="ResourceTagMappingList",
    needs=tuple(f"ResourceTagMappingList.{need}" for need in ("ResourceARN", "Tags", "Tags.Key", "Tags.Value")),
    page=("PaginationToken", "PaginationToken"),
)
DESCRIBE_KEY = _kms(
    "DescribeKey", "the key", "KeyMetadata", ("KeyMetadata.Arn", "KeyMetadata.KeyManager", "KeyMetadata.KeyState")
)
KEY_ROTATION = _kms("GetKeyRotationStatus", "rotation of the key", "KeyRotationEnabled")
KEY_POLICY = _kms("GetKeyPolicy", "the key policy", "Policy")
GRANTS = replace(_kms("ListGrants", "grants of the key", "Grants"), page=("Marker", "NextMarker"))
STACKS = listing(
    "cloudformation",
    "DescribeStacks",
    "the list of stacks",
    "Stacks",
    NEXT,
    needs=("StackName", "StackStatus", "CreationTime", "Outputs.OutputValue"),
)
DELETED_STACKS = listing(
    "cloudformation",
    "ListStacks",
    "the list of deleted stacks",
    "StackSummaries",
    NEXT,
    needs=("StackName", "CreationTime"),
)
EVENTS = listing("cloudformation", "DescribeStackEvents", "when the stack was last updated", "StackEvents", NEXT, STACK)
TEMPLATE = Call(
    service="cloudformation",
    operation="GetTemplate",
    action="cloudformation:GetTemplate",
    reads="the deployed template",
    member="TemplateBody",
    resource=STACK,
)
ALARMS = listing(
    "cloudwatch",
    "DescribeAlarms",
    "alarms",
    "MetricAlarms",
    NEXT,
    "arn:aws:cloudwatch:*:*:alarm:*",
    needs=("AlarmName", "ActionsEnabled", "ComparisonOperator", "EvaluationPeriods"),
)
TOPICS = listing("sns", "ListTopics", "the topics that alarms tell", "Topics", NEXT, needs=("TopicArn",))
METRICS = listing(
    "cloudwatch",
    "GetMetricData",
    "reads and writes of tables and indexes",
    "MetricDataResults",
    NEXT,
    needs=("Id", "Values", "StatusCode", "Timestamps"),
)
FUNCTIONS = listing(
    "lambda",
    "ListFunctions",
    "variables of Lambda functions",
    "Functions",
    ("Marker", "NextMarker"),
    needs=("FunctionName",),
)
EVENT_SOURCES = listing(
    "lambda", "ListEventSourceMappings", "event sources", "EventSourceMappings", ("Marker", "NextMarker")
)
_OWNERS = (("User", "UserPolicyList"), ("Role", "RolePolicyList"), ("Group", "GroupPolicyList"))
POLICIES = replace(
    listing("iam", "GetAccountAuthorizationDetails", "IAM policies", "IsTruncated", ("Marker", "Marker")),
    needs=(
        *(f"{kind}DetailList.{need}" for kind, _ in _OWNERS for need in (f"{kind}Name", "Arn")),
        *(f"{kind}DetailList.{own}.{need}" for kind, own in _OWNERS for need in ("PolicyName", "PolicyDocument")),
        *(f"{kind}DetailList.AttachedManagedPolicies.PolicyArn" for kind, _ in _OWNERS),
        *("Policies.Arn", "Policies.PolicyName", "Policies.PolicyVersionList"),
        *("Policies.PolicyVersionList.Document", "Policies.PolicyVersionList.IsDefaultVersion"),
    ),
)

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
    EVENTS,
    TEMPLATE,
    ALARMS,
    TOPICS,
    METRICS,
    FUNCTIONS,
    EVENT_SOURCES,
    POLICIES,
)
STORES: tuple[Call, ...] = (
    MEMBERS,
    GROUPS,
    GET_PLAN,
    LIST_SELECTIONS,
    GET_SELECTION,
    DESCRIBE_VAULT,
    *dict.fromkeys(call for kind in KINDS if kind.live for call in (*kind.live.listings, *kind.live.calls)),
)
AUDIT = (*READ, *STORES)  # an audit also reads the stores that are not tables
