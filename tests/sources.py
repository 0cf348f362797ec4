"""Citations: what the estate takes from which lines of its documents, and whether it stands there.

`make sources DIR=folder` reads the documents, checks every citation against them, writes the table that
tests/estate/test_sources.py compares with the declarations, and lists the lines that nothing is taken from and that
docs/sources.md does not explain.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from support import ROOT, Json

from holdfast.estate.provenance import Stated, every_fact
from holdfast.model.provenance import DOCUMENTED, spans
from stacks import ESTATE

FILE = ROOT / "tests" / "estate" / "citations.json"
PAGE = ROOT / "docs" / "sources.md"
# How the documents write what an environment fills in, and what it is called there.
PLACEHOLDERS = {
    "{stage}": ("prod", "test"),
    "${environment}": ("production",),
    "${var.environment}": ("production", "test"),
}


def facts() -> Iterator[Stated]:
    return (s for p in ESTATE.placements() for s in every_fact(p))


def citations() -> dict[str, dict[str, list[str]]]:
    """{document: {lines: what has to stand there}} of every fact that gives lines."""
    found: dict[str, dict[tuple[int, ...], set[str]]] = {}
    for stated in facts():
        origin = stated.origin
        if origin.document and origin.lines:
            names = found.setdefault(origin.document, {}).setdefault(origin.lines, set())
            if origin.kind == DOCUMENTED:
                names.update(name.rpartition("Data.")[2] for name in stated.names)
    return {d: {spans(n): sorted(found[d][n]) for n in sorted(found[d])} for d in sorted(found)}


def explained() -> dict[str, list[tuple[str, str, str]]]:
    """{document: [(lines, what they say, what is here instead)]} of docs/sources.md."""
    _, *sections = PAGE.read_text(encoding="utf-8").split("\n## ")
    row = re.compile(r"^\| (\d[\d, -]*) \| (.+) \| (.+) \|$", re.MULTILINE)
    return {section.partition("\n")[0]: row.findall(section) for section in sections}


def numbers(written: str) -> Iterator[int]:
    """The lines of 39, 44-54."""
    for run in written.split(", "):
        first, _, last = run.partition("-")
        yield from range(int(first), int(last or first) + 1)


def missing(text: Mapping[int, str], written: str, names: Iterable[str]) -> list[str]:
    """The names that do not stand in those lines, and the lines that do not exist or hold nothing."""
    wanted = list(numbers(written))
    lines = [f"line {n}" for n in (wanted[0], wanted[-1]) if not text.get(n, "").strip()]
    passage = plain("\n".join(text.get(n, "") for n in wanted))
    variants = [passage]
    for placeholder, values in PLACEHOLDERS.items():
        variants += [passage.replace(plain(placeholder), value) for value in values]
    return lines + [name for name in names if not any(plain(name) in variant for variant in variants)]


def plain(text: str) -> str:
    """Without what the documents write differently: spaces, capitals, thousands, and underscores lost in a copy."""
    return re.sub(r"[\s,_]", "", text).lower()


def checked(folder: Path) -> tuple[Json, list[str]]:
    """The table of citations as the documents bear it out, and what they do not."""
    table: Json = {}
    wrong: list[str] = []
    for document, cited in citations().items():
        path = folder / document
        if not path.is_file():
            wrong.append(f"{document}: not in {folder}")
            continue
        data = path.read_bytes()
        text = dict(enumerate(data.decode().splitlines(), start=1))
        for written, names in cited.items():
            wrong += [f"{document}:{written}: no {name}" for name in missing(text, written, names)]
        for written, _, _ in explained().get(document, ()):
            wrong += [f"{document}:{written}: no {name}, see {PAGE.name}" for name in missing(text, written, ())]
        table[document] = {"sha256": hashlib.sha256(data).hexdigest(), "cited": cited}
    return table, wrong


def uncited(folder: Path, table: Json) -> Iterator[str]:
    """Lines with something on them that nothing is taken from, and that the page does not explain."""
    page = explained()
    for document, row in table.items():
        written_of = (*row["cited"], *(lines for lines, _, _ in page.get(document, ())))
        taken = {n for written in written_of for n in numbers(written)}
        for n, line in enumerate((folder / document).read_text().splitlines(), start=1):
            if re.search(r"\w", line) and n not in taken:
                yield f"{document}:{n}: {line.strip()}"


def main(folder: str) -> int:
    table, wrong = checked(Path(folder))
    rest = list(uncited(Path(folder), table))
    print("\n".join(rest))
    count = sum(len(row["cited"]) for row in table.values())
    print(f"{count} passages cited, {len(rest)} lines cited nowhere, {len(wrong)} citations wrong", file=sys.stderr)
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    FILE.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
