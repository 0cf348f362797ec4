"""CallAnalytics-*-Storage: what was said on every call. Source: callytics-dynamodb.md."""

from holdfast import Assumed, Data, Durable, Fact, Inferred, Pattern, Stack, State, Stream, Table, Usage, View, gsi, key
from stacks.environments import PROD, TEST
from stacks.identities import CALLYTICS as IDENTITIES
from stacks.sources import (
    ACCOUNT,
    CALLYTICS,
    CALLYTICS_TYPES,
    NAMED,
    OF_CALLYTICS,
    PROJECTION,
    UNTYPED,
)

ANALYSIS = "call-analytics-{env}-call-analysis-{region}"
PREFIXED = Assumed(
    Fact.INDEX_KEY, "the source shortens the key; as in its siblings it is what stands before -callStartTime-index"
)
SHORTENED = (
    Assumed(Fact.INDEX_NAME, "the source shortens the name by three dots; they are kept until the live table is seen"),
    PREFIXED,
)
RENAMED = "items carry account_id since 2026-04-25: an index on siteId finds none that was written later"


def _by_site(index: str, purpose: str, line: int, partition: str, sort: str | None = None) -> Pattern:
    return Pattern(
        id=index,
        purpose=purpose,
        table=ANALYSIS,
        index=index,
        partition=partition,
        sort=sort,
        unsupported=RENAMED,
        source=line,
    )


STACK = Stack(
    id="CallAnalytics-{Env}-Storage",
    system="callytics",
    owner="callytics-infrastructure",
    document=CALLYTICS,
    source=(26, 206),
    sources=OF_CALLYTICS | {(Fact.STACK, TEST): 132},
    assumed=(UNTYPED, ACCOUNT),
    types=CALLYTICS_TYPES,
    identities=IDENTITIES,
    wall="store",
    tables=(
        Table(
            name=ANALYSIS,
            purpose="AI analysis of each call; still dual-written, read from Neon.",
            key=key("telephonySessionId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(
                gsi("franchise", "callStartTime", purpose="Calls of a brand, by time.", source=44),
                gsi("franchise", "siteId", source=45),
                gsi("siteId", "callStartTime", source=46),
                gsi("fromPhoneNumber", "callStartTime", purpose="Calls from a number, by time.", source=47),
                gsi("toPhoneNumber", "callStartTime", purpose="Calls to a number, by time.", source=48),
                gsi("callDirection", "callStartTime", purpose="Calls in or out, by time.", source=49),
                gsi(
                    "staff_performance...name",
                    "callStartTime",
                    purpose="Calls of a member of staff, by time.",
                    assumed=SHORTENED,
                    source=50,
                ),
                gsi(
                    "call_categorization...classification",
                    "callStartTime",
                    purpose="Calls of a main category, by time.",
                    assumed=SHORTENED,
                    source=51,
                ),
                gsi(
                    "call_categorization.follow_up_type",
                    "callStartTime",
                    purpose="Calls that need one type of follow-up, by time.",
                    assumed=(PREFIXED,),
                    source=52,
                ),
                gsi(
                    "call_outcome.outcome_category",
                    "callStartTime",
                    purpose="Calls of one outcome, by time.",
                    assumed=(PREFIXED,),
                    source=53,
                ),
                gsi("transcriptionJobName", purpose="The call of a transcription job.", source=54),
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
            source=39,
            sources={
                (Fact.NAME, TEST): 132,
                Fact.DATA: Inferred("callers' numbers, names of staff and what was said", 47, 48, 50),
                (Fact.USAGE, PROD): (9, 36),
                Fact.PROJECTION: (42, 58),
                Fact.STREAM: 346,
                Fact.RENAMED: (199, 201),
                Fact.CARDINALITY: Inferred("two directions, one brand, and categories of a model", 49, 51, 52, 53, 197),
            },
            assumed=(
                Assumed(
                    Fact.USAGE, "the source gives test as a mirror of prod and not who reads there", environment=TEST
                ),
            ),
        ),
        Table(
            name="call-analytics-{env}-call-events-{region}",
            purpose="Raw call events, as the telephony provider sent them.",
            key=key("telephonySessionId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(
                gsi(
                    "transcriptionJobName",
                    purpose="The call of a transcription job.",
                    assumed=NAMED,
                    source=56,
                ),
                gsi("sessionId", purpose="The call of a RingCentral session.", assumed=NAMED, source=56),
            ),
            source=40,
            sources={
                (Fact.NAME, TEST): 133,
                (Fact.USAGE, PROD): (9, 36, 40),
                Fact.DATA: Inferred("an event of a call tells who called whom", 40),
            },
            assumed=(PROJECTION,),
        ),
        Table(
            name="call-analytics-{env}-call-analysis-config-{region}",
            purpose="Analysis settings of each client.",
            key=key("client_id"),
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            source=41,
            sources={
                (Fact.NAME, TEST): 134,
                Fact.DATA: Inferred("settings of a brand's account, which the source calls operational", 36, 41),
            },
        ),
    ),
    patterns=(
        _by_site("franchise-siteId-index", "Calls of a brand's site.", 45, "{franchise}", "{siteId}"),
        _by_site("siteId-callStartTime-index", "Calls of a site, by time.", 46, "{siteId}"),
    ),
)
