"""`holdfast check`: what was synthesized, by the rules and by the contract."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.cli import options
from holdfast.cli.output import report
from holdfast.contract import check, files, make, stamp
from holdfast.contract.assembly import Synthesized, environments_in, stacks
from holdfast.days import day
from holdfast.errors import InputError
from holdfast.garbage import uncollected
from holdfast.report.places import contracts_folder, shown_from
from holdfast.rules import check_waivers, expiring, judge
from holdfast.rules.base import Finding
from holdfast.text import counted

if TYPE_CHECKING:
    from holdfast.estate.estate import Estate
    from holdfast.model.environment import Environment

Json = dict[str, Any]
NO_ESTATE = "no estate is named here: what was synthesized is compared with the contracts, and no policy rule is run"
NO_CONTRACTS = (
    f"there are no contracts here (no {files.FOLDER}/*.json): the rules judge alone; `make accept` writes them"
)
NEITHER = (
    "there is neither a contract nor an estate here: `holdfast accept` writes what was synthesized as the contract, "
    'and estate = "stacks:ESTATE" below [tool.holdfast] in pyproject.toml names an estate'
)


def arguments(command: argparse.ArgumentParser) -> None:
    options.outdir(command)
    command.add_argument("--env", help="prod, test or all: only this is judged, and has to be there")
    options.findings(command)
    options.estate(command)


def run(args: argparse.Namespace) -> int:
    wanted = options.wanted(args)
    project = options.project_if_any(args)
    with uncollected():
        found, environments = _found(args.outdir, project.estate if project else None, args.env, day(args.at))
    findings = [f for f in found if f.rule.id in wanted]
    return report(args, findings, command="check", env=environments, project=project, outdir=args.outdir)


def _found(outdir: Path, estate: Estate | None, env: str | None, today: date) -> tuple[list[Finding], str]:
    """The findings, and the environments that they are about."""
    asked = estate.named(env) if estate and env else ()
    folder = contracts_folder()
    if estate is None and folder is None:
        raise InputError(NEITHER)
    found = stacks(outdir)
    contracts = {p.stem: files.current(p) for p in sorted(folder.glob("*.json"))} if folder else {}
    if estate is None:
        return _by_contract(found, contracts, folder, env)
    prepare(outdir, estate)
    there = environments_in((s.seen for s in found), estate)
    if not asked and not there and not contracts.keys() & {s.id for s in found}:
        raise InputError(_another(outdir, found))
    environments = asked or there
    declared = {p.id: p.env.label for p in estate.placements()}
    labels = [e.label for e in environments]
    findings = judged(found, estate, [e for e in environments if e in there], today)
    only = frozenset(labels) if env and env != "all" else None
    sides = check.Sides(
        contracts=contracts,
        made=make.made(found) if contracts else {},
        declared=declared,
        only=only,
        folder=_shown(folder),
    )
    absent = set(labels) - {e.label for e in there} - {sides.environment(id_) for id_ in contracts}
    findings += check.unseen(sides, (id_ for id_, label in declared.items() if label in absent))
    if contracts:
        findings = check.merged(findings, _differences(sides, found))
    else:
        print(NO_CONTRACTS, file=sys.stderr)
    for table, waiver, left in expiring(estate, today):
        where = f"{table.name} in {waiver.environment.label}"
        print(f"warning: the waiver of {waiver.rule} on {where} ends in {left} days ({waiver.owner})", file=sys.stderr)
    return findings, ",".join(labels)


def prepare(outdir: Path, estate: Estate) -> None:
    """Refuses waivers that cannot be, and an output of other declarations."""
    check_waivers(estate)
    stamp.check(outdir, estate)


def judged(
    found: Sequence[Synthesized], estate: Estate, environments: Sequence[Environment], today: date
) -> list[Finding]:
    """What the rules say of what was synthesized of some environments."""
    declared = {p.id: p.env for p in estate.placements()}
    seen = [s.seen for s in found if s.id not in declared or declared[s.id] in environments]
    return judge(estate, seen, environments, today=today)


def _by_contract(
    found: Sequence[Synthesized], contracts: dict[str, Json], folder: Path | None, env: str | None
) -> tuple[list[Finding], str]:
    """Without an estate: everything is compared, and every stack has to have a contract."""
    sides = check.Sides(contracts=contracts, made=make.made(found), folder=_shown(folder))
    labels = sorted({label for id_ in (*contracts, *sides.made) if (label := sides.environment(id_))})
    if env not in (None, "all", *labels):
        raise InputError(f"unknown environment {env!r}: the contracts' tags know {', '.join([*labels, 'all'])}")
    narrowed = replace(sides, only=frozenset({env})) if env and env != "all" else sides
    count = counted(len(narrowed.ours & contracts.keys()), "contract")
    print(f"{NO_ESTATE}; compared: {count}", file=sys.stderr)
    return _differences(narrowed, found), env if narrowed.only and env else ",".join(labels) or "all"


def _differences(sides: check.Sides, found: Sequence[Synthesized]) -> list[Finding]:
    return [*check.compare(sides), *check.addresses(sides, found), *check.touched(sides, found)]


def _shown(folder: Path | None) -> str:
    return shown_from(folder) if folder else str(files.FOLDER)


def _another(outdir: Path, found: Sequence[Synthesized]) -> str:
    shown = ", ".join(s.id for s in found[:3]) or "no stack at all"
    return f"{outdir} holds none of the declared stacks ({shown}): is it another project's output?"
