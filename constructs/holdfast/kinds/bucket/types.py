"""The resource types of buckets."""

BUCKET, POLICY = "AWS::S3::Bucket", "AWS::S3::BucketPolicy"

# The resource that is the store itself, and the property that names it.
IDENTITY = {BUCKET: "BucketName"}
