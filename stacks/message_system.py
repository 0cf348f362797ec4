"""MessageSystemStack: text messages between stores and customers. Source: callytics-dynamodb.md."""

from holdfast import Assumed, Data, Durable, Fact, Stack, Table, key
from stacks.assumptions import UNTYPED
from stacks.environments import PROD

KEYLESS = Assumed(Fact.KEY, "the source names the table and gives no key")

STACK = Stack(
    id="MessageSystemStack",
    system="callytics",
    owner="callytics-infrastructure",
    undeployed=(PROD,),
    assumed=(UNTYPED,),
    tables=(
        Table(
            name="call-analytics-{env}-message-store-{region}",
            purpose="Every text message, sent or received.",
            key=key("conversationId", "messageId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            assumed=(KEYLESS,),
        ),
        Table(
            name="call-analytics-{env}-conversations-{region}",
            purpose="The conversations that the messages belong to.",
            key=key("conversationId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            assumed=(KEYLESS,),
        ),
    ),
)
