"""RCSubscription-*-Storage: RingCentral webhook subscriptions. Source: callytics-dynamodb.md."""

from holdfast import Data, Durable, Fact, Inferred, Stack, Table, Transient, gsi, key
from stacks.environments import TEST
from stacks.identities import CALLYTICS as IDENTITIES
from stacks.sources import ACCOUNT, CALLYTICS, CALLYTICS_TYPES, COUNTED, OF_CALLYTICS, PROJECTION, UNTYPED

STACK = Stack(
    id="RCSubscription-{env}-Storage",
    system="callytics",
    owner="ringcentralSubscriptionService",
    document=CALLYTICS,
    source=(28, 211),
    sources=OF_CALLYTICS | {(Fact.STACK, TEST): 149},
    assumed=(UNTYPED, PROJECTION, ACCOUNT),
    types=CALLYTICS_TYPES,
    identities=IDENTITIES,
    tables=(
        Table(
            name="rc-subscription-{env}-webhook-subscriptions",
            purpose="The state of each account's webhook subscription.",
            key=key("accountId"),
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            indexes=(gsi("subscriptionId", assumed=COUNTED, source=116),),
            source=116,
            sources={
                (Fact.NAME, TEST): 149,
                Fact.DATA: Inferred("an account of a company and its subscription, and nobody in it", 116),
            },
        ),
        Table(
            name="rc-subscription-{env}-idempotency",
            purpose="Which events were handled already, so that none is handled twice.",
            key=key("id"),
            lifetime=Transient(ttl="expiration"),
            data=Data.PERSONAL,
            source=117,
            sources={
                (Fact.NAME, TEST): 150,
                Fact.DATA: Inferred("Powertools keeps what a handler answered, which may name a person", 117),
                Fact.LIFETIME: (337, 347),
                Fact.TTL: (117, 347),
            },
        ),
    ),
)
