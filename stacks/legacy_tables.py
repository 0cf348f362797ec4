"""LegacyTablesStack-prod: four tables made by hand before any stack. Source: callytics-dynamodb.md.

Nothing may create them anew: bringing them into this stack needs an import together with their key.
"""

from datetime import date

from holdfast import (
    Assumed,
    Data,
    Durable,
    Fact,
    Governance,
    Inferred,
    Sighting,
    Stack,
    State,
    Table,
    Usage,
    key,
)
from stacks.environments import PROD
from stacks.identities import CALLYTICS as IDENTITIES
from stacks.sources import ACCOUNT, CALLYTICS, CALLYTICS_TYPES, OF_CALLYTICS, UNTYPED

AUDIT = date(2026, 4, 23)
KEYLESS = Assumed(Fact.KEY, "the source names the table and gives no key; taken from the table that replaces it")

STACK = Stack(
    id="LegacyTablesStack-{env}",
    system="callytics",
    owner="callytics-infrastructure",
    environments=(PROD,),
    document=CALLYTICS,
    source=119,
    sources=OF_CALLYTICS | {(Fact.ENVIRONMENT, PROD): (15, 129, 154), Fact.GOVERNANCE: (17, 119)},
    assumed=(
        Assumed(Fact.STACK, "made by hand, in no stack; the one that imports them needs a name"),
        Assumed(Fact.OWNER, "made by hand, in no repository; the one named here still refers to two of them"),
        UNTYPED,
        ACCOUNT,
    ),
    types=CALLYTICS_TYPES,
    identities=IDENTITIES,
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
            source=122,
            sources={
                Fact.DATA: Inferred("what the table that replaces it holds", 47, 260),
                Fact.SUCCESSOR: Inferred("its callers move to the new table of the same name", 39, 260),
                Fact.ARCHIVE: (253, 281, 282),
                Fact.SIGHTING: (255, 257, 260),
            },
            assumed=(KEYLESS,),
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
            source=123,
            sources={
                Fact.DATA: Inferred("what the table that replaces it holds", 40, 261),
                Fact.SUCCESSOR: Inferred("its callers move to the new table of the same name", 40, 260, 261),
                Fact.ARCHIVE: (253, 281, 282),
                Fact.SIGHTING: (255, 257, 261),
            },
            assumed=(KEYLESS,),
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
            source=124,
            sources={
                Fact.DATA: Inferred("call analysis, whose later tables hold callers and what was said", 47, 124),
                Fact.ARCHIVE: 271,
                Fact.SIGHTING: (222, 224, 229),
            },
            assumed=(
                Assumed(Fact.KEY, "the source gives no key and no successor; that of call analysis in its later form"),
            ),
        ),
        Table(
            name="client-configurations",
            purpose="Old settings of two clients; a legacy function still names the table.",
            key=key("client_id"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            state=State(
                usage=Usage.DEAD,
                governance=Governance.PRE_CDK,
                archive_phase=2,
                sighting=Sighting(on=AUDIT, items=2, size="1.5 KB", reads_7d=2),
            ),
            source=125,
            sources={
                Fact.DATA: Inferred("a function that refreshes tokens reads its settings of it", 226, 230),
                Fact.ARCHIVE: Inferred("the function that phase 2 retires still names it", 226, 230, 271, 276),
                Fact.SIGHTING: (222, 224, 230),
            },
            assumed=(
                Assumed(Fact.KEY, "the source gives no key and no successor; that of the later settings of clients"),
            ),
        ),
    ),
)
