"""A repository with two contracts of the shop, and changes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from repositories import commit, git
from shop_synth import accepted_texts
from support import Json

from holdfast.contract import files

STACKS = ("Newsletter-live", "Sessions-live")
NEWS, LOGINS = STACKS


def edit(folder: Path, stack: str, change: Callable[[Json], None]) -> None:
    path = folder / "snapshots" / f"{stack}.json"
    contract = files.read(path)
    change(contract)
    path.write_text(files.text(contract))


def tables(contract: Json) -> list[Json]:
    return [r for r in contract["template"]["Resources"].values() if r["Type"] == "AWS::DynamoDB::Table"]


def unprotect(contract: Json) -> None:
    tables(contract)[0]["Properties"]["DeletionProtectionEnabled"] = False


def on_main(folder: Path, stacks: Iterable[str] = STACKS) -> Path:
    """A repository with these contracts, committed on main."""
    (folder / "snapshots").mkdir(parents=True)
    for stack in stacks:
        (folder / "snapshots" / f"{stack}.json").write_text(accepted_texts()[stack])
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "contracts")
    return folder
