"""`holdfast accept`: what was synthesized becomes the contract, once its difference has been shown."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from holdfast.contract import files, make, text
from holdfast.contract.diff import diff
from holdfast.errors import InputError

UNRESOLVED = re.compile(r"\$\{Token\[|dummy-value-for-|vpc-12345|unknown-region")
SECRETS = re.compile(r"(AKIA|ASIA)[A-Z0-9]{16}|-----BEGIN [A-Z ]*PRIVATE KEY")


def run(outdir: Path, folder: Path, say: Callable[[str], None]) -> int:
    made = make.contracts(outdir)
    if not made:
        raise InputError(f"{outdir} has no stack: run `cdk synth -c env=all` first")
    for id_, contract in made.items():
        for why in unacceptable(contract):
            raise InputError(f"{id_} cannot be accepted: {why}")
    target = folder / files.FOLDER
    before = {id_: make.brought_up(files.read(p)) for id_ in made if (p := target / f"{id_}.json").is_file()}
    changes = diff(before, made)
    say(text.text(changes, f"the contracts in {files.FOLDER}/"))
    target.mkdir(exist_ok=True)
    for id_, contract in made.items():
        (target / f"{id_}.json").write_text(files.text(contract), encoding="utf-8", newline="\n")
    print(f"{text.summary(changes)}; wrote {len(made)} contracts to {files.FOLDER}/", file=sys.stderr)
    return 0


def unacceptable(contract: dict[str, Any]) -> Iterator[str]:
    """What a contract may not hold: what is not decided yet, and what is secret."""
    for path, leaf in make.leaves(contract["template"]):
        if UNRESOLVED.search(leaf):
            yield f"{path} holds {leaf[:60]!r}, which a look-up or a token has still to decide"
        if SECRETS.search(leaf):
            yield f"{path} holds a secret: keep it in Secrets Manager, and refer to it"
