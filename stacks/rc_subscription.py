"""RCSubscription-*-Storage: RingCentral webhook subscriptions. Source: callytics-dynamodb.md."""

from holdfast import Data, Durable, Stack, Table, Transient, gsi, key
from stacks.assumptions import COUNTED, PROJECTION, UNTYPED
from stacks.identities import CALLYTICS

STACK = Stack(
    id="RCSubscription-{env}-Storage",
    system="callytics",
    owner="ringcentralSubscriptionService",
    assumed=(UNTYPED, PROJECTION),
    identities=CALLYTICS,
    tables=(
        Table(
            name="rc-subscription-{env}-webhook-subscriptions",
            purpose="The state of each account's webhook subscription.",
            key=key("accountId"),
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            indexes=(gsi("subscriptionId", assumed=COUNTED),),
        ),
        Table(
            name="rc-subscription-{env}-idempotency",
            purpose="Which events were handled already, so that none is handled twice.",
            key=key("id"),
            lifetime=Transient(ttl="expiration"),
            data=Data.OPERATIONAL,
        ),
    ),
)
