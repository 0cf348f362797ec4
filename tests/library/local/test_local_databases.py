"""Databases in the emulator: what CloudFormation is told is what RDS shows, and what is protected stays."""

from __future__ import annotations

import json

import pytest
from emulator import Aws, drift, ends, fresh_account
from support import Json

KINDS = ("Instance", "Cluster")


def template(kind: str, **changed: object) -> Json:
    properties = {
        f"DB{kind}Identifier": "orders",
        "Engine": "postgres" if kind == "Instance" else "aurora-postgresql",
        "MasterUsername": "owner",
        "ManageMasterUserPassword": True,
        "MasterUserSecret": {"KmsKeyId": {"Fn::GetAtt": ["Key", "Arn"]}},
        "DeletionProtection": True,
        "BackupRetentionPeriod": 30,
        **changed,
    }
    return {
        "Resources": {
            "Key": {"Type": "AWS::KMS::Key", "Properties": {"KeyPolicy": {}}},
            "Database": {"Type": f"AWS::RDS::DB{kind}", "Properties": properties},
        },
        "Outputs": {"Secret": {"Value": {"Fn::GetAtt": ["Database", "MasterUserSecret.SecretArn"]}}},
    }


def described(aws: Aws, kind: str) -> Json:
    api = aws.client("rds")
    found = api.describe_db_instances if kind == "Instance" else api.describe_db_clusters
    (database,) = found()[f"DB{kind}s"]
    return dict(database)


@pytest.mark.parametrize("kind", KINDS)
def test_the_password_is_a_secret_that_stays_through_updates_and_goes_with_the_database(kind: str) -> None:
    aws = fresh_account()
    aws.deploy("shop", template(kind))
    secret = described(aws, kind)["MasterUserSecret"]
    (stack,) = aws.client("cloudformation").describe_stacks(StackName="shop")["Stacks"]
    assert [o["OutputValue"] for o in stack["Outputs"]] == [secret["SecretArn"]]
    assert (secret["SecretStatus"], secret["KmsKeyId"].split(":")[2]) == ("active", "kms")
    keeper = aws.client("secretsmanager")
    value = json.loads(keeper.get_secret_value(SecretId=secret["SecretArn"])["SecretString"])
    assert (value["username"], len(value["password"]) > 20) == ("owner", True)

    aws.deploy("shop", template(kind, BackupRetentionPeriod=7, DeletionProtection=False))
    assert described(aws, kind)["BackupRetentionPeriod"] == 7
    assert described(aws, kind)["MasterUserSecret"] == secret
    aws.client("cloudformation").delete_stack(StackName="shop")
    assert ends(aws, "shop") == "DELETE_COMPLETE"
    assert keeper.list_secrets()["SecretList"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_protected_database_cannot_be_deleted_with_its_stack(kind: str) -> None:
    aws = fresh_account()
    aws.deploy("shop", template(kind))
    aws.client("cloudformation").delete_stack(StackName="shop")
    assert ends(aws, "shop") == "DELETE_FAILED"
    assert described(aws, kind)["DeletionProtection"] is True


@pytest.mark.parametrize("kind", KINDS)
def test_drift_shows_protection_that_was_switched_off_by_hand(kind: str) -> None:
    aws = fresh_account()
    aws.deploy("shop", template(kind))
    assert drift(aws) == {}
    api = aws.client("rds")
    change = api.modify_db_instance if kind == "Instance" else api.modify_db_cluster
    change(**{f"DB{kind}Identifier": "orders"}, DeletionProtection=False, ApplyImmediately=True)
    assert drift(aws) == {"Database": {"/DeletionProtection"}}
