"""The contract of every stack of a cloud assembly: what CloudFormation is told, and what code goes along."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any

from holdfast.cfn import normal
from holdfast.contract import stamp
from holdfast.contract.assembly import STACK, Synthesized, load, stacks
from holdfast.contract.assets import Asset, assets, held, is_template, unusual
from holdfast.contract.files import VERSION
from holdfast.contract.pairing import resources
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
SHORT = len("<hash of the code>")  # what is shorter holds no hash
CODE = "<code>"  # where CDK writes a hash of what the contract lists under ``code``
NESTED = "AWS::CloudFormation::Stack"
UPLOADED = "(uploaded)"  # what no resource refers to
MAX_NESTED = 10


def contracts(assembly: Path) -> dict[str, Json]:
    """By stack id, stages included."""
    return made(stacks(assembly))


def made(found: Iterable[Synthesized]) -> dict[str, Json]:
    digests: dict[Path, str] = {}
    reports: dict[Path, Any] = {}
    waived: dict[Path, Json] = {}
    contracts = {}
    for stack in found:
        if stack.folder not in reports:
            reports[stack.folder] = _reported(stack.folder)
        if stack.outdir not in waived:
            waived[stack.outdir] = stamp.waived(stack.outdir)
        of_stack = waived[stack.outdir].get(stack.id, {})
        contracts[stack.id] = _contract(stack, digests, reports[stack.folder], of_stack)
    return contracts


def _contract(stack: Synthesized, digests: dict[Path, str], reported: dict[str, Json], waived: Json) -> Json:
    properties = stack.properties
    uploaded = list(assets(stack))
    elsewhere = unusual(stack, uploaded)
    template, code, nested = _template(stack, stack.template, uploaded, digests, 0)
    return {
        "version": VERSION,
        "stack": {
            "name": stack.name,
            "environment": stack.artifact.get("environment"),
            **{k: normal.value(properties[k]) for k in OF_STACK if properties.get(k)},
            **({"uploads": elsewhere} if elsewhere else {}),
            "dependencies": sorted(name for name, _ in stack.depends_on(STACK)),
        },
        "acknowledged": _sorted(reported.get(stack.id, {})),
        **({"waived": waived} if waived else {}),
        "code": code,
        **({"nested": nested} if nested else {}),
        "template": template,
    }


def _reported(folder: Path) -> dict[str, Json]:
    """Every accepted finding of cdk-nag by stack: {reason: {rule: [construct, …]}}."""
    path = folder / "validation-report.json"
    reports = load(path).get("pluginReports") if path.is_file() else None
    found: dict[str, Json] = {}
    for violation in _suppressed(reports if isinstance(reports, list) else []):
        match violation:
            case {"reason": str(reason), "ruleName": str(rule), "violatingConstructs": list(constructs)}:
                for construct in constructs:
                    match construct:
                        case {"constructPath": str(path_)}:
                            rules = found.setdefault(path_.partition("/")[0], {}).setdefault(reason, {})
                            rules.setdefault(rule, []).append(path_)
    return found


def _sorted(acknowledged: Json) -> Json:
    return {reason: {r: sorted(rules[r]) for r in sorted(rules)} for reason, rules in sorted(acknowledged.items())}


def _suppressed(reported: list[Any]) -> Iterator[Any]:
    for plugin in reported:
        match plugin:
            case {"suppressedViolations": list(violations)}:
                yield from violations


def _template(
    stack: Synthesized, raw: Json, uploaded: list[Asset], digests: dict[Path, str], depth: int
) -> tuple[Json, Json, Json]:
    """A template in normal form, what code it carries, and the nested templates that lie in the folder."""
    by_id = {a.id: a for a in uploaded}
    own = {a.id for a in uploaded if is_template(stack, a)}
    code: Json = {}
    nested: Json = {}
    mentioned: set[str] = set()
    if by_id.keys() - own:
        for logical_id, resource in resources({"template": raw}).items():
            for path, id_ in _mentions(resource, by_id.keys()):
                mentioned.add(id_)
                if resource.get("Type") == NESTED and path.partition("/")[0] == "TemplateURL":
                    nested[logical_id] = _nested(stack, by_id[id_], uploaded, digests, depth + 1)
                else:
                    carried = code.setdefault(VERSIONED.sub(r"\1", logical_id), {})
                    carried[path] = held(stack, by_id[id_], digests)
        if depth == 0:
            left = sorted(by_id.keys() - own - mentioned - _within(nested))
            code |= {UPLOADED: {i: held(stack, by_id[i], digests) for i in left}} if left else {}
    template = _without_hashes(normal.template(raw), by_id.keys() - own, code.keys() | nested.keys())
    return template, dict(sorted(code.items())), dict(sorted(nested.items()))


def _mentions(resource: Json, ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    known = set(ids)
    for path, text in leaves(resource.get("Properties")):
        if len(text) >= 64:
            yield from ((path, id_) for id_ in ASSET.findall(text) if id_ in known)


def _nested(stack: Synthesized, asset: Asset, uploaded: list[Asset], digests: dict[Path, str], depth: int) -> Json:
    if depth > MAX_NESTED:
        raise InputError(f"{stack.id} nests stacks deeper than {MAX_NESTED} levels: run `cdk synth` again")
    raw = load(stack.inside(asset.source.get("path")))
    template, code, nested = _template(stack, raw, uploaded, digests, depth)
    return {"template": template, "code": code, **({"nested": nested} if nested else {})}


def _within(nested: Json) -> set[str]:
    """The ids of the assets that nested templates carry."""
    found: set[str] = set()
    for inner in nested.values():
        found |= {carried["asset"] for of in inner["code"].values() for carried in of.values()}
        found |= _within(inner.get("nested", {}))
    return found


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, str):
        yield path, tree
    elif isinstance(tree, dict | list):
        for name, part in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from leaves(part, f"{path}/{name}" if path else str(name))


def brought_up(contract: Json) -> Json:
    """A contract of any version in today's normal form, so that both sides of a comparison are alike."""
    if contract.get("version", 0) > 0:
        return _normal(contract)
    # A snapshot from before contracts, or a template as it is deployed: no code, no roles, and hashes of any asset.
    found = _normal(contract)
    stack = {k: v for k, v in contract["stack"].items() if v is not False}
    return {**found, "stack": stack, "template": _replaced(found["template"], ASSET)}


