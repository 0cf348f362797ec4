"""What a resource can do to the stores (reach, copy, trigger on or delete them), and which store it is about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from holdfast.cfn.tree import read, texts
from holdfast.contract import guards, policies
from holdfast.contract.guards import store_name
from holdfast.contract.words import few

Json = dict[str, Any]
WORD = re.compile(r"[/:]")
SHOWN = 5
# Types that reach data by what they are.
BY_TYPE: Mapping[str, str] = {
    "AWS::CloudFormation::CustomResource": "runs code during a deploy",
    "AWS::CloudFormation::Macro": "rewrites templates during a deploy",
    "AWS::CloudFormation::Stack": "deploys another template",
    "AWS::Backup::BackupPlan": "copies data into backups",
    "AWS::DMS::ReplicationTask": "copies data",
    "AWS::DynamoDB::GlobalTable": "keeps copies in other regions",
    "AWS::EC2::SecurityGroupIngress": "opens the network to another group or address",
    "AWS::EC2::VPCPeeringConnection": "opens the network to another one",
    "AWS::Glue::Connection": "reads a store",
    "AWS::Glue::Crawler": "reads a store",
    "AWS::IAM::AccessKey": "is a password that does not end",
    "AWS::IAM::User": "can log in",
    "AWS::KinesisFirehose::DeliveryStream": "copies data",
    "AWS::Lambda::EventSourceMapping": "hands every change to a function",
    "AWS::Lambda::Permission": "lets another call a function",
    "AWS::Lambda::Url": "lets a function be called over the internet",
    "AWS::Pipes::Pipe": "copies every change",
    "AWS::RAM::ResourceShare": "shares resources with other accounts",
    "AWS::RDS::DBProxy": "is another way into a database",
    "AWS::S3::AccessPoint": "is another way into a bucket",
    "AWS::SNS::Subscription": "gets what is published",
}
# Of a store itself: what carries its data elsewhere.
OF_STORE: Mapping[str, str] = {
    "KinesisStreamSpecification": "every change is copied into a stream of Kinesis",
    "NotificationConfiguration": "others are told of its objects",
    "ReplicationConfiguration": "objects are copied elsewhere",
    "Replicas": "copies are kept in other regions",
    "StreamSpecification": "what its stream carries changes",
}
ONLY_WATCH = ("AWS::CloudWatch::", "AWS::KMS::Alias", "AWS::Logs::", "AWS::SSM::Parameter", "AWS::SNS::Topic")


def reach(resource: Json, names: Mapping[str, str]) -> str:
    """What a resource can do, in words; empty where it reaches nothing."""
    kind = guards.type_of(resource)
    if actions := policies.allowed(resource):
        return f"allows {few(actions, SHOWN)}"
    if kind.startswith("Custom::"):
        return BY_TYPE["AWS::CloudFormation::CustomResource"]
    if read(resource, ("Properties", "ReplicationConfiguration")):
        return OF_STORE["ReplicationConfiguration"]
    if kind in BY_TYPE:
        return BY_TYPE[kind]
    if store_name(resource) is None and not kind.startswith(ONLY_WATCH) and (about := mentioned(resource, names)):
        return f"refers to {few(sorted(about), SHOWN)}"
    return ""


def store_names(resources: Mapping[str, Any]) -> dict[str, str]:
    """Stores by whatever names them in a template: logical id and name."""
    found = {}
    for logical_id, resource in resources.items():
        name = store_name(resource)
        if name is not None:
            found[logical_id] = name or logical_id
            found[guards.physical_name(resource) or logical_id] = name or logical_id
    return found


def mentioned(resource: Any, names: Mapping[str, str], most: int = 0) -> set[str]:
    """The stores that a resource names, alone or inside of an ARN; no more than ``most`` where that is enough."""
    found: set[str] = set()
    for text in texts(resource):
        if text in names:
            found.add(names[text])
        elif "/" in text or ":" in text:
            found |= {names[word] for word in WORD.split(text) if word in names}
        if most and len(found) >= most:
            break
    return found


def about(resource: Any, names: Mapping[str, str]) -> str | None:
    """The one store that a resource is about: an alarm on it, its policy."""
    found = mentioned(resource, names, most=2)
    return found.pop() if len(found) == 1 else None
