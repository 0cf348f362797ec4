"""Where this estate is deployed."""

from holdfast import Environment, Tier

PROD = Environment("prod", Tier.PROD, "us-east-1")
TEST = Environment("test", Tier.TEST, "us-west-2")
