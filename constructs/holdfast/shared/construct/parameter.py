"""A parameter in Parameter Store."""

from __future__ import annotations

import aws_cdk as cdk
from constructs import Construct

from holdfast.model.facts import construct_id


def parameter(scope: Construct, name: str, value: str, description: str, tags: dict[str, str]) -> None:
    cdk.CfnResource(
        scope,
        construct_id(name),
        type="AWS::SSM::Parameter",
        properties={"Name": name, "Type": "String", "Value": value, "Description": description, "Tags": tags},
    )
