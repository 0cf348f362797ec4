"""Where findings point in the repository: at the line of a declaration, else at the line of the contract."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.rules.base import Finding
from holdfast.verdict import Outcome

if TYPE_CHECKING:
    from holdfast.estate.finder import Project

Place = Callable[[Finding], tuple[str, int]]
TEMPLATE = ".template.json"
KEY = re.compile(r'( *)"([^"]+)": ')


def repository(start: Path) -> Path:
    """The root of the repository that a folder is in; outside of any, the folder itself."""
    return next((f for f in (start, *start.parents) if (f / ".git").exists()), start)


def shown_from(path: Path) -> str:
    """A path as reports name it: from the root of the repository of the working folder, where it is inside."""
    path, root = path.resolve(), repository(Path.cwd().resolve())
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def contracts_folder(start: Path | None = None) -> Path | None:
    """The nearest one upwards that holds contracts, up to the root of the repository."""
    from holdfast.contract import files, states

    folder = states.nearest(start)
    return folder / files.FOLDER if folder else None


def at_declarations(findings: Iterable[Finding], project: Project | None) -> list[Finding]:
    """``findings``; those that failed or are unknown with the line that declares their table."""
    findings = list(findings)
    if project is None or not any(map(_actionable, findings)):
        return findings
    from holdfast.model.located import declarations

    source = project.source.parent
    lines = {name: shown_from(source / d.where) for name, d in declarations(project.source).items()}
    names: dict[tuple[str | None, str], str] = {(None, name): name for name in lines}  # lint speaks of declared names
    names |= {
        (p.env.label, p.fill(t.name)): t.name for p in project.estate.placements() for t in (*p.tables, *p.stores)
    }
    return [
        replace(f, declared=lines.get(names.get((f.environment, f.table or ""), ""))) if _actionable(f) else f
        for f in findings
    ]


def _actionable(f: Finding) -> bool:
    return f.table is not None and f.outcome in (Outcome.FAIL, Outcome.UNKNOWN)


@dataclass(frozen=True)
class Places:
    """``outdir`` is where templates lie, ``contracts`` where contracts do, ``source`` where the estate is declared."""

    outdir: Path | None = None
    contracts: Path | None = None
    source: Path | None = None
    _lines: dict[Path, dict[str, int]] = field(default_factory=dict)

    def __call__(self, f: Finding) -> tuple[str, int]:
        if f.declared:
            file, _, line = f.declared.rpartition(":")
            return file, int(line)
        name, _, logical_id = f.where.partition("#")
        for path in self._candidates(name):
            if path.is_file():
                return shown_from(path), self._line(path, logical_id)
        return name, 1

    def _candidates(self, name: str) -> list[Path]:
        file = Path(name).name
        found = []
        if self.contracts:
            found += [self.contracts / file, self.contracts / f"{file.removesuffix(TEMPLATE)}.json"]
        if self.outdir:
            found.append(self.outdir / name)
        if self.source:
            found.append(self.source / "__init__.py" if self.source.is_dir() else self.source)
        return found

    def _line(self, path: Path, logical_id: str) -> int:
        if path not in self._lines:
            self._lines[path] = _lines(path.read_text(encoding="utf-8", errors="replace"))
        return self._lines[path].get(logical_id, 1)


def _lines(text: str) -> dict[str, int]:
    """The line of each key of a JSON file; of several, the one that is least indented, and of those the last."""
    found: dict[str, tuple[int, int]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if (key := KEY.match(line)) and len(key[1]) <= found.get(key[2], (len(line), 0))[0]:
            found[key[2]] = (len(key[1]), number)
    return {name: number for name, (_, number) in found.items()}
