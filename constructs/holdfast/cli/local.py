"""`holdfast local`: up, status, down and reset."""

from __future__ import annotations

import argparse
import shlex
import shutil
import time
from collections import Counter

from holdfast.cli import options
from holdfast.cli.output import tell
from holdfast.errors import InputError
from holdfast.estate.estate import Estate
from holdfast.local import deploy, process
from holdfast.local.client import ACCOUNT
from holdfast.local.gate import FILE
from holdfast.text import counted, printable

HELD = "kept in .holdfast/local"


ABOUT = (
    "An AWS emulator on a free port of 127.0.0.1, and every stack in it. It runs deployed functions as you, and "
    "not in a sandbox. What keeps others out is a secret per start, which every request must carry as its session "
    "token and only you can read (.holdfast/local/session-token); requests of web pages are refused."
)


def arguments(command: argparse.ArgumentParser) -> None:
    command.description = ABOUT
    commands = command.add_subparsers(required=True, metavar="COMMAND", parser_class=argparse.ArgumentParser)

    def add(name: str, summary: str) -> argparse.ArgumentParser:
        step = commands.add_parser(name, help=summary, epilog=options.EPILOG)
        step.set_defaults(step=name)
        return step

    up = add("up", "start the emulator and deploy every stack into it with the CDK CLI")
    up.add_argument("--env", default="all", help="prod, test or all (default)")
    options.estate(up)
    add("status", "where it listens, what is deployed there, and what is recorded only")
    add("down", "stop the emulator; its state is kept")
    add("reset", "stop the emulator and delete its state")


def run(args: argparse.Namespace) -> int:
    estate = options.project(args).estate if args.step == "up" else None
    try:
        if args.step == "status":
            return status()
        with process.alone():
            return _change(args.step, estate, getattr(args, "env", ""))
    except KeyboardInterrupt:
        raise InputError(f"interrupted: run `holdfast local {args.step}` again to finish it") from None


def _change(step: str, estate: Estate | None, env: str) -> int:
    match step:
        case "up":
            assert estate
            return up(estate, env)
        case "down":
            print(f"Stopped; its state is {HELD}." if process.stop() else "It does not run.")
        case "reset":
            process.stop()
            if process.HOME.exists():
                shutil.rmtree(process.HOME)
            print("Emptied: no stack, no table, no state is left.")
    return 0


def up(estate: Estate, env: str) -> int:
    places = estate.placements(estate.named(env))
    began = time.monotonic()
    emulator = process.start()
    tell(f"The emulator answers on {emulator.endpoint}.")
    tell(f"Synthesizing {len(places)} stacks …")
    outdir = deploy.synthesize(emulator, env)
    if made := deploy.bootstrap(emulator, outdir):
        tell(f"Bootstrapped {', '.join(made)}.")
    there = {(s["account"], s["region"], s["name"]) for s in process.contents(emulator)["stacks"]}
    if new := [p.name for p in places if p.by_import and (p.account or ACCOUNT, p.region, p.name) not in there]:
        tell(f"{' and '.join(new)}: tables that exist are imported, which changes nothing about them; others are made.")
    tell("Deploying with the CDK CLI …")
    deploy.deploy(emulator, outdir, tell)
    process.ask(emulator, "/_holdfast/save")
    tell(f"All deployed in {time.monotonic() - began:.0f} s, {HELD}.")
    print()
    show_recorded(emulator)
    show_settings(emulator)
    return 0


def status() -> int:
    emulator = process.running()
    if emulator is None:
        print("It does not run: `holdfast local up` starts it.")
        return 0
    print(f"Running on {emulator.endpoint}, process {emulator.pid}, {HELD}.")
    show_stacks(emulator)
    show_recorded(emulator)
    show_settings(emulator)
    return 0


def show_stacks(emulator: process.Running) -> None:
    found = process.contents(emulator)
    tables = Counter((table["account"], table["region"]) for table in found["tables"])
    for place, names in sorted(_by_place(found["stacks"]).items()):
        print(f"\n{deploy.place(*place)}: {counted(len(names), 'stack')}, {counted(tables[place], 'table')}")
        for name, state in sorted(names):
            print(f"  {printable(name)}{'' if state.endswith('E_COMPLETE') else f'  {state}'}")
    print()


def show_recorded(emulator: process.Running) -> None:
    """What stands behind nothing, by type."""
    recorded = Counter(resource["type"] for resource in process.contents(emulator)["recorded"])
    if recorded:
        print("Recorded only (deployed with their properties, but nothing stands behind them):")
        for kind, count in sorted(recorded.items()):
            print(f"  {count:>3} {kind}")
    else:
        print("Every deployed resource is emulated; none is recorded only.")


def show_settings(emulator: process.Running) -> None:
    print("\nTo use it by hand (boto3, aws, cdk):")
    settings = {name: shlex.quote(value) for name, value in deploy.settings(emulator, deploy.REGION).items()}
    secret = shlex.quote(str((process.HOME / FILE).resolve()))
    settings["AWS_SESSION_TOKEN"] = f'"$(cat {secret})"'  # the secret itself stays out of terminals and logs
    for name, value in settings.items():
        print(f"  export {name}={value}")
    others = sorted({stack["account"] for stack in process.contents(emulator)["stacks"]} - {ACCOUNT})
    if others:
        print(f"In another account, AWS_ACCESS_KEY_ID is its id: {', '.join(others)}")


def _by_place(stacks: list[dict[str, str]]) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """By account and region."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for stack in stacks:
        if stack["name"] != "CDKToolkit":
            found.setdefault((stack["account"], stack["region"]), []).append((stack["name"], stack["status"]))
    return found
