"""Faults put into the modules that judge, one by one: does a test fail?

    python -m benchmarks.mutants --count 80 --seed 1          (a sample of all of them)
    python -m benchmarks.mutants --module rules/access.py     (all of one module)

Comparisons are flipped, conditions negated, constants changed, operators swapped and results dropped, in a copy of the
tree, where the tests run that have to do with the module. What survives is listed with its line: a test is missing, or
the fault changes nothing.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = Path("constructs/holdfast")
JUDGING = (
    *("rules/*.py", "policy/*.py", "shared/access_policy.py", "verdict.py", "audit/ages.py"),
    *("contract/guards.py", "contract/policies.py", "contract/approvals.py"),
    *("cfn/compare.py", "cfn/normal.py", "cfn/conditions.py"),
)
# {beginning of a module: the test files that concern it}, the quick ones first; besides those that import it
TESTS = {
    "rules/": (
        "test_rules_access",
        "test_lint",
        "test_rules_widened",
        "test_rules",
        "test_store_rules",
        "test_rules_cases",
    ),
    "policy/": ("test_policy", "test_construct", "test_rules", "test_environments"),
    "shared/": ("test_rules_access", "test_rules_widened", "test_store_rules", "test_rules"),
    "verdict": ("test_rules_cases",),
    "audit/": ("test_audit",),
    "contract/": ("test_contract", "test_diff_meaning", "test_accept", "test_contract_mutants"),
    "cfn/": ("test_cfn_facts", "test_contract", "test_rules", "test_contract_mutants"),
}
SWAPPED: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
RENAMED = {"any": "all", "all": "any", "min": "max", "max": "min"}
TEXTS = frozenset(
    {"fail", "unknown", "Unknown", "Rule", "DeclarationError", "InputError"}
)  # which say, and do not judge


@dataclass(frozen=True, slots=True)
class Fault:
    module: str  # below the library
    line: int
    start: int  # in bytes
    end: int
    was: str
    now: str

    def __str__(self) -> str:
        return f"{LIBRARY}/{self.module}:{self.line}: {' '.join(self.was.split())}  →  {' '.join(self.now.split())}"


def faults(module: str, source: str) -> Iterator[Fault]:
    """Every fault that can be put into a module."""
    raw = source.encode()
    starts = [0]
    for line in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, changed in _changes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
        yield Fault(module, node.lineno, start, end, raw[start:end].decode(), f"({ast.unparse(changed)})")


def _changes(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Expressions, and what each is replaced by."""
    silent = _silent(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left, [operator], right):
                for swapped in SWAPPED.get(type(operator), ()):
                    yield node, ast.Compare(left, [swapped()], right)  # type: ignore[list-item]
            case ast.BoolOp(operator, values):
                yield node, ast.BoolOp(SWAPPED[type(operator)][0](), values)  # type: ignore[arg-type]
            case ast.UnaryOp(ast.Not(), operand):
                yield node, operand
            case ast.IfExp(test, body, other):
                yield node, ast.IfExp(test, other, body)
            case ast.If(test=ast.Name() | ast.Call() | ast.Attribute() as test):
                yield test, ast.UnaryOp(ast.Not(), test)
            case ast.Return(ast.expr() as value) if not isinstance(value, ast.Constant):
                yield value, ast.Constant(None)
            case ast.Constant(bool() as value):
                yield node, ast.Constant(not value)
            case ast.Constant(int() as value):
                yield node, ast.Constant(value + 1)
            case ast.Constant(str() as value) if value and node not in silent:
                yield node, ast.Constant(f"{value}?")
            case ast.Call(ast.Name(name) as called) if name in RENAMED:
                yield called, ast.Name(RENAMED[name])


def _silent(tree: ast.AST) -> set[ast.AST]:
    """Texts for people: what they say is not judged here."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if isinstance(node, ast.JoinedStr | ast.Expr) or called in TEXTS:
            texts = [node] if called != "Rule" else [k.value for k in node.keywords if k.arg not in ("paths", "checks")]  # type: ignore[attr-defined]
            found |= {part for text in texts for part in ast.walk(text) if isinstance(part, ast.Constant)}
    return found


def tests_of(module: str) -> list[str]:
    """The test files that concern a module: those that are named above, and those that import it."""
    dotted = "holdfast." + module.removesuffix(".py").replace("/", ".")
    named = next((tests for start, tests in TESTS.items() if module.startswith(start)), ())
    files = {p.stem: p for p in sorted((ROOT / "tests/library").rglob("test_*.py"))}
    importing = [name for name, p in files.items() if name in named and f"{dotted} import" in p.read_text()]
    return [str(files[name].relative_to(ROOT)) for name in dict.fromkeys([*importing, *named])]


def copied(to: Path) -> Path:
    """The tree, in which a fault may be put; what is installed and built is shared."""
    to.mkdir()
    shared = ("node_modules", "build", ".venv")
    kept = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in (n for n in kept if (ROOT / n).is_file()):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, to / name)
    for name in shared:
        (to / name).symlink_to(ROOT / name)
    return to


def passes(tree: Path, files: list[str], seconds: float) -> bool:
    """Whether all tests of these files pass in a tree, in time."""
    env = {**os.environ, "PYTHONPATH": str(tree / "constructs"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", *files]
    try:
        return subprocess.run(command, cwd=tree, env=env, capture_output=True, timeout=seconds).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def survives(fault: Fault, tree: Path, seconds: float) -> bool:
    path = tree / LIBRARY / fault.module
    good = path.read_bytes()
    path.write_bytes(good[: fault.start] + fault.now.encode() + good[fault.end :])
    try:
        return passes(tree, tests_of(fault.module), seconds)
    finally:
        path.write_bytes(good)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", help="below the library, such as rules/access.py; all that judge unless given")
    parser.add_argument("--count", type=int, help="a sample of so many; all unless given")
    parser.add_argument("--tests", nargs="+", help="only these test files of the library, such as test_rules_access")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=300, help="for the tests of one fault")
    args = parser.parse_args()
    if args.tests:
        TESTS.clear()
        TESTS[""] = tuple(args.tests)
    library = ROOT / LIBRARY
    modules = (
        [args.module]
        if args.module
        else sorted(str(p.relative_to(library)) for pattern in JUDGING for p in library.glob(pattern))
    )
    every = [f for module in modules for f in faults(module, (library / module).read_text(encoding="utf-8"))]
    chosen = random.Random(args.seed).sample(every, min(args.count or len(every), len(every)))
    survivors: list[Fault] = []
    with tempfile.TemporaryDirectory() as folder:
        trees: Queue[Path] = Queue()
        for n in range(args.jobs):
            trees.put(copied(Path(folder, str(n))))

        def run(fault: Fault) -> bool:
            tree = trees.get()
            try:
                return survives(fault, tree, args.seconds)
            finally:
                trees.put(tree)

        first = trees.get()
        for files in dict.fromkeys(tuple(tests_of(f.module)) for f in chosen):
            if not passes(first, list(files), 10 * args.seconds):
                print(f"the tests fail without a fault: {' '.join(files)}")
                return 2
        trees.put(first)
        with ThreadPoolExecutor(args.jobs) as pool:
            for fault, alive in zip(chosen, pool.map(run, chosen), strict=True):
                survivors += [fault] if alive else []
                print(f"{'SURVIVED' if alive else 'killed  '} {fault}", flush=True)
    print(f"\n{len(chosen)} of {len(every)} faults: {len(chosen) - len(survivors)} killed, {len(survivors)} survived")
    for fault in survivors:
        print(f"  {fault}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
