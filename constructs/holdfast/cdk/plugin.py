"""The rules inside `cdk synth`: over the final templates, so that an override which drops a guard is seen."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

import aws_cdk as cdk
import jsii
from cdk_nag import NagPack
from constructs import IConstruct

from holdfast.catalog import Placed
from holdfast.days import day
from holdfast.model import Stack
from holdfast.rules import RULES, cannot_be_waived, check_waivers, judge
from holdfast.rules.base import Finding, Outcome
from holdfast.rules.foreign import Facts, judge_foreign
from holdfast.template import StackSeen

BAD = frozenset({Outcome.FAIL, Outcome.UNKNOWN})


@jsii.implements(cdk.IPolicyValidationPlugin)
class Conventions:
    """Judges the declared stacks; what fails or cannot be read fails the synth."""

    def __init__(self, stacks: Iterable[Stack], places: Iterable[Placed], *, now: datetime) -> None:
        self._stacks = tuple(stacks)
        self._places = {p.id: p for p in places}
        self._today = day(now)

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
        check_waivers(self._stacks)
        regions = {name: p.region for name, p in self._places.items()}
        seen = _read(context, regions)
        environments = dict.fromkeys(p.env for p in self._places.values())
        findings = judge(self._stacks, [stack for stack, _ in seen], environments, today=self._today)
        return _report(findings, seen)


class HoldfastChecks(NagPack):
    """The protection rules as a cdk-nag pack, for any CDK app: one line, and every table is judged by its tags.

    ``declared`` says of tables, by name or logical id, what their tags do not.
    """

    def __init__(self, scope: IConstruct | None = None, *, declared: Mapping[str, Facts] | None = None) -> None:
        super().__init__(scope)
        self._pack_name = "Holdfast"
        self._declared = dict(declared or {})

    @property
    def name(self) -> str:
        return "Holdfast"

    def _check_resource(self, node: cdk.CfnResource) -> None:
        """Nothing: constructs do not show overrides. The templates are read instead."""

    def validate(self, context: cdk.IPolicyValidationContext) -> cdk.PolicyValidationPluginReport:
        seen = _read(context, {})
        return _report([f for stack, _ in seen for f in judge_foreign(stack, self._declared)], seen)


def _read(context: cdk.IPolicyValidationContext, regions: Mapping[str, str]) -> list[tuple[StackSeen, str]]:
    """Every synthesized stack, with the path of its template."""
    found = []
    for path in map(Path, context.template_paths):
        name = path.name.removesuffix(".template.json")
        template = json.loads(path.read_bytes())
        stack = StackSeen(id=name, where=path.name, template=template, region=regions.get(name))
        found.append((stack, str(path)))
    return found


def _report(findings: Iterable[Finding], seen: Iterable[tuple[StackSeen, str]]) -> cdk.PolicyValidationPluginReport:
    paths = {stack.where: path for stack, path in seen}
    bad = [f for f in findings if f.outcome in BAD]
    return cdk.PolicyValidationPluginReport(success=not bad, violations=[_violation(f, paths) for f in bad])


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
