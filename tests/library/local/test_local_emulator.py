"""The emulator's contract: what CloudFormation is told is what the API shows, typed out by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from dynamodb_local import JAVA, server
from emulator import KEY, Aws, attributes, drift, ends, fresh_account, index, seen, shared, template
from support import Json

from holdfast.errors import InputError
from holdfast.local import private, process

UNRESOLVED = r"Template format error: Unresolved resource dependencies \[Gone\] in the {} block of the template"


@pytest.fixture
def aws() -> Aws:
    return fresh_account()


@pytest.fixture
def deployed(aws: Aws) -> Aws:
    aws.deploy("shop", template())
    return aws


def test_every_declared_property_of_a_table_survives_cloudformation(deployed: Aws) -> None:
    table = seen(deployed)
    assert table["DeletionProtectionEnabled"] is True
    assert table["Recovery"]["PointInTimeRecoveryStatus"] == "ENABLED"
    assert table["Recovery"]["RecoveryPeriodInDays"] == 21
    assert table["Expiry"] == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
    assert table["SSEDescription"]["Status"] == "ENABLED"
    assert table["SSEDescription"]["KMSMasterKeyArn"].startswith("arn:aws:kms:us-east-1:")
    assert table["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert table["Tags"] == {"Owner": "shop"}
    (found,) = table["GlobalSecondaryIndexes"]
    assert (found["IndexName"], found["IndexStatus"], found["ItemCount"]) == ("customer-index", "ACTIVE", 0)
    assert found["IndexArn"] == table["TableArn"] + "/index/customer-index"


def test_a_table_without_guards_has_none(aws: Aws) -> None:
    bare = ("DeletionProtectionEnabled", "PointInTimeRecoverySpecification", "TimeToLiveSpecification")
    aws.deploy("shop", template(**dict.fromkeys((*bare, "SSESpecification", "Tags", "StreamSpecification"))))
    table = seen(aws)
    assert table["DeletionProtectionEnabled"] is False
    assert table["Recovery"] == {"PointInTimeRecoveryStatus": "DISABLED"}
    assert table["Expiry"] == {"TimeToLiveStatus": "DISABLED"}
    assert table["Tags"] == {}
    assert "SSEDescription" not in table
    assert "StreamSpecification" not in table


def test_an_update_switches_every_guard_and_keeps_the_items(deployed: Aws) -> None:
    deployed.client("dynamodb").put_item(TableName="orders", Item={"id": {"S": "1"}, "customer": {"S": "c"}})
    deployed.deploy(
        "shop",
        template(
            DeletionProtectionEnabled=False,
            PointInTimeRecoverySpecification=None,
            TimeToLiveSpecification=None,
            SSESpecification=None,
            Tags=[{"Key": "Owner", "Value": "store"}],
        ),
    )
    table = seen(deployed)
    assert table["DeletionProtectionEnabled"] is False
    assert table["Recovery"]["PointInTimeRecoveryStatus"] == "DISABLED"
    assert table["Expiry"]["TimeToLiveStatus"] == "DISABLED"
    assert table["SSEDescription"]["Status"] == "DISABLED"
    assert table["Tags"] == {"Owner": "store"}
    assert table["ItemCount"] == 1


def test_one_index_may_be_added_in_an_update_and_two_may_not(deployed: Aws) -> None:
    one = {"GlobalSecondaryIndexes": [index("customer"), index("day")]}
    deployed.deploy("shop", template(**one, AttributeDefinitions=attributes("id", "customer", "day")))
    assert {i["IndexName"] for i in seen(deployed)["GlobalSecondaryIndexes"]} == {"customer-index", "day-index"}
    three = {"GlobalSecondaryIndexes": [index(a) for a in ("customer", "day", "city", "zip")]}
    with pytest.raises(InputError, match="more than one GSI"):
        deployed.deploy(
            "shop", template(**three, AttributeDefinitions=attributes("id", "customer", "day", "city", "zip"))
        )
    assert {i["IndexName"] for i in seen(deployed)["GlobalSecondaryIndexes"]} == {"customer-index", "day-index"}


@pytest.mark.parametrize(
    "changed",
    [
        {"Projection": {"ProjectionType": "KEYS_ONLY"}},
        {"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["day"]}},
        {"KeySchema": [{"AttributeName": "day", "KeyType": "HASH"}]},
        {"KeySchema": [*index("customer")["KeySchema"], {"AttributeName": "day", "KeyType": "RANGE"}]},
    ],
    ids=str,
)
def test_an_index_keeps_its_key_and_its_projection_under_its_name(deployed: Aws, changed: Json) -> None:
    before = seen(deployed)["GlobalSecondaryIndexes"]
    names = {k["AttributeName"] for k in (index("customer") | changed)["KeySchema"]}
    wanted = template(
        GlobalSecondaryIndexes=[index("customer") | changed],
        AttributeDefinitions=attributes("id", *sorted(names)),
    )
    with pytest.raises(InputError, match="You can create a new GSI with a different name"):
        deployed.deploy("shop", wanted)
    assert seen(deployed)["GlobalSecondaryIndexes"] == before


STEPS: dict[str, Json] = {
    "one created": {"GlobalSecondaryIndexUpdates": [{"Create": index("day")}]},
    "one deleted": {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "customer-index"}}]},
    "two created": {"GlobalSecondaryIndexUpdates": [{"Create": index("day")}, {"Create": index("city")}]},
    "one created, one deleted": {
        "GlobalSecondaryIndexUpdates": [{"Create": index("day")}, {"Delete": {"IndexName": "customer-index"}}]
    },
    "two deleted": {
        "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": f"{name}-index"}} for name in ("customer", "zip")]
    },
    "created again with less": {
        "GlobalSecondaryIndexUpdates": [{"Create": index("customer") | {"Projection": {"ProjectionType": "KEYS_ONLY"}}}]
    },
}


@pytest.mark.skipif(JAVA is None, reason="DynamoDB Local needs java, 17 or newer")
def test_indexes_are_made_and_deleted_as_the_real_engine_allows(aws: Aws) -> None:
    """Amazon's own DynamoDB Local decides what is right, and with which error it is refused."""
    with server() as real:
        for number, (what, step) in enumerate(STEPS.items()):
            answers = [_updated(api, f"orders-{number}", step) for api in (real.meta.client, aws.client("dynamodb"))]
            assert answers[0] == answers[1], what


