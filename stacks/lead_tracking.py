"""LeadTrackingStack: people who asked about a membership. Source: callytics-dynamodb.md."""

from holdfast import Data, Durable, Fact, Inferred, Stack, State, Table, Usage, gsi, key
from stacks.environments import PROD
from stacks.identities import CALLYTICS as IDENTITIES
from stacks.sources import ACCOUNT, CALLYTICS, CALLYTICS_TYPES, OF_CALLYTICS, PROJECTION, UNTYPED

STACK = Stack(
    id="LeadTrackingStack",
    system="callytics",
    owner="lead-tracking",
    environments=(PROD,),
    document=CALLYTICS,
    source=(29, 210),
    sources=OF_CALLYTICS | {(Fact.ENVIRONMENT, PROD): (15, 129, 154)},
    assumed=(UNTYPED, PROJECTION, ACCOUNT),
    types=CALLYTICS_TYPES,
    identities=IDENTITIES,
    wall="store",
    tables=(
        Table(
            name="LeadTracking-v2-{region}",
            purpose="Leads; still dual-written, read from Neon.",
            key=key("id"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(
                gsi(
                    "leadEmail",
                    "receivedAt",
                    name="email-receivedAt-index",
                    purpose="Leads of a customer's address, by time.",
                    source=108,
                ),
                gsi("emailFrom", "receivedAt", purpose="Leads from a sender's address, by time.", source=109),
                gsi("phone", "receivedAt", purpose="Leads of a phone number, by time.", source=110),
                gsi("forwardedOriginalFrom", "receivedAt", purpose="Leads that one source forwarded.", source=111),
            ),
            state=State(usage=Usage.MIRROR),
            source=105,
            sources={
                Fact.USAGE: (9, 102),
                Fact.DATA: Inferred("e-mail addresses and phone numbers of customers", 108, 110),
            },
        ),
    ),
)