def _normal(part: Json) -> Json:
    nested = {k: _normal(n) for k, n in part.get("nested", {}).items()}
    return {**part, **({"nested": nested} if nested else {}), "template": normal.template(part["template"])}


def _without_hashes(template: Json, ids: Iterable[str], carrying: Container[str]) -> Json:
    """What the code decides stands under ``code``, so that a change of code is one difference.

    ``carrying`` are the resources that mention one of the assets ``ids``: the others need not be looked at.
    """
    resources = template.get("Resources", {})
    hashes = re.compile("|".join(map(re.escape, sorted(ids))) or "(?!)")
    if any("CurrentVersion" in logical_id for logical_id in resources):  # which any other resource may refer to
        found: Json = _replaced(template, hashes)
        return found
    made = {k: _replaced(r, hashes) if k in carrying else r for k, r in resources.items()}
    rest = {k: _replaced(v, hashes) for k, v in template.items() if k != "Resources"}
    return dict(sorted({**rest, **({"Resources": made} if made else {})}.items()))


def _replaced(tree: Any, hashes: re.Pattern[str]) -> Any:
    if isinstance(tree, dict):
        return {_without_hash(k, hashes): _replaced(v, hashes) for k, v in tree.items()}
    if isinstance(tree, list):
        return [_replaced(v, hashes) for v in tree]
    return _without_hash(tree, hashes) if isinstance(tree, str) else tree


def _without_hash(text: str, hashes: re.Pattern[str]) -> str:
    if len(text) < SHORT:
        return text  # as nearly all are
    return hashes.sub(CODE, VERSIONED.sub(r"\1", text))
