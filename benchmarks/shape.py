"""How the code is cut: sizes, levels, and how many places one table, kind, rule or environment touches.

python -m benchmarks.shape [--against REV]
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = Path("constructs", "holdfast")
PREFIX = f"{LIBRARY.as_posix()}/"
LONG = 50  # lines of a function from which on it counts as long
KIND = "Broker"  # which stands for all kinds: most of what the others have, it has

# What a module may import: what stands in its own folder, or below. The public package may be used by edges only.
LEVELS = {
    **dict.fromkeys(("errors", "unknown", "verdict", "days", "text", "files", "garbage", "threads"), 0),
    "terminal": 1,
    "model": 1,
    "cfn": 2,
    "kinds/*/declaration": 2,
    "kinds/*/access": 2,
    "kinds/*/extra": 2,
    "policy": 3,
    "estate": 4,
    "shared": 5,
    "kinds": 6,
    "rules": 7,
    "contract": 8,
    "audit": 9,
    "fix": 10,
    "__init__": 11,
    **dict.fromkeys(("aws", "cdk", "report", "inventory", "local", "postgres", "live", "functions"), 12),
    "cli": 13,
}
# Folders that count as one: the database functions carry these and nothing else.
TOGETHER = {"live": "postgres", "functions": "postgres"}


@dataclass(frozen=True, slots=True, order=True)
class Upward:
    """An import of what is above, or beside in another folder."""

    importer: str
    imported: str
    line: int

    @property
    def folders(self) -> tuple[str, str]:
        return _folder(self.importer), _folder(self.imported)

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def _folder(module: str) -> str:
    return module.split("/")[0]


def level(module: str) -> int | None:
    """Of a module by its path below the library; None where the path is not one of this layout."""
    folder, *_, name = f"{module}/{module}".split("/")
    if folder == "kinds" and module.count("/") == 2 and f"kinds/*/{name}" in LEVELS:
        return LEVELS[f"kinds/*/{name}"]
    return LEVELS.get(folder)


def modules(tree: Path) -> dict[str, Path]:
    """The modules of the library by path, packages without their ``__init__``."""
    library = tree / LIBRARY
    found = {p.relative_to(library).with_suffix("").as_posix(): p for p in sorted(library.rglob("*.py"))}
    return {name.removesuffix("/__init__"): path for name, path in found.items()}


def unplaced(tree: Path) -> list[str]:
    """Modules whose folder has no level."""
    return [module for module in modules(tree) if level(module) is None]


def upward(tree: Path) -> list[Upward]:
    """Every import, also in a function, that is not of a lower level or of the same level and folder."""
    known = modules(tree)
    found = {Upward(m, to, line) for m, path in known.items() for to, line in _imports(path, known)}
    return sorted(i for i in found if not _allowed(i))


def _imports(path: Path, known: dict[str, Path]) -> Iterator[tuple[str, int]]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "holdfast":
            package = "/".join(node.module.split(".")[1:])
            for alias in node.names:
                module = f"{package}/{alias.name}".removeprefix("/")
                yield (module if module in known else package or "__init__"), node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "holdfast":
                    yield "/".join(alias.name.split(".")[1:]) or "__init__", node.lineno


def _allowed(i: Upward) -> bool:
    here, there = level(i.importer), level(i.imported)
    if here is None or there is None or here > there:
        return True
    one, other = (TOGETHER.get(folder, folder) for folder in i.folders)
    return here == there and (one == other or here == 0)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes(), path)


@dataclass(frozen=True, slots=True, order=True)
class Function:
    lines: int
    where: str

    def __str__(self) -> str:
        return f"{self.lines} lines, {self.where}"


def functions(tree: Path, *folders: str) -> list[Function]:
    """Every function below ``folders``, the longest first."""
    found = [
        Function(
            node.end_lineno - node.lineno + 1,
            f"{node.name} in {path.relative_to(tree).as_posix().removeprefix(PREFIX)}:{node.lineno}",
        )
        for path in python(tree, *folders)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    ]
    return sorted(found, reverse=True)


def python(tree: Path, *folders: str) -> list[Path]:
    return [p for folder in folders for p in sorted((tree / folder).rglob("*.py"))]


def lines(paths: Sequence[Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in paths)


def naming(tree: Path, pattern: str, *folders: str) -> list[Path]:
    """Files of Python below ``folders`` with the pattern in them."""
    return [p for p in python(tree, *folders) if re.search(pattern, p.read_text(encoding="utf-8"))]


def same_names(tree: Path) -> Counter[str]:
    """Names that several files of the library have, without those that are the same in each kind on purpose."""
    counted = Counter(
        p.name
        for m, p in modules(tree).items()
        if p.name != "__init__.py" and not (m.startswith(("kinds/", "shared/")) and m.count("/") > 1)
    )
    return Counter({name: n for name, n in counted.items() if n > 1})


def ids_elsewhere(tree: Path) -> int:
    """Lines that hold a rule's id as a string, outside of rules/, comments and docstrings not counted."""
    return sum(
        bool(re.search(r"""["'(]HF\d{3}["')]""", line))
        for path in python(tree, LIBRARY.as_posix())
        if "rules" not in path.relative_to(tree / LIBRARY).parts
        for line in path.read_text(encoding="utf-8").splitlines()
    )


