"""The resource types of caches."""

CACHE = "AWS::ElastiCache::ReplicationGroup"
PARAMETERS, SUBNETS = "AWS::ElastiCache::ParameterGroup", "AWS::ElastiCache::SubnetGroup"
USER, USERS = "AWS::ElastiCache::User", "AWS::ElastiCache::UserGroup"

# The resource that is the store itself, and the property that names it.
IDENTITY = {CACHE: "ReplicationGroupId"}
