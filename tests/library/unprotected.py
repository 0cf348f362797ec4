"""Two declared tables and a stranger in the emulator, without guards, and the commands that see them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from declare import PROD, estate, stack, table
from emulator import Aws, fresh_account
from support import Json

from holdfast import Data, Estate, Transient, cli
from holdfast.estate import finder
from holdfast.estate.finder import Project
from holdfast.estate.placement import Placed
from holdfast.shared.key.policy import key_policy


def shop() -> tuple[Estate, Placed]:
    tables = (
        table(name="orders-{env}", data=Data.PERSONAL),
        table(name="carts-{env}", lifetime=Transient(ttl="until")),
    )
    stacks = estate(stack(*tables, environments=(PROD,)))
    return stacks, stacks.placements()[0]


SHOP, PLACED = shop()


def commands(
    aws: Aws, monkeypatch: pytest.MonkeyPatch, folder: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """The command line in a folder whose estate is the shop."""
    monkeypatch.setattr(finder, "find", lambda asked: Project(estate=SHOP, source=folder))
    monkeypatch.chdir(folder)

    def command(name: str, *arguments: str, endpoint: str = aws.endpoint) -> tuple[int, str, str]:
        code = cli.main([name, "--env", "prod", "--endpoint-url", endpoint, *arguments])
        return code, *capsys.readouterr()

    return command


def unprotected_shop() -> Aws:
    found = fresh_account()

    def table(name: str) -> Json:
        properties = {
            "TableName": name,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        }
        return {"Type": "AWS::DynamoDB::Table", "Properties": properties}

    alias = {"AliasName": f"alias/holdfast/{PLACED.id}", "TargetKeyId": {"Fn::GetAtt": ["Key", "Arn"]}}
    found.deploy(
        PLACED.name,
        {
            "Resources": {
                "Key": {
                    "Type": "AWS::KMS::Key",
                    "Properties": {"EnableKeyRotation": True, "KeyPolicy": key_policy(PLACED)},
                },
                "Alias": {"Type": "AWS::KMS::Alias", "Properties": alias},
                "Orders": table("orders-prod"),
                "Carts": table("carts-prod"),
                "Stranger": table("stranger"),
            }
        },
    )
    return found


def state(aws: Aws, name: str) -> Json:
    client = aws.client("dynamodb")
    table = client.describe_table(TableName=name)["Table"]
    recovery = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    expiry = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    tags = client.list_tags_of_resource(ResourceArn=table["TableArn"])["Tags"]
    return {
        "protected": table.get("DeletionProtectionEnabled", False),
        "key": table.get("SSEDescription", {}).get("KMSMasterKeyArn"),
        "recovery": recovery["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"],
        "days": recovery["PointInTimeRecoveryDescription"].get("RecoveryPeriodInDays"),
        "ttl": expiry.get("AttributeName") if expiry["TimeToLiveStatus"] in ("ENABLING", "ENABLED") else None,
        "tags": {t["Key"] for t in tags if not t["Key"].startswith("aws:")},
    }
