"""What stands in a stack with stores: the types that its constructs make, and the settings that they give them.

A setting outside of these follows from no declaration, whatever it does: a replica, a second way in, a copy elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.intrinsics import ABSENT, Resolver, Unknown
from holdfast.rules.base import PASS, Verdict, fail, unknown
from holdfast.template import StackSeen

MEMBER = "member of a cluster"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Where data can be: any other type of these services holds some that nobody declared, or hands some out.
HOLDING = _words(
    "Backup Cassandra DAX DocDB DocDBElastic DSQL EFS ElastiCache FSx MemoryDB MSK Neptune NeptuneGraph OpenSearchServerless "
    "OpenSearchService QLDB RDS Redshift RedshiftServerless S3 S3Express S3ObjectLambda S3Outposts S3Tables "
    "ServiceDiscovery Timestream"
)
# Through what it can be reached.
LEADING = _words("EC2 IAM KMS Lambda RAM Scheduler SecretsManager VpcLattice")


def _under(parent: str, names: str) -> str:
    return " ".join(f"{parent}.{name}" for name in names.split())


_SHAPES: Mapping[str, str] = {
    "AWS::Backup::BackupPlan": "BackupPlanTags BackupPlan.BackupPlanName "
    + _under(
        "BackupPlan.BackupPlanRule",
        "CompletionWindowMinutes Lifecycle.DeleteAfterDays RuleName ScheduleExpression ScheduleExpressionTimezone "
        "StartWindowMinutes TargetBackupVault",
    ),
    "AWS::Backup::BackupSelection": "BackupPlanId " + _under("BackupSelection", "IamRoleArn Resources SelectionName"),
    "AWS::Backup::BackupVault": "BackupVaultName BackupVaultTags EncryptionKeyArn "
    + _under("LockConfiguration", "ChangeableForDays MaxRetentionDays MinRetentionDays"),
    "AWS::DocDB::DBCluster": "BackupRetentionPeriod CopyTagsToSnapshot DBClusterIdentifier DBClusterParameterGroupName "
    "DBSubnetGroupName DeletionProtection EnableCloudwatchLogsExports EngineVersion KmsKeyId ManageMasterUserPassword "
    "MasterUserPassword MasterUserSecretKmsKeyId MasterUsername Port PreferredBackupWindow PreferredMaintenanceWindow "
    "StorageEncrypted VpcSecurityGroupIds",
    "AWS::DocDB::DBClusterParameterGroup": "Description Family Parameters",
    "AWS::DocDB::DBInstance": "AutoMinorVersionUpgrade DBClusterIdentifier DBInstanceClass DBInstanceIdentifier",
    "AWS::DocDB::DBSubnetGroup": "DBSubnetGroupDescription SubnetIds",
    "AWS::EC2::FlowLog": "DeliverLogsPermissionArn LogDestination ResourceId ResourceType TrafficType",
    "AWS::EC2::RouteTable": "VpcId",
    "AWS::EC2::SecurityGroup": "GroupDescription GroupName SecurityGroupEgress SecurityGroupIngress VpcId",
    "AWS::EC2::SecurityGroupEgress": "CidrIp CidrIpv6 Description DestinationPrefixListId DestinationSecurityGroupId "
    "FromPort GroupId IpProtocol ToPort",
    "AWS::EC2::SecurityGroupIngress": "CidrIp CidrIpv6 Description FromPort GroupId IpProtocol SourcePrefixListId "
    "SourceSecurityGroupId ToPort",
    "AWS::EC2::Subnet": "AvailabilityZone AvailabilityZoneId CidrBlock MapPublicIpOnLaunch VpcId",
    "AWS::EC2::SubnetRouteTableAssociation": "RouteTableId SubnetId",
    "AWS::EC2::VPC": "CidrBlock EnableDnsHostnames EnableDnsSupport InstanceTenancy",
    "AWS::EC2::VPCEndpoint": "PrivateDnsEnabled RouteTableIds SecurityGroupIds ServiceName SubnetIds VpcEndpointType VpcId",
    "AWS::ElastiCache::ParameterGroup": "CacheParameterGroupFamily Description Properties",
    "AWS::ElastiCache::ReplicationGroup": "AtRestEncryptionEnabled AutoMinorVersionUpgrade AutomaticFailoverEnabled "
    "CacheNodeType CacheParameterGroupName CacheSubnetGroupName Engine EngineVersion KmsKeyId LogDeliveryConfigurations "
    "MultiAZEnabled NumCacheClusters Port PreferredMaintenanceWindow ReplicationGroupDescription ReplicationGroupId "
    "SecurityGroupIds SnapshotRetentionLimit SnapshotWindow TransitEncryptionEnabled TransitEncryptionMode UserGroupIds",
    "AWS::ElastiCache::SubnetGroup": "CacheSubnetGroupName Description SubnetIds",
    "AWS::ElastiCache::User": "AccessString AuthenticationMode.Type Engine UserId UserName",
    "AWS::ElastiCache::UserGroup": "Engine UserGroupId UserIds",
    "AWS::IAM::ManagedPolicy": "Description ManagedPolicyName Path PolicyDocument",
    "AWS::IAM::Role": "AssumeRolePolicyDocument Description ManagedPolicyArns Policies",
    "AWS::KMS::Alias": "AliasName TargetKeyId",
    "AWS::KMS::Key": "Description EnableKeyRotation KeyPolicy",
    "AWS::Lambda::Function": "Architectures Code.S3Bucket Code.S3Key DeadLetterConfig.TargetArn Description Environment "
    "FunctionName Handler KmsKeyArn Layers LoggingConfig.LogGroup MemorySize ReservedConcurrentExecutions Role Runtime "
    "Timeout VpcConfig.SecurityGroupIds VpcConfig.SubnetIds",
    "AWS::Lambda::LayerVersion": "CompatibleArchitectures CompatibleRuntimes Content.S3Bucket Content.S3Key Description",
    "AWS::Lambda::Version": "FunctionName",
    "AWS::MSK::Cluster": "ClusterName ConfigurationInfo.Arn ConfigurationInfo.Revision EncryptionInfo EnhancedMonitoring "
    "KafkaVersion LoggingInfo.BrokerLogs.CloudWatchLogs NumberOfBrokerNodes "
    + _under("ClientAuthentication", "Sasl.Iam.Enabled Sasl.Scram.Enabled Unauthenticated.Enabled ")
    + " "
    + _under(
        "BrokerNodeGroupInfo",
        "ClientSubnets ConnectivityInfo.PublicAccess.Type InstanceType SecurityGroups StorageInfo",
    ),
    "AWS::MSK::Configuration": "KafkaVersionsList Name ServerProperties",
    "AWS::MSK::Topic": "ClusterArn Configs PartitionCount ReplicationFactor TopicName",
    "AWS::RDS::DBCluster": "BackupRetentionPeriod CopyTagsToSnapshot DBClusterIdentifier DBClusterParameterGroupName "
    "DBSubnetGroupName DatabaseName DeleteAutomatedBackups DeletionProtection EnableCloudwatchLogsExports "
    "EnableIAMDatabaseAuthentication Engine EngineVersion KmsKeyId ManageMasterUserPassword MasterUserPassword "
    "MasterUserSecret.KmsKeyId MasterUsername Port PreferredBackupWindow PreferredMaintenanceWindow "
    "ServerlessV2ScalingConfiguration StorageEncrypted VpcSecurityGroupIds",
    "AWS::RDS::DBClusterParameterGroup": "Description Family Parameters",
    "AWS::RDS::DBInstance": "AllocatedStorage AutoMinorVersionUpgrade BackupRetentionPeriod CACertificateIdentifier "
    "CopyTagsToSnapshot DBInstanceClass DBInstanceIdentifier DBName DBParameterGroupName DBSubnetGroupName "
    "DeleteAutomatedBackups DeletionProtection EnableCloudwatchLogsExports EnableIAMDatabaseAuthentication "
    "EnablePerformanceInsights Engine EngineVersion KmsKeyId ManageMasterUserPassword MasterUserPassword "
    "MasterUserSecret.KmsKeyId MasterUsername MaxAllocatedStorage MonitoringInterval MonitoringRoleArn MultiAZ "
    "PerformanceInsightsKMSKeyId PerformanceInsightsRetentionPeriod Port PreferredBackupWindow "
    "PreferredMaintenanceWindow PubliclyAccessible StorageEncrypted StorageType VPCSecurityGroups",
    MEMBER: "AutoMinorVersionUpgrade CACertificateIdentifier DBClusterIdentifier DBInstanceClass DBInstanceIdentifier "
    "EnablePerformanceInsights Engine MonitoringInterval MonitoringRoleArn PerformanceInsightsKMSKeyId "
    "PerformanceInsightsRetentionPeriod PubliclyAccessible",
    "AWS::RDS::DBParameterGroup": "Description Family Parameters",
    "AWS::RDS::DBProxy": "Auth DBProxyName DebugLogging DefaultAuthScheme EngineFamily IdleClientTimeout RequireTLS RoleArn "
    "VpcSecurityGroupIds VpcSubnetIds",
    "AWS::RDS::DBProxyTargetGroup": "DBClusterIdentifiers DBInstanceIdentifiers DBProxyName TargetGroupName "
    + _under(
        "ConnectionPoolConfigurationInfo",
        "ConnectionBorrowTimeout MaxConnectionsPercent MaxIdleConnectionsPercent",
    ),
    "AWS::RDS::DBSubnetGroup": "DBSubnetGroupDescription SubnetIds",
    "AWS::S3::Bucket": "BucketEncryption BucketName LifecycleConfiguration.Rules LoggingConfiguration.DestinationBucketName "
    "LoggingConfiguration.LogFilePrefix ObjectLockConfiguration ObjectLockEnabled OwnershipControls "
    "PublicAccessBlockConfiguration VersioningConfiguration ",
    "AWS::S3::BucketPolicy": "Bucket PolicyDocument",
    "AWS::Scheduler::Schedule": "Description FlexibleTimeWindow Name ScheduleExpression ScheduleExpressionTimezone State "
    "Target.Arn Target.DeadLetterConfig Target.RetryPolicy Target.RoleArn",
    "AWS::ServiceDiscovery::PrivateDnsNamespace": "Description Name Vpc",
    "AWS::ServiceDiscovery::Service": "DnsConfig HealthCheckCustomConfig Name NamespaceId",
}
SHAPES = {kind: _words(f"{names} Tags") for kind, names in _SHAPES.items()}
_WAYS = {  # the objects on the way to a setting
    kind: {path.rsplit(".", n)[0] for path in names for n in range(1, path.count(".") + 1)}
    for kind, names in SHAPES.items()
}


def foreign_types(stack: StackSeen, services: frozenset[str]) -> Iterator[str]:
    """The logical ids of whatever may be there of these services and is of no type that a construct makes."""
    for kind, ids in stack.possible_by_type.items():
        if kind not in SHAPES and kind.startswith("AWS::") and kind.split("::")[1] in services:
            yield from ids


def as_made(stack: StackSeen, logical_id: str, kind: str) -> Verdict:
    """Whether a resource has no setting but those that its construct gives it."""
    undecided: list[str] = []
    properties = stack.template["Resources"][logical_id].get("Properties", {})
    extra = sorted(set(_extra(stack.resolver, kind, properties, "", undecided)))
    if extra:
        return fail(f"it has settings that nobody declared: {', '.join(extra)}")
    return unknown(f"{undecided[0]} cannot be read") if undecided else PASS


def _extra(resolver: Resolver, kind: str, raw: Any, path: str, undecided: list[str]) -> Iterator[str]:
    found = resolver.value(raw) if isinstance(raw, dict) and len(raw) == 1 else raw
    if isinstance(found, list):
        for item in found:
            yield from _extra(resolver, kind, item, path, undecided)
    elif isinstance(found, Unknown):
        undecided.append(path.rstrip(".") or "what it is")
    elif isinstance(found, dict):
        for name, value in found.items():
            here = f"{path}{name}"
            if here in _WAYS[kind]:
                yield from _extra(resolver, kind, value, f"{here}.", undecided)
            elif here not in SHAPES[kind] and resolver.value(value) is not ABSENT:
                yield here
