"""The real CDK CLI against the emulator: deploy, diff, drift, destroy. Slow, so only `make test-e2e` runs it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from emulator import Aws
from support import ROOT
from synth import count

from holdfast.cli import main
from holdfast.errors import InputError
from holdfast.local import deploy, process
from holdfast.local.client import ACCOUNT
from stacks import ESTATE

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of what `holdfast local` needs, so that a developer's own emulator is left alone; all deployed there."""
    root = tmp_path_factory.mktemp("estate")
    for name in ("app.py", "cdk.json", "pyproject.toml"):
        shutil.copy(ROOT / name, root)
    for name in ("constructs", "stacks"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (".venv", "build", "node_modules", "schemas"):
        (root / name).symlink_to(ROOT / name)
    before = Path.cwd()
    os.chdir(root)
    try:
        # A caller's settings that would lead to real AWS, if anything let them through.
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_PROFILE", "production")
            patch.setenv("AWS_ENDPOINT_URL", "https://dynamodb.us-east-1.amazonaws.com")
            assert main(["local", "up"]) == 0
        yield root
    finally:
        process.stop()
        os.chdir(before)


@pytest.fixture
def aws(home: Path) -> Aws:
    running = process.running()
    assert running
    return Aws(emulator=running, account=ACCOUNT)


def cdk(*arguments: str, region: str = "us-east-1") -> subprocess.CompletedProcess[str]:
    running = process.running()
    assert running
    app = ("--app", str(process.HOME / "cdk.out-all"))
    line = [deploy.cdk(), *arguments, *app, "--no-notices"]
    env = deploy.environment(running, region)
    return subprocess.run(line, env=env, capture_output=True, text=True, encoding="utf-8", check=False, timeout=120)


def test_every_stack_and_table_is_deployed(home: Path, aws: Aws) -> None:
    places = ESTATE.placements(ESTATE.named("all"))
    tables = 0
    for region in {p.region for p in places}:
        stacks = aws.client("cloudformation", region).describe_stacks()["Stacks"]
        found = {s["StackName"]: s["StackStatus"] for s in stacks if s["StackName"] != "CDKToolkit"}
        assert found == {p.name: "CREATE_COMPLETE" for p in places if p.region == region}
        pages = aws.client("dynamodb", region).get_paginator("list_tables").paginate()
        tables += sum(len(page["TableNames"]) for page in pages)
    assert tables == count()


def test_a_second_up_changes_nothing(home: Path, aws: Aws, capsys: pytest.CaptureFixture[str]) -> None:
    before = aws.client("cloudformation").describe_stacks(StackName="AcsTables-prod")["Stacks"][0]["LastUpdatedTime"]
    assert main(["local", "up"]) == 0
    said = capsys.readouterr()
    assert said.err.count("(unchanged)") == len(ESTATE.placements())
    running = process.running()
    assert running
    recorded = {r["type"] for r in process.contents(running)["recorded"]}
    assert recorded  # and named
    assert {line.split()[-1] for line in said.out.splitlines() if "::" in line} == recorded
    after = aws.client("cloudformation").describe_stacks(StackName="AcsTables-prod")["Stacks"][0]["LastUpdatedTime"]
    assert after == before


def test_diff_shows_nothing_after_a_deploy(home: Path) -> None:
    result = cdk("diff", "--all", "--fail")
    assert result.returncode == 0, result.stdout + result.stderr


def test_drift_is_seen_by_the_cli_and_a_deploy_alone_does_not_repair_it(home: Path, aws: Aws) -> None:
    table = "rc-subscription-prod-webhook-subscriptions"
    assert cdk("drift", "RCSubscription-prod-Storage", "--fail").returncode == 0
    api = aws.client("dynamodb")
    api.update_table(TableName=table, DeletionProtectionEnabled=False)
    try:
        drifted = cdk("drift", "RCSubscription-prod-Storage", "--fail")
        assert drifted.returncode == 1
        assert "DeletionProtectionEnabled" in drifted.stdout + drifted.stderr
        deployed = cdk("deploy", "RCSubscription-prod-Storage", "--require-approval", "never")
        assert deployed.returncode == 0, deployed.stderr
        assert api.describe_table(TableName=table)["Table"]["DeletionProtectionEnabled"] is False
    finally:
        api.update_table(TableName=table, DeletionProtectionEnabled=True)


def test_a_deploy_that_the_audit_advises_works_as_it_is_printed(home: Path, aws: Aws) -> None:
    """The words themselves, typed in the repository: nothing is added to them."""
    name, table = "RCSubscription-prod-Storage", "rc-subscription-prod-webhook-subscriptions"
    before = json.loads((process.HOME / "cdk.out-all" / f"{name}.template.json").read_text())
    for resource in before["Resources"].values():
        if resource.get("Properties", {}).get("TableName") == table:
            resource["Properties"]["DeletionProtectionEnabled"] = False
    aws.deploy(name, before)
    running = process.running()
    assert running
    audit = ["audit", "--local", "--env", "prod", "--select", "HF001", "--format", "json"]
    assert main([*audit, "--output", "audit.json"]) == 1
    (found,) = json.loads((home / "audit.json").read_text())["findings"]
    (command,) = re.findall("`(cdk [^`]*)`", found["fix"])
    words = [deploy.cdk(), *shlex.split(command)[1:]]
    env = deploy.environment(running, "us-east-1")
    done = subprocess.run(words, env=env, capture_output=True, text=True, encoding="utf-8", check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    assert aws.client("dynamodb").describe_table(TableName=table)["Table"]["DeletionProtectionEnabled"] is True
    assert main(audit) == 0


def test_destroying_a_prod_stack_is_refused_and_then_keeps_every_durable_table(home: Path, aws: Aws) -> None:
    name = "RCSubscription-prod-Storage"
    refused = cdk("destroy", name, "--force")
    assert refused.returncode != 0
    formation, api = aws.client("cloudformation"), aws.client("dynamodb")
    formation.update_termination_protection(StackName=name, EnableTerminationProtection=False)
    destroyed = cdk("destroy", name, "--force")
    assert destroyed.returncode == 0, destroyed.stderr
    left = {n for n in api.list_tables()["TableNames"] if n.startswith("rc-subscription-prod-")}
    assert left == {"rc-subscription-prod-webhook-subscriptions"}  # the other one is transient
    # The next deploy takes the table that was left back into its stack.
    taken = cdk("deploy", name, "--require-approval", "never", "--import-existing-resources")
    assert taken.returncode == 0, taken.stderr
    resources = formation.list_stack_resources(StackName=name)["StackResourceSummaries"]
    assert "rc-subscription-prod-webhook-subscriptions" in {r["PhysicalResourceId"] for r in resources}


def test_drift_of_a_database_is_seen_by_the_cli(home: Path, aws: Aws) -> None:
    api = aws.client("rds")
    api.modify_db_instance(DBInstanceIdentifier="lifecycle-prod", DeletionProtection=False, ApplyImmediately=True)
    try:
        drifted = cdk("drift", "LifecyclePlatform-prod", "--fail")
        assert drifted.returncode == 1
        assert "/DeletionProtection" in drifted.stdout + drifted.stderr
    finally:
        api.modify_db_instance(DBInstanceIdentifier="lifecycle-prod", DeletionProtection=True, ApplyImmediately=True)
    assert cdk("drift", "LifecyclePlatform-prod", "--fail").returncode == 0


def _replace(template: Path, text: str) -> None:
    """Another template under another hash: what was uploaded under the old one would be used again."""
    old, new = hashlib.sha256(template.read_bytes()).hexdigest(), hashlib.sha256(text.encode()).hexdigest()
    template.write_text(text)
    for file in (template.with_name("LeadTrackingStack-prod.assets.json"), template.with_name("manifest.json")):
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))


