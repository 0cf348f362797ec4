"""Declarations as a CDK app: the stacks, and the checks inside `cdk synth`."""

import holdfast.shared.construct  # noqa: F401 (before aws_cdk: it says which Node CDK runs on)
from holdfast.cdk.app import app
from holdfast.cdk.plugin import HoldfastChecks
from holdfast.cdk.stack import TableStack
from holdfast.kinds.table.construct.table import GuardedTable

__all__ = ["GuardedTable", "HoldfastChecks", "TableStack", "app"]
