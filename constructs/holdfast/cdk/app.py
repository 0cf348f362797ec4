"""All stacks of the estate under all checks, as a CDK app."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks, HIPAASecurityChecks, NIST80053R5Checks

from holdfast.cdk.plugin import Conventions
from holdfast.cdk.stack import TableStack
from holdfast.estate.estate import Estate
from holdfast.model.declaration import DeclarationError

# Flags of former versions. What a flag decides, a forgotten flag drops from a template, with the data behind it.
RETIRED = {
    "aurora": "engine=Engine.AURORA of the Database",
    "documents": "DocumentDatabase(…) in stores= of the stack",
    "topicPrefix": "topic_prefix of the Environment",
    "zones": "zones of the Environment",
}


def app(estate: Estate, context: Mapping[str, Any], outdir: str | None = None, *, root: Path | None = None) -> cdk.App:
    """The app of the environment that the context names, or of all. The CLI's context wins over ``context``.

    ``root`` is the folder of the project, by default the one it runs in: the code of stream processors, schemas/ and
    build/layer are below it.
    """
    folder = (root or Path()).resolve()
    made = cdk.App(
        context=context,
        outdir=outdir,
        builtin_cloud_formation_validation=False,  # takes longer than all the rest; cfn-lint does it in `make check`
    )
    for flag, place in RETIRED.items():
        if (value := made.node.try_get_context(flag)) is not None:
            raise DeclarationError(
                f"-c {flag}={value}: no flag decides this any more; declare {place} and drop the flag"
            )
    places = estate.placements(estate.named(str(made.node.try_get_context("env"))))
    stacks = {placed.id: TableStack(made, placed, folder) for placed in places}
    for placed in places:
        if placed.key_holder:  # what imports the key cannot be deployed before what exports it
            stacks[placed.id].add_stack_dependency(stacks[placed.key_holder.id])
    cdk.Validations.of(made).add_plugins(
        Conventions(estate, places, now=datetime.now(UTC), outdir=Path(made.outdir)),
        AwsSolutionsChecks(made),
        NIST80053R5Checks(made),
        HIPAASecurityChecks(made),
    )
    return made