def _updated(api: Any, name: str, step: Json) -> str:
    api.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=attributes("id", "customer", "zip"),
        KeySchema=[KEY],
        GlobalSecondaryIndexes=[index("customer"), index("zip")],
    )
    try:
        api.update_table(
            TableName=name, AttributeDefinitions=attributes("id", "customer", "zip", "day", "city"), **step
        )
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return "done"


def test_an_index_counts_only_items_that_have_its_key(deployed: Aws) -> None:
    api = deployed.client("dynamodb")
    api.put_item(TableName="orders", Item={"id": {"S": "1"}, "customer": {"S": "c"}})
    api.put_item(TableName="orders", Item={"id": {"S": "2"}, "customer.name": {"S": "nested keys are not seen"}})
    table = seen(deployed)
    assert table["ItemCount"] == 2
    assert table["GlobalSecondaryIndexes"][0]["ItemCount"] == 1


def test_a_global_table_keeps_what_its_replica_declares(aws: Aws) -> None:
    recovery = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 7}
    properties = {
        "TableName": "orders",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": attributes("id"),
        "KeySchema": [KEY],
        "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expires"},
        "Replicas": [
            {
                "Region": "us-east-1",
                "DeletionProtectionEnabled": True,
                "PointInTimeRecoverySpecification": recovery,
                "Tags": [{"Key": "Owner", "Value": "shop"}],
            }
        ],
    }
    aws.deploy("shop", {"Resources": {"Table": {"Type": "AWS::DynamoDB::GlobalTable", "Properties": properties}}})
    table = seen(aws)
    assert table["DeletionProtectionEnabled"] is True
    assert table["Recovery"]["RecoveryPeriodInDays"] == 7
    assert table["Expiry"]["AttributeName"] == "expires"
    assert table["Tags"] == {"Owner": "shop"}


def test_a_table_with_the_aws_managed_key_has_one_that_kms_knows(aws: Aws) -> None:
    aws.deploy("shop", template(SSESpecification={"SSEEnabled": True}))
    arn = seen(aws)["SSEDescription"]["KMSMasterKeyArn"]
    key = aws.client("kms").describe_key(KeyId=arn)["KeyMetadata"]
    assert (key["Arn"], key["KeyManager"]) == (arn, "AWS")
    aws.deploy("carts", template(TableName="carts", SSESpecification={"SSEEnabled": True}))
    assert seen(aws, "carts")["SSEDescription"]["KMSMasterKeyArn"] == arn
    own = aws.client("kms").create_key()["KeyMetadata"]
    assert own["KeyManager"] == "CUSTOMER"
    encryption = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": own["KeyId"]}
    aws.client("dynamodb").update_table(TableName="carts", SSESpecification=encryption)
    assert seen(aws, "carts")["SSEDescription"]["KMSMasterKeyArn"] == own["Arn"]


