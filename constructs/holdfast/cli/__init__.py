"""The `holdfast` command. Each subcommand imports what it needs when it runs, so that --help stays quick."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from holdfast.model.declaration import DeclarationError

if TYPE_CHECKING:
    from holdfast.audit.audit import Audit
    from holdfast.aws.options import Options
    from holdfast.contract.history import History
    from holdfast.estate.estate import Estate
    from holdfast.estate.finder import Project
    from holdfast.model.environment import Environment
    from holdfast.rules.base import Finding, Severity
    from holdfast.shared.account import Account, Mention
    from holdfast.unknown import Unknown

EPILOG = (
    "exit status: 0 nothing wrong; 1 a rule failed, something differs from the contract, "
    "a change weakens without an approval, or a plan is destructive; "
    "2 bad usage or input; 3 could not see enough to say"
)

LOCAL = (
    "An AWS emulator on a free port of 127.0.0.1, and every stack in it. It runs deployed functions as you, and "
    "not in a sandbox. What keeps others out is a secret per start, which every request must carry as its session "
    "token and only you can read (.holdfast/local/session-token); requests of web pages are refused."
)

EXTRAS = {
    "botocore": "aws",
    "boto3": "aws",
    "psycopg": "postgres,local",
    "ministack": "local",
}  # what a command may find missing, and the extra that brings it


def main(argv: Sequence[str] | None = None, *, now: datetime | None = None) -> int:
    """One command; what it judges by time it judges at ``now``, which is what the clock says unless given."""
    from holdfast.errors import InputError
    from holdfast.text import printable

    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()  # None: closed by the caller
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for a locale that lacks a character; stderr does so already
    args = _parser().parse_args(argv)
    args.at = now or datetime.now(UTC)
    try:
        status = int(args.run(args))
        sys.stdout.flush()
        return status
    except (DeclarationError, InputError) as error:
        print(f"holdfast: {printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130  # whatever was being done can be done again
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        print(f"holdfast: {error.name} is missing: pip install 'holdfast[{EXTRAS[error.name]}]'", file=sys.stderr)
        return 2
    except BrokenPipeError:
        _drop_output()
        return 141  # as the shell has it: nobody knows how it would have ended
    except OSError as error:
        said = f"{error.strerror or error}: {error.filename or 'the output'}"
        print(f"holdfast: {printable(said)}", file=sys.stderr)
        return 2


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w")


def _drop_output() -> None:
    """The reader (head, less) has seen enough; what is still to be written goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(text: str) -> None:
    """Prints for as long as somebody reads; the exit status tells the rest."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        _drop_output()


class _Version(argparse.Action):
    """Reads the package's metadata when it is asked for, and not before."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from holdfast.contract.stamp import release

        print(f"holdfast {release()}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="holdfast", description="Declared data stores: what they are and what protects them.", epilog=EPILOG
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="the version of this library")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    register = commands.add_parser("list", help="the register: every table, its state, owner and guards", epilog=EPILOG)
    register.add_argument("--env", default="all", help="prod, test or all (default)")
    register.add_argument("--system", help="only this system's tables")
    register.add_argument("--assumed", action="store_true", help="the facts that no source gives, with the reason")
    register.add_argument("--format", choices=("text", "json"), default="text")
    register.set_defaults(run=_list)

    check = commands.add_parser(
        "check", help="compare what was synthesized with the contract, and judge it by the rules", epilog=EPILOG
    )
    check.add_argument("outdir", nargs="?", type=Path, default=Path("cdk.out"), metavar="CDK_OUT")
    check.add_argument("--env", help="prod, test or all: only this is judged, and has to be there")
    _report_options(check)
    check.set_defaults(run=_check)

    diff = commands.add_parser("diff", help="what a change weakens, removes, replaces or adds", epilog=EPILOG)
    diff.add_argument("--against", metavar="REV", help="a commit (default: where this left the default branch)")
    diff.add_argument("--format", choices=("text", "markdown", "json", "sarif"), default="text")
    diff.add_argument("--output", type=Path, metavar="FILE", help="write it there instead of to the screen")
    diff.add_argument("--estate", metavar="MODULE:NAME", help="where SARIF finds the declarations (optional)")
    diff.set_defaults(run=_diff)

    accept = commands.add_parser("accept", help="write what was synthesized as the contract", epilog=EPILOG)
    accept.add_argument("outdir", nargs="?", type=Path, default=Path("cdk.out"), metavar="CDK_OUT")
    accept.add_argument("--against", metavar="REV", help="as `diff` has it: what the difference is shown against")
    accept.add_argument("--because", metavar="WHY", help="why what is weakened, removed or replaced may be")
    accept.add_argument("--by", metavar="WHO", help="who approves it")
    accept.add_argument("--until", metavar="DAY", help="the last day on which it may merge, such as 2026-12-31")
    accept.set_defaults(run=_accept)

    lint = commands.add_parser("lint", help="judge the declared keys, indexes and access patterns", epilog=EPILOG)
    _report_options(lint)
    lint.set_defaults(run=_lint)

    audit = commands.add_parser("audit", help="intent, deployed and live side by side", epilog=EPILOG)
    audit.add_argument("--env", required=True, help="prod, test or all")
    audit.add_argument(
        "--code", action="append", default=[], type=Path, metavar="DIR", help="also look for table names in this code"
    )
    audit.add_argument(
        "--fail-on",
        choices=("critical", "high", "medium", "low", "info"),
        default="info",
        help="exit 1 only from this severity on (default: on any failure)",
    )
    _account_options(audit)
    _local_option(audit)
    _report_options(audit)
    audit.set_defaults(run=_audit)

    fix = commands.add_parser("fix", help="turn on what is required and off, on live tables", epilog=EPILOG)
    fix.add_argument("--env", required=True, help="prod, test or all")
    fix.add_argument("--apply", action="store_true", help="make the calls; without it they are only shown")
    fix.add_argument("--only", metavar="RULES", help="only what these rules found, such as HF001,HF004")
    fix.add_argument(
        "--consumers-have-the-key",
        action="store_true",
        help="with --only HF007: I have seen to it that all who use the tables may use their new key",
    )
    _account_options(fix)
    _local_option(fix)
    fix.set_defaults(run=_fix)

    waivers = commands.add_parser("waivers", help="the rules that are waived, by whom and until when", epilog=EPILOG)
    waivers.set_defaults(run=_waivers)

    explain = commands.add_parser("explain", help="what a rule wants, why, and how to fix what it finds", epilog=EPILOG)
    explain.add_argument("rule", metavar="RULE", help="such as HF001")
    explain.set_defaults(run=_explain)

    _db_commands(commands.add_parser("db", help="PostgreSQL: migrate, check, retain, restore-check", epilog=EPILOG))

    iam = commands.add_parser("iam", help="the least-privilege policy that a command needs", epilog=EPILOG)
    iam.add_argument("command", metavar="COMMAND", help="audit or fix")
    iam.add_argument("--partition", default="aws", help="of the accounts: aws (default), aws-cn, aws-us-gov …")
    iam.set_defaults(run=_iam)

    _local_commands(
        commands.add_parser(
            "local", help="the whole estate on this machine, without AWS", description=LOCAL, epilog=EPILOG
        )
    )

    layer = commands.add_parser("layer", help="build what the functions of databases need, into build/layer")
    layer.add_argument(
        "--authorities", type=Path, metavar="FILE", help="RDS's certificates in PEM, where its region is a newer one"
    )
    layer.set_defaults(run=_layer)

    docs = commands.add_parser("docs", help="write the generated pages", epilog=EPILOG)
    docs.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is out of date")
    docs.set_defaults(run=_docs)
    _estate_option(register, check, accept, lint, audit, fix, waivers, docs)
    return parser