def test_a_stack_that_cannot_be_deployed_is_named_with_its_reason(home: Path) -> None:
    """Two indexes fewer in one update: CloudFormation refuses that on AWS, so it is refused here."""
    changed = shutil.copytree(process.HOME / "cdk.out-all", home / "changed")
    template = changed / "LeadTrackingStack-prod.template.json"
    declared = json.loads(template.read_text())
    (table,) = [r["Properties"] for r in declared["Resources"].values() if r["Type"] == "AWS::DynamoDB::Table"]
    table["GlobalSecondaryIndexes"] = table["GlobalSecondaryIndexes"][2:]
    used = {k["AttributeName"] for i in table["GlobalSecondaryIndexes"] for k in i["KeySchema"]} | {"id"}
    table["AttributeDefinitions"] = [a for a in table["AttributeDefinitions"] if a["AttributeName"] in used]
    _replace(template, json.dumps(declared))
    running = process.running()
    assert running
    with pytest.raises(
        InputError, match=r"^cdk deploy failed: LeadTrackingStack: AWS::DynamoDB::Table \w+: .* more than one GSI"
    ):
        deploy.deploy(running, changed, lambda text: None)


def test_destroying_a_system_keeps_its_database_bucket_broker_backups_and_keys(home: Path, aws: Aws) -> None:
    """The last one: what is kept has names with the account in them, which no deploy takes back by itself."""
    formation = aws.client("cloudformation")
    formation.update_termination_protection(StackName="MeetingSystem-prod", EnableTerminationProtection=False)
    destroyed = cdk("destroy", "MeetingSystem-prod", "--force")
    assert destroyed.returncode == 0, destroyed.stderr
    (database,) = aws.client("rds").describe_db_instances(DBInstanceIdentifier="meeting-prod")["DBInstances"]
    assert database["DeletionProtection"] is True
    key = aws.client("kms").describe_key(KeyId=database["KmsKeyId"])["KeyMetadata"]
    assert key["KeyState"] == "Enabled"
    aws.client("s3").head_bucket(Bucket=f"meeting-system-prod-{ACCOUNT}-us-east-1")
    brokers = aws.client("kafka").list_clusters()["ClusterInfoList"]
    assert [b["ClusterName"] for b in brokers] == ["meeting-broker-prod"]
    vaults = {v["BackupVaultName"] for v in aws.client("backup").list_backup_vaults()["BackupVaultList"]}
    assert "holdfast-MeetingSystem-prod" in vaults
    # What holds nothing that must last is gone.
    assert aws.client("elasticache").describe_replication_groups()["ReplicationGroups"] == []
