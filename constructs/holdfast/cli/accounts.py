"""What `audit` and `fix` read: the accounts and regions that were asked for."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from holdfast.audit.audit import Audit, audit
from holdfast.audit.places import nothing_declared
from holdfast.aws.options import Keys, Options
from holdfast.errors import InputError
from holdfast.model.located import declarations
from holdfast.rules import check_waivers
from holdfast.shared.account import Account, Mention
from holdfast.terminal import progress

if TYPE_CHECKING:
    from holdfast.contract.history import History
    from holdfast.estate.estate import Estate
    from holdfast.estate.finder import Project
    from holdfast.estate.placement import Placed
    from holdfast.model.environment import Environment
    from holdfast.unknown import Unknown

CALLS_SHOWN = 10  # at a time


def look(
    args: argparse.Namespace,
    project: Project,
    code: Callable[[set[str]], tuple[Mention, ...]],
    *,
    if_empty: str | None,
    history: History | Unknown,
) -> tuple[Audit, list[Account], tuple[Environment, ...]]:
    """Reads the accounts that were asked for and judges them. Nothing is changed.

    ``if_empty`` is what to do about an account in which nothing that is declared exists; None: it is judged, too.
    ``history`` is that of the contracts, by which gaps are dated.
    """
    from holdfast.aws.reader import read_all
    from holdfast.aws.session import interruptible

    estate, environments = project.estate, project.estate.named(args.env)
    check_waivers(estate)
    declared = {p.fill(t.name) for p in estate.placements() for t in p.tables}
    mentions = code(declared)
    places = estate.placements(environments)
    where = options(args, environments, estate)
    with interruptible(), progress() as show:

        def count(done: int, total: int) -> None:
            if done % CALLS_SHOWN == 0 or done == total:
                show(f"{done}/{total} calls")

        accounts = read_all(where, now=args.at, names=declared, places=places, progress=count)
    if if_empty and (strange := nothing_declared(places, accounts)):
        raise InputError(f"nothing that is declared for {args.env} exists in account {strange[0]}: {if_empty}")
    found = audit(
        estate,
        accounts,
        environments,
        now=args.at,
        declared=declarations(project.source),
        mentions=mentions,
        history=history,
    )
    return found, accounts, environments


def options(args: argparse.Namespace, environments: Sequence[Environment], estate: Estate) -> Options:
    """Where to look: the regions of the declared stacks, unless told otherwise."""
    places = estate.placements(environments)
    declared = tuple(dict.fromkeys(p.region for p in places))
    regions = tuple(dict.fromkeys(args.region)) or declared
    if not set(regions) & set(declared):
        asked, known = ", ".join(map(repr, regions)), ", ".join(declared)
        raise InputError(f"nothing of {args.env} is declared in --region {asked}: known are {known or 'none'}")
    accounts = () if any(p.account is None for p in places) else tuple(dict.fromkeys(str(p.account) for p in places))
    if accounts and (strange := [a for a in args.account if a not in accounts]):
        raise InputError(f"{args.env} is not declared in --account {strange[0]}: known are {', '.join(accounts)}")
    endpoint, keys = _emulator(args, places, regions[0]) if args.local else (args.endpoint_url, ())
    return Options(
        profiles=tuple(args.profile),
        keys=keys,
        role_arn=args.role_arn,
        regions=regions,
        endpoint_url=endpoint,
        accounts=tuple(args.account) or accounts,
    )


def _emulator(args: argparse.Namespace, places: Sequence[Placed], region: str) -> tuple[str, tuple[Keys, ...]]:
    """The endpoint and the keys of what `holdfast local` runs; the environment leads there, and nowhere else."""
    from holdfast.local.client import ACCOUNT
    from holdfast.local.deploy import SECRET_KEY, settings
    from holdfast.local.process import FOREIGN, needed

    if args.profile or args.role_arn or args.endpoint_url:
        raise InputError("--local is one place: drop --profile, --role-arn and --endpoint-url")
    emulator = needed()
    for name in [n for n in os.environ if n.upper().startswith(FOREIGN)]:
        del os.environ[name]
    os.environ |= settings(emulator, region)
    there = list(dict.fromkeys(p.account or ACCOUNT for p in places))
    read = [a for a in there if a in args.account] or there
    return emulator.endpoint, tuple(
        Keys(access_key=a, secret_key=SECRET_KEY, token=emulator.secret.value) for a in read
    )
