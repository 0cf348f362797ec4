"""The live account: the only place that imports boto3."""
