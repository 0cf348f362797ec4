"""CloudFormation itself: what is known of its resource types."""