@pytest.mark.parametrize(
    ("operation", "request_body", "path"),
    [
        ("update_table", {"DeletionProtectionEnabled": False}, "/DeletionProtectionEnabled"),
        (
            "update_continuous_backups",
            {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": False}},
            "/PointInTimeRecoverySpecification/PointInTimeRecoveryEnabled",
        ),
        (
            "update_time_to_live",
            {"TimeToLiveSpecification": {"Enabled": False, "AttributeName": "expires"}},
            "/TimeToLiveSpecification/Enabled",
        ),
        ("update_table", {"SSESpecification": {"Enabled": False}}, "/SSESpecification/SSEEnabled"),
    ],
)
def test_drift_shows_what_was_switched_off_by_hand(
    deployed: Aws, operation: str, request_body: Json, path: str
) -> None:
    assert drift(deployed) == {}
    getattr(deployed.client("dynamodb"), operation)(TableName="orders", **request_body)
    assert path in drift(deployed)["Table"]


def test_a_deleted_stack_leaves_retained_tables_and_cannot_delete_protected_ones(aws: Aws) -> None:
    aws.deploy("shop", template())
    formation = aws.client("cloudformation")
    formation.delete_stack(StackName="shop")
    assert ends(aws, "shop") == "DELETE_COMPLETE"
    assert seen(aws)["DeletionProtectionEnabled"] is True
    other = template(TableName="carts")
    other["Resources"]["Table"]["DeletionPolicy"] = "Delete"
    aws.deploy("carts", other)
    formation.delete_stack(StackName="carts")
    assert ends(aws, "carts") == "DELETE_FAILED"
    assert seen(aws, "carts")["DeletionProtectionEnabled"] is True


def test_recovery_takes_one_to_35_days_and_expiry_keeps_its_attribute(deployed: Aws) -> None:
    api = deployed.client("dynamodb")
    wrong = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 36}
    with pytest.raises(ClientError, match="between 1 and 35"):
        api.update_continuous_backups(TableName="orders", PointInTimeRecoverySpecification=wrong)
    with pytest.raises(ClientError, match="different AttributeName"):
        api.update_time_to_live(TableName="orders", TimeToLiveSpecification={"Enabled": True, "AttributeName": "other"})
    assert seen(deployed)["Recovery"]["RecoveryPeriodInDays"] == 21
    assert seen(deployed)["Expiry"]["AttributeName"] == "expires"


def test_a_bucket_keeps_its_lifecycle_and_its_encryption(aws: Aws) -> None:
    rules = [
        {
            "Id": "old",
            "Status": "Enabled",
            "Prefix": "logs/",
            "ExpirationInDays": 90,
            "Transitions": [{"StorageClass": "GLACIER", "TransitionInDays": 30}],
            "NoncurrentVersionExpiration": {"NoncurrentDays": 7},
            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 3},
        }
    ]
    default = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "arn:aws:kms:us-east-1:000000000000:key/k"}
    properties = {
        "BucketName": "recordings",
        "LifecycleConfiguration": {"Rules": rules},
        "BucketEncryption": {
            "ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": default, "BucketKeyEnabled": True}]
        },
    }
    aws.deploy("files", {"Resources": {"Bucket": {"Type": "AWS::S3::Bucket", "Properties": properties}}})
    api = aws.client("s3")
    (rule,) = api.get_bucket_lifecycle_configuration(Bucket="recordings")["Rules"]
    assert rule["Expiration"] == {"Days": 90}
    assert rule["Transitions"] == [{"Days": 30, "StorageClass": "GLACIER"}]
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 7}
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 3}
    assert rule["Filter"] == {"Prefix": "logs/"}
    (encryption,) = api.get_bucket_encryption(Bucket="recordings")["ServerSideEncryptionConfiguration"]["Rules"]
    assert encryption["ApplyServerSideEncryptionByDefault"] == default
    assert encryption["BucketKeyEnabled"] is True


