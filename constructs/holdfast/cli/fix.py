"""`holdfast fix`: what it shows, whom a new key would cut off, what it changes, and how it ends."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from holdfast.audit.ages import UNREAD
from holdfast.audit.audit import Audit
from holdfast.audit.consumers import (
    NEVER_READ,
    Lack,
    NewKey,
    Surroundings,
    lacking,
    leaves_it_to_iam,
    policy,
    undecided,
)
from holdfast.audit.remedy import SAME_ACCOUNT
from holdfast.aws.options import Options
from holdfast.cli import accounts, options
from holdfast.cli.output import say, tell
from holdfast.errors import InputError
from holdfast.fix.plan import FIXABLE, REKEYING, Change, Plan, plan
from holdfast.rules import presence, strangers
from holdfast.rules.former import current
from holdfast.text import counted, printable
from holdfast.unknown import Unknown
from holdfast.verdict import Outcome


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--env", required=True, help="prod, test or all")
    command.add_argument("--apply", action="store_true", help="make the calls; without it they are only shown")
    command.add_argument("--only", metavar="RULES", help="only what these rules found, such as HF001,HF004")
    command.add_argument(
        "--consumers-have-the-key",
        action="store_true",
        help="with --only HF007: I have seen to it that all who use the tables may use their new key",
    )
    options.account(command)
    options.estate(command)


def run(args: argparse.Namespace) -> int:
    asked = options.ids(args.only)  # it repairs tables: a former rule of other stores names none of them
    only = None if args.only is None else {i if i.startswith("HF5") else current(i) for i in asked}
    _check(args, only)
    project = options.project(args)
    elsewhere = "log in to the right one; before its first deploy there is nothing to fix"
    hint = "deploy there first, with `holdfast local up`" if args.local else elsewhere
    found, read, environments = accounts.look(args, project, lambda _: (), if_empty=hint, history=UNREAD)
    planned = plan(found.findings, project.estate, read, environments, only=only)
    return _carried_out(args, only, found, planned, accounts.options(args, environments, project.estate))


def _check(args: argparse.Namespace, only: Collection[str] | None) -> None:
    """Refuses bad input before anything is asked of AWS."""
    if only is not None and not (only and set(only) <= FIXABLE):
        raise InputError(f"--only {args.only} is not what a call can repair: known are {', '.join(sorted(FIXABLE))}")
    if args.consumers_have_the_key and REKEYING not in (only or ()):
        raise InputError(f"--consumers-have-the-key is about --only {REKEYING}: give both, or neither")
    if args.apply and not args.account and not args.local:
        raise InputError(
            "--apply needs --account ID, the account to change: "
            "`aws sts get-caller-identity` says whose credentials these are"
        )


def _carried_out(
    args: argparse.Namespace, only: Collection[str] | None, found: Audit, planned: Plan, where: Options
) -> int:
    changes, held = planned.changes, planned.keys
    if held and only:
        told = args.consumers_have_the_key
        _consumers(held, where, policies=not told)
        if told:
            changes, held = [*changes, *held], []  # last: each takes minutes
    _show(changes, where)
    otherwise = _rest(found, planned, only)
    if held:
        tell(_held(held, args.env, named=bool(only)))
        otherwise = 1
    if not changes:
        if not held:
            tell("Nothing to fix.")
        return otherwise
    count = counted(len(changes), "call")
    if not args.apply:
        there = () if args.local or args.account else dict.fromkeys(c.account for c in changes)
        named = "".join(f" --account {id_}" for id_ in there)
        tell(f"{count}; nothing was changed: --apply{named} makes them")
        if args.local:
            tell("to make them by hand, set the variables that `holdfast local status` prints")
        return 1
    record = Path(".holdfast", f"fix-{args.at:%Y%m%dT%H%M%S%fZ}.json")
    return _apply(changes, where, record, args.env, count) or otherwise


def _show(changes: Sequence[Change], where: Options) -> None:
    profile = where.profiles[0] if len(where.profiles) == 1 else None
    for change in changes:
        command = change.command(profile=profile, endpoint_url=where.endpoint_url)
        what = f"# {change.rule} {change.table} in account {change.account}: {change.says}"
        say(f"{printable(what)}\n{printable(command)}")


def _rest(found: Audit, planned: Plan, only: Collection[str] | None) -> int:
    """Tells what no call repairs; the exit status that this alone gives."""
    for left in planned.left:
        tell(f"not changed: {left.rule} {left.table}: {left.why}")
    missing = [f for f in found.findings if f.rule is presence.ABSENT and f.outcome is Outcome.FAIL]
    for finding in missing:
        tell(f"not there: {finding.table}: {finding.detail}")
    tables = {row.table for row in found.rows}  # of other stores it repairs nothing
    unknown = [f for f in found.findings if f.outcome is Outcome.UNKNOWN and (not f.table or f.table in tables)]
    needed = {presence.ABSENT.id, strangers.UNREAD.id, *(only or FIXABLE)}
    unread = sorted({f.table or f.where for f in unknown if f.rule.id in needed})
    for name in unread:
        tell(f"not changed: {name} could not be read whole; see `holdfast audit`")
    return 1 if planned.left or missing else 3 if unread else 0


def _apply(changes: Sequence[Change], where: Options, record: Path, env: str, count: str) -> int:
    from holdfast.aws.apply import apply

    try:
        wrong = apply(changes, where, record, env=env, said=tell)
    except KeyboardInterrupt:
        tell(f"holdfast: stopped; recorded in {record}. Run it again for the rest")
        return 1
    for line in wrong:
        tell(f"holdfast: {line}")
    tell(f"{count}, {len(wrong)} failed; recorded in {record}")
    return 1 if wrong else 0


# Keys


def _held(held: Sequence[Change], env: str, *, named: bool) -> str:
    """Why calls that change a key are not made, and what has to come first."""
    count = counted(len(held), "key change")
    if named:
        return f"{count} held back: see that all who use the tables may use the key, then add --consumers-have-the-key"
    return (
        f"left out: {count} ({REKEYING}), which would cut off all who may not use the new key: "
        f"`holdfast fix --env {env} --only {REKEYING}` {SAME_ACCOUNT} says who that is"
    )


def _consumers(held: Sequence[Change], where: Options, *, policies: bool) -> None:
    """Names, for each key, those who use its tables and may not use it, and the policy that they need."""
    from holdfast.aws import consumers
    from holdfast.aws.apply import apis_for

    for (account, _), api in apis_for(held, where).items():
        here = [c for c in held if (c.account, c.region) == (account, api.region)]
        around = consumers.surroundings(api, {c.table: c.arn for c in here})
        for alias in dict.fromkeys(str(c.key) for c in here):
            tables = {c.table: c.arn for c in here if c.key == alias}
            tell(f"{alias} in account {account} would be the key of {', '.join(tables)}")
            key = consumers.new_key(api, account, alias)
            if isinstance(key, Unknown):
                tell(f"  unknown: who may use it ({key.reason})")
                continue
            found = lacking(key, tables, around)
            for line in _lines(key, tables, around, found):
                tell(f"  {line}")
            if policies:
                who = ", ".join(lack.arn for lack in found) or "all others that use the tables"
                say(f"# for {printable(who)}\n{json.dumps(policy(key), indent=2)}")


def _lines(key: NewKey, tables: Collection[str], around: Surroundings, found: Sequence[Lack]) -> Iterator[str]:
    for lack in found:
        uses = f"{lack.arn}, which uses {', '.join(lack.tables)} ({'; '.join(lack.how)})"
        if isinstance(lack.actions, Unknown):
            yield f"unknown: {uses}: {lack.actions.reason}"
        else:
            yield f"lacks {', '.join(lack.actions)}: {uses}"
    for hole in undecided(around, found):
        yield f"unknown: {hole}"
    if not found:
        yield "no principal that could be read uses them and lacks the key"
    yield f"never read: {NEVER_READ}"
    if leaves_it_to_iam(key, next(iter(tables))) is False:
        yield f"no policy helps before the key's own policy lets {key.root} use it through DynamoDB"
