"""MessageSystemStack: text messages between stores and customers. Source: callytics-dynamodb.md."""

from holdfast import Assumed, Data, Durable, Fact, Inferred, Stack, Table, key
from stacks.environments import PROD, TEST
from stacks.identities import CALLYTICS as IDENTITIES
from stacks.sources import ACCOUNT, CALLYTICS, CALLYTICS_TYPES, OF_CALLYTICS, UNTYPED

KEYLESS = Assumed(Fact.KEY, "the source names the table and gives no key")
NAMED_IN_TEST = Assumed(
    Fact.NAME, "the source names the table of test alone; that of prod is called the same way", environment=PROD
)

STACK = Stack(
    id="MessageSystemStack",
    system="callytics",
    owner="callytics-infrastructure",
    undeployed=(PROD,),
    document=CALLYTICS,
    source=(6, 135),
    sources=OF_CALLYTICS
    | {
        Fact.OWNER: Inferred("it is one of the nine stacks of that repository", 6, 26),
        Fact.GOVERNANCE: (21, 135),
        (Fact.USAGE, PROD): Inferred("it is not deployed to prod yet", 21),
        (Fact.USAGE, TEST): 21,
    },
    assumed=(UNTYPED, ACCOUNT),
    types=CALLYTICS_TYPES,
    identities=IDENTITIES,
    wall="store",
    tables=(
        Table(
            name="call-analytics-{env}-message-store-{region}",
            purpose="Every text message, sent or received.",
            key=key("conversationId", "messageId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            source=135,
            sources={
                (Fact.NAME, TEST): 135,
                Fact.PURPOSE: Inferred("MessageStore of the message system keeps its messages", 21, 170),
                Fact.DATA: Inferred("what customers write, and their numbers", 170),
            },
            assumed=(KEYLESS, NAMED_IN_TEST),
        ),
        Table(
            name="call-analytics-{env}-conversations-{region}",
            purpose="The conversations that the messages belong to.",
            key=key("conversationId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            source=136,
            sources={
                (Fact.NAME, TEST): 136,
                Fact.PURPOSE: Inferred("Conversations of the message system keeps what its messages belong to", 21),
                Fact.DATA: Inferred("who writes with which store", 170),
            },
            assumed=(KEYLESS, NAMED_IN_TEST),
        ),
    ),
)
