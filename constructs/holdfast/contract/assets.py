"""What is uploaded along with a stack: its files and images by what they hold, and whether it goes where it should."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.contract.assembly import ASSETS, Synthesized, load
from holdfast.errors import InputError

Json = dict[str, Any]
OF_INSTALLER = frozenset({"RECORD", "INSTALLER", "REQUESTED"})  # how a package was unpacked, not what it holds
QUALIFIER = re.compile(r":role/cdk-([a-z0-9]+)-")
USUAL = "hnb659fds"  # CDK's own qualifier


@dataclass(frozen=True, slots=True)
class Asset:
    """One entry of an asset manifest: what is uploaded, made from what, and to where."""

    id: str
    image: bool
    source: Json
    destinations: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Misplaced:
    """Something about the upload that does not fit what was synthesized."""

    path: str
    expected: str
    found: str
    says: str


def assets(stack: Synthesized) -> Iterator[Asset]:
    """Everything that the manifest uploads for a stack, its own template included."""
    for _, artifact in stack.depends_on(ASSETS):
        properties = artifact.get("properties")
        content = load(stack.inside(properties.get("file") if isinstance(properties, dict) else None))
        for section in ("files", "dockerImages"):
            entries = content.get(section)
            for id_, entry in entries.items() if isinstance(entries, dict) else ():
                source, places = (entry.get(k) if isinstance(entry, dict) else None for k in ("source", "destinations"))
                if not isinstance(source, dict) or not isinstance(places, dict):
                    raise InputError(f"{stack.folder} has a damaged list of assets ({id_}): run `cdk synth` again")
                destinations = tuple(d for d in places.values() if isinstance(d, dict))
                yield Asset(id_.partition("-")[0], section == "dockerImages", source, destinations)


def is_template(stack: Synthesized, asset: Asset) -> bool:
    """Whether an asset is the stack's own template."""
    path = asset.source.get("path")
    return not asset.image and path is not None and stack.inside(path).resolve() == stack.path


def held(stack: Synthesized, asset: Asset, known: dict[Path, str]) -> Json:
    """What an asset carries. ``known`` are the digests of this assembly, as stacks share what they upload."""
    found: Json = {"asset": asset.id}
    name = asset.source.get("directory" if asset.image else "path")
    if name is not None:
        path = stack.inside(name)
        if path not in known and path.exists():
            known[path] = digest(path)
        if path in known:
            found["files"] = known[path]
        elif not asset.image:  # an image may be built elsewhere, from what its settings say
            raise InputError(f"{path} is uploaded for {stack.id}, and is not there: run `cdk synth` again")
    if "executable" in asset.source:
        found["command"] = asset.source["executable"]
    if asset.image and (settings := {k: v for k, v in asset.source.items() if k not in ("directory", "executable")}):
        found["settings"] = _sha(json.dumps(settings, sort_keys=True))  # arguments of a build may be secret
    return found


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
    return _sha("\n".join(lines))


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# Addresses: checked, and kept in the contract only where they are not the bootstrap's own


def unusual(stack: Synthesized, uploaded: list[Asset]) -> list[str]:
    """Buckets, repositories, roles and regions of the uploads that are not those of CDK's bootstrap."""
    told = [d[k] for a in uploaded for d in a.destinations for k in d.keys() - {"objectKey", "imageTag"}]
    told += [_bucket(url)] if (url := _url(stack)) else []
    look_up = stack.properties.get("lookupRole")
    told += [look_up.get("arn")] if isinstance(look_up, dict) else []
    usual = _usual(stack)
    return sorted({t if isinstance(t, str) else json.dumps(t, sort_keys=True) for t in told} - usual)


def _usual(stack: Synthesized) -> set[str]:
    account, region = _environment(stack)
    found = QUALIFIER.search(str(stack.properties.get("assumeRoleArn", "")))
    qualifier = found[1] if found else USUAL
    places = [(a, r) for a in {account, "${AWS::AccountId}"} for r in {region, "${AWS::Region}"}]
    roles = ("file-publishing", "image-publishing", "lookup")
    return {
        region,
        "${AWS::Region}",
        *(f"cdk-{qualifier}-{kind}-{a}-{r}" for kind in ("assets", "container-assets") for a, r in places),
        *(f"arn:${{AWS::Partition}}:iam::{a}:role/cdk-{qualifier}-{k}-role-{a}-{r}" for k in roles for a, r in places),
    }


def _environment(stack: Synthesized) -> tuple[str, str]:
    account, _, region = str(stack.artifact.get("environment", "")).removeprefix("aws://").partition("/")
    return account, region


def _url(stack: Synthesized) -> str:
    return str(stack.properties.get("stackTemplateAssetObjectUrl", ""))


def _bucket(url: str) -> str:
    return url.removeprefix("s3://").partition("/")[0]


def misplaced(stack: Synthesized, uploaded: list[Asset]) -> Iterator[Misplaced]:
    """Where the manifest would deploy another template than the one that lies in the folder."""
    url, own = _url(stack), [a for a in uploaded if is_template(stack, a)]
    path = "stack/stackTemplateAssetObjectUrl"
    if url and stack.digest not in url:
        yield Misplaced(path, stack.digest, url, "the template that is deployed is not the one in the folder")
    elif own and not url:
        yield Misplaced(path, stack.digest, "absent", "the manifest does not say which template is deployed")
    elif url and not any(
        f"{_bucket(url)}/{d.get('objectKey')}" == url.removeprefix("s3://") for a in own for d in a.destinations
    ):
        yield Misplaced(path, url, "absent", "nothing uploads the template to where it is deployed from")
    for asset in uploaded:
        yield from _misplaced(stack, asset)


def _misplaced(stack: Synthesized, asset: Asset) -> Iterator[Misplaced]:
    at, name = ("repositoryName", "imageTag") if asset.image else ("bucketName", "objectKey")
    path = f"assets/{asset.id}"
    if not asset.destinations or not all(isinstance(d.get(at), str) for d in asset.destinations):
        yield Misplaced(path, asset.id, "absent", "nothing uploads an asset")
    for key in (str(d.get(name)) for d in asset.destinations):
        if asset.id not in key:
            yield Misplaced(path, asset.id, key, "an asset is not uploaded under its own hash")
    source, packaging = asset.source.get("path"), asset.source.get("packaging")
    if source is not None and packaging != "zip" and stack.inside(source).is_dir():
        yield Misplaced(path, "zip", str(packaging), "a folder is not packed as what a function takes")
