"""One table through a tree of any age: declared, checked, audited, its fix planned; counts the functions entered.

python benchmarks/one_table.py TREE, which benchmarks/shape.py runs: it deploys the output whose folder is printed, then
closes the standard input. TREE is a copy: the contracts of all other stacks are deleted in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

TREE = Path(sys.argv[1])
entered: set[tuple[str, str]] = set()


def entering(frame: FrameType, event: str, argument: object) -> None:
    if event == "call" and frame.f_code.co_filename.startswith(HOME):
        entered.add((frame.f_code.co_filename, frame.f_code.co_qualname))


HOME = str(TREE / "constructs" / "holdfast") + os.sep
# What talks to the terminal, to CDK and to AWS, by its folders and files of any age.
EDGES = {"aws", "live", "cdk", "construct", "cli", "check_command", "fix_command", "report", "files", "text"}


def main() -> None:
    sys.path[:0] = [str(TREE / "constructs"), str(TREE)]
    import boto3

    assert not (TREE / ".git").exists()
    for contract in (TREE / "snapshots").glob("*.json"):
        if contract.name != "LeadTrackingStack-prod.json":
            contract.unlink()
    out = tempfile.mkdtemp()
    context = json.loads((TREE / "cdk.json").read_text())["context"] | {"env": "prod"}
    app, rules = estate_of_one_table(), all_rules()
    from holdfast.cli import main as holdfast

    def command(*line: str) -> None:
        with contextlib.redirect_stdout(sys.stderr):
            assert holdfast(line) in (0, 1), line

    with Counting():
        app(context, out).synth()
        command("check", out, "--env", "prod", "--output", os.devnull)
    print(out, flush=True)
    sys.stdin.read()
    api: Any = boto3.client("dynamodb")
    (table,) = (t for t in api.list_tables()["TableNames"] if t.startswith("LeadTracking"))
    api.update_table(TableName=table, DeletionProtectionEnabled=False)
    live = ("--env", "prod", "--region", "us-east-1", "--endpoint-url", os.environ["AWS_ENDPOINT_URL"])
    with Counting():
        command("audit", *live, "--output", os.devnull)
        command("fix", *live)
    # What only begins something, such as a module's own code, is not a function that the table passes.
    passed = {(file, name) for file, name in entered if not name.endswith(">")}
    core = {
        (file, name) for file, name in passed if not EDGES & set(Path(file).relative_to(HOME).with_suffix("").parts)
    }
    counted = {
        "functions": len(passed),
        "modules": len({file for file, _ in passed}),
        "core functions": len(core),
        "core modules": len({file for file, _ in core}),
    }
    print(json.dumps(counted | {"rules": len(rules), "unchecked": sum(not checked(rule) for rule in rules)}))


class Counting:
    def __enter__(self) -> None:
        threading.setprofile(entering)
        sys.setprofile(entering)

    def __exit__(self, *raised: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)


def estate_of_one_table() -> Callable[[dict[str, Any], str], Any]:
    """The app of the estate, from which all stacks but that of one table are taken."""
    import stacks
    from holdfast import cdk
    from stacks import lead_tracking

    if hasattr(stacks, "ESTATE"):
        stacks.ESTATE = estate = stacks.ESTATE.alone(lead_tracking.STACK)
        return lambda context, out: cdk.app(estate, context, out, root=TREE)
    catalog: Any = (lead_tracking.STACK,)  # before there was an estate
    vars(stacks)["CATALOG"] = catalog
    return lambda context, out: vars(cdk)["estate"](catalog, context, out)


def all_rules() -> tuple[Any, ...]:
    from holdfast import rules

    return tuple(rules.RULES)


def checked(rule: Any) -> bool:
    """Whether a rule carries its check: the field has had several names."""
    return any(getattr(rule, name, None) for name in ("check", "checks"))


if __name__ == "__main__":
    main()
