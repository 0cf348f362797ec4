"""All stacks of the estate under all checks, as a CDK app."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks, HIPAASecurityChecks, NIST80053R5Checks

from holdfast.catalog import environments_named, placements
from holdfast.cdk.plugin import Conventions
from holdfast.cdk.stack import TableStack
from holdfast.model import Stack


def estate(stacks: tuple[Stack, ...], context: Mapping[str, Any], outdir: str | None = None) -> cdk.App:
    """The app of the environment that the context names: prod, test or all. The CLI's context wins over ``context``."""
    root = cdk.App(
        context=context,
        outdir=outdir,
        builtin_cloud_formation_validation=False,  # takes longer than all the rest; cfn-lint does it in `make check`
    )
    places = placements(stacks, environments_named(str(root.node.try_get_context("env"))))
    for placed in places:
        TableStack(root, placed)
    cdk.Validations.of(root).add_plugins(
        Conventions(stacks, places, now=datetime.now(UTC)),
        AwsSolutionsChecks(root),
        NIST80053R5Checks(root),
        HIPAASecurityChecks(root),
    )
    return root
