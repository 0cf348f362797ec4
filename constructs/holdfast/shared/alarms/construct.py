"""The alarms, the topic they go to, and the dashboard, as CloudFormation resources."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct

from holdfast.estate.placement import Placed
from holdfast.model.owners import subscription
from holdfast.shared.alarms import alarm as monitoring


def alarm_topic(scope: Construct, placed: Placed, key: kms.IKey) -> str:
    """The topic that all alarms of a stack go to; answers with its ARN."""
    topic = sns.CfnTopic(scope, "Alarms", topic_name=f"holdfast-{placed.id}-alarms", kms_master_key_id=key.key_arn)
    sns.CfnTopicPolicy(
        scope,
        "AlarmsPolicy",
        topics=[topic.ref],
        policy_document=monitoring.topic_policy(topic.ref),
    )
    for address in placed.addresses:
        protocol, endpoint = subscription(address)
        # By the address and not by its place among others: SNS asks again for a subscription that is made anew.
        id_ = f"AlarmsTo{hashlib.sha256(address.encode()).hexdigest()[:8]}"
        sns.CfnSubscription(scope, id_, topic_arn=topic.ref, protocol=protocol, endpoint=endpoint)
    return topic.ref


def add_alarms(scope: Construct, alarms: Iterable[monitoring.Alarm], placed: Placed, topic: str) -> None:
    for alarm in alarms:
        # A plain resource: the properties are data already, and a typed one takes three times as long.
        properties = alarm.properties(topic, placed.tags)
        cdk.CfnResource(scope, alarm.id, type="AWS::CloudWatch::Alarm", properties=properties)


def add_dashboard(scope: Construct, placed: Placed, page: Mapping[str, Any]) -> None:
    """One page per stack: what changes in one changes nothing in another."""
    body = json.dumps(page, separators=(",", ":"))
    cloudwatch.CfnDashboard(scope, "Dashboard", dashboard_name=placed.id, dashboard_body=cdk.Fn.sub(body))
