"""The alarms, the topic they go to, and the dashboard, as CloudFormation resources."""

from __future__ import annotations

import json
from collections.abc import Iterable

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct

from holdfast import monitoring
from holdfast.catalog import Placed


def alarm_topic(scope: Construct, placed: Placed, key: kms.IKey) -> str:
    """The topic that all alarms of a stack go to; answers with its ARN."""
    topic = sns.Topic(scope, "Alarms", topic_name=f"holdfast-{placed.id}-alarms", master_key=key, enforce_ssl=True)
    arn = topic.topic_arn
    # enforce_ssl replaces the default policy, which let CloudWatch in.
    topic.add_to_resource_policy(
        iam.PolicyStatement(
            sid="AlarmsMayPublish",
            principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
            actions=["sns:Publish"],
            resources=[arn],
            conditions={"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}},
        )
    )
    return arn


def add_alarms(scope: Construct, alarms: Iterable[monitoring.Alarm], placed: Placed, topic: str) -> None:
    for alarm in alarms:
        # A plain resource: the properties are data already, and a typed one takes three times as long.
        properties = alarm.properties(topic, placed.tags)
        cdk.CfnResource(scope, alarm.id, type="AWS::CloudWatch::Alarm", properties=properties)


def add_dashboard(scope: Construct, name: str, places: Iterable[Placed]) -> None:
    body = json.dumps(monitoring.dashboard(places), separators=(",", ":"))
    cloudwatch.CfnDashboard(scope, "Dashboard", dashboard_name=name, dashboard_body=cdk.Fn.sub(body))
