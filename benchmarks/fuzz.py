"""Whatever stands in an output folder or in a contract, every command ends soon, and never with a traceback.

A small repository (three stacks, their contracts, a commit, their output) is spoilt at random, file by file: values,
names and branches of the trees; functions that loop, grow or nest; bytes; files that are not files. Then `check`,
`diff` and `accept` run on it, in this process. Each must end with 0, 1, 2 or 3 within 5 seconds of CPU; with 2 it says
one line. What fails is kept, and its number is printed: the same seed and number make the same input again.

    python -m benchmarks.fuzz --seconds 60 --seed 1
    python -m benchmarks.fuzz --seed 1 --only 1234      (one input again)
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.cli import main as holdfast

ROOT = Path(__file__).resolve().parent.parent
STACKS = ("LeadTrackingStack-prod", "MiyabiLambda-test", "RCSubscription-test-Storage")
SECONDS, MEMORY = 5.0, 500_000_000
WAITING = 20  # seconds by the clock: for what waits and takes no CPU
FAILURES = 10  # after which it stops
COMMANDS = (
    ("check", "cdk.out"),
    ("check", "cdk.out", "--estate", "stacks:ESTATE", "--all"),
    ("check", "cdk.out", "--estate", "stacks:ESTATE", "--format", "json"),
    ("check", "cdk.out", "--format", "sarif"),
    ("check", "cdk.out", "--format", "junit"),
    ("check", "cdk.out", "--format", "html"),
    ("diff", "--against", "HEAD"),
    ("diff", "--against", "HEAD", "--format", "json"),
    ("diff", "--against", "HEAD", "--format", "markdown"),
    ("accept", "cdk.out"),
)
Json = dict[str, Any]


class TooLongError(BaseException):
    """Raised inside of a command that takes too long; nothing in it may catch this."""


@dataclass(frozen=True)
class Failure:
    number: int
    command: tuple[str, ...]
    why: str


# What is spoilt


def _nested(levels: int, name: str) -> Any:
    inner: Any = "x"
    for _ in range(levels):
        inner = {name: inner} if name else [inner]
    return inner


def _spelled(levels: int) -> Any:
    inner: Any = {"Ref": "P"}
    for _ in range(levels):
        inner = {"Fn::Sub": ["${X}" * 10, {"X": inner}]}
    return inner


NAMES = (
    *("Properties", "Type", "Condition", "DependsOn", "Metadata", "Statement", "Effect", "Principal", "Tags", "Key"),
    *("Ref", "Fn::Sub", "Fn::Join", "Fn::If", "Fn::GetAtt", "Fn::Transform", "Fn::ForEach::X", "Fn::ToJsonString"),
    *("", "\ud800", "a\nb", "\x1b[2J", "../x", "a/b", "~", "x" * 10_000, "\0", "\u202e", "0", "*", "__class__"),
    *("stack", "template", "code", "acknowledged", "nested", "version", "artifacts", "type", "properties", "name"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 35, 1.5, 10**250, "", "x", "true", "35", [], {}, [None], [{}], {"x": 1}, [[[]]]),
    *({"Ref": "AWS::NoValue"}, {"Ref": "A"}, {"Ref": {}}, {"Ref": []}, {"Fn::GetAtt": {}}, {"Fn::GetAtt": "A"}),
    *({"Fn::Sub": "${"}, {"Fn::Sub": "${" * 50_000}, {"Fn::Sub": ["${x}", []]}, {"Fn::Sub": {}}, {"Fn::Join": 1}),
    *({"Fn::If": ["C", 1, 2]}, {"Fn::If": [{}, 1]}, {"Fn::Select": ["\u00b2", ["a"]]}, {"Fn::FindInMap": ["M"] * 3}),
    *({"Fn::Transform": {"Name": "AWS::Include"}}, {"Fn::ForEach::X": []}, {"Condition": "C"}, {"Fn::And": [{}]}),
    *("\ud800", "\x1b]0;x\x07", "a\nb", "../../etc/passwd", "/dev/zero", "\0", "{{resolve:ssm:x}}", "${Token[A.1]}"),
    *('{"a": 1, "a": 2}', '{"Ref": "AWS::NoValue"}', "[" * 5_000, '{"a":' * 200 + "1" + "}" * 200, "9" * 6_000),
    *("x" * 300_000, _nested(60, "a"), _nested(99, ""), _nested(300, "a"), _nested(30, "Fn::Not"), _spelled(25)),
    *({"Statement": {"Effect": {}}}, {"Statement": [1, None]}, [{"Key": "a", "Value": "1"}] * 2, ["x"] * 5_000),
    *({"Fn::Join": ["y" * 500, ["x"] * 5_000]}, [{"Key": {}, "Value": []}], {"AWS": {"Ref": "AWS::AccountId"}}),
)
SECTIONS: Json = {
    "Conditions": {f"C{n or ''}": {"Fn::And": [{"Condition": f"C{n + 1}"}] * 10} for n in range(300)},
    "Mappings": {"M": {"M": {"M": {"Fn::FindInMap": ["M", "M", "M"]}}}},
    "Parameters": {"P": {"Type": "String", "Default": 1}},
    "Transform": ["AWS::Serverless-2016-10-31"],
    "Outputs": {"O": {"Value": {"Ref": "P"}, "Export": {"Name": {}}}},
    "Rules": [],
}


def _places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for step, part in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield (*path, step)
        if isinstance(part, dict | list):
            yield from _places(part, (*path, step))


def _spoil_tree(tree: Any, chosen: random.Random) -> Any:
    places = list(_places(tree))
    if not places:
        return chosen.choice(VALUES)
    shallow = [p for p in places if len(p) < 5]
    *path, step = chosen.choice(shallow if shallow and chosen.random() < 0.5 else places)
    target = tree
    for one in path:
        target = target[one]
    match chosen.randrange(7):
        case 0:
            del target[step]
        case 1 if isinstance(target, dict):
            target[chosen.choice(NAMES)] = target.pop(step)
        case 2 if isinstance(target, dict):
            target[chosen.choice(NAMES)] = chosen.choice(VALUES)
        case 3:
            other = tree
            for one in chosen.choice(places):
                other = other[one]
            target[step] = json.loads(json.dumps(other))
        case 4 if isinstance(target[step], list) and target[step]:
            target[step] = target[step] * chosen.choice([2, 300])
        case 5 if isinstance(tree.get("Resources"), dict):
            section = chosen.choice(list(SECTIONS))
            tree[section] = json.loads(json.dumps(SECTIONS[section]))
            some = chosen.choice(list(tree["Resources"]) or ["A"])
            tree["Resources"].setdefault(some, {})
            if isinstance(tree["Resources"][some], dict):
                tree["Resources"][some]["Condition"] = "C"
        case _:
            target[step] = chosen.choice(VALUES)
    return tree


def _spoil_bytes(content: bytes, chosen: random.Random) -> bytes:
    at = chosen.randrange(len(content) + 1)
    some = content[at : at + chosen.randrange(40)]
    made: list[Callable[[], bytes]] = [
        lambda: content[:at],
        lambda: content[:at] + some + content[at:],
        lambda: content[:at] + bytes(chosen.randrange(256) for _ in range(3)) + content[at + 3 :],
        lambda: b"<<<<<<< HEAD\n" + content[:at] + b"\n=======\n" + content[at:] + b"\n>>>>>>> x\n",
        lambda: b"\xef\xbb\xbf" + content,
        lambda: content.decode().encode("utf-16"),
        lambda: gzip.compress(content),
        lambda: content[:at].rpartition(b'"')[0] + b'NaN, "' + content[at:],
        lambda: content.replace(b"true", b"1e999", 1).replace(b"1", b"1" * 9_999, 1),
        lambda: content.replace(b"{", b'{"a": 1, "a": 2, ', 1),
        lambda: b"[" * 100_000,
        lambda: b"",
        lambda: content.replace(b"a", b"\\ud800", 3),
    ]
    return chosen.choice(made)()


def _spoil_file(path: Path, chosen: random.Random) -> None:
    """Something else than a file, under its name."""
    path.unlink()
    match chosen.randrange(6):
        case 0:
            os.mkfifo(path)
        case 1:
            path.symlink_to("/dev/zero")
        case 2:
            path.symlink_to(path.name)
        case 3:
            path.mkdir()
        case 4:
            path.symlink_to("/proc/self/mem")


def spoil(folder: Path, files: list[Path], chosen: random.Random) -> None:
    for _ in range(chosen.choice([1, 1, 1, 2, 4])):
        path = folder / chosen.choice(files)
        if not path.is_file() or path.is_symlink():
            continue
        how = chosen.random()
        if how < 0.03:
            _spoil_file(path, chosen)
        elif how < 0.15:
            path.write_bytes(_spoil_bytes(path.read_bytes(), chosen))
        else:
            with contextlib.suppress(ValueError, RecursionError):  # spoilt before
                tree = json.loads(path.read_bytes())
                path.write_text(json.dumps(_spoil_tree(tree, chosen) if isinstance(tree, dict) else {}, indent=1))


# What is run


def _run(folder: Path, command: tuple[str, ...]) -> tuple[int | None, str, float]:
    """How it ended, what went wrong, and the CPU that it took."""
    out, err = io.StringIO(), io.StringIO()
    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS * 2)
    signal.alarm(WAITING)
    code: int | None = None
    why = ""
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = holdfast(list(command))
        out.getvalue().encode()
        err.getvalue().encode()
    except TooLongError:
        why = f"did not end:\n{traceback.format_exc(limit=-12)}"
    except BaseException:
        why = traceback.format_exc(limit=-12)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    took = time.process_time() - began
    if not why and code not in (0, 1, 2, 3):
        why = f"ended with {code}"
    elif not why and code == 2 and (err.getvalue().count("holdfast: "), err.getvalue()[-1:]) != (1, "\n"):
        why = f"said more or less than one line: {err.getvalue()[:500]!r}"
    elif not why and took > SECONDS:
        why = f"took {took:.1f} s"
    return code, why, took


def _stop(*_: Any) -> None:
    raise TooLongError


def _prepare(outdir: Path, target: Path) -> list[Path]:
    """The repository to spoil, and the files of it that are read."""
    made = target / "cdk.out"
    made.mkdir(parents=True)
    (target / "snapshots").mkdir()
    manifest = json.loads((outdir / "manifest.json").read_text())
    own = {k: v for k, v in manifest["artifacts"].items() if k.removesuffix(".assets") in STACKS}
    (made / "manifest.json").write_text(json.dumps({**manifest, "artifacts": own}, indent=1))
    report = json.loads((outdir / "validation-report.json").read_text())
    (made / "validation-report.json").write_text(json.dumps(report, indent=1))
    for id_ in STACKS:
        shutil.copy(ROOT / "snapshots" / f"{id_}.json", target / "snapshots")
        for kind in ("template", "assets"):
            shutil.copy(outdir / f"{id_}.{kind}.json", made)
        for entry in json.loads((made / f"{id_}.assets.json").read_text())["files"].values():
            if (outdir / entry["source"]["path"]).is_dir():
                shutil.copytree(outdir / entry["source"]["path"], made / entry["source"]["path"], dirs_exist_ok=True)
    who = ("-c", "user.name=fuzz", "-c", "user.email=fuzz@localhost")
    for arguments in (("init", "-q", "-b", "main"), ("add", "snapshots"), (*who, "commit", "-q", "-m", "contracts")):
        subprocess.run(["git", *arguments], cwd=target, check=True, capture_output=True)
    return sorted(p.relative_to(target) for f in ("cdk.out", "snapshots") for p in (target / f).glob("*.json"))


def _synthesize(outdir: Path) -> Path:
    environment = os.environ | {"CDK_OUTDIR": str(outdir), "CDK_CONTEXT_JSON": json.dumps({"env": "all"})}
    subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=environment, check=True, capture_output=True)
    return outdir


def one(pristine: Path, work: Path, files: list[Path], seed: int, number: int) -> Iterator[tuple[Failure, int | None]]:
    """One spoilt repository, and every command on it."""
    chosen = random.Random(f"{seed}/{number}")
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(pristine, work, symlinks=True)
    side = chosen.choice(["cdk.out", "cdk.out", "snapshots"])
    spoil(work, [f for f in files if f.parts[0] == side], chosen)
    for command in (*chosen.sample(COMMANDS[:-1], 3), COMMANDS[-1]):
        code, why, _ = _run(work, command)
        yield Failure(number, command, why), code


def main() -> int:
    parser = argparse.ArgumentParser(description="Spoil output folders and contracts, and run every command on them.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one input, to see it again")
    parser.add_argument("--outdir", type=Path, help="the output of this estate; without it, it is synthesized")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "holdfast-fuzz")
    arguments = parser.parse_args()
    for name in [n for n in os.environ if n == "CI" or n.startswith("GITHUB_")]:
        del os.environ[name]  # where `accept` refuses to run
    sys.stdin = io.StringIO()
    signal.signal(signal.SIGPROF, _stop)
    signal.signal(signal.SIGALRM, _stop)
    failures: list[Failure] = []
    ended: Counter[int | None] = Counter()
    number = 0
    with tempfile.TemporaryDirectory() as scratch:
        outdir = arguments.outdir or _synthesize(Path(scratch) / "cdk.out")
        pristine, work = Path(scratch) / "pristine", Path(scratch) / "work"
        files = _prepare(outdir, pristine)
        until = time.monotonic() + arguments.seconds
        numbers = iter([arguments.only]) if arguments.only is not None else iter(range(sys.maxsize))
        for number in numbers:
            if len(failures) >= FAILURES or (arguments.only is None and time.monotonic() > until):
                break
            for result, code in one(pristine, work, files, arguments.seed, number):
                ended[code] += 1
                if result.why:
                    failures.append(result)
                    kept = arguments.keep / f"{arguments.seed}-{number}"
                    _keep(work, kept)
                    print(
                        f"--- input {number}: holdfast {' '.join(result.command)}\n{result.why}\nkept in {kept}",
                        flush=True,
                    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    by_code = ", ".join(f"{ended[c]} with {c}" for c in sorted(ended, key=str))
    print(f"seed {arguments.seed}: {number} inputs, {ended.total()} commands ended: {by_code}; {len(failures)} failed")
    print(f"at most {memory / 1e6:.0f} MB")
    return int(bool(failures) or memory > MEMORY)


def _keep(work: Path, kept: Path) -> None:
    """The small files of a failing input; pipes and links are named, not copied."""
    shutil.rmtree(kept, ignore_errors=True)
    for path in (*work.glob("cdk.out/*.json"), *work.glob("snapshots/*.json")):
        to = kept / path.relative_to(work)
        to.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and not path.is_symlink():
            shutil.copyfile(path, to)
        else:
            to.write_text(f"not a file: {os.lstat(path)}")


if __name__ == "__main__":
    sys.exit(main())
