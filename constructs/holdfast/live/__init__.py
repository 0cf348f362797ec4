"""AWS itself. Only this package imports boto3."""
