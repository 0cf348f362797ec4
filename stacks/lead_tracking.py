"""LeadTrackingStack: people who asked about a membership. Source: callytics-dynamodb.md."""

from holdfast import Data, Durable, Stack, State, Table, Usage, gsi, key
from stacks.assumptions import PROJECTION, UNTYPED
from stacks.environments import PROD

STACK = Stack(
    id="LeadTrackingStack",
    system="callytics",
    owner="lead-tracking",
    environments=(PROD,),
    assumed=(UNTYPED, PROJECTION),
    tables=(
        Table(
            name="LeadTracking-v2-{region}",
            purpose="Leads; still dual-written, read from Neon.",
            key=key("id"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(
                gsi("leadEmail", "receivedAt", name="email-receivedAt-index"),
                gsi("emailFrom", "receivedAt"),
                gsi("phone", "receivedAt"),
                gsi("forwardedOriginalFrom", "receivedAt"),
            ),
            state=State(usage=Usage.MIRROR),
        ),
    ),
)
