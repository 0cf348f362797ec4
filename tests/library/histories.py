"""Contracts of one table, written by hand, and commits of them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from repositories import git
from support import Json

from holdfast.contract import files


def table(name: str = "orders", **properties: Any) -> Json:
    return {
        "Type": "AWS::DynamoDB::Table",
        "DeletionPolicy": "Retain",
        "Properties": {"TableName": name, "Tags": {"Name": name}, **properties},
    }


def contract(stack: str = "Shop-prod", code: str = "1", **resources: Json) -> Json:
    return {
        "version": 1,
        "stack": {"name": stack, "environment": "aws://unknown-account/us-east-1"},
        "acknowledged": {},
        "code": {"Handler": {"Code": {"files": code}}},
        "template": {"Resources": resources},
    }


def protected(stack: str = "Shop-prod", *, on: bool = True, **more: Any) -> Json:
    return contract(stack, Orders=table(DeletionProtectionEnabled=on, **more))


def write(folder: Path, **contracts: Json | None) -> None:
    (folder / "snapshots").mkdir(exist_ok=True)
    for name, content in contracts.items():
        path = folder / "snapshots" / f"{name.replace('_', '-')}.json"
        if content is None:
            path.unlink()
        else:
            path.write_text(files.text(content))


def commit(folder: Path, when: datetime, **contracts: Json | None) -> None:
    write(folder, **contracts)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "change", when=when)
