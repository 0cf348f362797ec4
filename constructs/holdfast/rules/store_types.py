"""The resource types of a stack with stores: those that its constructs make, and the services that hold data."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.cfn.template import StackSeen

# Where data can be: any other type of these services holds some that nobody declared, or hands some out.
HOLDING = frozenset(
    [
        "Backup",
        "Cassandra",
        "DAX",
        "DocDB",
        "DocDBElastic",
        "DSQL",
        "EFS",
        "ElastiCache",
        "FSx",
        "MemoryDB",
        "MSK",
        "Neptune",
        "NeptuneGraph",
        "OpenSearchServerless",
        "OpenSearchService",
        "QLDB",
        "RDS",
        "Redshift",
        "RedshiftServerless",
        "S3",
        "S3Express",
        "S3ObjectLambda",
        "S3Outposts",
        "S3Tables",
        "ServiceDiscovery",
        "Timestream",
    ]
)
MADE = frozenset(
    {
        "AWS::Backup::BackupPlan",
        "AWS::Backup::BackupSelection",
        "AWS::Backup::BackupVault",
        "AWS::DocDB::DBCluster",
        "AWS::DocDB::DBClusterParameterGroup",
        "AWS::DocDB::DBInstance",
        "AWS::DocDB::DBSubnetGroup",
        "AWS::EC2::FlowLog",
        "AWS::EC2::RouteTable",
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::SecurityGroupEgress",
        "AWS::EC2::SecurityGroupIngress",
        "AWS::EC2::Subnet",
        "AWS::EC2::SubnetRouteTableAssociation",
        "AWS::EC2::VPC",
        "AWS::EC2::VPCEndpoint",
        "AWS::ElastiCache::ParameterGroup",
        "AWS::ElastiCache::ReplicationGroup",
        "AWS::ElastiCache::SubnetGroup",
        "AWS::ElastiCache::User",
        "AWS::ElastiCache::UserGroup",
        "AWS::IAM::ManagedPolicy",
        "AWS::IAM::Role",
        "AWS::KMS::Alias",
        "AWS::KMS::Key",
        "AWS::Lambda::Function",
        "AWS::Lambda::LayerVersion",
        "AWS::Lambda::Version",
        "AWS::MSK::Cluster",
        "AWS::MSK::Configuration",
        "AWS::MSK::Topic",
        "AWS::RDS::DBCluster",
        "AWS::RDS::DBClusterParameterGroup",
        "AWS::RDS::DBInstance",
        "AWS::RDS::DBParameterGroup",
        "AWS::RDS::DBProxy",
        "AWS::RDS::DBProxyTargetGroup",
        "AWS::RDS::DBSubnetGroup",
        "AWS::S3::Bucket",
        "AWS::S3::BucketPolicy",
        "AWS::Scheduler::Schedule",
        "AWS::ServiceDiscovery::PrivateDnsNamespace",
        "AWS::ServiceDiscovery::Service",
    }
)


def foreign_types(stack: StackSeen) -> Iterator[str]:
    """The logical ids of whatever may hold data and is of a type that no construct makes."""
    for kind, ids in stack.possible_by_type.items():
        if kind not in MADE and kind.startswith("AWS::") and kind.split("::")[1] in HOLDING:
            yield from ids
