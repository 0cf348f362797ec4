"""CONTRIBUTING.md: every recipe is carried out in a copy of the repository, diffs, commands and tests."""

from __future__ import annotations

from pathlib import Path

import documents
import pytest
from support import ROOT

CONTRIBUTING = ROOT / "CONTRIBUTING.md"
RECIPES = list(dict.fromkeys(b.section for b in documents.blocks(CONTRIBUTING) if not b.not_run))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return documents.repository(tmp_path_factory.mktemp("recipes") / "estate")


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_gives_what_it_shows(recipe: str, folder: Path) -> None:
    assert documents.carried_out(CONTRIBUTING, folder, only=recipe) == [], f"{documents.UPDATE}=1 writes what came out"