def _db_commands(db: argparse.ArgumentParser) -> None:
    commands = db.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, summary: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=summary, epilog=EPILOG)
        command.set_defaults(run=_db, step=name)
        return command

    def on_a_server(name: str, summary: str) -> argparse.ArgumentParser:
        command = add(name, summary)
        command.add_argument("--schema", help="a folder of schemas/ (default: each, on the embedded server)")
        command.add_argument("--dsn", help="any PostgreSQL from 14 on (default: an embedded one, kept in .holdfast/)")
        return command

    migrate = on_a_server("migrate", "apply the numbered SQL files that are not applied yet")
    migrate.add_argument("--plan", action="store_true", help="only say what would be applied")
    check = on_a_server("check", "compare the declared catalog with the live one")
    check.add_argument("--format", choices=("text", "json"), default="text")
    retain = on_a_server("retain", "create partitions ahead, archive and drop expired ones, purge expired rows")
    retain.add_argument(
        "--archive",
        metavar="WHERE",
        help="a folder or s3://bucket/prefix (default on the embedded server: .holdfast/archive)",
    )
    retain.add_argument(
        "--now",
        metavar="TIME",
        help="act as if it were this time, such as 2026-11-16T05:00Z (default: the server's clock)",
    )
    retain.add_argument("--force-now", action="store_true", help="with --dsn, --now without --plan needs it")
    retain.add_argument("--plan", action="store_true", help="only say what would be done")
    restore = add("restore-check", "read an archive back into a scratch database and compare")
    restore.add_argument("archive", metavar="ARCHIVE", help="a manifest, or a folder or s3://bucket/prefix of them")
    psql = on_a_server("psql", "open psql, or run it with what follows --")
    psql.add_argument("arguments", nargs="*", metavar="ARGUMENT")


