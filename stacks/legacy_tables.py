"""LegacyTablesStack-prod: four tables made by hand before any stack. Source: callytics-dynamodb.md.

Nothing may create them anew: bringing them into this stack needs an import together with their key.
"""

from datetime import date

from holdfast import Assumed, Data, Durable, Fact, Governance, Sighting, Stack, State, Table, Usage, key
from stacks.assumptions import UNTYPED
from stacks.environments import PROD
from stacks.identities import CALLYTICS

AUDIT = date(2026, 4, 23)
KEYLESS = Assumed(Fact.KEY, "the source names the table and gives no key; taken from the table that replaces it")

STACK = Stack(
    id="LegacyTablesStack-{env}",
    system="callytics",
    owner="callytics-infrastructure",
    environments=(PROD,),
    assumed=(
        Assumed(Fact.OWNER, "made by hand, in no repository; the one named here still refers to two of them"),
        UNTYPED,
        KEYLESS,
    ),
    identities=CALLYTICS,
    tables=(
        Table(
            name="call-analysis",
            purpose="AI analysis of each call, before CDK; still read.",
            key=key("telephonySessionId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            state=State(
                usage=Usage.LEGACY,
                governance=Governance.PRE_CDK,
                replaced_by="call-analytics-{env}-call-analysis-{region}",
                archive_phase=4,
                sighting=Sighting(on=AUDIT, items=20_487, size="27 MB", reads_7d=3_482),
            ),
        ),
        Table(
            name="call-events",
            purpose="Raw call events, before CDK; still read.",
            key=key("telephonySessionId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            state=State(
                usage=Usage.LEGACY,
                governance=Governance.PRE_CDK,
                replaced_by="call-analytics-{env}-call-events-{region}",
                archive_phase=4,
                sighting=Sighting(on=AUDIT, items=24_550, size="69 MB", reads_7d=8_819),
            ),
        ),
        Table(
            name="CallAnalysisMetadata",
            purpose="Call analysis in an even older format.",
            key=key("telephonySessionId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            state=State(
                usage=Usage.DEAD,
                governance=Governance.PRE_CDK,
                archive_phase=1,
                sighting=Sighting(on=AUDIT, items=401, size="117 KB", reads_7d=16),
            ),
        ),
        Table(
            name="client-configurations",
            purpose="Old settings of two clients; a legacy function still names the table.",
            key=key("client_id"),
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            state=State(
                usage=Usage.DEAD,
                governance=Governance.PRE_CDK,
                archive_phase=2,
                sighting=Sighting(on=AUDIT, items=2, size="1.5 KB", reads_7d=2),
            ),
        ),
    ),
)
