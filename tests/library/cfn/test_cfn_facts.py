"""What is known of CloudFormation's types: the public schemas, extracted once, and where we know better."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from support import ROOT, Json

from holdfast.cfn import generate
from holdfast.cfn.facts import FILE, LISTS, NOTHING, Property, facts
from holdfast.cfn.overrides import OVERRIDES, Override

SCHEMAS = generate.schemas()
STORES = re.compile("AWS::(DocDB|DynamoDB|ElastiCache|KMS|MSK|RDS|S3|SNS|SQS)::")
HELD = {
    ("AWS::DynamoDB::Table", "create_only"): {"TableName", "ImportSourceSpecification"},
    ("AWS::DynamoDB::Table", "conditional_create_only"): {
        "KeySchema",
        "LocalSecondaryIndexes",
        "AttributeDefinitions/*/AttributeType",
    },
    ("AWS::DynamoDB::Table", "unordered"): {
        "AttributeDefinitions",
        "GlobalSecondaryIndexes",
        "GlobalSecondaryIndexes/*/Projection/NonKeyAttributes",
        "Tags",
    },
    ("AWS::DynamoDB::GlobalTable", "unordered"): {"Replicas", "Replicas/*/Tags"},
    ("AWS::DynamoDB::Table", "free_json"): {"ResourcePolicy/PolicyDocument"},
    ("AWS::KMS::Key", "write_only"): {"PendingWindowInDays", "RotationPeriodInDays"},
    ("AWS::KMS::Key", "read_only"): {"Arn", "KeyId"},
    ("AWS::KMS::Key", "free_json"): {"KeyPolicy"},
    ("AWS::RDS::DBInstance", "create_only"): {"MasterUsername", "DBInstanceIdentifier", "KmsKeyId", "StorageEncrypted"},
    ("AWS::RDS::DBInstance", "conditional_create_only"): {"Engine", "MultiAZ", "DBSnapshotIdentifier", "Port"},
    ("AWS::RDS::DBInstance", "write_only"): {"MasterUserPassword"},
    ("AWS::DocDB::DBCluster", "write_only"): {"MasterUserPassword"},
    ("AWS::RDS::DBInstance", "unordered"): {"VPCSecurityGroups", "EnableCloudwatchLogsExports"},
    ("AWS::MSK::Cluster", "create_only"): {"ClusterName", "EncryptionInfo/EncryptionInTransit/InCluster"},
    ("AWS::ElastiCache::ReplicationGroup", "create_only"): {"ReplicationGroupId", "AtRestEncryptionEnabled"},
    ("AWS::ElastiCache::User", "write_only"): {"Passwords"},
    ("AWS::SecretsManager::Secret", "write_only"): {"SecretString"},
    ("AWS::EC2::SecurityGroup", "unordered"): {"SecurityGroupIngress", "SecurityGroupEgress"},
    ("AWS::IAM::Role", "unordered"): {"ManagedPolicyArns", "Policies"},
    ("AWS::IAM::Role", "free_json"): {"AssumeRolePolicyDocument", "Policies/*/PolicyDocument"},
    ("AWS::IAM::ManagedPolicy", "free_json"): {"PolicyDocument"},
    ("AWS::CloudWatch::Alarm", "unordered"): {"AlarmActions", "Dimensions", "Metrics"},
    ("AWS::CloudWatch::Dashboard", "free_json"): {"DashboardBody"},
    ("AWS::SQS::Queue", "free_json"): {"RedrivePolicy", "RedriveAllowPolicy"},
    ("AWS::CloudFormation::CustomResource", "create_only"): {"ServiceToken"},
    ("AWS::CloudFormation::CustomResource", "free_json"): {"*"},
}
NOT_HELD = {
    ("AWS::DynamoDB::Table", "unordered"): {"KeySchema", "GlobalSecondaryIndexes/*/KeySchema"},
    ("AWS::DynamoDB::Table", "free_json"): {"KeySchema"},
    ("AWS::DynamoDB::Table", "conditional_create_only"): {"AttributeDefinitions", "GlobalSecondaryIndexes"},
    ("AWS::Lambda::Function", "unordered"): {"Layers", "ImageConfig/Command"},
    ("AWS::Lambda::Function", "free_json"): {"Environment/Variables/*"},
    ("AWS::S3::Bucket", "unordered"): {"CorsConfiguration/CorsRules", "WebsiteConfiguration/RoutingRules"},
    ("AWS::Logs::Transformer", "unordered"): {"TransformerConfig"},
    ("AWS::SSM::Parameter", "free_json"): {"Value"},
}
TYPED = {
    ("AWS::DynamoDB::Table", "DeletionProtectionEnabled"): "boolean",
    ("AWS::DynamoDB::Table", "PointInTimeRecoverySpecification/RecoveryPeriodInDays"): "integer",
    ("AWS::DynamoDB::Table", "GlobalSecondaryIndexes/*/IndexName"): "string",
    ("AWS::CloudWatch::Alarm", "Threshold"): "number",
    ("AWS::RDS::DBInstance", "AllocatedStorage"): "string",
    ("AWS::RDS::DBParameterGroup", "Parameters/*"): "string",
    ("AWS::Lambda::Function", "Environment/Variables/*"): "string",
    ("AWS::SQS::Queue", "RedrivePolicy/maxReceiveCount"): "integer",
}


@pytest.mark.parametrize(("where", "paths"), HELD.items())
def test_facts_that_hold(where: tuple[str, str], paths: set[str]) -> None:
    assert getattr(facts(where[0]), where[1]) >= paths


@pytest.mark.parametrize(("where", "paths"), NOT_HELD.items())
def test_facts_that_do_not_hold(where: tuple[str, str], paths: set[str]) -> None:
    assert not getattr(facts(where[0]), where[1]) & paths


@pytest.mark.parametrize(("where", "kind"), TYPED.items())
def test_scalar_types(where: tuple[str, str], kind: str) -> None:
    known = facts(where[0])
    assert known.scalars[where[1]] == known.at(where[1].split("/")).scalar == kind


def test_identity_and_tags() -> None:
    assert facts("AWS::DynamoDB::Table").identity == (("TableName",),)
    assert facts("AWS::DynamoDB::GlobalTable").identity == (("TableName",), ("Arn",), ("StreamArn",))
    assert facts("AWS::ApplicationAutoScaling::ScalingPolicy").identity[0] == ("Arn", "ScalableDimension")
    assert facts("AWS::Backup::BackupVault").tags == "BackupVaultTags"
    assert facts("AWS::KMS::Key").tags == "Tags"
    assert facts("AWS::KMS::Alias").tags == ""


def test_a_concrete_path_finds_its_pattern() -> None:
    table = facts("AWS::DynamoDB::Table")
    assert table.at(["GlobalSecondaryIndexes"]).unordered
    assert table.at(["GlobalSecondaryIndexes", 3, "Projection", "NonKeyAttributes"]).unordered
    assert table.at(["GlobalSecondaryIndexes", 3, "Projection", "NonKeyAttributes", 0]) == Property(scalar="string")
    assert facts("AWS::Lambda::Function").at(["Environment", "Variables", "ANY"]).scalar == "string"
    assert table.at(["Nothing", 0, "Of", "This"]) == table.at(["NoSuch"]) == Property()


def test_what_holds_of_a_property_holds_beneath_it() -> None:
    table, key = facts("AWS::DynamoDB::Table"), facts("AWS::KMS::Key")
    named = table.at(["ImportSourceSpecification", "InputFormat"])
    assert (named.create_only, named.write_only, named.scalar) == (True, True, "string")
    assert key.at(["KeyPolicy", "Statement", 0, "Action"]) == Property(free_json=True)
    assert not table.at(["GlobalSecondaryIndexes", 0]).unordered
    assert facts("Custom::Trigger").at(["Deep", 0, "Inside"]).free_json
    assert facts("Custom::Trigger").at(["ServiceToken"]).create_only


def test_an_unknown_type_has_no_facts() -> None:
    assert facts("AWS::Never::Seen") is facts("Other::Module::MODULE") is NOTHING
    assert NOTHING.at(["Tags", 0, "Key"]) == Property()


def test_every_type_of_the_shop_is_known(templates: dict[str, Json]) -> None:
    types = {resource["Type"] for template in templates.values() for resource in template["Resources"].values()}
    assert len(types) >= 50
    assert [name for name in sorted(types) if facts(name) is NOTHING] == []


def scalars(value: Any, place: Property, path: str) -> Iterator[tuple[str, Property]]:
    """Every scalar of a template, but those that CloudFormation computes."""
    if isinstance(value, dict) and not any(word == "Ref" or word.startswith("Fn::") for word in value):
        for name, part in value.items():
            yield from scalars(part, place.part(name), f"{path}/{name}")
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from scalars(part, place.part(number), f"{path}/{number}")
    elif not isinstance(value, dict):
        yield path, place


def test_every_property_of_the_shop_has_a_type_or_is_free_json(templates: dict[str, Json]) -> None:
    found = [
        each
        for template in templates.values()
        for resource in template["Resources"].values()
        if resource["Type"] != "AWS::CDK::Metadata"
        for each in scalars(resource.get("Properties", {}), facts(resource["Type"]).properties, resource["Type"])
    ]
    assert len(found) > 5_000
    assert [path for path, place in found if place.scalar is None and not place.free_json] == []


def test_the_file_is_what_the_pinned_schemas_give() -> None:
    """In another process, because the order of Python's sets differs by process."""
    code = "import sys; from holdfast.cfn.generate import text; sys.stdout.write(text())"
    env = os.environ | {"PYTHONPATH": str(ROOT / "constructs"), "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
    assert done.stdout.decode() == generate.text() == FILE.read_text(), "run `make schemas`"


def test_the_file_is_small_and_sorted_with_one_line_per_type() -> None:
    lines = FILE.read_text().splitlines()
    names = [json.loads(f"{{{line.rstrip(',')}}}") for line in lines[1:-1]]
    assert [name for line in names for name in line] == sorted(SCHEMAS)
    assert FILE.stat().st_size < 600_000


def test_every_path_is_one_of_a_property() -> None:
    for name, schema in SCHEMAS.items():
        said = generate.extract(schema)
        paths = {path for fact in LISTS for path in said[fact]}.union(*said["identity"])
        assert paths <= generate.tree(schema).keys(), name


@pytest.mark.parametrize("override", OVERRIDES, ids=lambda o: o.reason)
def test_every_override_is_still_needed(override: Override) -> None:
    """Each path of each type changes something that the schema says, and exists."""
    for name, paths in override.where.items():
        types = SCHEMAS if name == "*" else {name: SCHEMAS[name]}
        for path in paths:
            one = Override(where={name: (path,)}, add=override.add, drop=override.drop, reason=override.reason)
            assert any(changes(one, of, schema) for of, schema in types.items()), f"{name} {path}"


def changes(override: Override, name: str, schema: generate.Schema) -> bool:
    places, said = generate.tree(schema), generate.extract(schema)
    return any(
        path not in said.get(override.add, {path}) or path in said.get(override.drop, ())
        for path in generate.concerned(override, name, places)
        if path in places or path.removesuffix("/*") in said["free_json"]
    )


def test_cdk_knows_no_replacement_of_a_store_that_we_do_not() -> None:
    """Its database has another source: AWS's documentation."""
    with gzip.open(ROOT / "node_modules" / "aws-cdk" / "db.json.gz") as file:
        resources = json.load(file)["schema"]["resource"]["entities"]
    seen = 0
    for resource in resources:
        if STORES.match(name := resource["cloudFormationType"]):
            known = facts(name)
            ours = {path.partition("/")[0] for path in known.create_only | known.conditional_create_only}
            theirs = {
                p for p, said in resource["properties"].items() if said.get("causesReplacement") in ("yes", "maybe")
            }
            assert theirs <= ours, name
            seen += len(theirs)
    assert seen > 100


def test_schemas_by_reference_by_alternative_and_inside_themselves() -> None:
    schema = {
        "typeName": "Our::StackResources::Type",
        "primaryIdentifier": ["/properties/Name"],
        "writeOnlyProperties": ["/properties/Rules/*/Secret"],
        "properties": {
            "Name": {"type": "string"},
            "Rules": {
                "type": "array",
                "insertionOrder": True,
                "uniqueItems": True,
                "items": {"$ref": "#/definitions/Rule"},
            },
            "Either": {"oneOf": [{"type": "string"}, {"type": "object", "properties": {"On": {"type": "boolean"}}}]},
            "Map": {"type": "object", "patternProperties": {".+": {"type": "array", "uniqueItems": True}}},
            "Empty": {"type": "object", "additionalProperties": False},
            "Free": {"anyOf": [{"required": ["A"]}, {"type": "object"}]},
        },
        "definitions": {
            "Rule": {
                "type": "object",
                "properties": {"Secret": {"type": "string"}, "Inner": {"$ref": "#/definitions/Rule"}},
            }
        },
    }
    said = {fact: paths for fact, paths in generate.extract(schema).items() if paths}
    assert said == {
        "identity": [["Name"]],
        "write_only": {"Rules/*/Secret"},
        "unordered": {"Map/*"},
        "free_json": {"Free"},
        "string": {"Name", "Rules/*/Secret", "Either"},
        "boolean": {"Either/On"},
    }


def opened(code: str) -> int:
    """How often the file is read while ``code`` runs."""
    watch = (
        "import sys; reads = []; seen = lambda event, args: event == 'open' and 'schemas.json' in str(args[0])\n"
        "sys.addaudithook(lambda event, args: reads.append(1) if seen(event, args) else None)"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT / "constructs")}
    line = [sys.executable, "-c", f"{watch}\n{code}\nprint(len(reads), file=sys.stderr)"]
    return int(subprocess.run(line, env=env, capture_output=True, text=True, check=True).stderr)


def test_the_file_is_read_once_and_only_when_asked_for() -> None:
    ask = "from holdfast.cfn.facts import facts"
    assert opened("from holdfast.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass") == 0
    assert opened(ask) == 0
    assert opened(f"{ask}\nfacts('AWS::KMS::Key')\nfacts('AWS::DynamoDB::Table')\nfacts('AWS::Never::Seen')") == 1


def test_without_cfn_lint_the_generator_says_what_to_do() -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-m", "holdfast.cfn.generate"],
        env={"PYTHONPATH": str(ROOT / "constructs")},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "holdfast: cfn-lint is not installed; it is one of the dev dependencies: make setup\n"