def _local_commands(local: argparse.ArgumentParser) -> None:
    commands = local.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, summary: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=summary, epilog=EPILOG)
        command.set_defaults(run=_local, step=name)
        return command

    up = add("up", "start the emulator and deploy every stack into it with the CDK CLI")
    up.add_argument("--env", default="all", help="prod, test or all (default)")
    _estate_option(up)
    add("status", "where it listens, what is deployed there, and what is recorded only")
    add("down", "stop the emulator; its state is kept")
    add("reset", "stop the emulator and forget its state")


def _estate_option(*commands: argparse.ArgumentParser) -> None:
    for command in commands:
        command.add_argument(
            "--estate",
            metavar="MODULE:NAME",
            help="the declared stacks, such as stacks:ESTATE "
            "(default: HOLDFAST_ESTATE, else [tool.holdfast] of the project file)",
        )


def _report_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--format", choices=("text", "json", "sarif", "junit", "html"), default="text")
    command.add_argument(
        "--output", type=Path, metavar="FILE", help="write the findings there instead of to the screen"
    )
    command.add_argument("--all", action="store_true", help="also what passed or is exempt")
    command.add_argument("--select", metavar="RULES", help="only these rules, such as HF001,HF004")
    command.add_argument("--ignore", metavar="RULES", help="not these rules")


def _account_options(command: argparse.ArgumentParser) -> None:
    """Which accounts and regions a command looks at; holdfast.aws.options.Options takes them."""
    command.add_argument("--profile", action="append", default=[], help="an AWS profile; again for another account")
    command.add_argument(
        "--account", action="append", default=[], metavar="ID", help="this account and no other; `fix --apply` needs it"
    )
    command.add_argument("--role-arn", metavar="ARN", help="a role to assume, from each profile")
    command.add_argument("--region", action="append", default=[], help="again for another region")
    command.add_argument("--endpoint-url", metavar="URL", help="an emulator instead of AWS")


def _local_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--local", action="store_true", help="look at what `holdfast local` runs, never at AWS")


def _list(args: argparse.Namespace) -> int:
    from holdfast.inventory.listing import show

    estate = _project(args).estate
    print(show(estate, env=args.env, system=args.system, assumed=args.assumed, as_json=args.format == "json"))
    return 0


def _check(args: argparse.Namespace) -> int:
    from contextlib import suppress

    from holdfast.contract import check_command
    from holdfast.days import day
    from holdfast.estate.finder import NoEstateError

    wanted = _wanted(args)
    project = None
    with suppress(NoEstateError):  # contracts need none
        project = _project(args)
    estate = project.estate if project else None
    found, environments = check_command.run(args.outdir, estate, args.env, day(args.at))
    findings = [f for f in found if f.rule.id in wanted]
    return _report(args, findings, command="check", env=environments, project=project, outdir=args.outdir)


