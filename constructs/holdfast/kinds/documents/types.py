"""The resource types of document databases."""

DOCUMENTS, DOCUMENTS_INSTANCE = "AWS::DocDB::DBCluster", "AWS::DocDB::DBInstance"
PARAMETERS, SUBNETS = "AWS::DocDB::DBClusterParameterGroup", "AWS::DocDB::DBSubnetGroup"
SECRET = "AWS::SecretsManager::Secret"

# The resource that is the store itself, and the property that names it.
IDENTITY = {DOCUMENTS: "DBClusterIdentifier"}
