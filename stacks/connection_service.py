"""ConnectionServiceStack-prod: six tables that outlived their stack. Source: callytics-dynamodb.md.

RingCentralOAuthStack-prod was deleted on 2025-12-29 and its tables were retained. Nothing may create them anew:
bringing them into this stack needs an import together with their key.
"""

from datetime import date

from holdfast import (
    Assumed,
    Data,
    Durable,
    Fact,
    Governance,
    Guard,
    Inferred,
    Sighting,
    Stack,
    State,
    Stream,
    Table,
    Usage,
    View,
    gsi,
    key,
)
from stacks.environments import PROD
from stacks.identities import CALLYTICS as IDENTITIES
from stacks.sources import ACCOUNT, CALLYTICS, CALLYTICS_TYPES, COUNTED, OF_CALLYTICS, PROJECTION, UNTYPED

AUDIT = date(2026, 4, 23)
CHANGES = Stream(view=View.NEW_AND_OLD_IMAGES)  # on in the live account, and not read
SHARED_KEY = Guard.CUSTOMER_KEY  # the six tables are encrypted with one customer-managed key, whatever they hold

STACK = Stack(
    id="ConnectionServiceStack-{env}",
    system="callytics",
    owner="ringcentralService",
    environments=(PROD,),
    document=CALLYTICS,
    source=(30, 207),
    sources=OF_CALLYTICS
    | {
        (Fact.ENVIRONMENT, PROD): (15, 129, 154),
        Fact.GOVERNANCE: (17, 60, 62),
        Fact.STREAM: 346,
        Fact.FLOOR: (60, 345),
    },
    assumed=(
        Assumed(Fact.STACK, "the stack that made the tables was deleted; the one that imports them needs a name"),
        UNTYPED,
        PROJECTION,
        ACCOUNT,
    ),
    types=CALLYTICS_TYPES,
    identities=IDENTITIES,
    tables=(
        Table(
            name="ConnectionService-CallAnalysisConfigurations-{env}",
            purpose="Analysis settings of each client, before call-analysis-config; still read.",
            key=key("client_id"),
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            floor=SHARED_KEY,
            state=State(
                governance=Governance.ORPHAN,
                replaced_by="call-analytics-{env}-call-analysis-config-{region}",
                fewer_guards="settings of clients alone; the key came with the stack that it shared with five others",
                archive_phase=2,
                sighting=Sighting(on=AUDIT, reads_7d=450),
            ),
            source=73,
            sources={
                Fact.DATA: Inferred("analysis settings of a client, as in the table that replaces it", 41, 71),
                Fact.SUCCESSOR: 248,
                Fact.USAGE: (73, 243, 247),
                Fact.ARCHIVE: (251, 275, 276),
                Fact.SIGHTING: 247,
            },
        ),
        Table(
            name="ConnectionService-Organizations-{env}",
            purpose="Organizations, before stores became the boundary of data.",
            key=key("orgId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            stream=CHANGES,
            state=State(
                usage=Usage.LEGACY,
                governance=Governance.ORPHAN,
                replaced_by="orangetheory-StoresV2-{env}",
                archive_phase=3,
            ),
            source=74,
            sources={
                Fact.USAGE: (74, 236),
                Fact.DATA: Inferred("became stores, which know the user who owns them", 66, 90),
                Fact.SUCCESSOR: 239,
                Fact.ARCHIVE: (278, 279),
            },
        ),
        Table(
            name="ConnectionService-Connections-{env}",
            purpose="Provider connections of an organization.",
            key=key("orgId", "provider"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(gsi("provider", assumed=COUNTED, source=75),),
            stream=CHANGES,
            state=State(
                usage=Usage.LEGACY,
                governance=Governance.ORPHAN,
                replaced_by="orangetheory-UserConnections-{env}",
                archive_phase=3,
            ),
            source=75,
            sources={
                Fact.USAGE: (75, 236),
                Fact.DATA: Inferred("became the OAuth connections of users: secrets that act for somebody", 67, 83),
                Fact.SUCCESSOR: 240,
                Fact.ARCHIVE: (278, 279),
            },
        ),
        Table(
            name="ConnectionService-OrgConfigurations-{env}",
            purpose="Settings of an organization; now businessConfig of a store.",
            key=key("orgId"),
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            floor=SHARED_KEY,
            stream=CHANGES,
            state=State(
                usage=Usage.LEGACY,
                governance=Governance.ORPHAN,
                replaced_by="orangetheory-StoresV2-{env}",
                archive_phase=3,
            ),
            source=76,
            sources={
                Fact.USAGE: (76, 236),
                Fact.DATA: Inferred("settings of a business", 69),
                Fact.SUCCESSOR: (69, 239, 241),
                Fact.ARCHIVE: (278, 279),
            },
        ),
        Table(
            name="ConnectionService-UserOrganizations-{env}",
            purpose="Members of an organization.",
            key=key("userId", "orgId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(gsi("orgId", assumed=COUNTED, source=77),),
            stream=CHANGES,
            state=State(
                usage=Usage.DEAD,
                governance=Governance.ORPHAN,
                replaced_by="orangetheory-UserStore-{env}",
                archive_phase=1,
                sighting=Sighting(on=AUDIT, items=62, reads_7d=2.5),
            ),
            source=77,
            sources={
                Fact.DATA: Inferred("which user belongs where", 68),
                Fact.SUCCESSOR: (68, 83, 91, 231),
                Fact.ARCHIVE: (271, 272),
                Fact.SIGHTING: (222, 224, 231),
            },
        ),
        Table(
            name="ConnectionService-SubAccountLinks-{env}",
            purpose="Parent and child accounts; a child could have several parents.",
            key=key("parentUserId", "childUserId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(gsi("childUserId", assumed=COUNTED, source=78),),
            stream=CHANGES,
            state=State(
                usage=Usage.DEAD,
                governance=Governance.ORPHAN,
                replaced_by="orangetheory-SubAccounts-{env}",
                archive_phase=1,
                sighting=Sighting(on=AUDIT, items=13, reads_7d=2),
            ),
            source=78,
            sources={
                Fact.DATA: Inferred("which user is whose child", 78),
                Fact.SUCCESSOR: (70, 92, 232),
                Fact.ARCHIVE: (271, 272),
                Fact.SIGHTING: (222, 224, 232),
            },
        ),
    ),
)
