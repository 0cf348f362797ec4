"""Every call that reading the other stores makes, with its IAM action; AWS's own names for both often differ."""

from __future__ import annotations

from holdfast.shared.calls import Call, listing

BUCKETS = "arn:aws:s3:::*"
BROKERS = "arn:aws:kafka:*:*:*"  # clusters and topics
STACK = "arn:aws:cloudformation:*:*:stack/*"
MARKER = ("Marker", "Marker")
NEXT = ("NextToken", "NextToken")


def _bucket(operation: str, action: str, reads: str, member: str = "", absent: str = "") -> Call:
    return Call(
        service="s3",
        operation=operation,
        action=f"s3:{action}",
        reads=reads,
        member=member,
        resource=BUCKETS,
        absent=(absent,) if absent else (),
    )


def _backup(operation: str, reads: str, member: str, page: tuple[str, str] | None = None) -> Call:
    action = f"backup:{operation}"
    return Call(service="backup", operation=operation, action=action, reads=reads, member=member, page=page)


MEMBERS = listing(
    "cloudformation", "ListStackResources", "the resources of the stack", "StackResourceSummaries", NEXT, STACK
)
GROUPS = listing("ec2", "DescribeSecurityGroups", "security groups", "SecurityGroups", NEXT)

INSTANCES = listing("rds", "DescribeDBInstances", "databases", "DBInstances", MARKER)
CLUSTERS = listing("rds", "DescribeDBClusters", "database clusters", "DBClusters", MARKER)  # DocumentDB's too
PARAMETERS = listing("rds", "DescribeDBParameters", "parameters of the database", "Parameters", MARKER)
CLUSTER_PARAMETERS = listing("rds", "DescribeDBClusterParameters", "parameters of the cluster", "Parameters", MARKER)

CACHES = listing("elasticache", "DescribeReplicationGroups", "caches", "ReplicationGroups", MARKER)
NODES = listing("elasticache", "DescribeCacheClusters", "nodes of caches", "CacheClusters", MARKER)
CACHE_PARAMETERS = listing("elasticache", "DescribeCacheParameters", "parameters of the cache", "Parameters", MARKER)
USER_GROUPS = listing("elasticache", "DescribeUserGroups", "user groups of caches", "UserGroups", MARKER)
USERS = listing("elasticache", "DescribeUsers", "users of caches", "Users", MARKER)
CACHE_TAGS = Call(
    service="elasticache",
    operation="ListTagsForResource",
    action="elasticache:ListTagsForResource",
    reads="tags of the cache",
    member="TagList",
)

BROKER_LIST = listing("kafka", "ListClusters", "brokers", "ClusterInfoList", NEXT)
TOPIC_LIST = Call(
    service="kafka",
    operation="ListTopics",
    action="kafka-cluster:DescribeTopic",  # this API asks for what Kafka's own clients need
    also=("kafka-cluster:Connect",),
    reads="the list of topics",
    member="Topics",
    page=NEXT,
    resource=BROKERS,
)
TOPIC = Call(
    service="kafka",
    operation="DescribeTopic",
    action="kafka-cluster:DescribeTopicDynamicConfiguration",
    also=("kafka-cluster:Connect", "kafka-cluster:DescribeTopic"),
    reads="the topic",
    member="TopicName",
    resource=BROKERS,
)

BROKER_SETTINGS = Call(
    service="kafka",
    operation="DescribeConfigurationRevision",
    action="kafka:DescribeConfigurationRevision",
    reads="settings of the brokers",
    member="ServerProperties",
    resource=BROKERS,
)

BUCKET = _bucket("GetBucketLocation", "GetBucketLocation", "the bucket")
ENCRYPTION = _bucket(
    "GetBucketEncryption",
    "GetEncryptionConfiguration",
    "encryption",
    "ServerSideEncryptionConfiguration",
    "ServerSideEncryptionConfigurationNotFoundError",
)
VERSIONS = _bucket("GetBucketVersioning", "GetBucketVersioning", "versioning")
BUCKET_POLICY = _bucket("GetBucketPolicy", "GetBucketPolicy", "the bucket policy", "Policy", "NoSuchBucketPolicy")
PUBLIC = _bucket(
    "GetPublicAccessBlock",
    "GetBucketPublicAccessBlock",
    "the block on public access",
    "PublicAccessBlockConfiguration",
    "NoSuchPublicAccessBlockConfiguration",
)
OWNERSHIP = _bucket(
    "GetBucketOwnershipControls",
    "GetBucketOwnershipControls",
    "who owns objects",
    "OwnershipControls",
    "OwnershipControlsNotFoundError",
)
LIFECYCLE = _bucket(
    "GetBucketLifecycleConfiguration",
    "GetLifecycleConfiguration",
    "lifecycle rules",
    "Rules",
    "NoSuchLifecycleConfiguration",
)
LOGGING = _bucket("GetBucketLogging", "GetBucketLogging", "access logs")
BUCKET_TAGS = _bucket("GetBucketTagging", "GetBucketTagging", "tags of the bucket", "TagSet", "NoSuchTagSet")
LOCK = _bucket(
    "GetObjectLockConfiguration",
    "GetBucketObjectLockConfiguration",
    "Object Lock",
    "ObjectLockConfiguration",
    "ObjectLockConfigurationNotFoundError",
)

PLAN = _backup("GetBackupPlan", "the backup plan", "BackupPlan")
SELECTIONS = _backup("ListBackupSelections", "what the backup plan selects", "BackupSelectionsList", NEXT)
SELECTION = _backup("GetBackupSelection", "the backup selection", "BackupSelection")
VAULT = _backup("DescribeBackupVault", "the backup vault", "BackupVaultName")

READ: tuple[Call, ...] = (
    MEMBERS,
    GROUPS,
    INSTANCES,
    CLUSTERS,
    PARAMETERS,
    CLUSTER_PARAMETERS,
    CACHES,
    NODES,
    CACHE_PARAMETERS,
    USER_GROUPS,
    USERS,
    CACHE_TAGS,
    BROKER_LIST,
    TOPIC_LIST,
    TOPIC,
    BROKER_SETTINGS,
    BUCKET,
    ENCRYPTION,
    VERSIONS,
    BUCKET_POLICY,
    PUBLIC,
    OWNERSHIP,
    LIFECYCLE,
    LOGGING,
    BUCKET_TAGS,
    LOCK,
    PLAN,
    SELECTIONS,
    SELECTION,
    VAULT,
)