def _diff(args: argparse.Namespace) -> int:
    from holdfast.contract import approvals, document, files, states, text
    from holdfast.contract.diff import diff
    from holdfast.days import day
    from holdfast.report.places import shown_from

    folder, base = states.compared(args.against)
    before, after = states.committed(folder, base.commit), states.working(folder)
    changes = diff(before, after)
    spent = states.approvals_at(folder, base.commit)
    review = approvals.review(changes, approvals.read(folder), spent, day(args.at))
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and args.output is None
    match args.format:
        case "json":
            made = document.as_json(changes, base.says, review, {**before, **after}, shown_from(folder / files.FOLDER))
        case "markdown":
            made = text.markdown(changes, base.says, review)
        case "sarif":
            made = document.sarif(changes, review, folder, _declared(args, folder))
        case _:
            made = text.text(changes, base.says, review, colour=colour)
    _put(args, made)
    print(f"{text.summary(changes)}{text.left(review)}", file=sys.stderr)
    return 0 if review.passes else 1


def _declared(args: argparse.Namespace, folder: Path) -> dict[str, str]:
    """Where each store is declared, by its name; nothing where no estate is named."""
    from holdfast.errors import InputError
    from holdfast.estate.finder import find
    from holdfast.model.located import declarations

    try:
        project = find(args.estate)
    except InputError:
        if args.estate:
            raise
        return {}
    known, above = declarations(project.source), project.source.parent.resolve()
    inside = above.relative_to(folder).as_posix() if above.is_relative_to(folder) else ""
    return {
        place.fill(store.name): str(Path(inside) / known[store.name].where)
        for place in project.estate.placements()
        for store in (*place.tables, *place.stores)
        if store.name in known
    }


def _accept(args: argparse.Namespace) -> int:
    from contextlib import suppress

    from holdfast.contract import accept, states
    from holdfast.days import day
    from holdfast.estate.finder import NoEstateError

    ask = input if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() else None
    answers = accept.Answers(because=args.because, by=args.by, until=args.until, ask=ask)
    folder = states.nearest() or Path.cwd()
    project = None
    with suppress(NoEstateError):  # contracts need none
        project = _project(args)
    return accept.run(
        args.outdir, folder, _say, answers=answers, today=day(args.at), against=args.against, project=project
    )


def _lint(args: argparse.Namespace) -> int:
    from holdfast.days import day
    from holdfast.rules.schema import lint

    project = _project(args)
    wanted = _wanted(args)
    findings = [f for f in lint(project.estate, today=day(args.at)) if f.rule.id in wanted]
    return _report(args, findings, command="lint", env="all", project=project)


def _audit(args: argparse.Namespace) -> int:
    from holdfast.audit.code import mentions
    from holdfast.contract.history import read
    from holdfast.report.text import against, audit_summary
    from holdfast.rules.base import Severity

    project, wanted, ignored = _project(args), _wanted(args), _ignored(_ids(args.ignore))
    hint = "log in to the right one, or name it with --account if nothing is deployed there yet"
    found, accounts, environments = _look(
        args,
        project,
        lambda names: tuple(mentions(args.code, names)),
        if_empty=None if args.account or args.local else hint,
        history=read(),
    )
    findings = [f for f in found.findings if f.rule.id in wanted or (_unseen(f) and f.rule.id not in ignored)]
    print(against(found), file=sys.stderr)
    for account in accounts:
        print(f"read account {account.id} in {account.region}", file=sys.stderr)
    return _report(
        args,
        findings,
        command="audit",
        env=",".join(e.label for e in environments),
        audit=found,
        fail_on=Severity(args.fail_on),
        summary=audit_summary(findings, found.rows),
    )


def _fix(args: argparse.Namespace) -> int:
    from holdfast.audit.ages import UNREAD
    from holdfast.cli import fix as fix_command
    from holdfast.fix.plan import plan
    from holdfast.rules.former import current

    asked = _ids(args.only)  # it repairs tables: a former rule of other stores names none of them
    only = None if args.only is None else {i if i.startswith("HF5") else current(i) for i in asked}
    fix_command.check(args, only)
    project = _project(args)
    elsewhere = "log in to the right one; before its first deploy there is nothing to fix"
    hint = "deploy there first, with `holdfast local up`" if args.local else elsewhere
    found, accounts, environments = _look(args, project, lambda _: (), if_empty=hint, history=UNREAD)
    planned = plan(found.findings, project.estate, accounts, environments, only=only)
    return fix_command.run(args, only, found, planned, _options(args, environments, project.estate), _say)


