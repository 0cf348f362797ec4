"""When an intent was set: git blame of the lines of a declaration."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import SequenceMatcher
from pathlib import Path

from holdfast.gap import Commit
from holdfast.git import git

DECLARED = ("Table", "Database", "Cache", "Broker", "Bucket", "Documents", "Registry")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """Where a table is declared, and which commit last changed each fact about it."""

    where: str  # file and line
    commits: Mapping[str, Commit] = field(default_factory=dict)

    def set_by(self, *facts: str) -> Commit | None:
        """The newest commit among these facts: from then on the intent is what it is now."""
        found = [self.commits[f] for f in facts if f in self.commits]
        return max(found, key=lambda c: c.when, default=None)


def declarations(source: Path) -> dict[str, Declaration]:
    """Every declared table and store of a package or a module, by its declared name; dated where git knows it."""
    found = {}
    for path in sorted(p for p in source.rglob("*.py") if p.is_file()) if source.is_dir() else [source]:
        tables = dict(_tables(path))
        lines = _blame(path) if tables else {}
        for name, (line, facts) in tables.items():
            commits = {f: c for f, span in facts.items() if (c := _newest(lines, span))}
            found[name] = Declaration(where=f"{path.relative_to(source.parent)}:{line}", commits=commits)
    return found


def _tables(path: Path) -> Iterator[tuple[str, tuple[int, dict[str, range]]]]:
    """(declared name, (line, lines of each fact)) of every ``Table(…)`` or other store in a module."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return  # what Python cannot read declares nothing
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", getattr(node.func, "attr", "")) not in DECLARED:
            continue
        facts = {k.arg: k for k in node.keywords if k.arg}
        value = facts["name"].value if "name" in facts else None
        name = constants.get(value.id) if isinstance(value, ast.Name) else getattr(value, "value", None)
        if isinstance(name, str):
            yield name, (node.lineno, {f: range(k.lineno, (k.end_lineno or k.lineno) + 1) for f, k in facts.items()})


def _newest(lines: Mapping[int, Commit | None], span: range) -> Commit | None:
    """The newest commit of these lines; none where one of them is not committed, or not known to git."""
    commits = [lines.get(n) for n in span]
    known = [c for c in commits if c]
    return max(known, key=lambda c: c.when) if len(known) == len(commits) else None


def _blame(path: Path) -> dict[int, Commit | None]:
    """The commit of every line of a file; nothing where there is no git or no repository."""
    committed = git(path.parent, "cat-file", "blob", f"HEAD:./{path.name}").splitlines()
    dated = _blame_head(path) if committed else {}
    lines: dict[int, Commit | None] = {}
    for old, new, size in SequenceMatcher(None, committed, _lines(path), autojunk=False).get_matching_blocks():
        lines |= {new + n + 1: dated.get(old + n + 1) for n in range(size)}
    return lines


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def _blame_head(path: Path) -> dict[int, Commit | None]:
    """Of the last commit: git would run the repository's filters over a file that is not committed."""
    shallow = git(path.parent, "rev-parse", "--is-shallow-repository").strip() == "true"
    commits: dict[str, Commit | None] = {}
    lines: dict[int, Commit | None] = {}
    sha, number = "", 0
    blame = ("--porcelain", "-w", "--no-textconv", "HEAD", "--", path.name)
    # Git ends where a list of commits to ignore is configured and missing; without the list it has dates all the same.
    told = git(path.parent, "blame", *blame) or git(path.parent, "blame", "--no-ignore-revs-file", *blame)
    for line in told.splitlines():
        word, _, rest = line.partition(" ")
        if line.startswith("\t"):
            lines[number] = commits.get(sha)
        elif len(word) == 40 and rest[:1].isdigit():
            sha, number = word, int(rest.split()[1])
        elif word == "committer-time":
            commits[sha] = Commit(sha, datetime.fromtimestamp(int(rest), UTC))
        elif word == "boundary" and shallow:
            commits[sha] = None  # the history is cut off here: the line may be older
    return lines