def per_rule(tree: Path, *folders: str) -> str:
    """In how many files the id of a rule stands: the mean, and the most."""
    ids = Counter(
        id_ for path in python(tree, *folders) for id_ in set(re.findall(r"HF\d{3}", path.read_text(encoding="utf-8")))
    )
    return f"{sum(ids.values()) / len(ids):.1f}, at most {max(ids.values())}" if ids else "none"


def recipe(tree: Path, heading: str) -> str:
    """How many files the diffs below a heading of CONTRIBUTING.md change."""
    text = (tree / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    changed = set(re.findall(r"^\+\+\+ b/(\S+)", section[1], re.MULTILINE)) if section else set()
    return str(len(changed)) if changed else "no diff"


def table(tree: Path) -> dict[str, str]:
    """What is counted of a tree, by what it is called."""
    counted = {f"Python: {f}": _size(python(tree, f)) for f in ("constructs", "tests", "stacks", "benchmarks")}
    everything = [p for p in tree.rglob("*") if p.is_file() and p.relative_to(tree).parts[0] != "snapshots"]
    ours, every = functions(tree, "constructs"), functions(tree, "constructs", "tests", "stacks", "benchmarks")
    ran = one_table(tree)
    aimed = not unplaced(tree)
    named = naming(tree, rf"\b{KIND}s?\b", LIBRARY.as_posix())
    return counted | {
        "the whole tree, snapshots apart": f"{lines(everything):,} lines",
        "one table, declaration to fix": f"{ran['functions']} functions in {ran['modules']} modules",
        "  of these below aws, cdk, cli, report": f"{ran['core functions']} functions in {ran['core modules']} modules",
        "rules; without a check of their own": f"{ran['rules']}; {ran['unchecked']}",
        "imports that point upwards": str(len(upward(tree))) if aimed else "no levels",
        f"files of the library that name {KIND}": f"{len(named)}, {_outside(named)} outside its folder",
        f"files of tests that name {KIND}": str(len(naming(tree, rf"\b{KIND}s?\b", "tests"))),
        "files that name a rule: library": per_rule(tree, "constructs"),
        "files that name a rule: tests": per_rule(tree, "tests"),
        "lines with a rule's id, outside rules/": str(ids_elsewhere(tree)),
        "files in the recipe: a table": recipe(tree, r"Add a table[^\n]*"),
        "files in the recipe: a rule": recipe(tree, "Add a rule"),
        "files in the recipe: a kind": recipe(tree, "Add a kind of store"),
        "files in the recipe: an environment": recipe(tree, "Add an environment"),
        "files of tests that name PROD or TEST": str(len(naming(tree, r"\b(PROD|TEST)\b", "tests"))),
        "longest function of the library": str(ours[0]),
        "longest function": str(every[0]),
        f"functions over {LONG} lines; library": f"{_long(every)}; {_long(ours)}",
        "names that several files have": str(len(same_names(tree))),
    }


def _size(paths: Sequence[Path]) -> str:
    return f"{len(paths)} modules, {lines(paths):,} lines"


def _outside(paths: Sequence[Path]) -> int:
    return sum(f"kinds/{KIND.lower()}/" not in p.as_posix() for p in paths)


def _long(found: Sequence[Function]) -> int:
    return sum(f.lines > LONG for f in found)


def one_table(tree: Path) -> dict[str, int]:
    """What one table passes: runs in a process of its own, which imports that tree's code and no other."""
    sys.path[:0] = [str(ROOT / "tests")]
    import emulator

    aws = emulator.fresh_account()
    line = [sys.executable, str(ROOT / "benchmarks" / "one_table.py"), str(tree)]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "HOLDFAST_"))} | aws.environment()
    with tempfile.TemporaryFile("w+") as log:
        done = subprocess.Popen(
            line, cwd=tree, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
        assert done.stdout
        assert done.stdin
        with done:
            outdir = Path(done.stdout.readline().strip())  # it waits until this is deployed
            if outdir.name:
                aws.deploy_assembly(outdir)
            done.stdin.close()
            said = done.stdout.read()
        if done.returncode:
            log.seek(0)
            raise SystemExit(f"one table could not be followed through {tree}:\n{log.read()}")
    counted: dict[str, int] = json.loads(said.splitlines()[-1])
    return counted


@contextmanager
def at(revision: str) -> Iterator[Path]:
    """The files of a revision."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True, check=True)
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder).resolve()


@contextmanager
def now() -> Iterator[Path]:
    """The files as they are here, committed or not."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(None, names):
            if (ROOT / name).is_file():
                target = Path(folder, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes((ROOT / name).read_bytes())
        yield Path(folder).resolve()


def main() -> None:
    parser = argparse.ArgumentParser(description="how the code is cut")
    parser.add_argument("--against", metavar="REV", help="a revision to put beside it")
    args = parser.parse_args()
    with ExitStack() as stack:
        sides = {args.against: table(stack.enter_context(at(args.against)))} if args.against else {}
        sides["now"] = table(stack.enter_context(now()))
    what = max(map(len, sides["now"]))
    wide = {name: max(len(name), *map(len, side.values())) for name, side in sides.items()}
    print("  ".join(["".ljust(what), *(name.ljust(w) for name, w in wide.items())]).rstrip())
    for row in sides["now"]:
        print("  ".join([row.ljust(what), *(sides[name][row].ljust(w) for name, w in wide.items())]).rstrip())


if __name__ == "__main__":
    main()
