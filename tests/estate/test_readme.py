"""README.md and docs/: every command is run, and its output compared; see tests/documents.py."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import documents
import pytest
from emulator import fresh_account
from support import ROOT

from holdfast.local.client import Client
from stacks import incident

GENERATED = "<!-- Generated"
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
WRITTEN = [path for path in DOCUMENTS if not path.read_text(encoding="utf-8").startswith(GENERATED)]
RUN = [path for path in WRITTEN if path.name != "CONTRIBUTING.md"]  # whose recipes test_recipes.py carries out

# The first line of each block that is not run.
NOT_RUN = {
    "CONTRIBUTING.md": [
        "pytest -q tests/estate/test_snapshots.py",
        "pytest -q tests/library/rules/test_rules_cases.py -k HF320",
    ],
    "README.md": ["make test", "cdk diff -c env=prod RCSubscription-prod-Storage"],
    "deploy.md": ["cdk diff -c env=prod LifecyclePlatform-prod"],
    "local.md": ["make demo"],
}


class Accounts(Mapping[str, Mapping[str, str]]):
    """What blocks need, made when the first one asks: an account of the emulator on the day of the incident."""

    def __init__(self, outdir: Path) -> None:
        self.outdir = outdir
        self.made: dict[str, Mapping[str, str]] = {}

    def __getitem__(self, name: str) -> Mapping[str, str]:
        assert name == "emulator"
        if name not in self.made:
            aws = fresh_account()
            incident.inject(Client(emulator=aws.emulator, account=aws.account), self.outdir, now=documents.NOW)
            self.made[name] = aws.environment()
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(("emulator",))

    def __len__(self) -> int:
        return 1


@pytest.fixture(scope="module")
def accounts(outdir: Path) -> Accounts:
    return Accounts(outdir)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return documents.repository(tmp_path_factory.mktemp("documents") / "estate")


@pytest.mark.parametrize("document", RUN, ids=lambda path: path.name)
def test_commands_give_what_is_shown(document: Path, folder: Path, accounts: Accounts) -> None:
    assert documents.carried_out(document, folder, accounts) == [], f"{documents.UPDATE}=1 writes what came out"


def test_what_is_not_run_is_listed_here() -> None:
    found: dict[str, list[str]] = {}
    for path in WRITTEN:
        for block in documents.blocks(path):
            if block.not_run:
                found.setdefault(path.name, []).append(block.text.splitlines()[0].removeprefix("$ "))
    assert found == NOT_RUN


def test_readme_is_short() -> None:
    assert (ROOT / "README.md").stat().st_size <= 12_500


@pytest.mark.parametrize("document", WRITTEN, ids=lambda path: path.name)
def test_blocks_name_their_language_and_python_can_be_read(document: Path) -> None:
    for block in documents.blocks(document):
        assert block.language, f"{document.name}:{block.line}"
        if block.language == "console":
            assert block.text.startswith("$ "), f"{document.name}:{block.line}"
        if block.language == "python":
            ast.parse(block.text)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files_and_sections(document: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        path, _, section = link.partition("#")
        if "://" in link or path.startswith("mailto:"):
            continue
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        if section and target.suffix == ".md":
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert section in {re.sub(r"[^\w\- ]", "", h).lower().replace(" ", "-") for h in headings}, link


@pytest.mark.parametrize("document", WRITTEN, ids=lambda path: path.name)
def test_the_words_are_those_that_a_reader_searches_for(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert re.findall(r"(?i)\b(?:nobody|somebody|whoever|anybody|is no)\b.*", text) == []
