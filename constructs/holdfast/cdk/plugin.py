"""Rules and contract inside `cdk synth`: over the final templates, so that an override which drops a guard is seen."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import aws_cdk as cdk
import jsii
from cdk_nag import NagPack
from constructs import IConstruct

from holdfast.cfn.template import StackSeen
from holdfast.contract import check, files, make, stamp
from holdfast.contract.assembly import Synthesized, stacks
from holdfast.days import day
from holdfast.estate.estate import Estate
from holdfast.estate.placement import Placed
from holdfast.model.environment import Environment
from holdfast.policy.required import DEFAULT, Policy
from holdfast.rules import RULES, cannot_be_waived, check_waivers, judge
from holdfast.rules.base import Finding
from holdfast.rules.contract import DIFFERS
from holdfast.rules.foreign import Facts, judge_foreign
from holdfast.text import counted
from holdfast.verdict import Outcome

BAD = frozenset({Outcome.FAIL, Outcome.UNKNOWN})


@jsii.implements(cdk.IPolicyValidationPlugin)
class Conventions:
    """Judges the declared stacks: what fails or cannot be read fails the synth; what differs from the contract warns.

    ``outdir`` is where the app is synthesized to; without it nothing is compared.
    """

    def __init__(self, estate: Estate, places: Iterable[Placed], *, now: datetime, outdir: Path | None = None) -> None:
        self._estate = estate
        self._places = {p.id: p for p in places}
        self._today = day(now)
        self._outdir = outdir

    # jsii forwards properties only: plain attributes would arrive in Node as undefined.
    @property
    def name(self) -> str:
        return "Holdfast"

    @property
    def version(self) -> str:
        return "1"

    @property
    def rule_ids(self) -> list[str]:
        return [rule.id for rule in RULES]

    def validate(self, context: cdk.IPolicyValidationContext) -> cdk.PolicyValidationPluginReport:
        check_waivers(self._estate)
        environments = dict.fromkeys(p.env for p in self._places.values())
        if self._outdir is None:
            seen = _read(context, {name: p.region for name, p in self._places.items()})
            return _report(
                self._bad([stack for stack, _ in seen], environments), {stack.where: path for stack, path in seen}
            )
        found = stacks(self._outdir)
        stamp.write(self._outdir, self._estate)
        declared = {p.id: p.env.label for p in self._estate.placements()}
        return _report(
            self._bad([s.seen for s in found], environments),
            {s.where: str(self._outdir / s.where) for s in found},
            _differences(found, declared),
        )

    def _bad(self, seen: Sequence[StackSeen], environments: Iterable[Environment]) -> list[Finding]:
        findings = judge(self._estate, seen, environments, today=self._today)
        return [f for f in findings if f.outcome in BAD]


class HoldfastChecks(NagPack):
    """The protection rules as a cdk-nag pack, for any CDK app: one line, and every table is judged by its tags.

    ``declared`` says of tables, by name or logical id, what their tags do not; ``policy`` what these tags are called,
    and what is demanded.
    """

    def __init__(
        self,
        scope: IConstruct | None = None,
        *,
        declared: Mapping[str, Facts] | None = None,
        policy: Policy = DEFAULT,
    ) -> None:
        super().__init__(scope)
        self._policy = policy
        self._pack_name = "Holdfast"
        self._declared = dict(declared or {})

    @property
    def name(self) -> str:
        return "Holdfast"

    def _check_resource(self, node: cdk.CfnResource) -> None:
        """Nothing: constructs do not show overrides. The templates are read instead."""

    def validate(self, context: cdk.IPolicyValidationContext) -> cdk.PolicyValidationPluginReport:
        seen = _read(context, {})
        findings = [f for stack, _ in seen for f in judge_foreign(stack, self._declared, self._policy)]
        return _report([f for f in findings if f.outcome in BAD], {stack.where: path for stack, path in seen})


def _read(context: cdk.IPolicyValidationContext, regions: Mapping[str, str]) -> list[tuple[StackSeen, str]]:
    """Every synthesized stack, with the path of its template."""
    found = []
    for path in map(Path, context.template_paths):
        name = path.name.removesuffix(".template.json")
        template = {"Resources": {}} | json.loads(path.read_bytes())  # a stack may have none
        stack = StackSeen(id=name, where=path.name, template=template, region=regions.get(name))
        found.append((stack, str(path)))
    return found


def _differences(found: Sequence[Synthesized], declared: dict[str, str]) -> dict[str, list[Finding]]:
    """What differs from the contracts beside the app, by stack; nothing where there are none."""
    folder = Path.cwd() / files.FOLDER
    contracts = {p.stem: files.read(p) for p in sorted(folder.glob("*.json"))}
    told: dict[str, list[Finding]] = {}
    if contracts:
        made = make.made(found)
        for id_ in made.keys() & contracts.keys():  # the packs have not said yet what was acknowledged
            made[id_]["acknowledged"] = contracts[id_].get("acknowledged", {})
        sides = check.Sides(contracts=contracts, made=made, declared=declared)
        for f in [*check.compare(sides), *check.touched(sides, found)]:
            id_ = next(
                (s.id for s in found if f.where.partition("#")[0] in (s.where, f"{files.FOLDER}/{s.id}.json")), ""
            )
            if f.outcome is Outcome.FAIL and id_:
                told.setdefault(id_, []).append(f)
    return told


def _report(
    bad: Sequence[Finding],
    paths: Mapping[str, str],
    differences: Mapping[str, Sequence[Finding]] | None = None,
) -> cdk.PolicyValidationPluginReport:
    """What is bad fails the synth; what differs from the contract is one warning per stack."""
    violations = [_violation(f, paths) for f in bad]
    violations += [_warning(id_, found, paths) for id_, found in sorted((differences or {}).items())]
    return cdk.PolicyValidationPluginReport(success=not bad, violations=violations)


def _warning(id_: str, found: Sequence[Finding], paths: Mapping[str, str]) -> cdk.PolicyViolation:
    first = min(found, key=check.rank)
    count = counted(len(found), "difference")
    file = f"{id_}.template.json"
    return cdk.PolicyViolation(
        rule_name=DIFFERS.id,
        description=f"{id_}: {count} from the contract, first {first.table or first.where}: {first.detail}. "
        "To acknowledge this does not silence `holdfast check`",
        fix="undo it, or `make accept`",
        severity="warning",
        violating_resources=[
            cdk.PolicyViolatingResource(
                resource_logical_id=first.where.partition("#")[2] or id_,
                template_path=paths.get(file, file),
                locations=["Properties"],
            )
        ],
    )


def _violation(f: Finding, paths: Mapping[str, str]) -> cdk.PolicyViolation:
    file, _, logical_id = f.where.partition("#")
    resource = cdk.PolicyViolatingResource(
        resource_logical_id=logical_id or f.table or f.stack,
        template_path=paths.get(file, file),
        locations=["Properties"],
    )
    return cdk.PolicyViolation(
        rule_name=f.rule.id,
        description=f"{f.table or f.where}: {f.detail or f.rule.title}",
        fix=f.fix,
        # What cannot be waived cannot be acknowledged either.
        severity="fatal" if cannot_be_waived(f) else "error",
        violating_resources=[resource],
    )
