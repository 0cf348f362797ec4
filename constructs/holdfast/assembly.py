"""A CDK output folder on disk, read without Node and without AWS."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from holdfast.catalog import placements
from holdfast.errors import InputError
from holdfast.model import Environment, Stack
from holdfast.template import StackSeen

MAX_BYTES = 10_000_000  # CloudFormation itself takes one million


def read(outdir: Path) -> list[StackSeen]:
    """Every stack of the assembly."""
    path = outdir / "manifest.json"
    if not path.is_file():
        raise InputError(f"{outdir} is no CDK output folder (no manifest.json): run `cdk synth -c env=all` first")
    artifacts = load(path).get("artifacts")
    if not isinstance(artifacts, dict):
        raise InputError(f"{path} is no CDK manifest (no artifacts): run `cdk synth -c env=all` again")
    stacks = {k: a for k, a in artifacts.items() if isinstance(a, dict) and a.get("type") == "aws:cloudformation:stack"}
    return [_stack(outdir, name, artifact) for name, artifact in stacks.items()]


def environments_in(seen: Iterable[StackSeen], stacks: Iterable[Stack], outdir: Path) -> tuple[Environment, ...]:
    """The environments that were synthesized: those of which at least one declared stack is there."""
    ids = [s.id for s in seen]
    found = tuple(dict.fromkeys(p.env for p in placements(stacks) if p.id in ids))
    if not found:
        shown = ", ".join(ids[:3]) or "no stack at all"
        raise InputError(f"{outdir} holds none of the declared stacks ({shown}): is it another project's output?")
    return found


def _stack(outdir: Path, name: str, artifact: dict[str, Any]) -> StackSeen:
    properties = artifact.get("properties", {})
    file = properties.get("templateFile", f"{name}.template.json") if isinstance(properties, dict) else None
    if not isinstance(file, str):
        raise InputError(f"{outdir} is no CDK output folder ({name} names no template): run `cdk synth` again")
    template = load(outdir / file)
    resources = template.get("Resources")
    if not isinstance(resources, dict) or not all(isinstance(r, dict) and "Type" in r for r in resources.values()):
        raise InputError(f"{outdir / file} is no CloudFormation template (no Resources): run `cdk synth` again")
    region = str(artifact.get("environment", "")).rpartition("/")[2]
    return StackSeen(
        id=name,
        where=file,
        template=template,
        name=properties.get("stackName", name),
        region=None if region in ("", "unknown-region") else region,
        protected=properties.get("terminationProtection") is True,
    )


def load(path: Path) -> dict[str, Any]:
    try:
        if (size := path.stat().st_size) > MAX_BYTES:
            raise InputError(f"{path} has {size / 1e6:.0f} MB; CloudFormation takes 1 MB: split the stack")
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): run `cdk synth -c env=all` again") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is not JSON ({error}): run `cdk synth -c env=all` again") from None
    if not isinstance(document, dict):
        raise InputError(f"{path} is no CloudFormation template: run `cdk synth -c env=all` again")
    return document
