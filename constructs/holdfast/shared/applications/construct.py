"""The managed policy that the applications of a system attach to their roles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aws_cdk import aws_iam as iam
from constructs import Construct

from holdfast.estate.placement import Placed
from holdfast.shared.applications.statements import Use
from holdfast.shared.construct.acknowledge import AWS_SOLUTIONS, acknowledge


def application_policy(scope: Construct, placed: Placed, uses: Iterable[Use]) -> None:
    listed = tuple(uses)
    policy = iam.CfnManagedPolicy(
        scope,
        "Applications",
        managed_policy_name=placed.application_policy,
        description=f"Use of the stores of {placed.name}",
        policy_document={"Version": "2012-10-17", "Statement": [use.statement for use in listed]},
    )
    for use in listed:
        if use.why:
            found = (f"{AWS_SOLUTIONS}-IAM5[Resource::{_as_found(resource)}]" for resource in use.resources)
            acknowledge(policy, use.why, *found)


def _as_found(resource: Any) -> str:
    """A resource as cdk-nag writes it in the name of a finding."""
    match resource:
        case {"Fn::Join": [str(between), list(parts)]}:
            return between.join(map(_as_found, parts))
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return f"<{name}.{attribute}>"
        case {"Ref": str(name)}:
            return f"<{name}>"
        case _:
            return str(resource)
