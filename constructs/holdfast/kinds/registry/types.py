"""The resource types of registries."""

NAMESPACE, SERVICE = "AWS::ServiceDiscovery::PrivateDnsNamespace", "AWS::ServiceDiscovery::Service"

# The resource that is the store itself, and the property that names it.
IDENTITY = {NAMESPACE: "Name"}
