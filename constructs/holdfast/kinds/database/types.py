"""The resource types of databases."""

INSTANCE, CLUSTER = "AWS::RDS::DBInstance", "AWS::RDS::DBCluster"
PARAMETERS, CLUSTER_PARAMETERS = "AWS::RDS::DBParameterGroup", "AWS::RDS::DBClusterParameterGroup"
PROXY, TARGETS = "AWS::RDS::DBProxy", "AWS::RDS::DBProxyTargetGroup"
SUBNETS = "AWS::RDS::DBSubnetGroup"

# The resource that is the store itself, and the property that names it.
IDENTITY = {INSTANCE: "DBInstanceIdentifier", CLUSTER: "DBClusterIdentifier"}
