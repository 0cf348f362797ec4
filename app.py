"""The composition root: which stacks, in which environments. Makes no AWS call."""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aws_cdk import App

ROOT = Path(__file__).resolve().parent


def build(outdir: str | None = None, **context: object) -> App:
    """The CDK app; ``context`` wins over cdk.json, which only the CLI reads by itself."""
    from holdfast.estate.finder import load

    estate = load("stacks:ESTATE", "app.py", (ROOT,)).estate  # before CDK, which takes seconds: a slip is told at once
    from holdfast import cdk

    known = json.loads((ROOT / "cdk.json").read_bytes())["context"]
    return cdk.app(estate, known | context, outdir, root=ROOT)


def main() -> None:
    from holdfast.errors import InputError
    from holdfast.model.declaration import DeclarationError
    from holdfast.text import printable

    try:
        build().synth()
    except (DeclarationError, InputError) as error:
        print(f"holdfast: {printable(str(error))}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    gc.disable()  # builds one thing and ends: collecting garbage would take a tenth of its time
    sys.path[:0] = [str(ROOT / "constructs")]  # a checkout that is not installed runs, too
    main()
