"""The resource types of brokers."""

BROKER, SETTINGS, TOPIC = "AWS::MSK::Cluster", "AWS::MSK::Configuration", "AWS::MSK::Topic"

# The resource that is the store itself, and the property that names it.
IDENTITY = {BROKER: "ClusterName"}
