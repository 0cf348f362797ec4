"""Findings of cdk-nag that the policy explains, acknowledged with the policy's own words."""

from __future__ import annotations

import aws_cdk as cdk
from constructs import IConstruct

AWS_SOLUTIONS = "AwsSolutions"
NIST = "NIST.800.53.R5"
HIPAA = "HIPAA.Security"


def acknowledge(construct: IConstruct, reason: str, *rules: str) -> None:
    """Accept each of ``rules`` (``Pack-Rule``) on ``construct``, in the form that leaves a trace in the report."""
    cdk.Validations.of(construct).acknowledge(
        *(cdk.Acknowledgment(id=f"{rule.partition('-')[0]}::{rule}", reason=reason) for rule in rules)
    )
