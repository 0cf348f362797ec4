"""The contract of every stack of a cloud assembly: what CloudFormation is told, and what code goes along."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.assembly import load
from holdfast.cfn import normal
from holdfast.contract.files import VERSION
from holdfast.errors import InputError

Json = dict[str, Any]
OF_STACK = (
    "terminationProtection",
    "tags",
    "assumeRoleArn",
    "assumeRoleExternalId",
    "assumeRoleAdditionalOptions",
    "cloudFormationExecutionRoleArn",
    "notificationArns",
    "parameters",
)
ASSET = re.compile(r"\b[0-9a-f]{64}\b|<hash of the code>")
VERSIONED = re.compile(r"(CurrentVersion[0-9A-F]{8})([0-9a-f]{32}\b|<hash of the code>)")
CODE = "<code>"  # where CDK writes a hash of what the contract lists under ``code``
OF_INSTALLER = frozenset({"RECORD", "INSTALLER", "REQUESTED"})  # how a package was unpacked, not what it holds
STAGES = 20


@dataclass(frozen=True, slots=True)
class Address:
    """Where a manifest says that a stack's template lies, and the digest of the file that was synthesized."""

    stack: str
    told: str
    digest: str

    @property
    def right(self) -> bool:
        return self.digest in self.told


def contracts(assembly: Path) -> dict[str, Json]:
    """By stack id, stages included."""
    return {id_: _contract(folder, id_, artifact, artifacts) for folder, id_, artifact, artifacts in _stacks(assembly)}


def addresses(assembly: Path) -> list[Address]:
    """The template's address in the manifest is checked and not stored: it changes with every byte."""
    found = []
    for folder, id_, artifact, _ in _stacks(assembly):
        properties = artifact["properties"]
        digest = hashlib.sha256((folder / properties["templateFile"]).read_bytes()).hexdigest()
        found.append(Address(id_, str(properties.get("stackTemplateAssetObjectUrl", "")), digest))
    return found


def _stacks(assembly: Path, prefix: str = "", depth: int = 0) -> Iterator[tuple[Path, str, Json, Json]]:
    artifacts = load(assembly / "manifest.json").get("artifacts")
    if not isinstance(artifacts, dict) or depth > STAGES:
        raise InputError(f"{assembly / 'manifest.json'} is not a CDK manifest: run `cdk synth` again")
    for name, artifact in artifacts.items():
        kind = artifact.get("type") if isinstance(artifact, dict) else None
        properties = artifact.get("properties", {}) if isinstance(artifact, dict) else {}
        if kind == "aws:cloudformation:stack":
            yield assembly, prefix + name, artifact, artifacts
        elif kind == "cdk:cloud-assembly" and isinstance(inside := properties.get("directoryName"), str):
            yield from _stacks(_inside(assembly, inside), f"{prefix}{name}-", depth + 1)


def _contract(folder: Path, id_: str, artifact: Json, artifacts: Json) -> Json:
    properties = artifact.get("properties", {})
    raw = load(_inside(folder, properties["templateFile"]))
    assets = dict(_assets(folder, artifact, artifacts))
    return {
        "version": VERSION,
        "stack": {
            "name": properties.get("stackName", id_),
            "environment": artifact.get("environment"),
            **{k: normal.value(properties[k]) for k in OF_STACK if properties.get(k)},
            "dependencies": sorted(d for d in artifact.get("dependencies", ()) if _is_stack(artifacts.get(d))),
        },
        "acknowledged": _acknowledged(folder, id_),
        "code": dict(sorted(_code(raw, assets))),
        "template": _without_hashes(normal.template(raw)),
    }


def _acknowledged(folder: Path, id_: str) -> Json:
    """Every accepted finding of cdk-nag: {reason: {rule: [construct, …]}}."""
    found: Json = {}
    if not (path := folder / "validation-report.json").is_file():
        return found
    for plugin in load(path).get("pluginReports", []):
        for violation in plugin.get("suppressedViolations", []):
            for construct in violation["violatingConstructs"]:
                if construct["constructPath"].startswith(f"{id_}/"):
                    rules = found.setdefault(violation["reason"], {})
                    rules.setdefault(violation["ruleName"], []).append(construct["constructPath"])
    return {reason: {rule: sorted(found[reason][rule]) for rule in sorted(found[reason])} for reason in sorted(found)}


def _is_stack(artifact: Any) -> bool:
    return isinstance(artifact, dict) and artifact.get("type") == "aws:cloudformation:stack"


def _assets(folder: Path, artifact: Json, artifacts: Json) -> Iterator[tuple[str, Path]]:
    """Files and folders that are uploaded for a stack, by CDK's hash of them."""
    for name in artifact.get("dependencies", ()):
        manifest = artifacts.get(name)
        if not isinstance(manifest, dict) or manifest.get("type") != "cdk:asset-manifest":
            continue
        content = load(_inside(folder, manifest["properties"]["file"]))
        for hash_, entry in (content.get("files") or {}).items():
            if isinstance(path := entry.get("source", {}).get("path"), str):
                yield hash_.partition("-")[0], _inside(folder, path)


def _code(raw: Mapping[str, Any], assets: Mapping[str, Path]) -> Iterator[tuple[str, Json]]:
    """What each resource carries, by property: CDK's hash, and the digest of the files themselves."""
    digests = {hash_: digest(path) for hash_, path in assets.items() if path.suffix != ".json"}
    for logical_id, resource in raw.get("Resources", {}).items():
        properties = resource.get("Properties") if isinstance(resource, dict) else None
        found = {
            path: {"asset": hash_, "files": digests[hash_]}
            for path, text in leaves(properties)
            for hash_ in ASSET.findall(text)
            if hash_ in digests
        }
        if found:
            yield VERSIONED.sub(r"\1", logical_id), found


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, str):
        yield path, tree
    elif isinstance(tree, dict | list):
        for name, part in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from leaves(part, f"{path}/{name}" if path else str(name))


def digest(path: Path) -> str:
    """Of what a file or folder holds: names, contents, links, and whether a file can be run."""
    lines = []
    for file in [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_symlink() or p.is_file()):
        if file.parent.name.endswith(".dist-info") and file.name in OF_INSTALLER:
            continue
        name = file.relative_to(path).as_posix() if file != path else ""
        if file.is_symlink():
            lines.append(f"{name}\0link\0{file.readlink()}")
        else:
            run = "x" if file.stat().st_mode & 0o100 else "-"
            lines.append(f"{name}\0{run}\0{hashlib.sha256(file.read_bytes()).hexdigest()}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def brought_up(contract: Json) -> Json:
    """A contract of any version in today's normal form, so that both sides of a comparison are alike."""
    stack = contract["stack"]
    if contract.get("version", 0) == 0:  # a snapshot from before contracts: no code, no roles
        stack = {k: v for k, v in stack.items() if v is not False}
    return {**contract, "stack": stack, "template": _without_hashes(normal.template(contract["template"]))}


def _without_hashes(tree: Any) -> Any:
    """What the code decides stands under ``code``, so that a change of code is one difference."""
    if isinstance(tree, dict):
        return {VERSIONED.sub(r"\1", k): _without_hashes(v) for k, v in tree.items()}
    if isinstance(tree, list):
        return [_without_hashes(v) for v in tree]
    return ASSET.sub(CODE, VERSIONED.sub(r"\1", tree)) if isinstance(tree, str) else tree


def _inside(folder: Path, name: str) -> Path:
    """A path of the assembly; one that leads elsewhere is refused."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(
            f"{folder / 'manifest.json'} names {name}, which is outside of the folder: run `cdk synth` again"
        )
    return path
