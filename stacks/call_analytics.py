"""CallAnalytics-*-Storage: what was said on every call. Source: callytics-dynamodb.md."""

from holdfast import Assumed, Data, Durable, Fact, Stack, State, Stream, Table, Usage, View, gsi, key
from stacks.assumptions import NAMED, PROJECTION, UNTYPED
from stacks.identities import CALLYTICS

PREFIXED = Assumed(
    Fact.INDEX_KEY, "the source shortens the key; as in its siblings it is what stands before -callStartTime-index"
)

STACK = Stack(
    id="CallAnalytics-{Env}-Storage",
    system="callytics",
    owner="callytics-infrastructure",
    assumed=(UNTYPED,),
    identities=CALLYTICS,
    tables=(
        Table(
            name="call-analytics-{env}-call-analysis-{region}",
            purpose="AI analysis of each call; still dual-written, read from Neon.",
            key=key("telephonySessionId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(
                gsi("franchise", "callStartTime"),
                gsi("franchise", "siteId"),
                gsi("siteId", "callStartTime"),
                gsi("fromPhoneNumber", "callStartTime"),
                gsi("toPhoneNumber", "callStartTime"),
                gsi("callDirection", "callStartTime"),
                gsi("staff_performance...name", "callStartTime", assumed=PREFIXED),
                gsi("call_categorization...classification", "callStartTime", assumed=PREFIXED),
                gsi("call_categorization.follow_up_type", "callStartTime", assumed=PREFIXED),
                gsi("call_outcome.outcome_category", "callStartTime", assumed=PREFIXED),
                gsi("transcriptionJobName"),
            ),
            stream=Stream(view=View.NEW_IMAGE, pending="off until the consumer that asked for it exists"),
            state=State(usage=Usage.MIRROR),
            low_cardinality=(
                "callDirection",
                "franchise",
                "call_categorization...classification",
                "call_categorization.follow_up_type",
                "call_outcome.outcome_category",
            ),
            renamed={"siteId": "account_id"},  # since 2026-04-25; the indexes kept the old name
        ),
        Table(
            name="call-analytics-{env}-call-events-{region}",
            purpose="Raw call events, as the telephony provider sent them.",
            key=key("telephonySessionId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(gsi("transcriptionJobName", assumed=NAMED), gsi("sessionId", assumed=NAMED)),
            assumed=(PROJECTION,),
        ),
        Table(
            name="call-analytics-{env}-call-analysis-config-{region}",
            purpose="Analysis settings of each client.",
            key=key("client_id"),
            lifetime=Durable(),
            data=Data.OPERATIONAL,
        ),
    ),
)
