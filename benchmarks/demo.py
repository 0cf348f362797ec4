"""The documented incident on this machine: deployed, drifted, found, fixed. What `make demo` runs."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from holdfast.contract import files
from stacks import incident

HERE = Path(".holdfast", "demo")
STORY = HERE / "repository"


def main() -> int:
    began = time.monotonic()
    try:
        tell(datetime.now(UTC))
    except KeyboardInterrupt:
        print("\nInterrupted: run `make demo` again, it starts anew.", file=sys.stderr)
        return 130
    say(f"\nDone in {time.monotonic() - began:.0f} s. All reports are in {HERE}. The emulator still runs:")
    say("`holdfast local status` says what is in it, `holdfast local down` stops it.")
    return 0


def tell(now: datetime) -> None:
    HERE.mkdir(parents=True, exist_ok=True)
    heading("1. Everything is deployed to this machine")
    say("The real CDK CLI deploys every stack, for prod and test, to an AWS emulator on 127.0.0.1.")
    say("No AWS account is needed, and none can be reached.\n")
    holdfast("local reset")
    holdfast("local up", to=HERE / "1-local.txt")
    say(f"What is only recorded there, and how to use it by hand, is in {HERE / '1-local.txt'}.\n")

    heading("2. The audit: what the code says, what was deployed, what is live")
    say("Just deployed, all three are one. What it calls low are tables that wait for their archive.\n")
    holdfast(f"audit --local --env prod --fail-on high --output {HERE / '2-deployed.txt'}", clean=True)

    heading("3. Back to the day of the incident")
    run("python -m stacks.incident")
    remember(now)

    heading("4. The audit of that day")
    say("HF001 is deletion protection. The code asked for it; here is who has it not, since when, and why.\n")
    holdfast("audit --local --env prod --select HF001", cwd=STORY)
    say("And all that it found, as a page for a browser:\n")
    holdfast(f"audit --local --env prod --format html --output {HERE / '4-incident.html'}", cwd=STORY)

    heading("5. The fix: what is required and off is switched on")
    say("First only the calls, and only those of HF001. Nothing is changed without --apply.\n")
    holdfast("fix --local --env prod --only HF001", cwd=STORY)
    say("Now all of them, one by one. Each is read back, and the record says what was before and after.\n")
    holdfast("fix --local --env prod --apply", to=HERE / "5-calls.txt", cwd=STORY)

    heading("6. The deploy that was missing")
    say("A fix out of band is not the end: the templates must say it, too. The stacks of this account were made")
    say("from this code, so a deploy works; it also imports the tables that were in no stack, which believes the")
    say("template and changes nothing about them. Where a deploy would fail, the audit says so instead.\n")
    holdfast("local up --env prod", to=HERE / "6-local.txt")
    say("With their stack came the key that they lack. A new key cuts off all who may not use it, so fix changes")
    say("keys only when they are asked for by name, and says first who uses the tables and what they need.\n")
    holdfast("fix --local --env prod --only HF007", to=HERE / "6-policy.txt", cwd=STORY)
    say("The roles that it could not judge are the stacks' own, and none of them uses these tables.\n")
    holdfast("fix --local --env prod --only HF007 --consumers-have-the-key --apply", to=HERE / "6-calls.txt", cwd=STORY)

    heading("7. The audit again")
    holdfast(f"audit --local --env prod --fail-on high --output {HERE / '7-repaired.txt'}", cwd=STORY, clean=True)
    say("No gap, and nothing critical or high. What is left is for people: tables to archive, indexes that")
    say(f"nothing fills, functions that name tables which do not exist ({HERE / '7-repaired.txt'}).")


def remember(now: datetime) -> None:
    """The repository of that day: the contracts as they were deployed 78 days before ``now``, as a commit of 52 days
    before asked for them, and as they are now."""
    shutil.rmtree(STORY, ignore_errors=True)
    shutil.copytree("stacks", STORY / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree("snapshots", STORY / "snapshots")
    (STORY / "holdfast.toml").write_text('[tool.holdfast]\nestate = "stacks:ESTATE"\n')
    (STORY / ".holdfast").symlink_to(Path("..", ".."))
    if shutil.which("git") is None:
        return
    contracts = {path.stem: json.loads(path.read_text()) for path in sorted((STORY / "snapshots").glob("*.json"))}
    git("init", "-q", "-b", "main")
    for message, when, made in incident.commits(contracts, now):
        for id_, contract in made.items():
            (STORY / "snapshots" / f"{id_}.json").write_text(files.text(contract))
        commit(message, when)
    say(f"The code of that day is stacks/ as it is now ({STORY}). Deletion protection and recovery were asked for in")
    say("a commit of 52 days ago, and the stack was not deployed again. Keys and tags are asked for since today.\n")


def commit(message: str, when: datetime) -> None:
    git("add", "stacks", "snapshots", when=when)
    git("commit", "-q", "-m", message, when=when)


def git(*arguments: str, when: datetime | None = None) -> None:
    dates = {f"GIT_{role}_DATE": when.isoformat() for role in ("AUTHOR", "COMMITTER") if when}
    who = {f"GIT_{role}_{what}": "demo" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env |= {**who, **dates, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *arguments], cwd=STORY, env=env, check=True)


def heading(text: str) -> None:
    bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    say(f"\033[1m== {text}\033[0m\n" if bold else f"== {text}\n")


def say(text: str) -> None:
    print(text, flush=True)


def holdfast(line: str, *, to: Path | None = None, cwd: Path = Path(), clean: bool = False) -> None:
    run(f"holdfast {line}", to=to, cwd=cwd, clean=clean)


def run(line: str, *, to: Path | None = None, cwd: Path = Path(), clean: bool = False) -> None:
    """One command, shown as it would be typed; the demo ends where it fails, or finds what must not be there."""
    say(f"$ {line}{f' > {to}' if to else ''}")
    output = to.open("w") if to else None
    try:
        done = subprocess.run(command(line), cwd=cwd, env=environment(), stdout=output, check=False)
    finally:
        if output:
            output.close()
    if line.startswith("holdfast audit"):
        say(f"(exit status {done.returncode})")
    if done.returncode not in ((0,) if clean else (0, 1)):  # 1 is an audit that found something
        sys.exit(done.returncode)
    say("")


def command(line: str) -> list[str]:
    program, *arguments = shlex.split(line)
    return [sys.executable, *(["-m", "holdfast.cli"] if program == "holdfast" else []), *arguments]


def environment() -> dict[str, str]:
    """This checkout's Holdfast, whatever is installed."""
    found = (str(Path("constructs").resolve()), os.environ.get("PYTHONPATH", ""))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in found if p)}


if __name__ == "__main__":
    sys.exit(main())