def test_an_alarm_on_metric_math_is_kept_as_declared(aws: Aws) -> None:
    metric = {"Namespace": "AWS/DynamoDB", "MetricName": "ReadThrottleEvents", "Dimensions": []}
    metrics = [
        {"Id": "read", "ReturnData": False, "MetricStat": {"Period": 300, "Stat": "Sum", "Metric": metric}},
        {"Id": "judged", "ReturnData": True, "Expression": "FILL(read, 0)"},
    ]
    properties = {
        "AlarmName": "throttles",
        "ComparisonOperator": "GreaterThanThreshold",
        "EvaluationPeriods": 1,
        "Threshold": 10,
        "Metrics": metrics,
    }
    aws.deploy("watch", {"Resources": {"Alarm": {"Type": "AWS::CloudWatch::Alarm", "Properties": properties}}})
    (alarm,) = aws.client("cloudwatch").describe_alarms()["MetricAlarms"]
    assert alarm["Metrics"] == metrics
    assert "MetricName" not in alarm


QUEUE: Json = {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Retain"}
DANGLING: dict[str, Json] = {
    "Ref": {"Properties": {"QueueName": {"Ref": "Gone"}}},
    "Fn::GetAtt": {"Properties": {"KmsMasterKeyId": {"Fn::GetAtt": ["Gone", "Arn"]}}},
    "Fn::GetAtt as text": {"Properties": {"KmsMasterKeyId": {"Fn::GetAtt": "Gone.Arn"}}},
    "Fn::Sub": {"Properties": {"QueueName": {"Fn::Sub": "orders-${Gone.Arn}"}}},
    "Fn::Sub with a value": {"Properties": {"QueueName": {"Fn::Sub": ["${a}", {"a": {"Ref": "Gone"}}]}}},
    "deep inside": {"Properties": {"Tags": [{"Key": "k", "Value": {"Fn::Join": ["", ["a", {"Ref": "Gone"}]]}}]}},
    "DependsOn": {"DependsOn": "Gone"},
    "DependsOn in a list": {"DependsOn": ["Other", "Gone"]},
}
RESOLVED: dict[str, Json] = {
    "a pseudo parameter": {"Properties": {"QueueName": {"Fn::Sub": "q-${AWS::Region}"}}},
    "a parameter": {"Properties": {"QueueName": {"Ref": "Name"}}},
    "a resource": {
        "Properties": {"Tags": [{"Key": "k", "Value": {"Fn::GetAtt": ["Other", "Arn"]}}]},
        "DependsOn": "Other",
    },
    "a value of its own": {"Properties": {"QueueName": {"Fn::Sub": ["q-${a}", {"a": "b"}]}}},
    "no reference": {"Properties": {"Tags": [{"Key": "k", "Value": {"Fn::Sub": "${!Gone}"}}]}},
}


def queue(changed: Json, **more: Any) -> Json:
    resources = {"Queue": QUEUE | changed, "Other": QUEUE}
    return {"Parameters": {"Name": {"Type": "String", "Default": "orders"}}, "Resources": resources, **more}


@pytest.mark.parametrize("changed", DANGLING.values(), ids=DANGLING)
def test_a_reference_to_nothing_is_refused_and_leaves_no_stack(aws: Aws, changed: Json) -> None:
    with pytest.raises(InputError, match=UNRESOLVED.format("Resources")):
        aws.deploy("shop", queue(changed))
    assert aws.client("cloudformation").list_stacks()["StackSummaries"] == []


@pytest.mark.parametrize("changed", RESOLVED.values(), ids=RESOLVED)
def test_a_reference_to_something_is_not(aws: Aws, changed: Json) -> None:
    aws.deploy("shop", queue(changed))


def test_what_a_macro_may_make_is_not_missed(aws: Aws) -> None:
    aws.deploy("shop", queue({"Properties": {"Tags": [{"Key": "k", "Value": "v"}]}}) | {"Transform": ["Macro"]})
    aws.deploy("shop", queue({"DependsOn": "Gone"}) | {"Transform": ["Macro"]})


def test_an_output_of_nothing_is_refused(aws: Aws) -> None:
    with pytest.raises(InputError, match=UNRESOLVED.format("Outputs")):
        aws.deploy("shop", queue({}, Outputs={"Name": {"Value": {"Fn::GetAtt": ["Gone", "Arn"]}}}))


def test_an_update_and_every_change_set_refuse_a_reference_to_nothing(deployed: Aws) -> None:
    """An import, too: a table without the key that its template names is refused, as `cdk import` finds out on AWS."""
    dangling = template()
    del dangling["Resources"]["Key"]
    formation = deployed.client("cloudformation")
    with pytest.raises(InputError, match=UNRESOLVED.format("Resources").replace("Gone", "Key")):
        deployed.deploy("shop", dangling)
    imported = {"ResourceType": "AWS::DynamoDB::Table", "LogicalResourceId": "Table"}
    wanted: dict[str, Json] = {
        "CREATE": {"StackName": "new"},
        "UPDATE": {"StackName": "shop"},
        "IMPORT": {
            "StackName": "other",
            "ResourcesToImport": [imported | {"ResourceIdentifier": {"TableName": "orders"}}],
        },
    }
    for kind, request in wanted.items():
        with pytest.raises(ClientError, match=UNRESOLVED.format("Resources").replace("Gone", "Key")):
            formation.create_change_set(
                ChangeSetName="c", ChangeSetType=kind, TemplateBody=json.dumps(dangling), **request
            )
    assert {s["StackName"] for s in formation.list_stacks()["StackSummaries"]} == {"shop"}
    assert seen(deployed)["SSEDescription"]["Status"] == "ENABLED"


@pytest.fixture
def unknown(aws: Aws) -> Iterator[Json]:
    """A stack of types that nothing stands behind, and a custom resource whose function does not exist."""
    resources = {
        "Cache": {"Type": "AWS::ElastiCache::ServerlessCache", "Properties": {"ServerlessCacheName": "rooms"}},
        "Proxy": {"Type": "AWS::RDS::DBProxy", "Properties": {"VpcSubnetIds": ["a"]}},
        "Trigger": {"Type": "Custom::Trigger", "Properties": {"ServiceToken": {"Fn::GetAtt": ["Proxy", "DBProxyArn"]}}},
        "Plain": {"Type": "AWS::CloudFormation::CustomResource", "Properties": {"ServiceToken": "arn:aws:lambda:x"}},
    }
    outputs = {
        "Host": {"Value": {"Fn::GetAtt": ["Cache", "Endpoint.Address"]}},
        "Name": {"Value": {"Ref": "Cache"}},
        "Proxy": {"Value": {"Ref": "Proxy"}},
        "Arn": {"Value": {"Fn::GetAtt": ["Proxy", "DBProxyArn"]}},
        "Answer": {"Value": {"Fn::GetAtt": ["Trigger", "Anything"]}},
    }
    aws.deploy("rooms", {"Resources": resources, "Outputs": outputs})
    (stack,) = aws.client("cloudformation").describe_stacks()["Stacks"]
    yield {o["OutputKey"]: o["OutputValue"] for o in stack["Outputs"]}
    aws.client("cloudformation").delete_stack(StackName="rooms")
    assert ends(aws, "rooms") == "DELETE_COMPLETE"


def test_any_other_resource_deploys_with_plausible_attributes(unknown: Json, aws: Aws) -> None:
    assert unknown["Name"] == "rooms"
    assert unknown["Host"] == "rooms.recorded.invalid"  # .invalid never resolves: nobody connects by mistake
    assert unknown["Arn"] == f"arn:aws:rds:us-east-1:{aws.account}:dbproxy:{unknown['Proxy']}"
    assert unknown["Proxy"].startswith("rooms-Proxy-")
    assert unknown["Answer"].startswith("rooms-Trigger-")


def test_what_is_recorded_only_is_named_as_such(unknown: Json, deployed: Aws) -> None:
    recorded = {r["type"] for r in process.contents(shared())["recorded"] if r["stack"] == "rooms"}
    assert recorded == {
        "AWS::ElastiCache::ServerlessCache",
        "AWS::RDS::DBProxy",
        "Custom::Trigger",
        "AWS::CloudFormation::CustomResource",
    }
    assert "AWS::DynamoDB::Table" not in {r["type"] for r in process.contents(shared())["recorded"]}


def test_a_name_that_is_no_resource_type_is_refused(aws: Aws) -> None:
    with pytest.raises(InputError, match="Unrecognized resource types"):
        aws.deploy("wrong", {"Resources": {"X": {"Type": "Table"}}})


def test_accounts_and_regions_do_not_see_each_other(deployed: Aws) -> None:
    assert deployed.client("dynamodb").list_tables()["TableNames"] == ["orders"]
    assert deployed.client("dynamodb", "us-west-2").list_tables()["TableNames"] == []
    assert fresh_account().client("dynamodb").list_tables()["TableNames"] == []


@pytest.mark.parametrize("name", private.USED)
def test_every_private_name_is_there(name: str) -> None:
    private.module(name)


def test_another_ministack_is_refused_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("ministack.services.msk._create_cluster")
    with pytest.raises(
        InputError, match=r"^ministack\.services\.msk\._create_cluster is gone: .* ministack 1\.5\.33 exactly$"
    ):
        private.module("ministack.services.msk")
