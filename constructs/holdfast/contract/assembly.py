"""A CDK output folder on disk, read without Node and without AWS: the one place that finds its stacks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from holdfast.cfn import bounded
from holdfast.cfn.template import StackSeen
from holdfast.errors import InputError
from holdfast.estate.estate import Estate
from holdfast.model.environment import Environment

Json = dict[str, Any]
MAX_BYTES = 10_000_000  # CloudFormation itself takes one million
AGAIN = "run `cdk synth -c env=all` again"
MAX_DEPTH = 20  # of stages in stages
STACK, STAGE, ASSETS = "aws:cloudformation:stack", "cdk:cloud-assembly", "cdk:asset-manifest"


@dataclass(frozen=True)
class Synthesized:
    """One stack as a manifest names it. ``folder`` is the manifest's, which for a stage is inside of ``outdir``."""

    id: str
    outdir: Path
    folder: Path
    artifact: Json
    artifacts: Json
    path: Path
    template: Json

    @property
    def properties(self) -> Json:
        found: Json = self.artifact["properties"]
        return found

    @property
    def name(self) -> str:
        found = self.properties.get("stackName")
        return found if isinstance(found, str) else self.id

    @property
    def region(self) -> str | None:
        region = str(self.artifact.get("environment", "")).rpartition("/")[2]
        return None if region in ("", "unknown-region") else region

    @property
    def account(self) -> str | None:
        account = str(self.artifact.get("environment", "")).removeprefix("aws://").partition("/")[0]
        return None if account in ("", "unknown-account") else account

    @property
    def where(self) -> str:
        return self.path.relative_to(self.outdir).as_posix()

    @cached_property
    def digest(self) -> str:
        """Of the template's file, as CDK computes it."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    @cached_property
    def seen(self) -> StackSeen:
        """The same stack as the rules look at it."""
        return StackSeen(
            id=self.id,
            where=self.where,
            template=self.template,
            name=self.name,
            region=self.region,
            account=self.account,
            protected=self.properties.get("terminationProtection") is True,
        )

    def depends_on(self, kind: str) -> Iterator[tuple[str, Json]]:
        """(id, artifact) of what the manifest names as its dependencies of this type."""
        named = self.artifact.get("dependencies")
        for name in named if isinstance(named, list) else ():
            found = self.artifacts.get(name) if isinstance(name, str) else None
            if isinstance(found, dict) and found.get("type") == kind:
                yield name, found

    def inside(self, name: Any) -> Path:
        """A file of the assembly that the manifest names; one that lies elsewhere is refused."""
        return inside(self.outdir, self.folder, name)


def stacks(outdir: Path) -> list[Synthesized]:
    """Every stack of the assembly, those of its stages included."""
    if not (outdir / "manifest.json").is_file():
        raise InputError(f"{outdir} is not a CDK output folder (no manifest.json): run `cdk synth -c env=all` first")
    found = list(_stacks(outdir.resolve(), outdir, "", 0))
    ids = [s.id for s in found]
    if len(set(ids)) < len(ids):
        raise InputError(f"{outdir} holds {_twice(ids)} twice: run `cdk synth -c env=all` again")
    return found


def _twice(ids: list[str]) -> str:
    return next(i for i in ids if ids.count(i) > 1)


def _stacks(outdir: Path, folder: Path, prefix: str, depth: int) -> Iterator[Synthesized]:
    manifest = folder / "manifest.json"
    artifacts = load(manifest).get("artifacts")
    if not isinstance(artifacts, dict) or depth > MAX_DEPTH:
        raise InputError(f"{manifest} is not a CDK manifest (no artifacts): run `cdk synth -c env=all` again")
    for name, artifact in artifacts.items():
        if not isinstance(artifact, dict):
            continue
        properties = artifact.get("properties")
        if artifact.get("type") == STACK:
            yield _stack(outdir, folder, prefix + name, artifact, artifacts)
        elif artifact.get("type") == STAGE and isinstance(properties, dict):
            stage = inside(outdir, folder, properties.get("directoryName"))
            yield from _stacks(outdir, stage, f"{prefix}{name}-", depth + 1)


def _stack(outdir: Path, folder: Path, id_: str, artifact: Json, artifacts: Json) -> Synthesized:
    properties = artifact.get("properties")
    file = properties.get("templateFile") if isinstance(properties, dict) else None
    if not isinstance(file, str) or "/" in id_ or "\\" in id_:
        raise InputError(f"{folder} is not a CDK output folder ({id_} names no template): run `cdk synth` again")
    template = load(path := inside(outdir, folder, file))
    resources = template.setdefault("Resources", {})  # a stack may have none
    if not are_resources(resources):
        raise InputError(f"{path} is not a CloudFormation template (Resources): run `cdk synth` again")
    return Synthesized(id_, outdir, folder, artifact, artifacts, path.resolve(), template)


def are_resources(found: Any) -> bool:
    """Whether that can be the resources of a template."""
    return isinstance(found, dict) and all(map(_is_resource, found.items()))


def _is_resource(item: tuple[str, Any]) -> bool:
    name, resource = item
    return name.startswith("Fn::") or (isinstance(resource, dict) and isinstance(resource.get("Type"), str))


def inside(outdir: Path, folder: Path, name: Any) -> Path:
    """A file that the manifest of ``folder`` names; one that lies outside of the assembly is refused."""
    try:
        if isinstance(name, str) and (folder / name).resolve().is_relative_to(outdir):
            return folder / name
    except (OSError, ValueError, RuntimeError):  # a name that no file can have, or links in a circle
        pass
    manifest = folder / "manifest.json"
    raise InputError(f"{manifest} names {name!r}, which is outside of the folder: run `cdk synth` again")


def environments_in(seen: Iterable[StackSeen], estate: Estate) -> tuple[Environment, ...]:
    """The environments that were synthesized: those of which at least one declared stack is there."""
    ids = {s.id for s in seen}
    return tuple(dict.fromkeys(p.env for p in estate.placements() if p.id in ids))


def load(path: Path) -> dict[str, Any]:
    """A JSON object of the output folder: a manifest, a template, a report."""
    content = bounded.read(path, MAX_BYTES, AGAIN)
    if len(content) > MAX_BYTES:
        raise InputError(f"{path} has {path.stat().st_size / 1e6:.0f} MB; CloudFormation takes 1 MB: split the stack")
    try:
        document = bounded.tree(content)
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error}): {AGAIN}") from None
    if not isinstance(document, dict):
        raise InputError(f"{path} is not a CloudFormation template: {AGAIN}")
    return document
