"""Where the public resource schemas are wrong or silent, with the reason of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Override:
    """A fact to add, one to drop, and where: type → paths; ``*`` is any type, ``**/X`` the lists X at any depth."""

    where: Mapping[str, tuple[str, ...]]
    add: str = ""
    drop: str = ""
    reason: str


OVERRIDES = (
    Override(
        add="unordered",
        where={
            "*": (
                "**/Tags",
                "**/Capabilities",
                "**/Dimensions",
                "**/EnableCloudwatchLogsExports",
                "**/EventCategories",
                "**/NotificationARNs",
                "**/SecurityGroupIds",
                "**/SecurityGroups",
                "**/SourceIds",
                "**/SubnetIds",
                "**/Subnets",
                "**/VpcSecurityGroupIds",
            )
        },
        reason="Memberships: their services keep them as sets, and half of the schemas say nothing of the order.",
    ),
    Override(
        add="unordered",
        where={
            "AWS::DynamoDB::Table": (
                "GlobalSecondaryIndexes",
                "GlobalSecondaryIndexes/*/Projection/NonKeyAttributes",
                "LocalSecondaryIndexes",
                "LocalSecondaryIndexes/*/Projection/NonKeyAttributes",
                "VectorIndexes/*/Projection/NonKeyAttributes",
            )
        },
        reason="Indexes go by their names, attributes by theirs; the schema of global tables says so.",
    ),
    Override(
        drop="unordered",
        where={
            "*": ("**/KeySchema",),
            "AWS::DynamoDB::Table": ("ImportSourceSpecification/InputFormatOptions/Csv/HeaderList",),
        },
        reason="The partition key comes first, and several attributes of one key and columns have an order.",
    ),
    Override(
        add="unordered",
        where={
            f"AWS::CloudWatch::{kind}": ("AlarmActions", "InsufficientDataActions", "OKActions")
            for kind in ("Alarm", "CompositeAlarm", "LogAlarm")
        },
        reason="An alarm calls all of its actions.",
    ),
    Override(
        add="unordered",
        where={
            "AWS::S3::Bucket": (
                "**/TagFilters",
                "**/Transitions",
                "**/NoncurrentVersionTransitions",
                "**/OptionalFields",
                "AnalyticsConfigurations",
                "IntelligentTieringConfigurations",
                "InventoryConfigurations",
                "LifecycleConfiguration/Rules",
                "MetricsConfigurations",
                "NotificationConfiguration/LambdaConfigurations",
                "NotificationConfiguration/QueueConfigurations",
                "NotificationConfiguration/TopicConfigurations",
                "ReplicationConfiguration/Rules",
            )
        },
        reason="S3 knows these by id, event, day or priority; of CORS and routing rules it takes the first that fits.",
    ),
    Override(
        add="unordered",
        where={
            "AWS::Backup::BackupPlan": ("BackupPlan/BackupPlanRule", "BackupPlan/BackupPlanRule/*/CopyActions"),
            "AWS::EC2::PrefixList": ("Entries",),
            "AWS::ElastiCache::ReplicationGroup": ("LogDeliveryConfigurations",),
            "AWS::IAM::UserToGroupAddition": ("Users",),
            "AWS::Pipes::Pipe": ("SourceParameters/FilterCriteria/Filters",),
            "AWS::RDS::DBInstance": ("AssociatedRoles", "ProcessorFeatures"),
            "AWS::ServiceDiscovery::Service": ("DnsConfig/DnsRecords",),
        },
        reason="All of the items take effect, each by itself.",
    ),
    Override(
        drop="unordered",
        where={
            "AWS::EC2::DHCPOptions": ("DomainNameServers", "NetbiosNameServers"),
            "AWS::KinesisFirehose::DeliveryStream": (
                "**/Processors",
                "**/TimestampFormats",
                "**/PartitionSpec/Identity",
            ),
            "AWS::Lambda::Function": ("ImageConfig/Command", "ImageConfig/EntryPoint", "Layers"),
            "AWS::Logs::Transformer": ("**/TransformerConfig", "**/Columns", "**/Entries", "**/MatchPatterns"),
            "AWS::S3Tables::Table": ("**/Fields", "**/SchemaFieldList", "**/SchemaV2FieldList"),
            "AWS::Scheduler::Schedule": ("Target/EcsParameters/PlacementStrategy",),
        },
        reason="Words of a command, layers, steps, columns and preferences have an order, unique or not.",
    ),
    Override(
        add="conditional_create_only",
        where={
            "AWS::DynamoDB::Table": ("AttributeDefinitions/*/AttributeType", "LocalSecondaryIndexes"),
            "AWS::DynamoDB::GlobalTable": ("AttributeDefinitions/*/AttributeType",),
        },
        reason="DynamoDB makes local indexes with the table alone, and changes the type of no key.",
    ),
    Override(
        add="conditional_create_only",
        where={
            "AWS::DocDB::DBCluster": ("EngineVersion",),
            "AWS::ElastiCache::CacheCluster": ("AZMode", "NumCacheNodes", "PreferredAvailabilityZone"),
            "AWS::ElastiCache::ReplicationGroup": ("Engine", "NumNodeGroups", "ReplicasPerNodeGroup"),
            "AWS::ElastiCache::User": ("Engine",),
            "AWS::ElastiCache::UserGroup": ("Engine",),
            "AWS::RDS::DBInstance": ("Port", "StorageType"),
            "AWS::S3::Bucket": ("ObjectLockEnabled",),
        },
        reason="CDK's own specification says that a change of these replaces the store, or may; the schema is silent.",
    ),
    Override(
        add="write_only",
        where={
            "AWS::DocDB::DBCluster": ("MasterUserPassword",),
            "AWS::IAM::SAMLProvider": ("PrivateKeyList",),
            "AWS::KinesisFirehose::DeliveryStream": ("SplunkDestinationConfiguration/HECToken",),
            "AWS::Lambda::Permission": ("EventSourceToken",),
        },
        reason="Secrets, which no service tells again; the same in other types are marked.",
    ),
    Override(
        add="free_json",
        drop="string",
        where={
            "AWS::CloudFormation::HookTypeConfig": ("Configuration",),
            "AWS::CloudWatch::Dashboard": ("DashboardBody",),
            "AWS::CloudWatch::InsightRule": ("RuleBody",),
            "AWS::DMS::ReplicationTask": ("ReplicationTaskSettings", "TableMappings"),
            "AWS::Events::Rule": ("Targets/*/Input",),
            "AWS::Lambda::EventSourceMapping": ("FilterCriteria/Filters/*/Pattern",),
            "AWS::Logs::AccountPolicy": ("PolicyDocument",),
            "AWS::Logs::Destination": ("DestinationPolicy",),
            "AWS::Pipes::Pipe": ("SourceParameters/FilterCriteria/Filters/*/Pattern",),
            "AWS::RDS::CustomDBEngineVersion": ("Manifest",),
            "AWS::Scheduler::Schedule": ("Target/Input",),
            "AWS::StepFunctions::StateMachine": ("DefinitionString",),
        },
        reason="Strings whose text is JSON: spaces and the order of keys mean nothing.",
    ),
    Override(
        add="string",
        drop="free_json",
        where={
            "AWS::CloudFormation::Stack": ("Parameters/*",),
            "AWS::DAX::ParameterGroup": ("ParameterNameValues/*",),
            "AWS::DocDB::DBClusterParameterGroup": ("Parameters/*",),
            "AWS::Lambda::Function": ("Environment/Variables/*",),
            "AWS::RDS::DBClusterParameterGroup": ("Parameters/*",),
            "AWS::RDS::DBParameterGroup": ("Parameters/*",),
            "AWS::ServiceDiscovery::Instance": ("InstanceAttributes/*",),
        },
        reason="Maps of strings, for which cfn-lint lets every type pass: 1 arrives as the text 1.",
    ),
)
