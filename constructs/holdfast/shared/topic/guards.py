"""How the guards of topics and queues are read from a template in normal form."""

from __future__ import annotations

from holdfast.cfn.strength import not_off, number_or, own_key, there
from holdfast.cfn.types import QUEUE, TOPIC
from holdfast.model.facts import Guard
from holdfast.shared.readings import Protection, at

FOUR_DAYS = 345_600.0  # in seconds: how long a queue keeps messages unless told otherwise
PROTECTIONS = (
    Protection(
        type=TOPIC,
        holds=True,  # subscriptions that were confirmed by hand
        readings=(at("KmsMasterKeyId", own_key, Guard.CUSTOMER_KEY.label),),
        members=(("Subscription", "subscription"),),
    ),
    Protection(type="AWS::SNS::Subscription", protects="subscription"),
    Protection(type="AWS::SNS::TopicPolicy", fixed=(("Topics", "the policy is no longer on every topic", ""),)),
    Protection(
        type=QUEUE,
        holds=True,
        readings=(
            at("KmsMasterKeyId", own_key, Guard.CUSTOMER_KEY.label),
            at("SqsManagedSseEnabled", not_off, "encryption"),
            at("MessageRetentionPeriod", number_or(FOUR_DAYS), "message retention"),
            at("RedrivePolicy", there, "dead-letter queue"),
        ),
    ),
    Protection(type="AWS::SQS::QueuePolicy", fixed=(("Queues", "the policy is no longer on every queue", ""),)),
)