def _look(
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
    from holdfast.audit.audit import audit
    from holdfast.audit.places import nothing_declared
    from holdfast.aws.reader import read_all
    from holdfast.aws.session import interruptible
    from holdfast.errors import InputError
    from holdfast.model.located import declarations
    from holdfast.rules import check_waivers

    estate, environments = project.estate, project.estate.named(args.env)
    check_waivers(estate)
    declared = {p.fill(t.name) for p in estate.placements() for t in p.tables}
    mentions = code(declared)
    places = estate.placements(environments)
    options = _options(args, environments, estate)
    with interruptible():
        accounts = read_all(options, now=args.at, names=declared, places=places, progress=_progress())
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
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


def _options(args: argparse.Namespace, environments: Sequence[Environment], estate: Estate) -> Options:
    """Where to look: the regions of the declared stacks, unless told otherwise."""
    from holdfast.aws.options import Keys, Options
    from holdfast.errors import InputError

    places = estate.placements(environments)
    declared = tuple(dict.fromkeys(p.region for p in places))
    regions = tuple(dict.fromkeys(args.region)) or declared
    if not set(regions) & set(declared):
        asked, known = ", ".join(map(repr, regions)), ", ".join(declared)
        raise InputError(f"nothing of {args.env} is declared in --region {asked}: known are {known or 'none'}")
    accounts = () if any(p.account is None for p in places) else tuple(dict.fromkeys(str(p.account) for p in places))
    if accounts and (strange := [a for a in args.account if a not in accounts]):
        raise InputError(f"{args.env} is not declared in --account {strange[0]}: known are {', '.join(accounts)}")
    endpoint, keys = args.endpoint_url, tuple[Keys, ...]()
    if args.local:
        from holdfast.local.client import ACCOUNT
        from holdfast.local.deploy import SECRET_KEY, settings
        from holdfast.local.process import FOREIGN, running

        if args.profile or args.role_arn or endpoint:
            raise InputError("--local is one place: drop --profile, --role-arn and --endpoint-url")
        emulator = running()
        if emulator is None:
            raise InputError("the emulator does not run: start it with `holdfast local up`")
        for name in [n for n in os.environ if n.upper().startswith(FOREIGN)]:
            del os.environ[name]
        os.environ |= settings(emulator, regions[0])
        endpoint = emulator.endpoint
        there = list(dict.fromkeys(p.account or ACCOUNT for p in places))
        read = [a for a in there if a in args.account] or there
        keys = tuple(Keys(access_key=a, secret_key=SECRET_KEY, token=emulator.secret.value) for a in read)
    return Options(
        profiles=tuple(args.profile),
        keys=keys,
        role_arn=args.role_arn,
        regions=regions,
        endpoint_url=endpoint,
        accounts=tuple(args.account) or accounts,
    )


def _progress() -> Callable[[int, int], None] | None:
    """A line that counts calls, on a terminal only."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        if done % 10 == 0 or done == total:
            width = 30 * done // max(total, 1)
            print(f"\r\033[K[{'#' * width:30}] {done}/{total} calls", end="", file=sys.stderr, flush=True)

    return show


def _waivers(args: argparse.Namespace) -> int:
    from holdfast.days import day
    from holdfast.rules import check_waivers
    from holdfast.text import columns

    estate, today = _project(args).estate, day(args.at)
    check_waivers(estate)
    rows = [
        [w.rule, t.name, w.environment.label, f"{w.expires}{', over' if w.expires < today else ''}", w.owner, w.reason]
        for stack in estate.stacks
        for t in (*stack.tables, *stack.stores)
        for w in t.waivers
    ]
    print(
        columns([["rule", "table", "environment", "ends", "owner", "reason"], *rows]) if rows else "No rule is waived."
    )
    return 0


def _explain(args: argparse.Namespace) -> int:
    from holdfast.inventory.pages import rule_text
    from holdfast.rules import BY_ID
    from holdfast.rules.former import note

    (rule,) = _known([args.rule.upper()])
    print(f"{told}\n\n{rule_text(BY_ID[rule])}" if (told := note(args.rule.upper())) else rule_text(BY_ID[rule]))
    return 0


def _db(args: argparse.Namespace) -> int:
    from holdfast.cli import db as commands

    return commands.run(args)


def _iam(args: argparse.Namespace) -> int:
    import json

    from holdfast.aws.calls import AUDIT
    from holdfast.errors import InputError
    from holdfast.shared.calls import policy

    if args.command not in ("audit", "fix"):
        raise InputError(f"{args.command} asks nothing of AWS, or is no command: known are audit, fix")
    needed = AUDIT
    if args.command == "fix":
        from holdfast.aws.apply import FIX

        needed = (*AUDIT, *FIX)
    print(json.dumps(policy(needed, args.partition), indent=2))
    return 0


def _local(args: argparse.Namespace) -> int:
    from holdfast.cli import local as commands

    return commands.run(args, _project(args).estate if args.step == "up" else None)


def _layer(args: argparse.Namespace) -> int:
    from holdfast.kinds.database.layer import build

    print(f"Built {build(Path(), args.authorities)}.")
    return 0


def _docs(args: argparse.Namespace) -> int:
    from holdfast.inventory.pages import write

    return write(_project(args).estate, check=args.check)


def _project(args: argparse.Namespace) -> Project:
    """The estate of the repository that the command runs in, or the one that was asked for."""
    from holdfast.estate.finder import find

    return find(args.estate)


def _wanted(args: argparse.Namespace) -> set[str]:
    """The ids of the rules that were asked for."""
    from holdfast.errors import InputError
    from holdfast.rules import BY_ID
    from holdfast.rules.former import note

    select, ignore = _ids(args.select), _ids(args.ignore)
    if args.select is not None and not select:
        raise InputError("--select names no rule: give ids, such as HF001,HF004")
    ignored = _ignored(ignore)
    for told in filter(None, map(note, (*select, *ignore))):
        print(f"note: {told}", file=sys.stderr)
    return set(_known(select) or BY_ID) - ignored


def _ignored(ids: Sequence[str]) -> set[str]:
    """The rules that are not to be told; a rule that went to the contract takes no difference from it along."""
    from holdfast.rules.former import DROPPED

    _known(ids)
    return set(_known([i for i in ids if i not in DROPPED]))


def _ids(text: str | None) -> list[str]:
    """Rule ids as they are typed: with commas between them, in any case."""
    return [i for i in (part.strip().upper() for part in (text or "").split(",")) if i]


def _unseen(finding: Finding) -> bool:
    """What keeps the selected rules from being judged is told with them: a choice of rules makes nobody see more."""
    from holdfast.verdict import Outcome

    there = finding.rule.id in ("HF201", "HF601")
    return (finding.outcome is Outcome.UNKNOWN and (there or finding.rule.id in ("HF614", "HF616"))) or (
        finding.outcome is Outcome.FAIL and there
    )


def _known(ids: Sequence[str]) -> list[str]:
    """Rules by the ids that they have today."""
    from holdfast.errors import InputError
    from holdfast.rules import BY_ID
    from holdfast.rules.former import current

    for rule in ids:
        if current(rule) not in BY_ID:
            raise InputError(f"unknown rule {rule!r}: known are {', '.join(BY_ID)}")
    return [current(rule) for rule in ids]


def _put(args: argparse.Namespace, text: str) -> None:
    """To --output, or to the screen."""
    from holdfast.errors import InputError

    if args.output:
        try:
            args.output.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{args.output} cannot be written ({error.strerror}): give another --output") from None
    elif text:
        _say(text)


def _report(
    args: argparse.Namespace,
    findings: Sequence[Finding],
    *,
    command: str,
    env: str,
    audit: Audit | None = None,
    fail_on: Severity | None = None,
    summary: str | None = None,
    project: Project | None = None,
    outdir: Path | None = None,
) -> int:
    from holdfast.report import exit_code, render
    from holdfast.report.places import Places, at_declarations, contracts_folder
    from holdfast.report.text import summary as counted
    from holdfast.rules.base import Severity

    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and args.output is None
    if audit is None:
        findings = at_declarations(findings, project)
    place = Places(outdir, contracts_folder(), project.source if project else None) if args.format == "sarif" else None
    text = render(
        args.format, findings, command=command, env=env, everything=args.all, colour=colour, audit=audit, place=place
    )
    _put(args, text)
    print(summary or counted(findings), file=sys.stderr)
    return exit_code(findings, fail_on or Severity.INFO)
